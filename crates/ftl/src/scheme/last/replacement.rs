//! Replacement: which block of the random log is merged (LAST §3.4.3).

use nand::{BlockId, Geometry, Nand};

use super::Last;
use super::merge_costs::Partition;
use crate::contract::Result;
use crate::part::log::merge;

/// A hot block is old if more than `OLD` · R · Np pages were written to the random log since its
/// last program.
const OLD: u64 = 4;

impl Last {
    /// Gives a partition a block, or merges a log block so that one becomes free.
    pub(super) fn make_random_room(&mut self, nand: &mut Nand, partition: Partition) -> Result<()> {
        let is_at_its_size = self.random.blocks_of(partition) >= self.size_of(partition);
        if is_at_its_size {
            let victim = self.map.observer.cheapest(partition);
            return self
                .merge_random(nand, victim.expect("a partition at its size has full blocks"));
        }
        if self.random.count() >= self.random_blocks() {
            let victim = self.victim_of_both(nand.geometry());
            return self.merge_random(nand, victim.expect("the other partition has full blocks"));
        }
        if self.is_log_full() {
            return self.merge_sequential_victim(nand);
        }
        let block = self.map.flat.pool.take(nand)?;
        self.random.open(&mut self.map, block, partition);
        Ok(())
    }

    /// The best victim of both partitions. (After the random log was made smaller there may be no
    /// cold block.)
    pub(super) fn victim_of_both(&self, geometry: &Geometry) -> Option<BlockId> {
        let costs = &self.map.observer;
        let old = OLD * u64::from(self.random_blocks()) * u64::from(geometry.pages_per_block());
        let goes =
            |hot: &BlockId| costs.associated(*hot) == 0 || self.random.age(geometry, *hot) > old;
        let hot = costs.cheapest(Partition::Hot);
        hot.filter(goes).or(costs.cheapest(Partition::Cold)).or(hot)
    }

    pub(super) fn merge_random(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        self.victim.choose(nand, &self.map, victim);
        match self.map.observer.partition_of(victim) {
            Some(Partition::Hot) if self.victim.pages.is_empty() => {
                self.counts.dead_hot_victims += 1;
            }
            Some(Partition::Hot) => self.counts.old_hot_victims += 1,
            _ => self.counts.cold_victims += 1,
        }
        self.tuners.takes(&self.map, &self.victim);
        self.random.remove(&mut self.map, victim);
        let merges = &mut self.random_merges;
        match self.victim.lbns.is_empty() {
            true => merge::dead(nand, &mut self.map, merges, victim),
            false => merge::full(nand, &mut self.map, merges, &self.victim.lbns, victim),
        }
    }
}
