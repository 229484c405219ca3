//! The columns of a row: the fields of a result, names of nested ones joined by points.

use serde_json::Value;

use crate::result::record::Columns;
pub use crate::result::record::{Column, ColumnKind};
use crate::result::run_result::RunResult;

/// The value in a column; null if the row has none.
pub fn at<'a>(row: &'a Value, column: &str) -> &'a Value {
    column.split('.').fold(row, |value, name| value.get(name).unwrap_or(&Value::Null))
}

/// The columns of the place of a row in its sweep.
const SWEEP: [(&str, ColumnKind); 4] = [
    ("sweep.row", ColumnKind::Whole),
    ("sweep.varied", ColumnKind::Json),
    ("sweep.error.exit_code", ColumnKind::Whole),
    ("sweep.error.message", ColumnKind::Text),
];

/// The names of the columns, the same for every sweep.
pub fn columns() -> Vec<String> {
    typed_columns().into_iter().map(|column| column.name).collect()
}

/// The columns, the same for every sweep.
pub fn typed_columns() -> Vec<Column> {
    let of = |(name, kind): (&str, ColumnKind)| Column { name: name.to_owned(), kind };
    let mut columns = SWEEP.map(of).to_vec();
    RunResult::columns("", &mut columns);
    // In the JSON the histograms come before the response times. In a row, where a histogram is
    // one long text, all times come first.
    let place = |columns: &[Column], name| columns.iter().position(|column| column.name == name);
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
    #[test]
    fn columns_have_the_kinds_of_their_fields() {
        let columns = typed_columns();
        let kind = |name: &str| columns.iter().find(|column| column.name == name).unwrap().kind;
        for (name, expected) in [
            ("sweep.row", ColumnKind::Whole),
            ("schema", ColumnKind::Text),
            ("run.seed", ColumnKind::Whole),
            ("run.limit", ColumnKind::Whole),
            ("run.sort", ColumnKind::Switch),
            ("run.volume", ColumnKind::Text),
            ("run.trace_sha256", ColumnKind::Text),
            ("write_amplification", ColumnKind::Real),
            ("erases.gc", ColumnKind::Whole),
            ("response_us.trim.max", ColumnKind::Real),
            ("trace.skipped", ColumnKind::Json),
            ("layers.buffer", ColumnKind::Json),
            ("notes", ColumnKind::Json),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
