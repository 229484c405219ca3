//! The trim log: how trims survive a power cut under [`Durability::Full`].
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
//! A *checkpoint* is a bitmap of all trimmed pages, divided into windows of one flash page; windows
//! without a trimmed page are left out. A *record* lists the ranges that were trimmed since the
//! checkpoint. When a record does not fit, the log changes over: it erases the oldest segment and
//! writes a checkpoint there. From then on a mount believes this segment.
//!
//! Two segments would not be enough. The page that completes a checkpoint may become unreadable
//! after a power cut, so the mount writes another checkpoint. Until that one is complete, the
//! fallback must still exist.
//!
//! The version of a log page is its place in the order of programs. It kills older copies of the
//! pages that the log page names, and no newer ones.
//!
//! Format of a log page, little-endian: `u32` type (0 record, 1 checkpoint); `u32` number of
//! ranges, or first page of the bitmap's window; for checkpoints `u32` number of this page and
//! `u32` number of all pages; from byte 16 on, ranges (`u32` first page, `u32` pages) or the
//! bitmap.

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Content, Lpn, Nand, Page, Ppn};

use crate::contract::{Durability, Error, MountConfig, Result};
use crate::part::index::bit_set::BitSet;
use crate::part::recovery::page_kind;
use crate::part::recovery::spare_scan::{PageCopy, SpareScan};

const HEADER_BYTES: usize = 16;
const RANGE_BYTES: usize = 8;
const RECORD: u32 = 0;
const CHECKPOINT: u32 = 1;
/// Maximum number of ranges that wait for a flush. If there are more, the log writes them at once.
const WAITING_MAX: usize = 1 << 14;

/// Number of segments: active, fallback and oldest.
const SEGMENTS: usize = 3;

/// Number of system blocks that a device of this size needs.
pub fn system_blocks(chip: &ChipModel, logical_blocks: u32, durability: Durability) -> u32 {
    let logical_pages = u64::from(logical_blocks) * u64::from(chip.pages_per_block);
    let segment = || segment_blocks(chip.page_bytes, chip.pages_per_block, logical_pages);
    match durability {
        Durability::Paper => 0,
        Durability::Full => SEGMENTS as u32 * segment(),
    }
}

/// Number of system blocks of a device. They are the last ones of its blocks.
pub fn system_blocks_of(nand: &Nand, device: &MountConfig) -> usize {
    let geometry = nand.geometry();
    let (page_bytes, per_block) = (geometry.page_bytes(), geometry.pages_per_block());
    let logical_pages = u64::from(device.logical_blocks) * u64::from(per_block);
    let segment = || segment_blocks(page_bytes, per_block, logical_pages) as usize;
    match device.durability {
        Durability::Paper => 0,
        Durability::Full => SEGMENTS * segment(),
    }
}

/// Blocks of a segment: it holds the largest possible checkpoint and as much again for records.
fn segment_blocks(page_bytes: u32, pages_per_block: u32, logical_pages: u64) -> u32 {
    let windows = logical_pages.div_ceil(u64::from(window(page_bytes)));
    (2 * windows).div_ceil(u64::from(pages_per_block)) as u32
}

/// Reads the trim log at mount, if there is one. Returns for each logical page the version of its
/// newest tombstone, 0 for none.
///
/// # Errors
/// The power is lost again, or a page holds something that the log cannot have written.
pub fn tombstones(trims: &mut Option<TrimLog>, nand: &mut Nand, pages: u32) -> Result<Vec<u64>> {
    match trims {
        Some(trims) => trims.read_back(nand),
        None => Ok(vec![0; pages as usize]),
    }
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
    /// The page being composed.
    buffer: Vec<u8>,
}

impl TrimLog {
    /// Splits a device's blocks into data blocks and, under full durability, a trim log.
    pub fn split<'a>(nand: &Nand, device: &MountConfig<'a>) -> (&'a [BlockId], Option<TrimLog>) {
        let geometry = nand.geometry();
        let (page_bytes, per_block) = (geometry.page_bytes(), geometry.pages_per_block());
        let count = system_blocks_of(nand, device);
        let (data, system) = device.blocks.split_at(device.blocks.len() - count);
        if system.is_empty() {
            return (data, None);
        }
        let logical_pages = device.logical_blocks * per_block;
        let segment = count / SEGMENTS;
        let log = TrimLog {
            segments: [0, 1, 2].map(|n| system[n * segment..][..segment].to_vec()),
            born: [0; SEGMENTS],
            clean: [true; SEGMENTS],
            active: SEGMENTS - 1,
            used: segment as u32 * per_block,
            trimmed: BitSet::new(logical_pages),
            waiting: Vec::new(),
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

    /// Writes all waiting trims to flash. This must also be done before data blocks are erased
    /// where older copies may be left: otherwise an erase could remove the newest copy of a trimmed
    /// page, and an older copy would come back.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut waiting = core::mem::take(&mut self.waiting);
        waiting.sort_unstable_by_key(|range| range.start);
        let ranges = still_trimmed(&self.trimmed, &waiting);
        let per_page = (nand.geometry().page_bytes() as usize - HEADER_BYTES) / RANGE_BYTES;
        let room = self.capacity(nand) - self.used;
        if ranges.len().div_ceil(per_page) as u32 > room {
            return self.change_over(nand);
        }
        for ranges in ranges.chunks(per_page) {
            self.header([RECORD, ranges.len() as u32, 0, 0]);
            for range in ranges {
                self.buffer.extend(range.start.to_le_bytes());
                self.buffer.extend((range.end - range.start).to_le_bytes());
            }
            debug_assert_eq!(named(&self.buffer).as_deref(), Some(ranges), "a record misread");
            self.append(nand)?;
        }
        Ok(())
    }

    /// Erases the oldest segment and starts it with a checkpoint.
    fn change_over(&mut self, nand: &mut Nand) -> Result<()> {
        let others = (0..SEGMENTS).filter(|&segment| segment != self.active);
        let target = others.min_by_key(|&segment| self.born[segment]).expect("there are others");
        if !self.clean[target] {
            for at in 0..self.segments[target].len() {
                nand.erase(self.segments[target][at], Cause::Meta)?;
            }
        }
        (self.clean[target], self.active, self.used) = (false, target, 0);
        self.born[target] = nand.take_sequence();
        let window = window(nand.geometry().page_bytes());
        let firsts = self.windows_with_trims(window);
        for (number, &first) in firsts.iter().enumerate() {
            self.header([CHECKPOINT, first, number as u32, firsts.len() as u32]);
            self.buffer.resize(nand.geometry().page_bytes() as usize, 0);
            for page in self.trimmed.runs(first..first.saturating_add(window)).flatten() {
                let bit = (page - first) as usize;
                self.buffer[HEADER_BYTES + bit / 8] |= 1 << (bit % 8);
            }
            let trimmed = || self.trimmed.runs(first..first.saturating_add(window)).collect();
            debug_assert_eq!(named(&self.buffer), Some(trimmed()), "a checkpoint misread");
            self.append(nand)?;
        }
        Ok(())
    }

    /// The first page of every window that contains a trimmed page. If none does, window 0, because
    /// a checkpoint has at least one page.
    fn windows_with_trims(&self, window: u32) -> Vec<u32> {
        let mut firsts = Vec::new();
        let mut from = Some(0);
        while let Some(page) = from.and_then(|from| self.trimmed.next(from)) {
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

    fn append(&mut self, nand: &mut Nand) -> Result<()> {
        let ppn = self.page(nand, self.active, self.used);
        let content = Content::Meta(&self.buffer);
        let page = Page { owner: Lpn::SYSTEM, kind: page_kind::TOMBSTONES, extra: &[], content };
        self.used += 1;
        Ok(nand.program(ppn, &page, Cause::Meta)?)
    }

    fn capacity(&self, nand: &Nand) -> u32 {
        self.segments[0].len() as u32 * nand.geometry().pages_per_block()
    }

    fn page(&self, nand: &Nand, segment: usize, at: u32) -> Ppn {
        let per_block = nand.geometry().pages_per_block();
        nand.geometry().page(self.segments[segment][(at / per_block) as usize], at % per_block)
    }

    // ---- Mounting -------------------------------------------------------------------------------

    /// Reads the log. Returns for each logical page the version of its newest tombstone, 0 for
    /// none.
    ///
    /// # Errors
    /// The power is lost again, or a page holds something that the log cannot have written.
    fn read_back(&mut self, nand: &mut Nand) -> Result<Vec<u64>> {
        let mut tombstones = vec![0; self.trimmed.bound() as usize];
        self.clean = [false; SEGMENTS];
        self.used = self.capacity(nand);
        let mut found = Vec::new();
        for segment in 0..SEGMENTS {
            let copies: Vec<PageCopy> =
                SpareScan::read(nand, &self.segments[segment])?.copies().collect();
            let whole = has_checkpoint(nand, &copies);
            self.born[segment] = if whole { copies[0].spare.sequence } else { 0 };
            found.push(copies);
        }
        self.active = (0..SEGMENTS).max_by_key(|&segment| self.born[segment]).unwrap_or(0);
        if self.born[self.active] > 0 {
            for copy in &found[self.active] {
                replay(nand, *copy, &mut tombstones)?;
            }
        }
        Ok(tombstones)
    }

    /// Resumes work at the end of a mount: a page with a tombstone is trimmed unless it is mapped.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn resume(
        &mut self,
        nand: &mut Nand,
        tombstones: &[u64],
        mapped: impl Fn(Lpn) -> bool,
        suspect: Option<PageCopy>,
    ) -> Result<()> {
        let dead = (0..tombstones.len() as u32).filter(|&lpn| tombstones[lpn as usize] > 0);
        dead.filter(|&lpn| !mapped(Lpn(lpn))).for_each(|lpn| self.trimmed.insert(lpn));
        // The suspect page must not be the only one that records a trim.
        let suspect = suspect.map(|copy| nand.geometry().block_of(copy.ppn));
        match suspect.is_some_and(|block| self.segments[self.active].contains(&block)) {
            true => self.change_over(nand),
            false => Ok(()),
        }
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

/// Whether the readable pages of a segment start with a complete checkpoint.
fn has_checkpoint(nand: &mut Nand, found: &[PageCopy]) -> bool {
    let mut total = 1;
    let mut number = 0;
    while number < total {
        let page = found.get(number as usize);
        let Some(bytes) = page.and_then(|copy| nand.read_meta(copy.ppn, Cause::Meta).ok()) else {
            return false;
        };
        let header = (word(bytes, 0), word(bytes, 2));
        if header != (Some(CHECKPOINT), Some(number)) {
            return false;
        }
        total = word(bytes, 3).unwrap_or(0);
        number += 1;
    }
    true
}

/// Applies one page of the log to the tombstones.
fn replay(nand: &mut Nand, copy: PageCopy, tombstones: &mut [u64]) -> Result<()> {
    let bytes = nand.read_meta(copy.ppn, Cause::Meta)?;
    let strange = || {
        let page = copy.ppn.0;
        Error::Unmountable(format!(
            "page {page} of the trim log names logical pages that do not exist"
        ))
    };
    for range in named(bytes).ok_or_else(strange)? {
        let pages = tombstones.get_mut(range.start as usize..range.end as usize);
        for tombstone in pages.ok_or_else(strange)? {
            *tombstone = copy.spare.version.max(*tombstone);
        }
    }
    Ok(())
}

/// The ranges that a page of the log names; none if it is malformed.
fn named(bytes: &[u8]) -> Option<Vec<Range<u32>>> {
    let count = word(bytes, 1)?;
    let body = bytes.get(HEADER_BYTES..)?;
    if word(bytes, 0)? == RECORD {
        let ranges = body.chunks_exact(RANGE_BYTES).take(count as usize);
        return ranges
            .map(|range| {
                let first = word(range, 0)?;
                Some(first..first.checked_add(word(range, 1)?)?)
            })
            .collect();
    }
    let mut bits = BitSet::new(body.len() as u32 * 8);
    let set = |bit: &u32| body[*bit as usize / 8] >> (bit % 8) & 1 == 1;
    (0..body.len() as u32 * 8).filter(set).for_each(|bit| bits.insert(bit));
    let all = 0..body.len() as u32 * 8;
    bits.runs(all)
        .map(|run| Some(count.checked_add(run.start)?..count.checked_add(run.end)?))
        .collect()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(4 * at..4 * at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Durability;
    use nand::{Cut, Geometry, Mode, Op, Outcome, ProgramOrder, Timing};
    use spec::Params;

    const LOGICAL_BLOCKS: u32 = 8;
    const PAGES: u32 = 32;

    fn chip() -> (Nand, Vec<BlockId>) {
        let geometry = Geometry::new(512, 64, 4, 13, ProgramOrder::Sequential).unwrap();
        (Nand::new(geometry, Mode::Stamps), (0..13).map(BlockId).collect())
    }

    fn log(nand: &Nand, blocks: &[BlockId]) -> TrimLog {
        let device = MountConfig {
            params: &Params::default(),
            logical_blocks: LOGICAL_BLOCKS,
            blocks,
            durability: Durability::Full,
            seed: 0,
            timing: Timing::default(),
        };
        let (data, log) = TrimLog::split(nand, &device);
        assert_eq!(data.len(), 10);
        log.unwrap()
    }

    /// Mounts a copy of this flash on which no page is mapped. Returns the pages that it believes
    /// to be trimmed.
    fn mounted(nand: &Nand, blocks: &[BlockId]) -> (Nand, TrimLog, Vec<u32>) {
        let mut nand = nand.try_clone().unwrap();
        nand.power_on();
        let mut log = log(&nand, blocks);
        let scan = SpareScan::read(&mut nand, blocks).unwrap();
        let suspect = scan.last();
        nand.resume_sequence(suspect.map_or(0, |copy| copy.spare.sequence) + 1);
        let tombstones = log.read_back(&mut nand).unwrap();
        log.resume(&mut nand, &tombstones, |_| false, suspect).unwrap();
        nand.decay().unwrap();
        let trimmed = (0..PAGES).filter(|&page| log.trimmed.contains(page)).collect();
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
                nand.cut_after(Cut { after, outcome });
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
}
