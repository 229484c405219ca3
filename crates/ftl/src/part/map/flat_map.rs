//! Where the newest version of each logical page stands, one entry a page, and which pages were
//! trimmed: what lies below the map of every scheme that finds pages without searching.
//!
//! ```text
//! LPN     0  1  2  3  4  5 …
//! newest  7  3  ·  9  2  · …      a PPN, or · for pages never written, or trimmed
//! ```
//! Whose page counts as valid, and what it costs to lose it, is for the map above:
//! [`page_map`](crate::part::page::page_map) or [`log_map`](crate::part::log::log_map).

use core::ops::Range;

use nand::{Cause, Lpn, Nand, Ppn, Sink};

use crate::contract::{Result, Run, Violation, ensure};
use crate::part::index::prefetch::prefetch;
use crate::part::map::rmw;
use crate::part::recovery::spare_scan::{self, PageCopy};
use crate::part::recovery::trim_log::TrimLog;

/// Pages of a run worth a hint; the processor takes no more at once.
const HINTS: u32 = 16;

/// The newest versions, and the trims.
#[derive(Clone, Debug)]
pub struct FlatMap {
    newest: Vec<Ppn>,
    /// Tombstones; none where trims need not survive.
    pub trims: Option<TrimLog>,
}

impl FlatMap {
    /// A map of so many pages, none of which is mapped.
    pub fn new(pages: u32, trims: Option<TrimLog>) -> FlatMap {
        FlatMap { newest: vec![Ppn::NONE; pages as usize], trims }
    }

    // ---- Looking ------------------------------------------------------------------------------

    /// How many pages it has entries for.
    pub fn pages(&self) -> u32 {
        self.newest.len() as u32
    }

    /// Where the newest version of a page stands.
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Ppn> {
        Some(self.newest[lpn.0 as usize]).filter(|&ppn| ppn != Ppn::NONE)
    }

    /// The same for consecutive pages, [`Ppn::NONE`] where none is.
    #[inline]
    pub fn entries(&self, lpns: Range<u32>) -> &[Ppn] {
        &self.newest[lpns.start as usize..lpns.end as usize]
    }

    /// Whether the newest version of what claims to be an owner's page stands here. Padding and
    /// erased pages own what no map has.
    #[inline]
    pub fn is_newest(&self, owner: u32, ppn: Ppn) -> bool {
        self.newest.get(owner as usize) == Some(&ppn)
    }

    /// A hint that an owner's entry is needed soon.
    #[inline]
    pub fn prefetch_entry(&self, owner: u32) {
        prefetch(&self.newest, owner as usize);
    }

    /// The next mapped pages in a row.
    pub fn mapped_run(&self, lpns: Range<u32>) -> Option<Range<u32>> {
        let mapped = |&lpn: &u32| self.newest[lpn as usize] != Ppn::NONE;
        let start = lpns.clone().find(mapped)?;
        let end = (start..lpns.end).find(|lpn| !mapped(lpn));
        Some(start..end.unwrap_or(lpns.end))
    }

    // ---- Changing -----------------------------------------------------------------------------

    /// Points a page elsewhere; returns where it stood.
    #[inline]
    pub fn point(&mut self, lpn: Lpn, to: Ppn) -> Ppn {
        core::mem::replace(&mut self.newest[lpn.0 as usize], to)
    }

    /// Programs pages of a run, from page `index` on, at `to` onwards; returns how many of the
    /// `most` it did: those that the host gave whole, or one of which it gave some sectors. They
    /// are to be [pointed](Self::point) there, and [noted](Self::note_written).
    ///
    /// # Errors
    /// The power fails.
    pub fn program(
        &self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        most: u32,
        to: Ppn,
        kind: u8,
    ) -> Result<u32> {
        let full = nand.geometry().full_mask();
        let first = run.first.plus(index);
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        let whole = run.whole_pages_from(index, full).min(most);
        if whole > 0 {
            nand.program_run(to, first, whole, kind, data, Cause::Host)?;
        } else {
            let base = self.newest(first);
            rmw::program(nand, to, first, kind, run.mask(index, full), data, base)?;
        }
        Ok(whole.max(1))
    }

    /// Notes that the host wrote a page: no older trim concerns it.
    #[inline]
    pub fn note_written(&mut self, lpn: Lpn) {
        if let Some(trims) = &mut self.trims {
            trims.written(lpn);
        }
    }

    /// Notes that mapped pages in a row were trimmed.
    ///
    /// # Errors
    /// The power fails.
    pub fn note_trimmed(&mut self, nand: &mut Nand, lpns: Range<u32>) -> Result<()> {
        self.trims.as_mut().map_or(Ok(()), |trims| trims.trim(nand, lpns))
    }

    /// Goes on with the trim log at the end of a mount that found these `tombstones`.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn resume_trims(
        &mut self,
        nand: &mut Nand,
        tombstones: &[u64],
        last: Option<PageCopy>,
    ) -> Result<()> {
        let Some(trims) = &mut self.trims else { return Ok(()) };
        let mapped = |lpn: Lpn| self.newest[lpn.0 as usize] != Ppn::NONE;
        trims.resume(nand, tombstones, mapped, last)
    }

    // ---- What every scheme with a flat map answers alike --------------------------------------

    /// Reads a run.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn read(&self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            if let Some(ppn) = self.newest(lpn) {
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    /// Writes down the trims that wait. Collections and merges do so before they erase, for the
    /// erase may take a trimmed page's newest copy; merges before their first program, for a mount
    /// must find an unfinished merge programmed last.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.trims.as_mut().map_or(Ok(()), |trims| trims.flush(nand))
    }

    /// A hint that a run comes soon.
    pub fn prefetch(&self, run: &Run) {
        (0..run.pages.min(HINTS)).for_each(|page| self.prefetch_entry(run.first.0 + page));
    }

    /// The version of a page; none if it is unmapped.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        self.newest(lpn).map_or(Ok(None), |ppn| spare_scan::version(nand, ppn))
    }

    /// Bytes of RAM that the trims take.
    pub fn trim_bytes(&self) -> u64 {
        self.trims.as_ref().map_or(0, TrimLog::ram_bytes)
    }

    /// Compares each entry with the chip; returns the valid pages of each block, counted.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<Vec<u32>, Violation> {
        let geometry = nand.geometry();
        let mut valid = vec![0; geometry.blocks() as usize];
        for lpn in (0..self.pages()).map(Lpn) {
            let Some(ppn) = self.newest(lpn) else { continue };
            // That each page has one owner makes the map injective.
            let owner = nand.owner(ppn);
            ensure!(owner == lpn, "{lpn:?} maps to {ppn:?}, which holds {owner:?}");
            valid[geometry.block_of(ppn).0 as usize] += 1;
        }
        Ok(valid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_mapped_pages_end_where_the_range_or_the_row_ends() {
        let mut map = FlatMap::new(8, None);
        for lpn in [1, 2, 3, 6] {
            assert_eq!(map.point(Lpn(lpn), Ppn(40 + lpn)), Ppn::NONE);
        }
        assert_eq!(map.mapped_run(0..8), Some(1..4));
        assert_eq!(map.mapped_run(2..3), Some(2..3));
        assert_eq!(map.mapped_run(4..8), Some(6..7));
        assert_eq!(map.mapped_run(4..6), None);
        assert_eq!(map.mapped_run(7..7), None);
    }

    #[test]
    fn a_page_that_moves_leaves_its_old_place() {
        let mut map = FlatMap::new(2, None);
        map.point(Lpn(1), Ppn(5));
        assert!(map.is_newest(1, Ppn(5)) && !map.is_newest(0, Ppn(5)));
        assert_eq!(map.point(Lpn(1), Ppn(9)), Ppn(5));
        assert_eq!((map.newest(Lpn(0)), map.newest(Lpn(1))), (None, Some(Ppn(9))));
        assert!(!map.is_newest(u32::MAX, Ppn::NONE), "an erased page is nobody's");
    }
}
