//! The write history of each page of a trace: the number of writes, and the first and the last one.

use core::ops::Range;

use rustc_hash::FxHashMap;

use crate::request::Request;

/// The largest write in pages. Larger ones come from damaged traces and are ignored.
const PAGES_MAX: u64 = 1 << 24;

/// The pages that a request touches; `None` if there are more than any real request has.
pub(crate) fn pages_of(request: &Request, page_bytes: u64) -> Option<Range<u64>> {
    let pages = request.offset / page_bytes..request.end().div_ceil(page_bytes);
    (pages.end - pages.start <= PAGES_MAX).then_some(pages)
}

/// The write history of a page. Times are counted in page writes of the whole trace.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageHistory {
    pub(crate) writes: u64,
    first: u64,
    last: u64,
}

impl PageHistory {
    /// Adds a write at time `now`. Returns the number of writes to other pages since the previous
    /// write of this page, if there was one.
    pub(crate) fn write(&mut self, now: u64) -> Option<u64> {
        let interval = (self.writes > 0).then(|| now - self.last - 1);
        if interval.is_none() {
            self.first = now;
        }
        self.writes += 1;
        self.last = now;
        interval
    }

    /// The number of writes to other pages between the first and the last write of this page, which
    /// must have been written.
    pub(crate) fn others(&self) -> u64 {
        self.last - self.first - (self.writes - 1)
    }
}

/// The number of pages in a group. Pages are stored in groups because most writes are sequential.
const GROUP: u64 = 16;

/// The write histories of all pages.
#[derive(Default)]
pub(crate) struct PageHistories(FxHashMap<(u32, u64), Box<[PageHistory; GROUP as usize]>>);

impl PageHistories {
    /// The history of a page, which is empty if the page has not been written.
    pub(crate) fn page(&mut self, device: u32, page: u64) -> &mut PageHistory {
        let group = self.0.entry((device, page / GROUP)).or_default();
        &mut group[(page % GROUP) as usize]
    }

    /// All written pages: device, page number on the device, history.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u32, u64, &PageHistory)> {
        let pages = self.0.iter().flat_map(|(&(device, group), pages)| {
            (group * GROUP..).zip(pages.iter()).map(move |(page, history)| (device, page, history))
        });
        pages.filter(|(_, _, history)| history.writes > 0)
    }
}
