//! The columns of a csv row: the names of a result's fields, nested ones joined by points.

use serde_json::Value;

use crate::result::record::Columns;
use crate::result::run_result::RunResult;

/// The value in a column; null if the row has none.
pub fn at<'a>(row: &'a Value, column: &str) -> &'a Value {
    column.split('.').fold(row, |value, name| value.get(name).unwrap_or(&Value::Null))
}

/// The columns of the csv form, the same for every sweep.
pub fn columns() -> Vec<String> {
    let sweep = ["sweep.row", "sweep.varied", "sweep.error.exit_code", "sweep.error.message"];
    let mut columns = sweep.map(str::to_owned).to_vec();
    RunResult::columns("", &mut columns);
    // In the JSON the histograms come before the response times. In csv, where a histogram is one
    // long text, all times come first.
    let place = |columns: &[String], name| columns.iter().position(|column| column == name);
    if let (Some(from), Some(to)) =
        (place(&columns, "histograms"), place(&columns, "drive.profile"))
    {
        columns[from..to].rotate_left(1);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_follow_the_fields_of_a_result() {
        let columns = columns();
        let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let inside = |name: &str| columns.iter().any(|column| column.starts_with(name));
        assert!(place("schema") == 4 && place("run.seed") == 5 && place("scheme") > 100);
        assert_eq!(place("run.trace_sha256"), place("run.durability") + 1);
        assert_eq!(place("histograms"), place("response_us.trim.max") + 1);
        for open in ["ftl.params.", "layers.buffer.", "histograms.", "series.", "scheme.", "wall"] {
            assert!(!inside(open), "{open}");
        }
        let mut unique = columns.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), columns.len());
    }
}
