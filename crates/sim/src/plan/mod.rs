//! A plan: many experiments in one TOML file, and what they are expected to show.
//!
//! ```toml
//! title = "Over-provisioning against victims"
//!
//! [base]                                # any option of a run
//! trace = "uniform:writes=4M"
//! capacity = "1GiB"
//!
//! [[grid]]                              # every combination, the last key fastest
//! extra = ["7%", "15%"]
//! ftl.victim = ["greedy", "fifo"]       # one key inside a spec
//! device = [                            # several options together; the name is free
//!     { chip = "slc-lsb", seed = 1 },
//!     { chip = "mlc-k9gag", seed = 2 },
//! ]
//!
//! [[list]]                              # the first of each, the second of each, …
//! ftl = ["page", "block"]
//! limit = [1000, 2000]
//!
//! [quick]                               # what is smaller under `--scale quick`
//! trace.writes = "40K"
//!
//! [quick.instead]                       # and what stands in its rows instead: see `instead`
//! "desktop.txt.zst" = "desktop:writes=40K"
//!
//! [[claim]]                             # what the rows should show: see `claim`
//! ```
//! A row is the base, what `quick` changes, and what its grid or list sets, in this order; whole
//! options before keys inside them. Everything is checked, and what is wrong is named by its line
//! and column, before anything runs.

use core::ops::Range;
use std::path::Path;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::plan::claim::Claim;
use crate::plan::instead::Instead;
use crate::plan::setting::{Base, Setting, settings_but};
use crate::source::{Origin, origin};

mod axis;
pub mod claim;
pub mod figure;
mod instead;
mod setting;

/// The most rows that a plan may have.
pub const ROWS_MAX: usize = 100_000;

/// A sweep, and what it should show.
#[derive(Debug)]
pub struct Plan {
    /// What it is about.
    pub title: String,
    /// The runs, in order.
    pub rows: Vec<Row>,
    /// What they should show.
    pub claims: Vec<Claim>,
}

/// One run of a plan.
#[derive(Debug)]
pub struct Row {
    /// What is run.
    pub experiment: Experiment,
    /// What the grid or list set, as written.
    pub varied: Map<String, Value>,
}

/// Whether a plan is run at its size, or smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// With what `quick` changes: a look, which settles no claim.
    Quick,
    /// As it stands.
    Full,
}

impl Plan {
    /// Reads a plan; `name` is what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse(name: &str, text: &str, scale: Scale) -> Result<Plan> {
        parse(text, scale).map_err(|fault| {
            let (line, column) = position(text, fault.at.start);
            Error::Plan { name: name.to_owned(), line, column, what: fault.what }
        })
    }

    /// The same plan, its trace files looked for in a directory unless their paths are absolute.
    pub fn with_traces_in(mut self, directory: &Path) -> Plan {
        for row in &mut self.rows {
            if let Some(trace) = &mut row.experiment.trace
                && matches!(origin(trace), Ok(Origin::File(_)))
            {
                *trace = directory.join(&*trace).to_string_lossy().into_owned();
            }
        }
        self
    }
}

/// What is wrong with a plan, and where.
#[derive(Debug)]
struct Fault {
    at: Range<usize>,
    what: String,
}

impl Fault {
    fn new(at: Range<usize>, what: impl Into<String>) -> Fault {
        Fault { at, what: what.into() }
    }
}

type Parsed<T> = core::result::Result<T, Fault>;

/// Line and column of a byte, from 1.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    (line, column)
}

const PARTS: &[&str] = &["title", "base", "quick", "grid", "list", "claim"];

fn parse(text: &str, scale: Scale) -> Parsed<Plan> {
    let document = DeTable::parse(text)
        .map_err(|error| Fault::new(error.span().unwrap_or(0..0), error.message().trim()))?;
    let table = document.get_ref();
    known(table, "a plan", PARTS)?;
    let (base, instead) = (base(table, scale)?, instead(table)?);
    let (mut rows, mut quick) = (Vec::new(), Vec::new());
    for (is_grid, part) in sets(table)? {
        let axes = axis::axes(&part)?;
        let combinations = match is_grid {
            true => axis::product(&axes),
            false => axis::side_by_side(&axes),
        }?;
        refuse_too_many(&part, rows.len(), combinations.len())?;
        for combination in &combinations {
            let own: Vec<Setting> = combination.iter().map(|&setting| setting.clone()).collect();
            rows.push(row(&base, &own)?);
            quick.push(row(&base, &instead.of(combination))?);
        }
    }
    if rows.is_empty() {
        rows.push(row(&base, &[])?);
        quick.push(row(&base, &[])?);
    }
    let texts: Vec<&str> =
        rows.iter().flat_map(|row| row.varied.values()).filter_map(Value::as_str).collect();
    instead.refuse_unused(&texts)?;
    // Claims speak of the rows as they are written.
    let claims = tables(table, "claim")?;
    let claims = claims.iter().map(|part| claim::parse(part, &rows));
    let mut claims = claims.collect::<Parsed<Vec<Claim>>>()?;
    if scale == Scale::Quick {
        claims.iter_mut().for_each(|claim| claim.relabel(|label| instead.text(label)));
        rows = quick.into_iter().map(without_idle_format).collect();
    }
    Ok(Plan { title: text_of(table, "title")?.unwrap_or_default(), rows, claims })
}

/// What stands in rows instead under the quick scale.
fn instead(table: &DeTable) -> Parsed<Instead> {
    match table.get("quick") {
        None => Ok(Instead::default()),
        Some(quick) => Instead::parse(as_table(quick, "quick")?),
    }
}

/// A workload that stands in for a file has no format.
fn without_idle_format(mut row: Row) -> Row {
    let trace = row.experiment.trace.as_deref();
    if trace.is_some_and(|trace| matches!(origin(trace), Ok(Origin::Workload(_)))) {
        row.experiment.format = None;
    }
    row
}

/// The base with what `quick` changes.
fn base(table: &DeTable, scale: Scale) -> Parsed<Base> {
    let part = |name| match table.get(name) {
        None => Ok(Vec::new()),
        Some(part) => settings_but(as_table(part, name)?, instead::NAME),
    };
    let (base, quick) = (part("base")?, part("quick")?);
    let whole = Base::default().with(&base)?;
    // What is quick is checked whatever is asked for.
    let small = Base::default().with(&setting::overridden(&base, &quick))?;
    match (scale, quick.is_empty()) {
        (Scale::Full, _) => Ok(whole),
        (Scale::Quick, false) => Ok(small),
        (Scale::Quick, true) => {
            Err(Fault::new(0..0, "this plan has no [quick] part, so there is only `--scale full`"))
        }
    }
}

/// The grids and lists, in the order in which they are written.
fn sets<'a, 'i>(table: &'a DeTable<'i>) -> Parsed<Vec<(bool, Part<'a, 'i>)>> {
    let grids = tables(table, "grid")?.into_iter().map(|part| (true, part));
    let mut sets: Vec<_> = grids.collect();
    sets.extend(tables(table, "list")?.into_iter().map(|part| (false, part)));
    sets.sort_by_key(|(_, part)| part.at.start);
    Ok(sets)
}

fn row(base: &Base, own: &[Setting]) -> Parsed<Row> {
    let varied = own.iter().map(|setting| (setting.key.to_string(), setting.value.clone()));
    let varied = varied.collect();
    let experiment = base.with(own)?.experiment()?;
    let at = own.last().map_or(0..0, |setting| setting.at.clone());
    experiment.check_together().map_err(|why| Fault::new(at, why.to_string()))?;
    Ok(Row { experiment, varied })
}

fn refuse_too_many(part: &Part, before: usize, more: usize) -> Parsed<()> {
    match before + more > ROWS_MAX {
        true => {
            let what = format!("{} rows are more than {ROWS_MAX}; split the plan", before + more);
            Err(Fault::new(part.at.clone(), what))
        }
        false => Ok(()),
    }
}

// ---- Reading TOML -------------------------------------------------------------------------------

/// One table of an array of tables.
struct Part<'a, 'i> {
    table: &'a DeTable<'i>,
    at: Range<usize>,
}

/// Refuses keys that mean nothing here, with the nearest that does.
fn known(table: &DeTable, what: &str, names: &[&str]) -> Parsed<()> {
    let unknown =
        in_order(table).into_iter().find(|(key, _)| !names.contains(&key.get_ref().as_ref()));
    match unknown {
        None => Ok(()),
        Some((key, _)) => Err(Fault::new(key.span(), unknown_key(what, key.get_ref(), names))),
    }
}

fn unknown_key(what: &str, key: &str, known: &[&str]) -> String {
    let error = spec::Error::UnknownKey {
        what: what.to_owned(),
        key: key.to_owned(),
        nearest: spec::nearest(key, known.iter().copied()).map(str::to_owned),
        known: known.iter().map(|&name| name.to_owned()).collect(),
    };
    error.to_string()
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// The entries of a table in the order in which they are written.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn as_table<'a, 'i>(value: &'a Spanned<DeValue<'i>>, name: &str) -> Parsed<&'a DeTable<'i>> {
    let table = value.get_ref().as_table();
    table
        .ok_or_else(|| Fault::new(value.span(), format!("`{name}` is not a table: write [{name}]")))
}

/// The tables of an array of tables; none if there is no such array.
fn tables<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Parsed<Vec<Part<'a, 'i>>> {
    let Some(value) = table.get(name) else { return Ok(Vec::new()) };
    let what = || format!("`{name}` is not an array of tables: write [[{name}]]");
    let parts = value.get_ref().as_array().ok_or_else(|| Fault::new(value.span(), what()))?;
    let part = |part: &'a Spanned<DeValue<'i>>| {
        let table = part.get_ref().as_table().ok_or_else(|| Fault::new(part.span(), what()))?;
        Ok(Part { table, at: part.span() })
    };
    parts.iter().map(part).collect()
}

fn text_of(table: &DeTable, name: &str) -> Parsed<Option<String>> {
    let Some(value) = table.get(name) else { return Ok(None) };
    match value.get_ref().as_str() {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(Fault::new(value.span(), format!("`{name}` is not a text"))),
    }
}

/// A number, text or switch.
fn scalar(value: &Spanned<DeValue>) -> Parsed<Value> {
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

#[cfg(test)]
mod tests;
