//! The trace of a run, opened and surveyed, so that a device can be built for it.
//!
//! A file is read once beforehand, because its volumes are laid end to end and because, by default,
//! the capacity is what the trace needs. `--fit compact` reads it twice: touched pages can be
//! numbered only once all volumes have their place. Comparing several FTLs needs this only once.
//!
//! * [`source`]        an opened trace, readable as often as needed
//! * [`request_cache`] the requests of a file in memory
//! * [`host`]          from the bytes of a request to runs of pages
//! * [`batch`]         requests that are read together
//! * [`trace_stats`]   statistics of a whole trace, for drawings

pub mod batch;
pub mod host;
pub mod request_cache;
pub mod source;
pub mod trace_stats;

use std::sync::Arc;
use std::time::{Duration, Instant};

use nand::ChipModel;
use trace::analysis::page_set::{PageRanks, PageSet};
use trace::{Op, Request};

use crate::config::choices::Fit;
use crate::config::setup::Setup;
use crate::config::values::Volume;
use crate::device::block_bytes;
use crate::error::{Error, Result};
use crate::input::host::{Host, Placing};
use crate::input::request_cache::CacheBudget;
use crate::input::source::RequestSource;
use crate::progress::{Progress, Stage};

/// Requests read at a time during a survey.
const BATCH: usize = 1024;

/// An opened trace, its volumes laid end to end.
pub struct Input {
    source: Arc<RequestSource>,
    sha256: Option<String>,
    /// The first byte of each volume; `None` for a volume that is not replayed.
    bases: Vec<Option<u64>>,
    touched: Option<PageRanks>,
    needed_bytes: u64,
    opened_in: Duration,
}

impl Input {
    /// Opens and surveys the trace of a setup.
    ///
    /// # Errors
    /// The trace cannot be read, or does not fit the options.
    pub fn open(setup: &Setup, progress: &dyn Progress) -> Result<Input> {
        let started = Instant::now();
        let input = Input::over(Arc::new(RequestSource::open(setup)?), setup, progress)?;
        Ok(Input { opened_in: started.elapsed(), ..input })
    }

    /// Opens and surveys the trace of a setup for several runs. A file is read once: its requests
    /// are cached in memory, if they fit into `cache_bytes`.
    ///
    /// # Errors
    /// The trace cannot be read, or does not fit the options.
    pub fn open_cached(setup: &Setup, cache_bytes: u64, progress: &dyn Progress) -> Result<Input> {
        let started = Instant::now();
        let source =
            RequestSource::open(setup)?.cached(&CacheBudget::new(cache_bytes), progress)?;
        let input = Input::over(Arc::new(source), setup, progress)?;
        Ok(Input { opened_in: started.elapsed(), ..input })
    }

    /// Surveys a trace that is open already.
    ///
    /// # Errors
    /// The trace cannot be read, or does not fit the options.
    pub fn over(
        source: Arc<RequestSource>,
        setup: &Setup,
        progress: &dyn Progress,
    ) -> Result<Input> {
        let (bases, needed_bytes) = match source.capacity_bytes() {
            Some(capacity_bytes) => (vec![Some(0)], capacity_bytes),
            None => {
                let ends = ends(&source, progress)?;
                lay_out(&ends, setup.experiment.volume, &setup.chip)?
            }
        };
        let sha256 = source.trace().sha256()?;
        let (touched, opened_in) = (None, Duration::ZERO);
        let mut input = Input { source, sha256, bases, touched, needed_bytes, opened_in };
        if setup.experiment.fit == Fit::Compact {
            input.compact(setup.chip.page_bytes.into(), progress)?;
        }
        Ok(input)
    }

    /// Numbers the touched pages.
    fn compact(&mut self, page_bytes: u64, progress: &dyn Progress) -> Result<()> {
        let touched = self.touched_pages(page_bytes, progress)?;
        self.needed_bytes = touched.len().saturating_mul(page_bytes);
        self.touched = Some(touched.freeze());
        Ok(())
    }

    /// The pages that reads and writes touch, in the addresses of the volumes laid end to end.
    fn touched_pages(&self, page_bytes: u64, progress: &dyn Progress) -> Result<PageSet> {
        let mut pages = PageSet::default();
        for_each(&self.source, progress, |request| {
            let base = self.bases[request.device as usize];
            if let (Op::Read | Op::Write, Some(base)) = (request.op, base) {
                let first = (base + request.offset) / page_bytes;
                let last = (base + request.end() - 1) / page_bytes;
                pages.insert_range(first, last - first + 1);
            }
        })?;
        Ok(pages)
    }

    /// The source of the requests.
    pub fn source(&self) -> &RequestSource {
        &self.source
    }

    /// SHA-256 of the file as stored; none for a workload.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The time that opening and surveying took.
    pub fn opened_in(&self) -> Duration {
        self.opened_in
    }

    /// The capacity that the trace needs.
    pub fn needed_bytes(&self) -> u64 {
        self.needed_bytes
    }

    /// The host that cuts the requests for a device of this geometry and capacity.
    ///
    /// # Errors
    /// The touched pages do not fit.
    pub fn host(
        &self,
        fit: Fit,
        geometry: &nand::Geometry,
        capacity_bytes: u64,
    ) -> Result<Host<'_>> {
        let placing = match (fit, &self.touched) {
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

/// For each volume, the end of the last byte that is requested.
fn ends(source: &RequestSource, progress: &dyn Progress) -> Result<Vec<u64>> {
    let mut ends = Vec::new();
    for_each(source, progress, |request| {
        let device = request.device as usize;
        if device >= ends.len() {
            ends.resize(device + 1, 0);
        }
        ends[device] = request.end().max(ends[device]);
    })?;
    Ok(ends)
}

/// The first byte of each volume that is replayed, and the end of the last one.
fn lay_out(ends: &[u64], volume: Volume, chip: &ChipModel) -> Result<(Vec<Option<u64>>, u64)> {
    match volume {
        Volume::One(one) => alone(ends, one),
        Volume::All => end_to_end(ends, block_bytes(chip)),
    }
}

fn alone(ends: &[u64], one: u32) -> Result<(Vec<Option<u64>>, u64)> {
    let Some(&end) = ends.get(one as usize) else {
        return Err(Error::Impossible(format!(
            "there is no volume {one}: the trace has {}, numbered from 0",
            ends.len()
        )));
    };
    let bases = (0..ends.len()).map(|device| (device == one as usize).then_some(0));
    Ok((bases.collect(), end))
}

fn end_to_end(ends: &[u64], block_bytes: u64) -> Result<(Vec<Option<u64>>, u64)> {
    let mut bases = Vec::with_capacity(ends.len());
    let mut total = 0u64;
    for &end in ends {
        let base = total.checked_next_multiple_of(block_bytes).ok_or_else(too_far)?;
        total = base.checked_add(end).ok_or_else(too_far)?;
        bases.push(Some(base));
    }
    Ok((bases, total))
}

fn too_far() -> Error {
    let sentence = "the volumes laid end to end exceed 64-bit addresses; take one `--volume`";
    Error::Impossible(sentence.into())
}

/// Calls `see` with every request of a trace.
fn for_each(
    source: &RequestSource,
    progress: &dyn Progress,
    mut see: impl FnMut(&Request),
) -> Result<()> {
    let (mut stream, mut batch) = (source.replay()?, Vec::with_capacity(BATCH));
    while stream.next_batch(&mut batch, BATCH)? > 0 {
        batch.drain(..).for_each(|request| see(&request));
        progress.report(Stage::Survey, stream.position(), source.length())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::progress::NoProgress;
    use std::io::Write;

    const TWO_VOLUMES: &str = "0,0,1024,W,0.0\n1,255,4096,R,0.1\n0,4,512,W,0.2\n";

    fn opened(text: &str, change: impl Fn(&mut Experiment)) -> Result<Input> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let mut experiment = Experiment { trace, ..Experiment::default() };
        change(&mut experiment);
        Input::open(&Setup::new(&experiment)?, &NoProgress)
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
        assert!(input.host(Fit::Compact, &geometry, 5 * 2048).is_ok());
        let error = input.host(Fit::Compact, &geometry, 4 * 2048).err().unwrap();
        assert!(error.to_string().contains("take 10240 bytes, the capacity is 8192"), "{error}");
    }

    #[test]
    fn a_cached_trace_is_read_once() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(TWO_VOLUMES.as_bytes()).unwrap();
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let setup = Setup::new(&Experiment { trace, ..Experiment::default() }).unwrap();
        let [cached, stored] =
            [1 << 30, 0].map(|bytes| Input::open_cached(&setup, bytes, &NoProgress).unwrap());
        drop(file);
        assert!(stored.source().replay().is_err(), "the file is gone");
        let (mut stream, mut requests) = (cached.source().replay().unwrap(), Vec::new());
        assert_eq!(stream.next_batch(&mut requests, 9).unwrap(), 3);
    }
}
