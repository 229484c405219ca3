//! Requests in memory, and building them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};
use trace::{ColumnBlock, Op, Request, RequestTable, TableBuilder};

use crate::columns::arrow_rows::ArrowRows;
use crate::columns::capsule;
use crate::columns::column::{Column, columns_of};
use crate::columns::request_stream::{RequestStream, Source};
use crate::failure::{UsageError, raised};

/// Immutable requests in memory.
#[pyclass(frozen, module = "ftlab._native")]
pub struct NativeRequests {
    pub table: Arc<RequestTable>,
}

impl NativeRequests {
    /// Requests of this table.
    pub fn of(table: RequestTable) -> NativeRequests {
        NativeRequests { table: Arc::new(table) }
    }
}

#[pymethods]
impl NativeRequests {
    /// Requests from anything with `__arrow_c_stream__`.
    ///
    /// # Errors
    /// `UsageError` with the column and, if a value is wrong, its row.
    #[staticmethod]
    fn from_arrow(py: Python<'_>, value: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let mut reader = capsule::reader_of(value)?;
        let mut rows = ArrowRows::new(&arrow_array::RecordBatchReader::schema(&reader))?;
        let mut builder = TableBuilder::new(name);
        loop {
            py.check_signals()?;
            let added = py.detach(|| {
                let Some(batch) = reader.next() else { return Ok(false) };
                let batch = batch.map_err(|error| UsageError::new_err(error.to_string()))?;
                rows.add(&batch, &mut builder).map(|()| true)
            });
            if !added? {
                return Ok(NativeRequests::of(builder.finish()));
            }
        }
    }

    #[getter]
    fn name(&self) -> &str {
        self.table.name()
    }

    fn __len__(&self) -> usize {
        self.table.rows() as usize
    }

    /// The memory that the requests take, in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// The SHA-256 of the requests, as `trace_sha256` of a result.
    #[getter]
    fn sha256(&self, py: Python<'_>) -> &str {
        py.detach(|| self.table.sha256())
    }

    /// The names of the devices in the order of their numbers.
    #[getter]
    fn devices(&self) -> Vec<String> {
        self.table.report().devices.clone()
    }

    /// What was skipped when the requests were read from a trace: counts by reason.
    #[getter]
    fn skipped<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for (reason, count) in self.table.report().skipped.iter() {
            counts.set_item(reason, count)?;
        }
        Ok(counts)
    }

    /// Sentences about the trace from which the requests were read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.table.report().notes.clone()
    }

    /// A column as whole numbers of 8 bytes each, in the byte order of the machine.
    ///
    /// # Errors
    /// `UsageError` if there is no such column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let number: fn(&Request) -> u64 = match Column::of(name)? {
            Column::TimeNs => |request| request.time_ns,
            Column::Op => |request| request.op.code().into(),
            Column::Offset => |request| request.offset,
            Column::Bytes => |request| request.bytes,
            Column::Device => |request| request.device.into(),
            Column::Flags => |request| request.flags.bits().into(),
        };
        PyBytes::new_with(py, self.__len__() * 8, |out| {
            let mut rows = Vec::with_capacity(BLOCK);
            for (block, out) in out.chunks_mut(BLOCK * 8).enumerate() {
                rows.clear();
                self.table.copy_rows((block * BLOCK) as u64, &mut rows, BLOCK);
                for (out, row) in out.chunks_exact_mut(8).zip(&rows) {
                    out.copy_from_slice(&number(row).to_ne_bytes());
                }
            }
            Ok(())
        })
    }

    /// The requests as a stream of Arrow.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        capsule::of_reader(py, RequestStream::boxed(Source::Table(self.table.clone(), 0)))
    }
}

/// Rows that are copied at a time. A chunk of a table has a multiple of them.
const BLOCK: usize = 1 << 13;

/// Builds requests from blocks of whole numbers.
#[pyclass(module = "ftlab._native")]
pub struct RequestsBuilder {
    builder: Option<TableBuilder>,
    columns: Vec<Column>,
}

impl RequestsBuilder {
    fn builder(&mut self) -> PyResult<&mut TableBuilder> {
        let ended = || UsageError::new_err("the requests are finished; no rows can be added");
        self.builder.as_mut().ok_or_else(ended)
    }

    /// The number of a row of the block that comes next, counted over all blocks.
    fn number(&self, row: u64) -> u64 {
        self.builder.as_ref().map_or(0, TableBuilder::rows) + row
    }
}

#[pymethods]
impl RequestsBuilder {
    /// For columns with these names.
    ///
    /// # Errors
    /// `UsageError` if one has no meaning, occurs twice, or is missing.
    #[new]
    fn new(name: &str, columns: Vec<String>) -> PyResult<RequestsBuilder> {
        let columns = columns_of(columns.iter().map(String::as_str))?;
        Ok(RequestsBuilder { builder: Some(TableBuilder::new(name)), columns })
    }

    /// Adds rows: for each column its whole numbers, 8 bytes each in the byte order of the machine.
    ///
    /// # Errors
    /// `UsageError` with column and row if a row is no request, or if a column has another length.
    fn extend(&mut self, py: Python<'_>, columns: Vec<Bound<'_, PyBytes>>) -> PyResult<()> {
        let bytes: Vec<&[u8]> = columns.iter().map(|column| column.as_bytes()).collect();
        let rows = bytes.first().map_or(0, |column| column.len() / 8);
        let is_even = bytes.iter().all(|column| column.len() == rows * 8);
        if !is_even || bytes.len() != self.columns.len() {
            return Err(UsageError::new_err("the columns of a block differ in length"));
        }
        let places = self.columns.clone();
        let builder = self.builder()?;
        let added = py.detach(|| {
            let mut numbers: [Vec<u64>; 6] = Default::default();
            numbers.iter_mut().for_each(|column| column.resize(rows, 0));
            for (column, bytes) in places.into_iter().zip(bytes) {
                let cells = bytes.as_chunks::<8>().0.iter();
                let out = numbers[column as usize].iter_mut();
                out.zip(cells).for_each(|(out, cell)| *out = u64::from_ne_bytes(*cell));
            }
            let [time_ns, op, offset, bytes, device, flags] = &numbers;
            builder.extend(&ColumnBlock { time_ns, op, offset, bytes, device, flags })
        });
        added.map_err(raised)
    }

    /// The requests of all rows.
    ///
    /// # Errors
    /// `UsageError` if they were finished before.
    fn finish(&mut self) -> PyResult<NativeRequests> {
        self.builder()?;
        let builder = self.builder.take().expect("there is one");
        Ok(NativeRequests::of(builder.finish()))
    }

    /// The error for values of a type that the column does not take.
    #[staticmethod]
    fn wrong_type(column: &str, found: &str) -> PyResult<()> {
        Err(Column::of(column)?.wrong_type(found))
    }

    /// The error for a row of the next block without a value.
    fn null(&self, column: &str, row: u64) -> PyResult<()> {
        Err(Column::of(column)?.null(self.number(row)))
    }

    /// The error for a number below 0 in the next block.
    fn negative(&self, column: &str, row: u64, value: i64) -> PyResult<()> {
        Err(Column::of(column)?.negative(self.number(row), value))
    }

    /// The error for a text in the next block that is no operation.
    fn unknown_op(&self, row: u64, text: &str) -> PyResult<()> {
        Err(Column::unknown_op(self.number(row), text))
    }
}

/// The code of an operation with this name; `None` if there is none.
#[pyfunction]
pub fn op_code(name: &str) -> Option<u8> {
    Op::of_name(name.as_bytes()).map(Op::code)
}
