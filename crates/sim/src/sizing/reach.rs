//! Whether a trace writes enough that a device has to collect blocks.
//!
//! A trace that writes less than the extra blocks of a usual device hold says nothing about
//! over-provisioning: repeated for ever, it measures how its few pages are repeated.

use crate::config::choices::Precondition;
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::config::values::Extra;
use crate::error::{Error, Result};
use crate::run::{RunOptions, run, writes_a_page};

/// What one pass of a trace writes.
#[derive(Clone, Debug)]
pub struct Reach {
    /// Notes about the trace.
    notes: Vec<String>,
    written_pages: u64,
    touched_pages: u64,
    logical_pages: u64,
    /// Pages of the extra blocks that a device has by default.
    usual_extra_pages: u64,
}

impl Reach {
    /// What one pass of the trace of this setup writes.
    ///
    /// # Errors
    /// As for any run; or the trace writes nothing.
    pub fn of(setup: &Setup, options: RunOptions) -> Result<Reach> {
        let counting = Setup::new(&Experiment {
            ftl: "page".into(),
            layers: Experiment::default().layers,
            extra: None,
            precondition: Precondition::None,
            warmup: 0,
            measure_after: 0,
            until: None,
            verify: false,
            ..setup.experiment.clone()
        })?;
        let input = options.input.expect("a search opens its trace once for all runs");
        if !writes_a_page(&counting, input, options.progress)? {
            let why = "the trace writes no page, so it needs no extra blocks";
            return Err(Error::Impossible(why.into()));
        }
        let result = run(&counting, options)?;
        let pages_per_block = u64::from(result.device.pages_per_block);
        let logical_blocks = u64::from(result.device.logical_blocks);
        Ok(Reach {
            notes: result.evidence.trace_notes,
            written_pages: result.host_pages.written,
            touched_pages: result.trace.footprint_pages,
            logical_pages: logical_blocks * pages_per_block,
            usual_extra_pages: Extra::of(None, logical_blocks) * pages_per_block,
        })
    }

    /// Pages written, as a share of the capacity.
    pub fn written_share(&self) -> f64 {
        self.written_pages as f64 / self.logical_pages as f64
    }

    /// Whether a full device with the usual extra blocks has to collect any.
    pub fn collects(&self) -> bool {
        self.written_pages > self.usual_extra_pages
    }

    /// The sentence about a trace that does not reach collection, after the notes about the trace.
    pub fn notes(&self) -> Vec<String> {
        [&self.notes[..], &[self.sentence()]].concat()
    }

    fn sentence(&self) -> String {
        let percent =
            |pages: u64| format!("{:.1} %", 100.0 * pages as f64 / self.logical_pages as f64);
        format!(
            "The trace does not reach collection: it writes {} of the capacity, and a usual device \
             has {} extra, so no over-provisioning follows from it. Take a longer trace; `--fit \
             compact` for a device of the pages that it touches ({}); or `--until steady`, which \
             repeats it",
            percent(self.written_pages),
            percent(self.usual_extra_pages),
            percent(self.touched_pages)
        )
    }
}
