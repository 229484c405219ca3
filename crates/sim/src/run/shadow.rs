//! A shadow copy of every sector, to check that the FTL returns the right data.
//!
//! The chip keeps a [`Stamp`] for each sector: the number of the sector and of the write. The
//! shadow keeps the number of the newest write of each sector; 0 if it was never written, or
//! trimmed. So every mismatch has a name. A sector is *lost* if an older write was read,
//! *misplaced* if it is the data of another sector, and *resurrected* if it had been trimmed.

use ftl::Span;
use nand::{Lpn, Stamp};

use crate::error::Error;
use crate::mismatch::Mismatch;

/// The newest write of every sector.
#[derive(Debug)]
pub struct Shadow {
    writes: Vec<u32>,
    sectors_per_page: u32,
    last_write: u32,
}

impl Shadow {
    /// The shadow of an empty device.
    pub fn new(logical_pages: u32, sectors_per_page: u32) -> Shadow {
        let sectors = logical_pages as usize * sectors_per_page as usize;
        Shadow { writes: vec![0; sectors], sectors_per_page, last_write: 0 }
    }

    /// Notes a write and returns its number.
    ///
    /// # Errors
    /// There are more writes than stamps can number.
    pub fn write(&mut self, span: &Span) -> Result<u32, Error> {
        let number = self.last_write.checked_add(1).ok_or_else(|| {
            Error::Impossible(format!("`--verify` numbers at most {} writes", u32::MAX))
        })?;
        self.last_write = number;
        self.writes[span.sectors(self.sectors_per_page)].fill(number);
        Ok(number)
    }

    /// Notes a trim of whole pages.
    pub fn trim(&mut self, span: &Span) {
        self.writes[span.sectors(self.sectors_per_page)].fill(0);
    }

    /// Compares the stamps that were read of a span; `found` starts with its first page.
    ///
    /// # Errors
    /// The first sector that differs.
    pub fn compare(&self, span: &Span, found: &[Stamp], request: u64) -> Result<(), Mismatch> {
        let wanted = span.sectors(self.sectors_per_page);
        let base = span.first as usize * self.sectors_per_page as usize;
        for at in wanted {
            let (expected, found) = (self.writes[at], found[at - base]);
            let lpn = Lpn((at / self.sectors_per_page as usize) as u32);
            let sector = (at % self.sectors_per_page as usize) as u32;
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
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: u32 = 4;
    const SECTORS: u32 = 4;

    /// A span of whole pages.
    fn whole(first: u32, pages: u32) -> Span {
        Span { first, pages, head: 0b1111, tail: 0b1111 }
    }

    /// The stamps of a span after write number `write`.
    fn stamps(span: &Span, write: u32) -> Vec<Stamp> {
        let sectors = span.first * SECTORS..(span.first + span.pages) * SECTORS;
        sectors.map(|at| Stamp::new(Lpn(at / SECTORS), at % SECTORS, SECTORS, write)).collect()
    }

    #[test]
    fn written_sectors_are_found_and_all_others_are_zero() {
        let mut shadow = Shadow::new(PAGES, SECTORS);
        let span = Span { first: 1, pages: 2, head: 0b1000, tail: 0b0011 };
        assert_eq!(shadow.write(&span).unwrap(), 1);
        let mut found = vec![Stamp::default(); 16];
        found[7..10].copy_from_slice(&stamps(&whole(0, 4), 1)[7..10]);
        shadow.compare(&whole(0, 4), &found, 1).unwrap();
        shadow.trim(&whole(1, 1));
        found[7] = Stamp::default();
        shadow.compare(&whole(0, 4), &found, 2).unwrap();
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
