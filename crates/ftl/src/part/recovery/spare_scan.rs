//! The scan of spare areas with which a mount begins, and the copies of pages that it finds.
//!
//! This scan is the only source from which a mount learns what is on the flash. Some pages can be
//! read but do not count: the [trim log](super::trim_log) tells which, and the mount treats them as
//! unreadable. Of the pages that count, the one with the highest sequence was programmed last. If
//! the power failed during its program, it may read well now and be unreadable at any later time,
//! even during this mount. All others that count were complete before that program began.
//!
//! The scan is the largest list of a mount, so it keeps 16 bytes for each page of the chip.

use core::ops::Range;

use nand::spare::SEQUENCE_MAX;
use nand::{BlockId, Cause, Geometry, Lpn, Nand, PageState, Ppn, ProgramOrder, Spare};

use super::tombstones::Tombstones;
use crate::contract::{Error, Result};

/// The spare areas of some blocks.
#[derive(Debug)]
pub struct SpareScan {
    geometry: Geometry,
    /// The blocks, in the order of the scan.
    blocks: Vec<BlockId>,
    /// All pages of the chip.
    pages: Vec<ScannedPage>,
}

/// What a scan knows of a page. Versions and sequences are 40-bit numbers.
#[derive(Clone, Copy, Debug)]
struct ScannedPage {
    owner: u32,
    version: [u8; 5],
    sequence: [u8; 5],
    kind: u8,
    /// Some of the bits below; none if the page was not scanned.
    state: u8,
}

const _: () = assert!(size_of::<ScannedPage>() == 16);

/// It looks erased.
const ERASED: u8 = 1;
/// It can be read, and counts.
const COUNTS: u8 = 1 << 1;
/// It cannot be read, or does not count.
const UNREADABLE: u8 = 1 << 2;
/// It can be read, but does not count.
const HIDDEN: u8 = 1 << 3;
/// It is hidden, and belongs to a mount that was never completed.
const IGNORED: u8 = 1 << 4;
/// It counts, but a tombstone kills it.
const DEAD: u8 = 1 << 5;
/// Its header says that it is tentative.
const TENTATIVE: u8 = 1 << 6;

/// A readable copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// Its physical page.
    pub ppn: Ppn,
    /// The header of its spare area.
    pub spare: Spare,
}

/// The pages that a mount must copy before anything else, if they are valid.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    /// The page programmed last, of those that count, because it may become unreadable. If the last
    /// cut has destroyed other pages, these pages instead: then that page is complete.
    pub pages: Vec<PageCopy>,
    /// Whether the pages are destroyed: others stand in for them, and they cannot get lost.
    pub are_destroyed: bool,
}

impl Suspects {
    /// The suspect pages for which `is_valid` holds.
    pub fn valid(&self, is_valid: impl Fn(&PageCopy) -> bool) -> Suspects {
        let pages = self.pages.iter().filter(|page| is_valid(page)).copied().collect();
        Suspects { pages, ..*self }
    }

    /// The page that may become unreadable.
    pub fn endangered(&self) -> Option<PageCopy> {
        self.pages.first().filter(|_| !self.are_destroyed).copied()
    }
}

impl ScannedPage {
    const UNSCANNED: ScannedPage =
        ScannedPage { owner: 0, version: [0; 5], sequence: [0; 5], kind: 0, state: 0 };

    fn new(state: PageState) -> ScannedPage {
        match state {
            PageState::Erased => ScannedPage { state: ERASED, ..ScannedPage::UNSCANNED },
            PageState::Unreadable => ScannedPage { state: UNREADABLE, ..ScannedPage::UNSCANNED },
            PageState::Programmed(spare) => ScannedPage {
                owner: spare.owner.0,
                version: narrow(spare.version),
                sequence: narrow(spare.sequence),
                kind: spare.kind,
                state: COUNTS | if spare.tentative { TENTATIVE } else { 0 },
            },
        }
    }

    fn has(&self, bit: u8) -> bool {
        self.state & bit != 0
    }

    fn spare(&self) -> Spare {
        Spare {
            owner: Lpn(self.owner),
            version: wide(self.version),
            sequence: wide(self.sequence),
            kind: self.kind,
            tentative: self.has(TENTATIVE),
        }
    }
}

fn narrow(number: u64) -> [u8; 5] {
    let [low @ .., _, _, _] = number.to_le_bytes();
    low
}

fn wide([a, b, c, d, e]: [u8; 5]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
}

impl SpareScan {
    /// A scan of no block.
    pub fn new(geometry: Geometry) -> SpareScan {
        let pages = vec![ScannedPage::UNSCANNED; geometry.pages() as usize];
        SpareScan { geometry, blocks: Vec::new(), pages }
    }

    /// Reads every spare area of `blocks`, cause meta.
    ///
    /// # Errors
    /// The power is lost again, or no chip can have programmed such pages.
    pub fn read(nand: &mut Nand, blocks: &[BlockId]) -> Result<SpareScan> {
        let mut scan = SpareScan::new(*nand.geometry());
        scan.blocks.extend(blocks);
        for &block in blocks {
            let mut before = 0;
            for ppn in pages_of(&scan.geometry, block) {
                let state = nand.read_spare(Ppn(ppn), Cause::Meta)?;
                if let PageState::Programmed(spare) = state {
                    check_order(nand, Ppn(ppn), spare, before)?;
                    before = spare.sequence;
                }
                scan.pages[ppn as usize] = ScannedPage::new(state);
            }
        }
        Ok(scan)
    }

    // ---- Pages that count ---------------------------------------------------------------------

    /// Every readable page, in ascending order.
    pub fn copies(&self) -> impl Iterator<Item = PageCopy> + '_ {
        self.with(0..self.geometry.pages(), COUNTS)
    }

    /// Every readable page of a block.
    pub fn copies_in(&self, block: BlockId) -> impl DoubleEndedIterator<Item = PageCopy> + '_ {
        self.with(pages_of(&self.geometry, block), COUNTS)
    }

    /// Every readable page that holds host data.
    pub fn host_copies(&self) -> impl Iterator<Item = PageCopy> + '_ {
        self.copies().filter(|copy| copy.spare.owner.is_host())
    }

    /// Every readable page that holds host data and that no tombstone kills.
    pub fn alive(&self) -> impl Iterator<Item = PageCopy> + '_ {
        self.host_copies().filter(|copy| !self.pages[copy.ppn.0 as usize].has(DEAD))
    }

    /// A page, if it is readable.
    pub fn copy(&self, ppn: Ppn) -> Option<PageCopy> {
        let page = self.pages.get(ppn.0 as usize).filter(|page| page.has(COUNTS))?;
        Some(PageCopy { ppn, spare: page.spare() })
    }

    /// The readable page with the highest sequence.
    pub fn last(&self) -> Option<PageCopy> {
        self.copies().max_by_key(|copy| copy.spare.sequence)
    }

    /// Checks that all host data fits into the capacity.
    ///
    /// # Errors
    /// A page belongs to a logical page beyond the capacity: this flash was written as a larger
    /// device.
    pub fn is_within(&self, logical_pages: u32) -> Result<()> {
        let beyond = self.host_copies().find(|copy| copy.spare.owner.0 >= logical_pages);
        beyond.map_or(Ok(()), |copy| {
            Err(Error::Unmountable(format!(
                "page {} belongs to logical page {}, beyond the capacity of {logical_pages} pages",
                copy.ppn.0, copy.spare.owner.0
            )))
        })
    }

    /// Checks that no page has become unreadable that was complete: nobody would know its logical
    /// page, and an older version would count. An interrupted program leaves such a page only at
    /// the end of its block, because a mount closes the block. An interrupted erase leaves some,
    /// but only in a block in which no page is the newest of its logical page. Where pages may be
    /// programmed in any order, or destroy others, such a page means nothing.
    ///
    /// # Errors
    /// A page that cannot be read comes before another one of its block, and the block has a page
    /// that is the newest.
    pub fn is_complete(&self) -> Result<()> {
        let geometry = &self.geometry;
        if geometry.program_order() != ProgramOrder::Sequential || geometry.pairing().bits > 1 {
            return Ok(());
        }
        let lost = self.blocks.iter().filter_map(|&block| {
            let last = self.copies_in(block).last()?;
            let is_lost = |ppn: &u32| !self.pages[*ppn as usize].has(COUNTS | HIDDEN);
            let page = (geometry.first_page(block).0..last.ppn.0).find(is_lost)?;
            self.alive_in(block).any(|copy| self.is_newest(copy)).then_some(page)
        });
        lost.min().map_or(Ok(()), |page| {
            Err(Error::Unmountable(format!(
                "page {page} was complete and cannot be read any more, so an older version of its \
                 logical page would count"
            )))
        })
    }

    fn alive_in(&self, block: BlockId) -> impl Iterator<Item = PageCopy> + '_ {
        let is_alive = |copy: &PageCopy| {
            copy.spare.owner.is_host() && !self.pages[copy.ppn.0 as usize].has(DEAD)
        };
        self.copies_in(block).filter(is_alive)
    }

    /// Whether no other page has a newer version of the same logical page, or a newer copy.
    fn is_newest(&self, own: PageCopy) -> bool {
        let age = |copy: PageCopy| (copy.spare.version, copy.spare.sequence);
        let mut twins = self.alive().filter(|copy| copy.spare.owner == own.spare.owner);
        twins.all(|copy| age(copy) <= age(own))
    }

    // ---- Other pages --------------------------------------------------------------------------

    /// Pages and blocks of the chip.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The blocks, in the order of the scan.
    pub fn blocks(&self) -> &[BlockId] {
        &self.blocks
    }

    /// Whether a block was scanned.
    pub fn has_scanned(&self, block: BlockId) -> bool {
        self.pages[self.geometry.first_page(block).0 as usize].state != 0
    }

    /// Whether a page was scanned and is not readable, although it does not look erased.
    pub fn is_unreadable(&self, ppn: Ppn) -> bool {
        self.pages[ppn.0 as usize].has(UNREADABLE)
    }

    /// Whether the block of a page was erased after a page with this sequence was programmed there:
    /// a page that cannot have followed it in this place did, whether it counts or not.
    pub fn was_erased_since(&self, ppn: Ppn, sequence: u64) -> bool {
        let first = match self.geometry.program_order() {
            ProgramOrder::Any => ppn,
            _ => self.geometry.first_page(self.geometry.block_of(ppn)),
        };
        let pages = &self.pages[first.0 as usize..=ppn.0 as usize];
        pages.iter().any(|page| wide(page.sequence) > sequence)
    }

    /// Number of pages of a block up to the last one that does not look erased.
    pub fn occupied(&self, block: BlockId) -> u32 {
        let mut pages = pages_of(&self.geometry, block);
        let last = pages.rfind(|&ppn| self.pages[ppn as usize].has(COUNTS | UNREADABLE));
        last.map_or(0, |ppn| self.geometry.offset_of(Ppn(ppn)) + 1)
    }

    /// The hidden pages of a block.
    pub fn hidden_in(&self, block: BlockId) -> impl Iterator<Item = Ppn> + '_ {
        self.with(pages_of(&self.geometry, block), HIDDEN).map(|copy| copy.ppn)
    }

    /// Whether a block holds a page of a mount that was never completed.
    pub fn has_ignored(&self, block: BlockId) -> bool {
        self.with(pages_of(&self.geometry, block), IGNORED).next().is_some()
    }

    // ---- Changes ------------------------------------------------------------------------------

    /// Treats a page as readable, with this spare area.
    pub fn restore(&mut self, ppn: Ppn, spare: Spare) {
        self.pages[ppn.0 as usize] = ScannedPage::new(PageState::Programmed(spare));
    }

    /// Treats the pages for which `is_hidden` holds as unreadable.
    pub fn hide(&mut self, is_hidden: impl Fn(&PageCopy) -> bool) {
        self.hide_among(0..self.geometry.pages(), is_hidden);
    }

    /// As [`hide`](Self::hide), for some pages.
    pub fn hide_among(&mut self, pages: Range<u32>, is_hidden: impl Fn(&PageCopy) -> bool) {
        self.replace(pages, UNREADABLE | HIDDEN, is_hidden);
    }

    /// As [`hide`](Self::hide), for pages of a mount that was never completed.
    pub fn ignore(&mut self, is_ignored: impl Fn(&PageCopy) -> bool) {
        self.replace(0..self.geometry.pages(), UNREADABLE | HIDDEN | IGNORED, is_ignored);
    }

    /// Notes which copies the tombstones kill.
    pub fn bury(&mut self, tombstones: &Tombstones) {
        for page in self.pages.iter_mut().filter(|page| page.has(COUNTS)) {
            if wide(page.version) <= tombstones.of(Lpn(page.owner)) {
                page.state |= DEAD;
            }
        }
    }

    /// Changes the state of those pages that are readable and for which `is_meant` holds.
    fn replace(&mut self, pages: Range<u32>, state: u8, is_meant: impl Fn(&PageCopy) -> bool) {
        let scanned = &mut self.pages[pages.start as usize..pages.end as usize];
        for (ppn, page) in pages.map(Ppn).zip(scanned).filter(|(_, page)| page.has(COUNTS)) {
            if is_meant(&PageCopy { ppn, spare: page.spare() }) {
                page.state = state;
            }
        }
    }

    fn with(&self, pages: Range<u32>, bit: u8) -> impl DoubleEndedIterator<Item = PageCopy> + '_ {
        let scanned = &self.pages[pages.start as usize..pages.end as usize];
        let all = pages.map(Ppn).zip(scanned);
        let some = all.filter(move |(_, page)| page.has(bit));
        some.map(|(ppn, page)| PageCopy { ppn, spare: page.spare() })
    }
}

/// The pages of a block.
pub fn pages_of(geometry: &Geometry, block: BlockId) -> Range<u32> {
    let first = geometry.first_page(block).0;
    first..first + geometry.pages_per_block()
}

/// Checks that a chip can have programmed such a page behind one with the sequence `before`.
/// Damaged contents under a right checksum could otherwise break rules on which mounts rely.
fn check_order(nand: &Nand, ppn: Ppn, spare: Spare, before: u64) -> Result<()> {
    let strange = |what: &str| {
        let page = ppn.0;
        Err(Error::Unmountable(format!("page {page} {what}")))
    };
    if spare.sequence > SEQUENCE_MAX / 2 {
        return strange("has a sequence number that no chip lives to reach");
    }
    if spare.version == 0 || spare.version > spare.sequence {
        return strange("has a version that no program has");
    }
    match nand.geometry().program_order() {
        ProgramOrder::Any => Ok(()),
        _ if before < spare.sequence => Ok(()),
        _ => strange("was programmed before a page that precedes it in its block"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    /// Two blocks of four pages, of which the first page has this spare area.
    fn scan_of(spare: Spare) -> SpareScan {
        let geometry = Geometry::new(512, 64, 4, 2, ProgramOrder::Sequential).unwrap();
        let mut scan = SpareScan::new(geometry);
        scan.restore(Ppn(0), spare);
        scan
    }

    #[test]
    fn a_header_of_the_largest_numbers_is_kept() {
        let most = nand::spare::SEQUENCE_MAX;
        for tentative in [false, true] {
            let spare = Spare {
                owner: Lpn::SYSTEM,
                version: most,
                sequence: most - 1,
                kind: 255,
                tentative,
            };
            let copy = scan_of(spare).copies().next();
            assert_eq!(copy, Some(PageCopy { ppn: Ppn(0), spare }));
        }
    }

    #[test]
    fn a_tombstone_kills_copies_of_its_own_version_and_older_ones() {
        for (version, is_alive) in [(4, false), (5, false), (6, true)] {
            let spare = Spare { owner: Lpn(3), version, sequence: 9, kind: 1, tentative: false };
            let mut scan = scan_of(spare);
            let mut tombstones = Tombstones::new(4);
            tombstones.add(3..4, 5).unwrap();
            scan.bury(&tombstones);
            assert_eq!(scan.alive().count() == 1, is_alive, "version {version}");
            assert_eq!(scan.host_copies().count(), 1);
        }
    }

    fn spare(owner: u32, sequence: u64) -> Spare {
        Spare { owner: Lpn(owner), version: sequence, sequence, kind: 1, tentative: false }
    }

    /// A scan of two blocks of four pages with these states.
    fn scan_in_order(order: ProgramOrder, states: [PageState; 8]) -> SpareScan {
        let geometry = Geometry::new(512, 64, 4, 2, order).unwrap();
        let mut scan = SpareScan::new(geometry);
        scan.blocks = vec![BlockId(0), BlockId(1)];
        scan.pages = states.map(ScannedPage::new).to_vec();
        scan
    }

    #[test]
    fn a_page_that_was_lost_before_a_newest_one_is_noticed() {
        let [erased, lost] = [PageState::Erased, PageState::Unreadable];
        let page = |owner, sequence| PageState::Programmed(spare(owner, sequence));
        let scan_of = |order, first: [PageState; 4], [fifth, sixth]: [PageState; 2]| {
            let [a, b, c, d] = first;
            scan_in_order(order, [a, b, c, d, fifth, sixth, erased, erased])
        };
        let is_complete =
            |order, first, second| scan_of(order, first, second).is_complete().is_ok();
        let (sequential, none) = (ProgramOrder::Sequential, [erased; 2]);
        let torn = [page(0, 1), lost, page(1, 3), erased];
        assert!(!is_complete(sequential, torn, none));
        assert!(!is_complete(sequential, torn, [page(2, 5), erased]), "another page is newer");
        assert!(!is_complete(sequential, torn, [page(1, 5), erased]), "page 0 is the newest");
        assert!(is_complete(sequential, torn, [page(1, 5), page(0, 6)]), "an erase was torn");
        assert!(is_complete(ProgramOrder::Any, torn, none), "the order says nothing");
        let at_the_end = [page(0, 1), page(1, 2), lost, erased];
        assert!(is_complete(sequential, at_the_end, none), "a program was torn");
        let mut hidden = scan_of(sequential, [page(0, 1), page(2, 2), page(1, 3), erased], none);
        hidden.hide(|copy| copy.ppn == Ppn(1));
        assert!(hidden.is_complete().is_ok());
    }

    #[test]
    fn a_younger_page_shows_that_a_block_was_erased() {
        for (order, is_shown) in [(ProgramOrder::Sequential, true), (ProgramOrder::Any, false)] {
            let page = |sequence| PageState::Programmed(spare(0, sequence));
            let [erased, none] = [PageState::Erased; 2];
            let states = [page(9), page(4), erased, none, page(20), none, none, none];
            let scan = scan_in_order(order, states);
            assert_eq!(scan.was_erased_since(Ppn(1), 5), is_shown, "{order:?}");
            assert!(!scan.was_erased_since(Ppn(1), 9), "{order:?}");
            assert!(scan.was_erased_since(Ppn(1), 3), "{order:?}");
        }
    }

    #[test]
    fn what_no_chip_can_have_programmed_is_refused() {
        let may_follow = |order, spare: Spare, before| {
            let geometry = Geometry::new(512, 64, 4, 2, order).unwrap();
            let nand = Nand::new(geometry, nand::Mode::Stamps);
            check_order(&nand, Ppn(1), spare, before).is_ok()
        };
        let sequential = ProgramOrder::Sequential;
        assert!(may_follow(sequential, spare(0, 5), 4));
        assert!(!may_follow(sequential, spare(0, 5), 5));
        assert!(!may_follow(sequential, spare(0, 5), 6));
        assert!(may_follow(ProgramOrder::Any, spare(0, 5), 6));
        for (version, is_possible) in [(0, false), (1, true), (5, true), (6, false)] {
            let page = Spare { version, ..spare(0, 5) };
            assert_eq!(may_follow(sequential, page, 4), is_possible, "version {version}");
        }
        assert!(may_follow(sequential, spare(0, SEQUENCE_MAX / 2), 4));
        assert!(!may_follow(sequential, spare(0, SEQUENCE_MAX / 2 + 1), 4));
    }
}
