//! Advice on a load: a few questions of somebody who buys or fills drives, answered from a log.
//!
//! ```text
//! log ─► look ─┬─ it cannot answer: why, and what to record
//!              └─ device of today ─► spare, endurance, latency, effects, placement ─► confidence
//! ```
//! Nothing is measured here that another command does not measure: each question composes runs and
//! searches that exist.
//!
//! * [`answer`]      an answer, or why there is none
//! * [`mod@bench`]   runs on all cores
//! * [`mod@line`]    a line through write amplifications
//! * [`look`]        what the trace does
//! * [`subject`]     the device for it, and how it is measured
//! * [`spare`]       over-provisioning for a write amplification
//! * [`drive_class`] classes of drives, with their ratings
//! * [`endurance`]   years and drive writes a day
//! * [`latency`]     latency and throughput by queue depth
//! * [`effects`]     discards, streams, a write buffer
//! * [`placement`]   the distance from the bound
//! * [`confidence`]  how sure the answer is

pub mod answer;
pub mod bench;
pub mod confidence;
pub mod drive_class;
pub mod effects;
pub mod endurance;
pub mod latency;
pub mod line;
pub mod look;
pub mod placement;
pub mod spare;
pub mod subject;

use serde::Serialize;

use crate::advise::answer::{Answer, Refusal};
use crate::advise::bench::Bench;
use crate::advise::confidence::Confidence;
use crate::advise::effects::Effects;
use crate::advise::endurance::Endurance;
use crate::advise::latency::Latency;
use crate::advise::look::Look;
use crate::advise::spare::Spare;
use crate::advise::subject::{Choices, Subject};
use crate::config::experiment::ExperimentOption;
use crate::error::{Error, Result};
use crate::result::notes::{REPEATED, read_up_to};
use crate::result::run_result::RunResult;
use crate::sizing::bound::Bound;
use crate::sizing::probe::is_for_want_of_blocks;

/// The name and version of an advice as JSON.
pub const SCHEMA: &str = "ftlab.advise/1";

/// The advice on a load.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Advice {
    pub schema: &'static str,
    pub look: Look,
    /// None if the trace has no page.
    pub device: Option<AdvisedDevice>,
    pub spare: Answer<Spare>,
    pub endurance: Answer<Endurance>,
    pub latency: Answer<Latency>,
    pub effects: Answer<Effects>,
    pub placement: Answer<Bound>,
    pub confidence: Answer<Confidence>,
    /// Sentences about how the trace was read, and about the run with the drive's own
    /// over-provisioning.
    pub notes: Vec<String>,
}

/// The device that stands for the drive.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct AdvisedDevice {
    pub ftl: String,
    pub chip: String,
    pub fit: &'static str,
    pub logical_blocks: u64,
    pub extra_blocks: u64,
    pub block_bytes: u64,
    pub capacity_bytes: u64,
    pub round_passes: u64,
}

/// What is asked besides the load.
#[derive(Clone, Debug)]
pub struct Question {
    /// The write amplification that must not be exceeded.
    pub target: f64,
    /// Queue depths, in ascending order.
    pub depths: Vec<u32>,
}

impl Question {
    /// The question for this target and these depths, in any order.
    ///
    /// # Errors
    /// The target is below 1, or there are no depths, or one is 0.
    pub fn new(target: f64, mut depths: Vec<u32>) -> Result<Question> {
        if !(target >= 1.0 && target.is_finite()) {
            return Err(Error::Impossible(format!(
                "a target of {target}: every page that the host writes is programmed at least \
                 once, so write amplification is at least 1"
            )));
        }
        depths.sort_unstable();
        depths.dedup();
        match depths.first() {
            Some(1..) => Ok(Question { target, depths }),
            _ => Err(Error::Impossible(
                "queue depths are at least 1, and at least one is needed".into(),
            )),
        }
    }
}

impl Default for Question {
    fn default() -> Question {
        Question { target: 1.5, depths: vec![1, 8, 32, 128] }
    }
}

/// The options that describe logs, and a drive in place of the one of today.
const TAKEN: [&str; 15] = [
    "trace",
    "volume",
    "each_volume",
    "volumes",
    "format",
    "skip_bad",
    "sort",
    "limit",
    "fit",
    "ftl",
    "chip",
    "capacity",
    "extra",
    "drive",
    "seed",
];

/// Whether an advice takes this option of experiments.
pub fn takes(option: &ExperimentOption) -> bool {
    TAKEN.contains(&option.name)
}

/// The page in which a trace is looked at before it has a chip.
const PAGE_BYTES: u64 = 4096;

/// Advises on a load.
///
/// # Errors
/// The log cannot be read, an option is wrong, or a run fails or is stopped.
pub fn advise(choices: &Choices, question: &Question, bench: &Bench) -> Result<Advice> {
    choices.experiment.refuse_each_volume()?;
    let table = subject::requests(choices, &*(bench.monitor)("trace"))?;
    let page_bytes = match choices.has_chip {
        true => choices.chip()?.page_bytes.into(),
        false => PAGE_BYTES,
    };
    let mut look = Look::at(&table, page_bytes)?;
    let limit = choices.experiment.limit.filter(|&limit| limit == table.rows());
    look.notes.extend(limit.map(|limit| read_up_to("The trace", limit)));
    if look.data_requests() == 0 {
        let why = "The trace has neither reads nor writes.";
        return Ok(Advice::none(look, None, &Refusal::day(why.into())));
    }
    let subject = Subject::of(choices, look, table, bench)?;
    let drive = choices.experiment.drive.as_deref();
    let latency = || latency::latency(&subject, drive, choices.has_chip, &question.depths, bench);
    if let Some(refusal) = subject.look.without_collection(subject.extra_pages()) {
        let device = Some(AdvisedDevice::of(&subject));
        // Reads do not need a device that collects.
        let latency = match subject.look.writes {
            0 => latency()?,
            _ => Answer::Refused(refusal.clone()),
        };
        return Ok(Advice { latency, ..Advice::none(subject.look.clone(), device, &refusal) });
    }
    let own = match possible(own(&subject, bench), THESE)? {
        Answer::Found(own) => own,
        Answer::Refused(refusal) => {
            let device = Some(AdvisedDevice::of(&subject));
            return Ok(Advice::none(subject.look, device, &refusal));
        }
    };
    Ok(Advice {
        schema: SCHEMA,
        device: Some(AdvisedDevice::of(&subject)),
        spare: possible(spare::spare(&subject, &own, question.target, bench), THESE)?,
        endurance: possible(endurance::endurance(&subject, bench), CLASSES)?,
        latency: latency()?,
        effects: possible(effects::effects(&subject, &own, bench), THESE)?,
        placement: possible(placement::placement(&subject, bench), THESE)?,
        confidence: possible(confidence::confidence(choices, &subject, &own, bench), THESE)?,
        notes: notes(&subject.look, &own),
        look: subject.look,
    })
}

/// What is to be noted about the trace, then about a run of it, each sentence once.
fn notes(look: &Look, run: &RunResult) -> Vec<String> {
    let of_run = run.notes.iter().filter(|note| !look.notes.contains(note) && *note != REPEATED);
    look.notes.iter().chain(of_run).cloned().collect()
}

/// What a device is too small for, and what helps.
type Need = [&'static str; 2];
const THESE: Need =
    ["these runs", "Take a chip with smaller blocks, or give more extra blocks (`--extra`)."];
/// The extra blocks of a class of drives are its own.
const CLASSES: Need =
    ["runs with the extra blocks of each class of drives", "Take a chip with smaller blocks."];

/// An answer, unless a scheme needs more extra blocks than the device has.
fn possible<T>(answer: Result<T>, [runs, instead]: Need) -> Result<Answer<T>> {
    match answer {
        Ok(found) => Ok(Answer::Found(found)),
        Err(error) if is_for_want_of_blocks(&error) => Ok(Answer::Refused(Refusal::with(
            format!("The device is too small for {runs}: {error}."),
            instead,
        ))),
        Err(error) => Err(error),
    }
}

/// The run with the drive's own over-provisioning.
fn own(subject: &Subject, bench: &Bench) -> Result<RunResult> {
    let results = bench.results(&subject.input, "drive", &[subject.careful(|_| ())?])?;
    Ok(results.into_iter().next().expect("one run has one result"))
}

impl Advice {
    /// An advice that answers nothing.
    fn none(look: Look, device: Option<AdvisedDevice>, refusal: &Refusal) -> Advice {
        Advice {
            schema: SCHEMA,
            notes: look.notes.clone(),
            look,
            device,
            spare: Answer::Refused(refusal.clone()),
            endurance: Answer::Refused(refusal.clone()),
            latency: Answer::Refused(refusal.clone()),
            effects: Answer::Refused(refusal.clone()),
            placement: Answer::Refused(refusal.clone()),
            confidence: Answer::Refused(refusal.clone()),
        }
    }

    /// Whether any question is answered.
    pub fn answers(&self) -> bool {
        self.spare.found().is_some() || self.latency.found().is_some()
    }
}

impl AdvisedDevice {
    fn of(subject: &Subject) -> AdvisedDevice {
        let experiment = &subject.setup.experiment;
        AdvisedDevice {
            ftl: experiment.ftl.clone(),
            chip: experiment.chip.clone(),
            fit: experiment.fit.name(),
            logical_blocks: subject.logical_blocks,
            extra_blocks: subject.extra_blocks(),
            block_bytes: ftl::device::block_bytes(&subject.setup.chip),
            capacity_bytes: subject.capacity_bytes(),
            round_passes: subject.round_passes,
        }
    }
}
