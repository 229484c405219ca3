//! An experiment whose options have been read and checked: the value that a run is built from.
//!
//! Options are kept as users write them (`page:victim=fifo`, `7%`). They are read here, once;
//! whatever builds or opens something takes a [`Setup`] and reads no option text again.

use ftl::{Choice, Layers};
use nand::{ChipModel, Op};
use spec::Spec;

use crate::clock::serial::LATENCY_NS_MAX;
use crate::config::experiment::Experiment;
use crate::config::named_trace::NamedTrace;
use crate::error::{Error, Result};

/// An experiment with all options read. They are valid and do not contradict each other.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The options as they were given.
    pub experiment: Experiment,
    /// The trace.
    pub trace: NamedTrace,
    /// The format of the trace file, if one is given.
    pub format: Option<Spec>,
    /// The chip.
    pub chip: ChipModel,
    /// The scheme and its parameters.
    pub ftl: Choice,
    /// The layers above the scheme.
    pub layers: Layers,
}

impl Setup {
    /// Reads all options and checks everything that can be checked without opening the trace.
    ///
    /// # Errors
    /// The first option that is wrong, or the options that contradict each other.
    pub fn new(experiment: &Experiment) -> Result<Setup> {
        experiment.check_values()?;
        let setup = Setup {
            experiment: experiment.clone(),
            trace: named_trace(experiment)?,
            format: format(experiment)?,
            chip: chip(experiment)?,
            ftl: scheme(experiment)?,
            layers: Layers::new(&experiment.layers)?,
        };
        setup.layers.check(setup.ftl.scheme, &setup.ftl.given, &setup.chip)?;
        Ok(setup)
    }
}

/// Checks each option by itself. Options that are set one after the other may contradict each other
/// until all are set.
///
/// # Errors
/// The first option that is wrong.
pub fn check_each(experiment: &Experiment) -> Result<()> {
    experiment.check_values()?;
    scheme(experiment)?;
    chip(experiment)?;
    format(experiment)?;
    named_trace(experiment)?;
    Ok(())
}

fn scheme(experiment: &Experiment) -> Result<Choice> {
    Ok(Choice::from_spec(&Spec::parse(&experiment.ftl)?)?)
}

/// The chip; its latencies must be small enough for a clock to add them up.
fn chip(experiment: &Experiment) -> Result<ChipModel> {
    let chip = ChipModel::from_spec(&Spec::parse(&experiment.chip)?)?;
    match Op::ALL.into_iter().find(|&op| chip.timing.of(op) > LATENCY_NS_MAX) {
        Some(op) => Err(Error::Impossible(format!(
            "chip {}: a latency of {} ns ({op:?}) is beyond {LATENCY_NS_MAX} ns",
            experiment.chip,
            chip.timing.of(op)
        ))),
        None => Ok(chip),
    }
}

fn format(experiment: &Experiment) -> Result<Option<Spec>> {
    Ok(experiment.format.as_deref().map(Spec::parse).transpose()?)
}

fn named_trace(experiment: &Experiment) -> Result<NamedTrace> {
    NamedTrace::parse(experiment.trace_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::values::Interval;

    #[test]
    fn impossible_options_are_refused_before_anything_is_opened() {
        let why = |change: fn(&mut Experiment)| {
            let mut experiment = Experiment::default();
            change(&mut experiment);
            let error = Setup::new(&experiment).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{error}");
            error.to_string()
        };
        assert!(why(|e| e.capacity_bytes = Some(0)).contains("capacity 0"));
        assert!(why(|e| e.interval = Some(Interval::Every(0))).contains("interval"));
        assert!(why(|e| e.limit = Some(0)).contains("limit"));
        assert!(why(|e| e.ftl = "pge".into()).contains("did you mean `page`"));
        assert!(why(|e| e.chip = "slc-lsb:page=1000".into()).contains("512"));
        assert!(why(|e| e.chip = "slc-lsb:erase=11s".into()).contains("beyond"));
    }
}
