//! The locality of a trace, as the papers measure it: rewrites of pages and their intervals, and
//! sequential requests.
//!
//! ```text
//! page writes   3 7 3 3 9 7        write intervals of page 3: 1, 0; of page 7: 3
//!               ▲   ▲              (page writes to other pages in between, FSTR §III.A)
//! ```
//!
//! * *Sorted update frequency*: the share of all page writes that the most written pages get (FSTR
//!   Fig. 2b)
//! * *Write intervals*: of each rewrite, and the mean of each page (FSTR Fig. 2c)
//! * *Updates by request size*: for each size of requests, how often the pages that they write had
//!   been written before (LAST Fig. 5a)
//! * *Sub-page share*: the share of page writes that cover only part of a page, for several page
//!   sizes and without a buffer (SL Fig. 2 at 0 MB)
//! * *Sequentiality*: requests that start where the previous one ended
//! * how densely the offsets of reads and those of writes lie (FSTR Fig. 2a)
//! * example pages, for which `example_pages` then collects write intervals

use rustc_hash::FxHashMap;

use crate::analysis::density::Density;
use crate::analysis::example_pages::{self, ExamplePage};
use crate::analysis::page_history::{PageHistories, pages_of};
use crate::error::Error;
use crate::replay::Trace;
use crate::request::{Op, Request, SECTOR_BYTES};

/// The page sizes for the sub-page share, in bytes.
pub const PAGE_SIZES: [u64; 5] = [2048, 4096, 8192, 16384, 32768];
/// The percentages of the written pages for which the share of page writes is computed.
pub const TOP_PERCENTS: [u32; 9] = [1, 2, 5, 10, 20, 30, 40, 50, 70];

/// Skew, rewrites and sequentiality of a trace.
#[derive(Debug, Clone, Default)]
pub struct TraceLocality {
    /// The page size, in bytes.
    pub page_bytes: u64,
    /// Page writes: a request of ten pages counts as ten.
    pub page_writes: u64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// The share of page writes that the most written pages get, for each of [`TOP_PERCENTS`].
    pub top_shares: Vec<f64>,
    /// The number of pages for each number of writes, most writes first. The number of entries is
    /// at most the square root of twice the page writes.
    pub frequencies: Vec<Frequency>,
    /// The intervals between the writes of a page.
    pub intervals: WriteIntervals,
    /// Updates by request size, smallest size first.
    pub updates: Vec<SizeUpdates>,
    /// The share of page writes that cover only part of a page, for each of [`PAGE_SIZES`].
    pub sub_page_shares: Vec<f64>,
    /// Where reads start.
    pub reads: Places,
    /// Where writes start, without ignored ones in the density.
    pub writes: Places,
    /// A hot, a warm and a cold page, if the trace has them.
    pub examples: Vec<ExamplePage>,
    /// Writes that were ignored because they have more pages than any real request.
    pub absurd: u64,
}

/// The intervals between the writes of a page.
#[derive(Debug, Clone, Default)]
pub struct WriteIntervals {
    /// Those of all rewrites.
    pub all: Distribution,
    /// For each write of a page that is written more than once, the mean interval of that page.
    pub page_means: Distribution,
}

/// Where the requests of one operation start.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// Requests that start where the previous one of the same device and operation ended.
    pub sequential: u64,
    /// How densely their first bytes lie, all devices on top of each other.
    pub starts: Density,
}

/// The pages that are written equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency {
    /// The number of writes of each page.
    pub writes: u64,
    /// The number of pages.
    pub pages: u64,
}

/// The numbers of values between powers of two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Entry k counts the values with k bits: 0, 1, 2–3, 4–7 …
    pub by_bits: Vec<u64>,
}

/// The page writes of requests of one size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SizeUpdates {
    /// The largest size of the class, in sectors: a power of two.
    pub sectors_max: u64,
    /// Requests of this class.
    pub requests: u64,
    /// Their page writes.
    pub page_writes: u64,
    /// Page writes to pages that were written before.
    pub rewrites: u64,
    /// The sum, over the page writes, of the earlier writes of the page.
    pub earlier_writes: u64,
}

impl Distribution {
    fn add(&mut self, value: u64, count: u64) {
        let bits = (u64::BITS - value.leading_zeros()) as usize;
        if self.by_bits.len() <= bits {
            self.by_bits.resize(bits + 1, 0);
        }
        self.by_bits[bits] += count;
    }

    /// The number of values.
    pub fn total(&self) -> u64 {
        self.by_bits.iter().sum()
    }

    /// The share of values below 2^k, for each k from 0 on.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let total = self.total().max(1) as f64;
        let mut below = 0;
        self.by_bits.iter().enumerate().map(move |(bits, count)| {
            below += count;
            (1 << bits.min(63), below as f64 / total)
        })
    }
}

/// Reads the whole trace and measures its locality. `check` is that of [`Replay::for_each`].
///
/// # Errors
/// Any error of reading the trace, or that of `check`.
///
/// [`Replay::for_each`]: crate::Replay::for_each
pub fn locality<E: From<Error>>(
    trace: &Trace,
    page_bytes: u64,
    check: impl FnMut(u64) -> core::result::Result<(), E>,
) -> core::result::Result<TraceLocality, E> {
    let mut counter = LocalityCounter::new(page_bytes);
    trace.replay()?.for_each(check, |request| counter.add(request))?;
    Ok(counter.finished())
}

struct LocalityCounter {
    found: TraceLocality,
    histories: PageHistories,
    updates: Vec<SizeUpdates>,
    /// The number of page writes, and of those that cover only part of a page, for each of
    /// [`PAGE_SIZES`].
    covered: [(u64, u64); PAGE_SIZES.len()],
    /// The end of the latest read and of the latest write of each device.
    ends: FxHashMap<(u32, bool), u64>,
}

impl LocalityCounter {
    fn new(page_bytes: u64) -> LocalityCounter {
        LocalityCounter {
            found: TraceLocality { page_bytes, ..TraceLocality::default() },
            histories: PageHistories::default(),
            updates: Vec::new(),
            covered: Default::default(),
            ends: FxHashMap::default(),
        }
    }

    fn add(&mut self, request: &Request) {
        let is_write = match request.op {
            Op::Read => false,
            Op::Write => true,
            Op::Trim | Op::Flush => return,
        };
        let before = self.ends.insert((request.device, is_write), request.end());
        let follows = u64::from(before == Some(request.offset));
        match is_write {
            true => {
                self.found.writes.sequential += follows;
                self.add_write(request);
            }
            false => {
                self.found.reads.sequential += follows;
                self.found.reads.starts.add(request.offset);
            }
        }
    }

    fn add_write(&mut self, request: &Request) {
        let Some(pages) = pages_of(request, self.found.page_bytes) else {
            self.found.absurd += 1;
            return;
        };
        self.found.writes.starts.add(request.offset);
        self.cover(request);
        let class = class_of(request.bytes);
        if self.updates.len() <= class {
            let class = |at: usize| SizeUpdates { sectors_max: 1 << at, ..SizeUpdates::default() };
            self.updates.extend((self.updates.len()..=class_of(request.bytes)).map(class));
        }
        self.updates[class].requests += 1;
        pages.for_each(|page| self.write_page(request.device, page, class));
    }

    fn write_page(&mut self, device: u32, page: u64, class: usize) {
        let now = self.found.page_writes;
        self.found.page_writes += 1;
        let page = self.histories.page(device, page);
        let updates = &mut self.updates[class];
        updates.page_writes += 1;
        updates.rewrites += u64::from(page.writes > 0);
        updates.earlier_writes += page.writes;
        if let Some(interval) = page.write(now) {
            self.found.intervals.all.add(interval, 1);
        }
    }

    fn cover(&mut self, request: &Request) {
        for (&size, (all, part)) in PAGE_SIZES.iter().zip(&mut self.covered) {
            let pages = request.end().div_ceil(size) - request.offset / size;
            let whole = (request.end() / size).saturating_sub(request.offset.div_ceil(size));
            *all += pages;
            *part += pages - whole;
        }
    }

    fn finished(mut self) -> TraceLocality {
        let mut writes: Vec<u64> = Vec::new();
        for (_, _, page) in self.histories.written() {
            writes.push(page.writes);
            if page.writes > 1 {
                self.found.intervals.page_means.add(page.others() / (page.writes - 1), page.writes);
            }
        }
        writes.sort_unstable_by(|a, b| b.cmp(a));
        self.found.pages_written = writes.len() as u64;
        self.found.top_shares = top_shares(&writes, self.found.page_writes);
        let equals = writes.chunk_by(|one, other| one == other);
        let frequency = |pages: &[u64]| Frequency { writes: pages[0], pages: pages.len() as u64 };
        self.found.frequencies = equals.map(frequency).collect();
        self.found.examples = example_pages::chosen(&self.histories, &writes);
        let ratio = |(all, part): (u64, u64)| part as f64 / all.max(1) as f64;
        self.found.sub_page_shares = self.covered.into_iter().map(ratio).collect();
        self.updates.retain(|class| class.requests > 0);
        self.found.updates = self.updates;
        self.found
    }
}

/// The size class k of a size: sizes above 2^(k-1) and up to 2^k sectors.
fn class_of(bytes: u64) -> usize {
    bytes.div_ceil(SECTOR_BYTES).next_power_of_two().trailing_zeros() as usize
}

/// The shares for [`TOP_PERCENTS`]; `writes` are those of each page, most writes first.
fn top_shares(writes: &[u64], total: u64) -> Vec<f64> {
    let share = |percent: &u32| {
        let pages = (writes.len() as u64 * u64::from(*percent)).div_ceil(100) as usize;
        writes[..pages].iter().sum::<u64>() as f64 / total.max(1) as f64
    };
    TOP_PERCENTS.iter().map(share).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::request::Flags;

    pub(crate) fn write(offset: u64, bytes: u64) -> Request {
        Request {
            time_ns: 0,
            offset,
            bytes,
            device: 0,
            op: Op::Write,
            flags: Flags::empty(),
            stream: 0,
        }
    }

    pub(crate) fn observed(requests: &[Request]) -> TraceLocality {
        let mut counter = LocalityCounter::new(4096);
        requests.iter().for_each(|request| counter.add(request));
        counter.finished()
    }

    /// The example at the head of this file.
    #[test]
    fn intervals_count_the_writes_to_other_pages() {
        let pages = [3, 7, 3, 3, 9, 7].map(|page| write(page * 4096, 4096));
        let found = observed(&pages);
        assert_eq!((found.page_writes, found.pages_written), (6, 3));
        assert_eq!(found.intervals.all.by_bits, [1, 1, 1], "intervals 0, 1 and 3");
        // Page 3 has three writes with intervals 1 and 0, on average 0 (rounded down); page 7 has
        // two writes with interval 3.
        assert_eq!(found.intervals.page_means.by_bits, [3, 0, 2]);
        let cumulative: Vec<_> = found.intervals.all.cumulative().collect();
        assert_eq!(cumulative[2], (4, 1.0));
    }

    #[test]
    fn top_shares_count_the_most_written_pages() {
        let mut requests = vec![write(0, 4096); 91];
        requests.extend((1..10).map(|page| write(page * 4096, 4096)));
        let found = observed(&requests);
        let at = |percent| {
            found.top_shares[TOP_PERCENTS.iter().position(|&top| top == percent).unwrap()]
        };
        assert_eq!((at(10), at(20), at(50)), (0.91, 0.92, 0.95));
        let often = [(91, 1), (1, 9)].map(|(writes, pages)| Frequency { writes, pages });
        assert_eq!(found.frequencies, often);
    }

    #[test]
    fn updates_are_counted_by_the_size_of_the_later_request() {
        let found = observed(&[write(0, 16384), write(0, 512), write(0, 512), write(512, 512)]);
        let classes: Vec<_> = found.updates.iter().map(|class| class.sectors_max).collect();
        assert_eq!(classes, [1, 32]);
        let small = found.updates[0];
        assert_eq!((small.requests, small.rewrites, small.earlier_writes), (3, 3, 1 + 2 + 3));
        assert_eq!((found.updates[1].page_writes, found.updates[1].rewrites), (4, 0));
    }

    #[test]
    fn larger_pages_are_covered_partially_more_often() {
        let found = observed(&[write(0, 4096), write(4096, 2048), write(8192, 8192)]);
        // One of four page writes of 4 KiB is partial; of three page writes of 8 KiB, the first
        // two.
        assert_eq!(found.sub_page_shares[1], 0.25);
        assert_eq!(found.sub_page_shares[2], 2.0 / 3.0);
        assert_eq!(found.sub_page_shares[0], 0.0);
    }

    #[test]
    fn sequential_requests_start_at_the_end_of_the_previous_one() {
        let read = |offset| Request { op: Op::Read, ..write(offset, 512) };
        let requests = [write(0, 512), read(512), write(512, 512), read(1024), write(0, 512)];
        let found = observed(&requests);
        assert_eq!((found.writes.sequential, found.reads.sequential), (1, 1));
        let cells = found.reads.starts.cells();
        let requests: Vec<u64> = cells.iter().map(|cell| cell.requests).collect();
        assert_eq!((requests, cells[1].numbers), (vec![1, 1], [1, 2]));
    }

    #[test]
    fn an_absurd_write_is_ignored() {
        let found = observed(&[write(0, u64::MAX), write(0, 4096)]);
        assert_eq!((found.absurd, found.page_writes), (1, 1));
        assert_eq!(found.writes.starts.seen(), 1);
    }
}
