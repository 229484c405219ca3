//! The trim log, under [`Durability::Full`](crate::contract::Durability::Full): which logical pages
//! are trimmed, and which physical pages do not count.
//!
//! A trim leaves no trace in the data blocks, so at the next mount the old copies of a trimmed page
//! would come back. Therefore trims are written to *system blocks*, no later than at the next
//! flush. A note that a page was trimmed is a *tombstone*. The system blocks form three segments,
//! of which one is active:
//!
//! ```text
//! active    [checkpoint 0 1 2][seal][record][record][        ]
//! fallback  the segment that was active before
//! oldest    will be erased and become active when the active segment is full
//! ```
//! A *checkpoint* is a bitmap of all trimmed pages, divided into windows of one flash page, and a
//! list of all void pages. Windows without a trimmed page are left out. A *record* lists what was
//! added since the checkpoint; the *seal* is an empty one. When a record does not fit, the log
//! changes over: it erases the oldest segment and writes a checkpoint and a seal there. From then
//! on a mount believes this segment.
//!
//! The version of a log page is its place in the order of programs. It kills older copies of the
//! pages that the log page names, and no newer ones.
//!
//! **Void pages.** A mount cannot tell what a power cut has left of an erase: old pages may still
//! be readable, and become unreadable later. So before a block is erased, a record says that its
//! pages are *void*: a page there does not count if its sequence is lower than the one given with
//! the range. Later programs have higher sequences, so a range need not be revoked. It is dropped
//! once the block has been erased. The record takes the waiting trims along.
//!
//! **A mount is atomic.** All pages that a mount programs are *tentative* until it
//! [commits](TrimLog::commit). The commit is a checkpoint. It also makes void the place of the
//! suspect page, which the mount has copied, all free blocks that hold pages, and the tentative
//! pages that the mount has ignored. A mount ignores a tentative page if its sequence is above that
//! of the newest page that is not tentative, and above that of the newest complete checkpoint: the
//! mount that programmed it never committed. Before the commit, [`TrimLog::erase`] erases nothing.
//! So after a power cut the next mount starts from the same state. Segments without a sealed
//! checkpoint are erased first of all, because a page that goes astray could become the seal.
//!
//! **Marks.** On a chip with several dies, a cut may leave a page and not the one before it. So a
//! page of the log is a *mark*: it is programmed when all before it is complete, and a mount takes
//! nothing that was programmed after the last mark. A flush leaves one, if need be an empty record,
//! and so does each erase before it begins. What a mount leaves out was never promised to anybody.
//! All that it takes is complete, so no page is suspect. A chip with one die needs no marks.
//!
//! **Why a seal.** The page that completes a checkpoint may become unreadable after a power cut. A
//! page behind it proves that its program had ended, even if that page itself cannot be read. So a
//! checkpoint counts only if the page behind it is not erased, and nobody relies on a checkpoint
//! before it has its seal.
//!
//! Format of a log page, little-endian:
//!
//! ```text
//! byte  0         4                         8                12         16
//!       0 record  number of trim ranges     of void ranges   0          trim ranges, void ranges
//!       1 bitmap  first page of its window  number of page   of pages   one bit for each page
//!       2 voids   number of void ranges     number of page   of pages   void ranges
//! ```
//! A range is `u32` first page and `u32` number of pages; void ranges name physical pages. The void
//! ranges of a record hold below the record's own sequence. In a checkpoint each is followed by a
//! `u64`, the sequence below which it holds.

mod mount;
mod page;
mod size;
#[cfg(test)]
mod tests;
mod void_range;

use core::ops::Range;

use nand::{BlockId, Cause, Content, Lpn, Nand, Page, Ppn};

pub use self::size::{blocks_max, system_blocks};

use self::page::{
    CHECKPOINT, HEADER_BYTES, RECORD, VOIDS, names, put, ranges_per_page, start, voids_in,
    voids_per_page, window,
};
use self::size::TrimLogSize;
use self::void_range::VoidRange;
use crate::contract::{MountConfig, Result, Violation};
use crate::part::index::bit_set::BitSet;
use crate::part::recovery::block_audit;
use crate::part::recovery::page_kind;
use crate::part::recovery::spare_scan::{PageCopy, Suspects, pages_of};

/// Maximum number of ranges that wait for a flush. If there are more, the log writes them at once.
const WAITING_MAX: usize = 1 << 14;

/// Number of segments: active, fallback and oldest.
const SEGMENTS: usize = 3;

/// The trims of a device, in RAM and in flash.
#[derive(Clone, Debug)]
pub struct TrimLog {
    segments: [Vec<BlockId>; SEGMENTS],
    /// The sequence at which each segment's checkpoint began; 0 if the segment has no sealed one.
    born: [u64; SEGMENTS],
    /// Whether each segment is known to be erased.
    clean: [bool; SEGMENTS],
    active: usize,
    /// Pages of the active segment that have been programmed, or that a mount does not trust.
    used: u32,
    /// Logical pages that were trimmed and not written since.
    trimmed: BitSet,
    /// Trimmed ranges that are not in flash yet.
    waiting: Vec<Range<u32>>,
    /// Physical pages that do not count.
    voids: Vec<VoidRange>,
    /// Whether no mount is running that has not committed.
    committed: bool,
    /// The place in the order of programs behind the last mark. While a mount has not committed:
    /// the sequence of the mark that it has found, and the greatest number if it needs none.
    marked: u64,
    /// The page being composed.
    buffer: Vec<u8>,
}

/// Number of system blocks of a device. They are the last ones of its blocks.
pub fn system_blocks_of(nand: &Nand, device: &MountConfig) -> usize {
    let size = TrimLogSize::of(nand.geometry(), device.logical_blocks);
    size.system_blocks(device.durability) as usize
}

impl TrimLog {
    /// Splits a device's blocks into data blocks and, under full durability, a trim log.
    pub fn split<'a>(nand: &Nand, device: &MountConfig<'a>) -> (&'a [BlockId], Option<TrimLog>) {
        let geometry = nand.geometry();
        let data = device.blocks.len() - system_blocks_of(nand, device);
        let (data, system) = device.blocks.split_at(data);
        if system.is_empty() {
            return (data, None);
        }
        // The shelter has the last blocks.
        let segment = TrimLogSize::of(geometry, device.logical_blocks).segment_blocks() as usize;
        let log = TrimLog {
            segments: [0, 1, 2].map(|n| system[n * segment..][..segment].to_vec()),
            born: [0; SEGMENTS],
            clean: [true; SEGMENTS],
            active: SEGMENTS - 1,
            used: segment as u32 * geometry.slc_pages(),
            trimmed: BitSet::new(device.logical_blocks * geometry.pages_per_block()),
            waiting: Vec::new(),
            voids: Vec::new(),
            committed: true,
            marked: 0,
            buffer: Vec::with_capacity(geometry.page_bytes() as usize),
        };
        (data, Some(log))
    }

    // ---- Normal operation ---------------------------------------------------------------------

    /// Notes that mapped pages were trimmed.
    ///
    /// # Errors
    /// The power fails; trims are written now if too many of them wait.
    pub fn trim(&mut self, nand: &mut Nand, pages: Range<u32>) -> Result<()> {
        self.trimmed.insert_all(pages.clone());
        match self.waiting.last_mut() {
            Some(last) if last.end == pages.start => last.end = pages.end,
            _ => self.waiting.push(pages),
        }
        if self.waiting.len() > WAITING_MAX { self.flush(nand) } else { Ok(()) }
    }

    /// Notes that a page was written: its copy in flash is newer than any tombstone.
    #[inline]
    pub fn written(&mut self, lpn: Lpn) {
        self.trimmed.remove(lpn.0);
    }

    /// Writes all waiting trims to flash, and what was programmed so far survives from now on.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        nand.barrier();
        let needs_mark = nand.geometry().dies() > 1 && nand.wait() != self.marked;
        if needs_mark || !self.waiting.is_empty() {
            self.record(nand, None)?;
        }
        Ok(())
    }

    /// Erases a block in which no page counts any more, after writing to flash all waiting trims
    /// and the fact that its pages are void. So it does not matter what a power cut leaves of them.
    /// Before a mount has committed, the block is not erased, because the mount may have to be
    /// repeated; it will be void as soon as the mount commits. Returns whether it was erased.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<bool> {
        if self.committed {
            self.voids.retain(|void| void.is_current(nand));
            let (pages, before) = (pages_of(nand.geometry(), block), nand.take_sequence());
            self.voids.push(VoidRange::new(nand, pages, before));
            self.record(nand, Some(block))?;
            nand.erase(block, cause)?;
        }
        Ok(self.committed)
    }

    /// Writes the waiting trims, and that the pages of this block are void.
    fn record(&mut self, nand: &mut Nand, void: Option<BlockId>) -> Result<()> {
        let mut waiting = core::mem::take(&mut self.waiting);
        waiting.sort_unstable_by_key(|range| range.start);
        let mut ranges = still_trimmed(&self.trimmed, &waiting);
        let trims = ranges.len();
        ranges.extend(void.map(|block| pages_of(nand.geometry(), block)));
        let per_page = ranges_per_page(nand.geometry().page_bytes());
        let room = self.capacity(nand) - self.used;
        let is_mark = ranges.is_empty() && nand.geometry().dies() > 1;
        if ranges.len().div_ceil(per_page) as u32 + u32::from(is_mark) > room {
            return self.change_over(nand);
        }
        let empty = is_mark.then_some([].as_slice());
        for (page, named) in ranges.chunks(per_page).chain(empty).enumerate() {
            let trims = trims.saturating_sub(page * per_page).min(named.len());
            start(&mut self.buffer, [RECORD, trims as u32, (named.len() - trims) as u32, 0]);
            put(&mut self.buffer, named);
            self.append(nand)?;
        }
        self.marked = nand.wait();
        Ok(())
    }

    /// Erases the oldest segment and starts it with a checkpoint. It is never the active one, which
    /// is the youngest, and is needed until this checkpoint has its seal.
    fn change_over(&mut self, nand: &mut Nand) -> Result<()> {
        let oldest = (0..SEGMENTS).min_by_key(|&segment| self.born[segment]);
        let target = oldest.expect("there are segments");
        if !self.clean[target] {
            self.erase_segment(nand, target)?;
        }
        self.segments[target].iter().for_each(|&block| nand.use_as_slc(block));
        (self.clean[target], self.active, self.used) = (false, target, 0);
        self.born[target] = nand.take_sequence();
        let page_bytes = nand.geometry().page_bytes();
        let window = window(page_bytes);
        let firsts = self.windows_with_trims(window);
        let voids = self.current_voids(nand);
        let per_page = voids_per_page(page_bytes);
        let total = (firsts.len() + voids.len().div_ceil(per_page)) as u32;
        for (number, &first) in firsts.iter().enumerate() {
            start(&mut self.buffer, [CHECKPOINT, first, number as u32, total]);
            self.buffer.resize(nand.geometry().page_bytes() as usize, 0);
            for page in self.trimmed.runs(first..first.saturating_add(window)).flatten() {
                let bit = (page - first) as usize;
                self.buffer[HEADER_BYTES + bit / 8] |= 1 << (bit % 8);
            }
            debug_assert!(
                names(&self.buffer, self.trimmed.runs(first..first.saturating_add(window))),
                "a checkpoint is misread"
            );
            self.append(nand)?;
        }
        for (number, voids) in (firsts.len() as u32..).zip(voids.chunks(per_page)) {
            start(&mut self.buffer, [VOIDS, voids.len() as u32, number, total]);
            for (pages, before) in voids {
                put(&mut self.buffer, core::slice::from_ref(pages));
                self.buffer.extend(before.to_le_bytes());
            }
            debug_assert_eq!(voids_in(&self.buffer, 0).as_deref(), Some(voids), "voids misread");
            self.append(nand)?;
        }
        start(&mut self.buffer, [RECORD, 0, 0, 0]);
        self.append(nand)?;
        self.marked = nand.wait();
        Ok(())
    }

    fn erase_segment(&mut self, nand: &mut Nand, segment: usize) -> Result<()> {
        for &block in &self.segments[segment] {
            nand.erase(block, Cause::Meta)?;
        }
        self.clean[segment] = true;
        Ok(())
    }

    /// All void pages, and the places in the order of programs before which they are void.
    fn current_voids(&mut self, nand: &Nand) -> Vec<(Range<u32>, u64)> {
        self.voids.retain(|void| void.is_current(nand));
        self.voids.sort_by_key(|void| (void.before, void.pages.start));
        let mut ranges: Vec<(Range<u32>, u64)> = Vec::new();
        for VoidRange { pages, before, .. } in &self.voids {
            match ranges.last_mut() {
                Some((last, same)) if same == before && last.end >= pages.start => {
                    last.end = last.end.max(pages.end);
                }
                _ => ranges.push((pages.clone(), *before)),
            }
        }
        ranges
    }

    /// The first page of every window that contains a trimmed page. If none does, window 0, because
    /// a checkpoint has at least one page.
    fn windows_with_trims(&self, window: u32) -> Vec<u32> {
        let mut firsts = Vec::new();
        let mut from = Some(0);
        while let Some(page) =
            from.and_then(|from| self.trimmed.first_in(from..self.trimmed.bound()))
        {
            let first = page / window * window;
            firsts.push(first);
            from = first.checked_add(window);
        }
        if firsts.is_empty() {
            firsts.push(0);
        }
        firsts
    }

    fn append(&mut self, nand: &mut Nand) -> Result<()> {
        // The page may make pages void that were copied, so the copies must be safe.
        nand.barrier();
        nand.wait();
        let ppn = self.page(nand, self.active, self.used);
        let content = Content::Meta(&self.buffer);
        let page = Page { owner: Lpn::SYSTEM, kind: page_kind::TOMBSTONES, extra: &[], content };
        self.used += 1;
        Ok(nand.program(ppn, &page, Cause::Meta)?)
    }

    fn capacity(&self, nand: &Nand) -> u32 {
        self.segments[0].len() as u32 * nand.geometry().slc_pages()
    }

    fn page(&self, nand: &Nand, segment: usize, at: u32) -> Ppn {
        let usable = nand.geometry().slc_pages();
        nand.geometry().page(self.segments[segment][(at / usable) as usize], at % usable)
    }

    /// Makes everything count that the mount has programmed, at the end of its recovery: writes a
    /// checkpoint. A page with a tombstone is trimmed unless it is mapped. The pages of `free`
    /// blocks are void, and so are these suspect pages: the mount has copied them. It may have
    /// erased the block of one since, and programmed another page there, which counts.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn commit(
        &mut self,
        nand: &mut Nand,
        mapped: impl Fn(Lpn) -> bool,
        suspects: &Suspects,
        free: &[BlockId],
    ) -> Result<()> {
        self.trimmed.retain(|lpn| !mapped(Lpn(lpn)));
        let before = nand.take_sequence();
        let holds_pages =
            |block: &&BlockId| nand.owners(**block).iter().any(|&owner| owner != Lpn::NONE.0);
        let free = free.iter().filter(holds_pages).map(|&block| pages_of(nand.geometry(), block));
        let is_there = |copy: &PageCopy| {
            let found = nand.array().peek_spare(copy.ppn);
            matches!(found, Ok(Some((spare, _))) if spare.sequence == copy.spare.sequence)
        };
        let is_left = |copy: &PageCopy| copy.spare.owner.is_host() && is_there(copy);
        let suspects = suspects.valid(is_left).pages;
        let suspects = suspects.iter().map(|PageCopy { ppn, .. }| ppn.0..ppn.0 + 1);
        let voids = free.chain(suspects).map(|pages| VoidRange::new(nand, pages, before));
        self.voids.extend(voids);
        self.change_over(nand)?;
        self.committed = true;
        nand.mounting().commit();
        Ok(())
    }

    /// Compares the used pages of each block of the active segment with the chip, and checks that
    /// segments known to be erased are.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let usable = nand.geometry().slc_pages();
        for (segment, blocks) in self.segments.iter().enumerate() {
            for (&block, first) in blocks.iter().zip((0..).step_by(usable as usize)) {
                if self.clean[segment] {
                    block_audit::erased(nand, block)?;
                } else if segment == self.active {
                    let used = self.used.saturating_sub(first).min(usable);
                    block_audit::programmed(nand, block, used)?;
                }
            }
        }
        Ok(())
    }

    /// While a mount has not committed: the sequence up to which it takes pages.
    pub fn found_mark(&self) -> u64 {
        self.marked
    }

    /// Whether a page is void.
    pub fn is_void(&self, nand: &Nand, ppn: Ppn) -> bool {
        let of_page = self.voids.iter().filter(|void| void.pages.contains(&ppn.0));
        let mut current = of_page.filter(|void| void.is_current(nand));
        let Ok(Some((spare, _))) = nand.array().peek_spare(ppn) else { return false };
        current.any(|void| spare.sequence < void.before)
    }

    /// Bytes of RAM that a controller needs for this.
    pub fn ram_bytes(&self) -> u64 {
        u64::from(self.trimmed.bound()).div_ceil(8)
    }
}

/// The parts of `waiting` (ascending) that are still trimmed, without overlaps.
fn still_trimmed(trimmed: &BitSet, waiting: &[Range<u32>]) -> Vec<Range<u32>> {
    let mut ranges = Vec::new();
    let mut done = 0;
    for range in waiting {
        let fresh = range.start.max(done)..range.end.max(done);
        done = done.max(range.end);
        ranges.extend(trimmed.runs(fresh));
    }
    ranges
}
