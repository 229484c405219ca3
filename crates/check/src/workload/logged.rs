//! Workloads from the log of a real disk, such as one that dm-log-writes kept.
//!
//! ```text
//! log      w w f | w d f mark | w w f w … | …        cut into windows, each a workload of its own
//! window   [ pages that hold data before it · flush ] [ its operations ]
//! pages    4711 4712 9000  →  0 1 2                   packed in the order of their addresses
//! ```
//! A log is too long for a cut at every operation, and its disk too large to be read after each.
//! So it is cut into windows of at most [`OPERATIONS_MAX`] operations on at most [`PAGES_MAX`]
//! pages. A window also ends at each mark. Its device has room for the pages that it touches. Pages
//! that hold data at its beginning are written first, whole, and flushed. Sectors stay exact: a
//! write covers the sectors of a page that it covers in the log. Discards cover whole pages that
//! hold data.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nand::SectorMask;

use crate::device_model::DeviceModel;
use crate::rng::Rng;
use crate::workload::host_operation::{Extent, HostOperation};

/// Prefix of the names of windows.
pub const PREFIX: &str = "log-";

/// The most operations of a window.
pub const OPERATIONS_MAX: usize = 48;

/// The most pages of a window.
pub const PAGES_MAX: usize = 96;

/// The most pages of an operation; longer ones are divided.
const PART_PAGES: u64 = 32;

const _: () = assert!(PART_PAGES as usize <= PAGES_MAX);

/// What became durable on a disk, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Logged {
    /// These sectors were written.
    Write {
        /// Sectors of 512 bytes, at least one.
        sectors: Range<u64>,
        /// Whether the write was durable by itself.
        is_forced: bool,
    },
    /// These sectors were discarded.
    Discard(Range<u64>),
    /// Everything before it was flushed.
    Flush,
    /// Somebody gave this point a name.
    Mark,
}

/// A log, cut into windows for a device model.
#[derive(Clone, Debug)]
pub struct LoggedWorkload {
    /// The name of the log, as users write it.
    pub log: String,
    /// The device model whose pages the windows have.
    pub model: &'static DeviceModel,
    /// The windows, in order.
    pub windows: Vec<Window>,
}

/// A part of a log as a workload.
#[derive(Clone, Debug)]
pub struct Window {
    /// The operations: first those that bring the device into the state before the window.
    pub operations: Vec<HostOperation>,
    /// Number of operations that come before the window.
    pub before: usize,
    /// Logical pages that the operations need.
    pub pages: u32,
    /// Whether it ends at a mark.
    pub ends_at_mark: bool,
}

impl LoggedWorkload {
    /// Cuts a log into windows for a device model.
    pub fn new(log: &str, logged: &[Logged], model: &'static DeviceModel) -> LoggedWorkload {
        let per_page = u64::from(model.page_bytes / nand::geometry::SECTOR_BYTES);
        let mut cutter = Cutter { per_page, ..Cutter::default() };
        logged.iter().for_each(|one| cutter.take(one));
        cutter.end_window(false);
        LoggedWorkload { log: log.to_owned(), model, windows: cutter.windows }
    }

    /// The name of a window.
    pub fn window_name(index: usize) -> String {
        format!("{PREFIX}{index}")
    }

    /// The number of the window with this name.
    ///
    /// # Errors
    /// The log has no such window.
    pub fn window_named(&self, name: &str) -> spec::Result<usize> {
        let index = name.strip_prefix(PREFIX).and_then(|index| index.parse().ok());
        index.filter(|index| *index < self.windows.len()).ok_or_else(|| {
            let last = self.windows.len().saturating_sub(1);
            let form = format!("a window of `{}`: `log-0` to `log-{last}`", self.log);
            spec::Error::Malformed { text: name.to_owned(), form }
        })
    }

    /// At most `most` windows, drawn from a seed, in order. Those that end at a mark come first.
    pub fn drawn(&self, most: usize, seed: u64) -> Vec<usize> {
        let mut rng = Rng::new(seed);
        let mut drawn: Vec<usize> = (0..self.windows.len()).collect();
        for at in (1..drawn.len()).rev() {
            drawn.swap(at, rng.below(at as u32 + 1) as usize);
        }
        drawn.sort_by_key(|&index| !self.windows[index].ends_at_mark);
        drawn.truncate(most);
        drawn.sort_unstable();
        drawn
    }
}

// ---- Cutting -----------------------------------------------------------------------------------

/// An operation on the pages of the log's disk, of at most [`PART_PAGES`].
#[derive(Clone, Copy, Debug)]
enum Part {
    Write { first: u64, pages: u32, head: SectorMask, tail: SectorMask, is_forced: bool },
    Trim { first: u64, pages: u32 },
    Flush,
}

impl Part {
    fn pages(&self) -> Range<u64> {
        match *self {
            Part::Write { first, pages, .. } | Part::Trim { first, pages } => {
                first..first + u64::from(pages)
            }
            Part::Flush => 0..0,
        }
    }
}

/// Takes a log and cuts it into windows.
#[derive(Debug, Default)]
struct Cutter {
    /// Sectors per page.
    per_page: u64,
    /// The pages that hold data.
    live: BTreeSet<u64>,
    /// The operations of the window.
    parts: Vec<Part>,
    /// The pages of the window; whether each held data before it.
    touched: BTreeMap<u64, bool>,
    windows: Vec<Window>,
}

impl Cutter {
    fn take(&mut self, logged: &Logged) {
        match logged {
            Logged::Write { sectors, is_forced } => self.write(sectors, *is_forced),
            Logged::Discard(sectors) => self.discard(sectors),
            Logged::Flush => self.push(Part::Flush),
            Logged::Mark => self.end_window(true),
        }
    }

    fn write(&mut self, sectors: &Range<u64>, is_forced: bool) {
        assert!(sectors.start < sectors.end, "a write of the sectors {sectors:?}");
        let n = self.per_page;
        let mut first = sectors.start / n;
        let end = sectors.end.div_ceil(n);
        while first < end {
            let last = (first + PART_PAGES).min(end) - 1;
            let mask = |page: u64| {
                let covered = sectors.start.max(page * n)..sectors.end.min((page + 1) * n);
                let ones = u64::MAX >> (64 - (covered.end - covered.start));
                ones << (covered.start - page * n)
            };
            let (head, tail, pages) = (mask(first), mask(last), (last + 1 - first) as u32);
            self.push(Part::Write { first, pages, head, tail, is_forced });
            self.live.extend(first..=last);
            first = last + 1;
        }
    }

    /// Trims the whole pages that hold data, run by run.
    fn discard(&mut self, sectors: &Range<u64>) {
        let pages = sectors.start.div_ceil(self.per_page)..sectors.end / self.per_page;
        if pages.is_empty() {
            return;
        }
        let held: Vec<u64> = self.live.range(pages).copied().collect();
        let runs = held.chunk_by(|page, next| page + 1 == *next);
        for run in runs.flat_map(|run| run.chunks(PART_PAGES as usize)) {
            self.push(Part::Trim { first: run[0], pages: run.len() as u32 });
            run.iter().for_each(|page| _ = self.live.remove(page));
        }
    }

    /// Adds an operation, to the next window if this one is full.
    fn push(&mut self, part: Part) {
        let new = part.pages().filter(|page| !self.touched.contains_key(page)).count();
        if self.parts.len() == OPERATIONS_MAX || self.touched.len() + new > PAGES_MAX {
            self.end_window(false);
        }
        for page in part.pages() {
            let was_live = self.live.contains(&page);
            self.touched.entry(page).or_insert(was_live);
        }
        self.parts.push(part);
    }

    /// Ends the window. One without operations is left out; its mark is that of the one before.
    fn end_window(&mut self, ends_at_mark: bool) {
        let (parts, touched) = (std::mem::take(&mut self.parts), std::mem::take(&mut self.touched));
        if parts.is_empty() {
            if let Some(last) = self.windows.last_mut() {
                last.ends_at_mark |= ends_at_mark;
            }
            return;
        }
        let ranks: BTreeMap<u64, u32> = touched.keys().copied().zip(0..).collect();
        let full = u64::MAX >> (64 - self.per_page);
        let mut operations = Vec::new();
        let held: Vec<u32> =
            touched.iter().filter(|it| *it.1).map(|(page, _)| ranks[page]).collect();
        for run in held.chunk_by(|page, next| page + 1 == *next) {
            let extent = Extent::whole(run[0], run.len() as u32, full);
            operations.push(HostOperation::Write(extent));
        }
        if !operations.is_empty() {
            operations.push(HostOperation::Flush);
        }
        let before = operations.len();
        operations.extend(parts.iter().map(|part| packed(part, &ranks)));
        let pages = ranks.len() as u32;
        self.windows.push(Window { operations, before, pages, ends_at_mark });
    }
}

/// An operation on the packed pages. Consecutive pages of one operation stay consecutive.
fn packed(part: &Part, ranks: &BTreeMap<u64, u32>) -> HostOperation {
    match *part {
        Part::Write { first, pages, head, tail, is_forced } => {
            let extent = Extent { first: ranks[&first], pages, head, tail };
            match is_forced {
                true => HostOperation::Force(extent),
                false => HostOperation::Write(extent),
            }
        }
        Part::Trim { first, pages } => HostOperation::Trim { first: ranks[&first], pages },
        Part::Flush => HostOperation::Flush,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sectors: Range<u64>) -> Logged {
        Logged::Write { sectors, is_forced: false }
    }

    /// Windows for pages of two sectors.
    fn windows(logged: &[Logged]) -> Vec<Window> {
        LoggedWorkload::new("l", logged, DeviceModel::named("tiny").unwrap()).windows
    }

    fn texts(window: &Window) -> Vec<String> {
        window.operations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_log_becomes_operations_on_packed_pages_with_exact_sectors() {
        let far = 1 << 40;
        let log = [
            write(far + 1..far + 4),
            Logged::Write { sectors: 11..12, is_forced: true },
            Logged::Flush,
            Logged::Discard(0..far + 3),
            write(10..12),
        ];
        let windows = windows(&log);
        let expected = [
            "write 1-2 sectors 10..11",
            "write and force 0 sectors 10",
            "flush",
            "trim 0",
            "trim 1",
            "write 0 sectors 11",
        ];
        assert_eq!(texts(&windows[0]), expected);
        assert_eq!((windows.len(), windows[0].before, windows[0].pages), (1, 0, 3));
    }

    #[test]
    fn a_window_ends_at_a_mark_and_the_next_one_begins_with_what_was_written() {
        let log = [
            write(0..6),
            Logged::Discard(2..4),
            Logged::Mark,
            Logged::Mark,
            write(2..3),
            Logged::Discard(4..6),
            write(90..92),
        ];
        let windows = windows(&log);
        assert_eq!(windows.len(), 2);
        assert_eq!(windows.iter().map(|it| it.ends_at_mark).collect::<Vec<_>>(), [true, false]);
        // Page 0 is not touched again, page 1 was discarded, page 45 is new.
        let expected =
            ["write 1 sectors 11", "flush", "write 0 sectors 1", "trim 1", "write 2 sectors 11"];
        assert_eq!(texts(&windows[1]), expected);
        assert_eq!((windows[1].before, windows[1].pages), (2, 3));
    }

    #[test]
    fn windows_are_bounded_and_lose_no_operation() {
        let mut log: Vec<Logged> = (0..100).map(|at| write(at % 7..at % 7 + 1)).collect();
        log.push(write(1..1000));
        log.push(Logged::Discard(0..2000));
        let windows = windows(&log);
        for window in &windows {
            assert!(window.operations.len() - window.before <= OPERATIONS_MAX);
            assert!(window.pages as usize <= PAGES_MAX);
        }
        let in_windows = windows.iter().flat_map(|it| &it.operations[it.before..]);
        let count = |of: fn(&HostOperation) -> u32| in_windows.clone().map(of).sum::<u32>();
        assert_eq!(count(|_| 1), 100 + 16 + 16);
        let trimmed = |it: &HostOperation| match it {
            HostOperation::Trim { pages, .. } => *pages,
            _ => 0,
        };
        assert_eq!(count(trimmed), 500);
    }

    #[test]
    fn windows_are_drawn_from_the_seed_and_those_at_marks_come_first() {
        let log: Vec<Logged> = (0..2000)
            .flat_map(|at| {
                [write(at..at + 1)].into_iter().chain((at == 900).then_some(Logged::Mark))
            })
            .collect();
        let model = DeviceModel::named("sector").unwrap();
        let workload = LoggedWorkload::new("l", &log, model);
        let marked = workload.windows.iter().position(|it| it.ends_at_mark).unwrap();
        let all = workload.windows.len();
        assert_eq!(workload.drawn(1, 1), [marked]);
        assert_eq!(workload.drawn(5, 1), workload.drawn(5, 1));
        assert_ne!(workload.drawn(5, 1), workload.drawn(5, 2));
        assert_eq!(workload.drawn(1000, 3), (0..all).collect::<Vec<_>>());
        assert_eq!(workload.window_named("log-3").unwrap(), 3);
        for name in [format!("log-{all}"), "hot".to_owned(), "log-".to_owned()] {
            let message = workload.window_named(&name).unwrap_err().to_string();
            assert!(message.contains("a window of `l`: `log-0` to"), "{message}");
        }
    }
}
