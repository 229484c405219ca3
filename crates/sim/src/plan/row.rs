//! A row of a plan: one run.

use serde_json::{Map, Value};

use crate::config::experiment::Experiment;

/// The largest number of rows that a plan may have.
pub const ROWS_MAX: usize = 100_000;

/// One run of a plan.
#[derive(Clone, Debug)]
pub struct Row {
    /// The run.
    pub experiment: Experiment,
    /// The options that the grid or list set, as they are written.
    pub varied: Map<String, Value>,
}

/// The size at which a plan is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// With the smaller values of the plan's `quick` part. Its results settle no claim.
    Quick,
    /// As the plan is written.
    Full,
}

/// Reads the text of another plan, or says why it cannot be read. The other plan's name is relative
/// to the plan that names it.
pub type ReadOther<'a> = &'a dyn Fn(&str) -> core::result::Result<String, String>;
