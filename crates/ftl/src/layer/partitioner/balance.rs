//! The rule `balanced`: the share of whoever does best with it (beyond the paper).
//!
//! Algorithm 1 compares what the last byte of each side would save in one interval. This rule has a
//! [rival](crate::part::rivals) for each of a few shares. After every interval the boundary moves
//! to the share of the rival that is clearly ahead, at once. A map that has grown is filled at
//! once, too, and gives up what only the smaller one needed. A map that has an entry for every
//! page can use no more, so it begins with that or with the half, whichever is less.

use nand::{Geometry, Nand, Timing};

use crate::contract::{Ftl, MapBudget, Result};
use crate::part::rivals::{Caution, Rivals};

/// The shares of the map to choose from, in percent of the budget.
const SHARES: [u64; 11] = [3, 10, 20, 30, 40, 50, 60, 70, 80, 90, 97];
/// A wrong share can cost a multiple, so the boundary moves soon. But a move costs something: what
/// leaves a cache has to be read again, and where pages lie in the flash tells for long what was
/// before. So a share must promise one per cent.
const CAUTION: Caution = Caution { fading: 1.0 - 1.0 / 256.0, lead: 0.01 };
/// Requests from one comparison to the next.
pub const INTERVAL: u64 = 250;

/// The rivals, and whose share is in force.
pub struct Balance<F> {
    /// They see all requests.
    pub rivals: Rivals<F>,
    /// The bytes that the map has in each rival.
    mappings: Vec<u64>,
    now: usize,
}

impl<F: Ftl + 'static> Balance<F> {
    /// Rivals whose maps have these bytes of the budget, ascending; `mount` mounts one of them.
    ///
    /// # Errors
    /// A rival cannot be mounted.
    pub fn new(
        dram: u64,
        mappings: Vec<u64>,
        nand: &Nand,
        timing: Timing,
        mut mount: impl FnMut(u64, &mut Nand) -> Result<F>,
    ) -> Result<Balance<F>> {
        let mount = |number: usize, nand: &mut Nand| mount(mappings[number], nand);
        let rivals = Rivals::new(nand.geometry(), timing, mappings.len(), CAUTION, mount)?;
        Ok(Balance { rivals, now: first(&mappings, dram), mappings })
    }

    /// The bytes that the map should have.
    pub fn mapping(&self) -> u64 {
        self.mappings[self.now]
    }

    /// Compares the rivals.
    pub fn tune(&mut self) {
        self.now = self.rivals.cheapest(self.now);
    }
}

/// The rival with which the rule begins: the largest map that takes at most half of the budget.
fn first(mappings: &[u64], dram: u64) -> usize {
    mappings.iter().rposition(|&mapping| mapping <= dram / 2).unwrap_or(0)
}

/// The bytes of the map in each rival, ascending: shares of the budget, but never more than the map
/// of these logical blocks can use.
pub fn mappings(
    dram: u64,
    budget: &MapBudget,
    geometry: &Geometry,
    logical_blocks: u32,
) -> Vec<u64> {
    let pages = u64::from(logical_blocks) * u64::from(geometry.pages_per_block());
    let useful = pages * budget.entry_bytes;
    let share = |percent: u64| (u128::from(dram) * u128::from(percent) / 100) as u64;
    let mut mappings: Vec<u64> = SHARES.map(|percent| share(percent).min(useful)).into();
    mappings.dedup();
    mappings
}

#[cfg(test)]
mod tests {
    use nand::ProgramOrder;

    use super::*;
    use crate::part::rivals::tests::rivals;

    /// 64 pages, whose map takes 512 bytes.
    fn mappings_of(dram: u64) -> Vec<u64> {
        let budget = MapBudget { replaces: "", unit_bytes: |_| 8, entry_bytes: 8, interval: 1 };
        let geometry = Geometry::new(512, 64, 16, 6, ProgramOrder::Sequential).unwrap();
        mappings(dram, &budget, &geometry, 4)
    }

    #[test]
    fn no_share_is_larger_than_a_map_of_all_pages() {
        let all = [15, 51, 102, 153, 204, 256, 307, 358, 409, 460, 496];
        assert_eq!(mappings_of(512), all);
        assert_eq!(mappings_of(2048), [61, 204, 409, 512]);
        assert_eq!(mappings_of(1 << 20), [512], "the buffer gets the rest");
    }

    #[test]
    fn it_follows_a_rival_that_is_ahead_by_one_per_cent() {
        for (cost, expected) in [(397, 20), (394, 10)] {
            let rivals = rivals(&[cost, 400], CAUTION);
            let mut balance = Balance { rivals, mappings: vec![10, 20], now: 1 };
            for comparison in 1..=9 {
                balance.rivals.flush(None).unwrap();
                balance.tune();
                let expected = if comparison == 1 { 20 } else { expected };
                assert_eq!(balance.mapping(), expected, "{cost}, after {comparison} comparisons");
            }
        }
    }

    #[test]
    fn it_begins_with_the_half_or_with_all_that_the_map_can_use() {
        for (dram, bytes) in [(512, 256), (900, 450), (2048, 512), (1 << 20, 512)] {
            let mappings = mappings_of(dram);
            assert_eq!(mappings[first(&mappings, dram)], bytes, "of {dram}");
        }
    }
}
