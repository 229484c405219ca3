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
//! [[drawing]]                           # what is drawn of them: see `drawing`
//! ```
//! A row is the base, what `quick` changes, and what its grid or list sets, in this order; whole
//! options before keys inside them. Everything is checked, and what is wrong is named by its line
//! and column, before anything runs.
//!
//! Several figures of a paper look at the same runs. Their plans name the plan that has them,
//! instead of a base and grids, and have those of its rows that their claims and drawings need:
//!
//! ```toml
//! runs = ["runs/SL-tpcc.toml", "runs/SL-general.toml"]
//! ```

use core::ops::Range;
use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::experiment::Experiment;
use crate::error::{Error, Result};
use crate::plan::claim::Claim;
use crate::plan::drawing::Drawing;
use crate::plan::row_selection::Known;
use crate::plan::rows::Runs;

mod assignment;
mod axis;
pub mod claim;
pub mod drawing;
pub mod drawn_traces;
pub mod metric;
mod quick_scale;
mod row_selection;
mod rows;

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
    /// What is drawn of them.
    pub drawings: Vec<Drawing>,
}

/// One run of a plan.
#[derive(Clone, Debug)]
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

/// Reads the text of another plan, which is named as seen from the plan that names it; or says why
/// it cannot.
pub type ReadOther<'a> = &'a dyn Fn(&str) -> core::result::Result<String, String>;

impl Plan {
    /// Reads a plan that needs no other; `name` is what errors call it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse(name: &str, text: &str, scale: Scale) -> Result<Plan> {
        let other = |_: &str| Err("there is no other plan here".to_owned());
        Plan::parse_beside(name, text, scale, &other)
    }

    /// Reads a plan that may take its runs from others.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column.
    pub fn parse_beside(name: &str, text: &str, scale: Scale, read: ReadOther) -> Result<Plan> {
        parse(text, scale, read).map_err(|fault| {
            let (line, column) = position(text, fault.at.start);
            Error::Plan { name: name.to_owned(), line, column, what: fault.what }
        })
    }

    /// The rows of several plans, each once, without what they should show; and for each plan where
    /// its rows are among them.
    pub fn union<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> (Plan, Vec<Vec<usize>>) {
        let mut rows: Vec<Row> = Vec::new();
        let mut place = |row: &Row| {
            let found = rows.iter().position(|other| other.experiment == row.experiment);
            found.unwrap_or_else(|| {
                rows.push(row.clone());
                rows.len() - 1
            })
        };
        let places = plans.into_iter().map(|plan| plan.rows.iter().map(&mut place).collect());
        let places = places.collect();
        (Plan { title: String::new(), rows, claims: Vec::new(), drawings: Vec::new() }, places)
    }

    /// The same plan, its trace files looked for in a directory unless their paths are absolute.
    pub fn with_traces_in(mut self, directory: &Path) -> Plan {
        let rows = self.rows.iter_mut().map(|row| &mut row.experiment);
        let traces = self.drawings.iter_mut().flat_map(|drawing| &mut drawing.traces);
        for experiment in rows.chain(traces.map(|drawn| &mut drawn.experiment)) {
            if experiment.reads_file()
                && let Some(trace) = &mut experiment.trace
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

const PARTS: &[&str] = &["title", "runs", "base", "quick", "grid", "list", "claim", "drawing"];

fn parse(text: &str, scale: Scale, read: ReadOther) -> Parsed<Plan> {
    let document = DeTable::parse(text)
        .map_err(|error| Fault::new(error.span().unwrap_or(0..0), error.message().trim()))?;
    let table = document.get_ref();
    refuse_unknown(table, "a plan", PARTS)?;
    let (runs, is_whole) = match table.get("runs") {
        None => (Runs::parse(table, scale)?, true),
        Some(names) => (Runs::of_others(table, names, scale, read)?, false),
    };
    // Claims and drawings speak of the rows as they are written.
    let known = &Known::new(runs.written());
    let (claims, drawings) = (tables(table, "claim")?, tables(table, "drawing")?);
    let claims = claims.iter().map(|part| claim::parse(part, known));
    let drawings = drawings.iter().map(|part| drawing::parse(part, known));
    let mut plan = Plan {
        title: text_of(table, "title")?.unwrap_or_default(),
        claims: claims.collect::<Parsed<_>>()?,
        drawings: drawings.collect::<Parsed<_>>()?,
        rows: Vec::new(),
    };
    plan.claims.iter_mut().for_each(|claim| claim.relabel(|row, label| runs.label(row, label)));
    for drawing in &mut plan.drawings {
        drawing.relabel(|row, label| runs.label(row, label));
    }
    plan.rows = runs.rows();
    plan.drawings.iter_mut().for_each(|drawing| drawing.take_traces(&plan.rows));
    if !is_whole {
        plan.keep_what_is_needed();
    }
    Ok(plan)
}

impl Plan {
    /// Leaves out the rows that no claim and no drawing looks at.
    fn keep_what_is_needed(&mut self) {
        let claimed = self.claims.iter().flat_map(Claim::rows);
        let drawn = self.drawings.iter().flat_map(Drawing::rows);
        let kept: BTreeSet<usize> = claimed.chain(drawn).collect();
        let kept: Vec<usize> = kept.into_iter().collect();
        let number = |row: usize| kept.binary_search(&row).expect("a row that is needed");
        self.claims.iter_mut().for_each(|claim| claim.renumber(number));
        self.drawings.iter_mut().for_each(|drawing| drawing.renumber(number));
        self.rows = kept.iter().map(|&row| self.rows[row].clone()).collect();
    }
}

// ---- Reading TOML -------------------------------------------------------------------------------

/// One table of an array of tables.
struct Part<'a, 'i> {
    table: &'a DeTable<'i>,
    at: Range<usize>,
}

/// Refuses keys that mean nothing here, with the nearest that does.
fn refuse_unknown(table: &DeTable, what: &str, names: &[&str]) -> Parsed<()> {
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

/// The same, of a part that must have it.
fn text_needed(part: &Part, what: &str, name: &str) -> Parsed<String> {
    let missing = || Fault::new(part.at.clone(), format!("this {what} has no `{name}`"));
    text_of(part.table, name)?.ok_or_else(missing)
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
