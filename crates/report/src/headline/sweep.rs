//! Headlines of sweeps and papers: the claims that hold, the range of the rows, what failed.

use sim::plan::claim::Judgement;
use sim::result::notes::{Concern, concern};
use sim::sweep::findings::{Findings, OVERVIEW};

use super::words::{list, rounded};
use crate::headline::fleets;
use crate::number_format::{count, counted};
use crate::runs::fleet::Fleet;

/// The headline of a sweep: its claims, or the range of its rows; then rows that failed or were not
/// in a steady state.
pub fn of(found: &Findings) -> Vec<String> {
    let plan = found.plan();
    let judgements: Vec<Judgement> = (0..plan.claims.len())
        .map(|claim| plan.claims[claim].judgement(&found.verdicts(claim)))
        .collect();
    let first = match Fleet::of(found) {
        _ if !judgements.is_empty() => vec![claims(&judgements)],
        Some(fleet) => fleets::of(&fleet).into_iter().collect(),
        None => range(found).into_iter().collect(),
    };
    first.into_iter().chain(doubts(found)).collect()
}

fn claims(judgements: &[Judgement]) -> String {
    let of = |which| judgements.iter().filter(|judgement| **judgement == which).count();
    let (holding, all) = (of(Judgement::Holds), judgements.len());
    let undecided = match of(Judgement::Undecided) {
        0 => String::new(),
        some => format!("; {some} cannot be decided"),
    };
    match (holding, all) {
        (1, 1) => "The claim holds.".to_owned(),
        (0, 1) if undecided.is_empty() => "The claim does not hold.".to_owned(),
        (0, 1) => "The claim cannot be decided.".to_owned(),
        (holding, all) if holding == all => format!("All {all} claims hold."),
        (1, all) => format!("1 of {all} claims holds{undecided}."),
        _ => format!("{holding} of {all} claims hold{undecided}."),
    }
}

/// The rows with the least and the most write amplification, or of the first column with values.
fn range(found: &Findings) -> Option<String> {
    let rows = &found.plan().rows;
    let values =
        |column| (0..rows.len()).filter_map(move |row| Some((row, found.overview(row, column)?)));
    let column = (0..OVERVIEW.len()).find(|&column| values(column).next().is_some())?;
    let (what, factor) = COLUMNS[column];
    let least = values(column).min_by(|a, b| a.1.total_cmp(&b.1))?;
    let most = values(column).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let shown = |(row, value): (usize, f64)| {
        let parts = rows[row].varied.iter().map(|(key, value)| format!("{key}={value}"));
        let setting = parts.collect::<Vec<_>>().join(" ").replace('"', "");
        match setting.is_empty() {
            true => rounded(factor * value),
            false => format!("{} ({setting})", rounded(factor * value)),
        }
    };
    let all = count(values(column).count() as u64);
    Some(match least.1 == most.1 {
        true if all == "1" => format!("The {what} is {}.", shown(least)),
        true => format!("The {what} of all {all} runs is {}.", rounded(factor * least.1)),
        false => format!("The {what} of {all} runs is {} to {}.", shown(least), shown(most)),
    })
}

/// The columns of the overview in words, and the factor to the unit of the words.
const COLUMNS: [(&str, f64); OVERVIEW.len()] =
    [("write amplification", 1.0), ("serial time in seconds", 1e-6), ("IOPS", 1.0)];

/// Rows that failed, and rows that were not in a steady state.
fn doubts(found: &Findings) -> Option<String> {
    let rows = found.plan().rows.len();
    let (seen, unsteady) = found.notes.having(|note| concern(note) == Concern::State);
    let failed = match found.failed.len() {
        0 => None,
        failed => {
            Some(format!("{} of {} failed", count(failed as u64), counted(rows as u64, "run")))
        }
    };
    let unsteady = (unsteady > 0).then(|| {
        let were = if unsteady == 1 { "was" } else { "were" };
        let (unsteady, seen) = (count(unsteady as u64), counted(seen as u64, "run"));
        format!("{unsteady} of {seen} {were} not in a steady state, so longer ones may differ")
    });
    let parts: Vec<String> = failed.into_iter().chain(unsteady).collect();
    (!parts.is_empty()).then(|| format!("{}.", parts.join("; ")))
}

/// The headline of papers: how many claims have each outcome, such as 31 `reproduced`.
pub fn of_claims<'a>(outcomes: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for outcome in outcomes {
        match counts.iter_mut().find(|(known, _)| *known == outcome) {
            Some((_, times)) => *times += 1,
            None => counts.push((outcome, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, times)| times).sum();
    let parts: Vec<String> =
        counts.iter().map(|(outcome, times)| format!("{times} {outcome}")).collect();
    match all {
        0 => Vec::new(),
        1 => vec![format!("1 claim: {}.", counts[0].0)],
        _ => vec![format!("Of {all} claims: {}.", list(&parts))],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sim::plan::{Plan, Scale};

    use super::*;

    const PLAN: &str = r#"
        [base]
        trace = "uniform:writes=10"
        [[grid]]
        seed = [1, 2, 3]"#;
    const CLAIMS: &str = r#"
        [[claim]]
        id = "A"
        says = ""
        figure = "write_amplification"
        rows = [{ seed = 1, expected = 2 }]
        [[claim]]
        id = "B"
        says = ""
        figure = "write_amplification"
        rows = [{ seed = 2, expected = 2 }]"#;

    /// The headline of a sweep whose rows have this write amplification; a row without one failed.
    fn headline(claims: &str, costs: [Option<f64>; 3], notes: &[&str]) -> String {
        let plan = Plan::parse("p", &format!("{PLAN}{claims}"), Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, cost) in costs.into_iter().enumerate() {
            let error = json!({"exit_code": 1, "message": "no such file"});
            let error = cost.map_or(error, |_| Value::Null);
            let notes = if cost.is_some() { json!(notes) } else { Value::Null };
            found.see(
                row,
                &json!({"write_amplification": cost, "notes": notes, "sweep": {"error": error}}),
            );
        }
        of(&found).join(" ")
    }

    #[test]
    fn a_sweep_without_claims_has_the_range_of_its_rows() {
        let wanted = "The write amplification of 3 runs is 1.50 (seed=2) to 12.0 (seed=3).";
        assert_eq!(headline("", [Some(2.0), Some(1.5), Some(12.0)], &[]), wanted);
        let same = headline("", [Some(2.0); 3], &[]);
        assert_eq!(same, "The write amplification of all 3 runs is 2.00.");
        let failed = headline("", [Some(2.0), None, None], &[]);
        assert_eq!(failed, "The write amplification is 2.00 (seed=1). 2 of 3 runs failed.");
        assert_eq!(headline("", [None; 3], &[]), "3 of 3 runs failed.");
    }

    #[test]
    fn claims_are_counted_and_doubts_are_named() {
        assert_eq!(headline(CLAIMS, [Some(2.0); 3], &[]), "All 2 claims hold.");
        let moves = "Write amplification was 1 in the first fifth";
        let wanted = "1 of 2 claims holds. 3 of 3 runs were not in a steady state, so longer ones \
                      may differ.";
        assert_eq!(headline(CLAIMS, [Some(2.0), Some(3.0), Some(3.0)], &[moves]), wanted);
        let failed = headline(CLAIMS, [Some(2.0), None, Some(3.0)], &[]);
        assert_eq!(failed, "1 of 2 claims holds; 1 cannot be decided. 1 of 3 runs failed.");
    }

    #[test]
    fn outcomes_of_claims_are_counted() {
        let shown = of_claims(["reproduced", "open", "reproduced"]);
        assert_eq!(shown, ["Of 3 claims: 2 reproduced and 1 open."]);
        assert_eq!(of_claims(["open"]), ["1 claim: open."]);
        assert!(of_claims([]).is_empty());
    }
}
