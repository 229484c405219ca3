//! `ftlab papers`: the claims of the papers, compared with the results of their experiments here.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use report::captions::QUICK_NOTE;
use report::pages::papers::{self as paper_pages, ClaimSummary, ExperimentFindings, Paper};
use sim::input::trace_stats::TraceStatsCache;
use sim::plan::{Plan, Scale};
use sim::sweep::key::journal_key;
use sim::sweep::{
    Findings, Journal, NO_POLICIES, RowFormat, RowWriter, Shard, SharedInputs, Sweep, TraceDigests,
};

use crate::commands::sweep::args::ScaleName;
use crate::commands::sweep::{refuse_grave, warn_of};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::paper_plans::{self, NamedPlan, PAPERS};
use crate::parallel_args::ParallelArgs;
use crate::progress::{RunMonitor, SweepMonitor};
use crate::sweeps::parsed;
use crate::texts::table::Table;

/// Options of `ftlab papers`.
#[derive(clap::Args)]
pub struct Args {
    /// Papers: SL (sector log), FSTR (FASTer), AP (adaptive partitioning), LSB (large superblocks),
    /// LAST, WL (wear levelling), T (theory), or all
    #[arg(value_enum, default_value = "all", ignore_case = true)]
    papers: Vec<PaperName>,

    /// Size of the experiments. `quick` takes minutes: all sizes are divided by the same factor,
    /// and all workloads are generated. `full` takes the published sizes, and real traces similar
    /// to those of the papers
    #[arg(long, value_enum, default_value = "quick")]
    scale: ScaleName,

    /// Directory of the trace files for the full scale; by default the current directory
    #[arg(long, value_name = "DIR")]
    traces: Option<PathBuf>,

    /// Directory for the pages (index.html and one for each paper) and for the rows of the
    /// experiments. If the command is interrupted, the same command continues with the next row
    #[arg(long, value_name = "DIR", default_value = "papers")]
    out: PathBuf,

    #[command(flatten)]
    parallel: ParallelArgs,

    /// Print neither the claims nor progress
    #[arg(long)]
    quiet: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum PaperName {
    Sl,
    Fstr,
    Ap,
    Lsb,
    Last,
    Wl,
    T,
    #[value(name = "all")]
    All,
}

impl PaperName {
    fn means(self, paper: &Paper) -> bool {
        let value = self.to_possible_value();
        self == PaperName::All || value.is_some_and(|value| value.get_name() == paper.id)
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let rows = args.out.join("rows");
    std::fs::create_dir_all(&rows).map_err(|error| cannot_create(&rows, &error))?;
    let wanted = PAPERS.iter().filter(|paper| args.papers.iter().any(|name| name.means(paper)));
    let mut files = CommandFiles::new();
    let studies = wanted.map(|paper| Study::read(paper, args, &mut files));
    let studies = studies.collect::<Result<Vec<_>>>()?;
    let index_file = files.own_output("the index", &args.out.join("index.html"))?;
    let all = studies.iter().map(|study| study.all.rows.len()).sum();
    let mut monitor = SweepMonitor::of_shard(args.quiet, all, all, 0);
    let (mut summary, mut failed) = (Vec::new(), Vec::new());
    for study in &studies {
        let examined = study.examine(args, limit_bytes, &mut monitor)?;
        let made_by = output::made_by("papers");
        let page = paper_pages::page(study.paper, &examined, args.scale.into(), made_by);
        study.page_file.write(|out| write_text(out, &page.html()))?;
        summary.push((study.paper, paper_pages::summaries(study.paper, &examined)));
        failed.extend(examined.into_iter().flat_map(|examined| examined.found.failed));
    }
    drop(monitor);
    let index = paper_pages::index(&summary, args.scale.into(), output::made_by("papers"));
    index_file.write(|out| write_text(out, &index.html()))?;
    if !args.quiet {
        output::show(&text(&summary, args))?;
    }
    refuse_grave(&failed)
}

/// A paper, its experiments, and all their runs without duplicates.
struct Study {
    paper: &'static Paper,
    plans: Vec<(&'static str, Plan)>,
    all: Plan,
    /// For each plan the numbers of its rows among all runs.
    rows: Vec<Vec<usize>>,
    journal_path: PathBuf,
    rows_file: Destination,
    page_file: Destination,
}

impl Study {
    fn read(paper: &'static Paper, args: &Args, files: &mut CommandFiles) -> Result<Study> {
        let read = |experiment: &NamedPlan| {
            let plan = paper_plans::plan(experiment, args.scale.into())?;
            Ok(match &args.traces {
                Some(directory) => (experiment.0, plan.with_traces_in(directory)),
                None => (experiment.0, plan),
            })
        };
        let plans = paper_plans::of(paper).map(read).collect::<Result<Vec<_>>>()?;
        files.traces(plans.iter().flat_map(|(_, plan)| plan.experiments()))?;
        let (all, rows) = Plan::union(plans.iter().map(|(_, plan)| plan));
        let (id, scale) = (paper.id, args.scale.word());
        let beside = |ending| args.out.join("rows").join(format!("{id}.{scale}.{ending}"));
        let journal_path = beside("journal");
        files.own_output("the journal", &journal_path)?;
        let rows_file = files.own_output("the rows", &beside("jsonl"))?;
        let page_file = files.own_output("the page", &args.out.join(format!("{id}.html")))?;
        Ok(Study { paper, plans, all, rows, journal_path, rows_file, page_file })
    }

    /// Runs the missing rows and collects the findings of each experiment.
    fn examine(
        &self,
        args: &Args,
        limit_bytes: Option<u64>,
        monitor: &mut SweepMonitor,
    ) -> Result<Vec<ExperimentFindings<'_>>> {
        let digests = &TraceDigests::default();
        let mut journal = open(&self.journal_path, &self.all, digests, args.quiet)?;
        warn_of(&journal);
        monitor.begin(self.all.rows.len(), journal.count());
        let (plan, shard, jobs) = (&self.all, Shard::WHOLE, args.parallel.jobs());
        let inputs = &SharedInputs::new(plan, args.parallel.memory, limit_bytes);
        Sweep { plan, shard, digests, inputs, jobs, limit_bytes, policies: &NO_POLICIES }
            .run(&mut journal, &*monitor)
            .map_err(|error| Failure::from(error).with("; the same command continues from here"))?;
        self.rows_file.write(|out| {
            let failed = |error| Failure::failed(format!("cannot write the rows: {error}"));
            let mut writer = RowWriter::new(out, RowFormat::Jsonl).map_err(failed)?;
            for index in 0..self.all.rows.len() {
                writer.write(&journal.row(index)?).map_err(failed)?;
            }
            writer.finish().map_err(failed)
        })?;
        let mut surveys = TraceStatsCache::default();
        let examined = self.plans.iter().zip(&self.rows).map(|((name, plan), rows)| {
            let mut found = Findings::of(plan);
            for (row, &number) in rows.iter().enumerate() {
                found.see(row, &parsed(number, &journal.row(number)?)?);
            }
            found.survey(&mut surveys);
            Ok(ExperimentFindings { name, found })
        });
        examined.collect()
    }
}

/// The journal of an experiment. A journal of another version or with other traces is useless here
/// and is replaced.
fn open(path: &Path, plan: &Plan, digests: &TraceDigests, quiet: bool) -> Result<Journal> {
    let key = journal_key(plan, &Shard::WHOLE.rows(plan), digests, &RunMonitor::new(quiet))?;
    match Journal::open(path, &key, plan.rows.len()) {
        Err(sim::Error::OtherPlan { .. }) => {
            std::fs::remove_file(path).map_err(|error| cannot_create(path, &error))?;
            Ok(Journal::open(path, &key, plan.rows.len())?)
        }
        opened => Ok(opened?),
    }
}

fn cannot_create(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot create {}: {error}", path.display()))
}

/// The summary: one line per claim, and below it why it falls short, if that is known.
fn text(summary: &[(&Paper, Vec<ClaimSummary>)], args: &Args) -> String {
    let verdict = match args.scale.into() {
        Scale::Quick => "at quick scale",
        Scale::Full => "verdict",
    };
    let mut table = Table::new(&["claim", "cells", "worst off by", verdict, "outcome"]);
    for line in summary.iter().flat_map(|(_, lines)| lines) {
        let (holding, all) = line.cells;
        table.row(&[
            format!("{:<7} {}", line.claim.id, line.claim.says),
            if all == 0 { String::new() } else { format!("{holding}/{all}") },
            line.deviation(),
            line.status.word().to_owned(),
            line.outcome().to_owned(),
        ]);
        if let Some(cause) = line.cause() {
            table.row(&[format!("        because: {cause}")]);
        }
    }
    let caveat = match args.scale.into() {
        Scale::Quick => format!("{QUICK_NOTE} Use `--scale full` for that.\n\n"),
        Scale::Full => String::new(),
    };
    format!("{caveat}{}{}\n", table.text(), args.out.join("index.html").display())
}
