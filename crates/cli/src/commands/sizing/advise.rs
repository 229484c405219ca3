//! `ftlab advise`: which drive a load needs, from its log.

use std::num::NonZeroU32;
use std::sync::Arc;

use report::number_format::count;
use sim::advise::bench::Bench;
use sim::advise::subject::Choices;
use sim::advise::{Advice, Question, advise, takes};
use sim::config::experiment::ExperimentOption;
use sim::input::request_cache::CacheBudget;
use sim::input::source::RequestSource;
use sim::input::split_trace::{SplitTrace, SplitVolume, Splitting};
use sim::parallel_runs::CACHE_BYTES;
use sim::{Experiment, MemoryBudget, Setup};
use trace::RequestTable;

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::write_text;
use crate::parallel_args::{JobsArg, at_least_one};
use crate::progress::{ComparisonMonitor, RunMonitor};
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::advise::Advices;

/// Options of `ftlab advise`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<AdvisedOptions>,

    /// The write amplification for which over-provisioning is sought, in pages programmed per host
    /// page
    #[arg(long, value_name = "X", default_value = "1.5", help_heading = "Advice")]
    target: f64,

    /// The queue depths at which the trace is replayed
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        value_parser = at_least_one::<NonZeroU32>,
        default_values = ["1", "8", "32", "128"],
        help_heading = "Advice"
    )]
    depths: Vec<NonZeroU32>,

    #[command(flatten)]
    parallel: JobsArg,

    #[command(flatten)]
    json: JsonArg,

    /// Write a report: one HTML file that needs no network, with each sentence beside its figure
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<String>,

    /// Print neither a text nor progress
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// The options that describe logs, and a drive in place of the one of today.
pub struct AdvisedOptions;

impl Selection for AdvisedOptions {
    const REPEATED: &'static [&'static str] = &["trace"];

    fn takes(option: &ExperimentOption) -> bool {
        takes(option)
    }
}

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let question = args.question()?;
    let experiments = &args.experiments.experiments;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_page("--report", &args.report)?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let mut advices = Vec::new();
    for log in experiments {
        match log.each_volume {
            true => advices.extend(args.of_volumes(log, &question, limit_bytes)?),
            false => advices.push(args.advice(log, None, &question, limit_bytes)?),
        }
    }
    let answers = Advices::new(&advices);
    if let Some(report) = report {
        report.write(|out| write_text(out, &answers.page().html()))?;
    }
    write_answer(json.as_ref(), &answers, args.quiet, || answers.text())?;
    match advices.iter().filter(|advice| !advice.answers()).count() {
        0 => Ok(()),
        1 if advices.len() == 1 => {
            Err(Failure::failed("the trace answers none of these questions".into()))
        }
        some => {
            let all = count(advices.len() as u64);
            Err(Failure::failed(format!("{some} of {all} traces answer none of these questions")))
        }
    }
}

impl Args {
    fn question(&self) -> Result<Question> {
        let depths = self.depths.iter().map(|depth| depth.get()).collect();
        Ok(Question::new(self.target, depths)?)
    }

    /// The advice on each volume of a log, which is read once.
    fn of_volumes(
        &self,
        log: &Experiment,
        question: &Question,
        limit_bytes: Option<u64>,
    ) -> Result<Vec<Advice>> {
        let source = RequestSource::open(&Setup::new(log)?)?;
        let memory = MemoryBudget::beside_cache(limit_bytes, CACHE_BYTES);
        let cache = &CacheBudget::new(memory.cache_bytes());
        let splitting = Splitting { cache: Some(cache), counts: log.volumes.is_some() };
        let split = SplitTrace::read(&source, splitting, &RunMonitor::new(self.quiet))?;
        let volumes = split.chosen(log)?.into_iter();
        let without_trace = Experiment {
            trace: None,
            format: None,
            skip_bad: false,
            sort: false,
            limit: None,
            each_volume: false,
            volumes: None,
            ..log.clone()
        };
        let advice = |volume: &SplitVolume| {
            let name = format!("{}, volume {}", source.trace().name(), volume.name);
            let table = Some(Arc::new(volume.source.to_table(&name)?));
            self.advice(&without_trace, table, question, limit_bytes)
        };
        volumes.map(advice).collect()
    }

    /// The advice on a log, or on requests in memory.
    fn advice(
        &self,
        log: &Experiment,
        requests: Option<Arc<RequestTable>>,
        question: &Question,
        limit_bytes: Option<u64>,
    ) -> Result<Advice> {
        let given = &self.experiments.given;
        let choices = Choices {
            experiment: log.clone(),
            has_chip: given.contains(&"chip"),
            has_fit: given.contains(&"fit"),
            requests,
        };
        let monitor = ComparisonMonitor::new(self.quiet);
        let memory = MemoryBudget::new(limit_bytes);
        let bench = Bench {
            jobs: self.parallel.jobs(),
            memory: &memory,
            monitor: &|label: &str| Box::new(monitor.run(label)),
        };
        Ok(advise(&choices, question, &bench)?)
    }
}
