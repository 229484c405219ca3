//! The trace of an experiment, and what must be known of it before a device can be built.
//!
//! A file is read once beforehand: its volumes must be laid end to end, and by default the capacity
//! is what it needs. `--fit compact` reads it twice: the touched pages can be numbered only when
//! all volumes have their place. Comparing several FTLs needs all of this once.

pub mod batch;
pub mod host;
pub mod source;
pub mod trace_stats;

use std::sync::Arc;
use std::time::{Duration, Instant};

use trace::analysis::page_set::{PageRanks, PageSet};
use trace::{Op, Request};

use crate::config::experiment::{Experiment, Fit, Volume};
use crate::device::block_bytes;
use crate::error::{Error, Result};
use crate::input::host::{Host, Placing};
use crate::input::source::Source;
use crate::progress::{Stage, Watch};

/// Requests read at a time when a trace is only looked at.
const BATCH: usize = 1024;

/// An opened trace with the places of its volumes.
pub struct Input {
    source: Arc<Source>,
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
        let input = Input::over(Arc::new(Source::open(experiment)?), experiment, watch)?;
        Ok(Input { opened_in: started.elapsed(), ..input })
    }

    /// Looks through the experiment's trace, which is opened already.
    ///
    /// # Errors
    /// The trace cannot be read, or cannot be meant.
    pub fn over(source: Arc<Source>, experiment: &Experiment, watch: &dyn Watch) -> Result<Input> {
        let (bases, needed_bytes) = match source.capacity_bytes() {
            Some(capacity_bytes) => (vec![Some(0)], capacity_bytes),
            None => lay_out(&ends(&source, watch)?, experiment)?,
        };
        let sha256 = source.trace().sha256()?;
        let (touched, opened_in) = (None, Duration::ZERO);
        let mut input = Input { source, sha256, bases, touched, needed_bytes, opened_in };
        input.compact(experiment, watch)?;
        Ok(input)
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
        for_each(&self.source, watch, |request| {
            let base = self.bases[request.device as usize];
            if let (Op::Read | Op::Write, Some(base)) = (request.op, base) {
                let first = (base + request.offset) / page_bytes;
                let last = (base + request.end() - 1) / page_bytes;
                pages.insert_range(first, last - first + 1);
            }
        })?;
        Ok(pages)
    }

    /// Where the requests come from.
    pub fn source(&self) -> &Source {
        &self.source
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

/// The byte behind the last one that each volume is asked for.
fn ends(source: &Source, watch: &dyn Watch) -> Result<Vec<u64>> {
    let mut ends = Vec::new();
    for_each(source, watch, |request| {
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
fn for_each(source: &Source, watch: &dyn Watch, mut see: impl FnMut(&Request)) -> Result<()> {
    let (mut reading, mut batch) = (source.replay()?, Vec::with_capacity(BATCH));
    while reading.next_batch(&mut batch, BATCH)? > 0 {
        batch.drain(..).for_each(|request| see(&request));
        watch.at(Stage::Survey, reading.position(), source.length())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Unwatched;
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
}
