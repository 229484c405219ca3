//! Tombstones that a mount finds: the version of the newest one of each logical page.
//!
//! Few log pages name many logical pages, so four bytes for each logical page are enough: the
//! number of a version in the list of all versions.

use core::ops::Range;

use nand::Lpn;

/// The newest tombstone of each logical page.
#[derive(Debug, Default)]
pub struct Tombstones {
    /// For each logical page the number of a version, 0 for none. Without any tombstone the list is
    /// empty.
    numbers: Vec<u32>,
    versions: Vec<u64>,
}

impl Tombstones {
    /// No tombstones, for this number of logical pages.
    pub fn new(logical_pages: u32) -> Tombstones {
        Tombstones { numbers: vec![0; logical_pages as usize], versions: vec![0] }
    }

    /// Adds tombstones of this version; none if a page does not exist.
    pub fn add(&mut self, pages: Range<u32>, version: u64) -> Option<()> {
        let numbers = self.numbers.get_mut(pages.start as usize..pages.end as usize)?;
        if self.versions.last() != Some(&version) {
            self.versions.push(version);
        }
        let new = self.versions.len() as u32 - 1;
        for number in numbers {
            if self.versions[*number as usize] < version {
                *number = new;
            }
        }
        Some(())
    }

    /// The version of a page's newest tombstone; 0 for none.
    pub fn of(&self, lpn: Lpn) -> u64 {
        self.numbers.get(lpn.0 as usize).map_or(0, |&number| self.versions[number as usize])
    }

    /// The pages with a tombstone, ascending, and its version.
    pub fn iter(&self) -> impl Iterator<Item = (Lpn, u64)> + '_ {
        let all = (0..).map(Lpn).zip(&self.numbers).filter(|(_, number)| **number > 0);
        all.map(|(lpn, &number)| (lpn, self.versions[number as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_tombstone_counts_in_any_order() {
        let mut tombstones = Tombstones::new(6);
        assert_eq!(tombstones.iter().next(), None);
        for (pages, version) in [(1..4, 20), (3..5, 10), (0..2, 30)] {
            tombstones.add(pages, version).unwrap();
        }
        let found: Vec<_> = tombstones.iter().map(|(lpn, version)| (lpn.0, version)).collect();
        assert_eq!(found, [(0, 30), (1, 30), (2, 20), (3, 20), (4, 10)]);
        assert_eq!([4, 5, 9].map(|page| tombstones.of(Lpn(page))), [10, 0, 0]);
        assert_eq!(tombstones.add(5..7, 40), None, "page 6 does not exist");
        assert_eq!(Tombstones::default().of(Lpn(0)), 0);
    }
}
