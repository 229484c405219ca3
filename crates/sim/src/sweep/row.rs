//! A row of a sweep: the result of a run or the reason why it failed, and its place in the plan.
//!
//! As JSON it is the JSON of a run with `sweep` in place of `wall`. `wall` differs from run to run;
//! without it the same plan gives the same bytes. A failed run has only `schema` and `sweep`, and
//! the names of the trace and of its volume if it was to replay one volume.
//!
//! ```text
//! "sweep": {"row": 3, "varied": {"extra": "7%"}, "error": null | {"exit_code": 2, "message": "…"}}
//! ```
//! As csv it is the same, flattened: nested names are joined by points, and nulls are empty. Parts
//! without fixed names (parameters, metrics of a scheme, histograms, series) are JSON text.

use std::collections::HashSet;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::failed_row::RowFailure;
use crate::error::Error;
use crate::plan::Row;
use crate::result::columns::{Column, ColumnKind, at, columns, typed_columns};
use crate::result::run_result::{RunResult, SCHEMA};

/// Whether a row that was tried is tried again when its sweep is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowState {
    /// It is: the machine had too little memory for it.
    Refused,
    /// It is not, whether its run failed or not.
    Done,
}

impl RowState {
    pub(super) fn of(ran: &Result<RunResult, RowFailure>) -> RowState {
        match ran {
            Err(why) if why.is_refused => RowState::Refused,
            _ => RowState::Done,
        }
    }
}

/// The formats in which rows can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Comma-separated values, with a head.
    Csv,
    /// One JSON value per line.
    Jsonl,
}

impl RowFormat {
    /// The format for a file of this name.
    pub fn of(name: &str) -> Option<RowFormat> {
        let endings = [(".csv", RowFormat::Csv), (".jsonl", RowFormat::Jsonl)];
        endings.into_iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, form)| form)
    }
}

/// The row as JSON on one line.
pub(super) fn json(index: usize, row: &Row, ran: &Result<RunResult, RowFailure>) -> String {
    let error = ran.as_ref().err().map_or(Value::Null, error);
    placed(fields(ran), index, row, error)
}

/// The row of a run that failed, as JSON on one line.
pub fn failed(index: usize, row: &Row, why: &RowFailure) -> String {
    placed(Map::from_iter([("schema".to_owned(), SCHEMA.into())]), index, row, error(why))
}

/// What a run gave, as JSON on one line: a row that has no place in a plan yet.
pub(super) fn outcome(ran: &Result<RunResult, RowFailure>) -> Value {
    let mut fields = fields(ran);
    let error = ran.as_ref().err().map_or(Value::Null, error);
    let sweep = json!({ "error": error, "is_refused": RowState::of(ran) == RowState::Refused });
    fields.insert("sweep".to_owned(), sweep);
    Value::Object(fields)
}

/// The row of an outcome, as JSON on one line, and whether it is to be run again.
///
/// # Errors
/// The text is not an outcome.
pub fn of_outcome(index: usize, row: &Row, outcome: &str) -> crate::Result<(String, RowState)> {
    let fields: Option<Map<String, Value>> = serde_json::from_str(outcome).ok();
    let fields = fields.filter(|fields| fields.get("schema") == Some(&SCHEMA.into()));
    let no_outcome = || Error::Impossible(format!("row {index}: this is no outcome of a run"));
    let mut fields = fields.ok_or_else(no_outcome)?;
    let mut sweep = fields.shift_remove("sweep").unwrap_or_default();
    let state = match sweep["is_refused"] == true {
        true => RowState::Refused,
        false => RowState::Done,
    };
    Ok((placed(fields, index, row, sweep["error"].take()), state))
}

/// The fields that do not differ from run to run.
fn fields(ran: &Result<RunResult, RowFailure>) -> Map<String, Value> {
    let mut fields = match ran.as_ref().map(serde_json::to_value) {
        Ok(Ok(Value::Object(fields))) => fields,
        Ok(other) => unreachable!("a result is a table, not {other:?}"),
        Err(_) => Map::from_iter([("schema".to_owned(), SCHEMA.into())]),
    };
    fields.shift_remove("wall");
    fields
}

fn error(why: &RowFailure) -> Value {
    json!({"exit_code": why.exit_code, "message": why.message})
}

/// The fields with the place of the row in the plan, as JSON on one line.
fn placed(mut fields: Map<String, Value>, index: usize, row: &Row, error: Value) -> String {
    if !error.is_null()
        && let (Some(trace), Some(volume)) = (&row.experiment.trace, row.experiment.volume.name())
    {
        fields.insert("run".to_owned(), json!({ "volume": volume }));
        fields.insert("trace".to_owned(), json!({ "name": trace }));
    }
    let sweep = json!({"row": index, "varied": row.varied, "error": error});
    fields.insert("sweep".to_owned(), sweep);
    Value::Object(fields).to_string()
}

/// Writes rows in one of the formats.
pub struct RowWriter<W: Write> {
    out: Out<W>,
    columns: Vec<String>,
}

enum Out<W: Write> {
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> RowWriter<W> {
    /// A writer that has written the head, if the format has one.
    ///
    /// # Errors
    /// The head cannot be written.
    pub fn new(out: W, format: RowFormat) -> io::Result<RowWriter<W>> {
        let columns = columns();
        let out = match format {
            RowFormat::Jsonl => Out::Jsonl(out),
            RowFormat::Csv => {
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
    /// The row cannot be written.
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

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Csv(mut out) => out.flush(),
            Out::Jsonl(mut out) => out.flush(),
        }
    }
}

/// The rows of a csv file, as JSON, one line each, and the number of the line where each begins.
/// Parts of which all fields are empty are null.
///
/// # Errors
/// A sentence about what is wrong: these are not the columns of this version, or a value is none.
pub fn of_csv(bytes: &[u8]) -> Result<Vec<(u64, String)>, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let columns = typed_columns();
    let head = reader.headers().map_err(|error| error.to_string())?;
    if !head.iter().eq(columns.iter().map(|column| column.name.as_str())) {
        return Err("its columns are not those of a sweep of this version of ftlab".to_owned());
    }
    let row = |record: csv::Result<csv::StringRecord>| {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let mut row = Value::Object(Map::new());
        let part = |column: &Column| column.name.split('.').next().map(str::to_owned);
        let filled = columns.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        let filled: HashSet<_> = filled.map(|(column, _)| part(column)).collect();
        for (column, cell) in columns.iter().zip(&record) {
            let name = part(column).filter(|_| !filled.contains(&part(column)));
            let value = value(column, cell).map_err(|why| format!("line {line}, {why}"))?;
            *place(&mut row, &name.unwrap_or_else(|| column.name.clone())) = value;
        }
        if row["sweep"]["error"]["exit_code"].is_null() {
            row["sweep"]["error"] = Value::Null;
        }
        Ok((line, row.to_string()))
    };
    reader.into_records().map(row).collect()
}

/// The place of a column in a row.
fn place<'a>(row: &'a mut Value, column: &str) -> &'a mut Value {
    column.split('.').fold(row, |part, name| &mut part[name])
}

/// The value of a cell.
fn value(column: &Column, cell: &str) -> Result<Value, String> {
    match column.kind {
        _ if cell.is_empty() => Ok(Value::Null),
        ColumnKind::Text => Ok(cell.into()),
        _ => serde_json::from_str(cell).map_err(|_| {
            format!(
                "column {}: no sweep writes `{cell}`; give the file as the sweep wrote it, not as \
                 another program saved it",
                column.name
            )
        }),
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
    use crate::config::experiment::Experiment;
    use crate::config::replay::Replay;
    use crate::config::setup::Setup;
    use crate::config::values::{Interval, Volume};
    use crate::run::{RunOptions, run};

    fn row() -> Row {
        let varied = Map::from_iter([("extra".to_owned(), "7%".into())]);
        let experiment = Experiment {
            trace: Some("uniform:writes=2K,reads=10%".into()),
            capacity_bytes: Some(1 << 20),
            replay: Replay::OPEN,
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

    const BAD: &str = "a, \"quoted\"\nmessage";

    fn bad() -> String {
        json(
            4,
            &row(),
            &Err(RowFailure { exit_code: 2, message: BAD.to_owned(), is_refused: false }),
        )
    }

    #[test]
    fn an_outcome_becomes_the_same_row() {
        let row = row();
        let ran = run(&Setup::new(&row.experiment).unwrap(), RunOptions::default());
        let failed_run = RowFailure { exit_code: 2, message: BAD.to_owned(), is_refused: false };
        let refused_run = RowFailure { is_refused: true, ..failed_run.clone() };
        for (ran, state) in [
            (ran.map_err(RowFailure::from), RowState::Done),
            (Err(failed_run), RowState::Done),
            (Err(refused_run), RowState::Refused),
        ] {
            let outcome = outcome(&ran).to_string();
            assert_eq!(of_outcome(3, &row, &outcome).unwrap(), (json(3, &row, &ran), state));
        }
        assert_eq!(
            bad(),
            failed(4, &row, &RowFailure { exit_code: 2, message: BAD.into(), is_refused: false })
        );
        for text in ["", "{}", "[]", "{\"schema\":\"other\"}"] {
            assert!(of_outcome(0, &row, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_failed_row_of_a_volume_names_it_and_its_trace() {
        let of_volume = Experiment {
            trace: Some("t.csv".into()),
            volume: Volume::Named("7".into()),
            ..row().experiment
        };
        let row = Row { experiment: of_volume, ..row() };
        let why = RowFailure { exit_code: 2, message: BAD.to_owned(), is_refused: false };
        let text = failed(0, &row, &why);
        let fields: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(fields["run"], json!({"volume": "7"}));
        assert_eq!(fields["trace"], json!({"name": "t.csv"}));
        let outcome = outcome(&Err(why)).to_string();
        assert_eq!(of_outcome(0, &row, &outcome).unwrap(), (text, RowState::Done));
    }

    /// The names of all fields of a row, down to where names are no longer fixed.
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
    fn the_columns_are_exactly_the_fields_of_a_row() {
        let row: Value = serde_json::from_str(&good()).unwrap();
        let (columns, mut found) = (columns(), Vec::new());
        leaves(&row, "", &columns, &mut found);
        // A null part has no fields: this row has neither merges nor a drive nor an error. Some
        // options are only reported if they differ from their defaults, and media if they can fail.
        let absent = ["merges", "drive", "sweep.error"];
        assert!(absent.iter().all(|part| at(&row, part).is_null()));
        let is_absent = |column: &str| {
            let is_in =
                |part: &&str| column.strip_prefix(*part).is_some_and(|it| it.starts_with('.'));
            let left_out = ["run.streams", "run.trim", "run.media", "run.reserve", "run.wear"];
            left_out.contains(&column) || absent.iter().chain(&["media"]).any(is_in)
        };
        let mut expected: Vec<String> = columns
            .into_iter()
            .filter(|column| !is_absent(column))
            .chain(absent.map(str::to_owned))
            .collect();
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_row_has_its_place_in_the_plan_and_no_wall() {
        let row: Value = serde_json::from_str(&good()).unwrap();
        assert_eq!((&row["wall"], &row["schema"]), (&Value::Null, &SCHEMA.into()));
        assert_eq!(row["sweep"], json!({"row": 3, "varied": {"extra": "7%"}, "error": null}));
        let row: Value = serde_json::from_str(&bad()).unwrap();
        assert_eq!(row["sweep"]["error"]["exit_code"], 2);
        assert_eq!(row["programs"], Value::Null);
    }

    #[test]
    fn both_formats_have_the_same_content() {
        let mut text = Vec::new();
        let mut writer = RowWriter::new(&mut text, RowFormat::Csv).unwrap();
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
    fn rows_that_are_read_from_csv_give_the_same_csv() {
        let written = |rows: &[String]| {
            let mut text = Vec::new();
            let mut writer = RowWriter::new(&mut text, RowFormat::Csv).unwrap();
            rows.iter().for_each(|row| writer.write(row).unwrap());
            writer.finish().unwrap();
            text
        };
        let rows = [good(), bad()];
        let (lines, read): (Vec<u64>, Vec<String>) =
            of_csv(&written(&rows)).unwrap().into_iter().unzip();
        assert_eq!(lines, [2, 3]);
        assert_eq!(written(&read), written(&rows));
        let [first, second] = [0, 1].map(|at| serde_json::from_str::<Value>(&read[at]).unwrap());
        assert_eq!((&first["merges"], &first["sweep"]["error"]), (&Value::Null, &Value::Null));
        assert_eq!(first["sweep"]["varied"], json!({"extra": "7%"}));
        assert_eq!(
            (&second["run"], &second["sweep"]["error"]["message"]),
            (&Value::Null, &BAD.into())
        );
        assert!(of_csv(b"a,b\n1,2\n").unwrap_err().contains("its columns are not"));
        let broken = String::from_utf8(written(&rows)).unwrap().replacen("\n3,", "\nx,", 1);
        let why = of_csv(broken.as_bytes()).unwrap_err();
        assert!(why.starts_with("line 2, column sweep.row: no sweep writes `x`"), "{why}");
    }

    #[test]
    fn the_format_follows_from_the_name() {
        assert_eq!(RowFormat::of("a/rows.csv"), Some(RowFormat::Csv));
        assert_eq!(RowFormat::of("rows.v2.jsonl"), Some(RowFormat::Jsonl));
        assert_eq!(
            [RowFormat::of("rows"), RowFormat::of("rows.json"), RowFormat::of("-")],
            [None; 3]
        );
    }
}
