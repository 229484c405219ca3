//! What the fields of an event mean, and how they are found.

use std::borrow::Cow;

use crate::parse::parsed::{ParseError, ParseResult};
use crate::parse::text::field::Field;
use crate::request::{Flags, Op};

/// The meaning of an event: a request, a reason to skip it, or no request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fields<'a> {
    Requested(Requested<'a>),
    Skip(&'static str),
    Other,
}

/// What an event requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requested<'a> {
    pub(super) device: Cow<'a, [u8]>,
    pub(super) op: Op,
    pub(super) flags: Flags,
    /// The first sector or block, and their number.
    pub(super) range: (u64, u64),
    /// The unit of the number.
    pub(super) length_unit: u64,
}

pub(super) const BEYOND: ParseError =
    ParseError::new("the address or length exceeds 64 bits in bytes");

/// The word behind a key, up to a comma, a blank or a parenthesis.
pub(super) fn value<'a>(fields: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(fields, key)?;
    let rest = &fields[at + key.len()..];
    let end = rest.iter().position(|byte| matches!(byte, b',' | b' ' | b')'));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// The number behind a key, which must be there.
pub(super) fn number(fields: &[u8], key: &[u8], missing: ParseError) -> ParseResult<u64> {
    value(fields, key).and_then(|text| Field::new(text).number()).ok_or(missing)
}

/// A number behind a key that the kernel prints as `0x1f`.
pub(super) fn hexadecimal(fields: &[u8], key: &[u8]) -> Option<u64> {
    value(fields, key).and_then(|text| Field::new(text).hexadecimal())
}
