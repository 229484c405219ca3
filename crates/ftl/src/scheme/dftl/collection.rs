//! Garbage collection: emptying data blocks and translation blocks.

use nand::{BlockId, Cause, Lpn, Nand};

use super::{BlockContent, Dftl};
use crate::contract::Result;

impl Dftl {
    /// Reclaims the full block with the fewest valid pages, whatever it contains.
    pub(super) fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.map.choose_victim();
        match self.content_of(nand, victim) {
            BlockContent::Data => self.reclaim_data(nand, victim),
            BlockContent::Entries => self.reclaim_translation(nand, victim),
        }
    }

    /// What a block with programmed pages contains. A power cut can have destroyed its first page.
    pub(super) fn content_of(&self, nand: &Nand, block: BlockId) -> BlockContent {
        let mut owners = nand.owners(block).iter().map(|&owner| Lpn(owner));
        match owners.find(|owner| owner.is_host()) {
            Some(owner) if owner.0 < self.map.logical_pages() => BlockContent::Data,
            _ => BlockContent::Entries,
        }
    }

    fn reclaim_translation(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        let mut copies = 0;
        let frontier = &mut self.translation;
        self.map.empty(nand, victim, frontier, None, Cause::Map, |_, _| copies += 1)?;
        self.account.reclaimed_translation(copies);
        Ok(())
    }

    fn reclaim_data(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        let (cmt, uncached, mut copies) = (&mut self.cmt, &mut self.uncached, 0);
        uncached.clear();
        self.map.move_out(nand, victim, &mut self.data, None, Cause::Gc, |lpn, from| {
            copies += 1;
            if !cmt.mark_dirty(lpn, from) {
                uncached.push((lpn, from));
            }
        })?;
        let entries = self.entries;
        self.outdated.clear();
        self.outdated.extend(self.uncached.iter().map(|(lpn, _)| lpn.0 / entries));
        self.outdated.sort_unstable();
        self.outdated.dedup();
        let updates = if self.must_wait() {
            self.cache_uncached();
            0
        } else {
            self.update_uncached(nand)?
        };
        self.map.erase(nand, victim, Cause::Gc)?;
        self.account.reclaimed_data(copies, updates);
        Ok(())
    }

    /// Whether the translation pages of a victim's pages must not be rewritten now: a block opened
    /// for them must not be the last erased one, and while no block is erased only copies may be
    /// programmed.
    fn must_wait(&self) -> bool {
        let opens = self.outdated.len() > self.translation.room() as usize;
        self.is_mounting || self.map.flat.pool.len() < 1 + u32::from(opens)
    }

    /// Puts the entries of a victim's pages into the cache, beyond its size if necessary.
    fn cache_uncached(&mut self) {
        self.uncached.sort_unstable();
        for &(lpn, from) in &self.uncached {
            let slot = self.cmt.insert(lpn);
            self.cmt.mark_slot_dirty(slot, from);
        }
    }

    /// Rewrites the translation pages of a victim's pages. Returns how many.
    fn update_uncached(&mut self, nand: &mut Nand) -> Result<u64> {
        for at in 0..self.outdated.len() {
            if self.translation.room() == 0 {
                self.translation = self.map.open(nand)?;
            }
            let page = self.outdated[at];
            self.compose(nand, page, false);
            self.rewrite(nand, page)?;
        }
        Ok(self.outdated.len() as u64)
    }
}
