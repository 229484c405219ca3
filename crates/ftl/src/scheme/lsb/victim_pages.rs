//! The valid pages of the block that lsb empties next, in logical order.
//!
//! ```text
//! upper   bit i: word i of `lower` has a bit
//! lower   bit n: page n of the superblock is valid in this block
//! ```
//! All pages of a block are of one superblock. So they are sorted by a bit for each of its pages,
//! which takes half as long as a sort by comparisons. The upper bits find the lower ones.

use nand::{BlockId, Lpn, Nand, Ppn};

use super::group_chains::GroupChains;
use crate::part::map::flat_map::FlatMap;

/// The valid pages of a full block, in logical order. A block is often examined before it is
/// emptied, so the list is kept. Until the block is erased, it can only lose pages.
#[derive(Debug)]
pub(super) struct VictimPages {
    block: Option<BlockId>,
    pages: Vec<Lpn>,
    superblock_pages: u32,
    /// These bits and the next are zero except while a list is made.
    lower: Vec<u64>,
    upper: Vec<u64>,
}

impl VictimPages {
    /// No list, of a device with this number of pages in a superblock.
    pub fn new(superblock_pages: u32) -> VictimPages {
        let lower = vec![0; superblock_pages.div_ceil(64) as usize];
        let upper = vec![0; lower.len().div_ceil(64)];
        VictimPages { block: None, pages: Vec::new(), superblock_pages, lower, upper }
    }

    /// Lists the valid pages of a block.
    pub fn list(&mut self, flat: &FlatMap, nand: &Nand, block: BlockId) -> &[Lpn] {
        if self.block == Some(block) {
            let stays = |lpn: &Lpn| nand.geometry().block_of(flat.entry(lpn.0)) == block;
            self.pages.retain(stays);
        } else {
            self.gather(flat, nand, block);
            self.block = Some(block);
        }
        &self.pages
    }

    fn gather(&mut self, flat: &FlatMap, nand: &Nand, block: BlockId) {
        self.pages.clear();
        let owners = nand.owners(block);
        owners.iter().for_each(|&owner| flat.prefetch_entry(owner));
        let pages = owners.iter().zip(nand.geometry().first_page(block).0..);
        let is_valid = |&(&owner, ppn): &(&u32, u32)| flat.is_newest(owner, Ppn(ppn));
        let Some((&some, _)) = pages.clone().find(is_valid) else { return };
        let first = some / self.superblock_pages * self.superblock_pages;
        for page in pages {
            // No branch on validity: the processor could not predict it.
            let (at, valid) = (page.0.wrapping_sub(first) as usize, u64::from(is_valid(&page)));
            // Padding and erased pages have no owner.
            let Some(word) = self.lower.get_mut(at / 64) else { continue };
            *word |= valid << (at % 64);
            self.upper[at / 4096] |= valid << (at / 64 % 64);
        }
        self.collect(first);
    }

    /// Lists the pages whose bits are set, and clears the bits. `first` is the first page of the
    /// superblock.
    fn collect(&mut self, first: u32) {
        let VictimPages { pages, lower, upper, .. } = self;
        for (lower, (upper, first)) in
            lower.chunks_mut(64).zip(upper.iter_mut().zip((first..).step_by(4096)))
        {
            while *upper != 0 {
                let at = upper.trailing_zeros();
                *upper &= *upper - 1;
                let mut found = core::mem::take(&mut lower[at as usize]);
                while found != 0 {
                    pages.push(Lpn(first + 64 * at + found.trailing_zeros()));
                    found &= found - 1;
                }
            }
        }
    }

    /// Forgets the list, because its block may gain pages.
    pub fn forget(&mut self) {
        self.block = None;
    }

    /// Takes the list of a block that is being emptied.
    pub fn take(&mut self) -> Vec<Lpn> {
        self.block = None;
        core::mem::take(&mut self.pages)
    }

    /// Takes the memory of such a list back.
    pub fn give_back(&mut self, pages: Vec<Lpn>) {
        self.pages = pages;
    }

    /// The maximum number of programs that moving a block's valid pages can take, including induced
    /// writes.
    pub fn needs(
        &mut self,
        flat: &FlatMap,
        chains: &GroupChains,
        nand: &Nand,
        block: BlockId,
    ) -> u32 {
        chains.programs_max(self.list(flat, nand, block))
    }
}
