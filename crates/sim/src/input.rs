//! The trace of an experiment, and what must be known of it before a device can be built.
//!
//! A file is read once beforehand: its volumes must be laid end to end, and by default the capacity
//! is what it needs. `--fit compact` reads it twice: the touched pages can be numbered only when
//! all volumes have their place. Comparing several FTLs needs all of this once.

use std::time::{Duration, Instant};

use spec::Spec;
use trace::pages::{PageRanks, PageSet};
use trace::{Op, ReadOptions, Request, Space, Trace};

use crate::device::{block_bytes, logical_blocks};
use crate::error::{Error, Result};
use crate::experiment::{Experiment, Fit, Volume};
use crate::host::{Host, Placing};
use crate::run::{Stage, Watch};

/// The workload when no trace is given.
pub const DEFAULT_TRACE: &str = "oltp";
/// Requests read at a time when a trace is only looked at.
const BATCH: usize = 1024;

/// An opened trace with the places of its volumes.
pub struct Input {
    trace: Trace,
    sha256: Option<String>,
    bases: Vec<Option<u64>>,
    touched: Option<PageRanks>,
    needed_bytes: u64,
    opened_in: Duration,
}

impl Input {
    /// Opens the experiment's trace and looks through it.
    ///
    /// # Errors
    /// The trace cannot be read, or cannot be meant.
    pub fn open(experiment: &Experiment, watch: &dyn Watch) -> Result<Input> {
        experiment.check()?;
        let started = Instant::now();
        let mut input = match source(experiment.trace.as_deref().unwrap_or(DEFAULT_TRACE))? {
            Origin::Workload(spec) => Input::workload(experiment, &spec)?,
            Origin::File(path) => Input::file(experiment, path, watch)?,
        };
        input.compact(experiment, watch)?;
        input.opened_in = started.elapsed();
        Ok(input)
    }

    fn new(trace: Trace, bases: Vec<Option<u64>>, needed_bytes: u64) -> Input {
        let (sha256, touched, opened_in) = (None, None, Duration::ZERO);
        Input { trace, sha256, bases, touched, needed_bytes, opened_in }
    }

    /// A workload over the whole capacity.
    fn workload(experiment: &Experiment, spec: &Spec) -> Result<Input> {
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
        let space = Space { capacity_bytes, page_bytes: chip.page_bytes };
        let trace = Trace::generate(spec, &space, experiment.seed)?.with_limit(experiment.limit);
        Ok(Input::new(trace, vec![Some(0)], capacity_bytes))
    }

    fn file(experiment: &Experiment, path: &str, watch: &dyn Watch) -> Result<Input> {
        let options = ReadOptions {
            format: experiment.format_spec()?,
            skip_bad: experiment.skip_bad,
            limit: experiment.limit,
        };
        let trace = Trace::open(path, &options)?;
        let ends = ends(&trace, watch)?;
        let (bases, needed_bytes) = lay_out(&ends, experiment)?;
        let sha256 = trace.sha256()?;
        Ok(Input { sha256, ..Input::new(trace, bases, needed_bytes) })
    }

    /// Numbers the touched pages, if that is how the trace is made to fit.
    fn compact(&mut self, experiment: &Experiment, watch: &dyn Watch) -> Result<()> {
        if experiment.fit == Fit::Compact {
            let page_bytes = experiment.chip()?.page_bytes.into();
            let touched = self.touched_pages(page_bytes, watch)?;
            self.needed_bytes = touched.len().saturating_mul(page_bytes);
            self.touched = Some(touched.freeze());
        }
        Ok(())
    }

    /// The pages that reads and writes touch, wherever they lie.
    fn touched_pages(&self, page_bytes: u64, watch: &dyn Watch) -> Result<PageSet> {
        let mut pages = PageSet::default();
        for_each(&self.trace, watch, |request| {
            let base = self.bases[request.device as usize];
            if let (Op::Read | Op::Write, Some(base)) = (request.op, base) {
                let first = (base + request.offset) / page_bytes;
                let last = (base + request.end() - 1) / page_bytes;
                pages.insert_range(first, last - first + 1);
            }
        })?;
        Ok(pages)
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// SHA-256 of the file as stored; none for a workload.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// How long opening it and looking through it took.
    pub fn opened_in(&self) -> Duration {
        self.opened_in
    }

    /// The capacity that the trace needs.
    pub fn needed_bytes(&self) -> u64 {
        self.needed_bytes
    }

    /// What cuts the requests for a device of this geometry and capacity.
    ///
    /// # Errors
    /// The touched pages do not fit.
    pub fn host(
        &self,
        experiment: &Experiment,
        geometry: &nand::Geometry,
        capacity_bytes: u64,
    ) -> Result<Host<'_>> {
        let placing = match (experiment.fit, &self.touched) {
            (Fit::Error, _) => Placing::Error,
            (Fit::Wrap, _) => Placing::Wrap,
            (Fit::Compact, Some(_)) if self.needed_bytes > capacity_bytes => {
                return Err(Error::Impossible(format!(
                    "the pages that the trace touches take {} bytes, the capacity is {}",
                    self.needed_bytes, capacity_bytes
                )));
            }
            (Fit::Compact, touched) => {
                Placing::Compact(touched.as_ref().expect("numbered when the trace was opened"))
            }
        };
        Ok(Host::new(&self.bases, placing, geometry, capacity_bytes))
    }
}

/// What a trace's word names.
#[derive(Debug)]
pub enum Origin<'a> {
    /// A file, there or missing; `-` is standard input.
    File(&'a str),
    /// A workload.
    Workload(Spec),
}

/// Whether a word names a file or a workload. What exists is a file; what looks like a path, and
/// what looks like nothing we know, is a missing one.
///
/// # Errors
/// A misspelt workload.
pub fn source(text: &str) -> Result<Origin<'_>> {
    if text == "-" || std::fs::symlink_metadata(text).is_ok() {
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

/// The byte behind the last one that each volume is asked for.
fn ends(trace: &Trace, watch: &dyn Watch) -> Result<Vec<u64>> {
    let mut ends = Vec::new();
    for_each(trace, watch, |request| {
        let device = request.device as usize;
        if device >= ends.len() {
            ends.resize(device + 1, 0);
        }
        ends[device] = request.end().max(ends[device]);
    })?;
    Ok(ends)
}

/// Where each volume begins, and the bytes behind the last one.
fn lay_out(ends: &[u64], experiment: &Experiment) -> Result<(Vec<Option<u64>>, u64)> {
    if let Volume::One(one) = experiment.volume {
        let Some(&end) = ends.get(one as usize) else {
            return Err(Error::Impossible(format!(
                "there is no volume {one}: the trace has {}, numbered from 0",
                ends.len()
            )));
        };
        let bases = (0..ends.len()).map(|device| (device == one as usize).then_some(0));
        return Ok((bases.collect(), end));
    }
    let block = block_bytes(&experiment.chip()?);
    let mut bases = Vec::with_capacity(ends.len());
    let mut total = 0u64;
    for &end in ends {
        let base = total.checked_next_multiple_of(block).ok_or_else(too_far)?;
        total = base.checked_add(end).ok_or_else(too_far)?;
        bases.push(Some(base));
    }
    Ok((bases, total))
}

fn too_far() -> Error {
    let sentence = "the volumes laid end to end exceed 64-bit addresses; take one `--volume`";
    Error::Impossible(sentence.into())
}

/// Looks at every request of a trace.
fn for_each(trace: &Trace, watch: &dyn Watch, mut see: impl FnMut(&Request)) -> Result<()> {
    let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
    while replay.next_batch(&mut batch, BATCH)? > 0 {
        batch.drain(..).for_each(|request| see(&request));
        watch.at(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Unwatched;
    use std::io::Write;

    const TWO_VOLUMES: &str = "0,0,1024,W,0.0\n1,255,4096,R,0.1\n0,4,512,W,0.2\n";

    fn opened(text: &str, change: impl Fn(&mut Experiment)) -> Result<Input> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let mut experiment = Experiment { trace, ..Experiment::default() };
        change(&mut experiment);
        Input::open(&experiment, &Unwatched)
    }

    #[test]
    fn volumes_are_laid_end_to_end_each_rounded_up_to_a_block() {
        let input = opened(TWO_VOLUMES, |_| ()).unwrap();
        assert_eq!(input.bases, [Some(0), Some(128 * 1024)]);
        assert_eq!(input.needed_bytes(), 128 * 1024 + 255 * 512 + 4096);
        let one = opened(TWO_VOLUMES, |e| e.volume = Volume::One(1)).unwrap();
        assert_eq!((one.bases.as_slice(), one.needed_bytes()), (&[None, Some(0)][..], 134_656));
        let none = opened(TWO_VOLUMES, |e| e.volume = Volume::One(2)).err().unwrap();
        assert_eq!(none.to_string(), "there is no volume 2: the trace has 2, numbered from 0");
    }

    #[test]
    fn compact_needs_what_is_touched() {
        let input = opened(TWO_VOLUMES, |e| e.fit = Fit::Compact).unwrap();
        assert_eq!(input.needed_bytes(), (2 + 3) * 2048);
        let geometry = nand::Geometry::new(2048, 64, 64, 9, nand::ProgramOrder::Any).unwrap();
        let compact = Experiment { fit: Fit::Compact, ..Experiment::default() };
        assert!(input.host(&compact, &geometry, 5 * 2048).is_ok());
        let error = input.host(&compact, &geometry, 4 * 2048).err().unwrap();
        assert!(error.to_string().contains("take 10240 bytes, the capacity is 8192"), "{error}");
    }

    #[test]
    fn a_word_is_a_file_a_workload_or_a_mistake() {
        let of = |text| source(text).map(|origin| matches!(origin, Origin::Workload(_)));
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
        let error = Input::open(&experiment, &Unwatched).err().unwrap();
        assert!(error.to_string().contains("`--skip-bad`"));
    }
}
