//! An experiment whose options have been read and checked: the value that a run is built from.
//!
//! Options are kept as users write them (`page:victim=fifo`, `7%`). They are read here, once;
//! whatever builds or opens something takes a [`Setup`] and reads no option text again.

use std::sync::Arc;

use drive::Profile;
use ftl::{Choice, Layers};
use nand::{ChipModel, MediaModel, Op, WearChoice};
use spec::Spec;
use trace::RequestTable;

use crate::config::choices::{Fit, Streams, Timing};
use crate::config::experiment::{DEFAULT_DRIVE, Experiment};
use crate::config::named_trace::NamedTrace;
use crate::config::replay::Replay;
use crate::config::values::{LATENCY_NS_MAX, Volume};
use crate::error::{Error, Result};

/// How the sentence on a drive whose figures were converted begins.
pub const CONVERTED_DRIVE: &str = "The figures of drive ";

/// An experiment with all options read. They are valid and do not contradict each other.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The options as they were given.
    pub experiment: Experiment,
    /// The trace, or each of several loads.
    pub traces: Vec<ReplayedTrace>,
    /// The format of trace files, if one is given.
    pub format: Option<Spec>,
    /// The chip.
    pub chip: ChipModel,
    /// The scheme and its parameters.
    pub ftl: Choice,
    /// The layers above the scheme.
    pub layers: Layers,
    /// The drive in which time passes; none if time is serial.
    pub drive: Option<Profile>,
    /// How flash fails; none if it never does.
    pub media: Option<MediaModel>,
    /// How wear is levelled.
    pub wear: WearChoice,
}

/// A trace and the way in which it is replayed.
#[derive(Clone, Debug)]
pub struct ReplayedTrace {
    /// The trace.
    pub trace: NamedTrace,
    /// When its requests are issued.
    pub replay: Replay,
    /// The stream of its writes, if it is a load with one.
    pub stream: Option<u8>,
}

impl Setup {
    /// Reads all options and checks everything that can be checked without opening the trace.
    ///
    /// # Errors
    /// The first option that is wrong, or the options that contradict each other.
    pub fn new(experiment: &Experiment) -> Result<Setup> {
        experiment.check_values()?;
        let chip = chip(experiment)?;
        let setup = Setup {
            experiment: experiment.clone(),
            layers: Layers::new(&experiment.layers)?,
            traces: replayed_traces(experiment)?,
            format: format(experiment)?,
            ftl: scheme(experiment)?,
            drive: drive(experiment, &chip)?,
            media: MediaModel::parse(&experiment.media, chip.rated_cycles)?,
            wear: WearChoice::parse(&experiment.wear)?,
            chip,
        };
        setup.layers.check(setup.ftl.scheme, &setup.ftl.given, &setup.chip)?;
        setup.check_loads()?;
        setup.check_volumes()?;
        setup.check_media()?;
        Ok(setup)
    }

    /// The same setup for requests in memory, in place of the built-in workload.
    ///
    /// # Errors
    /// The setup has a trace or loads already; or it sorts the requests, but their times were
    /// changed when they were read.
    pub fn with_requests(mut self, table: &Arc<RequestTable>) -> Result<Setup> {
        let refuse = |why: String| Err(Error::Impossible(why));
        if self.experiment.trace.is_some() || self.has_tenants() {
            return refuse(String::from("give either requests in memory, or a trace or `--load`"));
        }
        let raised = table.report().skipped.backward_times;
        if self.experiment.sort && raised > 0 {
            return refuse(format!(
                "{} cannot be sorted any more: {raised} times were raised to that of an earlier \
                 request when they were read; sort them when they are read",
                table.name()
            ));
        }
        self.experiment.trace = Some(table.name().to_owned());
        self.traces[0].trace = NamedTrace::Requests(table.clone());
        Ok(self)
    }

    fn check_media(&self) -> Result<()> {
        match (self.experiment.reserve, self.media) {
            (Some(_), None) => Err(Error::Impossible(
                "`--reserve` is for flash that can fail: give `--media real`, or leave it out"
                    .into(),
            )),
            (_, Some(media)) if media.reads_fail() && self.experiment.verify => {
                let why = "`--verify` compares every page, and with `unreadable` or `read_fail` \
                           some cannot be read: leave it out; `ftlab check --faults unreadable` \
                           checks such media";
                Err(Error::Impossible(why.into()))
            }
            _ => Ok(()),
        }
    }

    /// Whether the highest address of a file or of requests in memory decides how large the device
    /// is, however few pages are touched.
    pub fn is_sized_by_addresses(&self) -> bool {
        let Experiment { capacity_bytes, fit, .. } = self.experiment;
        let is_stored = self.traces.iter().any(|replayed| !replayed.trace.is_workload());
        is_stored && capacity_bytes.is_none() && fit != Fit::Compact
    }

    /// A sentence about a drive whose figures are for pages of another size than the chip's.
    pub fn converted_drive(&self) -> Option<String> {
        let (drive, given) = (self.drive.as_ref()?, self.experiment.drive.as_deref()?);
        let stated = given.parse::<Profile>().ok()?.page.filter(|&it| Some(it) != drive.page)?;
        Some(format!(
            "{CONVERTED_DRIVE}{} are for pages of {}, and the chip has pages of {}. The drive \
             was given {} planes with {} pages at once, so that a command moves as many bytes.",
            drive.name,
            spec::print_size(stated),
            spec::print_size(self.chip.page_bytes.into()),
            drive.planes,
            drive.pages_at_once
        ))
    }

    /// Whether the traces are loads, even if there is only one.
    pub fn has_tenants(&self) -> bool {
        !self.experiment.load.is_empty()
    }

    /// The replay of each trace.
    pub fn replays(&self) -> Vec<Replay> {
        self.traces.iter().map(|replayed| replayed.replay).collect()
    }

    /// Refuses options for trace files if there is no file. It is checked when traces are opened,
    /// because a plan may replace the file of a row by a workload.
    ///
    /// # Errors
    /// Such an option is given.
    pub fn check_file_options(&self) -> Result<()> {
        let has_file = self.traces.iter().any(|replayed| replayed.trace.is_file());
        let is_generated = self.traces.iter().all(|replayed| replayed.trace.is_workload());
        let refuse = |why: &str| Err(Error::Impossible(why.to_owned()));
        if !has_file && (self.format.is_some() || self.experiment.skip_bad) {
            refuse("`--format` and `--skip-bad` are for trace files only")
        } else if is_generated && self.experiment.volume != Volume::All {
            refuse("`--volume` selects a volume of a trace, and a workload has only one")
        } else {
            Ok(())
        }
    }

    /// Refuses options that contradict `--each-volume`, or need it.
    fn check_volumes(&self) -> Result<()> {
        let Experiment { each_volume, volume, volumes, .. } = &self.experiment;
        let refuse = |why: &str| Err(Error::Impossible(why.to_owned()));
        if !each_volume {
            return match volumes {
                Some(_) => {
                    refuse("`--volumes` chooses among the rows of `--each-volume`; give both")
                }
                None => Ok(()),
            };
        }
        if *volume != Volume::All {
            refuse("give either `--volume` or `--each-volume`; `--volumes` chooses several volumes")
        } else if self.has_tenants() {
            refuse("`--each-volume` splits a single TRACE, not `--load`")
        } else if !self.traces[0].trace.is_file() || self.traces[0].trace.is_standard_input() {
            refuse("`--each-volume` needs a trace file: a workload has only one volume")
        } else {
            Ok(())
        }
    }

    /// Refuses options that contradict `--load`.
    fn check_loads(&self) -> Result<()> {
        let Setup { experiment, traces, .. } = self;
        let refuse = |why: &str| Err(Error::Impossible(why.to_owned()));
        if !self.has_tenants() {
            return match experiment.shared {
                true => refuse("`--shared` is for several loads; give each trace as a `--load`"),
                false => Ok(()),
            };
        }
        if experiment.until.is_some() {
            return refuse(
                "`--until` repeats a trace until the device is steady, but several loads end at \
                 different times and cannot be repeated together; give a single TRACE, or \
                 `--warmup` instead",
            );
        }
        let is_stdin = |replayed: &&ReplayedTrace| replayed.trace.is_standard_input();
        let files = traces.iter().filter(|replayed| replayed.trace.is_file()).count();
        let is_given = experiment.capacity_bytes.is_some() && !experiment.shared;
        if experiment.streams != Streams::Off && traces.iter().any(|it| it.stream.is_some()) {
            refuse("`--streams` and `@stream=` of a load both name streams; leave out one of them")
        } else if experiment.trace.is_some() {
            refuse("give either TRACE or `--load`: with loads, each trace is a `--load` of its own")
        } else if experiment.volume != Volume::All {
            refuse(
                "`--volume` selects a volume of a single trace; every load replays all of its \
                 volumes",
            )
        } else if traces.iter().filter(is_stdin).count() > 1 {
            refuse("only one load can be read from standard input; name a file for the others")
        } else if experiment.fit == Fit::Compact && is_given && (1..traces.len()).contains(&files) {
            refuse(
                "with `--fit compact` the files among the loads take as many pages as they touch, \
                 which is not known when `--capacity` is divided among the workloads; leave out \
                 one of these two options",
            )
        } else {
            Ok(())
        }
    }
}

/// Checks each option by itself. Options that are set one after the other may contradict each other
/// until all are set.
///
/// # Errors
/// The first option that is wrong.
pub fn check_each(experiment: &Experiment) -> Result<()> {
    experiment.check_values()?;
    Layers::new(&experiment.layers)?;
    scheme(experiment)?;
    chip(experiment)?;
    format(experiment)?;
    replayed_traces(experiment)?;
    experiment.drive.as_deref().map(str::parse::<Profile>).transpose()?;
    Ok(())
}

/// The drive, with pages of the chip's size.
fn drive(experiment: &Experiment, chip: &ChipModel) -> Result<Option<Profile>> {
    match (experiment.timing, &experiment.drive) {
        (Timing::Serial, None) => Ok(None),
        (Timing::Serial, Some(_)) => Err(Error::Impossible(
            "`--drive` describes a drive with channels; give `--timing drive` with it".into(),
        )),
        (Timing::Drive, name) => {
            let stated: Profile = name.as_deref().unwrap_or(DEFAULT_DRIVE).parse()?;
            Ok(Some(stated.for_pages(chip.page_bytes)?))
        }
    }
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

fn replayed_traces(experiment: &Experiment) -> Result<Vec<ReplayedTrace>> {
    let names = experiment.trace_names().into_iter();
    let traces = names.enumerate().map(|(number, name)| {
        let load = experiment.load.get(number);
        let replay = load.and_then(|load| load.replay).unwrap_or(experiment.replay);
        let stream = load.and_then(|load| load.stream);
        Ok(ReplayedTrace { trace: NamedTrace::parse(name)?, replay, stream })
    });
    traces.collect()
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
