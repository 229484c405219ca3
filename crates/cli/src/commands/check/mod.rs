//! `ftlab check`: cuts the power at every operation, crashes the machine below an image at every
//! write, or replays a single cut or crash.

mod log;
mod smallest;
mod summary;
mod teller;

use std::str::FromStr;
use std::time::Duration;

use check::campaign::{Campaign, CampaignReport, LogSample, Totals, WindowChoice};
use check::case::Case;
use check::conformance;
use check::crash::machine_loss;
use check::cut::faults::{FaultClass, Faults, promises};
use check::cut::filmed;
use check::cut::power_loss::{self, Missed, SecondCuts, Step, Watch};
use check::cut::shrinking;
use check::device::action::Action;
use check::device::machine_crash::Crash;
use check::device::power_cut::PowerCut;
use check::device_model::{DEVICE_MODELS, DeviceModel};
use check::failed_case::{FailedCase, replay_line};
use check::finding::Defect;
use check::flash::Storage;
use check::subject::Subject;
use check::workload::logged::LoggedWorkload;
use check::workload::named::WORKLOADS;
use ftl::contract::guest::ChipShape;
use ftl::{Durability, Layers, SCHEMES};
use nand::Outcome;

use crate::experiment_args::{ExperimentArgs, LayerArgs};
use crate::failure::{self, DONE, Failure, VIOLATION};
use crate::known_names::{self, NameOr, Named};
use crate::output::command_files::CommandFiles;
use crate::output::film_files::FilmArgs;
use crate::process::signals;
use crate::process::stdout::say;
use crate::progress::CheckMonitor;
use smallest::Programs;
use teller::Teller;

/// The number of failures that are printed; further ones are only counted.
const SHOWN_MAX: usize = 10;
/// Chips with more logical pages are only tried on request, if there is a time budget, or with the
/// one workload that they are for.
const QUICK_PAGES_MAX: u32 = 64;

/// The name of the smallest geometry, on which short programs are tried.
const LEAST: &str = "least";
/// The name of a geometry that is drawn anew for each case.
const DRAWN: &str = "drawn";

/// Options of `ftlab check`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("single").args(["outcome", "loss"])))]
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
    /// Tiny chip to check it on: a name, also with other figures such as `tiny:cell_bits=2`, or
    /// `drawn` for another chip in each case, or `all`; may be given several times [default: all
    /// but the larger ones]
    #[arg(
        long,
        value_name = "SPEC",
        value_parser = NameOr(geometries),
        hide_possible_values = true
    )]
    geometry: Vec<String>,
    /// Name of a workload, or its steps such as `steps-w3.f.t0x2` or `ace-w0.f.t0.g`; may be given
    /// several times
    #[arg(
        long,
        value_name = "NAME",
        default_value = "all",
        value_parser = NameOr(|| with_all(undescribed(WORKLOADS.iter().map(|it| it.name)))),
        hide_possible_values = true
    )]
    workload: Vec<String>,
    /// Take the workload from a log of Linux's dm-log-writes, or of `ftlab serve`; --workload
    /// then names windows of it, such as log-3
    #[arg(long, value_name = "FILE", conflicts_with = "short_programs")]
    log_writes: Option<String>,
    /// Try at most N windows of the log on each chip, drawn from the seed, those that end at a mark
    /// first; 0 tries all
    #[arg(long, value_name = "N", default_value_t = 8, requires = "log_writes")]
    windows: usize,
    #[command(flatten)]
    film: FilmArgs,
    /// Seed of the workloads and of the requests after a cut
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where the chip is: in memory, or on an image on a disk that loses, reorders and tears writes
    /// when the machine crashes
    #[arg(
        long,
        value_name = "memory|image",
        default_value = "memory",
        value_parser = NameOr(|| undescribed(Storage::NAMES.iter().copied())),
        hide_possible_values = true
    )]
    on: String,
    /// Whether trims must survive a cut; with `paper` erases are never half done
    #[arg(
        long,
        value_name = "paper|full",
        default_value = "full",
        value_parser = NameOr(|| undescribed(Durability::NAMES.iter().copied())),
        hide_possible_values = true
    )]
    durability: String,
    /// What a power cut may leave on flash: classes of faults such as `basic,lasting`, or `all`
    #[arg(
        long,
        value_name = "CLASS,…",
        default_value = "all",
        value_parser = NameOr(|| with_all(undescribed(FaultClass::NAMES.iter().copied()))),
        hide_possible_values = true
    )]
    faults: String,
    /// Try one in N cuts and crashes of the workload
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1 << 20)
    )]
    first_cuts: u32,
    /// Try one in N cuts and crashes during recovery; 0 tries none, 1 tries all
    #[arg(long, value_name = "N", default_value_t = 512)]
    second_cuts: u32,
    /// Cuts of one case, at most: with 3 and more, cuts follow second ones as these follow first
    /// ones
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    depth: u16,
    /// Try all workloads of up to N steps on the smallest chip, `least` [default: 2, but 0 if a
    /// --workload or another --geometry is named]
    #[arg(long, value_name = "N")]
    short_programs: Option<usize>,
    /// Check for this time, such as `600s`: go on with further seeds, or stop within the first one,
    /// and say so
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Replay one case: cut the power after K programs and erases, or not at all
    #[arg(long, value_name = "K|none")]
    cut: Option<FirstCut>,
    /// State in which the cut leaves the interrupted operation; with @N weak pages decay N
    /// operations after power-on, else after the mount; reordered#N draws from N how far each die
    /// is [default: all outcomes, one after the other]
    #[arg(
        long,
        value_name = "NAME[@N]",
        requires = "cut",
        value_parser = NameOr(|| undescribed(Outcome::NAMES.iter().copied())),
        hide_possible_values = true
    )]
    outcome: Option<String>,
    /// Replay one case: crash the machine after N events of the disk
    #[arg(long, value_name = "N", requires = "loss", conflicts_with = "cut")]
    crash: Option<u64>,
    /// What the crash loses of the writes since the last sync, such as `all` or `one@3`
    #[arg(long, value_name = "NAME[@N]", requires = "crash")]
    loss: Option<String>,
    /// Further cut or crash, counted from the next power-on, such as `4:half`, `4:unstable@37` or
    /// `40:one@3`; may be given several times
    #[arg(long, value_name = "K:NAME[@N]", requires = "single")]
    second: Vec<String>,
    /// A replay also prints every flash operation below its step: the number at which `--cut` would
    /// interrupt it, operation, cause, page or block, owner
    #[arg(long, requires = "cut", conflicts_with = "quiet")]
    operations: bool,
    /// Also print the smallest workload with each verdict that was found; for a guest, write a
    /// program in C that shows it without ftlab: repro.c, and repro-2.c for a second verdict
    #[arg(long, conflicts_with = "crash")]
    shrink: bool,
    /// Print neither a summary nor progress, only what was found
    #[arg(long)]
    quiet: bool,
}

/// The first cut of a replay.
#[derive(Clone, Copy, Debug)]
enum FirstCut {
    /// The power stays on.
    None,
    /// The cut comes after this number of programs and erases.
    After(u64),
}

impl FromStr for FirstCut {
    type Err = String;

    fn from_str(text: &str) -> Result<FirstCut, String> {
        match text.parse() {
            Ok(operations) => Ok(FirstCut::After(operations)),
            Err(_) if text == "none" => Ok(FirstCut::None),
            Err(_) => Err("name a number of programs and erases, or `none`".to_owned()),
        }
    }
}

/// Names without descriptions.
fn undescribed(names: impl Iterator<Item = &'static str>) -> Vec<Named> {
    names.map(|name| (name, "")).collect()
}

fn geometries() -> Vec<Named> {
    let mut names = undescribed(DEVICE_MODELS.iter().map(|it| it.name));
    names.push((DRAWN, "a chip of drawn figures for each case"));
    with_all(names)
}

fn with_all(mut names: Vec<Named>) -> Vec<Named> {
    names.push(("all", "all of them"));
    names
}

/// Runs the subcommand.
pub fn run(args: &Args) -> failure::Result<u8> {
    // What cannot be filmed, and a file that cannot be written, is refused before anything runs.
    let is_on_image = args.on == Storage::Image.name() || args.crash.is_some();
    let of_memory = [("--film", args.film.is_given()), ("--operations", args.operations)];
    if let Some((option, _)) = of_memory.iter().find(|(_, is_given)| *is_given && is_on_image) {
        let why =
            format!("`{option}` shows a chip in memory; leave `--on image` and `--crash` out");
        return Err(Failure::usage(why));
    }
    args.film.open(1, &mut CommandFiles::new())?;
    let found_nothing = match (args.cut, args.crash) {
        (Some(FirstCut::After(cut)), _) => replay_cuts(args, cut),
        (Some(FirstCut::None), _) => replay_one(args, &single_case(args)?, &[]),
        (None, Some(crash)) => replay_crashes(args, crash),
        (None, None) => campaign(args),
    }?;
    Ok(exit_code(found_nothing))
}

fn exit_code(found_nothing: bool) -> u8 {
    if found_nothing { DONE } else { VIOLATION }
}

/// Tries everything that the options select. Returns whether nothing was found.
fn campaign(args: &Args) -> failure::Result<bool> {
    let campaign = selected(args)?;
    let monitor = CheckMonitor::new(args.quiet, campaign.case_count(), campaign.budget);
    let report = campaign.run_watched(&monitor).map_err(unusable)?;
    drop(monitor);
    if !args.quiet {
        say(&devices_of_guests(&campaign));
        say(&summary::text(&report));
        campaign.log.iter().for_each(|sample| say(&log::summary(sample)));
    } else if let Some(unfinished) = summary::unfinished(&report) {
        eprint!("ftlab: {unfinished}");
    }
    let mut failed = report.total().failed;
    // What is wrong without a cut comes first: it is easier to understand.
    failed.sort_by_key(|failed| failed.cuts.len() + failed.crashes.len());
    say(&findings(&failed));
    match failed.iter().find(|failed| is_filmable(failed)) {
        Some(failed) => film(args, &failed.case, &failed.cuts)?,
        None if args.film.is_given() && !failed.is_empty() => {
            say("No film: the guest ends in each case that was found.\n");
        }
        None => {}
    }
    shrink(args, &failed)?;
    if signals::is_interrupted() {
        return Err(sim::Error::Interrupted.into());
    }
    found_nothing(&report)
}

/// Prints the smallest workload with each verdict and writes its program, if the user asks for it.
fn shrink(args: &Args, failed: &[FailedCase]) -> failure::Result<()> {
    if !args.shrink {
        return Ok(());
    }
    let mut programs = Programs::default();
    for (failed, is_early) in shrinking::smallest(failed, &signals::is_interrupted) {
        say(&smallest::text(&failed, is_early));
        say(&programs.write(&failed)?);
    }
    Ok(())
}

/// What the options select.
fn selected(args: &Args) -> failure::Result<Campaign> {
    let log = args.log_writes.as_deref().map(|path| log_sample(args, path)).transpose()?;
    let is_named = log.is_none();
    let is_least = |name: &String| [LEAST, "all"].contains(&name.as_str());
    let has_least = args.geometry.is_empty() || args.geometry.iter().any(is_least);
    let has_programs = is_named && has_least && asks_for_all(&args.workload);
    let campaign = Campaign {
        subjects: subjects(args)?,
        models: if is_named { models(args)? } else { Vec::new() },
        draws_devices: is_named && args.geometry.iter().any(|name| name == DRAWN),
        workloads: if is_named { workloads(args) } else { Vec::new() },
        log,
        short_programs: args.short_programs.unwrap_or(if has_programs { 2 } else { 0 }),
        seeds: vec![args.seed],
        storage: storage(args)?,
        durability: durability(args)?,
        faults: Faults::parse(&args.faults)?,
        one_first_in: args.first_cuts,
        second_cuts: second_cuts(args),
        depth: args.depth.into(),
        budget: budget(args)?,
    };
    every_geometry_has_a_workload(args, &campaign)?;
    Ok(campaign)
}

/// The simplest failures, and the number of further ones.
fn findings(failed: &[FailedCase]) -> String {
    let told = |it: &&FailedCase| {
        let again = shrinking::unless_again(it).map_or(String::new(), |why| format!("  {why}\n"));
        format!("{it}\n{again}")
    };
    let mut simplest: Vec<&FailedCase> = failed.iter().collect();
    simplest.sort_by_key(|it| (it.cuts.len() + it.crashes.len(), it.case.operations.len()));
    let mut text: String = simplest.iter().take(SHOWN_MAX).map(told).collect();
    if failed.len() > SHOWN_MAX {
        let more = failed.len() - SHOWN_MAX;
        text +=
            &format!("… and {more} more; no more than two of each verdict of a case are kept\n");
    }
    text
}

/// Whether a campaign that tried everything found nothing.
fn found_nothing(report: &CampaignReport) -> failure::Result<bool> {
    let is_clean = report.rows.iter().all(|(_, tried)| tried.failed.is_empty());
    if is_clean {
        everything_was_tried(report)?;
        every_guest_was_cut(report)?;
    }
    Ok(is_clean)
}

/// A guest that keeps everything outside of the flash must not look as if it had survived cuts.
fn every_guest_was_cut(report: &CampaignReport) -> failure::Result<()> {
    let is_uncut = |(subject, tried): &&(Subject, Totals)| {
        subject.choice.guest.is_some() && tried.cuts.first + tried.crashes.first == 0
    };
    match report.rows.iter().find(is_uncut) {
        Some((subject, _)) => Err(failure::Failure::failed(format!(
            "no power was cut under {}: it made no program and no erase that could be cut, so \
             nothing is known of what it keeps",
            subject.name()
        ))),
        None => Ok(()),
    }
}

/// A geometry that was named and gets no case must not look as if it had passed.
fn every_geometry_has_a_workload(args: &Args, campaign: &Campaign) -> failure::Result<()> {
    let suits = |model: &DeviceModel| campaign.workloads.iter().any(|it| model.suits(it));
    match campaign.models.iter().find(|model| !suits(model)) {
        Some(model) if !args.geometry.is_empty() && !asks_for_all(&args.geometry) => {
            let (name, only) = (model.spec(), model.only_workload.unwrap_or("all"));
            let why = format!("geometry `{name}` is too large for workloads other than `{only}`");
            Err(failure::Failure::usage(why))
        }
        _ => Ok(()),
    }
}

/// A form of which no case was tried must not look as if it had passed.
fn everything_was_tried(report: &CampaignReport) -> failure::Result<()> {
    const NAMED: usize = 5;
    let (n, of) = (report.untried.len(), report.rows.len());
    if n == 0 {
        return Ok(());
    }
    let named = report.untried[..n.min(NAMED)].join(", ");
    let others = if n > NAMED { format!(" and {} more", n - NAMED) } else { String::new() };
    Err(failure::Failure::failed(format!(
        "the time was over before any case of {n} of {of} forms was tried: {named}{others}; give \
         a longer `--budget`, or fewer forms with `--ftl`"
    )))
}

/// Runs one case with the given crashes. Returns whether nothing was found.
fn replay_crashes(args: &Args, after: u64) -> failure::Result<bool> {
    let case = single_case(args)?;
    if case.storage != Storage::Image {
        let why = "--crash replays a crash of the machine below an image: add --on image";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    let loss = args.loss.as_deref().unwrap_or_default();
    let mut crashes = vec![Crash::with_loss(after, loss)?];
    for text in &args.second {
        crashes.push(Crash::parse(text)?);
    }
    let tell = |text: &str| tell(args, text);
    tell(&format!("{}\n", replay_line(&case, &[], &crashes)));
    let done = machine_loss::replay(&case, &crashes, &mut |line| tell(&format!("  {line}\n")));
    let never = |crash| format!("the crash {crash} never happens: the run ends before it");
    replayed(args, done.map(|missed| missed.map(never)))
}

/// Runs one case with the given cuts. Returns whether nothing was found.
fn replay_cuts(args: &Args, cut: u64) -> failure::Result<bool> {
    let case = single_case(args)?;
    let all = cuts_to_replay(args, &case, cut)?;
    are_clean(all.iter().map(|cuts| replay_one(args, &case, cuts)))
}

/// The first cuts of each replay. Where an outcome can find the dies in several ways, and none is
/// named, these are the ways that a check tries at this cut.
fn first_cuts(args: &Args, case: &Case, cut: u64) -> failure::Result<Vec<PowerCut>> {
    let outcomes = match &args.outcome {
        Some(text) => vec![text.as_str()],
        None => Outcome::NAMES.to_vec(),
    };
    let mut firsts = Vec::new();
    for text in outcomes {
        let first = PowerCut::with_outcome(cut, text)?;
        match first.outcome.is_of_all_dies() && !text.contains('#') {
            true => firsts.extend(power_loss::found_dies(case, &[], first)),
            false => firsts.push(first),
        }
    }
    Ok(firsts)
}

/// The cuts of each replay: with the outcome that was named, or with each that is promised.
fn cuts_to_replay(args: &Args, case: &Case, cut: u64) -> failure::Result<Vec<Vec<PowerCut>>> {
    let later: Vec<PowerCut> =
        args.second.iter().map(|text| PowerCut::parse(text)).collect::<spec::Result<_>>()?;
    let mut all = Vec::new();
    for first in first_cuts(args, case, cut)? {
        let cuts: Vec<PowerCut> = [first].into_iter().chain(later.iter().copied()).collect();
        match cuts.iter().find(|&&cut| !promises(case, cut)) {
            Some(cut) if args.outcome.is_some() || cut != &first => {
                let why = format!("{} promises nothing after the cut {cut}", who_promises(case));
                return Err(failure::Failure::usage(why));
            }
            Some(_) => {}
            None => all.push(cuts),
        }
    }
    if all.is_empty() {
        // A replay that tries nothing must not look as if it had found nothing.
        let why = format!("{} promises nothing after a cut on this chip", who_promises(case));
        return Err(failure::Failure::usage(why));
    }
    Ok(all)
}

/// Whose promise a cut may be outside of.
fn who_promises(case: &Case) -> String {
    match case.guest() {
        Some(guest) => format!("guest `{}`, by what it declares in `cuts`,", guest.name),
        None => format!("durability `{}`", case.durability.name()),
    }
}

/// Whether none of several replays found anything. All of them run.
fn are_clean(replays: impl Iterator<Item = failure::Result<bool>>) -> failure::Result<bool> {
    let mut clean = true;
    for replay in replays {
        clean &= replay?;
    }
    Ok(clean)
}

fn replay_one(args: &Args, case: &Case, cuts: &[PowerCut]) -> failure::Result<bool> {
    let mut teller = Teller::new(args.quiet, args.operations);
    teller.tell(&format!("{}\n", replay_line(case, cuts, &[])));
    teller.tell(&format!("  device: {}\n", device_of(case)));
    let done = match cuts.is_empty() {
        true => conformance::check_watched(case, &mut |action, device| {
            if action == Action::Mount {
                teller.powered(device);
            }
            teller.step(Step::Act(action));
        })
        .map(|_| None),
        false => power_loss::replay(case, cuts, &mut teller),
    };
    let failed: Vec<FailedCase> = done.as_ref().err().into_iter().cloned().collect();
    if let (Ok(Some(Missed::Impossible(_))), None) = (&done, &args.outcome) {
        // All outcomes are tried, whatever the operation is.
        teller.tell("  the operation has no such outcome\n");
        return Ok(true);
    }
    film(args, case, cuts)?;
    let is_clean = replayed(args, done.map(|missed| missed.map(|missed| missed.to_string())))?;
    shrink(args, &failed)?;
    Ok(is_clean)
}

/// Whether the film of a case is left when it ends. It goes with a guest that crashes or hangs.
fn is_filmable(failed: &FailedCase) -> bool {
    !matches!(failed.finding.defect, Defect::Crash | Defect::Hang)
}

/// Films a case, if the user asks for it.
fn film(args: &Args, case: &Case, cuts: &[PowerCut]) -> failure::Result<()> {
    let Some(files) = args.film.open(1, &mut CommandFiles::new())? else { return Ok(()) };
    let film = filmed::film(case, cuts).map_err(Failure::failed)?;
    files.write(&[film], "check")
}

/// The devices on which guests were tried. How many blocks each has is decided by the guest.
fn devices_of_guests(campaign: &Campaign) -> String {
    let guests = campaign.subjects.iter().filter(|subject| subject.choice.guest.is_some());
    let device = |subject: &Subject, model: &DeviceModel| {
        let name = campaign.workloads.iter().find(|name| model.suits(name))?;
        let seed = *campaign.seeds.first()?;
        let case = Case::new(subject, model, name, seed, campaign.durability).ok()?;
        Some(format!("{}: {}\n", model.spec(), device_of(&case)))
    };
    let of_guest = |subject| {
        let devices = campaign.models.iter().filter_map(|model| device(subject, model));
        let devices: String = devices.collect();
        // Drawn devices are in the replay lines.
        if devices.is_empty() {
            devices
        } else {
            format!("Devices of {}:\n{devices}\n", subject.name())
        }
    };
    guests.map(of_guest).collect()
}

/// The device of a case, which depends on the FTL too.
fn device_of(case: &Case) -> String {
    let (geometry, dimensions) = (case.geometry(), case.dimensions());
    format!(
        "{} blocks ({} extra) of {} pages of {}, {} for the host; {} B of each spare area for the \
         FTL",
        geometry.blocks(),
        case.extra_blocks(),
        geometry.pages_per_block(),
        page_size(geometry.page_bytes()),
        dimensions.pages,
        match case.guest() {
            Some(guest) => ChipShape::of(geometry, guest).spare_bytes,
            None => geometry.scheme_bytes(),
        }
    )
}

fn page_size(bytes: u32) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1024) => spec::print_size(bytes.into()),
        _ => format!("{bytes} B"),
    }
}

/// How a replay ended. It may say that a cut or crash never happened.
type Ended = Result<Option<String>, FailedCase>;

/// Reports a replay. Returns whether nothing was found.
fn replayed(args: &Args, done: Ended) -> failure::Result<bool> {
    let (is_clean, text) = ending(done)?;
    if !is_clean || !args.quiet {
        say(&text);
    }
    Ok(is_clean)
}

/// Whether a replay found nothing, and its last line or what it found.
fn ending(done: Ended) -> failure::Result<(bool, String)> {
    match done {
        Ok(None) => Ok((true, "  all is well\n".to_owned())),
        Ok(Some(missed)) => Err(failure::Failure::usage(missed)),
        Err(failure) => Ok((false, findings(&[failure]))),
    }
}

fn tell(args: &Args, text: &str) {
    if !args.quiet {
        say(text);
    }
}

fn single_case(args: &Args) -> failure::Result<Case> {
    let one = [&args.ftl, &args.geometry, &args.workload];
    if one.iter().any(|names| names.len() != 1 || names[0] == "all") {
        let why = "--cut and --crash replay one case: name one --ftl, one --geometry and one \
                   --workload";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    if args.geometry[0] == DRAWN {
        let why = "--cut and --crash replay one case: name one --geometry that is not drawn, as \
                   replay lines do";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    let subject = subject(args, &args.ftl[0], &layers(args)?)?;
    let model = DeviceModel::from_spec(&args.geometry[0]).map_err(unusable)?;
    let name = &args.workload[0];
    let case = match &args.log_writes {
        Some(path) => {
            let logged = LoggedWorkload::new(path, &log::read(path)?, &model);
            let index = logged.window_named(name)?;
            Case::of_window(&subject, &logged, index, args.seed, durability(args)?)
        }
        None => Case::new(&subject, &model, name, args.seed, durability(args)?),
    };
    Ok(case.map_err(unusable)?.on(storage(args)?))
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
    args.ftl.iter().map(|spec| subject(args, spec, &layers)).collect()
}

/// The FTL that a spec names. A guest is not asked to lose what it promises to keep.
fn subject(args: &Args, spec: &str, layers: &Layers) -> failure::Result<Subject> {
    let subject = Subject::from_spec(spec).map_err(unusable)?.under(layers);
    match &subject.choice.guest {
        Some(guest) if durability(args)? == Durability::Paper => {
            let name = &guest.declaration().name;
            let why = format!(
                "durability `paper` is for the schemes of ftlab; guest `{name}` is held to what it \
                 declares: leave `--durability` out"
            );
            Err(Failure::usage(why))
        }
        _ => Ok(subject),
    }
}

fn layers(args: &Args) -> failure::Result<Layers> {
    Layers::new(&args.layers.first().layers).map_err(unusable)
}

fn models(args: &Args) -> failure::Result<Vec<DeviceModel>> {
    if asks_for_all(&args.geometry) || (args.geometry.is_empty() && args.budget.is_some()) {
        return Ok(DEVICE_MODELS.to_vec());
    }
    if args.geometry.is_empty() {
        let quick = |model: &&DeviceModel| {
            model.logical_pages() <= QUICK_PAGES_MAX || model.only_workload.is_some()
        };
        return Ok(DEVICE_MODELS.iter().filter(quick).copied().collect());
    }
    let named = args.geometry.iter().filter(|name| *name != DRAWN);
    named.map(|spec| DeviceModel::from_spec(spec).map_err(unusable)).collect()
}

/// The windows of a log that the options select.
fn log_sample(args: &Args, path: &str) -> failure::Result<LogSample> {
    let models = match args.geometry.is_empty() {
        true => vec![*DeviceModel::named(log::GEOMETRY)?],
        false => models(args)?,
    };
    if models.is_empty() {
        let why = "the windows of a log have the pages of a --geometry: name one that is not drawn";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    let logged = log::read(path)?;
    let of_model = |model: &DeviceModel| LoggedWorkload::new(path, &logged, model);
    let of_models: Vec<LoggedWorkload> = models.iter().map(of_model).collect();
    let named = |name: &String| of_models[0].window_named(name);
    let windows = match (asks_for_all(&args.workload), args.windows) {
        (true, 0) => WindowChoice::Drawn(usize::MAX),
        (true, most) => WindowChoice::Drawn(most),
        (false, _) if models.len() > 1 => {
            let why =
                "each geometry divides the log otherwise: name one --geometry with --workload";
            return Err(failure::Failure::usage(why.to_owned()));
        }
        (false, _) => {
            let numbers = args.workload.iter().map(named).collect::<spec::Result<_>>()?;
            WindowChoice::Numbered(numbers)
        }
    };
    Ok(LogSample { of_models, windows })
}

fn workloads(args: &Args) -> Vec<String> {
    match asks_for_all(&args.workload) {
        true => WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect(),
        false => args.workload.clone(),
    }
}

fn durability(args: &Args) -> failure::Result<Durability> {
    Ok(args.durability.parse()?)
}

/// An image promises that everything which was synced survives, so the FTL on it must too.
fn storage(args: &Args) -> failure::Result<Storage> {
    let storage = args.on.parse()?;
    if storage == Storage::Image && durability(args)? != Durability::Full {
        let why = "an image needs durability `full`: with `paper`, data can be lost at a cut";
        return Err(failure::Failure::usage(why.to_owned()));
    }
    Ok(storage)
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

fn unusable(error: ftl::Error) -> failure::Failure {
    failure::Failure::usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use check::conformance::reached::Reached;
    use check::crash::machine_loss::CrashCounts;
    use check::cut::counts::{CutCounts, DecayTime};
    use check::finding::{Defect, Finding};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Args {
        Line::parse_from(["check"].into_iter().chain(line.split_whitespace())).args
    }

    /// A report of two FTLs, each of which failed this number of times.
    fn report(failed: [usize; 2]) -> CampaignReport {
        let model = DeviceModel::named("tiny").unwrap();
        let row = |(spec, failed)| {
            let subject = Subject::from_spec(spec).unwrap();
            let case = Case::new(&subject, model, "hot", 1, Durability::Full).unwrap();
            let finding = Finding::new(Defect::Lost, "a sector is gone");
            let failed = vec![FailedCase::new(&case, &[], finding); failed];
            let mut cuts = CutCounts { first: 4000, second: 50, deeper: 6, ..Default::default() };
            cuts.by_kind[Outcome::Torn as usize][DecayTime::Never as usize] = 4056;
            let crashes = CrashCounts { first: 700, second: 80, ..Default::default() };
            let reached = Reached { compared: 90, ..Reached::default() };
            let totals = Totals { cases: 3, reached, cuts, crashes, failed, ..Default::default() };
            (subject, totals)
        };
        CampaignReport {
            rows: ["page", "fast"].into_iter().zip(failed).map(row).collect(),
            refused: 0,
            untried: Vec::new(),
            seeds: 1,
            given: 6,
            unfinished: 0,
            wall: Duration::ZERO,
        }
    }

    #[test]
    fn every_finding_is_counted_and_the_first_ones_are_printed() {
        let report = report([5, 7]);
        assert!(matches!(found_nothing(&report), Ok(false)));
        let text = findings(&report.total().failed);
        assert_eq!(text.matches("lost: a sector is gone\n  Replay:  ftlab check").count(), 10);
        assert!(text.contains("\n… and 2 more; no more than two of each verdict"), "{text}");
        assert!(!findings(&report.rows[0].1.failed).contains("more"));
        let text = summary::text(&report);
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("page"), ["page", "3", "90", "4,000", "50", "6", "700", "80", "5"]);
        assert_eq!(row("total"), ["total", "6", "180", "8,000", "100", "12", "1,400", "160", "12"]);
        assert_eq!(row("torn"), ["torn", "basic", "8,112", "8,112", "0", "0", "0"]);
        assert!(!text.contains("stale"), "that was not tried: {text}");
        assert!(!text.contains("the time was over"), "{text}");
        let text = summary::text(&CampaignReport { unfinished: 2, ..report });
        assert!(text.contains("the time was over: 2 of 6 cases of the first seed"), "{text}");
    }

    #[test]
    fn a_campaign_is_clean_if_it_found_nothing_and_tried_everything() {
        assert!(matches!(found_nothing(&report([0, 0])), Ok(true)));
        assert!(matches!(found_nothing(&report([0, 1])), Ok(false)));
        let cut_short = CampaignReport { untried: vec!["fast".to_owned()], ..report([0, 0]) };
        let failure = found_nothing(&cut_short).unwrap_err();
        let why = failure.message();
        assert!(why.contains("before any case of 1 of 2 forms was tried: fast; give"), "{why}");
    }

    #[test]
    fn a_replay_ends_well_if_everything_that_was_replayed_did() {
        assert_eq!([true, false].map(exit_code), [DONE, VIOLATION]);
        let clean = |replays: [bool; 2]| are_clean(replays.into_iter().map(Ok)).unwrap();
        assert_eq!([[true, true], [false, true], [true, false]].map(clean), [true, false, false]);
        assert_eq!(ending(Ok(None)).unwrap(), (true, "  all is well\n".to_owned()));
        let failed = report([0, 1]).total().failed.remove(0);
        let (is_clean, text) = ending(Err(failed)).unwrap();
        assert!(!is_clean && text.starts_with("lost: a sector is gone\n  Replay:  "), "{text}");
        let cut = PowerCut::parse("9:torn").unwrap();
        let why =
            |missed: Missed| ending(Ok(Some(missed.to_string()))).unwrap_err().message().to_owned();
        assert!(why(Missed::Late(cut)).starts_with("the cut 9:torn never happens"));
        assert!(why(Missed::Impossible(cut)).starts_with("the cut 9:torn is impossible"));
    }

    #[test]
    fn options_select_what_is_tried() {
        let line = "--ftl page --seed 7 --depth 4 --second-cuts 9 --first-cuts 2 --on image";
        let chosen = selected(&args(line)).unwrap();
        assert_eq!((chosen.seeds, chosen.depth, chosen.one_first_in), (vec![7], 4, 2));
        assert_eq!((chosen.second_cuts, chosen.storage), (SecondCuts::OneIn(9), Storage::Image));
        assert_eq!((chosen.subjects.len(), chosen.short_programs), (1, 2));
        assert_eq!(chosen.workloads.len(), WORKLOADS.len());
        let none = selected(&args("--ftl page --second-cuts 0 --workload hot")).unwrap();
        assert_eq!((none.second_cuts, none.short_programs), (SecondCuts::None, 0));
        let every = selected(&args("--ftl page --second-cuts 1")).unwrap();
        assert_eq!((every.second_cuts, every.depth), (SecondCuts::All, 2));
        for none in ["--depth 0", "--first-cuts 0"] {
            let line = ["check"].into_iter().chain(none.split(' '));
            assert!(Line::try_parse_from(line).is_err(), "{none}");
        }
    }

    #[test]
    fn by_default_every_form_is_tried_on_every_small_chip() {
        let chosen = selected(&args("")).unwrap();
        let small = |model: &&DeviceModel| model.logical_pages() <= 64;
        let names: Vec<&str> = chosen.models.iter().map(|model| model.name).collect();
        assert!(DEVICE_MODELS.iter().filter(small).all(|model| names.contains(&model.name)));
        assert!(names.contains(&"windows") && !names.contains(&"small"), "{names:?}");
        assert!(chosen.subjects.len() > 5 * SCHEMES.len(), "{} forms", chosen.subjects.len());
        assert_eq!(chosen.faults, Faults::ALL);
    }
}
