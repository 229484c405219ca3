//! Results as rows, with a type for each column: those of the rows of a sweep.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt64Array,
};
use arrow_schema::{ArrowError, Field, Schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde_json::Value;
use sim::result::columns::{Column, ColumnKind, at, typed_columns};

use crate::columns::capsule;
use crate::failure::UsageError;

/// Rows as a stream of Arrow. `rows` are results, or rows of a sweep, as JSON.
///
/// # Errors
/// `UsageError` if a row is not JSON.
#[pyfunction]
pub fn rows_stream<'py>(py: Python<'py>, rows: Vec<String>) -> PyResult<Bound<'py, PyCapsule>> {
    let batch = py.detach(|| batch(&rows))?;
    let schema = batch.schema();
    capsule::of_reader(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
}

fn batch(rows: &[String]) -> PyResult<RecordBatch> {
    let refuse = |why: String| UsageError::new_err(format!("a row is no result: {why}"));
    let rows = rows.iter().map(|row| serde_json::from_str::<Value>(row));
    let rows = rows.collect::<Result<Vec<_>, _>>().map_err(|error| refuse(error.to_string()))?;
    table(&rows).map_err(|error| refuse(error.to_string()))
}

fn table(rows: &[Value]) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for column in typed_columns() {
        let array = array(&column, rows);
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn array(column: &Column, rows: &[Value]) -> ArrayRef {
    let cells = rows.iter().map(|row| at(row, &column.name));
    match column.kind {
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
