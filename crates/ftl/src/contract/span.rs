//! The pages of consecutive sectors, before they are a [run](Run) of a request.

use core::ops::Range;

use nand::{Data, Lpn, SectorMask};

use super::run::Run;

/// Consecutive logical pages; the first and the last may be partial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first page.
    pub first: u32,
    /// The number of pages, at least 1.
    pub pages: u32,
    /// The sectors of the first page.
    pub head: SectorMask,
    /// The sectors of the last page; equal to `head` in a span of one page.
    pub tail: SectorMask,
    /// The stream of a write, from 1; 0 for none.
    pub stream: u8,
}

impl Span {
    /// The span of these sectors, of which there is at least one, without a stream; `full` is the
    /// mask of a page of `sectors_per_page`.
    #[inline]
    pub fn of_sectors(sectors: Range<u64>, sectors_per_page: u64, full: SectorMask) -> Span {
        debug_assert!(!sectors.is_empty(), "{sectors:?} has no page");
        let n = sectors_per_page;
        let first = sectors.start / n;
        let head = full & (SectorMask::MAX << (sectors.start - first * n));
        // Most requests lie in a single page, and a division is slow.
        let further = match sectors.end - first * n {
            end if end <= n => 0,
            end => (end - 1) / n,
        };
        let tail = full & (SectorMask::MAX >> (64 - (sectors.end - (first + further) * n)));
        let (head, tail) = if further == 0 { (head & tail, head & tail) } else { (head, tail) };
        Span { first: first as u32, pages: further as u32 + 1, head, tail, stream: 0 }
    }

    /// The span in the form that an FTL takes.
    #[inline]
    pub fn run<'a>(&self, request_bytes: u64, data: Data<'a>) -> Run<'a> {
        let Span { first, pages, head, tail, stream } = *self;
        Run { first: Lpn(first), pages, head, tail, request_bytes, stream, data }
    }

    /// The page, if the span covers a single page completely; `full` is the mask of a whole page.
    #[inline]
    pub fn only_page(&self, full: SectorMask) -> Option<Lpn> {
        (self.pages == 1 && self.head == full).then_some(Lpn(self.first))
    }

    /// The sectors of the span, numbered from the first sector of the device.
    pub fn sectors(&self, sectors_per_page: u32) -> Range<usize> {
        let page = |number: u32| number as usize * sectors_per_page as usize;
        let start = page(self.first) + self.head.trailing_zeros() as usize;
        let after_tail = SectorMask::BITS - self.tail.leading_zeros();
        start..page(self.first + self.pages - 1) + after_tail as usize
    }
}
