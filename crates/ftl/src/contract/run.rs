//! The unit of the contract: consecutive logical pages of one request.
//!
//! The unit is a run and not a single page, because some schemes decide by the size of the request
//! (last), by its extent (block, lsb) or by its sequence (fast).

use core::ops::Range;

use nand::{Data, Lpn, SectorMask};

/// Consecutive logical pages of one request.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The first page.
    pub first: Lpn,
    /// Number of pages, at least one.
    pub pages: u32,
    /// The sectors that the run covers in its first page.
    pub head: SectorMask,
    /// The sectors that the run covers in its last page; equal to `head` in a run of one page.
    /// Pages in between are covered completely.
    pub tail: SectorMask,
    /// Size in bytes of the whole request to which the run belongs, as the host sent it.
    pub request_bytes: u64,
    /// For writes: the stream that the host names, from 1; 0 if it names none. Pages of one stream
    /// are expected to be overwritten at about the same time.
    pub stream: u8,
    /// For writes: the host's data, starting with the first page.
    pub data: Data<'a>,
}

impl<'a> Run<'a> {
    /// A run of whole pages, without a stream.
    pub fn whole(first: Lpn, pages: u32, page_bytes: u32, data: Data<'a>) -> Run<'a> {
        let full = u64::MAX >> (64 - page_bytes / nand::geometry::SECTOR_BYTES);
        let request_bytes = u64::from(pages) * u64::from(page_bytes);
        Run { first, pages, head: full, tail: full, request_bytes, stream: 0, data }
    }

    /// The sectors that the run covers in page `index`; `full` is the mask of a whole page.
    #[inline]
    pub fn mask(&self, index: u32, full: SectorMask) -> SectorMask {
        match index {
            0 => self.head,
            _ if index + 1 == self.pages => self.tail,
            _ => full,
        }
    }

    /// Number of pages that are covered completely, counted from page `index` on.
    #[inline]
    pub fn whole_pages_from(&self, index: u32, full: SectorMask) -> u32 {
        if index == 0 && self.head != full {
            return 0;
        }
        self.pages - index - u32::from(self.tail != full)
    }

    /// A run of some of these pages, which belongs to the same request.
    pub fn part(&self, pages: Range<u32>, full: SectorMask, page_bytes: u32) -> Run<'a> {
        Run {
            first: self.first.plus(pages.start),
            pages: pages.end - pages.start,
            head: self.mask(pages.start, full),
            tail: self.mask(pages.end - 1, full),
            request_bytes: self.request_bytes,
            stream: self.stream,
            data: self.data.from_page(pages.start, page_bytes),
        }
    }

    /// The last page.
    pub fn last(&self) -> Lpn {
        self.first.plus(self.pages - 1)
    }
}
