//! A hot, a warm and a cold page of a trace, and the intervals between their writes (FSTR Fig. 3).
//!
//! Only pages with at least three writes are considered, because fewer writes show no pattern.
//!
//! * The *hot* page is one with the most writes; the *cold* page is one with the fewest.
//! * For the *warm* page, all writes except those of the hot page are sorted by the number of
//!   writes of their page. The warm page is one with as many writes as the page of the middle
//!   write.
//!
//! Of several pages with the same number of writes, the hot page has the shortest mean interval,
//! the warm page the median and the cold page the longest. If these are equal, too, the lowest
//! address decides.

use crate::analysis::page_history::{PageHistories, pages_of};
use crate::analysis::stratified_sample::StratifiedSample;
use crate::error::Error;
use crate::replay::Trace;
use crate::request::{Op, Request};

/// The minimum number of writes of an example page.
const WRITES_MIN: u64 = 3;
/// The maximum size of the sample of intervals of a page.
pub const INTERVALS_MAX: usize = 1000;

/// The update frequency of a page, relative to the other pages of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heat {
    /// The most writes.
    Hot,
    /// As many writes as the page of the middle write.
    Warm,
    /// The fewest writes.
    Cold,
}

impl Heat {
    /// `hot`, `warm` or `cold`.
    pub fn word(self) -> &'static str {
        match self {
            Heat::Hot => "hot",
            Heat::Warm => "warm",
            Heat::Cold => "cold",
        }
    }
}

/// A page that represents pages of similar update frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExamplePage {
    /// The update frequency that it represents.
    pub heat: Heat,
    /// Its device, by order of first appearance.
    pub device: u32,
    /// Its number on the device.
    pub page: u64,
    /// The number of its writes.
    pub writes: u64,
    /// Page writes to other pages between its first and its last write.
    pub others: u64,
}

impl ExamplePage {
    /// Its mean write interval, in page writes to other pages.
    pub fn mean_interval(&self) -> f64 {
        self.others as f64 / (self.writes - 1) as f64
    }
}

/// Chooses up to three pages; `writes` are those of each page, most writes first.
pub(crate) fn chosen(histories: &PageHistories, writes: &[u64]) -> Vec<ExamplePage> {
    let often = &writes[..writes.partition_point(|&writes| writes >= WRITES_MIN)];
    let [most, others @ ..] = often else { return Vec::new() };
    let mut examples = vec![example(histories, Heat::Hot, *most)];
    if let (Some(middle), Some(&least)) = (of_middle_write(others), others.last()) {
        examples.push(example(histories, Heat::Warm, middle));
        examples.push(example(histories, Heat::Cold, least));
        examples.dedup_by_key(|example| (example.device, example.page));
    }
    examples
}

/// The number of writes of the page of the middle write.
fn of_middle_write(writes: &[u64]) -> Option<u64> {
    let all: u64 = writes.iter().sum();
    let mut seen = 0;
    let reaches = |writes: &&u64| {
        seen += **writes;
        2 * seen >= all
    };
    writes.iter().find(reaches).copied()
}

/// A page with this number of writes; at least one exists.
fn example(histories: &PageHistories, heat: Heat, writes: u64) -> ExamplePage {
    let pages = histories.written().filter(|(_, _, history)| history.writes == writes);
    let mut pages: Vec<(u64, u32, u64)> =
        pages.map(|(device, page, history)| (history.others(), device, page)).collect();
    pages.sort_unstable();
    let (others, device, page) = match heat {
        Heat::Hot => pages[0],
        Heat::Warm => pages[(pages.len() - 1) / 2],
        Heat::Cold => pages[pages.len() - 1],
    };
    ExamplePage { heat, device, page, writes, others }
}

/// The write intervals of an example page.
#[derive(Debug, Clone)]
pub struct PageIntervals {
    /// The page.
    pub example: ExamplePage,
    /// A sample of the intervals between its writes, in page writes to other pages. The interval
    /// with index n precedes write n + 2, counted from 1.
    pub intervals: StratifiedSample<u64, INTERVALS_MAX>,
}

/// Reads the whole trace and samples the write intervals of the example pages chosen from it.
/// `check` is that of [`Replay::for_each`].
///
/// # Errors
/// Any error of reading the trace, or that of `check`.
///
/// [`Replay::for_each`]: crate::Replay::for_each
pub fn page_intervals<E: From<Error>>(
    trace: &Trace,
    page_bytes: u64,
    examples: &[ExamplePage],
    check: impl FnMut(u64) -> core::result::Result<(), E>,
) -> core::result::Result<Vec<PageIntervals>, E> {
    let mut counter = IntervalCounter::new(page_bytes, examples);
    trace.replay()?.for_each(check, |request| counter.add(request))?;
    Ok(counter.page_intervals)
}

struct IntervalCounter {
    page_bytes: u64,
    page_writes: u64,
    page_intervals: Vec<PageIntervals>,
    /// The time of the latest write of each page, in page writes.
    last: Vec<Option<u64>>,
}

impl IntervalCounter {
    fn new(page_bytes: u64, examples: &[ExamplePage]) -> IntervalCounter {
        let no_intervals = |&example: &ExamplePage| PageIntervals {
            example,
            intervals: StratifiedSample::default(),
        };
        IntervalCounter {
            page_bytes,
            page_writes: 0,
            page_intervals: examples.iter().map(no_intervals).collect(),
            last: vec![None; examples.len()],
        }
    }

    fn add(&mut self, request: &Request) {
        let Some(pages) = pages_of(request, self.page_bytes).filter(|_| request.op == Op::Write)
        else {
            return;
        };
        for (page, last) in self.page_intervals.iter_mut().zip(&mut self.last) {
            if page.example.device == request.device && pages.contains(&page.example.page) {
                let now = self.page_writes + (page.example.page - pages.start);
                if let Some(before) = last.replace(now) {
                    page.intervals.add(now - before - 1);
                }
            }
        }
        self.page_writes += pages.end - pages.start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Flags;

    fn write(offset: u64, bytes: u64) -> Request {
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

    /// The example pages of these writes, and their intervals.
    fn observed(requests: &[Request]) -> Vec<PageIntervals> {
        let (mut histories, mut now) = (PageHistories::default(), 0);
        for page in requests.iter().flat_map(|request| pages_of(request, 4096).unwrap()) {
            histories.page(0, page).write(now);
            now += 1;
        }
        let mut writes: Vec<u64> = histories.written().map(|(.., page)| page.writes).collect();
        writes.sort_unstable_by(|a, b| b.cmp(a));
        let mut counter = IntervalCounter::new(4096, &chosen(&histories, &writes));
        requests.iter().for_each(|request| counter.add(request));
        counter.page_intervals
    }

    /// The example pages of writes to these pages: heat, page, intervals.
    fn found(pages: &[u64]) -> Vec<(Heat, u64, Vec<u64>)> {
        let requests: Vec<_> = pages.iter().map(|page| write(page * 4096, 4096)).collect();
        let shown = |found: PageIntervals| {
            let intervals: Vec<u64> = found.intervals.kept().iter().map(|kept| kept.1).collect();
            let mean = intervals.iter().sum::<u64>() as f64 / intervals.len() as f64;
            assert_eq!(found.example.mean_interval(), mean);
            assert_eq!(found.example.writes, intervals.len() as u64 + 1);
            (found.example.heat, found.example.page, intervals)
        };
        observed(&requests).into_iter().map(shown).collect()
    }

    #[test]
    fn examples_are_chosen_by_their_number_of_writes() {
        // Page 1 has six writes, page 2 has four, pages 3 and 5 have three each, page 4 has two.
        let pages = [3, 1, 1, 2, 5, 1, 2, 4, 1, 2, 3, 5, 1, 2, 4, 1, 5, 3];
        let wanted = [
            (Heat::Hot, 1, vec![0, 2, 2, 3, 2]),
            (Heat::Warm, 5, vec![6, 4]),
            (Heat::Cold, 3, vec![9, 6]),
        ];
        assert_eq!(found(&pages), wanted);
    }

    #[test]
    fn of_equal_pages_the_mean_interval_decides_and_no_page_is_chosen_twice() {
        let pages = [7, 7, 7, 9, 8, 8, 9, 8, 9];
        let wanted =
            [(Heat::Hot, 7, vec![0, 0]), (Heat::Warm, 8, vec![0, 1]), (Heat::Cold, 9, vec![2, 1])];
        assert_eq!(found(&pages), wanted);
        let heats = |pages: &[u64]| found(pages).iter().map(|one| one.0).collect::<Vec<_>>();
        assert_eq!(heats(&pages[..3]), [Heat::Hot]);
        assert_eq!(heats(&[1, 1, 1, 1, 2, 2, 2]), [Heat::Hot, Heat::Warm]);
        assert_eq!(heats(&[1, 1, 2, 2]), []);
    }

    #[test]
    fn pages_inside_long_requests_are_found() {
        let requests = [write(0, 8 * 4096), write(4096, 2 * 4096), write(4096, 4096)];
        let page = &observed(&requests)[0];
        assert_eq!((page.example.page, page.example.others), (1, 7));
        assert_eq!(page.intervals.kept(), [(0, 6), (1, 1)]);
    }
}
