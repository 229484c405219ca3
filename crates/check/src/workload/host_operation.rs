//! Operations of the host: a write, read, trim or flush, and the sectors it covers.

use std::fmt;

use nand::geometry::SECTOR_BYTES;
use nand::{Lpn, SectorMask};

/// Consecutive pages. The first and the last one may be covered in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first page.
    pub first: u32,
    /// Number of pages, at least one.
    pub pages: u32,
    /// The sectors covered in the first page.
    pub head: SectorMask,
    /// The sectors covered in the last page. Equal to `head` if there is only one page.
    pub tail: SectorMask,
}

impl Extent {
    /// An extent of whole pages.
    pub fn whole(first: u32, pages: u32, full: SectorMask) -> Extent {
        Extent { first, pages, head: full, tail: full }
    }

    /// The sectors covered in page `index` of the extent.
    pub fn mask(&self, index: u32, full: SectorMask) -> SectorMask {
        match index {
            0 => self.head,
            _ if index + 1 == self.pages => self.tail,
            _ => full,
        }
    }

    /// The covered sectors, each with its number on the device and its index in the page.
    pub fn sectors(
        &self,
        per_page: u32,
        full: SectorMask,
    ) -> impl Iterator<Item = (u32, u32)> + use<> {
        let extent = *self;
        (0..extent.pages).flat_map(move |page| {
            let mask = extent.mask(page, full);
            let covered = (0..per_page).filter(move |index| mask >> index & 1 == 1);
            covered.map(move |index| ((extent.first + page) * per_page + index, index))
        })
    }

    /// The first page as an LPN.
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
pub enum HostOperation {
    /// Write these sectors.
    Write(Extent),
    /// Write these sectors and make them durable before the answer (forced unit access).
    Force(Extent),
    /// Read these pages and compare them with the oracle.
    Read(Extent),
    /// Trim whole pages.
    Trim {
        /// The first page.
        first: u32,
        /// Number of pages, at least one.
        pages: u32,
    },
    /// Make all operations answered so far durable.
    Flush,
}

impl HostOperation {
    /// Whether its answer promises that something is durable.
    pub fn makes_durable(&self) -> bool {
        matches!(self, HostOperation::Flush | HostOperation::Force(_))
    }

    /// The sectors that it changes; none for a read or a flush.
    pub fn changed(&self, full: SectorMask) -> Option<Extent> {
        match *self {
            HostOperation::Write(extent) | HostOperation::Force(extent) => Some(extent),
            HostOperation::Trim { first, pages } => Some(Extent::whole(first, pages, full)),
            HostOperation::Read(_) | HostOperation::Flush => None,
        }
    }

    /// The pages that it concerns, whole; none for a flush.
    pub fn whole_pages(&self, full: SectorMask) -> Option<Extent> {
        let (first, pages) = match *self {
            HostOperation::Write(extent)
            | HostOperation::Force(extent)
            | HostOperation::Read(extent) => (extent.first, extent.pages),
            HostOperation::Trim { first, pages } => (first, pages),
            HostOperation::Flush => return None,
        };
        Some(Extent::whole(first, pages, full))
    }
}

impl fmt::Display for HostOperation {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            HostOperation::Write(extent) => write!(out, "write {extent}"),
            HostOperation::Force(extent) => write!(out, "write and force {extent}"),
            HostOperation::Read(extent) => write!(out, "read {extent}"),
            HostOperation::Trim { first, pages: 1 } => write!(out, "trim {first}"),
            HostOperation::Trim { first, pages } => {
                write!(out, "trim {first}-{}", first + pages - 1)
            }
            HostOperation::Flush => write!(out, "flush"),
        }
    }
}

/// Sizes of the device that a workload is made for.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// Logical pages.
    pub pages: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Sectors per page.
    pub sectors_per_page: u32,
    /// Pages of the extra blocks. Once they are written, garbage collection runs.
    pub extra_pages: u32,
}

impl Dimensions {
    /// Logical pages that a page of a checkpoint of trims describes.
    pub fn window(&self) -> u32 {
        const HEADER_BYTES: u32 = 16;
        (self.sectors_per_page * SECTOR_BYTES - HEADER_BYTES) * 8
    }

    /// The mask of a whole page.
    pub fn full(&self) -> SectorMask {
        u64::MAX >> (64 - self.sectors_per_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_lists_its_sectors() {
        let extent = Extent { first: 2, pages: 3, head: 0b10, tail: 0b01 };
        let sectors: Vec<_> = extent.sectors(2, 0b11).collect();
        assert_eq!(sectors, [(5, 1), (6, 0), (7, 1), (8, 0)]);
    }
}
