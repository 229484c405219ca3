//! A shadow copy of every sector, to check that the FTL returns the right data.
//!
//! The chip keeps a [`Stamp`] for each sector: the number of the sector and of the write. The
//! shadow keeps the number of the newest write of each sector; 0 if it was never written, or
//! trimmed. So every mismatch has a name. A sector is *lost* if an older write was read,
//! *misplaced* if it is the data of another sector, and *resurrected* if it had been trimmed.

use ftl::Span;
use nand::{Lpn, SectorMask, Stamp};

use crate::error::Error;
use crate::mismatch::Mismatch;

/// Pages whose sectors get a table of their own together.
const GROUP: u32 = 64;
/// The newest write of a page whose sectors have different ones.
const MIXED: u32 = u32::MAX;

/// The newest write of every sector. Most pages were written as a whole, so one number is kept for
/// a page. Only where writes of parts leave a page mixed, its group of pages gets a number for each
/// sector.
#[derive(Debug)]
pub struct Shadow {
    /// The newest write of all sectors of each page, or [`MIXED`].
    pages: Vec<u32>,
    /// The newest write of each sector, for groups that ever had a mixed page; valid for pages that
    /// are mixed.
    groups: Vec<Option<Box<[u32]>>>,
    sectors_per_page: u32,
    last_write: u32,
}

impl Shadow {
    /// The shadow of an empty device.
    pub fn new(logical_pages: u32, sectors_per_page: u32) -> Shadow {
        let groups = vec![None; logical_pages.div_ceil(GROUP) as usize];
        Shadow { pages: vec![0; logical_pages as usize], groups, sectors_per_page, last_write: 0 }
    }

    /// Memory of a shadow without mixed pages.
    pub fn memory_bytes(logical_pages: u64) -> u64 {
        let group_bytes = size_of::<Option<Box<[u32]>>>() as u64;
        logical_pages * size_of::<u32>() as u64 + logical_pages.div_ceil(GROUP.into()) * group_bytes
    }

    /// Notes a write and returns its number.
    ///
    /// # Errors
    /// There are more writes than can be numbered.
    pub fn write(&mut self, span: &Span) -> Result<u32, Error> {
        let number = self.last_write + 1;
        if number == MIXED {
            let most = MIXED - 1;
            return Err(Error::Impossible(format!("`--verify` numbers at most {most} writes")));
        }
        self.last_write = number;
        self.set(span, number);
        Ok(number)
    }

    /// Notes a trim of whole pages.
    pub fn trim(&mut self, span: &Span) {
        self.set(span, 0);
    }

    /// Compares the stamps that were read of a span; `found` starts with its first page.
    ///
    /// # Errors
    /// The first sector that differs.
    pub fn compare(&self, span: &Span, found: &[Stamp], request: u64) -> Result<(), Mismatch> {
        let wanted = span.sectors(self.sectors_per_page);
        let base = span.first as usize * self.sectors_per_page as usize;
        for at in wanted {
            let lpn = Lpn((at / self.sectors_per_page as usize) as u32);
            let sector = (at % self.sectors_per_page as usize) as u32;
            let (expected, found) = (self.newest(lpn.0, sector), found[at - base]);
            let wanted_stamp = match expected {
                0 => Stamp::default(),
                number => Stamp::new(lpn, sector, self.sectors_per_page, number),
            };
            if found != wanted_stamp {
                let own = Stamp::new(lpn, sector, self.sectors_per_page, 1).sector();
                return Err(Mismatch::Sector { lpn, sector, expected, found, own, request });
            }
        }
        Ok(())
    }

    /// The newest write of a sector; 0 if there is none.
    fn newest(&self, page: u32, sector: u32) -> u32 {
        match self.pages[page as usize] {
            MIXED => {
                let group = self.groups[(page / GROUP) as usize].as_ref();
                group.expect("a mixed page has its sectors")[self.place(page) + sector as usize]
            }
            number => number,
        }
    }

    /// The place of the first sector of a page in the table of its group.
    fn place(&self, page: u32) -> usize {
        (page % GROUP * self.sectors_per_page) as usize
    }

    /// Sets the newest write of all sectors of a span.
    fn set(&mut self, span: &Span, number: u32) {
        let (first, last) = (span.first, span.first + span.pages - 1);
        let whole = SectorMask::MAX >> (64 - self.sectors_per_page);
        for page in [first, last] {
            let mask = if page == first { span.head } else { span.tail };
            match mask == whole {
                true => self.pages[page as usize] = number,
                false => self.set_part(page, mask, number),
            }
        }
        let between = first as usize + 1..(last as usize).max(first as usize + 1);
        self.pages[between].fill(number);
    }

    /// Sets the newest write of some sectors of a page.
    fn set_part(&mut self, page: u32, mask: SectorMask, number: u32) {
        let (place, before) = (self.place(page), self.pages[page as usize]);
        let sectors = (GROUP * self.sectors_per_page) as usize;
        let group = self.groups[(page / GROUP) as usize]
            .get_or_insert_with(|| vec![0; sectors].into_boxed_slice());
        let own = &mut group[place..place + self.sectors_per_page as usize];
        if before != MIXED {
            own.fill(before);
        }
        for (sector, newest) in own.iter_mut().enumerate() {
            if mask >> sector & 1 == 1 {
                *newest = number;
            }
        }
        let is_alike = own.iter().all(|&newest| newest == own[0]);
        self.pages[page as usize] = if is_alike { own[0] } else { MIXED };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u32 = 4;
    const SECTORS: u32 = 4;

    /// A span of whole pages.
    fn whole(first: u32, pages: u32) -> Span {
        Span { first, pages, head: 0b1111, tail: 0b1111, stream: 0 }
    }

    /// The stamps of a span after write number `write`.
    fn stamps(span: &Span, write: u32) -> Vec<Stamp> {
        let sectors = span.first * SECTORS..(span.first + span.pages) * SECTORS;
        sectors.map(|at| Stamp::new(Lpn(at / SECTORS), at % SECTORS, SECTORS, write)).collect()
    }

    #[test]
    fn written_sectors_are_found_and_all_others_are_zero() {
        let mut shadow = Shadow::new(PAGES, SECTORS);
        let span = Span { first: 1, pages: 2, head: 0b1000, tail: 0b0011, stream: 0 };
        assert_eq!(shadow.write(&span).unwrap(), 1);
        let mut found = vec![Stamp::default(); 16];
        found[7..10].copy_from_slice(&stamps(&whole(0, 4), 1)[7..10]);
        shadow.compare(&whole(0, 4), &found, 1).unwrap();
        shadow.trim(&whole(1, 1));
        found[7] = Stamp::default();
        shadow.compare(&whole(0, 4), &found, 2).unwrap();
    }

    /// Random writes of parts, compared with a number for each sector.
    #[test]
    fn mixed_pages_know_each_sector() {
        const MANY: u32 = 2 * GROUP + 3;
        let mut shadow = Shadow::new(MANY, SECTORS);
        let mut naive = vec![0; (MANY * SECTORS) as usize];
        let mut draw = 1_u32;
        for _ in 0..4000 {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let start = u64::from(draw >> 8) % u64::from(MANY * SECTORS - 9);
            let sectors = start..start + 1 + u64::from(draw >> 4 & 7);
            let span = Span::of_sectors(sectors.clone(), SECTORS.into(), 0b1111);
            let number = shadow.write(&span).unwrap();
            naive[sectors.start as usize..sectors.end as usize].fill(number);
        }
        let newest = |at: u32| shadow.newest(at / SECTORS, at % SECTORS);
        assert!((0..MANY * SECTORS).map(newest).eq(naive));
    }

    #[test]
    fn every_mismatch_has_its_name() {
        let mut shadow = Shadow::new(PAGES, SECTORS);
        let page = whole(2, 1);
        let message = |shadow: &Shadow, found: &[Stamp]| {
            shadow.compare(&page, found, 9).unwrap_err().to_string()
        };
        assert!(message(&shadow, &stamps(&page, 1)).starts_with("resurrected Lpn(2), sector 0: "));
        shadow.write(&page).unwrap();
        shadow.write(&page).unwrap();
        assert_eq!(
            message(&shadow, &stamps(&page, 1)),
            "lost Lpn(2), sector 0: expected write 2, found write 1 (at request 9)"
        );
        assert!(message(&shadow, &stamps(&page, 3)).starts_with("invented"));
        assert!(message(&shadow, &[Stamp::default(); 4]).contains("found zeroes"));
        let other = message(&shadow, &stamps(&whole(3, 1), 2));
        assert!(other.starts_with("misplaced") && other.contains("write 2 of sector 12"));
    }
}
