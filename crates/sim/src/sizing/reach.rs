//! Whether a trace writes enough that a device has to collect blocks.
//!
//! A trace that writes less than the extra blocks of a usual device hold says nothing about
//! over-provisioning: repeated for ever, it measures how its few pages are repeated.

use crate::config::choices::{Fit, Precondition};
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
    /// Extra blocks that a device has by default, and the pages that they hold.
    usual_extra_blocks: u64,
    usual_extra_pages: u64,
    /// Whether the device already consists of the touched pages alone.
    is_compact: bool,
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
        let usual_extra_blocks = Extra::of(None, logical_blocks);
        Ok(Reach {
            notes: result.evidence.trace_notes,
            written_pages: result.host_pages.written,
            touched_pages: result.trace.footprint_pages,
            logical_pages: logical_blocks * pages_per_block,
            usual_extra_blocks,
            usual_extra_pages: usual_extra_blocks * pages_per_block,
            is_compact: setup.experiment.fit == Fit::Compact,
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
        let compact = match self.is_compact {
            true => String::new(),
            false => format!(
                "`--fit compact` for a device of the pages that it touches ({}); ",
                percent(self.touched_pages)
            ),
        };
        format!(
            "The trace does not reach collection: it writes {} pages ({} of the capacity), but the \
             {} extra blocks of a usual device hold {}, so no over-provisioning follows from it. \
             Take a longer trace; {compact}or `--until steady`, which repeats it",
            self.written_pages,
            percent(self.written_pages),
            self.usual_extra_blocks,
            self.usual_extra_pages
        )
    }
}
