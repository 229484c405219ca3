//! Checks of blocks, cache and translation pages against each other.

use nand::{Lpn, Nand, Ppn};

use super::{BlockContent, Dftl};
use crate::contract::{Violation, ensure};

impl Dftl {
    /// Checks that blocks contain either data or entries.
    pub(super) fn audit_contents(&self, nand: &Nand) -> Result<(), Violation> {
        for lpn in (0..self.map.flat.pages()).map(Lpn) {
            let Some(ppn) = self.map.flat.newest(lpn) else { continue };
            let block = nand.geometry().block_of(ppn);
            let is_data = lpn.0 < self.map.logical_pages();
            let holds = if is_data { BlockContent::Data } else { BlockContent::Entries };
            ensure!(
                self.content_of(nand, block) == holds,
                "{block:?} holds {lpn:?}, which is {holds:?}"
            );
        }
        Ok(())
    }

    /// Checks that entries which are not cached are in flash.
    pub(super) fn audit_entries(&self, nand: &Nand) -> Result<(), Violation> {
        self.cmt.audit()?;
        let pages = self.map.logical_pages();
        for lpn in (0..pages).map(Lpn).filter(|&lpn| self.map.flat.newest(lpn).is_some()) {
            let page = self.owner_of(self.translation_page_of(lpn));
            let found = self.cmt.contains(lpn) || self.map.flat.newest(page).is_some();
            ensure!(found, "{lpn:?} is mapped, but its entry is neither cached nor in flash");
        }
        (0..self.translation_pages()).try_for_each(|page| self.audit_translation_page(nand, page))
    }

    /// Checks a translation page in flash: each entry has its current value or, if it is dirty, the
    /// value that the cache records as being in flash.
    fn audit_translation_page(&self, nand: &Nand, page: u32) -> Result<(), Violation> {
        let first = page * self.entries;
        let end = self.map.logical_pages().min(first + self.entries);
        let mut expected = self.map.flat.entries(first..end).to_vec();
        for (lpn, flash) in self.cmt.dirty_in(page) {
            expected[(lpn.0 - first) as usize] = flash;
        }
        let at = self.map.flat.newest(self.owner_of(page));
        let Some(bytes) = at.and_then(|ppn| nand.array().peek_meta(ppn)) else { return Ok(()) };
        for (lpn, (entry, ppn)) in (first..).zip(bytes.chunks_exact(4).zip(expected)) {
            let flash = Ppn(u32::from_le_bytes(entry.try_into().expect("chunks of four")));
            ensure!(flash == ppn, "the flash maps LPN {lpn} to {flash:?}, not to {ppn:?}");
        }
        Ok(())
    }
}
