//! A row of a sweep: what a run said, or why it could not, and which of the plan's runs it was.
//!
//! As JSON it is the JSON of a run with `sweep` in the place of `wall`: what differs from run to
//! run is left out, so that the same plan gives the same bytes. A run that failed has `sweep`
//! alone.
//!
//! ```text
//! "sweep": {"row": 3, "varied": {"extra": "7%"}, "error": null | {"exit_code": 2, "message": "…"}}
//! ```
//! As csv it is the same, flattened: nested names are joined by points, nulls are empty, and what
//! has no fixed names (parameters, a scheme's own figures, histograms, series) is JSON text.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::failed_row::Failed;
use crate::plan::Row;
use crate::result::columns::{at, columns};
use crate::result::run_result::{RunResult, SCHEMA};

/// The two forms that rows are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Comma-separated values, with a head.
    Csv,
    /// A JSON value a line.
    Jsonl,
}

impl Form {
    /// The form that a file's name asks for.
    pub fn of(name: &str) -> Option<Form> {
        let endings = [(".csv", Form::Csv), (".jsonl", Form::Jsonl)];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| form)
    }
}

/// The row as JSON, on one line.
pub(super) fn json(index: usize, row: &Row, ran: &Result<RunResult, Failed>) -> String {
    let mut fields = match ran.as_ref().map(serde_json::to_value) {
        Ok(Ok(Value::Object(fields))) => fields,
        Ok(other) => unreachable!("a result is a table, not {other:?}"),
        Err(_) => Map::from_iter([("schema".to_owned(), SCHEMA.into())]),
    };
    fields.shift_remove("wall");
    let error = ran.as_ref().err();
    let error = error.map(|why| json!({"exit_code": why.exit_code, "message": why.message}));
    let sweep = json!({"row": index, "varied": row.varied, "error": error});
    fields.insert("sweep".to_owned(), sweep);
    Value::Object(fields).to_string()
}

/// Writes rows in one of the two forms.
pub struct RowWriter<W: Write> {
    out: Out<W>,
    columns: Vec<String>,
}

enum Out<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> RowWriter<W> {
    /// Writes the head, if the form has one.
    ///
    /// # Errors
    /// The writing fails.
    pub fn new(out: W, form: Form) -> io::Result<RowWriter<W>> {
        let columns = columns();
        let out = match form {
            Form::Jsonl => Out::Jsonl(out),
            Form::Csv => {
                let mut out = csv::Writer::from_writer(out);
                out.write_record(&columns)?;
                Out::Csv(Box::new(out))
            }
        };
        Ok(RowWriter { out, columns })
    }

    /// Writes a row, given as JSON.
    ///
    /// # Errors
    /// The writing fails.
    pub fn write(&mut self, row: &str) -> io::Result<()> {
        match &mut self.out {
            Out::Jsonl(out) => writeln!(out, "{row}"),
            Out::Csv(out) => {
                let row: Value = serde_json::from_str(row)?;
                let cells = self.columns.iter().map(|column| cell(at(&row, column)));
                Ok(out.write_record(cells)?)
            }
        }
    }

    /// Ends the writing.
    ///
    /// # Errors
    /// The writing fails.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Csv(mut out) => out.flush(),
            Out::Jsonl(mut out) => out.flush(),
        }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::choices::ReplayMode;
    use crate::config::experiment::Experiment;
    use crate::config::setup::Setup;
    use crate::config::values::Interval;
    use crate::run::{RunOptions, run};

    fn row() -> Row {
        let varied = Map::from_iter([("extra".to_owned(), "7%".into())]);
        let experiment = Experiment {
            trace: Some("uniform:writes=2K,reads=10%".into()),
            capacity_bytes: Some(1 << 20),
            replay: ReplayMode::Open,
            interval: Some(Interval::Every(500)),
            ..Experiment::default()
        };
        Row { experiment, varied }
    }

    fn good() -> String {
        let row = row();
        json(
            3,
            &row,
            &Ok(run(&Setup::new(&row.experiment).unwrap(), RunOptions::default()).unwrap()),
        )
    }

    fn bad() -> String {
        let message = "a, \"quoted\"\nmessage".to_owned();
        json(4, &row(), &Err(Failed { exit_code: 2, message }))
    }

    /// The names of all that a row holds, down to where names are no longer fixed.
    fn leaves(value: &Value, name: &str, columns: &[String], found: &mut Vec<String>) {
        match value.as_object() {
            Some(fields) if !columns.iter().any(|column| column == name) => {
                for (key, value) in fields {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    leaves(value, &name, columns, found);
                }
            }
            _ => found.push(name.to_owned()),
        }
    }

    #[test]
    fn the_columns_hold_all_that_a_row_holds_and_no_more() {
        let row: Value = serde_json::from_str(&good()).unwrap();
        let (columns, mut found) = (columns(), Vec::new());
        leaves(&row, "", &columns, &mut found);
        // What is null as a whole has no fields to be found: no merges, no error.
        let null = |group: &str| at(&row, group).is_null();
        let mut expected: Vec<String> = columns
            .into_iter()
            .filter(|column| !(null("merges") && column.starts_with("merges.")))
            .filter(|column| !column.starts_with("sweep.error."))
            .chain(["merges".to_owned(), "sweep.error".to_owned()])
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_row_has_no_wall_and_says_which_it_is() {
        let row: Value = serde_json::from_str(&good()).unwrap();
        assert_eq!((&row["wall"], &row["schema"]), (&Value::Null, &SCHEMA.into()));
        assert_eq!(row["sweep"], json!({"row": 3, "varied": {"extra": "7%"}, "error": null}));
        let row: Value = serde_json::from_str(&bad()).unwrap();
        assert_eq!(row["sweep"]["error"]["exit_code"], 2);
        assert_eq!(row["programs"], Value::Null);
    }

    #[test]
    fn both_forms_say_the_same() {
        let mut text = Vec::new();
        let mut writer = RowWriter::new(&mut text, Form::Csv).unwrap();
        [good(), bad()].iter().for_each(|row| writer.write(row).unwrap());
        writer.finish().unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), columns());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        for (record, text) in rows.iter().zip([good(), bad()]) {
            let row: Value = serde_json::from_str(&text).unwrap();
            for (cell, column) in record.iter().zip(columns()) {
                match at(&row, &column) {
                    Value::Null => assert_eq!(cell, "", "{column}"),
                    Value::String(text) => assert_eq!(cell, text, "{column}"),
                    other => assert_eq!(&serde_json::from_str::<Value>(cell).unwrap(), other),
                }
            }
        }
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn the_form_is_told_by_the_name() {
        assert_eq!(Form::of("a/rows.csv"), Some(Form::Csv));
        assert_eq!(Form::of("rows.v2.jsonl"), Some(Form::Jsonl));
        assert_eq!([Form::of("rows"), Form::of("rows.json"), Form::of("-")], [None; 3]);
    }
}
