//! What a sector may read: the list of values that it had, each with the flush epoch it came in.
//!
//! ```text
//! write 1 · flush · write 2 · trim · write 3        cut here: 1, 2, 0 (of the trim) or 3
//! └epoch 1┘         └───── epoch 2 ───────┘
//! ```
//! A trim is a value like any other: unflushed, it may show or not; but it is no licence for what
//! is older than the last flush. Only what the contract demands is demanded: a scheme that keeps
//! more than it must is right too. What a mount shows is from then on the state: the next one must
//! show the same.

use nand::{SectorMask, Stamp};

use crate::step::Extent;
use crate::violation::{Kind, Violation};

/// A value that a sector had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    /// The number of the write that made it; 0 is zero: never written, or trimmed.
    value: u32,
    /// The flushes answered before it, counted from 1; or [`FLUSHED`].
    epoch: u32,
}

/// The epoch of what was there at first, and of what was forced: before every flush.
const FLUSHED: u32 = 0;

/// Every value that every sector ever had, in order.
#[derive(Clone, Debug)]
pub struct Oracle {
    sectors: Vec<Vec<Version>>,
    sectors_per_page: u32,
    epoch: u32,
    writes: u32,
}

/// When sectors are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// In the same life as the last write: the newest value and nothing else.
    Awake,
    /// At the first look after a mount: any value that the contract lets survive.
    Mounted,
}

impl Oracle {
    /// A device on which nothing was ever written.
    pub fn new(pages: u32, sectors_per_page: u32) -> Oracle {
        let blank = vec![Version { value: 0, epoch: FLUSHED }];
        let sectors = vec![blank; (pages * sectors_per_page) as usize];
        Oracle { sectors, sectors_per_page, epoch: 1, writes: 0 }
    }

    /// A write begins: from now on its sectors may read new. Returns its number.
    pub fn write(&mut self, extent: &Extent, full: SectorMask) -> u32 {
        self.writes += 1;
        for (sector, _) in extent.sectors(self.sectors_per_page, full) {
            self.push(sector, self.writes);
        }
        self.writes
    }

    /// A trim begins.
    pub fn trim(&mut self, first: u32, pages: u32) {
        let per_page = self.sectors_per_page;
        (first * per_page..(first + pages) * per_page).for_each(|sector| self.push(sector, 0));
    }

    /// A flush was answered: what is newest now stays.
    pub fn flush(&mut self) {
        self.epoch += 1;
    }

    /// A forced write of these sectors was answered: what is newest of them now stays.
    pub fn force(&mut self, extent: &Extent, full: SectorMask) {
        for (sector, _) in extent.sectors(self.sectors_per_page, full) {
            let versions = &mut self.sectors[sector as usize];
            versions.iter_mut().for_each(|version| version.epoch = FLUSHED);
        }
    }

    /// A mount showed these values: from now on they are the state.
    pub fn adopt(&mut self, found: &[Stamp]) {
        for (sector, stamp) in found.iter().enumerate() {
            if self.newest(sector) != stamp.write() {
                self.push(sector as u32, stamp.write());
            }
        }
        self.flush();
    }

    /// Sectors a page.
    pub fn sectors_per_page(&self) -> u32 {
        self.sectors_per_page
    }

    /// The newest value of a sector.
    pub fn newest(&self, sector: usize) -> u32 {
        self.sectors[sector].last().expect("a sector always has a value").value
    }

    /// Whether a sector may read `value` after a cut now.
    pub fn may_survive(&self, sector: usize, value: u32) -> bool {
        let all = &self.sectors[sector];
        let flushed = all.iter().rposition(|version| version.epoch < self.epoch).unwrap_or(0);
        all[flushed..].iter().any(|version| version.value == value)
    }

    /// Judges the sectors found, which start with sector `first`.
    ///
    /// # Errors
    /// The first sector that reads as it must not.
    pub fn judge(&self, first: usize, found: &[Stamp], look: Look) -> Result<(), Violation> {
        let wrong = (0..found.len()).find(|&at| !self.accepts(first + at, found[at], look));
        wrong.map_or(Ok(()), |at| Err(self.violation(first, found, at, look)))
    }

    fn push(&mut self, sector: u32, value: u32) {
        self.sectors[sector as usize].push(Version { value, epoch: self.epoch });
    }

    fn accepts(&self, sector: usize, stamp: Stamp, look: Look) -> bool {
        let own = stamp == Stamp::default() || stamp.sector() as usize == sector;
        own && match look {
            Look::Awake => stamp.write() == self.newest(sector),
            Look::Mounted => self.may_survive(sector, stamp.write()),
        }
    }

    // ---- Naming what is wrong -----------------------------------------------------------------

    fn violation(&self, first: usize, found: &[Stamp], at: usize, look: Look) -> Violation {
        let sector = first + at;
        let (page, index) =
            (sector as u32 / self.sectors_per_page, sector as u32 % self.sectors_per_page);
        let shown = match (found[at].write(), found[at].sector() as usize == sector) {
            (0, _) => "zero".to_owned(),
            (write, true) => format!("write {write}"),
            (write, false) => format!("write {write} of sector {}", found[at].sector()),
        };
        let kind = self.kind(first, found, at, look);
        let newest = self.newest(sector);
        let had: Vec<u32> = self.sectors[sector].iter().map(|version| version.value).collect();
        Violation::new(
            kind,
            format!("Lpn({page}) sector {index} reads {shown}; newest is {newest}, it had {had:?}"),
        )
    }

    fn kind(&self, first: usize, found: &[Stamp], at: usize, look: Look) -> Kind {
        let (sector, stamp) = (first + at, found[at]);
        let value = stamp.write();
        let had = self.sectors[sector].iter().any(|version| version.value == value);
        if value != 0 && stamp.sector() as usize != sector {
            Kind::Misplaced
        } else if !had {
            Kind::Foreign
        } else if self.newest(sector) == 0 {
            Kind::Resurrected
        } else if self.is_shorn(first, found, at, look) {
            Kind::Shorn
        } else if value == 0 {
            Kind::Lost
        } else {
            Kind::Stale
        }
    }

    /// Whether another sector of the same page reads well and at least as new as this one should.
    fn is_shorn(&self, first: usize, found: &[Stamp], at: usize, look: Look) -> bool {
        let per_page = self.sectors_per_page as usize;
        let page = (first + at) / per_page;
        (0..found.len()).filter(|&other| (first + other) / per_page == page).any(|other| {
            self.accepts(first + other, found[other], look)
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

    fn kind(oracle: &Oracle, writes: [u32; 4], look: Look) -> Option<Kind> {
        oracle.judge(0, &stamps(writes), look).err().map(|violation| violation.kind)
    }

    #[test]
    fn what_is_not_flushed_may_read_old_or_new_and_nothing_else() {
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
    fn a_forced_write_keeps_its_own_sectors_and_no_others() {
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
    fn an_unflushed_trim_may_be_forgotten_but_brings_nothing_older_back() {
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
    fn what_a_mount_showed_is_what_the_next_one_must_show() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.trim(0, 1);
        oracle.adopt(&stamps([1, 0, 0, 0]));
        assert_eq!(kind(&oracle, [1, 0, 0, 0], Look::Mounted), None);
        assert_eq!(kind(&oracle, [0, 0, 0, 0], Look::Mounted), Some(Kind::Lost));
        assert_eq!(kind(&oracle, [1, 1, 0, 0], Look::Mounted), Some(Kind::Resurrected));
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(1, FULL), FULL);
        oracle.write(&page(0, FULL), FULL);
        oracle.trim(1, 1);
        oracle.flush();
        let kind = |writes| kind(&oracle, writes, Look::Mounted);
        assert_eq!(kind([3, 3, 0, 0]), None);
        assert_eq!(kind([0, 0, 0, 0]), Some(Kind::Lost));
        assert_eq!(kind([1, 1, 0, 0]), Some(Kind::Stale));
        assert_eq!(kind([1, 3, 0, 0]), Some(Kind::Shorn));
        assert_eq!(kind([2, 3, 0, 0]), Some(Kind::Foreign));
        assert_eq!(kind([3, 3, 2, 0]), Some(Kind::Resurrected));
        let mut swapped = stamps([3, 3, 0, 0]);
        swapped.swap(0, 1);
        let misplaced = oracle.judge(0, &swapped, Look::Mounted).unwrap_err();
        assert_eq!(misplaced.kind, Kind::Misplaced);
    }

    #[test]
    fn awake_only_the_newest_is_right() {
        let mut oracle = oracle();
        oracle.write(&page(0, FULL), FULL);
        oracle.write(&page(0, 0b10), FULL);
        assert_eq!(kind(&oracle, [1, 2, 0, 0], Look::Awake), None);
        assert_eq!(kind(&oracle, [0, 2, 0, 0], Look::Awake), Some(Kind::Shorn));
        assert_eq!(kind(&oracle, [1, 1, 0, 0], Look::Awake), Some(Kind::Stale));
        assert_eq!(kind(&oracle, [0, 2, 0, 0], Look::Mounted), None, "nothing was flushed");
    }
}
