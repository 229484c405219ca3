//! Parts of a result whose columns follow from their fields.

use serde::Serialize;
use serde_json::{Map, Value};

/// What a column holds, besides nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// True or false.
    Switch,
    /// A whole number from 0 to 2^64 - 1.
    Whole,
    /// A decimal number from 0 on.
    Real,
    /// Text.
    Text,
    /// JSON text of a value whose parts have no fixed names or number.
    Json,
}

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the field, after the names of those that contain it, with points between them.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether a result may have no value for it.
    pub is_optional: bool,
    /// The largest number that it holds, if there is one; the least is 0.
    pub most: Option<u32>,
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

/// A value that takes one or more columns of a row. One that takes no columns of its own fields
/// is JSON text in one column.
pub trait Columns {
    /// What its only column holds.
    const KIND: ColumnKind = ColumnKind::Json;
    /// The largest number, if there is one.
    const MOST: Option<u32> = None;

    /// Appends the columns, given the name of the value; one column by default.
    fn columns(name: &str, out: &mut Vec<Column>) {
        let (name, kind, most) = (name.to_owned(), Self::KIND, Self::MOST);
        out.push(Column { name, kind, is_optional: false, most });
    }
}

impl Columns for bool {
    const KIND: ColumnKind = ColumnKind::Switch;
}
impl Columns for f64 {
    const KIND: ColumnKind = ColumnKind::Real;
}
impl Columns for Share {
    const KIND: ColumnKind = ColumnKind::Real;
    const MOST: Option<u32> = Some(1);
}
impl Columns for u32 {
    const KIND: ColumnKind = ColumnKind::Whole;
}
impl Columns for u64 {
    const KIND: ColumnKind = ColumnKind::Whole;
}
impl Columns for &'static str {
    const KIND: ColumnKind = ColumnKind::Text;
}
impl Columns for String {
    const KIND: ColumnKind = ColumnKind::Text;
}
impl Columns for Map<String, Value> {}
impl<T> Columns for Vec<T> {}

/// A null takes the same columns as a value; they are empty.
impl<T: Columns> Columns for Option<T> {
    fn columns(name: &str, out: &mut Vec<Column>) {
        let first = out.len();
        T::columns(name, out);
        out[first..].iter_mut().for_each(|column| column.is_optional = true);
    }
}

/// The name of a field of a value; the fields of a result itself stand alone.
pub fn field_name(name: &str, field: &str) -> String {
    match name {
        "" => field.to_owned(),
        _ => format!("{name}.{field}"),
    }
}

/// Declares a struct that is serialized field by field and takes the columns of its fields.
macro_rules! record {
    (
        $(#[$meta:meta])*
        pub struct $name:ident $(<$type:ident>)? {
            $($(#[$field_meta:meta])* pub $field:ident: $field_type:ty,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        #[allow(missing_docs, reason = "docs/results.md documents every field of a result")]
        pub struct $name $(<$type>)? {
            $($(#[$field_meta])* pub $field: $field_type,)+
        }

        impl $(<$type: $crate::result::record::Columns>)? $crate::result::record::Columns
            for $name $(<$type>)?
        {
            fn columns(name: &str, out: &mut Vec<$crate::result::record::Column>) {
                use $crate::result::record::{Columns, field_name};
                $(<$field_type as Columns>::columns(&field_name(name, stringify!($field)), out);)+
            }
        }
    };
}

pub(crate) use record;
