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
//! with fewer requests needs no disk space. A longer one takes 30 bytes per request in temporary
//! files, which are deleted with the reader. No request is delivered before all have been read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use crate::error::{Error, Result};
use crate::reader::{BATCH, Reader, Skipped};
use crate::request::{Flags, Op, Request};

/// The number of requests that are sorted in memory at a time.
pub const RUN_REQUESTS: usize = 4 << 20;

/// The number of requests that are read between two looks at whether to go on.
const STEP_REQUESTS: usize = 1 << 17;

/// A reader that delivers requests in the order of their times.
pub(crate) struct SortedReader {
    reader: Box<dyn Reader>,
    run_requests: usize,
    state: State,
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
        SortedReader { reader, run_requests: RUN_REQUESTS, state }
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
            run.sort_by_key(|request| request.time_ns);
            runs.push(match has_ended {
                true => SortedRun::Memory(run.into_iter()),
                false => spill(&run).map_err(Error::Sort)?,
            });
        }
        if has_ended {
            let runs = std::mem::take(runs);
            self.state = State::Merging(Merge::new(runs).map_err(Error::Sort)?);
        }
        Ok(!has_ended)
    }

    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        while self.prepare()? {}
        let State::Merging(merge) = &mut self.state else { unreachable!("everything is read") };
        let before = out.len();
        while out.len() - before < max {
            match merge.next().map_err(Error::Sort)? {
                Some(request) => out.push(request),
                None => break,
            }
        }
        Ok(out.len() - before)
    }

    fn skipped(&self) -> &Skipped {
        self.reader.skipped()
    }

    fn position_bytes(&self) -> u64 {
        self.reader.position_bytes()
    }

    fn devices(&self) -> Vec<String> {
        self.reader.devices()
    }

    fn notes(&self) -> Vec<String> {
        let sorted = String::from("The requests are sorted by time.");
        self.reader.notes().into_iter().chain([sorted]).collect()
    }
}

/// Merges sorted runs. Among requests with the same time, the one of the earlier run is first.
struct Merge {
    runs: Vec<SortedRun>,
    heads: Vec<Option<Request>>,
    order: BinaryHeap<Reverse<(u64, usize)>>,
    /// The earliest time, which is delivered as 0.
    first_ns: u64,
}

impl Merge {
    fn new(runs: Vec<SortedRun>) -> io::Result<Merge> {
        let count = runs.len();
        let (heads, order) = (vec![None; count], BinaryHeap::with_capacity(count));
        let mut merge = Merge { runs, heads, order, first_ns: 0 };
        for run in 0..count {
            merge.advance(run)?;
        }
        merge.first_ns = merge.order.peek().map_or(0, |Reverse((time_ns, _))| *time_ns);
        Ok(merge)
    }

    fn advance(&mut self, run: usize) -> io::Result<()> {
        self.heads[run] = self.runs[run].next()?;
        if let Some(head) = self.heads[run] {
            self.order.push(Reverse((head.time_ns, run)));
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<Request>> {
        let Some(Reverse((_, run))) = self.order.pop() else { return Ok(None) };
        let head = self.heads[run].take();
        self.advance(run)?;
        Ok(head.map(|head| Request { time_ns: head.time_ns - self.first_ns, ..head }))
    }
}

/// A run of requests, sorted by time.
enum SortedRun {
    Memory(std::vec::IntoIter<Request>),
    /// A temporary file, and the number of requests left in it.
    Spilt(BufReader<File>, usize),
}

impl SortedRun {
    fn next(&mut self) -> io::Result<Option<Request>> {
        match self {
            SortedRun::Memory(requests) => Ok(requests.next()),
            SortedRun::Spilt(_, 0) => Ok(None),
            SortedRun::Spilt(file, left) => {
                let mut bytes = [0; SPILT_BYTES];
                file.read_exact(&mut bytes)?;
                *left -= 1;
                Ok(Some(unpack(&bytes)))
            }
        }
    }
}

/// Writes a run to an anonymous temporary file.
fn spill(requests: &[Request]) -> io::Result<SortedRun> {
    let mut out = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
    for request in requests {
        out.write_all(&pack(request))?;
    }
    let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(SortedRun::Spilt(BufReader::with_capacity(256 << 10, file), requests.len()))
}

/// The size of a request in a temporary file: time, offset, bytes, device, operation, flags,
/// stream.
const SPILT_BYTES: usize = 8 + 8 + 8 + 4 + 1 + 1 + 1;

fn pack(request: &Request) -> [u8; SPILT_BYTES] {
    let mut bytes = [0; SPILT_BYTES];
    bytes[..8].copy_from_slice(&request.time_ns.to_le_bytes());
    bytes[8..16].copy_from_slice(&request.offset.to_le_bytes());
    bytes[16..24].copy_from_slice(&request.bytes.to_le_bytes());
    bytes[24..28].copy_from_slice(&request.device.to_le_bytes());
    bytes[28] = request.op.code();
    bytes[29] = request.flags.bits();
    bytes[30] = request.stream;
    bytes
}

fn unpack(bytes: &[u8; SPILT_BYTES]) -> Request {
    let u64_at = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    Request {
        time_ns: u64_at(0),
        offset: u64_at(8),
        bytes: u64_at(16),
        device: u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]),
        op: Op::ALL[usize::from(bytes[28])],
        flags: Flags::of_bits(bytes[29]).unwrap_or(Flags::NONE),
        stream: bytes[30],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Delivers the given requests unchanged.
    struct Given(std::vec::IntoIter<Request>, Skipped);

    impl Reader for Given {
        fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
            let before = out.len();
            out.extend(self.0.by_ref().take(max));
            Ok(out.len() - before)
        }

        fn skipped(&self) -> &Skipped {
            &self.1
        }

        fn position_bytes(&self) -> u64 {
            0
        }

        fn devices(&self) -> Vec<String> {
            Vec::new()
        }

        fn notes(&self) -> Vec<String> {
            Vec::new()
        }
    }

    fn requests(times: &[u64]) -> Vec<Request> {
        let request = |(index, &time_ns): (usize, &u64)| Request {
            time_ns,
            offset: index as u64,
            bytes: u64::MAX / 2,
            device: index as u32,
            op: Op::ALL[index % 4],
            flags: Flags::of_bits(index as u8 % 32).unwrap(),
            stream: index as u8 % 64,
        };
        times.iter().enumerate().map(request).collect()
    }

    fn sorted(requests: Vec<Request>, run_requests: usize) -> Vec<Request> {
        let reader = Box::new(Given(requests.into_iter(), Skipped::default()));
        let mut sorted = SortedReader { run_requests, ..SortedReader::new(reader) };
        let mut out = Vec::new();
        while sorted.next_batch(&mut out, 5).unwrap() > 0 {}
        out
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
            for request in &mut expected {
                request.time_ns -= first_ns;
            }
            prop_assert_eq!(sorted(requests(&times), run_requests), expected);
        }
    }
}
