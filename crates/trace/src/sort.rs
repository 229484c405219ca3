//! Sorts a trace by time: for `--sort`, and for formats whose lines are in the order of completion.
//!
//! ```text
//! reader ─▶ 4 M requests ─ sort ─▶ temporary file ┐
//!           4 M requests ─ sort ─▶ temporary file ├─ merge ─▶ requests in order of time
//!           the rest     ─ sort ─▶ (memory)       ┘
//! ```
//!
//! The sort is stable: requests with the same time stay in the order of the file. Memory is
//! bounded: a run of [`RUN_REQUESTS`] takes 128 MiB, and another 64 MiB while it is sorted. A trace
//! with fewer requests needs no disk space. A longer one takes 24 bytes per request in temporary
//! files, which are deleted with the reader. No request is delivered before all have been read.
//! Devices are numbered in the order of their first requests as they are delivered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::reader::{BATCH, ReadReport, Reader};
use crate::request::Request;
use crate::table::request_store::{SpillFile, StoreBuilder};
use crate::table::store_reader::StoreReader;

/// The number of requests that are sorted in memory at a time.
pub const RUN_REQUESTS: usize = 4 << 20;

/// The number of requests that are read between two looks at whether to go on.
const STEP_REQUESTS: usize = 1 << 17;

/// A reader that delivers requests in the order of their times.
pub(crate) struct SortedReader {
    reader: Box<dyn Reader>,
    run_requests: usize,
    /// The earliest and the latest time so far.
    span: Option<(i64, i64)>,
    state: State,
    devices: Renumbered,
}

/// Runs are collected until the trace has been read; then they are merged.
enum State {
    Reading { runs: Vec<SortedRun>, run: Vec<Request> },
    Merging(Merge),
}

impl SortedReader {
    /// Sorts the requests of `reader`, which must deliver their times unchanged.
    pub(crate) fn new(reader: Box<dyn Reader>) -> SortedReader {
        let state = State::Reading { runs: Vec::new(), run: Vec::new() };
        let devices = Renumbered::default();
        SortedReader { reader, run_requests: RUN_REQUESTS, span: None, state, devices }
    }
}

impl Reader for SortedReader {
    /// Reads a part of a run. A run that is complete is sorted, and the last one is merged with the
    /// others.
    fn prepare(&mut self) -> Result<bool> {
        let State::Reading { runs, run } = &mut self.state else { return Ok(false) };
        let end = self.run_requests.min(run.len() + STEP_REQUESTS);
        let mut has_ended = false;
        while run.len() < end && !has_ended {
            has_ended = self.reader.next_batch(run, BATCH.min(end - run.len()))? == 0;
        }
        if has_ended || run.len() == self.run_requests {
            let mut run = std::mem::take(run);
            run.sort_by_key(|request| signed(request.time_ns));
            self.span = joined(self.span, &run);
            runs.push(match has_ended {
                true => SortedRun { batch: run.into_iter(), rest: None },
                false => spill(&run).map_err(Error::Sort)?,
            });
        }
        if has_ended {
            let runs = std::mem::take(runs);
            self.state = State::Merging(Merge::new(runs)?);
        }
        Ok(!has_ended)
    }

    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        while self.prepare()? {}
        let State::Merging(merge) = &mut self.state else { unreachable!("everything is read") };
        let before = out.len();
        while out.len() - before < max {
            match merge.next()? {
                Some(request) => {
                    let device = self.devices.number(request.device);
                    out.push(Request { device, ..request });
                }
                None => break,
            }
        }
        Ok(out.len() - before)
    }

    fn position_bytes(&self) -> u64 {
        self.reader.position_bytes()
    }

    fn report(&self) -> ReadReport {
        let mut report = self.reader.report();
        let is_delivered = matches!(&self.state, State::Merging(merge) if merge.order.is_empty());
        report.devices = self.devices.names(report.devices, is_delivered);
        // Requests without times, or all at one time, are as they were.
        if self.span.is_some_and(|(earliest, latest)| earliest < latest) {
            report.notes.push(String::from("The requests are sorted by time."));
        }
        report
    }
}

/// Numbers of devices in the order in which their first requests are delivered.
#[derive(Default)]
struct Renumbered {
    /// For each number of the trace its own, if it has one.
    numbers: Vec<Option<u32>>,
    /// The numbers of the trace, by their own.
    old: Vec<u32>,
}

impl Renumbered {
    #[inline]
    fn number(&mut self, old: u32) -> u32 {
        match self.numbers.get(old as usize) {
            Some(&Some(number)) => number,
            _ => self.add(old),
        }
    }

    #[cold]
    fn add(&mut self, old: u32) -> u32 {
        let number = self.old.len() as u32;
        self.old.push(old);
        if self.numbers.len() <= old as usize {
            self.numbers.resize(old as usize + 1, None);
        }
        self.numbers[old as usize] = Some(number);
        number
    }

    /// The names of the devices that were delivered, given those of the trace. If all requests were
    /// delivered, those without a request follow.
    fn names(&self, mut of_trace: Vec<String>, with_others: bool) -> Vec<String> {
        let taken = |&old: &u32| std::mem::take(&mut of_trace[old as usize]);
        let mut names: Vec<String> = self.old.iter().map(taken).collect();
        if with_others {
            let is_other = |at: &usize| self.numbers.get(*at).is_none_or(|it| it.is_none());
            let others = (0..of_trace.len()).filter(is_other);
            names.extend(others.map(|at| std::mem::take(&mut of_trace[at])).collect::<Vec<_>>());
        }
        names
    }
}

/// The span of times together with that of a sorted run.
fn joined(span: Option<(i64, i64)>, run: &[Request]) -> Option<(i64, i64)> {
    let ends = run.first().zip(run.last());
    let ends = ends.map(|(first, last)| (signed(first.time_ns), signed(last.time_ns)));
    match (span, ends) {
        (Some((earliest, latest)), Some((first, last))) => {
            Some((earliest.min(first), latest.max(last)))
        }
        _ => span.or(ends),
    }
}

/// A time as it was read. It may be before zero, and is then a huge number without a sign.
fn signed(time_ns: u64) -> i64 {
    time_ns.cast_signed()
}

/// Merges sorted runs. Among requests with the same time, the one of the earlier run is first.
struct Merge {
    runs: Vec<SortedRun>,
    heads: Vec<Option<Request>>,
    order: BinaryHeap<Reverse<(i64, usize)>>,
    /// The earliest time, which is delivered as 0.
    first_ns: i64,
}

impl Merge {
    fn new(runs: Vec<SortedRun>) -> Result<Merge> {
        let count = runs.len();
        let (heads, order) = (vec![None; count], BinaryHeap::with_capacity(count));
        let mut merge = Merge { runs, heads, order, first_ns: 0 };
        for run in 0..count {
            merge.advance(run)?;
        }
        merge.first_ns = merge.order.peek().map_or(0, |Reverse((time_ns, _))| *time_ns);
        Ok(merge)
    }

    fn advance(&mut self, run: usize) -> Result<()> {
        self.heads[run] = self.runs[run].next()?;
        if let Some(head) = self.heads[run] {
            self.order.push(Reverse((signed(head.time_ns), run)));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Request>> {
        let Some(Reverse((_, run))) = self.order.pop() else { return Ok(None) };
        let head = self.heads[run].take();
        self.advance(run)?;
        let first_ns = self.first_ns.cast_unsigned();
        Ok(head.map(|head| Request { time_ns: head.time_ns.wrapping_sub(first_ns), ..head }))
    }
}

/// A run of requests, sorted by time.
struct SortedRun {
    batch: std::vec::IntoIter<Request>,
    /// The requests behind the batch, if they are in a temporary file.
    rest: Option<StoreReader>,
}

impl SortedRun {
    fn next(&mut self) -> Result<Option<Request>> {
        if let (Some(store), []) = (&mut self.rest, self.batch.as_slice()) {
            let mut batch = Vec::with_capacity(BATCH);
            store.next_batch(&mut batch, BATCH).map_err(|error| match error {
                Error::Kept { source, .. } => Error::Sort(source),
                other => other,
            })?;
            self.batch = batch.into_iter();
        }
        Ok(self.batch.next())
    }
}

fn spill(requests: &[Request]) -> io::Result<SortedRun> {
    let mut builder = StoreBuilder::default();
    builder.spill_to(&SpillFile::create()?);
    requests.iter().try_for_each(|request| builder.push(request))?;
    let store = Arc::new(builder.finish("sorted requests", ReadReport::default())?);
    Ok(SortedRun { batch: Vec::new().into_iter(), rest: Some(StoreReader::new(&store)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Op};
    use proptest::prelude::*;

    /// Delivers the given requests unchanged, of devices `0`, `1` and so on.
    struct Given(std::vec::IntoIter<Request>);

    impl Reader for Given {
        fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
            let before = out.len();
            out.extend(self.0.by_ref().take(max));
            Ok(out.len() - before)
        }

        fn position_bytes(&self) -> u64 {
            0
        }

        fn report(&self) -> ReadReport {
            ReadReport { devices: names(0..DEVICES), ..ReadReport::default() }
        }
    }

    /// The number of devices, of which the last one has no requests.
    const DEVICES: u32 = 5;

    fn names(devices: impl IntoIterator<Item = u32>) -> Vec<String> {
        devices.into_iter().map(|device| device.to_string()).collect()
    }

    fn requests(times: &[u64]) -> Vec<Request> {
        let request = |(index, &time_ns): (usize, &u64)| Request {
            time_ns,
            offset: index as u64,
            bytes: u64::MAX / 2,
            device: index as u32 * 7 % (DEVICES - 1),
            op: Op::ALL[index % 4],
            flags: Flags::from_bits(index as u8 % 32).unwrap(),
            stream: index as u8 % 64,
        };
        times.iter().enumerate().map(request).collect()
    }

    /// The devices in the order of their first requests.
    fn in_order(requests: &[Request]) -> Vec<u32> {
        let mut devices = Vec::new();
        for request in requests {
            if !devices.contains(&request.device) {
                devices.push(request.device);
            }
        }
        devices
    }

    proptest! {
        #[test]
        fn merging_runs_equals_a_stable_sort(
            times in prop::collection::vec(0u64..20, 0..60),
            run_requests in 1usize..70,
        ) {
            let mut expected = requests(&times);
            expected.sort_by_key(|request| request.time_ns);
            let first_ns = expected.first().map_or(0, |request| request.time_ns);
            let mut devices = in_order(&expected);
            for request in &mut expected {
                request.time_ns -= first_ns;
                request.device =
                    devices.iter().position(|&it| it == request.device).unwrap() as u32;
            }
            let reader = Box::new(Given(requests(&times).into_iter()));
            let mut sorted = SortedReader { run_requests, ..SortedReader::new(reader) };
            let mut found = Vec::new();
            while sorted.next_batch(&mut found, 5).unwrap() > 0 {
                let delivered = in_order(&found).len();
                let named = sorted.report().devices;
                prop_assert_eq!(&named[..delivered], names(devices[..delivered].iter().copied()));
                let has_others = named.len() > delivered;
                prop_assert_eq!(has_others, found.len() == expected.len(), "{:?}", named);
            }
            prop_assert_eq!(found, expected);
            let others = (0..DEVICES).filter(|device| !devices.contains(device));
            devices.extend(others.collect::<Vec<_>>());
            prop_assert_eq!(sorted.report().devices, names(devices));
        }
    }
}
