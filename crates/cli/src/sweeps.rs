//! What the command and the Python package do alike around a sweep: they read its plan, check its
//! files before anything runs, and write its rows, its page and its table.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use report::html_page::HtmlPage;
use report::pages::{sweep as sweep_page, sweep_rows};
use serde_json::Value;
use sim::input::trace_stats::TraceStatsCache;
use sim::plan::{Plan, ReadOther, Row, Scale};
use sim::sweep::fleet::with_each_volume;
use sim::sweep::journal::{self, RowsSoFar};
use sim::sweep::{
    Findings, Journal, Journals, RowFormat, RowWriter, Shard, SharedInputs, TraceDigests,
};
use sim::{Experiment, Progress};

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::figure_folder::{FigureArgs, FigureFolder};
use crate::output::{made_by, write_text};
use crate::paper_plans;

/// A plan and the files that it was read from.
#[derive(Debug)]
pub struct PlanSource {
    /// The plan.
    pub plan: Plan,
    /// The plan's file, and those of the plans that it names; none for a text.
    files: Vec<PathBuf>,
}

impl PlanSource {
    /// Reads a plan from a file. Plans that it names lie beside it. Trace files are in `traces`, if
    /// it is given.
    ///
    /// # Errors
    /// The file cannot be read, or the plan has a mistake.
    pub fn read(path: &Path, scale: Scale, traces: Option<&Path>) -> Result<PlanSource> {
        let name = path.to_string_lossy();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::failed(format!("cannot read plan {name}: {error}")))?;
        let files = RefCell::new(vec![path.to_owned()]);
        let beside = |other: &str| {
            let path = path.with_file_name(other);
            let text = std::fs::read_to_string(&path).map_err(|error| error.to_string());
            files.borrow_mut().push(path);
            text
        };
        let plan = parsed_plan(&name, &text, scale, traces, &beside)?;
        Ok(PlanSource { plan, files: files.into_inner() })
    }

    /// Reads a plan from a text; errors call it `plan`. Plans that it names are in the current
    /// folder, or among those of the papers.
    ///
    /// # Errors
    /// The plan has a mistake.
    pub fn parse(text: &str, scale: Scale, traces: Option<&Path>) -> Result<PlanSource> {
        let files = RefCell::new(Vec::new());
        let other = |name: &str| match std::fs::read_to_string(name) {
            Ok(text) => {
                files.borrow_mut().push(name.into());
                Ok(text)
            }
            Err(error) => paper_plans::shared_runs(name).ok_or_else(|| error.to_string()),
        };
        let plan = parsed_plan("plan", text, scale, traces, &other)?;
        Ok(PlanSource { plan, files: files.into_inner() })
    }

    /// A plan that was not read from a file.
    pub fn of(plan: Plan) -> PlanSource {
        PlanSource { plan, files: Vec::new() }
    }

    /// The same source, whose plan has a row for each volume of a trace. It reads the traces of
    /// such rows.
    ///
    /// # Errors
    /// A trace cannot be read, or the plan cannot have such rows.
    pub fn with_each_volume(
        self,
        inputs: &SharedInputs,
        digests: &TraceDigests,
        progress: &dyn Progress,
    ) -> Result<PlanSource> {
        let plan = with_each_volume(self.plan, inputs, digests, progress)?;
        Ok(PlanSource { plan, files: self.files })
    }
}

fn parsed_plan(
    name: &str,
    text: &str,
    scale: Scale,
    traces: Option<&Path>,
    other: ReadOther,
) -> Result<Plan> {
    let plan = Plan::parse_beside(name, text, scale, other)?;
    Ok(match traces {
        Some(directory) => plan.with_traces_in(directory),
        None => plan,
    })
}

/// The names of the files that a sweep writes; those that are not wanted have none.
#[derive(Clone, Debug, Default)]
pub struct SweepNames {
    /// The rows.
    pub rows: String,
    /// The page.
    pub report: Option<String>,
    /// The table for a paper.
    pub latex: Option<String>,
    /// The figures for a paper.
    pub figures: FigureArgs,
}

/// The files that a sweep writes, none of which is also read.
#[derive(Debug)]
pub struct SweepOutputs {
    form: RowFormat,
    path: PathBuf,
    rows: Destination,
    page: Option<Destination>,
    latex: Option<Destination>,
    figures: Vec<FigureFolder>,
}

impl SweepOutputs {
    /// The files with these names.
    ///
    /// # Errors
    /// The name tells no format, a file cannot be written, or one of them is also read.
    pub fn check(source: &PlanSource, shard: Shard, names: &SweepNames) -> Result<SweepOutputs> {
        let mut files = CommandFiles::new();
        source.files.iter().try_for_each(|path| files.input("the plan", path))?;
        files.traces(source.plan.experiments())?;
        let out = &names.rows;
        let Some(form) = RowFormat::of(out) else {
            let what = format!("rows need a file that ends in .csv or .jsonl; `{out}` does not");
            return Err(Failure::usage(what));
        };
        let rows = files.output("--out", out)?;
        let Destination::File(file) = &rows else {
            return Err(Failure::usage(format!("rows need a regular file; `{out}` is not one")));
        };
        let path = file.path().to_owned();
        let latex = files.optional_output("--latex", &names.latex)?;
        let figures = names.figures.open()?;
        files.own_output("the journal", &Journals::path_beside(&path, shard))?;
        let page = files.optional_page("--report", &names.report)?;
        Ok(SweepOutputs { form, path, rows, page, latex, figures })
    }

    /// The file for the rows, beside which the journals lie.
    pub fn rows_path(&self) -> &Path {
        &self.path
    }

    /// Writes the rows in the order of the plan, the page, the table and the figures. Returns the
    /// findings.
    ///
    /// # Errors
    /// A file cannot be written, or the journal cannot be read.
    pub fn write<'a>(
        &self,
        plan: &'a Plan,
        scale: Scale,
        journal: &Journal,
    ) -> Result<Findings<'a>> {
        let mut found = Findings::of(plan);
        self.rows.write(|out| {
            let failed = |error| Failure::failed(format!("cannot write the rows: {error}"));
            let mut writer = RowWriter::new(out, self.form).map_err(failed)?;
            for index in 0..plan.rows.len() {
                let row = journal.row(index)?;
                writer.write(&row).map_err(failed)?;
                found.see(index, &parsed(index, &row)?);
            }
            writer.finish().map_err(failed)
        })?;
        if self.page.is_some() || !self.figures.is_empty() {
            found.survey(&mut TraceStatsCache::default());
            let drawn = page(&found, scale);
            if let Some(page) = &self.page {
                page.write(|out| write_text(out, &drawn.html()))?;
            }
            for folder in &self.figures {
                folder.write(&drawn, &mut CommandFiles::new())?;
            }
        }
        if let Some(latex) = &self.latex {
            latex.write(|out| write_text(out, &sweep_rows::latex(&found, scale)))?;
        }
        Ok(found)
    }
}

/// The page of a sweep.
pub fn page(found: &Findings, scale: Scale) -> HtmlPage {
    sweep_page::page(found, scale, made_by("sweep"))
}

/// Rows that were read from a file.
#[derive(Debug)]
pub struct ReadRows {
    /// The rows as JSON, one line each.
    pub rows: Vec<String>,
    /// The line in the file where each begins; those of a journal have checksums, and need none.
    lines: Vec<u64>,
    /// The number of rows of the whole sweep, where it is known: a file may have a part of them.
    pub planned: Option<usize>,
    /// What the user should know of the file, in a sentence.
    pub warning: Option<String>,
}

impl ReadRows {
    /// Where a row stands in a file of this name.
    pub fn place(&self, name: &str, at: usize) -> String {
        self.lines.get(at).map_or(name.to_owned(), |line| format!("{name}:{line}"))
    }
}

/// The rows in a file that a sweep wrote (csv or jsonl), or in the journal of one that is running
/// or was interrupted.
///
/// # Errors
/// The file cannot be read, or has something else.
pub fn read_rows(path: &Path) -> Result<ReadRows> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::failed(format!("cannot read the rows {name}: {error}")))?;
    let other =
        |why: &str| Failure::usage(format!("{name} cannot be read as rows of a sweep: {why}"));
    if let Some(RowsSoFar { rows, planned, warning }) = journal::rows_in(path, &bytes) {
        return Ok(ReadRows { rows, lines: Vec::new(), planned: Some(planned), warning });
    }
    let rows: Vec<(u64, String)> = match RowFormat::of(&name.to_string()) {
        Some(RowFormat::Csv) => sim::sweep::row::of_csv(&bytes).map_err(|why| other(&why)),
        Some(RowFormat::Jsonl) => {
            let text = String::from_utf8(bytes).map_err(|_| other("it is not UTF-8"))?;
            let is_row = |line: &&str| parsed(0, line).is_ok_and(|row| row["sweep"].is_object());
            match text.lines().find(|line| !is_row(line)) {
                None => Ok((1..).zip(text.lines().map(str::to_owned)).collect()),
                Some(_) => Err(other("a line is not the JSON of a row")),
            }
        }
        None => Err(other("it is neither .csv nor .jsonl nor a journal")),
    }?;
    let (lines, rows): (Vec<u64>, Vec<String>) = rows.into_iter().unzip();
    Ok(ReadRows { rows, lines, planned: None, warning: None })
}

/// A plan that could have made these rows, for what is drawn and said of rows alone. It has no
/// claims.
pub fn plan_of_rows(rows: &[Value]) -> Plan {
    let row = |row: &Value| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let varied = row["sweep"]["varied"].as_object().cloned().unwrap_or_default();
        let volume = text(&row["run"]["volume"]).or_else(|| text(varied.get("volume")?));
        let default = Experiment::default();
        let experiment = Experiment {
            trace: text(&row["trace"]["name"]),
            volume: volume.and_then(|it| it.parse().ok()).unwrap_or(default.volume.clone()),
            ftl: text(&row["ftl"]["name"]).unwrap_or(default.ftl.clone()),
            ..default
        };
        Row { experiment, varied }
    };
    let rows = rows.iter().map(row).collect();
    Plan { rows, ..Plan::default() }
}

/// A row of a journal as JSON.
///
/// # Errors
/// It is not valid JSON.
pub fn parsed(index: usize, row: &str) -> Result<Value> {
    let failed = |error| Failure::failed(format!("row {index} of the journal: {error}"));
    serde_json::from_str(row).map_err(failed)
}
