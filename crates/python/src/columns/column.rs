//! The columns of requests: their names, and the sentences that refuse what cannot be in them.

use pyo3::prelude::*;

use crate::failure::UsageError;

/// A column of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Nanoseconds from any origin; 0 if there is no such column.
    TimeNs,
    /// The operation.
    Op,
    /// The first byte.
    Offset,
    /// The length.
    Bytes,
    /// Any number for each device; 0 if there is no such column.
    Device,
    /// Flags; 0 if there is no such column.
    Flags,
}

/// What the types of texts, and of columns that may hold some, have in their names.
const TEXTS: &[&str] = &["String", "string", "Utf8", "object", "category", " <U", " |S"];

const WHOLE: &str = ". If the values are whole, convert them: `.astype(\"int64\")` in NumPy and \
                     pandas, `.cast(polars.Int64)` in polars, `.cast(pyarrow.int64())` in pyarrow, \
                     `::BIGINT` in DuckDB";
const SECONDS: &str = ". If they are seconds, multiply them by 1e9 and round them first";
const DATES: &str = ". If they are dates, make them times: \
                     `pandas.to_datetime(…).astype(\"datetime64[ns]\")`, \
                     `.str.to_datetime(time_unit=\"ns\")` in polars, `::TIMESTAMP_NS` in DuckDB";
const NAMES: &str = ". If they are names, number them: `pandas.factorize(…)[0]`, \
                     `.rank(\"dense\")` in polars, `dense_rank() OVER (ORDER BY …)` in DuckDB";

impl Column {
    /// All columns in the order in which they are shown.
    pub const ALL: [Column; 6] =
        [Column::TimeNs, Column::Op, Column::Offset, Column::Bytes, Column::Device, Column::Flags];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["time_ns", "op", "offset", "bytes", "device", "flags"][self as usize]
    }

    /// The column with this name.
    ///
    /// # Errors
    /// `UsageError` if there is none.
    pub fn of(name: &str) -> PyResult<Column> {
        let found = Column::ALL.into_iter().find(|column| column.name() == name);
        found.ok_or_else(|| {
            let known = Column::ALL.map(Column::name);
            let hint = match spec::nearest(name, known) {
                _ if name.to_lowercase().starts_with("time") => {
                    "; did you mean `time_ns`, in nanoseconds?".to_owned()
                }
                None => ".".to_owned(),
                Some(nearest) => format!("; did you mean `{nearest}`?"),
            };
            UsageError::new_err(format!(
                "requests have no column `{name}`{hint} Select those of {}",
                known.join(", ")
            ))
        })
    }

    fn is_obligatory(self) -> bool {
        matches!(self, Column::Op | Column::Offset | Column::Bytes)
    }

    /// What it takes, for a message.
    fn takes(self) -> &'static str {
        match self {
            Column::Op => {
                "`read`, `write`, `trim`, `flush` or their first letters as text or as categories \
                 of text, or the codes 0 read, 1 write, 2 trim, 3 flush"
            }
            Column::TimeNs => "whole numbers, or times and durations in nanoseconds",
            Column::Offset | Column::Bytes | Column::Device | Column::Flags => "whole numbers",
        }
    }

    /// The error for values of a type that the column does not take.
    pub fn wrong_type(self, found: &str) -> PyErr {
        let (name, takes, hint) = (self.name(), self.takes(), self.hint(found));
        UsageError::new_err(format!("column `{name}`: {found}; it takes {takes}{hint}"))
    }

    /// How times and durations with another unit become nanoseconds, decimals, objects and texts
    /// whole numbers, and truth values operations.
    fn hint(self, found: &str) -> String {
        let names = |kinds: &[&str]| kinds.iter().any(|kind| found.contains(kind));
        let is_time = self == Column::TimeNs;
        let is_text = found.ends_with(" str") || names(TEXTS);
        let hint = if is_time && names(&["datetime64", "Timestamp", "timestamp"]) {
            ". Convert them: `.astype(\"datetime64[ns]\")` in NumPy and pandas (with a time zone \
             `.dt.as_unit(\"ns\")`), `.cast(polars.Datetime(\"ns\"))` in polars, \
             `.cast(pyarrow.timestamp(\"ns\"))` in pyarrow, `::TIMESTAMP_NS` in DuckDB"
        } else if is_time && names(&["timedelta64", "Duration", "duration", "Interval"]) {
            ". Convert them: `.astype(\"timedelta64[ns]\")` in NumPy and pandas, \
             `.cast(polars.Duration(\"ns\"))` in polars, `.cast(pyarrow.duration(\"ns\"))` in \
             pyarrow, `epoch_ns(…)` in DuckDB"
        } else if is_time && names(&["period"]) {
            ". Convert them: `.dt.to_timestamp().astype(\"datetime64[ns]\")`, or of an index \
             `.to_timestamp().as_unit(\"ns\")`"
        } else if self == Column::Op && names(&["bool", "Bool"]) {
            ". Name them: `numpy.where(is_write, \"write\", \"read\")`"
        } else if names(&["Decimal", "Float", "float"]) || self != Column::Op && is_text {
            WHOLE
        } else {
            ""
        };
        let other = match self {
            _ if hint != WHOLE => "",
            Column::TimeNs if is_text => DATES,
            Column::TimeNs => SECONDS,
            Column::Device if is_text => NAMES,
            _ => "",
        };
        format!("{hint}{other}")
    }

    /// The error for a value that no request can have.
    pub fn refusal(self, row: u64, what: &str) -> PyErr {
        let name = self.name();
        UsageError::new_err(format!("column `{name}`, row {row} (counted from 0): {what}"))
    }

    /// The error for a row without a value.
    pub fn null(self, row: u64) -> PyErr {
        self.refusal(row, "there is no value (null); every request needs one")
    }

    /// The error for a number below 0.
    pub fn negative(self, row: u64, value: i64) -> PyErr {
        let remedy = match self {
            Column::TimeNs => {
                "; times before 1970 are negative, so subtract the first time from all of them"
            }
            _ => "",
        };
        self.refusal(row, &format!("{value} is negative{remedy}"))
    }

    /// The error for a text that is no operation.
    pub fn unknown_op(row: u64, text: &str) -> PyErr {
        let what = format!("`{text}` is no operation; it takes {}", Column::Op.takes());
        Column::Op.refusal(row, &what)
    }
}

/// The columns with these names, in their order.
///
/// # Errors
/// `UsageError` if one has no meaning, occurs twice, or is missing.
pub fn columns_of<'a>(names: impl IntoIterator<Item = &'a str>) -> PyResult<Vec<Column>> {
    let mut columns = Vec::new();
    for name in names {
        let column = Column::of(name)?;
        if columns.contains(&column) {
            return Err(UsageError::new_err(format!("there are two columns `{name}`")));
        }
        columns.push(column);
    }
    let missing = |column: &Column| column.is_obligatory() && !columns.contains(column);
    match Column::ALL.into_iter().find(missing) {
        None => Ok(columns),
        Some(column) => Err(UsageError::new_err(format!(
            "there is no column `{}`; requests need `op`, `offset` and `bytes`, and may have \
             `time_ns`, `device` and `flags`",
            column.name()
        ))),
    }
}
