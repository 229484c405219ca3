//! The trim log, under [`Durability::Full`]: which logical pages are trimmed, and which physical
//! pages do not count.
//!
//! A trim leaves no trace in the data blocks, so at the next mount the old copies of a trimmed page
//! would come back. Therefore trims are written to *system blocks*, no later than at the next
//! flush. A note that a page was trimmed is a *tombstone*. The system blocks form three segments,
//! of which one is active:
//!
//! ```text
//! active    [checkpoint 0 1 2][record][record][        ]
//! fallback  the segment that was active before
//! oldest    will be erased and become active when the active segment is full
//! ```
//! A *checkpoint* is a bitmap of all trimmed pages, divided into windows of one flash page, and a
//! list of all void pages. Windows without a trimmed page are left out. A *record* lists what was
//! added since the checkpoint. When a record does not fit, the log changes over: it erases the
//! oldest segment and writes a checkpoint there. From then on a mount believes this segment.
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
//! So after a power cut the next mount starts from the same state.
//!
//! **Why three segments.** The page that completes a checkpoint may become unreadable after a power
//! cut. So a commit must not overwrite the segment that the mount believes, nor the newest one that
//! is *proven*: a page that is not tentative was programmed after its checkpoint, so the checkpoint
//! was complete. The third segment takes the new checkpoint.
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

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Content, Lpn, Nand, Page, Ppn};

use crate::contract::{Durability, Error, MountConfig, Result, Violation};
use crate::part::index::bit_set::BitSet;
use crate::part::map::block_audit;
use crate::part::recovery::page_kind;
use crate::part::recovery::pair_shelter;
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects, pages_of};
use crate::part::recovery::tombstones::Tombstones;

const HEADER_BYTES: usize = 16;
const RANGE_BYTES: usize = 8;
const VOID_BYTES: usize = 16;
const RECORD: u32 = 0;
const CHECKPOINT: u32 = 1;
const VOIDS: u32 = 2;
/// Maximum number of ranges that wait for a flush. If there are more, the log writes them at once.
const WAITING_MAX: usize = 1 << 14;

/// Number of segments: active, fallback and oldest.
const SEGMENTS: usize = 3;

/// Number of system blocks that a device of this size needs.
pub fn system_blocks(chip: &ChipModel, logical_blocks: u32, durability: Durability) -> u32 {
    let logical_pages = u64::from(logical_blocks) * u64::from(chip.pages_per_block);
    let usable = chip.pages_per_block / chip.pairing.bits;
    let segment = || segment_blocks(chip.page_bytes, usable, logical_blocks.into(), logical_pages);
    match durability {
        Durability::Paper => 0,
        Durability::Full => SEGMENTS as u32 * segment() + pair_shelter::blocks(chip, durability),
    }
}

/// The number of blocks for which a device of this size can list void pages: in the worst case
/// every block has a range of its own in a checkpoint, which must fit into a segment.
pub fn blocks_max(chip: &ChipModel, logical_blocks: u32) -> u64 {
    let logical_pages = u64::from(logical_blocks) * u64::from(chip.pages_per_block);
    let usable = chip.pages_per_block / chip.pairing.bits;
    let segment = segment_blocks(chip.page_bytes, usable, logical_blocks.into(), logical_pages);
    let windows = logical_pages.div_ceil(u64::from(window(chip.page_bytes)));
    let pages = u64::from(segment) * u64::from(usable);
    pages.saturating_sub(windows) * voids_per_page(chip.page_bytes) as u64
}

/// Number of system blocks of a device. They are the last ones of its blocks.
pub fn system_blocks_of(nand: &Nand, device: &MountConfig) -> usize {
    let geometry = nand.geometry();
    let (page_bytes, per_block) = (geometry.page_bytes(), geometry.pages_per_block());
    let logical_pages = u64::from(device.logical_blocks) * u64::from(per_block);
    let (usable, blocks) = (geometry.slc_pages(), device.logical_blocks.into());
    let segment = || segment_blocks(page_bytes, usable, blocks, logical_pages) as usize;
    match device.durability {
        Durability::Paper => 0,
        full => SEGMENTS * segment() + pair_shelter::blocks_of(geometry, full),
    }
}

/// The system blocks of the trim log itself, in front of the shelter.
fn own_blocks<'a>(nand: &Nand, device: &MountConfig<'a>) -> &'a [BlockId] {
    let system = system_blocks_of(nand, device);
    let shelter = pair_shelter::blocks_of(nand.geometry(), device.durability);
    let end = device.blocks.len() - shelter;
    &device.blocks[device.blocks.len() - system..end]
}

/// Blocks of a segment: it holds the largest possible checkpoint and as much again for records.
/// Its blocks are used with one bit per cell, so each has `usable` pages.
fn segment_blocks(page_bytes: u32, usable: u32, blocks: u64, pages: u64) -> u32 {
    let windows = pages.div_ceil(u64::from(window(page_bytes)));
    let voids = (2 * blocks).div_ceil(voids_per_page(page_bytes) as u64);
    (2 * (windows + voids)).div_ceil(u64::from(usable)) as u32
}

/// Number of ranges that a record can name.
fn ranges_per_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEADER_BYTES) / RANGE_BYTES
}

/// Number of void ranges that a page of a checkpoint can name.
fn voids_per_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEADER_BYTES) / VOID_BYTES
}

/// Number of logical pages that one checkpoint page describes.
fn window(page_bytes: u32) -> u32 {
    (page_bytes - HEADER_BYTES as u32) * 8
}

/// The trims of a device, in RAM and in flash.
#[derive(Clone, Debug)]
pub struct TrimLog {
    segments: [Vec<BlockId>; SEGMENTS],
    /// The sequence at which each segment's checkpoint began; 0 if the segment has no complete one.
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
    /// While a mount has not committed: the newest segment that is known to be complete.
    proven: Option<usize>,
    /// Whether no mount is running that has not committed.
    committed: bool,
    /// The page being composed.
    buffer: Vec<u8>,
}

/// Physical pages of one block that do not count.
#[derive(Clone, Debug)]
struct VoidRange {
    pages: Range<u32>,
    /// They count again once they have been programmed at this place in the order of programs, or
    /// later.
    before: u64,
    /// Erases of the block when the pages became void. With more erases, the range is obsolete.
    wear: u32,
}

impl TrimLog {
    /// Splits a device's blocks into data blocks and, under full durability, a trim log.
    pub fn split<'a>(nand: &Nand, device: &MountConfig<'a>) -> (&'a [BlockId], Option<TrimLog>) {
        let geometry = nand.geometry();
        let (page_bytes, per_block) = (geometry.page_bytes(), geometry.pages_per_block());
        let count = system_blocks_of(nand, device);
        let data = &device.blocks[..device.blocks.len() - count];
        let system = own_blocks(nand, device);
        if system.is_empty() {
            return (data, None);
        }
        let logical_pages = device.logical_blocks * per_block;
        let segment = system.len() / SEGMENTS;
        let log = TrimLog {
            segments: [0, 1, 2].map(|n| system[n * segment..][..segment].to_vec()),
            born: [0; SEGMENTS],
            clean: [true; SEGMENTS],
            active: SEGMENTS - 1,
            used: segment as u32 * geometry.slc_pages(),
            trimmed: BitSet::new(logical_pages),
            waiting: Vec::new(),
            voids: Vec::new(),
            proven: None,
            committed: true,
            buffer: Vec::with_capacity(page_bytes as usize),
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

    /// Writes all waiting trims to flash.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        nand.barrier();
        match self.waiting.is_empty() {
            true => Ok(()),
            false => self.record(nand, None),
        }
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
        if ranges.len().div_ceil(per_page) as u32 > room {
            return self.change_over(nand);
        }
        for (page, named) in ranges.chunks(per_page).enumerate() {
            let trims = trims.saturating_sub(page * per_page).min(named.len());
            self.header([RECORD, trims as u32, (named.len() - trims) as u32, 0]);
            self.put(named);
            self.append(nand)?;
        }
        Ok(())
    }

    /// Erases the oldest segment and starts it with a checkpoint. It is never the active one, which
    /// is the youngest, and never the proven one, which is needed if this checkpoint does not
    /// become complete.
    fn change_over(&mut self, nand: &mut Nand) -> Result<()> {
        let others = (0..SEGMENTS).filter(|&segment| Some(segment) != self.proven);
        let target = others.min_by_key(|&segment| self.born[segment]).expect("there are others");
        if !self.clean[target] {
            for at in 0..self.segments[target].len() {
                nand.erase(self.segments[target][at], Cause::Meta)?;
            }
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
            self.header([CHECKPOINT, first, number as u32, total]);
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
            self.header([VOIDS, voids.len() as u32, number, total]);
            for (pages, before) in voids {
                self.put(core::slice::from_ref(pages));
                self.buffer.extend(before.to_le_bytes());
            }
            debug_assert_eq!(voids_in(&self.buffer, 0).as_deref(), Some(voids), "voids misread");
            self.append(nand)?;
        }
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

    fn header(&mut self, words: [u32; 4]) {
        self.buffer.clear();
        words.iter().for_each(|word| self.buffer.extend(word.to_le_bytes()));
    }

    fn put(&mut self, ranges: &[Range<u32>]) {
        for range in ranges {
            self.buffer.extend(range.start.to_le_bytes());
            self.buffer.extend((range.end - range.start).to_le_bytes());
        }
    }

    fn append(&mut self, nand: &mut Nand) -> Result<()> {
        // The page may make pages void that were copied, so the copies must be safe.
        nand.barrier();
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

    // ---- Mounting -------------------------------------------------------------------------------

    /// Reads the log, and hides the pages that do not count from the scan. Until the commit, every
    /// page with a tombstone is listed as trimmed.
    ///
    /// # Errors
    /// The power is lost again, or a page holds something that the log cannot have written.
    pub fn read_back(&mut self, nand: &mut Nand, scan: &mut SpareScan) -> Result<Tombstones> {
        let complete = scan.copies().filter(|copy| !copy.spare.tentative);
        let served = complete.map(|copy| copy.spare.sequence).max().unwrap_or(0);
        let segments = self.find_segments(nand, scan)?;
        let mut found = LogContents::of(self.trimmed.bound(), nand.geometry().pages());
        let active = &segments[self.active];
        for copy in active.pages.iter().filter(|_| active.end > 0) {
            found.replay(nand, *copy)?;
        }
        let committed = served.max(active.end);
        let proven = (0..SEGMENTS).filter(|&segment| segments[segment].end < served);
        self.proven = proven.max_by_key(|&segment| self.born[segment]);
        found.hide_voids(scan);
        scan.ignore(|copy| copy.spare.tentative && copy.spare.sequence > committed);
        self.keep_voids(nand, scan, found.voids);
        self.committed = false;
        found.tombstones.iter().for_each(|(lpn, _)| self.trimmed.insert(lpn.0));
        Ok(found.tombstones)
    }

    /// Finds the segments and the one that counts: the one with the newest complete checkpoint.
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
            found.end = checkpoint_end(nand, &found.pages)?.unwrap_or(0);
            self.born[segment] = if found.end > 0 { found.pages[0].spare.sequence } else { 0 };
        }
        self.clean = [false; SEGMENTS];
        self.used = self.capacity(nand);
        self.active = (0..SEGMENTS).max_by_key(|&segment| self.born[segment]).unwrap_or(0);
        Ok(segments)
    }

    /// Lists the pages that stay void: those that the scan hides, and those in blocks that another
    /// part of the device has scanned.
    fn keep_voids(&mut self, nand: &mut Nand, scan: &SpareScan, known: Vec<(Range<u32>, u64)>) {
        let before = nand.take_sequence();
        let block_of = |ppn: Ppn| nand.geometry().block_of(ppn);
        self.voids.clear();
        for &block in scan.blocks().iter().filter(|&&block| scan.hidden_in(block).next().is_some())
        {
            let mut void = |pages| self.voids.push(VoidRange::new(nand, pages, before));
            match scan.copies_in(block).next() {
                None => void(pages_of(nand.geometry(), block)),
                Some(_) => scan.hidden_in(block).for_each(|ppn| void(ppn.0..ppn.0 + 1)),
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

    /// Makes everything count that the mount has programmed, at the end of its recovery: writes a
    /// checkpoint. A page with a tombstone is trimmed unless it is mapped. The pages of `free`
    /// blocks are void, and so are these suspect pages: the mount has copied them.
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
        let suspects = suspects.valid(|copy| copy.spare.owner.is_host()).pages;
        let suspects = suspects.iter().map(|PageCopy { ppn, .. }| ppn.0..ppn.0 + 1);
        let voids = free.chain(suspects).map(|pages| VoidRange::new(nand, pages, before));
        self.voids.extend(voids);
        self.change_over(nand)?;
        (self.proven, self.committed) = (None, true);
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

/// The readable pages of a segment.
struct FoundSegment {
    pages: Vec<PageCopy>,
    /// The sequence of the last page of its checkpoint; 0 if it does not start with a complete one.
    end: u64,
}

/// The sequence of the last page of the checkpoint with which these pages start; none if it is not
/// complete.
fn checkpoint_end(nand: &mut Nand, found: &[PageCopy]) -> Result<Option<u64>> {
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
            return Ok(Some(copy.spare.sequence));
        }
    }
    Ok(None)
}

/// What a mount reads in the log.
struct LogContents {
    tombstones: Tombstones,
    /// Physical pages that do not count, if their sequence is lower.
    voids: Vec<(Range<u32>, u64)>,
    /// Number of physical pages.
    physical_pages: u32,
}

impl LogContents {
    fn of(logical_pages: u32, physical_pages: u32) -> LogContents {
        LogContents {
            tombstones: Tombstones::new(logical_pages),
            voids: Vec::new(),
            physical_pages,
        }
    }

    /// Applies one page of the log.
    fn replay(&mut self, nand: &mut Nand, copy: PageCopy) -> Result<()> {
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
    fn add_void(&mut self, range: Range<u32>, before: u64) -> Option<()> {
        (range.end <= self.physical_pages).then(|| self.voids.push((range, before)))
    }

    /// Hides the void pages.
    fn hide_voids(&self, scan: &mut SpareScan) {
        for (pages, before) in &self.voids {
            scan.hide_among(pages.clone(), |copy| copy.spare.sequence < *before);
        }
    }
}

impl VoidRange {
    fn new(nand: &Nand, pages: Range<u32>, before: u64) -> VoidRange {
        let wear = VoidRange::wear(nand, &pages);
        VoidRange { pages, before, wear }
    }

    fn is_current(&self, nand: &Nand) -> bool {
        VoidRange::wear(nand, &self.pages) == self.wear
    }

    fn wear(nand: &Nand, pages: &Range<u32>) -> u32 {
        nand.array().wear()[nand.geometry().block_of(Ppn(pages.start)).0 as usize]
    }
}

/// Passes the trims that a page of the log names to `add`. None if the page is malformed, or if
/// `add` refuses a trim.
fn each_trim(bytes: &[u8], mut add: impl FnMut(Range<u32>) -> Option<()>) -> Option<()> {
    match word(bytes, 0)? {
        RECORD => ranges_in(bytes, 0..word(bytes, 1)?)?.into_iter().try_for_each(add),
        CHECKPOINT => {
            let (first, bits) = (word(bytes, 1)?, BitSet::from_bytes(bytes.get(HEADER_BYTES..)?));
            let mut runs = bits.runs(0..bits.bound());
            runs.try_for_each(|run| add(first.checked_add(run.start)?..first.checked_add(run.end)?))
        }
        _ => Some(()),
    }
}

/// Whether a page of the log names exactly these trims.
fn names(bytes: &[u8], mut trims: impl Iterator<Item = Range<u32>>) -> bool {
    let all = each_trim(bytes, |pages| (trims.next() == Some(pages)).then_some(()));
    all.is_some() && trims.next().is_none()
}

/// The void pages that a page of the log names, and the places in the order of programs before
/// which they are void; none if it is malformed. A record has place `version`.
fn voids_in(bytes: &[u8], version: u64) -> Option<Vec<(Range<u32>, u64)>> {
    match word(bytes, 0)? {
        RECORD => {
            let trims = word(bytes, 1)?;
            let ranges = ranges_in(bytes, trims..trims.checked_add(word(bytes, 2)?)?)?;
            Some(ranges.into_iter().map(|pages| (pages, version)).collect())
        }
        VOIDS => {
            let body = bytes.get(HEADER_BYTES..)?;
            let body = body.get(..(word(bytes, 1)? as usize).checked_mul(VOID_BYTES)?)?;
            let void = |bytes: &[u8]| {
                let (first, pages) = (word(bytes, 0)?, word(bytes, 1)?);
                let before = u64::from(word(bytes, 2)?) | u64::from(word(bytes, 3)?) << 32;
                Some((first..first.checked_add(pages)?, before))
            };
            body.chunks_exact(VOID_BYTES).map(void).collect()
        }
        _ => Some(Vec::new()),
    }
}

/// The ranges with these numbers.
fn ranges_in(bytes: &[u8], numbers: Range<u32>) -> Option<Vec<Range<u32>>> {
    let body = bytes.get(HEADER_BYTES..)?;
    let body = body.get(numbers.start as usize * RANGE_BYTES..)?;
    let body = body.get(..numbers.len() * RANGE_BYTES)?;
    let range = |range: &[u8]| {
        let first = word(range, 0)?;
        Some(first..first.checked_add(word(range, 1)?)?)
    };
    body.chunks_exact(RANGE_BYTES).map(range).collect()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(4 * at..4 * at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Durability;
    use nand::{Cut, Geometry, Mode, Op, Outcome, ProgramOrder, Spare, Timing};
    use spec::Params;

    const LOGICAL_BLOCKS: u32 = 8;
    const PAGES: u32 = 32;

    fn chip() -> (Nand, Vec<BlockId>) {
        let geometry = Geometry::new(512, 64, 4, 13, ProgramOrder::Sequential).unwrap();
        (Nand::new(geometry, Mode::Stamps), (0..13).map(BlockId).collect())
    }

    fn log(nand: &Nand, blocks: &[BlockId]) -> TrimLog {
        log_of(nand, blocks, LOGICAL_BLOCKS)
    }

    fn log_of(nand: &Nand, blocks: &[BlockId], logical_blocks: u32) -> TrimLog {
        let device = MountConfig {
            params: &Params::default(),
            logical_blocks,
            blocks,
            durability: Durability::Full,
            seed: 0,
            timing: Timing::default(),
            policy: None,
            foresight: None,
        };
        let (data, log) = TrimLog::split(nand, &device);
        assert!(logical_blocks != LOGICAL_BLOCKS || data.len() == 10);
        log.unwrap()
    }

    /// Mounts a flash on which no page is mapped. Returns the log and the pages that it believes to
    /// be trimmed.
    fn try_mount(
        nand: &mut Nand,
        blocks: &[BlockId],
        logical_blocks: u32,
    ) -> Result<(TrimLog, Vec<u32>)> {
        let mut log = log_of(nand, blocks, logical_blocks);
        let mut scan = SpareScan::read(nand, blocks)?;
        nand.mounting().resume(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
        nand.mounting().begin_tentative();
        log.read_back(nand, &mut scan)?;
        let suspects = Suspects { pages: scan.last().into_iter().collect(), are_destroyed: false };
        log.commit(nand, |_| false, &suspects, &[])?;
        let trimmed = log.trimmed.runs(0..log.trimmed.bound()).flatten().collect();
        Ok((log, trimmed))
    }

    /// Mounts a copy of this flash on which no page is mapped. Returns the pages that it believes
    /// to be trimmed.
    fn mounted(nand: &Nand, blocks: &[BlockId]) -> (Nand, TrimLog, Vec<u32>) {
        let mut nand = Nand::power_up(nand.array().try_clone().unwrap());
        let (log, trimmed) = try_mount(&mut nand, blocks, LOGICAL_BLOCKS).unwrap();
        nand.power().decay().unwrap();
        (nand, log, trimmed)
    }

    #[test]
    fn a_mount_knows_every_flushed_trim_and_no_rewritten_page() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        log.trim(&mut nand, 3..7).unwrap();
        log.trim(&mut nand, 7..9).unwrap();
        log.trim(&mut nand, 20..21).unwrap();
        log.written(Lpn(5));
        log.flush(&mut nand).unwrap();
        log.trim(&mut nand, 30..31).unwrap();
        assert_eq!(mounted(&nand, &blocks).2, [3, 4, 6, 7, 8, 20]);
        log.flush(&mut nand).unwrap();
        assert_eq!(mounted(&nand, &blocks).2, [3, 4, 6, 7, 8, 20, 30]);
        let before = nand.tally().total(Op::Program);
        log.flush(&mut nand).unwrap();
        assert_eq!(nand.tally().total(Op::Program), before, "no trim waits, so nothing is written");
    }

    #[test]
    fn the_log_changes_over_again_and_again() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        for round in 0..100 {
            log.trim(&mut nand, round % PAGES..round % PAGES + 1).unwrap();
            log.written(Lpn((round + 16) % PAGES));
            log.flush(&mut nand).unwrap();
            let trimmed: Vec<u32> = log.trimmed.runs(0..PAGES).flatten().collect();
            // An old record may still name a page that was written since. On a real device that
            // write's newer version would override it. Here nothing is mapped, so the mount may
            // know more trims, never fewer.
            let found = mounted(&nand, &blocks).2;
            assert!(trimmed.iter().all(|page| found.contains(page)), "{trimmed:?} {found:?}");
        }
    }

    /// Cuts at every program and erase of a long run, with every outcome, and again during the
    /// mount.
    #[test]
    fn no_power_cut_loses_a_flushed_trim() {
        let steps = |nand: &mut Nand, log: &mut TrimLog, flushed: &mut u32| -> Result<()> {
            for page in *flushed..PAGES {
                log.trim(nand, page..page + 1)?;
                log.flush(nand)?;
                *flushed = page + 1;
            }
            Ok(())
        };
        for outcome in Outcome::NAMES.iter().filter_map(|name| Outcome::named(name)) {
            for after in 0..70 {
                let (mut nand, blocks) = chip();
                let mut log = log(&nand, &blocks);
                let mut flushed = 0;
                nand.power().cut_after(Cut { after, outcome });
                let cut = steps(&mut nand, &mut log, &mut flushed).is_err();
                let (again, _, trimmed) = mounted(&nand, &blocks);
                let known = |trimmed: &[u32]| (0..flushed).all(|page| trimmed.contains(&page));
                assert!(known(&trimmed), "{outcome:?} after {after}: {flushed} of {trimmed:?}");
                let (mut nand, mut log, trimmed) = mounted(&again, &blocks);
                assert!(known(&trimmed), "{outcome:?} after {after}, mounted twice");
                let mut from = flushed;
                steps(&mut nand, &mut log, &mut from).unwrap();
                assert_eq!(mounted(&nand, &blocks).2.len(), PAGES as usize);
                assert!(cut || after > 35, "{after}");
            }
        }
    }

    /// Trims one page after the other, with a flush after each, until the power fails.
    fn trim_all(nand: &mut Nand, log: &mut TrimLog, flushed: &mut u32) -> Result<()> {
        while *flushed < PAGES {
            log.trim(nand, *flushed..*flushed + 1)?;
            log.flush(nand)?;
            *flushed += 1;
        }
        Ok(())
    }

    /// The checkpoint of a change-over may decay, and so may that of the mount after it. Then a
    /// third cut hits the commit of the second mount.
    #[test]
    fn three_cuts_in_a_row_lose_no_flushed_trim() {
        let after_cut = |nand: &Nand, cut: Option<Cut>| {
            let mut nand = Nand::power_up(nand.array().try_clone().unwrap());
            cut.into_iter().for_each(|cut| nand.power().cut_after(cut));
            nand
        };
        let mut tried = 0;
        for after in 0..70 {
            let (mut nand, blocks) = chip();
            let (mut log, mut flushed) = (log(&nand, &blocks), 0);
            nand.power().cut_after(Cut { after, outcome: Outcome::Unstable });
            if trim_all(&mut nand, &mut log, &mut flushed).is_ok() {
                continue;
            }
            for second in 0..4 {
                let cut = Cut { after: second, outcome: Outcome::Unstable };
                let mut again = after_cut(&nand, Some(cut));
                let _ = try_mount(&mut again, &blocks, LOGICAL_BLOCKS);
                for third in 0..4 {
                    let cut = Cut { after: third, outcome: Outcome::Torn };
                    let mut last = after_cut(&again, Some(cut));
                    let _ = try_mount(&mut last, &blocks, LOGICAL_BLOCKS);
                    let mut last = after_cut(&last, None);
                    last.power().decay().unwrap();
                    let (_, trimmed) = try_mount(&mut last, &blocks, LOGICAL_BLOCKS).unwrap();
                    let known = (0..flushed).all(|page| trimmed.contains(&page));
                    assert!(known, "{after}, {second}, {third}: {flushed} of {trimmed:?}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 500, "{tried}");
    }

    #[test]
    fn change_overs_wear_all_segments_alike() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        for _ in 0..2 {
            for round in 0..100 {
                log.trim(&mut nand, round % PAGES..round % PAGES + 1).unwrap();
                log.flush(&mut nand).unwrap();
                log.written(Lpn(round % PAGES));
            }
            let wear = &nand.array().wear()[10..];
            let (least, most) = (wear.iter().min().unwrap(), wear.iter().max().unwrap());
            assert!(*least > 5 && most - least < 3, "{wear:?}");
            (nand, log, _) = mounted(&nand, &blocks);
        }
    }

    #[test]
    fn a_page_is_void_below_the_limit_of_its_range() {
        let mut found = LogContents::of(0, 16);
        found.add_void(8..12, 20).unwrap();
        found.add_void(9..11, 10).unwrap();
        assert!(found.add_void(15..17, 20).is_none(), "page 16 does not exist");
        let is_void = |ppn, sequence| {
            let (owner, version) = (Lpn(0), sequence);
            let spare = Spare { owner, version, sequence, kind: 1, tentative: false };
            let mut scan = SpareScan::new(*chip().0.geometry());
            scan.restore(Ppn(ppn), spare);
            found.hide_voids(&mut scan);
            scan.copies().next().is_none()
        };
        assert!(is_void(8, 19) && is_void(11, 1));
        assert!(!is_void(8, 20) && !is_void(7, 19) && !is_void(12, 19));
    }

    #[test]
    fn a_checkpoint_is_complete_only_with_all_its_pages_in_order() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        (log.active, log.used) = (0, 0);
        for number in 0..3 {
            log.header([CHECKPOINT, 0, number, 3]);
            log.append(&mut nand).unwrap();
        }
        let scan = SpareScan::read(&mut nand, &blocks).unwrap();
        let copies: Vec<PageCopy> = scan.copies().collect();
        let mut end = |numbers: &[usize]| {
            let found: Vec<PageCopy> = numbers.iter().map(|&number| copies[number]).collect();
            checkpoint_end(&mut nand, &found)
        };
        assert_eq!(end(&[0, 1, 2]), Ok(Some(copies[2].spare.sequence)));
        for incomplete in [&[][..], &[0], &[0, 1], &[0, 2], &[1, 2], &[0, 2, 1], &[2]] {
            assert_eq!(end(incomplete), Ok(None), "{incomplete:?}");
        }
    }

    #[test]
    fn every_window_with_a_trimmed_page_is_found() {
        let (nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        assert_eq!(log.windows_with_trims(8), [0], "a checkpoint has at least one page");
        [0, 8, 23, 24].into_iter().for_each(|page| log.trimmed.insert(page));
        assert_eq!(log.windows_with_trims(8), [0, 8, 16, 24]);
        log.trimmed.remove(0);
        assert_eq!(log.windows_with_trims(8), [8, 16, 24]);
    }

    /// A device of two windows.
    fn large_chip() -> (Nand, Vec<BlockId>, u32) {
        let geometry = Geometry::new(512, 64, 4, 1200, ProgramOrder::Sequential).unwrap();
        (Nand::new(geometry, Mode::Stamps), (0..1200).map(BlockId).collect(), 1000)
    }

    #[test]
    fn checkpoints_and_records_of_several_pages_are_read_as_they_were_written() {
        let (mut nand, blocks, logical_blocks) = large_chip();
        for offset in 0..4 {
            let content = Content::Pad;
            let page = Page { owner: Lpn(offset), kind: page_kind::DATA, extra: &[], content };
            nand.program(Ppn(12 + offset), &page, Cause::Host).unwrap();
        }
        let mut log = log_of(&nand, &blocks, logical_blocks);
        let border = window(512);
        let mut trims: Vec<u32> = (0..100).map(|n| 2 * n).collect();
        trims.extend([border - 1, border, 3999]);
        // The first time the log changes over; then there is room for a record of two pages.
        for round in 0..2 {
            trims.iter().for_each(|&page| log.trim(&mut nand, page..page + 1).unwrap());
            let before = nand.tally().total(Op::Program);
            log.record(&mut nand, Some(BlockId(3))).unwrap();
            assert_eq!(nand.tally().total(Op::Program) - before, 2);
            let mut again = Nand::power_up(nand.array().try_clone().unwrap());
            let mut scan = SpareScan::read(&mut again, &blocks).unwrap();
            again.mounting().resume(1000);
            let mut found = log_of(&again, &blocks, logical_blocks);
            let tombstones = found.read_back(&mut again, &mut scan).unwrap();
            let dead: Vec<u32> = tombstones.iter().map(|(lpn, _)| lpn.0).collect();
            assert_eq!(dead, trims);
            let voids = scan.host_copies().next().is_none();
            assert_eq!(voids, round == 1, "the record says that block 3 is void");
        }
    }

    #[test]
    fn all_pages_of_a_checkpoint_are_counted() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        log.erase(&mut nand, BlockId(2), Cause::Gc).unwrap();
        let before = nand.take_sequence();
        log.voids.push(VoidRange::new(&nand, 4..6, before));
        log.change_over(&mut nand).unwrap();
        let pages: Vec<Ppn> = (0..log.used).map(|at| log.page(&nand, log.active, at)).collect();
        let words: Vec<_> = pages
            .iter()
            .map(|&ppn| nand.array().peek_meta(ppn).map(|bytes| (word(&bytes, 2), word(&bytes, 3))))
            .collect();
        assert_eq!(words, [Some((Some(0), Some(2))), Some((Some(1), Some(2)))]);
    }

    #[test]
    fn voids_of_blocks_that_were_not_scanned_are_kept_with_their_limit() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        log.erase(&mut nand, BlockId(2), Cause::Gc).unwrap();
        let limit = log.voids[0].before;
        for (others, kept) in [(&blocks[3..], vec![(8..12, limit)]), (&blocks[2..], Vec::new())] {
            let mut again = Nand::power_up(nand.array().try_clone().unwrap());
            let mut scan = SpareScan::read(&mut again, others).unwrap();
            again.mounting().resume(1000);
            let mut found = log_of(&again, &blocks, LOGICAL_BLOCKS);
            found.read_back(&mut again, &mut scan).unwrap();
            assert_eq!(found.current_voids(&again), kept);
        }
    }

    fn chip_model(settings: &str) -> ChipModel {
        let spec = format!("slc-lsb:page=512,pages_per_block=4{settings}");
        ChipModel::from_spec(&spec::Spec::parse(&spec).unwrap()).unwrap()
    }

    /// 1000 blocks have 4000 pages. A window has 3968 bits, so a checkpoint has 2 bitmaps, and 65
    /// pages of 31 void ranges for 2000 blocks. A segment holds twice as many pages.
    #[test]
    fn the_system_blocks_hold_three_segments_and_the_shelter() {
        let slc = chip_model("");
        assert_eq!(system_blocks(&slc, 1000, Durability::Paper), 0);
        assert_eq!(system_blocks(&slc, 1000, Durability::Full), 3 * 34);
        assert_eq!(blocks_max(&slc, 1000), (34 * 4 - 2) * 31);
        let mlc = chip_model(",cell_bits=2,pair_distance=2");
        assert_eq!(system_blocks(&mlc, 1000, Durability::Full), 3 * 67 + 2);
        assert_eq!(blocks_max(&mlc, 1000), (67 * 2 - 2) * 31);
        for chip in [slc, mlc] {
            let nand = Nand::new(chip.geometry(1500).unwrap(), Mode::Stamps);
            let blocks: Vec<BlockId> = (0..1500).map(BlockId).collect();
            let system = system_blocks(&chip, 1000, Durability::Full) as usize;
            let device = MountConfig {
                params: &Params::default(),
                logical_blocks: 1000,
                blocks: &blocks,
                durability: Durability::Full,
                seed: 0,
                timing: Timing::default(),
                policy: None,
                foresight: None,
            };
            assert_eq!(system_blocks_of(&nand, &device), system);
            let (data, log) = TrimLog::split(&nand, &device);
            assert_eq!(data.len(), 1500 - system);
            let log = log.unwrap();
            assert_eq!((log.trimmed.bound(), log.ram_bytes()), (4000, 500));
        }
        assert_eq!((ranges_per_page(512), voids_per_page(512)), (62, 31));
    }

    #[test]
    fn trims_wait_until_a_flush_or_until_they_are_too_many() {
        let geometry = Geometry::new(512, 64, 4, 12_000, ProgramOrder::Sequential).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
        let blocks: Vec<BlockId> = (0..12_000).map(BlockId).collect();
        let mut log = log_of(&nand, &blocks, 10_000);
        log.trim(&mut nand, 3..7).unwrap();
        log.trim(&mut nand, 7..9).unwrap();
        log.trim(&mut nand, 10..11).unwrap();
        assert_eq!(log.waiting, [3..9, 10..11]);
        let most = WAITING_MAX as u32;
        (6..4 + most).for_each(|n| log.trim(&mut nand, 2 * n..2 * n + 1).unwrap());
        assert_eq!((log.waiting.len(), nand.tally().total(Op::Program)), (WAITING_MAX, 0));
        log.trim(&mut nand, 2 * most + 10..2 * most + 11).unwrap();
        assert_eq!(log.waiting, []);
        assert!(nand.tally().total(Op::Program) > 0);
    }

    #[test]
    fn a_record_that_fits_exactly_does_not_change_the_segment() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        for page in 0..5 {
            log.trim(&mut nand, 2 * page..2 * page + 1).unwrap();
            let before = log.active;
            log.flush(&mut nand).unwrap();
            let fits = (1..4).contains(&page);
            assert_eq!(log.active == before, fits, "flush {page}");
        }
    }

    fn program(nand: &mut Nand, ppn: u32) {
        let page = Page { owner: Lpn(ppn), kind: 1, extra: &[], content: Content::Pad };
        nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
    }

    /// The first steps of a mount after a power cycle, up to the point where it may program pages.
    fn begin_mount(nand: &mut Nand, blocks: &[BlockId]) -> (TrimLog, SpareScan) {
        nand.power().cycle();
        let (mut log, mut scan) = (log(nand, blocks), SpareScan::read(nand, blocks).unwrap());
        nand.mounting().resume(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
        nand.mounting().begin_tentative();
        log.read_back(nand, &mut scan).unwrap();
        (log, scan)
    }

    fn commit(nand: &mut Nand, log: &mut TrimLog, suspects: &Suspects) -> Result<()> {
        log.commit(nand, |_| true, suspects, &[])
    }

    /// The pages of the host that a mount finds and that count.
    fn counting(nand: &Nand, blocks: &[BlockId]) -> Vec<u32> {
        let (_, scan) = begin_mount(&mut Nand::power_up(nand.array().try_clone().unwrap()), blocks);
        scan.host_copies().map(|copy| copy.ppn.0).collect()
    }

    #[test]
    fn a_page_of_a_mount_that_never_committed_does_not_count_after_later_commits() {
        let (mut nand, blocks) = chip();
        [0, 1].into_iter().for_each(|ppn| program(&mut nand, ppn));
        begin_mount(&mut nand, &blocks);
        program(&mut nand, 2);
        assert_eq!(counting(&nand, &blocks), [0, 1]);
        for _ in 0..3 {
            let (mut log, _) = begin_mount(&mut nand, &blocks);
            commit(&mut nand, &mut log, &Suspects::default()).unwrap();
            assert_eq!(counting(&nand, &blocks), [0, 1], "page 2 alone of its block is void");
        }
    }

    #[test]
    fn a_commit_makes_the_old_place_of_the_suspect_page_void() {
        let (mut nand, blocks) = chip();
        [0, 1].into_iter().for_each(|ppn| program(&mut nand, ppn));
        let (mut log, scan) = begin_mount(&mut nand, &blocks);
        program(&mut nand, 4);
        let suspects = Suspects { pages: scan.last().into_iter().collect(), are_destroyed: false };
        commit(&mut nand, &mut log, &suspects).unwrap();
        assert_eq!(counting(&nand, &blocks), [0, 4]);
    }

    #[test]
    fn a_page_that_was_programmed_after_a_commit_proves_it() {
        let (mut nand, blocks) = chip();
        program(&mut nand, 0);
        let (mut log, _) = begin_mount(&mut nand, &blocks);
        program(&mut nand, 1);
        // After the erase of a segment, the checkpoint is a single page.
        nand.power().cut_after(Cut { after: 1, outcome: Outcome::Unstable });
        commit(&mut nand, &mut log, &Suspects::default()).unwrap_err();
        nand.power().cycle();
        nand.mounting().resume(100);
        nand.mounting().finish();
        assert_eq!(counting(&nand, &blocks), [0, 1]);
        let mut unproven = Nand::power_up(nand.array().try_clone().unwrap());
        unproven.power().decay().unwrap();
        assert_eq!(counting(&unproven, &blocks), [0]);
        program(&mut nand, 2);
        nand.power().decay().unwrap();
        assert_eq!(counting(&nand, &blocks), [0, 1, 2]);
    }

    #[test]
    fn nothing_is_erased_before_the_commit() {
        let (mut nand, blocks) = chip();
        program(&mut nand, 0);
        let (mut log, _) = begin_mount(&mut nand, &blocks);
        assert_eq!(log.erase(&mut nand, BlockId(0), Cause::Gc), Ok(false));
        assert_eq!(counting(&nand, &blocks), [0]);
        commit(&mut nand, &mut log, &Suspects::default()).unwrap();
        assert_eq!(log.erase(&mut nand, BlockId(0), Cause::Gc), Ok(true));
        assert_eq!(counting(&nand, &blocks), [0; 0]);
    }

    /// Page 1 of a block would be the upper page of page 0.
    #[test]
    fn no_program_of_the_log_can_destroy_another_page_of_it() {
        let geometry = Geometry::new(512, 64, 4, 32, ProgramOrder::Sequential).unwrap();
        let pairing = nand::Pairing { bits: 2, distance: 1 };
        let mut nand = Nand::new(geometry.with_pairing(pairing).unwrap(), Mode::Stamps);
        let blocks: Vec<BlockId> = (0..32).map(BlockId).collect();
        let mut log = log_of(&nand, &blocks, LOGICAL_BLOCKS + 1);
        log.trim(&mut nand, 3..4).unwrap();
        log.flush(&mut nand).unwrap();
        let block = log.segments[log.active][0];
        assert_eq!(nand.array().lower_pages(nand.geometry().page(block, 1)).count(), 0);
        assert_eq!(nand.array().lower_pages(Ppn(1)).count(), 1);
    }

    #[test]
    fn only_void_ranges_that_touch_are_joined() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        let (first, second) = (nand.take_sequence(), nand.take_sequence());
        for (pages, before) in [(4..6, first), (7..8, first), (8..10, first), (10..11, second)] {
            log.voids.push(VoidRange::new(&nand, pages, before));
        }
        let expected = [(4..6, first), (7..10, first), (10..11, second)];
        assert_eq!(log.current_voids(&nand), expected);
    }

    #[test]
    fn a_void_range_is_dropped_once_its_block_has_been_erased() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        for block in [2, 3, 2] {
            log.erase(&mut nand, BlockId(block), Cause::Gc).unwrap();
            assert_eq!(log.voids.len(), 1, "only the range of the last erase");
        }
        assert_eq!(log.current_voids(&nand), []);
    }

    #[test]
    fn a_commit_lists_the_free_blocks_that_hold_pages() {
        let (mut nand, blocks) = chip();
        [0, 4, 5, 6, 7].into_iter().for_each(|ppn| program(&mut nand, ppn));
        let (mut log, _) = begin_mount(&mut nand, &blocks);
        let free = [0, 1, 2].map(BlockId);
        log.commit(&mut nand, |_| true, &Suspects::default(), &free).unwrap();
        let pages: Vec<Range<u32>> = log.voids.iter().map(|void| void.pages.clone()).collect();
        assert_eq!(pages, [0..4, 4..8]);
    }

    /// Block 0 holds a page that counts, so each hidden page is listed alone.
    #[test]
    fn the_voids_of_every_block_are_kept() {
        let (mut nand, blocks) = chip();
        [0, 1, 2, 4, 5].into_iter().for_each(|ppn| program(&mut nand, ppn));
        let mut scan = SpareScan::read(&mut nand, &blocks[..3]).unwrap();
        let hidden = [1, 2, 4, 5].map(Ppn);
        scan.hide(|copy| hidden.contains(&copy.ppn));
        let mut log = log(&nand, &blocks);
        let known = vec![(8..16, 7), (18..19, 8), (20..20, 9)];
        log.keep_voids(&mut nand, &scan, known);
        let pages: Vec<Range<u32>> = log.voids.iter().map(|void| void.pages.clone()).collect();
        assert_eq!(pages, [1..2, 2..3, 4..8, 12..16, 18..19]);
    }

    #[test]
    fn the_limit_of_a_void_range_has_64_bits() {
        let limit = 5 << 32 | 3;
        let words = [VOIDS, 1, 0, 1, 8, 4, 3, 5].map(u32::to_le_bytes);
        assert_eq!(voids_in(words.as_flattened(), 0), Some(vec![(8..12, limit)]));
    }
}
