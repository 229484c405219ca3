//! The options of a run.
//!
//! * [`experiment`]    all options, declared once
//! * [`setup`]         all options read and checked; a run is built from it
//! * [`choices`]       options that are one keyword of a few
//! * [`values`]        options with a notation of their own
//! * [`volume_choice`] conditions by which volumes are chosen
//! * [`replay`]        when requests are issued
//! * [`until`]         the rule by which rounds end in a steady state
//! * [`load`]          one of several traces that are replayed at once
//! * [`command_line`]  an experiment as the command that runs it
//! * [`option_text`]   options as text
//! * [`named_trace`]   the file or workload that a trace's name stands for

pub mod choices;
pub mod command_line;
pub mod experiment;
pub mod load;
pub mod named_trace;
pub mod option_text;
pub mod replay;
pub mod setup;
pub mod until;
pub mod values;
pub mod volume_choice;
