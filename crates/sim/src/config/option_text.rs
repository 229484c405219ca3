//! Options as text: command line, plans and Python all write an option as text, and every option
//! can be written back as a text that is read as the same value.

use core::fmt::Display;
use core::str::FromStr;

use serde_json::Value;

use crate::config::values::{Extra, Interval, Volume};
use crate::error::{Error, Result};

/// A value that an option can have.
pub trait OptionValue: Display + Sized {
    /// The keywords to choose from, if the value is one of a few.
    const KEYWORDS: &'static [&'static str] = &[];
    /// Whether it is given by the option's name alone.
    const IS_SWITCH: bool = false;

    /// The value in the JSON of a result; by default a text.
    fn json(&self) -> Value {
        self.to_string().into()
    }
}

impl OptionValue for bool {
    const IS_SWITCH: bool = true;

    fn json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for u32 {
    fn json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for u64 {
    fn json(&self) -> Value {
        (*self).into()
    }
}

impl OptionValue for String {}
impl OptionValue for Extra {}
impl OptionValue for Interval {}
impl OptionValue for Volume {}

/// A field of an experiment: a value, an optional value, or a list of values.
pub trait OptionField {
    /// The type of the values.
    type Value: OptionValue;
    /// Whether it is a list.
    const IS_LIST: bool = false;

    /// A field that holds these values: exactly one, unless it is a list.
    fn holding(values: Vec<Self::Value>) -> Self;

    /// The values; none if an optional one is not given.
    fn values(&self) -> &[Self::Value];

    /// The field in the JSON of a result.
    fn json(&self) -> Value {
        let mut values = self.values().iter().map(OptionValue::json);
        match Self::IS_LIST {
            true => values.collect(),
            false => values.next().unwrap_or_default(),
        }
    }
}

/// The value of a field that is no list.
fn only<T>(mut values: Vec<T>) -> T {
    values.pop().expect("a field that is no list gets one value")
}

impl<T: OptionValue> OptionField for T {
    type Value = T;

    fn holding(values: Vec<T>) -> T {
        only(values)
    }

    fn values(&self) -> &[T] {
        core::slice::from_ref(self)
    }
}

impl<T: OptionValue> OptionField for Option<T> {
    type Value = T;

    fn holding(values: Vec<T>) -> Option<T> {
        Some(only(values))
    }

    fn values(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: OptionValue> OptionField for Vec<T> {
    type Value = T;
    const IS_LIST: bool = true;

    fn holding(values: Vec<T>) -> Vec<T> {
        values
    }

    fn values(&self) -> &[T] {
        self
    }
}

/// How the values of an option are written.
pub(crate) struct Notation<T> {
    pub read: fn(&str) -> Result<T>,
    pub write: fn(&T) -> String,
}

impl<T: FromStr + Display> Notation<T>
where
    Error: From<T::Err>,
{
    /// The type's own notation.
    pub(crate) const OWN: Notation<T> =
        Notation { read: |text| Ok(text.parse()?), write: T::to_string };
}

/// Text that is kept as it is written.
pub(crate) const TEXT: Notation<String> =
    Notation { read: |text| Ok(text.to_owned()), write: String::clone };

/// `true` or `false`.
pub(crate) const SWITCH: Notation<bool> =
    Notation { read: |text| Ok(spec::parse_switch(text)?), write: bool::to_string };

/// Bytes, such as `8GiB`.
pub(crate) const SIZE: Notation<u64> =
    Notation { read: |text| Ok(spec::parse_size(text)?), write: |&bytes| spec::print_size(bytes) };

/// A whole number, such as `4M`.
pub(crate) const COUNT: Notation<u64> =
    Notation { read: |text| Ok(spec::parse_count(text)?), write: u64::to_string };

/// A small whole number.
pub(crate) const SMALL_COUNT: Notation<u32> = Notation {
    read: |text| {
        let count = spec::parse_count(text)?;
        let too_large = || Error::Impossible(format!("{count} is more than {}", u32::MAX));
        u32::try_from(count).map_err(|_| too_large())
    },
    write: u32::to_string,
};

/// A time in nanoseconds, written such as `20ns`.
pub(crate) const TIME_NS: Notation<u64> = Notation {
    read: |text| Ok(spec::parse_time_ns(text)?),
    write: |&time_ns| spec::Value::TimeNs(time_ns).to_string(),
};
