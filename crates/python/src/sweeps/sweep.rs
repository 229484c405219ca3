//! A sweep: its journal while it runs, its rows and findings when it is done.

use std::collections::{BTreeMap, HashSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cli::sweeps::{PlanSource, ReadRows, SweepNames, SweepOutputs, plan_of_rows};
use cli::texts::sweep as texts;
use ftl::contract::page_policy::PolicySource;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use report::html_page::HtmlPage;
use report::pages::sweep_rows;
use serde_json::{Value, json};
use sim::plan::Scale;
use sim::plan::claim::{Claim, Verdict, Wanted};
use sim::result::columns::fault;
use sim::sweep::failed_row::RowFailure;
use sim::sweep::{
    Findings, Journal, Journals, Policies, RowFormat, RowState, RowWriter, Shard, Sweep,
    SweepProgress, refuse_missing_policies,
};
use sim::{Progress, Stage};

use crate::failure::{UsageError, failed, raised};
use crate::figures::{self, PrintedFiles, printed};
use crate::options::{jobs, memory_limit};
use crate::policy::MadePolicy;
use crate::sweeps::plan::NativePlan;
use crate::watched::{Watch, watched};

/// A sweep that is not done yet. Its journal is locked until it is closed or finished.
#[pyclass(module = "ftlab._native")]
pub struct NativeSweep {
    plan: Py<NativePlan>,
    out: String,
    /// Whether the file for the rows is deleted with the sweep, so that nobody is told of it.
    is_temporary: bool,
    jobs: NonZeroUsize,
    policies: Policies,
    outputs: SweepOutputs,
    journal: Option<Journal>,
}

#[pymethods]
impl NativeSweep {
    /// Begins a sweep whose rows go to `out`, or continues it: takes over what journals beside
    /// `out` have. With `report` it also writes a page. Rows that are run here are run `jobs` at a
    /// time; `policies` are those that they name.
    ///
    /// # Errors
    /// As the command: another sweep is writing the journal, it belongs to another plan, a file
    /// cannot be written, or a policy that a row names is none or missing.
    #[new]
    #[pyo3(signature = (
        plan, out, report=None, *, is_temporary=false, jobs=None, policies=BTreeMap::new()
    ))]
    fn new(
        py: Python<'_>,
        plan: Py<NativePlan>,
        out: String,
        report: Option<String>,
        is_temporary: bool,
        jobs: Option<&Bound<'_, PyAny>>,
        policies: BTreeMap<String, Bound<'_, PyAny>>,
    ) -> PyResult<NativeSweep> {
        let NativePlan { source, digests, .. } = plan.get();
        let (jobs, policies) = (self::jobs(jobs)?, self::policies(policies)?);
        refuse_missing_policies(&source.plan, &policies).map_err(raised)?;
        let names = SweepNames { rows: out.clone(), report, ..SweepNames::default() };
        let outputs = SweepOutputs::check(source, Shard::WHOLE, &names);
        let outputs = outputs.map_err(|failure| failed(&failure))?;
        let journal = watched(py, 1, None, |watch| {
            let (output, progress) = (outputs.rows_path(), &watch.run(0));
            Journals { output, plan: &source.plan, digests, progress }.gather()
        })?;
        let journal = journal.map_err(raised)?;
        Ok(NativeSweep { plan, out, is_temporary, jobs, policies, outputs, journal: Some(journal) })
    }

    /// What the user should know of its journal, in sentences.
    #[getter]
    fn warnings(&self) -> PyResult<Vec<String>> {
        Ok(self.journal()?.warnings().to_vec())
    }

    /// The rows that are not done yet.
    fn missing(&self) -> PyResult<Vec<usize>> {
        let journal = self.journal()?;
        Ok((0..self.source().plan.rows.len()).filter(|&row| !journal.is_done(row)).collect())
    }

    /// Runs the rows that are not done yet on the cores of this machine. `progress` is called as
    /// for one run, with the number of rows.
    ///
    /// # Errors
    /// `KeyboardInterrupt`, with what is done kept in the journal; or it cannot be written.
    #[pyo3(signature = (*, progress=None, memory_limit=None))]
    fn run(
        &mut self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        memory_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let limit_bytes = self::memory_limit(memory_limit)?;
        let (jobs, policies) = (self.jobs, &self.policies);
        let journal = self.journal.as_mut().ok_or_else(closed)?;
        let NativePlan { source, digests, inputs, .. } = self.plan.get();
        let (plan, shard) = (&source.plan, Shard::WHOLE);
        let sweep = Sweep { plan, shard, digests, inputs, jobs, limit_bytes, policies };
        let rows = source.plan.rows.len();
        let ran = watched(py, 1, progress.as_ref(), |watch| {
            let done = AtomicUsize::new(journal.count());
            sweep.run(journal, &RowCount { watch, done, rows })
        })?;
        ran.map_err(raised)
    }

    /// Keeps the outcome of a row that a worker ran.
    ///
    /// # Errors
    /// It is not an outcome, or the journal cannot be written.
    fn keep(&mut self, py: Python<'_>, row: usize, outcome: &str) -> PyResult<()> {
        let journal = self.journal.as_mut().ok_or_else(closed)?;
        let plan = &self.plan.get().source.plan;
        let kept = py.detach(|| {
            let (json, state) = sim::sweep::row::of_outcome(row, &plan.rows[row], outcome)?;
            journal.keep(row, &json, state)
        });
        kept.map_err(raised)
    }

    /// Keeps a row that could not be run, but is worth another try.
    ///
    /// # Errors
    /// The journal cannot be written.
    fn keep_refused(&mut self, row: usize, message: String) -> PyResult<()> {
        let journal = self.journal.as_mut().ok_or_else(closed)?;
        let why = RowFailure { exit_code: 1, message, is_refused: true };
        let json = sim::sweep::row::failed(row, &self.plan.get().source.plan.rows[row], &why);
        journal.keep(row, &json, RowState::Refused).map_err(raised)
    }

    /// Writes the rows, and the page if there is one, as the command does, deletes the journal
    /// unless rows were refused, and returns the rows and what was found.
    ///
    /// # Errors
    /// A file cannot be written, or the journal cannot be read.
    fn finish(&mut self, py: Python<'_>) -> PyResult<NativeRows> {
        let journal = self.journal.take().ok_or_else(closed)?;
        let NativePlan { source, scale, .. } = self.plan.get();
        let rows = watched(py, 1, None, |_| -> cli::failure::Result<NativeRows> {
            let found = self.outputs.write(&source.plan, *scale, &journal)?;
            let rows = (0..source.plan.rows.len()).map(|row| journal.row(row));
            let rows = rows.collect::<sim::Result<Vec<String>>>()?;
            let out = (!self.is_temporary).then_some(&*self.out);
            let refused = out.map_or(String::new(), |_| texts::of_refused(&journal));
            journal.finish()?;
            let found = NativeRows::of(rows, &found, *scale, out);
            Ok(NativeRows { summary: found.summary.clone() + &refused, ..found })
        })?;
        rows.map_err(|failure| failed(&failure))
    }

    /// Releases the journal; another sweep can continue it.
    fn close(&mut self) {
        self.journal = None;
    }
}

impl NativeSweep {
    fn source(&self) -> &PlanSource {
        &self.plan.get().source
    }

    fn journal(&self) -> PyResult<&Journal> {
        self.journal.as_ref().ok_or_else(closed)
    }
}

/// The policies of a sweep, each made by what Python gives for its name.
fn policies(makers: BTreeMap<String, Bound<'_, PyAny>>) -> PyResult<Policies> {
    let source = |(name, maker): (String, Bound<'_, PyAny>)| {
        let source: Arc<dyn PolicySource> = Arc::new(MadePolicy::new(&maker)?);
        Ok((name, source))
    };
    makers.into_iter().map(source).collect()
}

fn closed() -> PyErr {
    PyValueError::new_err("this sweep was closed")
}

/// Reports how many rows are done.
struct RowCount<'a> {
    watch: &'a Watch,
    done: AtomicUsize,
    rows: usize,
}

impl RowCount<'_> {
    fn show(&self, done: usize) -> sim::Result<()> {
        self.watch.run(0).report(Stage::Measure, done as u64, Some(self.rows as u64))
    }
}

impl SweepProgress for RowCount<'_> {
    fn report(&self, _: usize, _: Stage, _: u64, _: Option<u64>) -> sim::Result<()> {
        self.show(self.done.load(Ordering::Relaxed))
    }

    fn kept(&self, _: usize) {
        // Whether to stop is asked again with the next report of a run.
        let _ = self.show(self.done.fetch_add(1, Ordering::Relaxed) + 1);
    }

    fn in_thread(&self, rows: &mut (dyn FnMut() + Send)) {
        self.watch.in_python(rows);
    }
}

/// The rows of a finished sweep and what was found.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeRows {
    /// The rows as JSON, one line each, in the order of the plan.
    #[pyo3(get)]
    rows: Vec<String>,
    /// The numbers of the rows that failed.
    #[pyo3(get)]
    failed: Vec<usize>,
    /// The claims of the plan with their verdicts, as JSON.
    #[pyo3(get)]
    claims: String,
    /// The figures of its page, as JSON.
    #[pyo3(get)]
    figures: String,
    /// What the command prints.
    #[pyo3(get)]
    summary: String,
    /// The table of the rows for a paper.
    #[pyo3(get)]
    latex: String,
    /// What the user should know of the file, in a sentence.
    #[pyo3(get)]
    warning: Option<String>,
    page: HtmlPage,
}

#[pymethods]
impl NativeRows {
    /// The rows in a file of a sweep, or in the journal of one that is running, and what follows
    /// from them; claims only with their plan.
    ///
    /// # Errors
    /// `RunError` if the file cannot be read, `UsageError` if it has something else, a damaged row,
    /// or the rows of another plan.
    #[staticmethod]
    #[pyo3(signature = (path, plan=None))]
    fn read(py: Python<'_>, path: PathBuf, plan: Option<&NativePlan>) -> PyResult<NativeRows> {
        let read = py.detach(|| -> cli::failure::Result<_> {
            let read = cli::sweeps::read_rows(&path)?;
            let values = read.rows.iter().enumerate();
            let values = values.map(|(at, row)| cli::sweeps::parsed(at, row));
            let values = values.collect::<cli::failure::Result<Vec<Value>>>()?;
            Ok((read, values))
        });
        let (read, values) = read.map_err(|failure| failed(&failure))?;
        let name = path.to_string_lossy();
        let (of_rows, scale) = (plan_of_rows(&values), plan.map_or(Scale::Full, |it| it.scale));
        let mut found = Findings::of(plan.map_or(&of_rows, |plan| &plan.source.plan));
        let mut seen = HashSet::new();
        for (at, value) in values.iter().enumerate() {
            let refused =
                |why| UsageError::new_err(format!("{}: row {at} {why}", read.place(&name, at)));
            // A run that failed has no figures.
            if value["sweep"]["error"].is_null()
                && let Some(why) = fault(value)
            {
                return Err(refused(format!("is damaged: {why}")));
            }
            let row = match plan {
                None => Ok(at),
                Some(plan) => plan.row_of(value),
            };
            let row = row.map_err(|why| refused(format!("is not one of this plan: {why}")))?;
            let number = &value["sweep"]["row"];
            let end = read.planned.map_or(u64::MAX, |planned| planned as u64);
            if number.as_u64().is_none_or(|number| number >= end) {
                let wanted = match read.planned {
                    Some(planned) => format!("below {planned}"),
                    None => "a whole number from 0 on".to_owned(),
                };
                let why = format!("is damaged: `sweep.row` is {number}, and not {wanted}");
                return Err(refused(why));
            }
            if !seen.insert(number.as_u64()) {
                return Err(refused(format!("is there twice: `sweep.row` is {number}")));
            }
            found.see(row, value);
        }
        // Rows of a journal have gaps, so their places are not their numbers.
        let is_failed = |at: &usize| !values[*at]["sweep"]["error"].is_null();
        let failed = (0..values.len()).filter(is_failed).collect();
        let ReadRows { rows, warning, .. } = read;
        Ok(NativeRows { failed, warning, ..NativeRows::of(rows, &found, scale, Some(&name)) })
    }

    /// Its page, but for what it says of the traces: HTML.
    fn page(&self) -> String {
        self.page.html()
    }

    /// The figures of its page, but for those of its traces, as files for a paper.
    ///
    /// # Errors
    /// A figure cannot be drawn.
    fn svg(&self, py: Python<'_>) -> PyResult<PrintedFiles> {
        printed(py, &self.page)
    }
}

impl NativeRows {
    /// The rows in the file `out`, if they are kept in one, and what was found in them.
    fn of(rows: Vec<String>, found: &Findings, scale: Scale, out: Option<&str>) -> NativeRows {
        let page = cli::sweeps::page(found, scale);
        NativeRows {
            rows,
            failed: found.failed.iter().map(|row| row.row).collect(),
            claims: claims(found),
            figures: figures::of_sections(&page.sections),
            summary: texts::of_sweep(found, out, scale),
            latex: sweep_rows::latex(found, scale),
            warning: None,
            page,
        }
    }
}

fn claims(found: &Findings) -> String {
    let claims = found.plan().claims.iter().enumerate();
    let claims = claims.map(|(index, claim)| claim_json(claim, &found.verdicts(index)));
    Value::Array(claims.collect()).to_string()
}

fn claim_json(claim: &Claim, cells: &[Verdict]) -> Value {
    json!({
        "id": claim.id,
        "says": claim.says,
        "source": claim.source,
        "figure": claim.figure.to_string(),
        "within": claim.within,
        "verdict": claim.judgement(cells).word(),
        "cells": cells.iter().map(cell_json).collect::<Vec<_>>(),
    })
}

fn cell_json(cell: &Verdict) -> Value {
    let finite = |value: f64| value.is_finite().then_some(value);
    let (at_least, at_most) = match cell.wanted {
        Wanted::About(value) => (Some(value), Some(value)),
        Wanted::Between(low, high) => (finite(low), finite(high)),
        Wanted::Below(value) => (None, value),
        Wanted::Above(value) => (value, None),
    };
    json!({
        "label": cell.label,
        "row": cell.row,
        "over": cell.over,
        "at_least": at_least,
        "at_most": at_most,
        "found": cell.found,
        "deviation": cell.deviation(),
        "verdict": cell.judgement.word(),
    })
}

/// Rows, given as JSON, in the form of a file: `csv` or `jsonl`.
///
/// # Errors
/// `ValueError` if there is no such form, or a row is no JSON.
#[pyfunction]
pub fn rows_text(py: Python<'_>, rows: Vec<String>, form: &str) -> PyResult<String> {
    let unknown = || PyValueError::new_err(format!("rows have the form csv or jsonl, not {form}"));
    let form = RowFormat::of(&format!(".{form}")).ok_or_else(unknown)?;
    let written = py.detach(|| -> std::io::Result<Vec<u8>> {
        let mut text = Vec::new();
        let mut writer = RowWriter::new(&mut text, form)?;
        rows.iter().try_for_each(|row| writer.write(row))?;
        writer.finish()?;
        Ok(text)
    })?;
    String::from_utf8(written).map_err(|error| PyValueError::new_err(error.to_string()))
}
