//! Where requests come from, as often as they are asked for: a workload that is made anew each
//! time, a file that is read anew each time, or a file's requests kept in memory.
//!
//! Keeping is for sweeps, whose rows read one trace again and again. A kept request takes 24 bytes;
//! all that a sweep keeps shares one [`Memory`], and what does not fit is read from its file. Both
//! ways deliver the same requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use spec::Spec;
use trace::replay::Skipped;
use trace::{AddressSpace, Flags, Op, ReadOptions, Replay, Request, Trace};

use crate::config::experiment::Experiment;
use crate::device::{block_bytes, logical_blocks};
use crate::error::{Error, Result};
use crate::progress::{Stage, Watch};

/// The workload when no trace is given.
pub const DEFAULT_TRACE: &str = "oltp";

/// What a trace's word names.
#[derive(Debug)]
pub enum Origin<'a> {
    /// A file, there or missing; `-` is standard input.
    File(&'a str),
    /// A workload.
    Workload(Spec),
}

/// Whether a word names a file or a workload. What exists is a file, be it under the very name, as
/// blktrace's files of each CPU, or as a member of an archive; what looks like a path, and what
/// looks like nothing we know, is a missing one.
///
/// # Errors
/// A misspelt workload.
pub fn origin(text: &str) -> Result<Origin<'_>> {
    if text == "-" || !trace::stored_files(text).is_empty() {
        return Ok(Origin::File(text));
    }
    let name = text.split(':').next().unwrap_or(text);
    let known = trace::registry::WORKLOADS.iter().map(|workload| workload.name);
    let resembles = spec::nearest(name, known).is_some();
    let looks_like_path = name.contains(['/', '.']);
    let looks_like_spec = text.contains(':') && text.contains('=');
    match !looks_like_path && (resembles || looks_like_spec) {
        true => {
            let spec = Spec::parse(text)?;
            trace::registry::workload(&spec.name)?;
            Ok(Origin::Workload(spec))
        }
        false => Ok(Origin::File(text)),
    }
}

/// An opened trace.
pub struct Source {
    trace: Trace,
    /// The capacity that a workload was made for; none for a file.
    capacity_bytes: Option<u64>,
    kept: Option<Kept>,
}

impl Source {
    /// Opens the experiment's trace.
    ///
    /// # Errors
    /// It cannot be opened, or cannot be meant.
    pub fn open(experiment: &Experiment) -> Result<Source> {
        match origin(experiment.trace.as_deref().unwrap_or(DEFAULT_TRACE))? {
            Origin::Workload(spec) => Source::workload(experiment, &spec),
            Origin::File(path) => Source::file(experiment, path),
        }
    }

    /// A workload over the whole capacity.
    fn workload(experiment: &Experiment, spec: &Spec) -> Result<Source> {
        if experiment.format.is_some() || experiment.skip_bad {
            let sentence = "`--format` and `--skip-bad` are for trace files, not for a workload";
            return Err(Error::Impossible(sentence.into()));
        }
        let chip = experiment.chip()?;
        let capacity_bytes = match experiment.capacity_bytes {
            Some(bytes) => bytes,
            None => trace::default_capacity(spec, chip.page_bytes)?,
        };
        let blocks = logical_blocks(&chip, capacity_bytes)?;
        let capacity_bytes = blocks.saturating_mul(block_bytes(&chip));
        let space = AddressSpace { capacity_bytes, page_bytes: chip.page_bytes };
        let trace = Trace::generate(spec, &space, experiment.seed)?.with_limit(experiment.limit);
        Ok(Source { trace, capacity_bytes: Some(capacity_bytes), kept: None })
    }

    fn file(experiment: &Experiment, path: &str) -> Result<Source> {
        let options = ReadOptions {
            format: experiment.format_spec()?,
            skip_bad: experiment.skip_bad,
            limit: experiment.limit,
        };
        let trace = Trace::open(path, &options)?.sorted(experiment.sort);
        Ok(Source { trace, capacity_bytes: None, kept: None })
    }

    /// The same source with its requests in memory, if it is a file and they fit. A trace that
    /// cannot be read to its end stays where it is: whoever runs it will say why.
    ///
    /// # Errors
    /// The watcher's will.
    pub fn kept(mut self, memory: &Arc<Memory>, watch: &dyn Watch) -> Result<Source> {
        if self.capacity_bytes.is_none() {
            self.kept = match Kept::read(&self.trace, memory, watch) {
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                read => read.ok().flatten(),
            };
        }
        Ok(self)
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The capacity that a workload was made for; none for a file.
    pub fn capacity_bytes(&self) -> Option<u64> {
        self.capacity_bytes
    }

    /// Whether the requests are in memory.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// What [`Reading::position`] approaches, if it is known.
    pub fn length(&self) -> Option<u64> {
        match &self.kept {
            Some(kept) => Some(kept.count),
            None => self.trace.size_hint_bytes(),
        }
    }

    /// Starts reading from the first request.
    ///
    /// # Errors
    /// The file cannot be opened again.
    pub fn replay(&self) -> Result<Reading<'_>> {
        Ok(match &self.kept {
            Some(kept) => Reading::Kept { kept, position: 0 },
            None => Reading::Stored(self.trace.replay()?),
        })
    }
}

/// One reading of a source.
pub enum Reading<'a> {
    /// From a file or generator.
    Stored(Replay),
    /// From memory.
    Kept {
        /// What is kept.
        kept: &'a Kept,
        /// Requests delivered.
        position: u64,
    },
}

impl Reading<'_> {
    /// Appends up to `max` requests to `out` and returns how many; 0 only at the end.
    ///
    /// # Errors
    /// A bad line, or bytes that cannot be read.
    pub fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        match self {
            Reading::Stored(replay) => Ok(replay.next_batch(out, max)?),
            Reading::Kept { kept, position } => {
                let count = kept.deliver(*position, out, max);
                *position += count as u64;
                Ok(count)
            }
        }
    }

    /// What has been skipped until now, or in the whole trace where it is kept: the same at the
    /// end.
    pub fn skipped(&self) -> &Skipped {
        match self {
            Reading::Stored(replay) => replay.skipped(),
            Reading::Kept { kept, .. } => &kept.skipped,
        }
    }

    /// How far this reading has come, in the unit of [`Source::length`].
    pub fn position(&self) -> u64 {
        match self {
            Reading::Stored(replay) => replay.position_bytes(),
            Reading::Kept { position, .. } => *position,
        }
    }
}

/// Memory for requests, shared by all that keep any.
#[derive(Debug)]
pub struct Memory {
    left_bytes: AtomicU64,
}

impl Memory {
    /// So much memory.
    pub fn new(bytes: u64) -> Arc<Memory> {
        Arc::new(Memory { left_bytes: AtomicU64::new(bytes) })
    }

    fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| left.checked_sub(bytes);
        self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.left_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Requests in a chunk of memory.
const CHUNK: usize = 1 << 16;
const CHUNK_BYTES: u64 = (CHUNK * size_of::<Packed>()) as u64;

/// A request as it is kept.
#[derive(Clone, Copy)]
struct Packed {
    time_ns: u64,
    offset: u64,
    bytes: u32,
    device: u16,
    op: Op,
    flags: Flags,
}

const _: () = assert!(size_of::<Packed>() == 24, "a kept request takes what the docs say");

impl Packed {
    fn of(request: &Request) -> Option<Packed> {
        let Request { time_ns, offset, bytes, device, op, flags } = *request;
        let (bytes, device) = (bytes.try_into().ok()?, device.try_into().ok()?);
        Some(Packed { time_ns, offset, bytes, device, op, flags })
    }

    fn request(&self) -> Request {
        let Packed { time_ns, offset, bytes, device, op, flags } = *self;
        Request { time_ns, offset, bytes: bytes.into(), device: device.into(), op, flags }
    }
}

/// All requests of a trace, in chunks, so that growing never copies.
pub struct Kept {
    chunks: Vec<Vec<Packed>>,
    count: u64,
    skipped: Skipped,
    memory: Arc<Memory>,
}

impl Kept {
    /// Reads a whole trace; none if memory runs out, or a request is beyond what a kept one holds.
    fn read(trace: &Trace, memory: &Arc<Memory>, watch: &dyn Watch) -> Result<Option<Kept>> {
        let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(CHUNK));
        let mut kept = Kept {
            chunks: Vec::new(),
            count: 0,
            skipped: Skipped::default(),
            memory: memory.clone(),
        };
        while replay.next_batch(&mut batch, CHUNK)? > 0 {
            for request in batch.drain(..) {
                if !kept.push(&request) {
                    return Ok(None);
                }
            }
            watch.at(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
        }
        kept.skipped = replay.skipped().clone();
        Ok(Some(kept))
    }

    fn push(&mut self, request: &Request) -> bool {
        let Some(packed) = Packed::of(request) else { return false };
        if self.count.is_multiple_of(CHUNK as u64) {
            if !self.memory.take(CHUNK_BYTES) {
                return false;
            }
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks.last_mut().expect("pushed above").push(packed);
        self.count += 1;
        true
    }

    fn deliver(&self, position: u64, out: &mut Vec<Request>, max: usize) -> usize {
        let (chunk, offset) = (position as usize / CHUNK, position as usize % CHUNK);
        let Some(chunk) = self.chunks.get(chunk) else { return 0 };
        let count = max.min(chunk.len() - offset);
        out.extend(chunk[offset..offset + count].iter().map(Packed::request));
        count
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.memory.give_back(CHUNK_BYTES * self.chunks.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Unwatched;
    use std::io::Write;

    /// A trace file of so many requests, one of them of nothing.
    fn file(requests: u64, bytes: u64) -> (tempfile::NamedTempFile, Source) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "0,0,0,W,0.0").unwrap();
        for n in 0..requests {
            writeln!(file, "{},{},{bytes},{},{n}.5", n % 3, n * 8, ["R", "W"][n as usize % 2])
                .unwrap();
        }
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let source = Source::open(&Experiment { trace, ..Experiment::default() }).unwrap();
        (file, source)
    }

    fn all(source: &Source) -> (Vec<Request>, Skipped) {
        let (mut reading, mut requests) = (source.replay().unwrap(), Vec::new());
        while reading.next_batch(&mut requests, 1000).unwrap() > 0 {}
        (requests, reading.skipped().clone())
    }

    #[test]
    fn what_is_kept_is_what_was_read_as_often_as_asked() {
        let (_file, source) = file(CHUNK as u64 + 10, 4096);
        let read = all(&source);
        let memory = Memory::new(2 * CHUNK_BYTES);
        let kept = source.kept(&memory, &Unwatched).unwrap();
        assert!(kept.is_kept());
        assert_eq!((kept.length(), read.1.get("zero-length")), (Some(CHUNK as u64 + 10), 1));
        for _ in 0..2 {
            assert!(all(&kept) == read);
        }
        drop(kept);
        assert!(memory.take(2 * CHUNK_BYTES), "memory comes back");
    }

    #[test]
    fn what_does_not_fit_stays_in_its_file() {
        for (requests, bytes, chunks) in [(CHUNK as u64 + 1, 512, 1), (1, 1 << 33, 1)] {
            let (_file, source) = file(requests, bytes);
            let memory = Memory::new(chunks * CHUNK_BYTES);
            let source = source.kept(&memory, &Unwatched).unwrap();
            assert!(!source.is_kept());
            assert_eq!(all(&source).0.len() as u64, requests);
            assert!(memory.take(chunks * CHUNK_BYTES), "memory comes back");
        }
    }

    #[test]
    fn a_word_is_a_file_a_workload_or_a_mistake() {
        let of = |text| origin(text).map(|origin| matches!(origin, Origin::Workload(_)));
        assert!(of("uniform:writes=10").unwrap());
        assert!(of("oltp").unwrap());
        assert!(!of("-").unwrap());
        assert!(!of("/no/such/file.trace").unwrap());
        assert!(!of("uniform.trace").unwrap());
        assert!(!of("nowhere").unwrap());
        for (text, hint) in [("unifrom:writes=1", "uniform"), ("olpt", "oltp"), ("x:y=1", "known")]
        {
            let error = of(text).unwrap_err();
            assert!(error.to_string().contains(hint), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn a_workload_takes_no_file_options() {
        let trace = Some("uniform:writes=10".to_owned());
        let experiment = Experiment { trace, skip_bad: true, ..Experiment::default() };
        let error = Source::open(&experiment).err().unwrap();
        assert!(error.to_string().contains("`--skip-bad`"));
    }
}
