//! Statistics of a whole trace, for drawings of it.

use std::collections::HashMap;
use std::sync::Arc;

use trace::Trace;
use trace::analysis::example_pages::{PageIntervals, page_intervals};
use trace::analysis::load::{Load, load};
use trace::analysis::locality::{TraceLocality, locality};
use trace::analysis::survey::{Survey, survey};

use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::error::Result;
use crate::input::source::RequestSource;
use crate::progress::{NoProgress, Progress, Stage};

/// Everything that is counted of a trace.
#[derive(Clone, Debug)]
pub struct TraceStats {
    /// Its requests, sizes and pages.
    pub survey: Survey,
    /// Its load over time.
    pub load: Load,
    /// The places of its reads and writes.
    pub locality: TraceLocality,
    /// The writes to a hot, a warm and a cold page.
    pub page_intervals: Vec<PageIntervals>,
}

impl TraceStats {
    /// The statistics of an experiment's trace, in pages of its chip. The trace is read four
    /// times.
    ///
    /// # Errors
    /// The trace cannot be opened or read.
    pub fn of(experiment: &Experiment) -> Result<TraceStats> {
        let setup = Setup::new(experiment)?;
        let source = RequestSource::open(&setup)?;
        TraceStats::of_trace(source.trace(), setup.chip.page_bytes.into(), &NoProgress)
    }

    /// The statistics of an opened trace, in pages of `page_bytes`. The trace is read four times.
    ///
    /// # Errors
    /// The trace cannot be read, or the reading is stopped.
    ///
    /// # Panics
    /// If `page_bytes` is less than a sector of 512 bytes.
    pub fn of_trace(trace: &Trace, page_bytes: u64, progress: &dyn Progress) -> Result<TraceStats> {
        let length = trace.size_hint_bytes();
        let report = |position| progress.report(Stage::Survey, position, length);
        let survey = survey(trace, page_bytes, report)?;
        let locality = locality(trace, page_bytes, report)?;
        let page_intervals = page_intervals(trace, page_bytes, &locality.examples, report)?;
        Ok(TraceStats { survey, load: load(trace, report)?, locality, page_intervals })
    }
}

/// Statistics of traces that several drawings show; each trace is read only once.
#[derive(Debug, Default)]
pub struct TraceStatsCache {
    found: HashMap<Experiment, core::result::Result<Arc<TraceStats>, String>>,
}

impl TraceStatsCache {
    /// The statistics of an experiment's trace.
    ///
    /// # Errors
    /// A sentence that says why the trace cannot be read.
    pub fn of(&mut self, experiment: &Experiment) -> core::result::Result<Arc<TraceStats>, String> {
        let stats = || match TraceStats::of(experiment) {
            Ok(stats) => Ok(Arc::new(stats)),
            Err(error) => Err(error.to_string()),
        };
        self.found.entry(experiment.clone()).or_insert_with(stats).clone()
    }
}
