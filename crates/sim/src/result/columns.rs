//! The columns of a row: the fields of a result, names of nested ones joined by points.

use serde_json::Value;

use crate::result::record::Columns;
pub use crate::result::record::{Column, ColumnKind};
use crate::result::run_result::{RunResult, ratio};

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
    let of = |(name, kind): (&str, ColumnKind)| {
        let name = name.to_owned();
        Column { name, kind, is_optional: true, most: None }
    };
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

/// What is wrong with the fields of a result, if anything is: one is missing, or has a value that
/// no run gives it.
pub fn fault(result: &Value) -> Option<String> {
    let of_column = |column: &Column| {
        let (name, value) = (&column.name, at(result, &column.name));
        match wanted(column, value) {
            _ if value.is_null() => {
                (!column.is_optional).then(|| format!("it has no value of `{name}`"))
            }
            None => None,
            Some(wanted) => Some(format!("`{name}` is {}, and not {wanted}", short(value))),
        }
    };
    typed_columns().iter().find_map(of_column).or_else(|| cost_fault(result))
}

/// What a column holds, if the value is something else.
fn wanted(column: &Column, value: &Value) -> Option<String> {
    let (fits, wanted) = match column.kind {
        ColumnKind::Switch => (value.is_boolean(), "true or false"),
        ColumnKind::Whole => (value.is_u64(), "a whole number from 0 on"),
        ColumnKind::Real => {
            let most = column.most.map_or(f64::INFINITY, f64::from);
            let fits = value.as_f64().is_some_and(|number| (0.0..=most).contains(&number));
            let end = column.most.map_or("on".to_owned(), |most| format!("to {most}"));
            return (!fits).then(|| format!("a number from 0 {end}"));
        }
        ColumnKind::Text => (value.is_string(), "a text"),
        ColumnKind::Json => (true, ""),
    };
    (!fits).then(|| wanted.to_owned())
}

/// What is wrong with the cost of a write, which follows from counts.
fn cost_fault(result: &Value) -> Option<String> {
    let count = |column| at(result, column).as_u64().unwrap_or(0);
    let (pages, page_bytes) = (count("programs.total"), count("device.page_bytes"));
    [
        ("write_amplification", pages, "host_pages.written"),
        ("write_amplification_bytes", pages.saturating_mul(page_bytes), "trace.written_bytes"),
    ]
    .into_iter()
    .find_map(|(name, programmed, written)| {
        let (found, follows) = (at(result, name), ratio(programmed, count(written)));
        let is_right = match (found.as_f64(), follows) {
            (Some(found), Some(follows)) => (found - follows).abs() <= 1e-9 * follows,
            (found, follows) => found == follows,
        };
        let follows = follows.map_or("null".to_owned(), |it| it.to_string());
        (!is_right).then(|| {
            format!(
                "`{name}` is {found}, and not {follows}: what was programmed is {programmed}, and \
                 `{written}` is {}",
                count(written)
            )
        })
    })
}

/// A value for a message.
fn short(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::config::setup::Setup;
    use crate::run::{RunOptions, run};
    use serde_json::json;

    #[test]
    fn the_documentation_names_the_columns_of_json() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.md");
        let text = std::fs::read_to_string(page).unwrap();
        let (_, list) = text.split_once("These columns contain JSON text").unwrap();
        let (list, _) = list.split_once("\n\n").unwrap();
        let named: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let columns = typed_columns();
        let of_json = columns.iter().filter(|column| column.kind == ColumnKind::Json);
        assert_eq!(named, of_json.map(|column| column.name.as_str()).collect::<Vec<_>>());
    }

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
    fn a_damaged_field_is_named() {
        let experiment = Experiment {
            trace: Some("uniform:writes=2K".into()),
            capacity_bytes: Some(1 << 20),
            ..Experiment::default()
        };
        let result = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap();
        let whole = serde_json::to_value(&result).unwrap();
        assert_eq!(fault(&whole), None);
        for (part, field, value, why) in [
            ("erases", "gc", json!(-5), "`erases.gc` is -5, and not a whole number from 0 on"),
            ("erases", "gc", json!(0.5), "`erases.gc` is 0.5, and not a whole number from 0 on"),
            ("copies", "gc", json!("1"), "`copies.gc` is \"1\", and not a whole number from 0 on"),
            ("time_us", "gc", json!([1]), "`time_us.gc` is a list, and not a number from 0 on"),
            ("time_us", "gc", json!(-0.5), "`time_us.gc` is -0.5, and not a number from 0 on"),
            ("wear", "gini", json!(5), "`wear.gini` is 5, and not a number from 0 to 1"),
            ("trace", "name", json!({}), "`trace.name` is a table, and not a text"),
            ("wear", "min", Value::Null, "it has no value of `wear.min`"),
        ] {
            let mut damaged = whole.clone();
            damaged[part][field] = value;
            assert_eq!(fault(&damaged).as_deref(), Some(why));
        }
        for (field, value) in [
            ("write_amplification", json!(-3)),
            ("write_amplification", Value::Null),
            ("write_amplification", json!(1.5)),
            ("write_amplification_bytes", Value::Null),
        ] {
            let mut damaged = whole.clone();
            damaged[field] = value.clone();
            let why = fault(&damaged).unwrap();
            assert!(why.starts_with(&format!("`{field}` is {value}, and not ")), "{why}");
        }
        let mut unwritten = whole.clone();
        (unwritten["host_pages"]["written"], unwritten["trace"]["written_bytes"]) =
            (json!(0), json!(0));
        assert!(fault(&unwritten).unwrap().contains(", and not null: what was programmed is "));
        let mut without = whole.clone();
        without.as_object_mut().unwrap().remove("reads");
        assert_eq!(fault(&without).as_deref(), Some("it has no value of `reads.host`"));
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
