//! A trace that was parsed once and split into its volumes.
//!
//! ```text
//! file ─▶ parse ─┬─▶ requests of volume a ─▶ a source of its own
//!                └─▶ requests of volume b ─▶ a source of its own
//! ```
//! So a run of one volume reads the requests of this volume alone, whatever else the file has.

use std::sync::Arc;

use trace::analysis::volume_figures::{VolumeCounter, VolumeFigures};
use trace::{Error as TraceError, Request};

use crate::config::experiment::Experiment;
use crate::error::{Error, Result};
use crate::input::request_cache::{CacheBudget, CachedRequests};
use crate::input::source::RequestSource;
use crate::input::survey::Survey;
use crate::progress::Progress;

/// The volumes of a trace, in the order of their first requests. Volumes without requests, of which
/// the trace only has lines that were skipped, are left out.
pub struct SplitTrace {
    name: String,
    volumes: Vec<SplitVolume>,
}

/// A volume of a trace.
pub struct SplitVolume {
    /// Its name in the trace.
    pub name: String,
    /// Its requests.
    pub source: Arc<RequestSource>,
    /// The number of its requests.
    pub requests: u64,
    /// Its figures, if they were wanted.
    pub figures: Option<VolumeFigures>,
}

/// What is done with the requests of a trace that is split.
#[derive(Clone, Copy, Debug)]
pub struct Splitting<'a> {
    /// Where the requests are kept. If they are not, each pass over a volume parses the file.
    pub cache: Option<&'a Arc<CacheBudget>>,
    /// Whether the figures of volumes are counted.
    pub counts: bool,
}

impl SplitTrace {
    /// Reads a whole trace and splits it.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn read(
        source: &RequestSource,
        splitting: Splitting,
        progress: &dyn Progress,
    ) -> Result<SplitTrace> {
        let mut seen: Vec<SeenVolume> = Vec::new();
        let see = |request: &Request| {
            let volume = request.device as usize;
            if volume >= seen.len() {
                seen.resize_with(volume + 1, SeenVolume::default);
            }
            seen[volume].see(request, splitting.counts);
        };
        let cache = splitting.cache;
        let (names, kept) = CachedRequests::read_volumes(source.trace(), cache, progress, see)?;
        let mut kept = kept.map(Vec::into_iter);
        let volume = |(name, seen): (String, SeenVolume)| {
            let kept = kept.as_mut().and_then(Iterator::next);
            let requests = seen.survey.requests();
            let figures = splitting.counts.then(|| seen.counter.figures());
            let source = Arc::new(source.of_volume(&name, kept, seen.survey));
            SplitVolume { name, source, requests, figures }
        };
        let volumes = names.into_iter().zip(seen).map(volume);
        let volumes = volumes.filter(|volume| volume.requests > 0).collect();
        Ok(SplitTrace { name: source.trace().name().to_owned(), volumes })
    }

    /// The volumes.
    pub fn volumes(&self) -> &[SplitVolume] {
        &self.volumes
    }

    /// The volumes that an experiment chooses.
    ///
    /// # Errors
    /// None is chosen.
    pub fn chosen(&self, experiment: &Experiment) -> Result<Vec<&SplitVolume>> {
        let is_chosen = |volume: &&SplitVolume| match (&experiment.volumes, &volume.figures) {
            (Some(choice), Some(figures)) => choice.holds(figures),
            _ => true,
        };
        let chosen: Vec<&SplitVolume> = self.volumes.iter().filter(is_chosen).collect();
        match (chosen.is_empty(), &experiment.volumes) {
            (true, Some(choice)) => {
                let limit = experiment.limit.map(|limit| format!(" --limit {limit}"));
                let format = experiment
                    .format
                    .as_ref()
                    .map(|format| format!(" --format {}", spec::shell_word(&format.to_string())));
                Err(Error::Impossible(format!(
                    "none of the volumes of {} ({}) meets `{choice}`; `ftlab trace info {} \
                     --each-volume{}{}` lists their figures",
                    self.name,
                    self.volumes.len(),
                    spec::shell_word(&self.name),
                    format.unwrap_or_default(),
                    limit.unwrap_or_default()
                )))
            }
            (true, None) => Err(Error::Impossible(format!("{} has no requests", self.name))),
            (false, _) => Ok(chosen),
        }
    }

    /// How many volumes meet the conditions of an experiment, in a sentence; none without them.
    ///
    /// # Errors
    /// None does.
    pub fn choice(&self, experiment: &Experiment) -> Result<Option<String>> {
        let chosen = self.chosen(experiment)?.len();
        let (all, name) = (self.volumes.len(), &self.name);
        let says = |choice| format!("Of the {all} volumes of {name}, {chosen} meet {choice}.");
        Ok(experiment.volumes.as_ref().map(says))
    }

    /// The volume with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn volume(&self, name: &str) -> Result<&SplitVolume> {
        let found = self.volumes.iter().find(|volume| volume.name == name);
        let names = || self.volumes.iter().map(|volume| volume.name.clone()).collect();
        Ok(found.ok_or_else(|| TraceError::no_volume(&self.name, name, names()))?)
    }
}

/// What was seen of a volume.
#[derive(Default)]
struct SeenVolume {
    survey: Survey,
    counter: VolumeCounter,
}

impl SeenVolume {
    #[inline]
    fn see(&mut self, request: &Request, counts: bool) {
        self.survey.see(&Request { device: 0, ..*request });
        if counts {
            self.counter.see(request);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::setup::Setup;
    use crate::config::values::Volume;
    use crate::progress::NoProgress;
    use trace::replay::{ReadReport, Skipped};

    /// A trace of volumes `7`, `8` and `9`, the last of which has no request.
    fn file() -> tempfile::NamedTempFile {
        use std::io::Write;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for n in 0..9000_u64 {
            let volume = 7 + u64::from(n % 3 == 0);
            writeln!(file, "{volume},{},{},W,{n}.5", n * 8, 512 * (n % 7)).unwrap();
        }
        writeln!(file, "9,0,0,W,9000.0").unwrap();
        file
    }

    fn all(source: &RequestSource) -> (Vec<Request>, Vec<String>, Skipped) {
        let (mut stream, mut requests) = (source.replay().unwrap(), Vec::new());
        while stream.next_batch(&mut requests, 77).unwrap() > 0 {}
        let ReadReport { devices, skipped, .. } = stream.report();
        (requests, devices, skipped)
    }

    #[test]
    fn each_part_is_what_the_volume_alone_would_be() {
        let (file, budgets) = (file(), [None, Some(0), Some(60_000), Some(1 << 30)]);
        let trace = Some(file.path().to_str().unwrap().to_owned());
        let whole = Experiment { trace, ..Experiment::default() };
        let opened = |volume: Volume| {
            let setup = Setup::new(&Experiment { volume, ..whole.clone() }).unwrap();
            RequestSource::file(&setup, setup.experiment.trace.as_deref().unwrap()).unwrap()
        };
        for bytes in budgets {
            let cache = bytes.map(CacheBudget::new);
            let splitting = Splitting { cache: cache.as_ref(), counts: true };
            let split = SplitTrace::read(&opened(Volume::All), splitting, &NoProgress).unwrap();
            let names: Vec<&str> = split.volumes().iter().map(|it| it.name.as_str()).collect();
            assert_eq!(names, ["8", "7"], "in the order of their first requests");
            for volume in split.volumes() {
                let alone = opened(Volume::Named(volume.name.clone()));
                let (requests, devices, skipped) = all(&volume.source);
                assert!((&requests, &skipped) == (&all(&alone).0, &all(&alone).2), "{bytes:?}");
                assert_eq!(devices, [volume.name.as_str()]);
                assert_eq!(volume.requests, requests.len() as u64);
                let others = skipped.get("other volume");
                assert_eq!(others + volume.requests + skipped.get("zero-length"), 9001);
                assert_eq!(volume.figures.unwrap().writes, volume.requests);
                let survey = volume.source.survey(&NoProgress).unwrap();
                let expected = alone.survey(&NoProgress).unwrap();
                assert_eq!(format!("{survey:?}"), format!("{expected:?}"));
            }
            let missing = split.volume("17").err().unwrap();
            assert!(missing.to_string().contains("did you mean `7`"), "{missing}");
        }
    }
}
