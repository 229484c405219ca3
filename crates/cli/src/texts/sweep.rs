//! What a sweep prints at its end: its rows, the failed ones, and its claims.

use std::path::Path;

use report::figure::DataTable;
use report::headline::{self, as_lines};
use report::number_format::{count, counted, number};
use report::pages::sweep::{off_by, wanted};
use report::runs::fleet::Fleet;
use sim::plan::claim::{Claim, Judgement, Verdict};
use sim::plan::{Plan, Scale};
use sim::sweep::findings::{FailedRow, Findings};
use sim::sweep::{Journal, Shard};

use crate::texts::table::{Table, noted};

/// The number of failed rows whose message the summary shows.
const FAILURES_SHOWN: usize = 5;

/// The number of volumes that gain most and are shown.
const GAINS_SHOWN: usize = 5;

/// The summary of a sweep whose rows were written to `out`, if anywhere.
pub fn of_sweep(found: &Findings, out: Option<&str>, scale: Scale) -> String {
    let plan = found.plan();
    let rows = counted(plan.rows.len() as u64, "row");
    let headline = as_lines(&headline::sweep::of(found));
    let place = out.map_or(String::new(), |out| format!(" in {out}"));
    let mut text = format!("{headline}{}: {rows}{place}{}", title(plan), failures(found));
    if let Some(fleet) = Fleet::of(found) {
        text += &fleet_text(&fleet, &found.plan().choices);
    }
    for note in found.notes.counted_sentences() {
        text += &noted(&note);
    }
    for (index, claim) in plan.claims.iter().enumerate() {
        text += &claim_text(claim, &found.verdicts(index), scale);
    }
    text
}

/// What becomes of the rows of a sweep that were refused, if there are any.
pub fn of_refused(journal: &Journal) -> String {
    let (refused, path) = (journal.refused_count(), journal.path().display());
    match refused {
        0 => String::new(),
        _ => noted(&format!(
            "rows refused for lack of memory, or lost with their workers: {}; {path} stays, and \
             the same sweep runs only these again",
            count(refused as u64)
        )),
    }
}

/// The summary of a shard whose rows are kept in this journal, and the command that merges it with
/// others.
pub fn of_shard(found: &Findings, shard: Shard, journal: &Path, merge: &str) -> String {
    let plan = found.plan();
    let (rows, all) = (shard.rows(plan).len() as u64, plan.rows.len() as u64);
    format!(
        "{}: shard {shard} is done, {} of {} rows are in {}{}When all shards are done:  {merge}\n",
        title(plan),
        count(rows),
        count(all),
        journal.display(),
        failures(found)
    )
}

fn title(plan: &Plan) -> &str {
    if plan.title.is_empty() { "sweep" } else { &plan.title }
}

/// How many rows failed, why the first ones did, and how many more there are.
fn failures(found: &Findings) -> String {
    let mut text = match found.failed.len() {
        0 => "\n".to_owned(),
        failed => format!(", of which {} failed\n", count(failed as u64)),
    };
    for FailedRow { row, message, .. } in found.failed.iter().take(FAILURES_SHOWN) {
        text += &format!("row {row}: {message}\n");
    }
    let more = found.failed.len().saturating_sub(FAILURES_SHOWN);
    if more > 0 {
        text += &format!("and {} more\n", count(more as u64));
    }
    text
}

/// The distribution over the volumes, and the volumes that gain most.
fn fleet_text(fleet: &Fleet, choices: &[String]) -> String {
    let text = |of: &DataTable| {
        let mut table = Table::new(&of.head);
        of.rows.iter().for_each(|row| table.row(row));
        format!("\n{}", table.text())
    };
    let lines: String =
        choices.iter().cloned().chain(fleet.omissions()).map(|it| it + "\n").collect();
    let gains = fleet.gains(GAINS_SHOWN).as_ref().map_or(String::new(), text);
    text(&fleet.distribution()) + &lines + &gains
}

/// A claim and its judged cells.
fn claim_text(claim: &Claim, verdicts: &[Verdict], scale: Scale) -> String {
    let common = match claim.common.as_str() {
        "" => String::new(),
        common => format!(", {common}"),
    };
    let mut table = Table::new(&[
        &format!("{}  {}{common}", claim.id, claim.figure),
        "expected",
        "found",
        "off by",
        "",
    ]);
    for verdict in verdicts {
        table.row(&[
            format!("  {}", verdict.label),
            wanted(verdict.wanted, 1.0),
            verdict.found.map_or("–".into(), number),
            off_by(verdict).unwrap_or("–".into()),
            verdict.judgement.word().to_owned(),
        ]);
    }
    let cells = |judgement| verdicts.iter().filter(|cell| cell.judgement == judgement).count();
    let (holding, silent) = (cells(Judgement::Holds), cells(Judgement::Undecided));
    let silent_text = match silent {
        0 => String::new(),
        silent => format!("; {silent} have no such value"),
    };
    let quick = match scale {
        Scale::Quick => "; quick scale, which settles nothing",
        Scale::Full => "",
    };
    let within = match claim.within {
        0.0 => String::new(),
        within => format!(" within {:.3} %", 100.0 * within),
    };
    format!(
        "\n{}{}  {}: {} ({holding} of {}{within}{silent_text}{quick})\n",
        table.text(),
        claim.id,
        claim.judgement(verdicts).word(),
        claim.says,
        verdicts.len() - silent
    )
}
