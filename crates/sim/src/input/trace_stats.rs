//! Traces looked through whole: what drawings of traces show.

use std::collections::HashMap;
use std::sync::Arc;

use trace::Trace;
use trace::analysis::example_pages::{PageIntervals, page_intervals};
use trace::analysis::locality::{TraceLocality, locality};
use trace::analysis::survey::{Survey, survey};

use crate::config::experiment::Experiment;
use crate::error::Result;
use crate::input::source::Source;

/// All that was counted of a trace.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// What it is made of.
    pub survey: Survey,
    /// Where its writes go.
    pub locality: TraceLocality,
    /// How a hot, a warm and a cold page are written.
    pub page_intervals: Vec<PageIntervals>,
}

impl Surveyed {
    /// Reads an experiment's trace through, three times, in pages of its chip.
    ///
    /// # Errors
    /// Whatever opening and reading it meet.
    pub fn of(experiment: &Experiment) -> Result<Surveyed> {
        let source = Source::open(experiment)?;
        let page_bytes = experiment.chip()?.page_bytes.into();
        Ok(Surveyed::through(source.trace(), page_bytes)?)
    }

    /// Reads a trace through, three times, in pages of so many bytes.
    ///
    /// # Errors
    /// Whatever reading it meets.
    ///
    /// # Panics
    /// If `page_bytes` is less than a sector of 512 bytes.
    pub fn through(trace: &Trace, page_bytes: u64) -> trace::Result<Surveyed> {
        let (survey, locality) = (survey(trace, page_bytes)?, locality(trace, page_bytes)?);
        let page_intervals = page_intervals(trace, page_bytes, &locality.examples)?;
        Ok(Surveyed { survey, locality, page_intervals })
    }
}

/// Traces that several drawings show, each looked through once.
#[derive(Debug, Default)]
pub struct Surveys {
    found: HashMap<String, core::result::Result<Arc<Surveyed>, String>>,
}

impl Surveys {
    /// The trace of an experiment.
    ///
    /// # Errors
    /// Why it cannot be read, in words.
    pub fn of(&mut self, experiment: &Experiment) -> core::result::Result<Arc<Surveyed>, String> {
        let key = serde_json::to_string(experiment).expect("options are text");
        let surveyed = || match Surveyed::of(experiment) {
            Ok(surveyed) => Ok(Arc::new(surveyed)),
            Err(error) => Err(error.to_string()),
        };
        self.found.entry(key).or_insert_with(surveyed).clone()
    }
}
