//! What a campaign says at its end: how much was tried, how far it came, and what was found.

use check::campaign::{CampaignReport, Totals};
use check::conformance::reached::Reached;
use check::crash::machine_loss::CrashCounts;
use check::cut::counts::{CutCounts, DecayTime};
use check::cut::faults::{FaultClass, declared_outcomes};
use check::failed_case::FailedCase;
use check::finding::Verdict;
use check::subject::Subject;
use nand::Outcome;
use report::number_format::{count, counted, number};

use crate::process::signals;
use crate::texts::table::Table;

/// The whole text.
pub fn text(report: &CampaignReport) -> String {
    let total = report.total();
    let crashed = total.crashes.first > 0;
    let columns = columns(&total);
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let mut table = Table::new(&[&["ftl"], &names[..]].concat());
    let mut row = |name: String, tried: &Totals| {
        let numbers = columns.iter().map(|(_, number)| count(number(tried)));
        table.row(&[name].into_iter().chain(numbers).collect::<Vec<_>>());
    };
    report.rows.iter().for_each(|(subject, tried)| row(subject.name(), tried));
    if report.rows.len() > 1 {
        row("total".to_owned(), &total);
    }
    let mut text = table.text() + "\n";
    if total.cuts.first > 0 {
        text += &outcomes(&total.cuts);
    }
    report.rows.iter().for_each(|(subject, tried)| text += &reached(subject, tried));
    report.rows.iter().for_each(|(subject, tried)| text += &not_tried(subject, tried));
    text += &verdicts(report);
    if crashed {
        text += &losses(&total.crashes);
    }
    let (seconds, seeds) = (report.wall.as_secs_f64(), counted(report.seeds, "seed"));
    text += &unfinished(report).unwrap_or_default();
    text += &format!("{seeds} in {seconds:.1} s");
    if total.drawn_anew > 0 {
        text += &format!("; {} drawn chips refused and drawn anew", count(total.drawn_anew));
    }
    if report.refused > 0 {
        text += &format!("; {} cases on chips that the FTL refuses", count(report.refused));
    }
    text + "\n"
}

/// What was not tried of that which was asked for, without the seeds that a budget adds.
pub fn unfinished(report: &CampaignReport) -> Option<String> {
    let why = if signals::is_interrupted() { "interrupted" } else { "the time was over" };
    (report.unfinished > 0).then(|| {
        format!(
            "{why}: {} of {} cases of the first seed were not tried, or not with all their cuts\n",
            count(report.unfinished),
            count(report.given)
        )
    })
}

/// A column of the summary.
type Column = (&'static str, fn(&Totals) -> u64);

/// The columns that a campaign with these totals needs.
fn columns(total: &Totals) -> Vec<Column> {
    let mut columns: Vec<Column> = vec![
        ("cases", |tried| tried.cases),
        ("compared", |tried| tried.reached.compared),
        ("cuts", |tried| tried.cuts.first),
        ("second cuts", |tried| tried.cuts.second),
    ];
    if total.cuts.deeper > 0 {
        columns.push(("deeper cuts", |tried| tried.cuts.deeper));
    }
    if total.crashes.first > 0 {
        columns.push(("crashes", |tried| tried.crashes.first));
        columns.push(("second crashes", |tried| tried.crashes.second));
    }
    columns.push(("found", found));
    columns
}

/// Number of findings. A case under a guest shows only some of those after first cuts.
fn found(tried: &Totals) -> u64 {
    let after_cuts: u64 = tried.cuts.found.as_flattened().iter().sum();
    (tried.failed.len() as u64).max(after_cuts)
}

/// How far the cases have come under a guest, so that its author sees what was never tried.
fn reached(subject: &Subject, tried: &Totals) -> String {
    let Reached { compared, erases, mut figures } = tried.reached.clone();
    figures.add(&tried.cuts.figures);
    let figures = figures.iter().map(|(name, value)| format!("; {name} {}", number(value)));
    match subject.choice.guest.is_some() && compared > 0 {
        true => format!(
            "{} has reached at most: erases {}{}\n\n",
            subject.name(),
            count(erases),
            figures.collect::<String>()
        ),
        false => String::new(),
    }
}

/// The outcomes that a guest declares and that no cut had.
fn not_tried(subject: &Subject, tried: &Totals) -> String {
    let Some(guest) = &subject.choice.guest else { return String::new() };
    let names: Vec<&str> = declared_outcomes(guest.declaration())
        .filter(|&outcome| tried.cuts.of(outcome) == 0)
        .map(Outcome::name)
        .collect();
    match names.is_empty() || tried.cuts.first == 0 {
        true => String::new(),
        false => format!(
            "{} declares what could not happen on these devices, or was not asked for: {}\n\n",
            subject.name(),
            names.join(", ")
        ),
    }
}

/// The cuts by outcome and by the time at which weak pages decayed.
fn outcomes(cuts: &CutCounts) -> String {
    let head: Vec<&str> =
        ["outcome", "faults", "cuts"].into_iter().chain(DecayTime::NAMES).collect();
    let mut table = Table::new(&head);
    for outcome in Outcome::ALL {
        if cuts.of(outcome) > 0 {
            let class = FaultClass::of(outcome).name().to_owned();
            let names = [outcome.name().to_owned(), class, count(cuts.of(outcome))];
            let times = cuts.by_kind[outcome as usize].map(count);
            table.row(&[&names[..], &times].concat());
        }
    }
    table.text() + "\n"
}

/// What was found under guests: without a cut, and after first cuts. Empty if nothing was.
fn verdicts(report: &CampaignReport) -> String {
    let of_guests = report.rows.iter().filter(|(subject, _)| subject.choice.guest.is_some());
    let mut total = Totals::default();
    of_guests.for_each(|(_, tried)| total.add(tried.clone()));
    let head =
        ["verdict", "cases without cuts", "crashes", "first cuts", "share", "left behind by them"];
    let (mut table, mut is_empty) = (Table::new(&head), true);
    for verdict in Verdict::ALL {
        let alike = |failed: &&FailedCase| failed.finding.defect.verdict() == verdict;
        let number = |is_counted: fn(&FailedCase) -> bool| {
            total.failed.iter().filter(alike).filter(|failed| is_counted(failed)).count() as u64
        };
        let uncut = number(FailedCase::is_uncut);
        let crashed = number(|failed| !failed.crashes.is_empty());
        let by_outcome = &total.cuts.found[verdict as usize];
        let cut: u64 = by_outcome.iter().sum();
        if uncut + crashed + cut == 0 {
            continue;
        }
        is_empty = false;
        let share = match total.cuts.first {
            0 => String::new(),
            first => format!("{:.2} %", 100.0 * cut as f64 / first as f64),
        };
        let named = Outcome::ALL.into_iter().zip(by_outcome).filter(|(_, number)| **number > 0);
        let named: Vec<String> =
            named.map(|(outcome, number)| format!("{outcome} {}", count(*number))).collect();
        let name = verdict.name().to_owned();
        let numbers = [uncut, crashed, cut].map(count);
        table.row(&[&[name], &numbers[..], &[share, named.join(", ")]].concat());
    }
    if is_empty { String::new() } else { table.text() + "\n" }
}

/// The crash states by what was lost.
fn losses(crashes: &CrashCounts) -> String {
    let mut table = Table::new(&["loss", "crashes"]);
    for (name, tried) in crashes.by_name() {
        table.row(&[name.to_owned(), count(tried)]);
    }
    table.text() + "\n"
}
