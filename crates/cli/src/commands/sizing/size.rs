//! `ftlab size`: the least over-provisioning for a write amplification, and what data sheets say.

use serde::Serialize;
use sim::config::experiment::ExperimentOption;
use sim::config::values::Extra;
use sim::device::logical_blocks;
use sim::sizing::answer::{EndurancePart, EnduranceQuestion, Sizing};
use sim::sizing::data_sheet::{DataSheet, Effective};
use sim::sizing::probe::{Care, probe, with_care};
use sim::sizing::reach::Reach;
use sim::sizing::search::{Curve, Grid, least_extra};
use sim::{Experiment, Setup};

use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::{made_by, write_text};
use crate::parallel_args::{ParallelArgs, SharedInput};
use crate::progress::ComparisonMonitor;
use crate::result_outputs::{JsonArg, write_answer};
use crate::texts::size as texts;

/// Options of `ftlab size`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    experiments: ExperimentArgs<SizedOptions>,

    /// The write amplification that must not be exceeded, in pages programmed per host page
    #[arg(long, value_name = "X", help_heading = "Sizing")]
    waf: Option<f64>,

    /// The most extra blocks to try, as a share of the logical blocks or a number
    #[arg(long, value_name = "SHARE|Nblocks", default_value = "100%", help_heading = "Sizing")]
    most: Extra,

    /// Try only multiples of this number of extra blocks
    #[arg(long, value_name = "SHARE|Nblocks", default_value = "1blocks", help_heading = "Sizing")]
    resolution: Extra,

    /// In place of TRACE and --waf, the figures of a drive's data sheet:
    /// `seq=2700MB/s,rand=130k[,page=4KiB]` or `tbw-seq=37200TB,tbw-rand=17520TB`, and
    /// `block=PAGES`
    #[arg(long, value_name = "FIGURES", help_heading = "Sizing")]
    datasheet: Option<String>,

    #[command(flatten)]
    endurance: EnduranceArgs,

    #[command(flatten)]
    parallel: ParallelArgs,

    #[command(flatten)]
    json: JsonArg,

    /// Write a report: one HTML file that needs no network, with the curve and its numbers
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<String>,

    /// Print neither a table nor progress
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// Options about the endurance of the flash.
#[derive(clap::Args)]
struct EnduranceArgs {
    /// Writes of the whole drive per day; says how many P/E cycles they take
    #[arg(long, value_name = "N", help_heading = "Endurance")]
    dwpd: Option<f64>,

    /// Years that the drive must last
    #[arg(long, value_name = "N", default_value = "5", help_heading = "Endurance")]
    years: f64,

    /// P/E cycles of the flash; says what the host may write
    #[arg(long, value_name = "N", help_heading = "Endurance")]
    pe: Option<f64>,

    /// Wear of the most worn block divided by the mean wear, at least 1
    #[arg(long, value_name = "X", default_value = "1", help_heading = "Endurance")]
    wear_levelling: f64,
}

/// The options of runs whose extra blocks are searched.
pub struct SizedOptions;

impl Selection for SizedOptions {
    const REPEATED: &'static [&'static str] = &["ftl"];
    // Endurance is asked about drives of today. Their firmware maps units of 4 KiB.
    const CHIP: &'static str = "tlc-3d:page=4KiB,pages_per_block=3072";

    fn takes(option: &ExperimentOption) -> bool {
        let left_out = ["load", "shared", "extra", "interval", "each_volume", "volumes"];
        !left_out.contains(&option.name)
    }
}

/// The options that say when a run is measured. Without them it ends in a steady state.
const WHEN_MEASURED: [&str; 3] = ["warmup", "measure_after", "until"];

/// The answers for a trace, as JSON.
#[derive(Serialize)]
struct Sizings<'a> {
    schema: &'static str,
    trace: &'a str,
    target: f64,
    sizings: &'a [Sizing],
}

/// The answer for a data sheet, as JSON.
#[derive(Serialize)]
struct SizedSheet {
    schema: &'static str,
    data_sheet: Effective,
    endurance: Option<EndurancePart>,
}

const SCHEMA: &str = "ftlab.size/1";

/// Runs the subcommand.
pub fn run(args: &Args, limit_bytes: Option<u64>) -> Result<()> {
    let question = args.endurance.question()?;
    match &args.datasheet {
        Some(figures) => data_sheet(args, figures, &question),
        None => search(args, &question, limit_bytes),
    }
}

impl EnduranceArgs {
    fn question(&self) -> Result<EnduranceQuestion> {
        let positive = [("--dwpd", self.dwpd), ("--years", Some(self.years)), ("--pe", self.pe)];
        for (name, value) in positive {
            if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
                return Err(Failure::usage(format!("`{name}` must be a number above 0")));
            }
        }
        if !(self.wear_levelling >= 1.0 && self.wear_levelling.is_finite()) {
            return Err(Failure::usage(
                "`--wear-levelling` is the wear of the most worn block over the mean wear, so it \
                 is at least 1; of an efficiency below 1 give the reciprocal"
                    .into(),
            ));
        }
        Ok(EnduranceQuestion {
            drive_writes_per_day: self.dwpd,
            pe_cycles: self.pe,
            years: self.years,
            wear_levelling: self.wear_levelling,
        })
    }
}

// ---- Data sheets --------------------------------------------------------------------------------

fn data_sheet(args: &Args, figures: &str, question: &EnduranceQuestion) -> Result<()> {
    let capacity_bytes = args.experiments.first().capacity_bytes;
    refuse_options_of_runs(args)?;
    let mut files = CommandFiles::new();
    let json = args.json.open(Some(figures), &mut files)?;
    let data_sheet = DataSheet::parse(figures)?.effective()?;
    let endurance = question.answer(data_sheet.write_amplification, capacity_bytes);
    let found = SizedSheet { schema: SCHEMA, data_sheet, endurance };
    write_answer(json.as_ref(), &found, args.quiet, || {
        texts::sheet(&data_sheet, found.endurance.as_ref())
    })
}

/// Refuses what has no meaning beside a data sheet.
fn refuse_options_of_runs(args: &Args) -> Result<()> {
    let given = args.experiments.given.iter().find(|name| **name != "capacity");
    let given = given.map(|name| match *name {
        "trace" => "a TRACE".to_owned(),
        name => format!("`--{}`", name.replace('_', "-")),
    });
    let given = given.or(args.waf.map(|_| "`--waf`".to_owned()));
    let given = given.or(args.report.as_ref().map(|_| "`--report`".to_owned()));
    match given {
        Some(what) => Err(Failure::usage(format!(
            "`--datasheet` computes from the figures of the data sheet and runs nothing, so {what} \
             has no effect; leave out one of the two"
        ))),
        None => Ok(()),
    }
}

// ---- Searches -----------------------------------------------------------------------------------

fn search(args: &Args, question: &EnduranceQuestion, limit_bytes: Option<u64>) -> Result<()> {
    let target = args.waf.ok_or_else(|| {
        Failure::usage(String::from(
            "`ftlab size` finds the least over-provisioning for a write amplification: say which, \
             as in `ftlab size TRACE --waf 3`; or give the figures of a data sheet with \
             `--datasheet`",
        ))
    })?;
    if !(target >= 1.0 && target.is_finite()) {
        return Err(Failure::usage(format!(
            "`--waf {target}`: every page that the host writes is programmed at least once, so \
             write amplification is at least 1"
        )));
    }
    let experiments = experiments(args);
    let setups = experiments.iter().map(Setup::new).collect::<sim::Result<Vec<Setup>>>()?;
    let mut files = CommandFiles::new();
    files.traces(experiments.iter())?;
    let report = files.optional_page("--report", &args.report)?;
    let json = args.json.open(experiments[0].trace.as_deref(), &mut files)?;
    let searches = Searches::open(args, &setups[0], limit_bytes)?;
    let sizings = setups.iter().map(|setup| searches.answer(setup, target, question));
    let sizings = sizings.collect::<Result<Vec<Sizing>>>()?;
    let trace = searches.shared.input.loads()[0].name();
    if let Some(report) = report {
        let page = report::pages::sizing::page(target, trace, &sizings, made_by("size"));
        report.write(|out| write_text(out, &page.html()))?;
    }
    let value = Sizings { schema: SCHEMA, trace, target, sizings: &sizings };
    write_answer(json.as_ref(), &value, args.quiet, || texts::text(target, trace, &sizings))?;
    let unreached = unreached(target, &sizings);
    match unreached.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(unreached.join("\nftlab: "))),
    }
}

/// A sentence for each reason why there is no answer, with the FTLs that share it.
fn unreached(target: f64, sizings: &[Sizing]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for sizing in sizings.iter().filter(|sizing| sizing.least.is_none()) {
        let why = sizing.unreached(target, "allow more with `--most`, or give a larger `--waf`");
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ftls)) => ftls.push(&sizing.ftl),
            None => reasons.push((why, vec![&sizing.ftl])),
        }
    }
    reasons.into_iter().map(|(why, ftls)| format!("{}: {why}", ftls.join(", "))).collect()
}

/// Whether the user did not say when runs are measured, so that they end in a steady state.
fn ends_when_steady(args: &Args) -> bool {
    !args.experiments.given.iter().any(|name| WHEN_MEASURED.contains(name))
}

/// An experiment for each FTL, measured in a steady state unless the user says otherwise.
fn experiments(args: &Args) -> Vec<Experiment> {
    let measured = |experiment: &Experiment| match ends_when_steady(args) {
        true => Experiment {
            warmup: 0,
            until: Some("steady".parse().expect("the rule has its defaults")),
            ..experiment.clone()
        },
        false => experiment.clone(),
    };
    args.experiments.experiments.iter().map(measured).collect()
}

/// A trace that was opened for all searches.
struct Searches<'a> {
    args: &'a Args,
    shared: SharedInput,
    logical_blocks: u64,
    /// Whether a short trace is repeated without a word of the user.
    repeats: bool,
}

impl<'a> Searches<'a> {
    fn open(args: &'a Args, setup: &Setup, limit_bytes: Option<u64>) -> Result<Searches<'a>> {
        let monitor = ComparisonMonitor::new(args.quiet);
        let shared = SharedInput::open(setup, &args.parallel, limit_bytes, monitor)?;
        let needed_bytes = shared.input.needed_bytes();
        let capacity_bytes = setup.experiment.capacity_bytes.unwrap_or(needed_bytes);
        let logical_blocks = logical_blocks(&setup.chip, capacity_bytes)?;
        let repeats = ends_when_steady(args);
        Ok(Searches { args, shared, logical_blocks, repeats })
    }

    fn answer(&self, setup: &Setup, target: f64, question: &EnduranceQuestion) -> Result<Sizing> {
        let rated = question.pe_cycles.unwrap_or(setup.chip.rated_cycles.into());
        let is_asked = question.drive_writes_per_day.is_some() || question.pe_cycles.is_some();
        let question = EnduranceQuestion { pe_cycles: is_asked.then_some(rated), ..*question };
        let reach = self.repeats.then(|| self.reach(setup)).transpose()?;
        if reach.as_ref().is_some_and(|reach| !reach.collects()) {
            let none = Curve::default();
            return Ok(Sizing::of(setup, self.logical_blocks, &none, reach.as_ref(), &question));
        }
        let with = |care| if self.repeats { with_care(setup, care) } else { setup.clone() };
        let curve = least_extra(target, self.grid()?, |care, blocks: &[u64]| {
            let setup = with(care);
            let label = |blocks| format!("{}, {blocks} extra blocks", setup.experiment.ftl);
            let labels: Vec<String> = blocks.iter().map(label).collect();
            self.shared.each(&labels, |index, options| {
                let done = probe(&setup, blocks[index], options);
                done.map_err(|error| Failure::from(error).in_part(&labels[index]))
            })
        })?;
        let settled = with(Care::Settled);
        Ok(Sizing::of(&settled, self.logical_blocks, &curve, reach.as_ref(), &question))
    }

    /// What one pass of the trace writes.
    fn reach(&self, setup: &Setup) -> Result<Reach> {
        let label = ["what the trace writes".to_owned()];
        let reach = self.shared.each(&label, |_, options| Ok(Reach::of(setup, options)?))?;
        Ok(reach.into_iter().next().expect("one run has one answer"))
    }

    fn grid(&self) -> Result<Grid> {
        let blocks = |extra| Extra::of(Some(extra), self.logical_blocks);
        let (step, most) = (blocks(self.args.resolution).max(1), blocks(self.args.most));
        match most >= step {
            true => Ok(Grid { step, most, is_fixed: !self.repeats }),
            false => Err(Failure::usage(format!(
                "`--most` is {most} extra blocks and `--resolution` is {step}, so there is nothing \
                 to try"
            ))),
        }
    }
}
