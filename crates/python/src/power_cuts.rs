//! Power cuts at every flash operation.

use check::campaign::{Campaign, CampaignReport};
use check::case::Case;
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use check::device_model::{DEVICE_MODELS, DeviceModel};
use check::failed_case::{FailedCase, replay_line};
use check::finding::Verdict;
use check::flash::Storage;
use check::observer::Observer;
use check::subject::Subject;
use check::workload::named::WORKLOADS;
use ftl::Durability;
use pyo3::prelude::*;

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
    /// Findings: verdict, defect, sentence, replay line.
    findings: Vec<(&'static str, &'static str, String, String)>,
}

/// Stops a campaign when the caller is interrupted.
struct Watcher<'a>(&'a Watch);

impl Observer for Watcher<'_> {
    fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

/// Which cases a check tries.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Choice {
    geometry: Vec<String>,
    workload: Vec<String>,
    seed: u64,
    faults: String,
    first_cuts: u32,
    second_cuts: u32,
    depth: usize,
    short_programs: usize,
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
    choice: Choice,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeCheck> {
    let spec = match crate::guest::spec_of(ftl)? {
        Some(spec) => spec,
        None => ftl.extract()?,
    };
    let campaign = campaign(&spec, &choice)?;
    let report = watched(py, 1, progress.as_ref(), |watch| campaign.run_watched(&Watcher(watch)))?;
    py.check_signals()?;
    Ok(told(&report.map_err(raised)?))
}

fn campaign(spec: &str, choice: &Choice) -> PyResult<Campaign> {
    let wrong = |error: &dyn std::fmt::Display| UsageError::new_err(error.to_string());
    let subject = Subject::from_spec(spec).map_err(|error| wrong(&error))?;
    let model = |text: &String| DeviceModel::from_spec(text).map_err(|error| wrong(&error));
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
        faults: Faults::parse(&choice.faults).map_err(|error| wrong(&error))?,
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
        let is_uncut = |failed: &&FailedCase| {
            failed.cuts.is_empty() && failed.finding.defect.verdict() == verdict
        };
        let uncut = total.failed.iter().filter(is_uncut).count() as u64;
        (verdict.name(), uncut, total.cuts.found[verdict as usize].iter().sum::<u64>())
    };
    let finding = |failed: &FailedCase| {
        let FailedCase { finding, cuts, crashes, .. } = failed;
        let case: &Case = &failed.case;
        let verdict = finding.defect.verdict().name();
        let replay = replay_line(case, cuts, crashes);
        (verdict, finding.defect.name(), finding.sentence.clone(), replay)
    };
    NativeCheck {
        cases: total.cases,
        cuts: [total.cuts.first, total.cuts.second, total.cuts.deeper],
        refused: report.refused,
        verdicts: Verdict::ALL.map(count).to_vec(),
        findings: total.failed.iter().map(finding).collect(),
    }
}
