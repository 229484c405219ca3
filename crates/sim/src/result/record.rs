//! Parts of a result whose columns follow from their fields.

use serde_json::{Map, Value};

/// A value that takes one or more columns in a csv row.
pub trait Columns {
    /// Appends the names of the columns, given the name of the value; one column by default.
    fn columns(name: &str, out: &mut Vec<String>) {
        out.push(name.to_owned());
    }
}

impl Columns for bool {}
impl Columns for f64 {}
impl Columns for u32 {}
impl Columns for u64 {}
impl Columns for &'static str {}
impl Columns for String {}
/// JSON text, as its names are not fixed.
impl Columns for Map<String, Value> {}
/// JSON text.
impl<T> Columns for Vec<T> {}

/// A null takes the same columns as a value; they are empty.
impl<T: Columns> Columns for Option<T> {
    fn columns(name: &str, out: &mut Vec<String>) {
        T::columns(name, out);
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
            fn columns(name: &str, out: &mut Vec<String>) {
                use $crate::result::record::{Columns, field_name};
                $(<$field_type as Columns>::columns(&field_name(name, stringify!($field)), out);)+
            }
        }
    };
}

pub(crate) use record;
