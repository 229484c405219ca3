//! Reading TOML with the place of every mistake.

use core::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake in a plan and its place.
#[derive(Debug)]
pub(super) struct Fault {
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    pub what: String,
}

impl Fault {
    pub fn new(at: Range<usize>, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into() }
    }
}

pub(super) type OrFault<T> = core::result::Result<T, Fault>;

/// Line and column of a byte, counted from 1.
pub(super) fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}

/// One table of an array of tables.
pub(super) struct TablePart<'a, 'i> {
    pub table: &'a DeTable<'i>,
    pub at: Range<usize>,
}

/// Reads a document.
pub(super) fn document(text: &str) -> OrFault<Spanned<DeTable<'_>>> {
    DeTable::parse(text).map_err(|error| {
        let what = error.message().trim();
        // `ftl = "page"` before `ftl.victim = "fifo"`.
        let quotes = match what.starts_with("cannot extend value") {
            true => "; put the longer key in quotes, as in `\"ftl.victim\" = \"fifo\"`",
            false => "",
        };
        Fault::new(error.span().unwrap_or(0..0), format!("{what}{quotes}"))
    })
}

/// Refuses keys that have no meaning here; the message suggests the nearest key that has one.
pub(super) fn refuse_unknown(table: &DeTable, what: &str, names: &[&str]) -> OrFault<()> {
    let is_unknown = |(key, _): &TomlEntry| !names.contains(&key.get_ref().as_ref());
    match in_order(table).into_iter().find(is_unknown) {
        None => Ok(()),
        Some((key, _)) => Err(Fault::new(key.span(), unknown_key(what, key.get_ref(), names))),
    }
}

pub(super) fn unknown_key(what: &str, key: &str, known: &[&str]) -> String {
    let error = spec::Error::UnknownKey {
        what: what.to_owned(),
        key: key.to_owned(),
        nearest: spec::nearest(key, known.iter().copied()).map(str::to_owned),
        known: listed(known),
    };
    error.to_string()
}

/// Names for a message. Of many, those before a dot are named by it: `reads.…`.
fn listed(names: &[&str]) -> Vec<String> {
    const FEW: usize = 60;
    let mut listed: Vec<String> = names
        .iter()
        .map(|name| match name.split_once('.') {
            Some((group, _)) if names.len() > FEW => format!("{group}.…"),
            _ => (*name).to_owned(),
        })
        .collect();
    listed.dedup();
    listed
}

/// A key and its value.
pub(super) type TomlEntry<'a, 'i> =
    (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// The entries of a table in the order in which they are written.
pub(super) fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<TomlEntry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

pub(super) fn as_table<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    name: &str,
) -> OrFault<&'a DeTable<'i>> {
    let table = value.get_ref().as_table();
    table.ok_or_else(|| {
        Fault::new(
            value.span(),
            format!("`{name}` is not a table: write [{name}], in Python a dict"),
        )
    })
}

/// The tables of an array of tables; empty if there is no such array.
pub(super) fn tables<'a, 'i>(
    table: &'a DeTable<'i>,
    name: &str,
) -> OrFault<Vec<TablePart<'a, 'i>>> {
    let Some(value) = table.get(name) else { return Ok(Vec::new()) };
    table_list(value, || {
        format!("`{name}` is not an array of tables: write [[{name}]], in Python a list of dicts")
    })
}

/// The tables of a list.
pub(super) fn table_list<'a, 'i>(
    value: &'a Spanned<DeValue<'i>>,
    what: impl Fn() -> String,
) -> OrFault<Vec<TablePart<'a, 'i>>> {
    let parts = value.get_ref().as_array().ok_or_else(|| Fault::new(value.span(), what()))?;
    let part = |part: &'a Spanned<DeValue<'i>>| {
        let table = part.get_ref().as_table().ok_or_else(|| Fault::new(part.span(), what()))?;
        Ok(TablePart { table, at: part.span() })
    };
    parts.iter().map(part).collect()
}

pub(super) fn text_of(table: &DeTable, name: &str) -> OrFault<Option<String>> {
    let Some(value) = table.get(name) else { return Ok(None) };
    match value.get_ref().as_str() {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(Fault::new(value.span(), format!("`{name}` is not a text"))),
    }
}

/// A text that must be there.
pub(super) fn text_needed(part: &TablePart, what: &str, name: &str) -> OrFault<String> {
    let missing = || Fault::new(part.at.clone(), format!("this {what} has no `{name}`"));
    text_of(part.table, name)?.ok_or_else(missing)
}

/// A list of numbers, texts and switches, or one of these.
pub(super) fn list_or_scalar(value: &Spanned<DeValue>) -> OrFault<Value> {
    match value.get_ref().as_array() {
        Some(list) => Ok(Value::Array(list.iter().map(scalar).collect::<OrFault<_>>()?)),
        None => scalar(value),
    }
}

/// A number, text or switch.
pub(super) fn scalar(value: &Spanned<DeValue>) -> OrFault<Value> {
    let at = || value.span();
    Ok(match value.get_ref() {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Boolean(on) => Value::from(*on),
        DeValue::Integer(number) => {
            let whole = u64::from_str_radix(number.as_str(), number.radix());
            let refused =
                |_| Fault::new(at(), format!("{number} is not between 0 and {}", u64::MAX));
            Value::from(whole.map_err(refused)?)
        }
        DeValue::Float(number) => {
            let real = number.as_str().parse::<f64>().ok().filter(|real| real.is_finite());
            Value::from(real.ok_or_else(|| Fault::new(at(), format!("{number} is no number")))?)
        }
        other => {
            let what =
                format!("a number, text or switch is wanted here, not this {}", other.type_str());
            return Err(Fault::new(at(), what));
        }
    })
}
