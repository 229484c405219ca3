//! The history of each page of a trace: when it was written first and last, and how often.

use core::ops::Range;

use rustc_hash::FxHashMap;

use crate::request::Request;

/// Writes of more pages than this are no workload but a damaged trace; they are left out.
const PAGES_MAX: u64 = 1 << 24;

/// The pages that a request concerns; none if they are more than any device has.
pub(crate) fn pages_of(request: &Request, page_bytes: u64) -> Option<Range<u64>> {
    let pages = request.offset / page_bytes..request.end().div_ceil(page_bytes);
    (pages.end - pages.start <= PAGES_MAX).then_some(pages)
}

/// The history of a page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageHistory {
    pub(crate) writes: u64,
    first: u64,
    last: u64,
}

impl PageHistory {
    /// Takes in a write, before which there were `now` page writes; returns how many of them went
    /// to other pages since its last one.
    pub(crate) fn write(&mut self, now: u64) -> Option<u64> {
        let interval = (self.writes > 0).then(|| now - self.last - 1);
        if interval.is_none() {
            self.first = now;
        }
        self.writes += 1;
        self.last = now;
        interval
    }

    /// Page writes to other pages between the first write and the last of a written page.
    pub(crate) fn others(&self) -> u64 {
        self.last - self.first - (self.writes - 1)
    }
}

/// Pages are remembered in groups, as writes come in runs.
const GROUP: u64 = 16;

/// The histories of all pages.
#[derive(Default)]
pub(crate) struct PageHistories(FxHashMap<(u32, u64), Box<[PageHistory; GROUP as usize]>>);

impl PageHistories {
    /// The history of a page, which may not have been written yet.
    pub(crate) fn page(&mut self, device: u32, page: u64) -> &mut PageHistory {
        let group = self.0.entry((device, page / GROUP)).or_default();
        &mut group[(page % GROUP) as usize]
    }

    /// Each page that is written: its device, its number there, and its history.
    pub(crate) fn written(&self) -> impl Iterator<Item = (u32, u64, &PageHistory)> {
        let pages = self.0.iter().flat_map(|(&(device, group), pages)| {
            (group * GROUP..).zip(pages.iter()).map(move |(page, history)| (device, page, history))
        });
        pages.filter(|(_, _, history)| history.writes > 0)
    }
}
