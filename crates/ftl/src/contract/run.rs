//! The unit of the contract: consecutive logical pages of one request.
//!
//! A run and not a single page, because some schemes judge by the size of the request (last), by
//! its extent (block, lsb) or by its sequence (fast).

use core::ops::Range;

use nand::{Data, Lpn, SectorMask};

/// Consecutive logical pages of one request.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The first page.
    pub first: Lpn,
    /// How many pages, at least one.
    pub pages: u32,
    /// The sectors concerned in the first page.
    pub head: SectorMask,
    /// The sectors concerned in the last page; equal to `head` in a run of one page. Pages between
    /// are concerned whole.
    pub tail: SectorMask,
    /// Bytes of the request that the run is part of, as the host sent it.
    pub request_bytes: u64,
    /// For writes: the host's data, starting with the first page.
    pub data: Data<'a>,
}

impl<'a> Run<'a> {
    /// A run of whole pages.
    pub fn whole(first: Lpn, pages: u32, page_bytes: u32, data: Data<'a>) -> Run<'a> {
        let full = u64::MAX >> (64 - page_bytes / nand::geometry::SECTOR_BYTES);
        let request_bytes = u64::from(pages) * u64::from(page_bytes);
        Run { first, pages, head: full, tail: full, request_bytes, data }
    }

    /// The sectors concerned in page `index`; `full` is the mask of a whole page.
    #[inline]
    pub fn mask(&self, index: u32, full: SectorMask) -> SectorMask {
        match index {
            0 => self.head,
            _ if index + 1 == self.pages => self.tail,
            _ => full,
        }
    }

    /// How many pages from `index` on are concerned whole.
    #[inline]
    pub fn whole_pages_from(&self, index: u32, full: SectorMask) -> u32 {
        if index == 0 && self.head != full {
            return 0;
        }
        self.pages - index - u32::from(self.tail != full)
    }

    /// The run of some of its pages, which says that it belongs to the same request.
    pub fn part(&self, pages: Range<u32>, full: SectorMask, page_bytes: u32) -> Run<'a> {
        Run {
            first: self.first.plus(pages.start),
            pages: pages.end - pages.start,
            head: self.mask(pages.start, full),
            tail: self.mask(pages.end - 1, full),
            request_bytes: self.request_bytes,
            data: self.data.from_page(pages.start, page_bytes),
        }
    }

    /// The last page.
    pub fn last(&self) -> Lpn {
        self.first.plus(self.pages - 1)
    }
}
