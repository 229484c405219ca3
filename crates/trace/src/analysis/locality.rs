//! What the papers ask of a trace: how often pages are written again, and after how long, and how
//! requests follow each other.
//!
//! ```text
//! page writes   3 7 3 3 9 7        write interval of page 3: 1, then 0; of page 7: 3
//!               ▲   ▲              (page writes to other pages in between, FSTR §III.A)
//! ```
//! *Sorted update frequency*: the share of all page writes that the most written pages get (FSTR
//! Fig. 2b). *Write intervals*: of each rewrite, and of each page on average (FSTR Fig. 2c).
//! *Updates by request size*: how often the pages that requests of a size write had been written
//! before (LAST Fig. 5a). *Sub-page share*: page writes that cover part of their page, for each
//! page size, before any buffer (SL Fig. 2 at 0 MB). *Sequentiality*: requests that start where the
//! one before ended. Beside them a sample of where writes go (FSTR Fig. 2a), and pages that stand
//! for others, whose course a third reading follows: `example_pages`.

use rustc_hash::FxHashMap;

use crate::analysis::example_pages::{self, ExamplePage};
use crate::analysis::page_history::{PageHistories, pages_of};
use crate::analysis::stratified_sample::StratifiedSample;
use crate::error::Result;
use crate::replay::{BATCH, Trace};
use crate::request::{Op, Request, SECTOR_BYTES};

/// Pages of the sub-page table, in bytes.
pub const PAGE_SIZES: [u64; 5] = [2048, 4096, 8192, 16384, 32768];
/// Parts of the written pages for which the share of writes is said, in percent.
pub const TOP_PERCENTS: [u32; 9] = [1, 2, 5, 10, 20, 30, 40, 50, 70];
/// Writes whose offsets are kept at most.
const WRITE_STARTS_MAX: usize = 4000;

/// Where writes go, and how requests follow each other.
#[derive(Debug, Clone)]
pub struct TraceLocality {
    /// The page size that pages are counted in, in bytes.
    pub page_bytes: u64,
    /// Pages of writes: a request of ten pages counts ten.
    pub page_writes: u64,
    /// Distinct pages written.
    pub pages_written: u64,
    /// The share of page writes that the most written pages get, for each of [`TOP_PERCENTS`].
    pub top_shares: Vec<f64>,
    /// How many pages are written how often, most often first; at most as many entries as the
    /// root of twice the page writes.
    pub frequencies: Vec<Frequency>,
    /// Intervals of rewrites.
    pub intervals: Distribution,
    /// The mean interval of its page, for each write to a page that is written more than once.
    pub mean_intervals: Distribution,
    /// Updates by request size, smallest first.
    pub updates: Vec<SizeUpdates>,
    /// Page writes that cover part of their page, over all, for each of [`PAGE_SIZES`].
    pub sub_page_shares: Vec<f64>,
    /// Reads that start where the read before, on the same device, ended.
    pub sequential_reads: u64,
    /// Writes that start where the write before, on the same device, ended.
    pub sequential_writes: u64,
    /// Where writes go: a sample of all but those left out.
    pub write_starts: StratifiedSample<DeviceOffset>,
    /// A hot, a warm and a cold page; fewer if there are not as many.
    pub examples: Vec<ExamplePage>,
    /// Writes left out because no device has so many pages.
    pub absurd: u64,
}

impl TraceLocality {
    fn new(page_bytes: u64) -> TraceLocality {
        TraceLocality {
            page_bytes,
            page_writes: 0,
            pages_written: 0,
            top_shares: Vec::new(),
            frequencies: Vec::new(),
            intervals: Distribution::default(),
            mean_intervals: Distribution::default(),
            updates: Vec::new(),
            sub_page_shares: Vec::new(),
            sequential_reads: 0,
            sequential_writes: 0,
            write_starts: StratifiedSample::new(WRITE_STARTS_MAX),
            examples: Vec::new(),
            absurd: 0,
        }
    }
}

/// Pages that are written equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frequency {
    /// How often each is written.
    pub writes: u64,
    /// How many pages are.
    pub pages: u64,
}

/// Where a request begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceOffset {
    /// The device, by order of first appearance.
    pub device: u32,
    /// The first byte there.
    pub offset: u64,
}

/// How many values lie below powers of two.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Distribution {
    /// Entry k counts values of k bits: 0, 1, 2–3, 4–7 …
    pub by_bits: Vec<u64>,
}

/// The page writes of requests of one size class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeUpdates {
    /// The largest size of the class, in sectors: a power of two.
    pub sectors_max: u64,
    /// Requests of that class.
    pub requests: u64,
    /// Their pages.
    pub page_writes: u64,
    /// Those of them that had been written before.
    pub rewrites: u64,
    /// How often the pages written had been written before, summed.
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

    /// How many values there are.
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

/// Reads a trace through and says where its writes go.
///
/// # Errors
/// Whatever reading the trace meets.
pub fn locality(trace: &Trace, page_bytes: u64) -> Result<TraceLocality> {
    let mut observer = LocalityCounter::new(page_bytes);
    let mut replay = trace.replay()?;
    let mut batch = Vec::with_capacity(BATCH);
    while replay.next_batch(&mut batch, BATCH)? > 0 {
        batch.drain(..).for_each(|request| observer.add(&request));
    }
    Ok(observer.finished())
}

struct LocalityCounter {
    found: TraceLocality,
    histories: PageHistories,
    updates: Vec<SizeUpdates>,
    /// Page writes, and those that cover part of their page, for each of [`PAGE_SIZES`].
    covered: [(u64, u64); PAGE_SIZES.len()],
    /// Where the last read and write of each device ended.
    ends: FxHashMap<(u32, bool), u64>,
}

impl LocalityCounter {
    fn new(page_bytes: u64) -> LocalityCounter {
        LocalityCounter {
            found: TraceLocality::new(page_bytes),
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
            true => self.found.sequential_writes += follows,
            false => self.found.sequential_reads += follows,
        }
        if is_write {
            self.add_write(request);
        }
    }

    fn add_write(&mut self, request: &Request) {
        let Some(pages) = pages_of(request, self.found.page_bytes) else {
            self.found.absurd += 1;
            return;
        };
        self.found
            .write_starts
            .add(DeviceOffset { device: request.device, offset: request.offset });
        self.cover(request);
        let class = class_of(request.bytes);
        if self.updates.len() <= class {
            let class = |at: usize| SizeUpdates {
                sectors_max: 1 << at,
                requests: 0,
                page_writes: 0,
                rewrites: 0,
                earlier_writes: 0,
            };
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
            self.found.intervals.add(interval, 1);
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
                self.found.mean_intervals.add(page.others() / (page.writes - 1), page.writes);
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

/// The number of the size class: sizes up to 2^k sectors.
fn class_of(bytes: u64) -> usize {
    bytes.div_ceil(SECTOR_BYTES).next_power_of_two().trailing_zeros() as usize
}

/// `writes` from the most to the least written page.
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
        Request { time_ns: 0, offset, bytes, device: 0, op: Op::Write, flags: Flags::NONE }
    }

    pub(crate) fn observed(requests: &[Request]) -> TraceLocality {
        let mut observer = LocalityCounter::new(4096);
        requests.iter().for_each(|request| observer.add(request));
        observer.finished()
    }

    /// The picture at the head of this file.
    #[test]
    fn intervals_count_the_writes_to_other_pages() {
        let pages = [3, 7, 3, 3, 9, 7].map(|page| write(page * 4096, 4096));
        let found = observed(&pages);
        assert_eq!((found.page_writes, found.pages_written), (6, 3));
        assert_eq!(found.intervals.by_bits, [1, 1, 1], "intervals 0, 1 and 3");
        // Page 3: one other write in two gaps, 0 on average, three writes; page 7: 3, two writes.
        assert_eq!(found.mean_intervals.by_bits, [3, 0, 2]);
        let cumulative: Vec<_> = found.intervals.cumulative().collect();
        assert_eq!(cumulative[2], (4, 1.0));
    }

    #[test]
    fn the_most_written_pages_come_first() {
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
    fn updates_belong_to_the_size_of_the_request_that_makes_them() {
        let found = observed(&[write(0, 16384), write(0, 512), write(0, 512), write(512, 512)]);
        let classes: Vec<_> = found.updates.iter().map(|class| class.sectors_max).collect();
        assert_eq!(classes, [1, 32]);
        let small = found.updates[0];
        assert_eq!((small.requests, small.rewrites, small.earlier_writes), (3, 3, 1 + 2 + 3));
        assert_eq!((found.updates[1].page_writes, found.updates[1].rewrites), (4, 0));
    }

    #[test]
    fn pages_covered_in_part_grow_with_the_page() {
        let found = observed(&[write(0, 4096), write(4096, 2048), write(8192, 8192)]);
        // 4 KiB pages: one of four; 8 KiB: the first two writes and no other, of three.
        assert_eq!(found.sub_page_shares[1], 0.25);
        assert_eq!(found.sub_page_shares[2], 2.0 / 3.0);
        assert_eq!(found.sub_page_shares[0], 0.0);
    }

    #[test]
    fn sequential_is_what_starts_where_the_last_one_ended() {
        let read = |offset| Request { op: Op::Read, ..write(offset, 512) };
        let requests = [write(0, 512), read(512), write(512, 512), read(1024), write(0, 512)];
        let found = observed(&requests);
        assert_eq!((found.sequential_writes, found.sequential_reads), (1, 1));
    }

    #[test]
    fn an_absurd_write_is_left_out() {
        let found = observed(&[write(0, u64::MAX), write(0, 4096)]);
        assert_eq!((found.absurd, found.page_writes), (1, 1));
        assert_eq!(found.write_starts.kept(), [(0, DeviceOffset { device: 0, offset: 0 })]);
    }
}
