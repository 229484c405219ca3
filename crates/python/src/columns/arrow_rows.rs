//! Rows of requests from batches of Arrow, a block at a time.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, DurationNanosecondType, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};
use pyo3::PyResult;
use trace::{ColumnBlock, Op, TableBuilder};

use crate::columns::column::{Column, columns_of};
use crate::failure::raised;

/// Rows that are converted at a time; their whole numbers stay in the cache.
const BLOCK: usize = 1 << 13;

/// Adds the rows of batches to a table.
pub struct ArrowRows {
    columns: Vec<Column>,
    /// The numbers of a block, for each column of [`Column::ALL`].
    numbers: [Vec<u64>; 6],
}

impl ArrowRows {
    /// For batches of this schema.
    ///
    /// # Errors
    /// `UsageError` if its columns are not those of requests.
    pub fn new(schema: &Schema) -> PyResult<ArrowRows> {
        let columns = columns_of(schema.fields().iter().map(|field| field.name().as_str()))?;
        Ok(ArrowRows { columns, numbers: Default::default() })
    }

    /// Adds a batch.
    ///
    /// # Errors
    /// `UsageError` with the column and, if a value is wrong, its row.
    pub fn add(&mut self, batch: &RecordBatch, builder: &mut TableBuilder) -> PyResult<()> {
        for start in (0..batch.num_rows()).step_by(BLOCK) {
            let rows = start..batch.num_rows().min(start + BLOCK);
            for numbers in &mut self.numbers {
                numbers.clear();
                numbers.resize(rows.len(), 0);
            }
            for (&column, array) in self.columns.iter().zip(batch.columns()) {
                let cells = Cells { column, rows: rows.clone(), first: builder.rows() };
                cells.read(array.as_ref(), &mut self.numbers[column as usize])?;
            }
            let [time_ns, op, offset, bytes, device, flags] = &self.numbers;
            let block = ColumnBlock { time_ns, op, offset, bytes, device, flags };
            builder.extend(&block).map_err(raised)?;
        }
        Ok(())
    }
}

/// The cells of a block in one column.
struct Cells {
    column: Column,
    /// The rows of the block in its batch.
    rows: Range<usize>,
    /// The number of the first of these rows, counted over all batches.
    first: u64,
}

impl Cells {
    /// Writes the numbers of the cells to `out`, which is as long as the block.
    fn read(&self, array: &dyn Array, out: &mut [u64]) -> PyResult<()> {
        self.check_nulls(array)?;
        let is_time = self.column == Column::TimeNs;
        match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) if is_time => {
                self.signed::<TimestampNanosecondType>(array, out)
            }
            DataType::Duration(TimeUnit::Nanosecond) if is_time => {
                self.signed::<DurationNanosecondType>(array, out)
            }
            _ if self.column == Column::Op => self.operations(array, out),
            _ => self.whole_numbers(array, out),
        }
    }

    fn check_nulls(&self, array: &dyn Array) -> PyResult<()> {
        // A dictionary may have nulls among its values, too.
        let Some(nulls) = array.logical_nulls().filter(|nulls| nulls.null_count() > 0) else {
            return Ok(());
        };
        match self.rows.clone().find(|&row| nulls.is_null(row)) {
            Some(row) => Err(self.column.null(self.number(row))),
            None => Ok(()),
        }
    }

    /// The number of a row of the batch, counted over all batches.
    fn number(&self, row: usize) -> u64 {
        self.first + (row - self.rows.start) as u64
    }

    fn whole_numbers(&self, array: &dyn Array, out: &mut [u64]) -> PyResult<()> {
        match array.data_type() {
            DataType::UInt8 => self.unsigned::<UInt8Type>(array, out),
            DataType::UInt16 => self.unsigned::<UInt16Type>(array, out),
            DataType::UInt32 => self.unsigned::<UInt32Type>(array, out),
            DataType::UInt64 => self.unsigned::<UInt64Type>(array, out),
            DataType::Int8 => return self.signed::<Int8Type>(array, out),
            DataType::Int16 => return self.signed::<Int16Type>(array, out),
            DataType::Int32 => return self.signed::<Int32Type>(array, out),
            DataType::Int64 => return self.signed::<Int64Type>(array, out),
            other => return Err(self.column.wrong_type(&format!("its type is {other}"))),
        }
        Ok(())
    }

    fn unsigned<T: ArrowPrimitiveType<Native: Into<u64>>>(
        &self,
        array: &dyn Array,
        out: &mut [u64],
    ) {
        let values = &array.as_primitive::<T>().values()[self.rows.clone()];
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = value.into());
    }

    fn signed<T: ArrowPrimitiveType<Native: Into<i64>>>(
        &self,
        array: &dyn Array,
        out: &mut [u64],
    ) -> PyResult<()> {
        let values = &array.as_primitive::<T>().values()[self.rows.clone()];
        for (row, (out, &value)) in out.iter_mut().zip(values).enumerate() {
            let value: i64 = value.into();
            *out = u64::try_from(value)
                .map_err(|_| self.column.negative(self.first + row as u64, value))?;
        }
        Ok(())
    }

    fn operations(&self, array: &dyn Array, out: &mut [u64]) -> PyResult<()> {
        let Some(dictionary) = array.as_any_dictionary_opt() else {
            return match text_at(array) {
                None => self.whole_numbers(array, out),
                Some(text) => self.each(out, |row| operation(text(row))),
            };
        };
        let (keys, values) = (dictionary.keys(), dictionary.values().as_ref());
        let Some(text) = text_at(values) else {
            return Err(self
                .column
                .wrong_type(&format!("its categories are {}", values.data_type())));
        };
        let codes: Vec<_> = (0..values.len()).map(|value| operation(text(value))).collect();
        let mut places = vec![0; out.len()];
        self.whole_numbers(keys, &mut places)?;
        let unknown = |place: u64| Err(format!("category {place} of {}", values.len()));
        self.each(out, |row| {
            let place = places[row - self.rows.start];
            codes.get(place as usize).cloned().unwrap_or_else(|| unknown(place))
        })
    }

    /// The codes of operations, one for each row, or the text that is none.
    fn each(&self, out: &mut [u64], code: impl Fn(usize) -> Result<u64, String>) -> PyResult<()> {
        for (out, row) in out.iter_mut().zip(self.rows.clone()) {
            *out = code(row).map_err(|text| Column::unknown_op(self.number(row), &text))?;
        }
        Ok(())
    }
}

/// The code of an operation, or its name if there is none with this name.
fn operation(name: &str) -> Result<u64, String> {
    match Op::of_name(name.as_bytes()) {
        Some(op) => Ok(op.code().into()),
        None => Err(name.chars().take(40).collect()),
    }
}

/// Returns the text in a row of an array of texts; `None` if they are not texts.
fn text_at<'a>(array: &'a dyn Array) -> Option<Box<dyn Fn(usize) -> &'a str + 'a>> {
    Some(match array.data_type() {
        DataType::Utf8 => Box::new(|row| array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Box::new(|row| array.as_string::<i64>().value(row)),
        DataType::Utf8View => Box::new(|row| array.as_string_view().value(row)),
        _ => return None,
    })
}
