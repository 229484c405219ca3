//! The oracle knows which values each sector may have: it keeps the list of all values that a
//! sector ever had, each with its flush epoch.
//!
//! ```text
//! write 1 · flush · write 2 · trim · write 3        after a cut here: 1, 2, 0 (trimmed) or 3
//! └epoch 1┘         └───── epoch 2 ───────┘
//! ```
//! A trim adds the value zero. An unflushed trim may survive a power cut or not, but it never
//! permits a value from before the last flush. A scheme may make more durable than it must. The
//! values that are read after a mount become the state, so the next mount must show the same ones.

use nand::{Lpn, SectorMask, Stamp};

use crate::finding::{Defect, Finding};
use crate::workload::host_operation::Extent;

/// A value that a sector had, and when it got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    /// The number of the write; 0 if the sector was never written or is trimmed.
    value: u32,
    /// The epoch of the write: 1 + the number of flushes answered before it, or [`FLUSHED`].
    epoch: u32,
    /// The place of the sector's previous version in the list of all versions.
    previous: u32,
}

/// The epoch of values that are durable from the start: the initial zero, and forced writes. It
/// precedes every flush.
const FLUSHED: u32 = 0;
/// The place of the initial zero, which all sectors share.
const BLANK: u32 = 0;

/// All values that each sector ever had.
///
/// The versions of all sectors are in one list, so that a copy of the oracle, which every power cut
/// needs, takes two allocations.
#[derive(Debug)]
pub struct Oracle {
    versions: Vec<Version>,
    /// The place of each sector's newest version.
    newest: Vec<u32>,
    sectors_per_page: u32,
    epoch: u32,
    writes: u32,
    /// Whether a power cut may undo any trim. Then what was trimmed may have any older value.
    undoes_trims: bool,
    /// Whether a power cut leaves the whole device as it was at a flush.
    restores_flushes: bool,
    /// Whether a flush has begun and was not answered.
    is_flushing: bool,
    /// By page: copies of it may be lost that hold versions from before this place. Empty as long
    /// as nothing is lost.
    lost_before: Vec<u32>,
}

impl Clone for Oracle {
    fn clone(&self) -> Oracle {
        let (versions, newest) = (self.versions.clone(), self.newest.clone());
        Oracle { versions, newest, lost_before: self.lost_before.clone(), ..*self }
    }

    fn clone_from(&mut self, other: &Oracle) {
        let (mut versions, mut newest) =
            (std::mem::take(&mut self.versions), std::mem::take(&mut self.newest));
        versions.clone_from(&other.versions);
        newest.clone_from(&other.newest);
        *self = Oracle { versions, newest, lost_before: other.lost_before.clone(), ..*other };
    }
}

/// Which values a read may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Only the newest value: the power was on since the last write.
    Newest,
    /// Any value that may survive a power cut: the device was just mounted.
    Survivor,
}

impl Oracle {
    /// The oracle of a device that was never written.
    pub fn new(pages: u32, sectors_per_page: u32) -> Oracle {
        let versions = vec![Version { value: 0, epoch: FLUSHED, previous: BLANK }];
        let newest = vec![BLANK; (pages * sectors_per_page) as usize];
        Oracle {
            versions,
            newest,
            sectors_per_page,
            epoch: 1,
            writes: 0,
            undoes_trims: false,
            restores_flushes: false,
            is_flushing: false,
            lost_before: Vec::new(),
        }
    }

    /// The same for a device that a power cut leaves as it was at the last flush that was answered,
    /// or at the one under way: as a whole.
    pub fn restoring_flushes(self) -> Oracle {
        Oracle { restores_flushes: true, ..self }
    }

    /// The same for a device on which a power cut may undo any trim: an old copy may come back.
    pub fn undoing_trims(self) -> Oracle {
        Oracle { undoes_trims: true, ..self }
    }

    /// A write begins: its sectors may now have the new value. Returns the number of the write.
    pub fn write(&mut self, extent: &Extent, full: SectorMask) -> u32 {
        assert!(extent.head != 0 && extent.tail != 0, "a write covers sectors of both end pages");
        self.writes += 1;
        for (sector, _) in extent.sectors(self.sectors_per_page, full) {
            self.push(sector, self.writes);
        }
        self.writes
    }

    /// A trim begins: its sectors may now read zero.
    pub fn trim(&mut self, first: u32, pages: u32) {
        let per_page = self.sectors_per_page;
        (first * per_page..(first + pages) * per_page).for_each(|sector| self.push(sector, 0));
    }

    /// A flush begins.
    pub fn begin_flush(&mut self) {
        self.is_flushing = true;
    }

    /// A flush was answered: the newest values are durable.
    pub fn flush(&mut self) {
        self.epoch += 1;
        self.is_flushing = false;
    }

    /// A forced write was answered: the newest values of its sectors are durable.
    pub fn force(&mut self, extent: &Extent, full: SectorMask) {
        if self.restores_flushes {
            return self.flush();
        }
        for (sector, _) in extent.sectors(self.sectors_per_page, full) {
            let newest = self.newest[sector as usize] as usize;
            self.versions[newest].epoch = FLUSHED;
            assert!(self.is_durable(sector as usize), "a forced write leaves its sectors durable");
        }
    }

    /// These values were read after a mount: they are now the state of the device.
    pub fn adopt(&mut self, found: &[Stamp]) {
        assert_eq!(found.len(), self.newest.len(), "a mount is followed by reading every sector");
        for (sector, stamp) in found.iter().enumerate() {
            if self.newest(sector) != stamp.write() {
                self.push(sector as u32, stamp.write());
            }
        }
        self.flush();
        debug_assert!((0..found.len()).all(|sector| self.is_durable(sector)));
    }

    /// A copy of a page cannot be read any more. It may be any of those made so far.
    pub fn lose(&mut self, page: u32) {
        self.lost_before.resize(self.newest.len() / self.sectors_per_page as usize, 0);
        self.lost_before[page as usize] = self.versions.len() as u32;
    }

    /// A write was refused, and this sector has the value that it had before, or still may.
    pub fn keep(&mut self, sector: u32, value: u32) {
        if self.newest(sector as usize) != value {
            self.push(sector, value);
        }
    }

    /// The stamps of a page with its newest values.
    pub fn newest_stamps(&self, page: u32) -> impl Iterator<Item = Stamp> {
        let sectors = page * self.sectors_per_page..(page + 1) * self.sectors_per_page;
        sectors.into_iter().map(|sector| match self.newest(sector as usize) {
            0 => Stamp::default(),
            number => Stamp::new(Lpn(sector), 0, 1, number),
        })
    }

    /// Whether a read of a page may fail: some sector may have a value whose copy was lost.
    pub fn may_be_lost(&self, page: u32, expect: Expect) -> bool {
        let Some(&before) = self.lost_before.get(page as usize) else { return false };
        if expect == Expect::Survivor && self.undoes_trims {
            return before > 0;
        }
        let sectors = page * self.sectors_per_page..(page + 1) * self.sectors_per_page;
        // The oldest version that the page may have in a sector.
        let oldest = |sector: u32| {
            self.places_of(sector as usize).find(|&at| {
                expect == Expect::Newest || self.versions[at as usize].epoch < self.epoch
            })
        };
        sectors.into_iter().any(|sector| oldest(sector).is_some_and(|at| at < before))
    }

    /// Whether a copy of any page was lost.
    pub fn knows_losses(&self) -> bool {
        !self.lost_before.is_empty()
    }

    /// Sectors per page.
    pub fn sectors_per_page(&self) -> u32 {
        self.sectors_per_page
    }

    /// The newest value of a sector.
    pub fn newest(&self, sector: usize) -> u32 {
        self.newest_version(sector).value
    }

    /// Whether a sector may have `value` after a power cut at this moment.
    pub fn may_survive(&self, sector: usize, value: u32) -> bool {
        let mut is_trimmed = false;
        for version in self.versions_of(sector) {
            if version.value == value {
                return true;
            }
            is_trimmed |= version.value == 0 && self.undoes_trims;
            if version.epoch < self.epoch && !is_trimmed {
                return false;
            }
        }
        false
    }

    /// Compares the stamps read with the values allowed. The stamps begin at sector `first`.
    ///
    /// # Errors
    /// The first sector with a wrong value.
    pub fn judge(&self, first: usize, found: &[Stamp], expect: Expect) -> Result<(), Finding> {
        assert!(first + found.len() <= self.newest.len(), "only sectors of the device are judged");
        if self.restores_flushes && expect == Expect::Survivor {
            return self.judge_snapshot(first, found);
        }
        let wrong = (0..found.len()).find(|&at| !self.accepts(first + at, found[at], expect));
        wrong.map_or(Ok(()), |at| Err(self.finding(first, found, at, expect)))
    }

    /// Compares the stamps read with the device as it was at a flush.
    fn judge_snapshot(&self, first: usize, found: &[Stamp]) -> Result<(), Finding> {
        let wrong = |value: &dyn Fn(usize) -> u32| {
            let is_right = |at: usize| {
                let (sector, stamp) = (first + at, found[at]);
                let is_own = stamp == Stamp::default() || stamp.sector() as usize == sector;
                is_own && stamp.write() == value(sector)
            };
            (0..found.len()).find(|&at| !is_right(at))
        };
        let Some(at) = wrong(&|sector| self.flushed(sector)) else { return Ok(()) };
        if self.is_flushing && wrong(&|sector| self.newest(sector)).is_none() {
            return Ok(());
        }
        let sector = first + at;
        let (read, flushed) = (found[at].write(), self.flushed(sector));
        let shown = match read {
            u32::MAX => "bytes that no write wrote".to_owned(),
            _ => format!("write {read}"),
        };
        let defect = match self.versions_of(sector).any(|version| version.value == read) {
            true => Defect::Shorn,
            false => Defect::Foreign,
        };
        Err(Finding::new(
            defect,
            format!(
                "the device is not as it was at a flush: {} reads {shown}, and had write {flushed} \
                 at the last flush that was answered",
                self.place(sector)
            ),
        ))
    }

    /// The value of a sector at the last flush that was answered.
    fn flushed(&self, sector: usize) -> u32 {
        let mut versions = self.versions_of(sector);
        versions.find(|version| version.epoch < self.epoch).map_or(0, |version| version.value)
    }

    /// Compares the stamps read of an extent with the newest values. The stamps begin at the first
    /// sector of its first page; those of sectors outside the extent mean nothing.
    ///
    /// # Errors
    /// The first sector with a wrong value.
    pub fn judge_extent(
        &self,
        extent: &Extent,
        full: SectorMask,
        found: &[Stamp],
    ) -> Result<(), Finding> {
        let first = (extent.first * self.sectors_per_page) as usize;
        let mut covered = extent.sectors(self.sectors_per_page, full);
        let wrong = covered.find(|&(sector, _)| {
            let sector = sector as usize;
            !self.accepts(sector, found[sector - first], Expect::Newest)
        });
        wrong.map_or(Ok(()), |(sector, _)| {
            Err(self.finding(first, found, sector as usize - first, Expect::Newest))
        })
    }

    /// Whether the newest value of a sector is the only one that may survive a power cut.
    fn is_durable(&self, sector: usize) -> bool {
        self.newest_version(sector).epoch < self.epoch
    }

    fn newest_version(&self, sector: usize) -> Version {
        self.versions[self.newest[sector] as usize]
    }

    /// The versions of a sector, from the newest to the initial zero.
    fn versions_of(&self, sector: usize) -> impl Iterator<Item = Version> {
        self.places_of(sector).map(|at| self.versions[at as usize])
    }

    /// Their places in the list.
    fn places_of(&self, sector: usize) -> impl Iterator<Item = u32> {
        let previous = |&at: &u32| (at != BLANK).then(|| self.versions[at as usize].previous);
        std::iter::successors(Some(self.newest[sector]), previous)
    }

    fn push(&mut self, sector: u32, value: u32) {
        assert!(value <= self.writes, "write {value} has not begun");
        let newest = &mut self.newest[sector as usize];
        assert!(self.versions[*newest as usize].epoch <= self.epoch, "epochs never decrease");
        let version = Version { value, epoch: self.epoch, previous: *newest };
        *newest = self.versions.len() as u32;
        self.versions.push(version);
    }

    fn accepts(&self, sector: usize, stamp: Stamp, expect: Expect) -> bool {
        let own = stamp == Stamp::default() || stamp.sector() as usize == sector;
        own && match expect {
            Expect::Newest => stamp.write() == self.newest(sector),
            Expect::Survivor => self.may_survive(sector, stamp.write()),
        }
    }

    // ---- Describing a wrong value -------------------------------------------------------------

    fn place(&self, sector: usize) -> String {
        let per_page = self.sectors_per_page as usize;
        format!("Lpn({}) sector {}", sector / per_page, sector % per_page)
    }

    fn finding(&self, first: usize, found: &[Stamp], at: usize, expect: Expect) -> Finding {
        let sector = first + at;
        let shown = match (found[at].write(), found[at].sector() as usize == sector) {
            (0, _) => "zero".to_owned(),
            (u32::MAX, _) => "bytes that no write wrote".to_owned(),
            (write, true) => format!("write {write}"),
            (write, false) => {
                format!("write {write} of {}", self.place(found[at].sector() as usize))
            }
        };
        let defect = self.defect(first, found, at, expect);
        let newest = self.newest(sector);
        let mut had: Vec<u32> = self.versions_of(sector).map(|version| version.value).collect();
        had.reverse();
        Finding::new(
            defect,
            format!(
                "{} reads {shown}; its newest value is {newest}, all its values were {had:?}",
                self.place(sector)
            ),
        )
    }

    fn defect(&self, first: usize, found: &[Stamp], at: usize, expect: Expect) -> Defect {
        let (sector, stamp) = (first + at, found[at]);
        let value = stamp.write();
        let had = self.versions_of(sector).any(|version| version.value == value);
        if value != 0 && stamp.sector() as usize != sector {
            Defect::Misplaced
        } else if !had {
            Defect::Foreign
        } else if self.newest(sector) == 0 {
            Defect::Resurrected
        } else if self.is_shorn(first, found, at, expect) {
            Defect::Shorn
        } else if value == 0 {
            Defect::Lost
        } else {
            Defect::Stale
        }
    }

    /// Whether another sector of the same page has an allowed value that is at least as new as the
    /// newest value of this sector.
    fn is_shorn(&self, first: usize, found: &[Stamp], at: usize, expect: Expect) -> bool {
        let per_page = self.sectors_per_page as usize;
        let page = (first + at) / per_page;
        (0..found.len()).filter(|&other| (first + other) / per_page == page).any(|other| {
            self.accepts(first + other, found[other], expect)
                && found[other].write() >= self.newest(first + at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::Lpn;

    const FULL: SectorMask = 0b11;

    fn page(lpn: u32, mask: SectorMask) -> Extent {
        Extent { first: lpn, pages: 1, head: mask, tail: mask }
    }

    /// Two pages of two sectors.
    fn oracle() -> Oracle {
        Oracle::new(2, 2)
    }

    fn stamps(writes: [u32; 4]) -> Vec<Stamp> {
        let stamp = |(at, write): (usize, u32)| match write {
            0 => Stamp::default(),
            _ => Stamp::new(Lpn(at as u32 / 2), at as u32 % 2, 2, write),
        };
        writes.into_iter().enumerate().map(stamp).collect()
    }

    fn defect(oracle: &Oracle, writes: [u32; 4], expect: Expect) -> Option<Defect> {
        oracle.judge(0, &stamps(writes), expect).err().map(|finding| finding.defect)
    }

    #[test]
    fn a_page_may_be_unreadable_while_a_copy_that_was_lost_may_be_the_newest() {
        let mut oracle = oracle();
        assert!(!oracle.knows_losses());
        oracle.write(&page(0, FULL), FULL);
        oracle.flush();
        oracle.lose(0);
        let may = |oracle: &Oracle, expect| [0, 1].map(|page| oracle.may_be_lost(page, expect));
        assert_eq!(may(&oracle, Expect::Newest), [true, false]);
        assert_eq!(may(&oracle, Expect::Survivor), [true, false]);
        oracle.write(&page(0, 1), FULL);
        assert_eq!(may(&oracle, Expect::Newest), [true, false], "its other sector is old");
        oracle.write(&page(0, FULL), FULL);
        assert_eq!(may(&oracle, Expect::Newest), [false; 2]);
        assert_eq!(may(&oracle, Expect::Survivor), [true, false], "the write may not survive");
        assert_eq!(may(&oracle.clone(), Expect::Survivor), [true, false]);
        oracle.flush();
        assert_eq!(may(&oracle, Expect::Survivor), [false; 2]);
        oracle.keep(0, 1);
        assert_eq!(oracle.newest(0), 1, "a write of it was refused");
    }

    #[test]
    fn an_unflushed_write_may_be_lost_but_nothing_older_may_return() {
        let mut oracle = oracle();
        for _ in 0..2 {
            oracle.write(&page(0, FULL), FULL);
        }
        oracle.flush();
        oracle.write(&page(0, FULL), FULL);
        let may: Vec<u32> = (0..5).filter(|&value| oracle.may_survive(0, value)).collect();
        assert_eq!(may, [2, 3]);
        oracle.flush();
        let may: Vec<u32> = (0..5).filter(|&value| oracle.may_survive(0, value)).collect();
        assert_eq!(may, [3]);
    }

    #[test]
    fn a_forced_write_makes_only_its_own_sectors_durable() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(0, 0b01), FULL);
        oracle.force(&page(0, 0b01), FULL);
        oracle.write(&page(0, FULL), FULL);
        let may = |sector| -> Vec<u32> {
            (0..4).filter(|&value| oracle.may_survive(sector, value)).collect()
        };
        assert_eq!((may(0), may(1)), (vec![2, 3], vec![0, 1, 3]));
    }

    #[test]
    fn an_unflushed_trim_may_be_lost_but_nothing_older_may_return() {
        let mut oracle = oracle();
        for _ in 0..2 {
            oracle.write(&page(0, FULL), FULL);
            oracle.flush();
        }
        oracle.trim(0, 1);
        let may: Vec<u32> = (0..5).filter(|&value| oracle.may_survive(0, value)).collect();
        assert_eq!(may, [0, 2]);
        oracle.flush();
        let may: Vec<u32> = (0..5).filter(|&value| oracle.may_survive(0, value)).collect();
        assert_eq!(may, [0]);
    }

    #[test]
    fn where_trims_may_be_undone_any_older_value_may_return_until_the_next_write() {
        let mut oracle = oracle().undoing_trims();
        for _ in 0..2 {
            oracle.write(&page(0, FULL), FULL);
            oracle.flush();
        }
        oracle.trim(0, 1);
        oracle.flush();
        let may = |oracle: &Oracle| -> Vec<u32> {
            (0..5).filter(|&value| oracle.may_survive(0, value)).collect()
        };
        assert_eq!(may(&oracle), [0, 1, 2]);
        oracle.write(&page(0, FULL), FULL);
        assert_eq!(may(&oracle), [0, 1, 2, 3]);
        oracle.flush();
        assert_eq!(may(&oracle), [3]);
    }

    #[test]
    fn where_flushes_are_restored_the_whole_device_is_as_it_was_at_one() {
        let mut oracle = oracle().restoring_flushes();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        oracle.flush();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        let defect = |oracle: &Oracle, writes| defect(oracle, writes, Expect::Survivor);
        assert_eq!(defect(&oracle, [1, 1, 2, 2]), None);
        assert_eq!(defect(&oracle, [3, 3, 2, 2]), Some(Defect::Shorn), "one write of two");
        assert_eq!(defect(&oracle, [3, 3, 4, 4]), Some(Defect::Shorn), "nothing was flushed");
        oracle.begin_flush();
        assert_eq!(defect(&oracle, [3, 3, 4, 4]), None, "the flush may have done its work");
        assert_eq!(defect(&oracle, [1, 1, 2, 2]), None, "or not");
        assert_eq!(defect(&oracle, [1, 1, 4, 4]), Some(Defect::Shorn));
        oracle.flush();
        assert_eq!(defect(&oracle, [1, 1, 2, 2]), Some(Defect::Shorn), "it was answered");
        assert_eq!(defect(&oracle, [3, 9, 4, 4]), Some(Defect::Foreign));
    }

    #[test]
    fn a_value_read_after_a_mount_must_be_there_after_the_next_mount() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.trim(0, 1);
        oracle.adopt(&stamps([1, 0, 0, 0]));
        assert_eq!(defect(&oracle, [1, 0, 0, 0], Expect::Survivor), None);
        assert_eq!(defect(&oracle, [0, 0, 0, 0], Expect::Survivor), Some(Defect::Lost));
        assert_eq!(defect(&oracle, [1, 1, 0, 0], Expect::Survivor), Some(Defect::Resurrected));
    }

    #[test]
    fn each_defect_is_recognised() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        oracle.write(&page(0, FULL), FULL);
        oracle.trim(1, 1);
        oracle.flush();
        let defect = |writes| defect(&oracle, writes, Expect::Survivor);
        assert_eq!(defect([3, 3, 0, 0]), None);
        assert_eq!(defect([0, 0, 0, 0]), Some(Defect::Lost));
        assert_eq!(defect([1, 1, 0, 0]), Some(Defect::Stale));
        assert_eq!(defect([1, 3, 0, 0]), Some(Defect::Shorn));
        assert_eq!(defect([2, 3, 0, 0]), Some(Defect::Foreign));
        assert_eq!(defect([3, 3, 2, 0]), Some(Defect::Resurrected));
        let mut swapped = stamps([3, 3, 0, 0]);
        swapped.swap(0, 1);
        let misplaced = oracle.judge(0, &swapped, Expect::Survivor).unwrap_err();
        assert_eq!(misplaced.defect, Defect::Misplaced);
    }

    #[test]
    fn a_read_of_part_of_a_page_is_judged_by_that_part() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, 0b10), FULL);
        let judge = |extent, writes| {
            let found = &stamps(writes)[extent_sectors(&extent)];
            oracle.judge_extent(&extent, FULL, found).err().map(|finding| finding.defect)
        };
        assert_eq!(judge(page(0, 0b10), [0, 1, 0, 0]), None);
        assert_eq!(judge(page(0, 0b10), [1, 0, 0, 0]), Some(Defect::Shorn));
        assert_eq!(judge(page(1, 0b10), [0, 0, 0, 2]), None);
        let both = Extent { first: 0, pages: 2, head: 0b10, tail: 0b01 };
        assert_eq!(judge(both, [0, 1, 0, 0]), None);
        assert_eq!(judge(both, [0, 1, 2, 0]), Some(Defect::Foreign));
    }

    fn extent_sectors(extent: &Extent) -> std::ops::Range<usize> {
        2 * extent.first as usize..2 * (extent.first + extent.pages) as usize
    }

    #[test]
    fn without_a_cut_only_the_newest_value_is_right() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(0, 0b10), FULL);
        assert_eq!(defect(&oracle, [1, 2, 0, 0], Expect::Newest), None);
        assert_eq!(defect(&oracle, [0, 2, 0, 0], Expect::Newest), Some(Defect::Shorn));
        assert_eq!(defect(&oracle, [1, 1, 0, 0], Expect::Newest), Some(Defect::Stale));
        assert_eq!(defect(&oracle, [0, 2, 0, 0], Expect::Survivor), None, "nothing was flushed");
    }

    #[test]
    fn a_finding_names_the_sector_and_all_its_values() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        let sentence = |finding: Result<(), Finding>| finding.unwrap_err().sentence;
        let values = "its newest value is 2, all its values were [0, 2]";
        let found = stamps([1, 1, 2, 0]);
        let zero = format!("Lpn(1) sector 1 reads zero; {values}");
        assert_eq!(sentence(oracle.judge(0, &found, Expect::Newest)), zero);
        assert_eq!(sentence(oracle.judge(2, &found[2..], Expect::Newest)), zero);
        assert_eq!(sentence(oracle.judge_extent(&page(1, FULL), FULL, &found[2..])), zero);
        let other = format!("Lpn(1) sector 1 reads write 1; {values}");
        assert_eq!(sentence(oracle.judge(0, &stamps([1, 1, 2, 1]), Expect::Newest)), other);
        let mut swapped = stamps([1, 1, 2, 2]);
        swapped.swap(2, 3);
        let other = format!("Lpn(1) sector 0 reads write 2 of Lpn(1) sector 1; {values}");
        assert_eq!(sentence(oracle.judge(0, &swapped, Expect::Newest)), other);
    }

    #[test]
    fn a_value_is_durable_once_a_flush_was_answered() {
        let mut oracle = oracle();
        assert!(oracle.is_durable(0));
        oracle.write(&page(0, FULL), FULL);
        assert!(!oracle.is_durable(0));
        oracle.flush();
        assert!(oracle.is_durable(0));
    }

    #[test]
    fn where_trims_may_be_undone_a_lost_page_may_be_unreadable_for_ever() {
        let mut oracle = oracle().undoing_trims();
        for lpn in [0, 1] {
            oracle.write(&page(lpn, FULL), FULL);
        }
        oracle.lose(1);
        oracle.write(&page(1, FULL), FULL);
        oracle.flush();
        let may = |expect| [0, 1].map(|page| oracle.may_be_lost(page, expect));
        assert_eq!(may(Expect::Survivor), [false, true], "a trim of it may be undone");
        assert_eq!(may(Expect::Newest), [false; 2]);
    }

    #[test]
    fn a_part_of_a_flush_and_sectors_in_the_wrong_place_are_named() {
        let mut oracle = oracle().restoring_flushes();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        oracle.flush();
        let mut swapped = stamps([1, 1, 2, 2]);
        swapped.swap(0, 1);
        let misplaced = oracle.judge(0, &swapped, Expect::Survivor).unwrap_err();
        assert_eq!(misplaced.defect, Defect::Shorn);
        let of_page =
            |found: [Stamp; 2]| oracle.judge(2, &found, Expect::Survivor).unwrap_err().sentence;
        let [right, other] = [2, 1].map(|write| Stamp::new(Lpn(1), 1, 2, write));
        let first = stamps([1, 1, 2, 2])[2];
        assert_eq!(
            of_page([first, other]),
            "the device is not as it was at a flush: Lpn(1) sector 1 reads write 1, and had \
             write 2 at the last flush that was answered"
        );
        let nobodys = Stamp::new(Lpn(1), 0, 2, u32::MAX);
        let sentence = of_page([nobodys, right]);
        assert!(sentence.contains("Lpn(1) sector 0 reads bytes that no write wrote"), "{sentence}");
    }

    #[test]
    fn a_page_behind_the_first_is_shorn_by_its_own_sectors() {
        let mut oracle = oracle();
        oracle.write(&page(1, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        let defect = |writes: [u32; 4]| {
            let found = &stamps(writes)[2..];
            oracle.judge(2, found, Expect::Newest).unwrap_err().defect
        };
        assert_eq!(defect([0, 0, 2, 1]), Defect::Shorn);
        assert_eq!(defect([0, 0, 1, 2]), Defect::Shorn);
        assert_eq!(defect([0, 0, 1, 1]), Defect::Stale);
    }
}
