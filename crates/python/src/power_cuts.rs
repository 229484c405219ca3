//! Power cuts at every flash operation, and the replay of a single case.

use std::sync::{Arc, Mutex, PoisonError};

use check::campaign::{Campaign, CampaignReport};
use check::case::Case;
use check::conformance;
use check::cut::faults::{Faults, promises};
use check::cut::operation_lines::OperationLines;
use check::cut::power_loss::{self, SecondCuts, Step, StepTexts, Watch as WatchReplay};
use check::cut::shrinking;
use check::device::action::Action;
use check::device::power_cut::PowerCut;
use check::device::powered_device::PoweredDevice;
use check::device_model::{DEVICE_MODELS, DeviceModel};
use check::failed_case::{FailedCase, replay_line};
use check::finding::Verdict;
use check::flash::Storage;
use check::observer::Observer;
use check::subject::Subject;
use check::workload::named::WORKLOADS;
use ftl::Durability;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::failure::{UsageError, raised};
use crate::watched::{Watch, watched};

/// What a check tried and found.
#[pyclass(frozen, get_all, module = "ftlab._native")]
pub struct NativeCheck {
    /// Number of cases.
    cases: u64,
    /// Power cuts: first ones, second ones and deeper ones.
    cuts: [u64; 3],
    /// Cases on devices that the FTL refuses.
    refused: u64,
    /// Verdicts: the name, the number of cases without cuts, and of first cuts.
    verdicts: Vec<(&'static str, u64, u64)>,
    /// Some findings of each verdict and case.
    findings: Vec<NativeFinding>,
    /// The smallest case with each verdict, if it was asked for.
    smallest: Vec<NativeFinding>,
    /// The steps of a replay, and their flash operations if they are wanted.
    steps: Vec<String>,
}

/// The number of findings that are tried again.
const TRIED_AGAIN_MAX: usize = 10;

/// Something that a check found, and what makes it happen again.
#[derive(Clone)]
#[pyclass(frozen, get_all, module = "ftlab._native")]
pub struct NativeFinding {
    verdict: &'static str,
    defect: &'static str,
    sentence: String,
    /// The command that replays it, for an FTL that a command can name.
    replay: String,
    geometry: String,
    workload: String,
    seed: u64,
    cuts: Vec<String>,
    /// A sentence if a second run did not find it again.
    note: String,
}

impl From<&FailedCase> for NativeFinding {
    fn from(failed: &FailedCase) -> NativeFinding {
        let FailedCase { finding, case, cuts, crashes } = failed;
        NativeFinding {
            verdict: finding.defect.verdict().name(),
            defect: finding.defect.name(),
            sentence: finding.sentence.clone(),
            replay: replay_line(case, cuts, crashes),
            geometry: case.model.spec(),
            workload: case.workload.clone(),
            seed: case.seed,
            cuts: cuts.iter().map(PowerCut::to_string).collect(),
            note: String::new(),
        }
    }
}

/// Stops a campaign when the caller is interrupted.
struct Watcher<'a>(&'a Watch);

impl Observer for Watcher<'_> {
    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

/// Which cases a check tries.
pub struct Choice {
    geometry: Vec<String>,
    workload: Vec<String>,
    seed: u64,
    faults: String,
    first_cuts: u32,
    second_cuts: u32,
    depth: usize,
    short_programs: usize,
    /// The cuts of a single case; none for all cases that the rest selects.
    cuts: Option<Vec<String>>,
    /// Whether a replay tells its flash operations.
    operations: bool,
    shrink: bool,
}

impl Choice {
    /// The choice that keywords describe.
    ///
    /// # Errors
    /// A value is of another type, or no number where one is needed.
    fn of(keywords: &Bound<'_, PyDict>) -> PyResult<Choice> {
        let value = |name| keywords.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name));
        Ok(Choice {
            geometry: texts("geometry", &value("geometry")?)?,
            workload: texts("workload", &value("workload")?)?,
            seed: whole("seed", &value("seed")?)?,
            faults: text("faults", &value("faults")?)?,
            first_cuts: whole("first_cuts", &value("first_cuts")?)?,
            second_cuts: whole("second_cuts", &value("second_cuts")?)?,
            depth: whole("depth", &value("depth")?)?,
            short_programs: whole("short_programs", &value("short_programs")?)?,
            cuts: match value("cuts")? {
                none if none.is_none() => None,
                cuts => Some(texts("cuts", &cuts)?),
            },
            operations: value("operations")?.is_truthy()?,
            shrink: value("shrink")?.is_truthy()?,
        })
    }
}

/// A whole number, or a text such as `4K`.
fn whole<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let written: String = value.str()?.extract()?;
    let why = |why: String| UsageError::new_err(format!("{name}: {why}"));
    let number = spec::parse_count(&written).map_err(|error| why(error.to_string()))?;
    number.try_into().map_err(|_| why(format!("`{written}` is too large")))
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().or_else(|_| {
        let kind = value.get_type().name()?;
        let what = format!("`{name}` takes texts, not a value of type {kind}");
        Err(PyTypeError::new_err(what))
    })
}

/// A text, or several.
fn texts(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.is_instance_of::<PyString>() {
        true => Ok(vec![text(name, value)?]),
        false => match value.try_iter() {
            Ok(items) => items.map(|item| text(name, &item?)).collect(),
            Err(_) => text(name, value).map(|it| vec![it]),
        },
    }
}

/// Cuts the power of an FTL, which a spec or a class names, at every program and erase.
///
/// # Errors
/// As `ftlab.errors` describes.
#[pyfunction]
#[pyo3(signature = (ftl, choice, progress=None))]
pub fn power_cuts(
    py: Python<'_>,
    ftl: &Bound<'_, PyAny>,
    choice: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeCheck> {
    let choice = Choice::of(choice)?;
    let spec = match crate::guest::spec_of(ftl)? {
        Some(spec) => spec,
        None => ftl.extract()?,
    };
    let work = Work::new(&spec, &choice)?;
    let done = watched(py, 1, progress.as_ref(), |watch| work.done(watch, choice.shrink))?;
    py.check_signals()?;
    done
}

/// What a check does.
enum Work {
    Campaign(Box<Campaign>),
    Replay { case: Box<Case>, cuts: Vec<PowerCut>, has_operations: bool },
}

impl Work {
    fn new(spec: &str, choice: &Choice) -> PyResult<Work> {
        match &choice.cuts {
            None if choice.operations => Err(wrong(
                "`operations` are those of a replay: give its `cuts`, also an empty list",
            )),
            None => Ok(Work::Campaign(Box::new(campaign(spec, choice)?))),
            Some(cuts) => {
                let case = single_case(spec, choice)?;
                let cuts =
                    cuts.iter().map(|text| promised(&case, text)).collect::<PyResult<_>>()?;
                let has_operations = choice.operations;
                Ok(Work::Replay { case: Box::new(case), cuts, has_operations })
            }
        }
    }

    fn done(&self, watch: &Watch, shrinks: bool) -> PyResult<NativeCheck> {
        let (mut told, failed) = match self {
            Work::Campaign(campaign) => {
                let report = campaign.run_watched(&Watcher(watch)).map_err(raised)?;
                (told(&report), report.total().failed)
            }
            Work::Replay { case, cuts, has_operations } => replayed(case, cuts, *has_operations)?,
        };
        let tried = failed.iter().zip(&mut told.findings).take(TRIED_AGAIN_MAX);
        for (failed, finding) in tried.filter(|_| !watch.is_stopped()) {
            finding.note = shrinking::unless_again(failed).unwrap_or_default();
        }
        if shrinks {
            let is_stopped = || watch.is_stopped();
            let smallest = shrinking::smallest(&failed, &is_stopped);
            told.smallest = smallest.map(|(failed, _)| NativeFinding::from(&failed)).collect();
        }
        Ok(told)
    }
}

fn wrong(error: impl std::fmt::Display) -> PyErr {
    UsageError::new_err(error.to_string())
}

/// The one case that the names select.
fn single_case(spec: &str, choice: &Choice) -> PyResult<Case> {
    let ([geometry], [workload]) = (&choice.geometry[..], &choice.workload[..]) else {
        return Err(wrong("`cuts` replays one case: name one `geometry` and one `workload`"));
    };
    let subject = Subject::from_spec(spec).map_err(wrong)?;
    let model = DeviceModel::from_spec(geometry).map_err(wrong)?;
    Case::new(&subject, &model, workload, choice.seed, Durability::Full).map_err(wrong)
}

/// A cut after which the FTL promises something.
fn promised(case: &Case, text: &str) -> PyResult<PowerCut> {
    let cut = PowerCut::parse(text).map_err(wrong)?;
    match promises(case, cut) {
        true => Ok(cut),
        false => {
            Err(wrong(format!("{} promises nothing after the cut {cut}", case.subject.name())))
        }
    }
}

/// Writes down the steps of a replay, and below each its flash operations if they are wanted.
#[derive(Default)]
struct Recorder {
    has_operations: bool,
    texts: StepTexts,
    /// The sink of each device adds to them as well.
    lines: Arc<Mutex<Vec<String>>>,
}

impl WatchReplay for Recorder {
    fn step(&mut self, step: Step) {
        let text = self.texts.next(step);
        add(&self.lines, text);
    }

    fn powered(&mut self, device: &mut PoweredDevice) {
        if self.has_operations {
            let lines = Arc::clone(&self.lines);
            let tell = move |line: &str| add(&lines, format!("  {line}"));
            device.attach(Box::new(OperationLines::new(tell)));
        }
    }
}

fn add(lines: &Mutex<Vec<String>>, line: String) {
    lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
}

/// Replays a case with these cuts, or without any.
fn replayed(
    case: &Case,
    cuts: &[PowerCut],
    has_operations: bool,
) -> PyResult<(NativeCheck, Vec<FailedCase>)> {
    let mut recorder = Recorder { has_operations, ..Recorder::default() };
    let done = match cuts.is_empty() {
        true => conformance::check_watched(case, &mut |action, device| {
            if action == Action::Mount {
                recorder.powered(device);
            }
            recorder.step(Step::Act(action));
        })
        .map(drop),
        false => match power_loss::replay(case, cuts, &mut recorder) {
            Ok(Some(missed)) => return Err(wrong(missed)),
            done => done.map(drop),
        },
    };
    let failed: Vec<FailedCase> = done.err().into_iter().collect();
    let count = |verdict: Verdict| {
        let found = failed.iter().filter(|it| it.finding.defect.verdict() == verdict).count();
        (verdict.name(), found as u64, 0)
    };
    let of_level = |level| u64::from(cuts.len() > level);
    let told = NativeCheck {
        cases: 1,
        cuts: [of_level(0), of_level(1), cuts.len().saturating_sub(2) as u64],
        refused: 0,
        verdicts: Verdict::ALL.map(count).to_vec(),
        findings: failed.iter().map(NativeFinding::from).collect(),
        smallest: Vec::new(),
        steps: recorder.lines.lock().unwrap_or_else(PoisonError::into_inner).clone(),
    };
    Ok((told, failed))
}

fn campaign(spec: &str, choice: &Choice) -> PyResult<Campaign> {
    let subject = Subject::from_spec(spec).map_err(wrong)?;
    let model = |text: &String| DeviceModel::from_spec(text).map_err(wrong);
    let models: PyResult<Vec<DeviceModel>> = choice.geometry.iter().map(model).collect();
    let all = || WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect();
    if choice.first_cuts == 0 || choice.depth == 0 {
        return Err(UsageError::new_err("`first_cuts` and `depth` must be at least 1"));
    }
    Ok(Campaign {
        subjects: vec![subject],
        models: if choice.geometry.is_empty() { vec![DEVICE_MODELS[0]] } else { models? },
        draws_devices: false,
        workloads: if choice.workload.is_empty() { all() } else { choice.workload.clone() },
        log: None,
        short_programs: choice.short_programs,
        seeds: vec![choice.seed],
        storage: Storage::Memory,
        durability: Durability::Full,
        faults: Faults::parse(&choice.faults).map_err(wrong)?,
        one_first_in: choice.first_cuts,
        second_cuts: match choice.second_cuts {
            0 => SecondCuts::None,
            1 => SecondCuts::All,
            n => SecondCuts::OneIn(n),
        },
        depth: choice.depth,
        budget: None,
    })
}

fn told(report: &CampaignReport) -> NativeCheck {
    let total = report.total();
    let count = |verdict: Verdict| {
        let is_uncut =
            |failed: &&FailedCase| failed.is_uncut() && failed.finding.defect.verdict() == verdict;
        let uncut = total.failed.iter().filter(is_uncut).count() as u64;
        (verdict.name(), uncut, total.cuts.found[verdict as usize].iter().sum::<u64>())
    };
    NativeCheck {
        cases: total.cases,
        cuts: [total.cuts.first, total.cuts.second, total.cuts.deeper],
        refused: report.refused,
        verdicts: Verdict::ALL.map(count).to_vec(),
        findings: total.failed.iter().map(NativeFinding::from).collect(),
        smallest: Vec::new(),
        steps: Vec::new(),
    }
}
