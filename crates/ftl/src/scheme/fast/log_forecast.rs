//! A forecast for fast's log: what writes would cost with logs of other sizes.
//!
//! ```text
//! written, in order         5a  7b  5b  7b  5c  7c  5a …
//! log of 6 pages            5a  7b  5b  7b  5c  7c│      the next page makes 5a leave: 5 is
//!                                                        merged, and 5b and 5c leave with 5a
//! log of 7 pages            5a  7b  5b  7b  5c  7c  5a│  the first 5a is stale: no merge is due
//! ```
//! No page is missed by itself in the random log. A data block is merged when one of its valid
//! pages reaches the end, and the merge takes its other pages out of the log too. So a merge serves
//! all writes to a block within the time that the log takes to be filled: the larger the log, the
//! fewer merges (T4, the law of Na). A page that is written again in that time is stale at the end
//! and causes no merge. For each block the forecast remembers when each page was written last and,
//! for each size, when the block was merged last. Time is the number of pages that have arrived. It
//! depends on the size, because the buffer has the rest of the budget: a small one lets more pages
//! through.
//!
//! A write at offset 0 opens the SW block, and the next pages in order follow it there. Its merge
//! copies the rest of the data block, whatever the size of the log. It also takes the pages of the
//! block out of the random log: those that had not reached the end need no other merge.
//!
//! With `sequential=run` the sixth consecutive page that arrives at a share opens the SW block
//! there: the pages before it are copied, and a full block is merged at once. Choice: the opening
//! takes all pages of the block out of the random log, not only those that are copied.
//!
//! **Sample.** Only some of the data blocks are [observed](crate::part::index::observed). A block
//! of which no log has a page may be forgotten. **Epochs.** Times are numbers of short epochs. For
//! each of the last epochs the forecast remembers how many pages had arrived at each size.
//!
//! Choices: a merge is noticed at the next write to its block. A page that the buffer absorbs at a
//! small share of the map counts as written there too: it will reach the log later.

use nand::{Lpn, Timing};

use super::Fast;
use crate::contract::shares::{ALL_SHARES, Presence, ShareSet, members, shares_from, shares_where};
use crate::contract::{
    ForecastableMap, MapForecast, PageCosts, SHARES, ShareCosts, Shares, Violation,
};
use crate::part::index::observed::Observed;
use crate::part::log::fully_associative::{HostRun, Streams};

/// The most blocks in the sample.
const BLOCKS_MAX: usize = 512;
/// How many epochs the largest log takes to be filled, and how many epochs are remembered.
const EPOCHS_A_LOG: u32 = 128;
const EPOCHS: u32 = 2 * EPOCHS_A_LOG;

/// The blocks of a sample, and the SW block at each share.
#[derive(Clone, Debug)]
pub struct LogForecast {
    pages_per_block: u32,
    copy_ns: f64,
    erase_ns: f64,
    arrivals: Arrivals,
    streams: Streams,
    /// The run of consecutive pages that have arrived last.
    runs: Shares<HostRun>,
    /// The page behind the last one in the SW block; 0 if there is no SW block.
    stream_end: Shares<u32>,
    blocks: Observed<ObservedBlock>,
}

/// The pages that have arrived in the random log.
#[derive(Clone, Debug)]
struct Arrivals {
    /// Pages of the random log.
    log_pages: Shares<u32>,
    /// Pages that have arrived there. It wraps around; a log is much smaller.
    arrived: Shares<u32>,
    /// The same at the beginning of each of the last epochs, at the epoch's number modulo `EPOCHS`.
    arrived_before: Vec<Shares<u32>>,
    epoch: u32,
}

/// A data block of the sample. Times are epochs; 0 is never.
#[derive(Clone, Debug)]
struct ObservedBlock {
    /// When each page was written to the random log last.
    written: Box<[u32]>,
    /// Older pages have left the log in a merge.
    merged: Shares<u32>,
}

impl LogForecast {
    /// Nothing was written yet. The random log has these numbers of pages.
    pub fn new(
        log_pages: Shares<u32>,
        pages_per_block: u32,
        timing: &Timing,
        streams: Streams,
    ) -> LogForecast {
        LogForecast {
            pages_per_block,
            copy_ns: (timing.read_ns + timing.program_ns) as f64,
            erase_ns: timing.erase_ns as f64,
            arrivals: Arrivals::new(log_pages),
            streams,
            runs: [HostRun::NONE; SHARES],
            stream_end: [0; SHARES],
            blocks: Observed::new(BLOCKS_MAX),
        }
    }

    /// Adds a page to the random log at these shares.
    fn arrive(&mut self, block: u32, offset: u32, shares: ShareSet, costs: &mut ShareCosts) {
        if shares == 0 {
            return;
        }
        self.arrivals.count(shares);
        let (merge_ns, pages, arrivals) = (self.merge_ns(), self.pages_per_block, &self.arrivals);
        let new = || ObservedBlock::new(pages);
        let observed = self.blocks.observe(block, new, |observed| {
            let Presence { stays, left } = observed.presence(arrivals);
            if stays == 0 {
                costs.add_at(left, merge_ns);
            }
            stays != 0
        });
        if let Some(observed) = observed {
            observed.count_merge(shares, arrivals, merge_ns, costs);
            observed.written[offset as usize] = arrivals.epoch;
        }
    }

    /// The time of a full merge, for all blocks for which one of the sample stands.
    fn merge_ns(&self) -> f64 {
        let merge_ns = f64::from(self.pages_per_block) * self.copy_ns + self.erase_ns;
        self.blocks.weight() * merge_ns
    }

    // ---- The sequential block -----------------------------------------------------------------

    /// Those of these shares at which a page opens the SW block.
    fn opening(&mut self, lpn: Lpn, shares: ShareSet) -> ShareSet {
        let pages = self.pages_per_block;
        match self.streams {
            Streams::None => 0,
            Streams::AtOffset0 if lpn.0.is_multiple_of(pages) => shares,
            Streams::AtOffset0 => 0,
            Streams::ByRun => {
                let is_owner = |end: u32| end != 0 && (end - 1) / pages == lpn.0 / pages;
                let opens = |share: usize| {
                    self.runs[share].is_stream(lpn) && !is_owner(self.stream_end[share])
                };
                let opening = shares & shares_where(opens);
                members(shares).for_each(|share| self.runs[share].add(lpn, 1));
                opening
            }
        }
    }

    /// Opens the SW block at these shares with a page.
    fn open_streams(&mut self, lpn: Lpn, shares: ShareSet, costs: &mut ShareCosts) {
        let (block, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        self.merge_streams(shares, costs);
        if self.streams == Streams::ByRun && shares != 0 {
            costs.add_at(shares, f64::from(offset) * self.copy_ns);
            self.take_out(block, shares, costs);
        }
        members(shares).for_each(|share| self.stream_end[share] = lpn.0 + 1);
    }

    /// Merges the full SW blocks of these shares, unless they wait for the next stream.
    fn merge_full_streams(&mut self, shares: ShareSet, costs: &mut ShareCosts) {
        let pages = self.pages_per_block;
        if self.streams == Streams::ByRun {
            let is_full = |share: usize| {
                let end = self.stream_end[share];
                end != 0 && end.is_multiple_of(pages)
            };
            let full = shares & shares_where(is_full);
            self.merge_streams(full, costs);
            members(full).for_each(|share| self.stream_end[share] = 0);
        }
    }

    /// Takes the pages of a block out of the random log at these shares.
    fn take_out(&mut self, block: u32, shares: ShareSet, costs: &mut ShareCosts) {
        let merge_ns = self.merge_ns();
        if let Some(observed) = self.blocks.get_mut(block) {
            observed.count_merge(shares, &self.arrivals, merge_ns, costs);
            observed.empty(shares, self.arrivals.epoch + 1);
        }
    }

    /// Merges the SW blocks of these shares.
    fn merge_streams(&mut self, shares: ShareSet, costs: &mut ShareCosts) {
        let mut left = shares;
        while left != 0 {
            let end = self.stream_end[left.trailing_zeros() as usize];
            let alike = left & shares_where(|share| self.stream_end[share] == end);
            if end != 0 {
                self.merge_stream(end, alike, costs);
            }
            left &= !alike;
        }
    }

    /// Merges the SW block that ends before a page.
    fn merge_stream(&mut self, end: u32, shares: ShareSet, costs: &mut ShareCosts) {
        let (block, last) = ((end - 1) / self.pages_per_block, (end - 1) % self.pages_per_block);
        let copies = self.pages_per_block - 1 - last;
        costs.add_at(shares, f64::from(copies) * self.copy_ns + self.erase_ns);
        self.take_out(block, shares, costs);
    }
}

impl MapForecast for LogForecast {
    /// Adds the costs of the merges that a write causes or reveals.
    fn write(&mut self, lpn: Lpn, first: usize, _: &PageCosts, costs: &mut ShareCosts) {
        let (block, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        let shares = shares_from(first);
        let opening = self.opening(lpn, shares);
        self.open_streams(lpn, opening, costs);
        let is_next = |share: usize| offset != 0 && self.stream_end[share] == lpn.0;
        let appended = shares & !opening & shares_where(is_next);
        members(appended).for_each(|share| self.stream_end[share] += 1);
        self.merge_full_streams(opening | appended, costs);
        self.arrive(block, offset, shares & !(opening | appended), costs);
    }

    /// Adds the costs of the merges that a trim reveals. Its page is stale from now on.
    fn trim(&mut self, lpn: Lpn, _: usize, _: &PageCosts, costs: &mut ShareCosts) {
        let (block, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        let merge_ns = self.merge_ns();
        if let Some(observed) = self.blocks.get_mut(block) {
            observed.count_merge(ALL_SHARES, &self.arrivals, merge_ns, costs);
            observed.written[offset as usize] = 0;
        }
    }

    /// The map of the log is entirely in RAM.
    fn read(&mut self, _: Lpn, _: usize, _: &PageCosts, _: &mut ShareCosts) {}

    fn bytes(&self) -> u64 {
        let epochs = size_of_val(self.arrivals.arrived_before.as_slice());
        self.blocks.bytes(4 * self.pages_per_block as usize) + epochs as u64
    }

    fn audit(&self) -> Result<(), Violation> {
        self.blocks.audit()
    }
}

impl ForecastableMap for Fast {
    fn forecast(&self, sizes: &Shares<u64>) -> Box<dyn MapForecast> {
        let pages_per_block = self.log.map.pages_per_block();
        let pages = sizes.map(|bytes| self.log.random_blocks(bytes) * pages_per_block);
        Box::new(LogForecast::new(pages, pages_per_block, &self.timing, self.log.streams()))
    }

    /// A page takes a page of the log, and so its part of the erase of a log block. The forecast
    /// knows what merges cost.
    fn page_costs(&self, _: Lpn) -> PageCosts {
        let Timing { read_ns, program_ns, erase_ns, .. } = self.timing;
        let erase_ns = erase_ns as f64 / f64::from(self.log.map.pages_per_block());
        let write_ns = program_ns as f64 + erase_ns;
        PageCosts { read_ns: read_ns as f64, write_ns, ..PageCosts::ZERO }
    }
}

impl Arrivals {
    fn new(log_pages: Shares<u32>) -> Arrivals {
        let arrived_before = vec![[0; SHARES]; EPOCHS as usize];
        Arrivals { log_pages, arrived: [0; SHARES], arrived_before, epoch: 1 }
    }

    /// Counts a page that arrives at these shares.
    fn count(&mut self, shares: ShareSet) {
        for (share, arrived) in self.arrived.iter_mut().enumerate() {
            *arrived = arrived.wrapping_add((shares >> share & 1) as u32);
        }
        let length = (self.log_pages[SHARES - 1] / EPOCHS_A_LOG).max(1);
        let began = self.arrived_before[(self.epoch % EPOCHS) as usize][SHARES - 1];
        if self.arrived[SHARES - 1].wrapping_sub(began) >= length {
            self.epoch += 1;
            self.arrived_before[(self.epoch % EPOCHS) as usize] = self.arrived;
        }
    }

    /// How many pages have arrived since an epoch began. An epoch that is not remembered counts as
    /// the oldest that is.
    fn since(&self, epoch: u32, share: usize) -> u32 {
        let epoch = epoch.max((self.epoch + 1).saturating_sub(EPOCHS));
        self.arrived[share].wrapping_sub(self.arrived_before[(epoch % EPOCHS) as usize][share])
    }
}

impl ObservedBlock {
    /// No page was written yet.
    fn new(pages: u32) -> ObservedBlock {
        ObservedBlock { written: vec![0; pages as usize].into(), merged: [0; SHARES] }
    }

    /// Counts the merge since the last write, at those of these shares at which there was one.
    fn count_merge(
        &mut self,
        shares: ShareSet,
        arrivals: &Arrivals,
        merge_ns: f64,
        costs: &mut ShareCosts,
    ) {
        let merged = shares & self.presence(arrivals).left;
        costs.add_at(merged, merge_ns);
        self.empty(merged, arrivals.epoch);
    }

    /// Takes pages that are older than an epoch out of the log of some shares.
    fn empty(&mut self, shares: ShareSet, epoch: u32) {
        members(shares).for_each(|share| self.merged[share] = epoch);
    }

    /// Where the log has pages of the block. If one of them has reached the end, the block was
    /// merged.
    fn presence(&self, arrivals: &Arrivals) -> Presence {
        let ObservedBlock { written, merged } = self;
        let valid = |since: u32| written.iter().copied().filter(move |&at| at >= since.max(1));
        let is_full =
            |oldest, share: usize| arrivals.since(oldest, share) >= arrivals.log_pages[share];
        Presence::new(merged, |since| valid(since).min(), is_full)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const PAGES: u32 = 4;
    /// A merge takes a nanosecond, and nothing else takes time.
    const TIMING: Timing = Timing { erase_ns: 1, ..Timing::ZERO };

    fn counts(costs: &ShareCosts) -> Shares<u64> {
        costs.by_share().map(|ns| ns as u64)
    }

    /// A log that is simulated page by page.
    #[derive(Default)]
    struct NaiveLog {
        /// The written pages in order of arrival, oldest first, and the number of each arrival.
        slots: VecDeque<(u32, u32)>,
        /// The arrival of the valid copy of each page in the log.
        valid: HashMap<u32, u32>,
        arrivals: u32,
        /// The owner of the SW block, and the next page there.
        stream: Option<(u32, u32)>,
        /// The page written last, and its position in a run.
        last: (u32, u32),
    }

    impl NaiveLog {
        /// Removes the pages of a block.
        fn empty(&mut self, block: u32) {
            self.valid.retain(|lpn, _| lpn / PAGES != block);
        }

        /// Whether a page that is not next in the SW block opens a new one.
        fn opens(&mut self, lpn: u32, streams: Streams) -> bool {
            self.last = (lpn, if self.last.0 + 1 == lpn { self.last.1 + 1 } else { 1 });
            match streams {
                Streams::None => false,
                Streams::AtOffset0 => lpn.is_multiple_of(PAGES),
                Streams::ByRun => {
                    let is_owner = self.stream.is_some_and(|(owner, _)| owner == lpn / PAGES);
                    self.last.1 >= 6 && !is_owner
                }
            }
        }

        /// Ends the stream if a page has filled its block. Returns the blocks that are merged.
        fn end_full_stream(&mut self, streams: Streams) -> Vec<u32> {
            let is_full = |stream: &mut (u32, u32)| stream.1.is_multiple_of(PAGES);
            let full = self.stream.take_if(|stream| streams == Streams::ByRun && is_full(stream));
            full.into_iter().for_each(|(block, _)| self.empty(block));
            full.into_iter().map(|(block, _)| block).collect()
        }

        /// Writes a page to a log of `most` pages. Returns the blocks that are merged to make room,
        /// and those that streams have merged or taken out of the random log.
        fn write(&mut self, lpn: u32, most: u32, streams: Streams) -> (Vec<u32>, Vec<u32>, bool) {
            let mut merged = Vec::new();
            if self.opens(lpn, streams) {
                let before = self.stream.replace((lpn / PAGES, lpn + 1)).map(|stream| stream.0);
                let taken_out = (streams == Streams::ByRun).then_some(lpn / PAGES);
                let mut ended: Vec<u32> = before.into_iter().chain(taken_out).collect();
                ended.iter().for_each(|block| self.empty(*block));
                ended.extend(self.end_full_stream(streams));
                return (merged, ended, false);
            }
            if let Some((_, next)) = &mut self.stream
                && *next == lpn
                && !lpn.is_multiple_of(PAGES)
            {
                *next += 1;
                return (merged, self.end_full_stream(streams), false);
            }
            while self.slots.len() as u32 >= most {
                let (oldest, arrival) = self.slots.pop_front().unwrap();
                if self.valid.get(&oldest) == Some(&arrival) {
                    self.empty(oldest / PAGES);
                    merged.push(oldest / PAGES);
                }
            }
            self.arrivals += 1;
            self.slots.push_back((lpn, self.arrivals));
            self.valid.insert(lpn, self.arrivals);
            (merged, Vec::new(), true)
        }
    }

    /// Writes to logs of 1 to 33 pages, and compares the forecast with a log of each size. Merges
    /// are counted at the next write to the block in the random log, or when its SW block is
    /// merged.
    fn agrees_with_naive_logs(streams: Streams) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let sizes: Shares<u32> = core::array::from_fn(|share| share as u32 + 1);
        let mut forecast = LogForecast::new(sizes, PAGES, &TIMING, streams);
        let (mut costs, mut expected) = (ShareCosts::ZERO, ShareCosts::ZERO);
        let mut logs: Vec<NaiveLog> = (0..SHARES).map(|_| NaiveLog::default()).collect();
        let mut owed: HashMap<u32, ShareSet> = HashMap::new();
        for step in 0..20_000 {
            let below = if rng.next_u32() % 4 == 0 { 12 } else { 80 };
            let lpn = rng.next_u32() % below;
            if rng.next_u32() % 16 == 0 {
                logs.iter_mut().for_each(|log| _ = log.valid.remove(&lpn));
                expected.add_at(owed.remove(&(lpn / PAGES)).unwrap_or(0), 1.0);
                forecast.trim(Lpn(lpn), 0, &PageCosts::ZERO, &mut costs);
                assert_eq!(counts(&costs), counts(&expected), "trim at step {step}");
                continue;
            }
            let pages = if rng.next_u32() % 8 == 0 { 1 + rng.next_u32() % 12 } else { 1 };
            for lpn in lpn..(lpn + pages).min(80) {
                let mut noticed = Vec::new();
                for (share, log) in logs.iter_mut().enumerate() {
                    let (merged, ended, in_log) = log.write(lpn, sizes[share], streams);
                    merged.iter().for_each(|block| *owed.entry(*block).or_default() |= 1 << share);
                    noticed = ended.into_iter().chain(in_log.then_some(lpn / PAGES)).collect();
                }
                for shares in noticed.iter().filter_map(|block| owed.remove(block)) {
                    expected.add_at(shares, 1.0);
                }
                forecast.write(Lpn(lpn), 0, &PageCosts::ZERO, &mut costs);
                assert_eq!(counts(&costs), counts(&expected), "step {step}, page {lpn}");
            }
        }
        let merges = counts(&costs);
        assert!(merges[0] > merges[8] && merges[8] > merges[31] && merges[31] > 10, "{merges:?}");
        forecast.audit().unwrap();
    }

    #[test]
    fn merges_are_those_of_a_log_of_each_size() {
        agrees_with_naive_logs(Streams::None);
    }

    #[test]
    fn a_stream_takes_the_pages_of_its_block_out_of_the_log() {
        agrees_with_naive_logs(Streams::AtOffset0);
        agrees_with_naive_logs(Streams::ByRun);
    }

    #[test]
    fn a_stream_that_a_run_opens_costs_the_copies_of_the_pages_before() {
        let timing = Timing { read_ns: 10, program_ns: 100, erase_ns: 5000, ..Timing::ZERO };
        let mut forecast = LogForecast::new([100; SHARES], PAGES, &timing, Streams::ByRun);
        let mut costs = ShareCosts::ZERO;
        // At shares from 20 on page 10 is the sixth of the run; pages 8 and 9 are copied.
        (5..11).for_each(|lpn| forecast.write(Lpn(lpn), 20, &PageCosts::ZERO, &mut costs));
        let found = counts(&costs);
        assert_eq!((found[19], found[20], found[32]), (0, 220, 220));
        forecast.write(Lpn(11), 0, &PageCosts::ZERO, &mut costs);
        let found = counts(&costs);
        assert_eq!((found[19], found[20]), (0, 220 + 5000), "the full block is switched");
    }

    #[test]
    fn a_stream_costs_the_copies_of_the_rest_where_it_reaches_the_log() {
        let timing = Timing { read_ns: 10, program_ns: 100, erase_ns: 5000, ..Timing::ZERO };
        let mut forecast = LogForecast::new([100; SHARES], PAGES, &timing, Streams::AtOffset0);
        let mut costs = ShareCosts::ZERO;
        // Three pages of block 1; block 2 ends the stream at shares from 20 on.
        [4, 5, 6]
            .into_iter()
            .for_each(|lpn| forecast.write(Lpn(lpn), 0, &PageCosts::ZERO, &mut costs));
        forecast.write(Lpn(8), 20, &PageCosts::ZERO, &mut costs);
        let found = counts(&costs);
        assert_eq!((found[19], found[20], found[32]), (0, 110 + 5000, 110 + 5000));
        // At smaller shares the stream goes on.
        forecast.write(Lpn(7), 0, &PageCosts::ZERO, &mut costs);
        forecast.write(Lpn(12), 0, &PageCosts::ZERO, &mut costs);
        let found = counts(&costs);
        assert_eq!((found[19], found[20]), (5000, 2 * 5000 + 110 + 3 * 110));
    }

    #[test]
    fn a_sample_of_many_blocks_gives_the_law_of_na() {
        let (blocks, pages) = (8192, 64);
        let sizes: Shares<u32> = core::array::from_fn(|share| 1 + 1024 * share as u32);
        let mut forecast = LogForecast::new(sizes, pages, &TIMING, Streams::None);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut costs = ShareCosts::ZERO;
        let writes = 400_000;
        for _ in 0..writes {
            let lpn = rng.next_u32() % (blocks * pages);
            forecast.write(Lpn(lpn), 0, &PageCosts::ZERO, &mut costs);
        }
        assert!(forecast.blocks.weight() > 8.0, "{}", forecast.blocks.weight());
        // After the log is full, a block is merged once in B + L writes. Merges at all shares are
        // left out, so differences are compared.
        let merges = costs.by_share();
        let law = |share: usize| {
            let [written, log, blocks] = [writes, sizes[share], blocks].map(f64::from);
            (written - log) * blocks / (blocks + log)
        };
        for share in [4, 8, 16] {
            let (found, expected) = (merges[share] - merges[32], law(share) - law(32));
            assert!((0.9..1.1).contains(&(found / expected)), "{share}: {found} of {expected}");
        }
        forecast.audit().unwrap();
    }
}
