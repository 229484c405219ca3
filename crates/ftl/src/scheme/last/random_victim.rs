//! The pages of a random log block that is about to be merged.

use nand::{BlockId, Lpn, Nand};

use super::merge_costs::MergeCosts;
use crate::part::log::log_map::{Lbn, LogMap};

/// A random log block that is about to be merged.
#[derive(Clone, Debug)]
pub struct RandomVictim {
    /// The block.
    pub block: BlockId,
    /// Its valid pages, ascending.
    pub pages: Vec<Lpn>,
    /// Their logical blocks, ascending.
    pub lbns: Vec<Lbn>,
}

impl RandomVictim {
    /// No victim yet, of blocks with `pages_per_block` pages.
    pub fn new(pages_per_block: u32) -> RandomVictim {
        let most = pages_per_block as usize;
        let (pages, lbns) = (Vec::with_capacity(most), Vec::with_capacity(most));
        RandomVictim { block: BlockId(0), pages, lbns }
    }

    /// Makes a block the victim.
    pub fn choose(&mut self, nand: &Nand, map: &LogMap<MergeCosts>, block: BlockId) {
        self.block = block;
        self.pages.clear();
        let slots = 0..map.pages_per_block();
        self.pages.extend(map.valid_pages(nand, block, slots).map(|(lpn, _)| lpn));
        self.pages.sort_unstable();
        self.lbns.clear();
        self.lbns.extend(self.pages.iter().map(|&lpn| map.lbn_of(lpn)));
        self.lbns.dedup();
    }
}
