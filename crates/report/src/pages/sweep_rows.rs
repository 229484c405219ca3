//! The rows of a sweep as a table: on its page, and for a paper.

use std::collections::HashMap;

use serde_json::Value;
use sim::plan::Scale;
use sim::plan::row::Row;
use sim::sweep::findings::{Findings, OVERVIEW};

use crate::axis_labels::label;
use crate::captions::{QUICK_PLAN_NOTE, common_options};
use crate::figure::DataTable;
use crate::headline;
use crate::latex::{self, LatexGroup};
use crate::number_format::{counted, number};
use crate::runs::fleet::Fleet;

/// Whether the largest value of each column of the overview is the best one.
const IS_MOST_BEST: [bool; OVERVIEW.len()] = [false, false, true];

/// All rows: the options that they set, and the columns of the overview. The best of rivals are
/// marked by `*`.
pub fn table(found: &Findings) -> DataTable {
    let rows = &found.plan().rows;
    let mut options: Vec<&String> = Vec::new();
    for option in rows.iter().flat_map(|row| row.varied.keys()) {
        if !options.contains(&option) {
            options.push(option);
        }
    }
    let has_any = |column: &usize| (0..rows.len()).any(|it| found.overview(it, *column).is_some());
    let columns: Vec<usize> = (0..OVERVIEW.len()).filter(has_any).collect();
    let cells: Vec<Vec<String>> = columns.iter().map(|&column| cells(found, column)).collect();
    let line = |(at, row): (usize, &Row)| {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let option = |name: &&String| row.varied.get(*name).map_or("–".to_owned(), text);
        let number = [number(at as f64)].into_iter();
        let values = cells.iter().map(|column| column[at].clone());
        number.chain(options.iter().map(option)).chain(values).collect()
    };
    let names = columns.iter().map(|&column| label(OVERVIEW[column]).to_owned());
    let head = ["row".to_owned()].into_iter();
    let head = head.chain(options.iter().map(|name| name.replace('_', " "))).chain(names);
    let text_columns = 1 + options.len();
    DataTable { text_columns, ..DataTable::new(head, rows.iter().enumerate().map(line)) }
}

/// The table for a paper. The caption says what was run and what came out.
pub fn latex(found: &Findings, scale: Scale) -> String {
    let plan = found.plan();
    let fleet = Fleet::of(found);
    let DataTable { head, rows, text_columns } = match &fleet {
        Some(fleet) => fleet.distribution(),
        None => without_numbers(table(found)),
    };
    let omissions = fleet.and_then(|fleet| fleet.omissions()).unwrap_or_default();
    let title = if plan.title.is_empty() { String::new() } else { format!("{}.", plan.title) };
    let runs = format!("{}.", counted(plan.rows.len() as u64, "run"));
    let quick = if scale == Scale::Quick { QUICK_PLAN_NOTE } else { "" };
    let parts =
        [&[title][..], &headline::sweep::of(found), &[runs, common_options(plan), omissions]]
            .concat();
    let parts = parts.iter().map(String::as_str).chain([quick]).filter(|part| !part.is_empty());
    let caption = parts.collect::<Vec<_>>().join(" ");
    latex::table(&caption, &head, text_columns, &[LatexGroup { title: String::new(), rows }])
}

/// A paper does not need the numbers of the rows.
fn without_numbers(table: DataTable) -> DataTable {
    DataTable {
        head: table.head[1..].to_vec(),
        rows: table.rows.iter().map(|row| row[1..].to_vec()).collect(),
        text_columns: table.text_columns - 1,
    }
}

/// A column of the overview. The best of rivals is marked, unless more than half are as good.
fn cells(found: &Findings, column: usize) -> Vec<String> {
    let rivals = rivals(&found.plan().rows);
    let mut values: HashMap<&str, Vec<f64>> = HashMap::new();
    for (row, rivals) in rivals.iter().enumerate() {
        values.entry(rivals).or_default().extend(found.overview(row, column));
    }
    let best: HashMap<&str, Option<f64>> =
        values.iter().map(|(&rivals, of)| (rivals, best(of, IS_MOST_BEST[column]))).collect();
    let cell = |(row, rivals): (usize, &String)| match found.overview(row, column) {
        None if found.failed.iter().any(|failed| failed.row == row) => "failed".to_owned(),
        None => "–".to_owned(),
        Some(value) if best[&**rivals] == Some(value) => format!("*{}", number(value)),
        Some(value) => number(value),
    };
    rivals.iter().enumerate().map(cell).collect()
}

/// The best of these values; none if more than half are as good.
fn best(values: &[f64], is_most: bool) -> Option<f64> {
    let all = values.iter().copied();
    let best = if is_most { all.max_by(f64::total_cmp) } else { all.min_by(f64::total_cmp) }?;
    let as_good = values.iter().filter(|value| **value == best).count();
    (2 * as_good <= values.len()).then_some(best)
}

/// For each row what it has in common with its rivals: everything but FTL and policy if there are
/// several, and otherwise the trace.
fn rivals(rows: &[Row]) -> Vec<String> {
    let placing = |row: &Row| (row.experiment.ftl.clone(), row.experiment.policy.clone());
    let has_several = rows.iter().any(|row| placing(row) != placing(&rows[0]));
    let is_common = |key: &str| match has_several {
        true => !["ftl", "policy"].contains(&key.split('.').next().unwrap_or(key)),
        false => ["trace", "load"].contains(&key),
    };
    let common = |row: &Row| -> Vec<String> {
        let options = row.varied.iter().filter(|(key, _)| is_common(key));
        options.map(|(key, value)| format!("{key}={value}")).collect()
    };
    rows.iter().map(|row| common(row).join(" ")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sim::plan::Plan;

    use super::*;

    /// The findings of a plan with this grid, whose rows have these costs.
    fn latex_of(grid: &str, costs: &[f64]) -> String {
        let text = format!("title = \"A & B\"\n[base]\ntrace = \"oltp\"\n[[grid]]\n{grid}");
        let plan = Plan::parse("p", &text, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, cost) in costs.iter().enumerate() {
            found.see(row, &json!({"write_amplification": cost, "sweep": {"error": null}}));
        }
        latex(&found, Scale::Full)
    }

    #[test]
    fn the_best_ftl_of_each_setting_is_bold() {
        let grid = "extra = [\"3%\", \"9%\"]\nftl = [\"page\", \"fast\"]";
        let table = latex_of(grid, &[2.0, 3.0, 1.5, 1.25]);
        for line in [
            "\\caption{A \\& B. The write amplification of 4 runs is 1.25 (extra=9\\% ftl=fast) to",
            "\\begin{tabular}{llr}\n",
            "\nextra & ftl & write amplification (programs per host page) \\\\\n",
            "\n3\\% & page & \\textbf{2} \\\\\n3\\% & fast & 3 \\\\\n",
            "\n9\\% & page & 1.5 \\\\\n9\\% & fast & \\textbf{1.25} \\\\\n",
        ] {
            assert!(table.contains(line), "{line}: {table}");
        }
        assert_eq!(table, latex_of(grid, &[2.0, 3.0, 1.5, 1.25]));
    }

    #[test]
    fn policies_and_ftls_are_rivals() {
        let grids = "extra = [\"3%\", \"9%\"]\npolicy = \"mine\"\n\
                     [[grid]]\nextra = [\"3%\", \"9%\"]\nftl = \"dac\"";
        let table = latex_of(grids, &[1.25, 2.5, 1.5, 2.25]);
        for cells in ["1.25", "2.25"].map(|cost| format!("\\textbf{{{cost}}}")) {
            assert!(table.contains(&cells), "{cells}: {table}");
        }
        assert_eq!(table.matches("textbf").count(), 2, "{table}");
    }

    #[test]
    fn ftls_that_differ_in_a_key_are_rivals() {
        let grid = "extra = [\"3%\", \"9%\"]\nftl.victim = [\"greedy\", \"fifo\", \"random\"]";
        let table = latex_of(grid, &[2.0, 3.0, 2.5, 1.75, 1.5, 1.25]);
        for cells in ["greedy & \\textbf{2}", "random & \\textbf{1.25}"] {
            assert!(table.contains(cells), "{cells}: {table}");
        }
        assert_eq!(table.matches("textbf").count(), 2, "{table}");
    }

    #[test]
    fn without_several_ftls_rows_of_a_trace_are_rivals() {
        let grid = "trace = [\"oltp\", \"skew\"]\nextra = [\"3%\", \"5%\", \"9%\"]";
        let table = latex_of(grid, &[3.0, 2.0, 2.0, 4.0, 4.0, 4.0]);
        assert!(!table.contains("\\textbf"), "two of three are best, then all: {table}");
        let table = latex_of(grid, &[3.0, 2.0, 1.0, 5.0, 4.0, 6.0]);
        assert!(table.contains("9\\% & \\textbf{1}") && table.contains("5\\% & \\textbf{4}"));
    }
}
