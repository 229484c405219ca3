//! What LAST reports about itself.

use super::Last;
use super::merge_costs::Partition;
use crate::contract::{Merges, Metric, Ram, Report};

impl Last {
    /// The whole report.
    pub(super) fn own_report(&self) -> Report {
        let mut report = self.map.report();
        self.add_ram(&mut report.ram);
        report.merges = Some(self.merges());
        report.figures.extend(self.figures());
        report.gauges = self.gauges();
        report
    }

    /// As in LAST §4, the random log is mapped by page and the sequential log by block. In addition
    /// there is the merge-cost table, with log2 Np bits per random log block. The dates of random
    /// log pages, four bytes each, are not in the paper's count.
    fn add_ram(&self, ram: &mut Ram) {
        let (random, sequential) = (self.random_blocks(), self.sequential_blocks);
        let random_pages = u64::from(random) * u64::from(self.map.pages_per_block());
        ram.map += 4 * random_pages + 4 * u64::from(sequential);
        ram.other += self.cost_table_bytes() + 4 * random_pages + self.tuners.ram_bytes();
    }

    /// Bytes of the merge-cost table: log2 Np bits per random log block (LAST §3.4.3).
    fn cost_table_bytes(&self) -> u64 {
        let bits = u64::from(u32::BITS - (self.map.pages_per_block() - 1).leading_zeros());
        (bits * u64::from(self.random_blocks())).div_ceil(8)
    }

    fn merges(&self) -> Merges {
        let (one, other) = (&self.sequential.merges, &self.random_merges);
        let longer = one.associated_blocks.len().max(other.associated_blocks.len());
        let of = |counts: &Merges, i: usize| counts.associated_blocks.get(i).copied().unwrap_or(0);
        Merges {
            switch: one.switch + other.switch,
            partial: one.partial + other.partial,
            full: one.full + other.full,
            dead: one.dead + other.dead,
            associated_blocks: (0..longer).map(|i| of(one, i) + of(other, i)).collect(),
        }
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        let counts = &self.counts;
        let (sequential, random) = (&self.sequential.merges, &self.random_merges);
        let by_degree = Metric::Counts(random.associated_blocks.clone());
        let figures = [
            ("sequential_pages", self.sequential.pages),
            ("hot_pages", counts.pages[Partition::Hot as usize]),
            ("cold_pages", counts.pages[Partition::Cold as usize]),
            ("filled_in_pages", self.sequential.filled_in_pages),
            ("dead_hot_victims", counts.dead_hot_victims),
            ("old_hot_victims", counts.old_hot_victims),
            ("cold_victims", counts.cold_victims),
            ("sequential_switch_merges", sequential.switch),
            ("sequential_partial_merges", sequential.partial),
            ("sequential_full_merges", sequential.full),
            ("sequential_dead_merges", sequential.dead),
            ("random_full_merges", random.full),
            ("random_dead_merges", random.dead),
            ("merge_cost_table_bytes", self.cost_table_bytes()),
        ];
        let figures = figures.map(|(name, count)| (name, Metric::Count(count))).into_iter();
        figures.chain([("rw_associated_blocks", by_degree)]).collect()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let now = self.partition_state();
        vec![
            ("U_hot", now.hot.ratio()),
            ("U_cold", now.cold.ratio()),
            ("N_d", f64::from(now.dead)),
            ("k", self.regulator.k() as f64),
            ("hot_blocks", f64::from(self.random.blocks_of(Partition::Hot))),
            ("cold_blocks", f64::from(self.random.blocks_of(Partition::Cold))),
            ("hot_cap", f64::from(self.regulator.hot_blocks())),
            ("sequential_blocks", f64::from(self.sequential.count())),
            ("sequential_cap", f64::from(self.sequential_blocks)),
        ]
    }
}
