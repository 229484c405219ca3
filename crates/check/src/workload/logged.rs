//! Workloads from the log of a real disk, such as one that dm-log-writes kept.
//!
//! ```text
//! log      w w f w w d f w w mark | w w f w … | …    cut into windows, each a workload of its own
//! window         [ w d f w w mark ]                  on a used device
//! pages    4711 4712 9000  →  0 1 2                  packed in the order of their addresses
//! ```
//! A log is too long for a cut at every operation, and its disk too large to be read after each.
//! So it is cut into windows of at most [`OPERATIONS_MAX`] operations on at most [`PAGES_MAX`]
//! pages. A window ends at each mark, and is as long as possible there. Its device has room for the
//! pages that it touches, and was used before: every page was written, some of them again, and
//! those that hold no data when the window begins were trimmed. So garbage is collected in the
//! window too. Sectors stay exact: a write covers the sectors of a page that it covers in the log.
//! Discards cover whole pages that hold data.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use nand::SectorMask;

use crate::device_model::DeviceModel;
use crate::rng::Rng;
use crate::workload::host_operation::{Dimensions, Extent, HostOperation};
use crate::workload::script::Script;

/// Prefix of the names of windows.
pub const PREFIX: &str = "log-";

/// The most operations of a window.
pub const OPERATIONS_MAX: usize = 48;

/// The most pages of a window.
pub const PAGES_MAX: usize = 192;

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
    pub model: DeviceModel,
    /// The windows, in order.
    pub windows: Vec<Window>,
}

/// A part of a log as a workload.
#[derive(Clone, Debug)]
pub struct Window {
    /// The operations.
    pub operations: Vec<HostOperation>,
    /// For each page that the operations touch, whether it holds data before them.
    pub held: Vec<bool>,
    /// Whether it ends at a mark.
    pub ends_at_mark: bool,
}

impl LoggedWorkload {
    /// Cuts a log into windows for a device model.
    pub fn new(log: &str, logged: &[Logged], model: &DeviceModel) -> LoggedWorkload {
        let per_page = u64::from(model.page_bytes / nand::geometry::SECTOR_BYTES);
        let mut divider = Divider { per_page, ..Divider::default() };
        logged.iter().for_each(|one| divider.take(one));
        LoggedWorkload { log: log.to_owned(), model: *model, windows: divider.windows() }
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

impl Window {
    /// The operations that bring a new device of these dimensions to the beginning of the window.
    pub fn before(&self, dimensions: Dimensions, seed: u64) -> Vec<HostOperation> {
        let mut script = Script::new(dimensions, seed);
        script.fill(dimensions.pages_per_block);
        for _ in 0..dimensions.extra_pages {
            script.write_anywhere(1);
        }
        let is_held = |page: &u32| self.held.get(*page as usize).is_some_and(|held| *held);
        let pages: Vec<u32> = (0..dimensions.pages).collect();
        for run in pages.chunk_by(|page, next| is_held(page) == is_held(next)) {
            if !is_held(&run[0]) {
                script.trim(run[0], run.len() as u32);
            }
        }
        script.flush();
        script.into_operations()
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

    /// Does it to the set of pages that hold data.
    fn apply(&self, live: &mut BTreeSet<u64>) {
        match self {
            Part::Write { .. } => live.extend(self.pages()),
            Part::Trim { .. } => self.pages().for_each(|page| _ = live.remove(&page)),
            Part::Flush => {}
        }
    }
}

/// Divides a log into parts, and these into windows.
#[derive(Debug, Default)]
struct Divider {
    /// Sectors per page.
    per_page: u64,
    /// The pages that hold data.
    live: BTreeSet<u64>,
    parts: Vec<Part>,
    /// Number of parts before each mark.
    marks: Vec<usize>,
}

impl Divider {
    fn take(&mut self, logged: &Logged) {
        match logged {
            Logged::Write { sectors, is_forced } => self.write(sectors, *is_forced),
            Logged::Discard(sectors) => self.discard(sectors),
            Logged::Flush => self.parts.push(Part::Flush),
            Logged::Mark => self.marks.push(self.parts.len()),
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
        }
    }

    fn push(&mut self, part: Part) {
        part.apply(&mut self.live);
        self.parts.push(part);
    }

    fn windows(&self) -> Vec<Window> {
        let (mut live, mut start) = (BTreeSet::new(), 0);
        let ends = self.ends_of_windows().into_iter();
        let windows = ends.map(|end| {
            let parts = &self.parts[std::mem::replace(&mut start, end)..end];
            let pages: BTreeSet<u64> = parts.iter().flat_map(Part::pages).collect();
            let ranks: BTreeMap<u64, u32> = pages.iter().copied().zip(0..).collect();
            let held = pages.iter().map(|page| live.contains(page)).collect();
            parts.iter().for_each(|part| part.apply(&mut live));
            let operations = parts.iter().map(|part| packed(part, &ranks)).collect();
            Window { operations, held, ends_at_mark: self.marks.binary_search(&end).is_ok() }
        });
        windows.collect()
    }

    /// The numbers of parts before the end of each window. Between two marks, the windows are cut
    /// from the end: the short one is the first.
    fn ends_of_windows(&self) -> Vec<usize> {
        let mut ends = BTreeSet::new();
        let mut start = 0;
        for end in self.marks.iter().copied().chain([self.parts.len()]) {
            let mut at = end;
            while at > start {
                ends.insert(at);
                at = self.start_of_window(start..at);
            }
            start = end;
        }
        ends.into_iter().collect()
    }

    /// The first part of the longest window that ends where these parts end.
    fn start_of_window(&self, parts: Range<usize>) -> usize {
        let mut pages = BTreeSet::new();
        let earliest = parts.start.max(parts.end.saturating_sub(OPERATIONS_MAX));
        let too_many = (earliest..parts.end).rev().find(|&at| {
            pages.extend(self.parts[at].pages());
            pages.len() > PAGES_MAX
        });
        too_many.map_or(earliest, |at| at + 1)
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
        assert_eq!((windows.len(), &windows[0].held[..]), (1, &[false; 3][..]));
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
        let expected = ["write 0 sectors 1", "trim 1", "write 2 sectors 11"];
        assert_eq!(texts(&windows[1]), expected);
        assert_eq!(windows[1].held, [false, true, false]);
    }

    #[test]
    fn a_window_begins_on_a_used_device_that_holds_what_the_log_had_written() {
        let window =
            Window { operations: Vec::new(), held: vec![true, false, true], ends_at_mark: false };
        let dimensions =
            Dimensions { pages: 8, pages_per_block: 4, sectors_per_page: 2, extra_pages: 12 };
        let before: Vec<String> =
            window.before(dimensions, 1).iter().map(ToString::to_string).collect();
        assert_eq!(before[..2], ["write 0-3 sectors 11..11", "write 4-7 sectors 11..11"]);
        assert_eq!(before[14..], ["trim 1", "trim 3-7", "flush"]);
    }

    #[test]
    fn the_window_that_ends_at_a_mark_is_as_long_as_possible() {
        let writes = |count: u64| (0..count).map(|at| write(at % 8..at % 8 + 1));
        let log: Vec<Logged> = writes(50).chain([Logged::Mark]).chain(writes(10)).collect();
        let of = |it: &Window| (it.operations.len(), it.ends_at_mark);
        let lengths: Vec<_> = windows(&log).iter().map(of).collect();
        assert_eq!(lengths, [(2, false), (OPERATIONS_MAX, true), (10, false)]);
    }

    #[test]
    fn windows_are_bounded_and_lose_no_operation() {
        let mut log: Vec<Logged> = (0..100).map(|at| write(at % 7..at % 7 + 1)).collect();
        log.push(write(1..1000));
        log.push(Logged::Discard(0..2000));
        let windows = windows(&log);
        for window in &windows {
            assert!(window.operations.len() <= OPERATIONS_MAX);
            assert!(window.held.len() <= PAGES_MAX);
        }
        let in_windows = windows.iter().flat_map(|it| &it.operations);
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
