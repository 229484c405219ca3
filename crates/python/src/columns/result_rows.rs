//! Results as rows, with a type for each column: those of the rows of a sweep.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use sim::result::columns::{ColumnKind, at, typed_columns};

use crate::columns::capsule;
use crate::failure::UsageError;

/// Rows as a stream of Arrow. `rows` are results, or rows of a sweep, as JSON; these have a column
/// for each option that varies as well, such as `sweep.varied.ftl`. Labels are the first column.
///
/// # Errors
/// `UsageError` if a row is not JSON.
#[pyfunction]
#[pyo3(signature = (rows, labels))]
pub fn rows_stream<'py>(
    py: Python<'py>,
    rows: Vec<String>,
    labels: Option<Vec<String>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = py.detach(|| batch(&rows, labels))?;
    let schema = batch.schema();
    capsule::of_reader(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn batch(rows: &[String], labels: Option<Vec<String>>) -> PyResult<RecordBatch> {
    let refuse = |why: String| UsageError::new_err(format!("a row is no result: {why}"));
    let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row));
    let rows = rows.collect::<Result<Vec<_>, _>>().map_err(|error| refuse(error.to_string()))?;
    table(&rows, labels).map_err(|error| refuse(error.to_string()))
}

fn table(rows: &[Value], labels: Option<Vec<String>>) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    if let Some(labels) = labels {
        let array: ArrayRef = Arc::new(StringArray::from(labels));
        fields.push(Field::new("label", array.data_type().clone(), true));
        arrays.push(array);
    }
    for column in typed_columns() {
        let array = array(column.kind, rows.iter().map(|row| at(row, &column.name)));
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    for option in varied(rows) {
        let array = varied_array(rows, option);
        fields.push(Field::new(format!("sweep.varied.{option}"), array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// The options that vary in rows of a sweep, in the order in which they are first named.
fn varied(rows: &[Value]) -> Vec<&str> {
    let mut seen = HashSet::new();
    let named = rows.iter().filter_map(|row| row["sweep"]["varied"].as_object());
    named
        .flat_map(|varied| varied.keys())
        .map(String::as_str)
        .filter(|it| seen.insert(*it))
        .collect()
}

/// The values of an option: numbers or switches if all are, otherwise texts as plans write them.
fn varied_array(rows: &[Value], option: &str) -> ArrayRef {
    let cells = rows.iter().map(|row| &row["sweep"]["varied"][option]);
    let all = |is: fn(&Value) -> bool| cells.clone().all(|cell| cell.is_null() || is(cell));
    if all(|cell| cell.is_i64() || cell.is_u64()) {
        array(ColumnKind::Whole, cells)
    } else if all(Value::is_number) {
        array(ColumnKind::Real, cells)
    } else if all(Value::is_boolean) {
        array(ColumnKind::Switch, cells)
    } else {
        let texts: Vec<Value> = cells.map(written).collect();
        array(ColumnKind::Text, texts.iter())
    }
}

/// A value as a text; a number is written as in a plan.
fn written(value: &Value) -> Value {
    match value {
        Value::Null | Value::String(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}

fn array<'a>(kind: ColumnKind, cells: impl Iterator<Item = &'a Value> + Clone) -> ArrayRef {
    match kind {
        ColumnKind::Switch => Arc::new(cells.map(Value::as_bool).collect::<BooleanArray>()),
        ColumnKind::Real => Arc::new(cells.map(Value::as_f64).collect::<Float64Array>()),
        ColumnKind::Text => Arc::new(cells.map(Value::as_str).collect::<StringArray>()),
        ColumnKind::Json => {
            let texts = cells.map(|cell| (!cell.is_null()).then(|| cell.to_string()));
            Arc::new(texts.collect::<StringArray>())
        }
        // Differences of signed numbers do not wrap. Only a seed can be too large for them.
        ColumnKind::Whole if cells.clone().any(|cell| cell.is_u64() && !cell.is_i64()) => {
            Arc::new(cells.map(Value::as_u64).collect::<UInt64Array>())
        }
        ColumnKind::Whole => Arc::new(cells.map(Value::as_i64).collect::<Int64Array>()),
    }
}
