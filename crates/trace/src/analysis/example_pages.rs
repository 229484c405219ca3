//! A hot, a warm and a cold page of a trace, and the intervals between their writes (FSTR Fig. 3).
//!
//! Pages written three times at least are looked at, for fewer writes have no course. *Hot* is a
//! page that is written most often, *cold* one that is written least often. *Warm* is a page
//! written as often as the one that the middle write goes to, when all but the hot page are laid
//! out from the most to the least written, each as often as it is written. Of pages that are
//! written equally often, the hot one has the shortest mean interval, the warm one the median, the
//! cold one the longest; then the lower address decides.

use crate::analysis::page_history::{PageHistories, pages_of};
use crate::analysis::stratified_sample::StratifiedSample;
use crate::error::Result;
use crate::replay::{BATCH, Trace};
use crate::request::{Op, Request};

/// The least writes of a page that is looked at.
const WRITES_MIN: u64 = 3;
/// Intervals of a page that are kept at most.
const INTERVALS_MAX: usize = 1000;

/// How often a page is written, among those of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heat {
    /// Most often.
    Hot,
    /// As often as the page of the middle write.
    Warm,
    /// Least often.
    Cold,
}

impl Heat {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Heat::Hot => "hot",
            Heat::Warm => "warm",
            Heat::Cold => "cold",
        }
    }
}

/// A page that stands for many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExamplePage {
    /// For which.
    pub heat: Heat,
    /// Its device, by order of first appearance.
    pub device: u32,
    /// Its number there.
    pub page: u64,
    /// How often it is written.
    pub writes: u64,
    /// Page writes to other pages between its first write and its last.
    pub others: u64,
}

impl ExamplePage {
    /// Its mean write interval, in page writes to other pages.
    pub fn mean_interval(&self) -> f64 {
        self.others as f64 / (self.writes - 1) as f64
    }
}

/// Up to three pages; `writes` are those of all pages, from the most to the least written.
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

/// How often the page is written that the middle write goes to.
fn of_middle_write(writes: &[u64]) -> Option<u64> {
    let all: u64 = writes.iter().sum();
    let mut seen = 0;
    let reaches = |writes: &&u64| {
        seen += **writes;
        2 * seen >= all
    };
    writes.iter().find(reaches).copied()
}

/// One of the pages written so often; there is one.
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

/// The course of a page's writes.
#[derive(Debug, Clone)]
pub struct PageIntervals {
    /// The page.
    pub example: ExamplePage,
    /// The intervals between its writes, in page writes to other pages; number n lies before its
    /// write n + 2.
    pub intervals: StratifiedSample<u64>,
}

/// Reads a trace through for the intervals of pages of so many bytes that were chosen of it.
///
/// # Errors
/// Whatever reading the trace meets.
pub fn page_intervals(
    trace: &Trace,
    page_bytes: u64,
    examples: &[ExamplePage],
) -> Result<Vec<PageIntervals>> {
    let mut observer = IntervalCounter::new(page_bytes, examples);
    let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
    while replay.next_batch(&mut batch, BATCH)? > 0 {
        batch.drain(..).for_each(|request| observer.add(&request));
    }
    Ok(observer.page_intervals)
}

struct IntervalCounter {
    page_bytes: u64,
    page_writes: u64,
    page_intervals: Vec<PageIntervals>,
    /// When each of the pages was written last.
    last: Vec<Option<u64>>,
}

impl IntervalCounter {
    fn new(page_bytes: u64, examples: &[ExamplePage]) -> IntervalCounter {
        let course = |&example: &ExamplePage| PageIntervals {
            example,
            intervals: StratifiedSample::new(INTERVALS_MAX),
        };
        IntervalCounter {
            page_bytes,
            page_writes: 0,
            page_intervals: examples.iter().map(course).collect(),
            last: vec![None; examples.len()],
        }
    }

    fn add(&mut self, request: &Request) {
        let Some(pages) = pages_of(request, self.page_bytes).filter(|_| request.op == Op::Write)
        else {
            return;
        };
        for (course, last) in self.page_intervals.iter_mut().zip(&mut self.last) {
            if course.example.device == request.device && pages.contains(&course.example.page) {
                let now = self.page_writes + (course.example.page - pages.start);
                if let Some(before) = last.replace(now) {
                    course.intervals.add(now - before - 1);
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
        Request { time_ns: 0, offset, bytes, device: 0, op: Op::Write, flags: Flags::NONE }
    }

    /// The examples of writes, and their page_intervals.
    fn observed(requests: &[Request]) -> Vec<PageIntervals> {
        let (mut histories, mut now) = (PageHistories::default(), 0);
        for page in requests.iter().flat_map(|request| pages_of(request, 4096).unwrap()) {
            histories.page(0, page).write(now);
            now += 1;
        }
        let mut writes: Vec<u64> = histories.written().map(|(.., page)| page.writes).collect();
        writes.sort_unstable_by(|a, b| b.cmp(a));
        let mut observer = IntervalCounter::new(4096, &chosen(&histories, &writes));
        requests.iter().for_each(|request| observer.add(request));
        observer.page_intervals
    }

    /// The examples of writes to these pages, and the intervals of each.
    fn found(pages: &[u64]) -> Vec<(Heat, u64, Vec<u64>)> {
        let requests: Vec<_> = pages.iter().map(|page| write(page * 4096, 4096)).collect();
        let course = |course: PageIntervals| {
            let intervals: Vec<u64> = course.intervals.kept().iter().map(|kept| kept.1).collect();
            let mean = intervals.iter().sum::<u64>() as f64 / intervals.len() as f64;
            assert_eq!(course.example.mean_interval(), mean);
            assert_eq!(course.example.writes, intervals.len() as u64 + 1);
            (course.example.heat, course.example.page, intervals)
        };
        observed(&requests).into_iter().map(course).collect()
    }

    #[test]
    fn hot_is_written_most_and_cold_least_and_warm_has_the_middle_write() {
        // Page 1 six times, 2 four times, 3 and 5 three times each, 4 twice.
        let pages = [3, 1, 1, 2, 5, 1, 2, 4, 1, 2, 3, 5, 1, 2, 4, 1, 5, 3];
        let wanted = [
            (Heat::Hot, 1, vec![0, 2, 2, 3, 2]),
            (Heat::Warm, 5, vec![6, 4]),
            (Heat::Cold, 3, vec![9, 6]),
        ];
        assert_eq!(found(&pages), wanted);
    }

    #[test]
    fn of_equals_the_mean_interval_decides_and_no_page_stands_for_two() {
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
    fn pages_inside_long_requests_are_found_where_they_lie() {
        let requests = [write(0, 8 * 4096), write(4096, 2 * 4096), write(4096, 4096)];
        let course = &observed(&requests)[0];
        assert_eq!((course.example.page, course.example.others), (1, 7));
        assert_eq!(course.intervals.kept(), [(0, 6), (1, 1)]);
    }
}
