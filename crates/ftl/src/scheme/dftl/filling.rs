//! Filling a cache that has become larger, beyond the paper.
//!
//! Misses would fill the new room one entry at a time, so whole translation pages are loaded.
//!
//! A device whose cache was larger from the beginning never wrote some of these pages. Here garbage
//! collection would move them for ever; on a device with few extra blocks that took a tenth of the
//! time. So those that nobody needs any more are released.

use nand::{Lpn, Nand, Ppn};

use super::Dftl;
use crate::contract::Result;
use crate::part::map::frontier::Frontier;

impl Dftl {
    /// Loads whole translation pages into the cache while there is room for them. The pages of the
    /// most recent entries come first. Nobody has used the new entries, so they are evicted first.
    pub(super) fn load_pages(&mut self, nand: &mut Nand) -> Result<()> {
        let used: Vec<Lpn> = self.cmt.iter().map(|(lpn, _)| lpn).collect();
        let recent = used.iter().rev().map(|&lpn| self.translation_page_of(lpn));
        let all = 0..self.translation_pages();
        let mut is_left = vec![true; all.len()];
        let mut pages: Vec<u32> = recent.chain(all).collect();
        pages.retain(|&page| core::mem::take(&mut is_left[page as usize]));
        for page in pages {
            let missing = self.uncached_of(page);
            if u64::from(self.cmt.entries()) + missing.len() as u64 > self.capacity {
                break;
            }
            if !missing.is_empty() {
                let is_in_flash = self.read_page(nand, page)?;
                for lpn in missing {
                    self.insert(lpn, is_in_flash);
                }
            }
        }
        for lpn in used {
            self.cmt.touch(lpn);
        }
        Ok(())
    }

    /// Releases each translation page whose entries are all cached, as if it had never been
    /// written: the entries become dirty. A mount may find it again, with entries that are old.
    pub(super) fn release_pages(&mut self, nand: &Nand) {
        let mut is_one_left = false;
        for page in 0..self.translation_pages() {
            let owner = self.owner_of(page);
            if self.map.flat.newest(owner).is_none() {
                continue;
            }
            if !self.uncached_of(page).is_empty() {
                is_one_left = true;
                continue;
            }
            self.map.forget(nand, owner);
            self.cmt.clean(page);
            for lpn in self.mapped_of(page) {
                self.cmt.mark_dirty(lpn, Ppn::NONE);
            }
        }
        if !is_one_left {
            // Nobody may need the rest of the open block for long.
            let open = core::mem::replace(&mut self.translation, Frontier::NONE);
            self.map.close(open, nand.geometry());
        }
    }

    /// The mapped pages of which a translation page has the entries.
    fn mapped_of(&self, page: u32) -> Vec<Lpn> {
        let first = page * self.entries;
        let end = self.map.logical_pages().min(first + self.entries);
        (first..end).map(Lpn).filter(|&lpn| self.map.flat.newest(lpn).is_some()).collect()
    }

    /// Those of them without a cached entry.
    fn uncached_of(&self, page: u32) -> Vec<Lpn> {
        let mut pages = self.mapped_of(page);
        pages.retain(|&lpn| !self.cmt.contains(lpn));
        pages
    }
}
