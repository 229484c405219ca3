//! Tombstones: how trims survive a power cut under [`Durability::Full`].
//!
//! A trimmed page leaves nothing on the flash that says so; its old copies would come back at the
//! next mount. So trims are written down, in *system blocks* of their own, at the next flush at the
//! latest. The blocks form three segments, of which one is active:
//!
//! ```text
//! active    [checkpoint 0 1 2][record][record][        ]
//! fallback  what was active before
//! oldest    erased when the log next changes over, and active then
//! ```
//! A *checkpoint* is a bitmap of all trimmed pages, in as many flash pages as have a bit set; a
//! *record* lists ranges trimmed since. When a record does not fit, the log changes over: the
//! oldest segment is erased and starts with a checkpoint, which makes it the one that is believed.
//! Three and not two, because the page that completes a checkpoint may decay after a cut: the mount
//! then writes another one, and until that is complete the fallback must still stand. Each page's
//! version is its place in the order of programs: it beats older copies of the pages it names and
//! no newer.
//!
//! Page layout, little-endian: `u32` what (0 record, 1 checkpoint); then `u32` the number of ranges
//! or the first page of the bitmap; for checkpoints `u32` number of this page and `u32` of all;
//! from byte 16 ranges (`u32` first, `u32` pages) or bits.

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
/// Ranges that may wait for a flush before the log writes them unasked.
const WAITING_MAX: usize = 1 << 14;

/// Checkpoints that the log keeps or is writing.
const SEGMENTS: usize = 3;

/// System blocks that a device of this size needs.
pub fn system_blocks(chip: &ChipModel, logical_blocks: u32, durability: Durability) -> u32 {
    let logical_pages = u64::from(logical_blocks) * u64::from(chip.pages_per_block);
    let segment = || segment_blocks(chip.page_bytes, chip.pages_per_block, logical_pages);
    match durability {
        Durability::Paper => 0,
        Durability::Full => SEGMENTS as u32 * segment(),
    }
}

/// How many of a device's blocks are system blocks: the last ones.
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

/// A segment holds a checkpoint of every page and as much again for records.
fn segment_blocks(page_bytes: u32, pages_per_block: u32, logical_pages: u64) -> u32 {
    let windows = logical_pages.div_ceil(u64::from(window(page_bytes)));
    (2 * windows).div_ceil(u64::from(pages_per_block)) as u32
}

/// What a mount reads back: for each logical page the version of its last tombstone, 0 for none;
/// where trims need not survive there are none.
///
/// # Errors
/// The power is lost again, or a page holds what the log never wrote.
pub fn tombstones(trims: &mut Option<TrimLog>, nand: &mut Nand, pages: u32) -> Result<Vec<u64>> {
    match trims {
        Some(trims) => trims.read_back(nand),
        None => Ok(vec![0; pages as usize]),
    }
}

/// Logical pages that one checkpoint page describes.
fn window(page_bytes: u32) -> u32 {
    (page_bytes - HEADER_BYTES as u32) * 8
}

/// The trims of a device, in RAM and on flash.
#[derive(Clone, Debug)]
pub struct TrimLog {
    segments: [Vec<BlockId>; SEGMENTS],
    /// Where each segment's checkpoint stands in the order of programs; 0 if it has no whole one.
    born: [u64; SEGMENTS],
    /// Whether a segment is known to be erased.
    clean: [bool; SEGMENTS],
    active: usize,
    /// Pages of the active segment that are not free.
    used: u32,
    /// Pages that were trimmed and not written since.
    trimmed: BitSet,
    /// Ranges of trims that no flash page records yet.
    waiting: Vec<Range<u32>>,
    /// The page being composed.
    buffer: Vec<u8>,
}

impl TrimLog {
    /// Splits a device's blocks into those for data and, under full durability, a trim log.
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

    // ---- Running ------------------------------------------------------------------------------

    /// Pages were trimmed that held something.
    ///
    /// # Errors
    /// The power fails, where so many trims wait that some are written now.
    pub fn trim(&mut self, nand: &mut Nand, pages: Range<u32>) -> Result<()> {
        self.trimmed.insert_all(pages.clone());
        match self.waiting.last_mut() {
            Some(last) if last.end == pages.start => last.end = pages.end,
            _ => self.waiting.push(pages),
        }
        if self.waiting.len() > WAITING_MAX { self.flush(nand) } else { Ok(()) }
    }

    /// A page was written: what is on flash now is newer than any tombstone.
    #[inline]
    pub fn written(&mut self, lpn: Lpn) {
        self.trimmed.remove(lpn.0);
    }

    /// Writes down all trims that no flash page records yet. Must also precede the erase of data
    /// where older copies may be left: else an erase could take a trimmed page's newest copy and
    /// let an older one come back.
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
            self.append(nand)?;
        }
        Ok(())
    }

    /// Starts the oldest segment anew with a checkpoint.
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
            self.append(nand)?;
        }
        Ok(())
    }

    /// The first page of every window that has a trimmed page; window 0 if none has, for a
    /// checkpoint has at least one page.
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

    /// Reads the log back: for each logical page the version of its last tombstone, 0 for none.
    ///
    /// # Errors
    /// The power is lost again, or a page holds what the log never wrote.
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

    /// Takes up work after a mount: pages with a tombstone and no newer copy are trimmed.
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
        // A page that may decay must not be the only one to say something.
        let suspect = suspect.map(|copy| nand.geometry().block_of(copy.ppn));
        match suspect.is_some_and(|block| self.segments[self.active].contains(&block)) {
            true => self.change_over(nand),
            false => Ok(()),
        }
    }

    /// Bytes a controller spends on this.
    pub fn ram_bytes(&self) -> u64 {
        u64::from(self.trimmed.bound()).div_ceil(8)
    }
}

/// The parts of `waiting` (ascending) that are still trimmed, each once.
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

/// Whether a segment's readable pages start with all pages of a checkpoint.
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

/// Applies one page of the log.
fn replay(nand: &mut Nand, copy: PageCopy, tombstones: &mut [u64]) -> Result<()> {
    let bytes = nand.read_meta(copy.ppn, Cause::Meta)?;
    let strange = || {
        let page = copy.ppn.0;
        Error::Unmountable(format!("page {page} of the trim log names pages that do not exist"))
    };
    for range in named(bytes).ok_or_else(strange)? {
        let pages = tombstones.get_mut(range.start as usize..range.end as usize);
        for tombstone in pages.ok_or_else(strange)? {
            *tombstone = copy.spare.version.max(*tombstone);
        }
    }
    Ok(())
}

/// The ranges that a page of the log names.
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

    /// What a fresh mount of this flash believes to be trimmed, when nothing is mapped.
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
    fn what_was_flushed_is_known_after_a_mount_and_what_was_rewritten_is_not_repeated() {
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
        assert_eq!(nand.tally().total(Op::Program), before, "nothing waits, nothing is written");
    }

    #[test]
    fn the_log_changes_over_for_ever() {
        let (mut nand, blocks) = chip();
        let mut log = log(&nand, &blocks);
        for round in 0..100 {
            log.trim(&mut nand, round % PAGES..round % PAGES + 1).unwrap();
            log.written(Lpn((round + 16) % PAGES));
            log.flush(&mut nand).unwrap();
            let trimmed: Vec<u32> = log.trimmed.runs(0..PAGES).flatten().collect();
            // A page written since is still named by an old record; whoever wrote it has a newer
            // version on flash. Here nothing is mapped, so the mount may know more, never less.
            let found = mounted(&nand, &blocks).2;
            assert!(trimmed.iter().all(|page| found.contains(page)), "{trimmed:?} {found:?}");
        }
    }

    /// At every program and erase of a long run, with every outcome, and again during the mount.
    #[test]
    fn no_cut_forgets_a_flushed_trim() {
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
