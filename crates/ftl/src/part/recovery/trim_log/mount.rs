//! The first half of a mount: reading the trim log, and finding what does not count.

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, PageState, Ppn};

use super::page::{CHECKPOINT, VOIDS, each_trim, voids_in, word};
use super::void_range::VoidRange;
use super::{SEGMENTS, TrimLog};
use crate::contract::{Error, Result};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, pages_of};
use crate::part::recovery::tombstones::Tombstones;

impl TrimLog {
    /// Reads the log, and hides the pages that do not count from the scan. Until the commit, every
    /// page with a tombstone is listed as trimmed. Pages of the `shelter` need no mark.
    ///
    /// # Errors
    /// The power is lost again, or a page holds something that the log cannot have written.
    pub fn read_back(
        &mut self,
        nand: &mut Nand,
        scan: &mut SpareScan,
        shelter: &[BlockId],
    ) -> Result<Tombstones> {
        let complete = scan.copies().filter(|copy| !copy.spare.tentative);
        let served = complete.map(|copy| copy.spare.sequence).max().unwrap_or(0);
        let segments = self.find_segments(nand, scan)?;
        let mut found = LogContents::of(self.trimmed.bound(), nand.geometry().pages());
        let active = &segments[self.active];
        for copy in active.pages.iter().filter(|_| active.end > 0) {
            found.replay(nand, *copy)?;
        }
        let committed = served.max(active.end);
        found.hide_voids(scan);
        scan.ignore(|copy| copy.spare.tentative && copy.spare.sequence > committed);
        self.marked = match nand.geometry().dies() {
            1 => u64::MAX,
            _ => self.hide_unmarked(nand, scan, shelter, &mut found.voids)?,
        };
        self.keep_voids(nand, scan, found.voids);
        self.erase_unsealed(nand)?;
        self.committed = false;
        found.tombstones.iter().for_each(|(lpn, _)| self.trimmed.insert(lpn.0));
        Ok(found.tombstones)
    }

    /// Hides the pages that were programmed after the last mark, and returns its sequence. Those in
    /// blocks that another part of the device has scanned become void.
    fn hide_unmarked(
        &self,
        nand: &mut Nand,
        scan: &mut SpareScan,
        shelter: &[BlockId],
        voids: &mut Vec<(Range<u32>, u64)>,
    ) -> Result<u64> {
        let (before, geometry) = (nand.take_sequence(), nand.geometry());
        // A segment without a seal will be erased, and so must not decide what counts.
        let sealed = self.segments.iter().zip(self.born).filter(|(_, born)| *born > 0);
        let of_log = sealed.flat_map(|(blocks, _)| blocks).flat_map(|&block| scan.copies_in(block));
        let mark = of_log.map(|copy| copy.spare.sequence).max().unwrap_or(0);
        scan.ignore(|copy| {
            copy.spare.sequence > mark && !shelter.contains(&geometry.block_of(copy.ppn))
        });
        let blocks = (0..geometry.blocks()).map(BlockId);
        for block in blocks.filter(|&block| !scan.has_scanned(block)) {
            for ppn in pages_of(geometry, block) {
                let spare = nand.array().peek_spare(Ppn(ppn))?;
                if spare.is_some_and(|(spare, _)| spare.sequence > mark) {
                    voids.push((ppn..pages_of(geometry, block).end, before));
                    break;
                }
            }
        }
        Ok(mark)
    }

    /// Finds the segments and the one that counts: the one with the newest sealed checkpoint.
    fn find_segments(
        &mut self,
        nand: &mut Nand,
        scan: &SpareScan,
    ) -> Result<[FoundSegment; SEGMENTS]> {
        let mut segments = [const { FoundSegment { pages: Vec::new(), end: 0 } }; SEGMENTS];
        for (segment, found) in segments.iter_mut().enumerate() {
            let blocks = self.segments[segment].iter();
            found.pages = blocks.flat_map(|&block| scan.copies_in(block)).collect();
            if let Some(copy) = found.pages.iter().find(|copy| copy.spare.owner != Lpn::SYSTEM) {
                let why = format!("page {} in the trim log belongs to the host", copy.ppn.0);
                return Err(Error::Unmountable(why));
            }
            found.end = match checkpoint_end(nand, &found.pages)? {
                Some((end, pages)) if self.is_sealed(nand, segment, pages)? => end,
                _ => 0,
            };
            self.born[segment] = if found.end > 0 { found.pages[0].spare.sequence } else { 0 };
        }
        self.clean = [false; SEGMENTS];
        self.used = self.capacity(nand);
        self.active = (0..SEGMENTS).max_by_key(|&segment| self.born[segment]).unwrap_or(0);
        Ok(segments)
    }

    /// Erases the segments without a sealed checkpoint, before the mount programs anything: a page
    /// that goes astray could become the seal of a checkpoint that never counted.
    fn erase_unsealed(&mut self, nand: &mut Nand) -> Result<()> {
        for segment in 0..SEGMENTS {
            if self.born[segment] == 0 {
                self.erase_segment(nand, segment)?;
            }
        }
        Ok(())
    }

    /// Whether the page behind a checkpoint shows that this is complete.
    fn is_sealed(&self, nand: &Nand, segment: usize, pages: u32) -> Result<bool> {
        if pages >= self.capacity(nand) {
            return Ok(false);
        }
        let seal = self.page(nand, segment, pages);
        Ok(nand.array().state(seal)? != PageState::Erased)
    }

    /// Lists the pages that stay void: those that the scan hides, and those in blocks that another
    /// part of the device has scanned.
    pub(super) fn keep_voids(
        &mut self,
        nand: &mut Nand,
        scan: &SpareScan,
        known: Vec<(Range<u32>, u64)>,
    ) {
        let before = nand.take_sequence();
        let block_of = |ppn: Ppn| nand.geometry().block_of(ppn);
        self.voids.clear();
        for &block in scan.blocks().iter().filter(|&&block| scan.hidden_in(block).next().is_some())
        {
            let mut void = |pages| self.voids.push(VoidRange::new(nand, pages, before));
            let (pages, last) = (pages_of(nand.geometry(), block), scan.copies_in(block).last());
            let first = scan.hidden_in(block).next();
            match (last, first) {
                (Some(last), Some(first)) if first > last.ppn => void(first.0..pages.end),
                (Some(_), _) => scan.hidden_in(block).for_each(|ppn| void(ppn.0..ppn.0 + 1)),
                (None, _) => void(pages),
            }
        }
        // A range may touch several blocks, of which some were scanned.
        for (pages, before) in known.into_iter().filter(|(pages, _)| !pages.is_empty()) {
            let blocks = block_of(Ppn(pages.start)).0..=block_of(Ppn(pages.end - 1)).0;
            for block in blocks.map(BlockId).filter(|&block| !scan.has_scanned(block)) {
                let inside = pages_of(nand.geometry(), block);
                let pages = pages.start.max(inside.start)..pages.end.min(inside.end);
                self.voids.push(VoidRange::new(nand, pages, before));
            }
        }
    }
}

/// The readable pages of a segment.
struct FoundSegment {
    pages: Vec<PageCopy>,
    /// The sequence of the last page of its checkpoint; 0 if it does not start with a sealed one.
    end: u64,
}

/// The sequence of the last page of the checkpoint with which these pages start, and the number of
/// its pages; none if one of them is missing.
pub(super) fn checkpoint_end(nand: &mut Nand, found: &[PageCopy]) -> Result<Option<(u64, u32)>> {
    let mut number = 0;
    while let Some(copy) = found.get(number as usize) {
        let bytes = nand.read_meta(copy.ppn, Cause::Meta)?;
        let words = [0, 2, 3].map(|at| word(bytes, at));
        let [Some(CHECKPOINT | VOIDS), Some(place), Some(total)] = words else { return Ok(None) };
        if place != number {
            return Ok(None);
        }
        number += 1;
        if number >= total {
            return Ok(Some((copy.spare.sequence, number)));
        }
    }
    Ok(None)
}

/// What a mount reads in the log.
pub(super) struct LogContents {
    pub tombstones: Tombstones,
    /// Physical pages that do not count, if their sequence is lower.
    pub voids: Vec<(Range<u32>, u64)>,
    /// Number of physical pages.
    pub physical_pages: u32,
}

impl LogContents {
    pub fn of(logical_pages: u32, physical_pages: u32) -> LogContents {
        LogContents {
            tombstones: Tombstones::new(logical_pages),
            voids: Vec::new(),
            physical_pages,
        }
    }

    /// Applies one page of the log.
    pub fn replay(&mut self, nand: &mut Nand, copy: PageCopy) -> Result<()> {
        let bytes = nand.read_meta(copy.ppn, Cause::Meta)?;
        let strange = || {
            let page = copy.ppn.0;
            Error::Unmountable(format!("page {page} of the trim log names pages that do not exist"))
        };
        let version = copy.spare.version;
        each_trim(bytes, |pages| self.tombstones.add(pages, version)).ok_or_else(strange)?;
        for (range, before) in voids_in(bytes, version).ok_or_else(strange)? {
            self.add_void(range, before).ok_or_else(strange)?;
        }
        Ok(())
    }

    /// Adds a range; none if it names pages that do not exist.
    pub fn add_void(&mut self, range: Range<u32>, before: u64) -> Option<()> {
        (range.end <= self.physical_pages).then(|| self.voids.push((range, before)))
    }

    /// Hides the void pages.
    pub fn hide_voids(&self, scan: &mut SpareScan) {
        for (pages, before) in &self.voids {
            scan.hide_among(pages.clone(), |copy| copy.spare.sequence < *before);
        }
    }
}
