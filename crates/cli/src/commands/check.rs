//! `ftlab check`: cuts the power at every operation, or replays a single cut.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use check::campaign::{Campaign, CampaignReport, Totals};
use check::case::Case;
use check::device_model::{DEVICE_MODELS, DeviceModel};
use check::failed_case::{FailedCase, cut_text, parse_cut, parse_outcome, replay_line};
use check::power_loss::{self, SecondCuts};
use check::subject::Subject;
use check::workload::named::WORKLOADS;
use ftl::{Durability, Layers, SCHEMES};
use nand::{Cut, Outcome};
use report::number_format::count;

use crate::experiment_args::{ExperimentArgs, LayerArgs};
use crate::failure;
use crate::known_names::{self, NameOr, Named};
use crate::progress::CheckMonitor;
use crate::table::Table;

/// Exit code of a violation.
const VIOLATION: u8 = 3;
/// The number of failures that are printed; further ones are only counted.
const SHOWN_MAX: usize = 10;
/// Chips with more logical pages are only tried on request, or if there is a time budget.
const QUICK_PAGES_MAX: u32 = 64;

/// Options of `ftlab check`.
#[derive(clap::Args)]
pub struct Args {
    /// FTL to check, such as `page:victim=fifo`, or `all`: every scheme with many settings; may be
    /// given several times
    #[arg(
        long,
        value_name = "SPEC",
        default_value = "all",
        value_parser = NameOr(|| with_all(known_names::ftls())),
        hide_possible_values = true
    )]
    ftl: Vec<String>,
    #[command(flatten)]
    layers: ExperimentArgs<LayerArgs>,
    /// Tiny chip to check it on, or `all`; may be given several times [default: all but the larger
    /// ones]
    #[arg(
        long,
        value_name = "NAME",
        value_parser = NameOr(|| with_all(undescribed(DEVICE_MODELS.iter().map(|it| it.name)))),
        hide_possible_values = true
    )]
    geometry: Vec<String>,
    /// Name of a workload, or the steps of a short one such as `ace-w0.f.t0.g`; may be given
    /// several times
    #[arg(
        long,
        value_name = "NAME",
        default_value = "all",
        value_parser = NameOr(|| with_all(undescribed(WORKLOADS.iter().map(|it| it.name)))),
        hide_possible_values = true
    )]
    workload: Vec<String>,
    /// Seed of the workloads and of the requests after a cut
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Whether trims must survive a cut; with `paper` the power is never cut
    #[arg(
        long,
        value_name = "paper|full",
        default_value = "full",
        value_parser = NameOr(|| undescribed(Durability::NAMES.iter().copied())),
        hide_possible_values = true
    )]
    durability: String,
    /// Try one in N cuts during recovery; 0 tries none, 1 tries all
    #[arg(long, value_name = "N", default_value_t = 512)]
    second_cuts: u32,
    /// Try all workloads of up to N steps on the smallest chip
    #[arg(long, value_name = "N", default_value_t = 2)]
    short_programs: usize,
    /// Continue with further seeds for this time, such as `600s`
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Replay one case: cut the power after K programs and erases
    #[arg(long, value_name = "K")]
    cut: Option<u64>,
    /// State in which the cut leaves the interrupted operation [default: all outcomes, one after
    /// the other]
    #[arg(
        long,
        value_name = "NAME",
        requires = "cut",
        value_parser = NameOr(|| undescribed(Outcome::NAMES.iter().copied())),
        hide_possible_values = true
    )]
    outcome: Option<String>,
    /// Further cut, counted from the next power-on, such as `4:half`; may be given several times
    #[arg(long, value_name = "K:NAME", requires = "outcome")]
    second: Vec<String>,
    /// Print neither a summary nor progress, only what was found
    #[arg(long)]
    quiet: bool,
}

/// Names without descriptions.
fn undescribed(names: impl Iterator<Item = &'static str>) -> Vec<Named> {
    names.map(|name| (name, "")).collect()
}

fn with_all(mut names: Vec<Named>) -> Vec<Named> {
    names.push(("all", "all of them"));
    names
}

/// Runs the subcommand.
pub fn run(args: &Args) -> ExitCode {
    let done = match args.cut {
        Some(cut) => replay(args, cut),
        None => campaign(args),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(VIOLATION),
        Err(failure) => failure.report(),
    }
}

/// Tries everything that the options select. Returns whether nothing was found.
fn campaign(args: &Args) -> failure::Result<bool> {
    let campaign = Campaign {
        subjects: subjects(args)?,
        models: models(args)?,
        workloads: workloads(args),
        short_programs: if asks_for_all(&args.workload) { args.short_programs } else { 0 },
        seeds: vec![args.seed],
        durability: durability(args)?,
        second_cuts: second_cuts(args),
        budget: budget(args)?,
    };
    let monitor = CheckMonitor::new(args.quiet, campaign.case_count(), campaign.budget);
    let report = campaign.run_watched(&|| monitor.tried()).map_err(unusable)?;
    drop(monitor);
    if !args.quiet {
        say(&summary(&report));
    }
    let failed = report.total().failed;
    for failure in failed.iter().take(SHOWN_MAX) {
        complain(failure);
    }
    if failed.len() > SHOWN_MAX {
        say(&format!("… and {} more\n", failed.len() - SHOWN_MAX));
    }
    Ok(failed.is_empty())
}

fn summary(report: &CampaignReport) -> String {
    let mut table = Table::new(&["ftl", "cases", "compared", "cuts", "second cuts", "found"]);
    for (subject, tried) in &report.rows {
        table.row(&cells(&subject.name(), tried));
    }
    let total = report.total();
    if report.rows.len() > 1 {
        table.row(&cells("total", &total));
    }
    let mut text = table.text() + "\n";
    for (name, &n) in Outcome::NAMES.iter().zip(&total.cuts.by_outcome).filter(|(_, n)| **n > 0) {
        text += &format!("{name} {}   ", count(n));
    }
    let (seconds, seeds) = (report.wall.as_secs_f64(), count(report.seeds));
    text += &format!("\n{seeds} seeds in {seconds:.1} s");
    if report.refused > 0 {
        text += &format!("; {} cases on chips that the FTL refuses", count(report.refused));
    }
    text + "\n"
}

fn cells(name: &str, tried: &Totals) -> [String; 6] {
    let cuts = &tried.cuts;
    let numbers = [tried.cases, tried.compared, cuts.first, cuts.second, tried.failed.len() as u64];
    let [cases, steps, first, second, found] = numbers.map(count);
    [name.to_owned(), cases, steps, first, second, found]
}

/// Runs one case with the given cuts. Returns whether nothing was found.
fn replay(args: &Args, cut: u64) -> failure::Result<bool> {
    let case = single_case(args)?;
    let mut later = Vec::new();
    for text in &args.second {
        later.push(parse_cut(text)?);
    }
    let outcomes = match &args.outcome {
        Some(name) => vec![parse_outcome(name)?],
        None => Outcome::NAMES.iter().filter_map(|name| Outcome::named(name)).collect(),
    };
    let mut clean = true;
    for outcome in outcomes {
        let first = Cut { after: cut, outcome };
        let cuts: Vec<Cut> = [first].into_iter().chain(later.iter().copied()).collect();
        clean &= replay_one(&case, &cuts, args.quiet)?;
    }
    Ok(clean)
}

fn replay_one(case: &Case, cuts: &[Cut], quiet: bool) -> failure::Result<bool> {
    let tell = |text: &str| {
        if !quiet {
            say(text)
        }
    };
    tell(&format!("{}\n", replay_line(case, cuts)));
    match power_loss::replay(case, cuts, &mut |line| tell(&format!("  {line}\n"))) {
        Ok(None) => {
            tell("  all is well\n");
            Ok(true)
        }
        Ok(Some(cut)) => Err(failure::Failure::usage(format!(
            "the cut {} never happens: the run ends before operation {}",
            cut_text(cut),
            cut.after
        ))),
        Err(failure) => {
            complain(&failure);
            Ok(false)
        }
    }
}

fn single_case(args: &Args) -> failure::Result<Case> {
    let one = [&args.ftl, &args.geometry, &args.workload];
    if one.iter().any(|names| names.len() != 1 || names[0] == "all") {
        let why = "--cut replays one case: name one --ftl, one --geometry and one --workload";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    let subject = Subject::from_spec(&args.ftl[0]).map_err(unusable)?.under(&layers(args)?);
    let model = DeviceModel::named(&args.geometry[0])?;
    let case = Case::new(&subject, model, &args.workload[0], args.seed, durability(args)?);
    case.map_err(unusable)
}

// ---- What the options select ------------------------------------------------------------------

fn asks_for_all(names: &[String]) -> bool {
    names.iter().any(|name| name == "all")
}

fn subjects(args: &Args) -> failure::Result<Vec<Subject>> {
    let layers = layers(args)?;
    if asks_for_all(&args.ftl) {
        let all = SCHEMES.iter().flat_map(|scheme| Subject::all_combinations(scheme));
        return Ok(all.map(|subject| subject.under(&layers)).collect());
    }
    let subject = |spec: &String| Ok(Subject::from_spec(spec).map_err(unusable)?.under(&layers));
    args.ftl.iter().map(subject).collect()
}

fn layers(args: &Args) -> failure::Result<Layers> {
    Layers::new(&args.layers.first().layers).map_err(unusable)
}

fn models(args: &Args) -> failure::Result<Vec<&'static DeviceModel>> {
    if asks_for_all(&args.geometry) || (args.geometry.is_empty() && args.budget.is_some()) {
        return Ok(DEVICE_MODELS.iter().collect());
    }
    if args.geometry.is_empty() {
        let quick = |model: &&DeviceModel| model.logical_pages() <= QUICK_PAGES_MAX;
        return Ok(DEVICE_MODELS.iter().filter(quick).collect());
    }
    Ok(args.geometry.iter().map(|name| DeviceModel::named(name)).collect::<spec::Result<_>>()?)
}

fn workloads(args: &Args) -> Vec<String> {
    match asks_for_all(&args.workload) {
        true => WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect(),
        false => args.workload.clone(),
    }
}

fn durability(args: &Args) -> failure::Result<Durability> {
    let known = [Durability::Paper, Durability::Full];
    let found = known.into_iter().find(|it| it.name() == args.durability);
    let unknown = || spec::unknown("durability", &args.durability, Durability::NAMES);
    Ok(found.ok_or_else(unknown)?)
}

fn second_cuts(args: &Args) -> SecondCuts {
    match args.second_cuts {
        0 => SecondCuts::None,
        1 => SecondCuts::All,
        n => SecondCuts::OneIn(n),
    }
}

fn budget(args: &Args) -> failure::Result<Option<Duration>> {
    let parsed = args.budget.as_deref().map(spec::parse_time_ns).transpose()?;
    Ok(parsed.map(Duration::from_nanos))
}

// ---- Output -----------------------------------------------------------------------------------

fn unusable(error: ftl::Error) -> failure::Failure {
    failure::Failure::usage(error.to_string())
}

fn complain(failure: &FailedCase) {
    say(&format!("{failure}\n"));
}

/// Prints to standard output. If that is closed, nobody reads it, so errors are ignored.
fn say(text: &str) {
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
