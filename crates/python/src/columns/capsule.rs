//! The Arrow C stream interface in capsules of Python. The only unsafe code of this crate is here.

use std::ffi::CStr;

use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure::UsageError;

/// The name that the interface prescribes for a capsule with a stream.
const STREAM: &CStr = c"arrow_array_stream";

/// A capsule that delivers these batches. A consumer takes the stream out of it; otherwise it is
/// dropped with the capsule.
///
/// # Errors
/// There is no memory for the capsule.
pub fn of_reader<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// Takes the stream out of what `value.__arrow_c_stream__()` returns.
///
/// # Errors
/// `TypeError` or `ValueError` if that is no capsule with a stream; `UsageError` if the stream has
/// no columns, or was taken before.
#[expect(unsafe_code, reason = "a stream crosses from one library to another as a pointer")]
pub fn reader_of(value: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = value.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: The capsule has the name that the interface reserves for a pointer to an initialized
    // stream. It is alive and we are attached to the interpreter, so nobody else uses the pointer.
    // The stream is moved out and marked as released, as the interface demands of a consumer.
    let reader = unsafe { RecordBatchStreamReader::from_raw(stream.as_ptr()) };
    // A stream of a single column has no schema with fields.
    reader.map_err(|error| {
        UsageError::new_err(format!(
            "this Arrow stream is no table ({error}); requests are a table with the columns `op`, \
             `offset` and `bytes`"
        ))
    })
}
