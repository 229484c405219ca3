//! One operation of the host, and the pages it concerns.

use std::fmt;

use nand::{Lpn, SectorMask};

/// Consecutive pages, the first and the last perhaps in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first page.
    pub first: u32,
    /// How many pages, at least one.
    pub pages: u32,
    /// The sectors concerned in the first page.
    pub head: SectorMask,
    /// The sectors concerned in the last page; `head` again if it is the first.
    pub tail: SectorMask,
}

impl Extent {
    /// Whole pages.
    pub fn whole(first: u32, pages: u32, full: SectorMask) -> Extent {
        Extent { first, pages, head: full, tail: full }
    }

    /// The sectors concerned in page `index`.
    pub fn mask(&self, index: u32, full: SectorMask) -> SectorMask {
        match index {
            0 => self.head,
            _ if index + 1 == self.pages => self.tail,
            _ => full,
        }
    }

    /// The sectors concerned, each with its index in its page.
    pub fn sectors(
        &self,
        per_page: u32,
        full: SectorMask,
    ) -> impl Iterator<Item = (u32, u32)> + use<> {
        let extent = *self;
        (0..extent.pages).flat_map(move |page| {
            let mask = extent.mask(page, full);
            let concerned = (0..per_page).filter(move |index| mask >> index & 1 == 1);
            concerned.map(move |index| ((extent.first + page) * per_page + index, index))
        })
    }

    /// The first page as a number of its kind.
    pub fn first_lpn(&self) -> Lpn {
        Lpn(self.first)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let last = self.first + self.pages - 1;
        match self.pages {
            1 => write!(out, "{} sectors {:b}", self.first, self.head),
            _ => write!(out, "{}-{last} sectors {:b}..{:b}", self.first, self.head, self.tail),
        }
    }
}

/// One operation of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write these sectors.
    Write(Extent),
    /// Write these sectors and make them survive (forced unit access).
    Force(Extent),
    /// Read these pages and compare.
    Read(Extent),
    /// Forget whole pages.
    Trim {
        /// The first page.
        first: u32,
        /// How many, at least one.
        pages: u32,
    },
    /// Make all that was answered survive.
    Flush,
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Step::Write(extent) => write!(out, "write {extent}"),
            Step::Force(extent) => write!(out, "write and force {extent}"),
            Step::Read(extent) => write!(out, "read {extent}"),
            Step::Trim { first, pages: 1 } => write!(out, "trim {first}"),
            Step::Trim { first, pages } => write!(out, "trim {first}-{}", first + pages - 1),
            Step::Flush => write!(out, "flush"),
        }
    }
}

/// What a program must know of the device it is for.
#[derive(Clone, Copy, Debug)]
pub struct Space {
    /// Logical pages.
    pub pages: u32,
    /// Pages a block.
    pub pages_per_block: u32,
    /// Sectors a page.
    pub sectors_per_page: u32,
    /// Pages of the extra blocks: garbage collection runs once they are written.
    pub extra_pages: u32,
}

impl Space {
    /// The mask of a whole page.
    pub fn full(&self) -> SectorMask {
        u64::MAX >> (64 - self.sectors_per_page)
    }
}
