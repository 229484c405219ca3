//! What the rows of a plan are expected to show.
//!
//! ```toml
//! [[claim]]
//! id = "T1"
//! says = "greedy meets its mean-field limit"
//! source = "where the figures come from"
//! figure = "write_amplification"        # a column of the rows, or `scheme.` and a figure of it
//! within = "1%"                         # of the expected figure; exact if not given
//! rows = [                              # each: which rows, and what is expected of them
//!     { extra = "7%", expected = 5.328 },
//! ]
//!
//! [[claim]]
//! id = "T3"
//! says = "more choices help"
//! figure = "write_amplification"
//! within = "0.1%"                       # noise that is let pass
//! falling = [{ ftl.d = 2 }, { ftl.d = 4 }]   # or rising: one row each
//! ```

use spec::Share;
use toml::de::{DeTable, DeValue};

use super::setting::{Setting, entries, holds};
use super::{Fault, Parsed, Part, Row, known, scalar, text_of, unknown_key};
use crate::sweep::row::columns;

const KEYS: &[&str] = &["id", "says", "source", "figure", "within", "rows", "falling", "rising"];

/// Something that rows should show.
#[derive(Debug)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// Who made it.
    pub source: String,
    /// The figure that it is about.
    pub figure: String,
    /// How far it may be off, of the expected figure.
    pub within: f64,
    expectations: Vec<Expectation>,
}

/// One cell of a claim.
#[derive(Debug)]
struct Expectation {
    /// Which row, in words.
    label: String,
    row: usize,
    of: Expected,
}

#[derive(Debug)]
enum Expected {
    /// About so much.
    Figure(f64),
    /// Less than that row.
    Below(usize),
    /// More than that row.
    Above(usize),
}

/// Whether one cell of a claim holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which row, in words.
    pub label: String,
    /// The row, from 0.
    pub row: usize,
    /// What the found figure should be to the expected one: `=`, `<` or `>`.
    pub relation: char,
    /// What is expected: the figure itself, or that of the row it should stay below or above.
    pub expected: Option<f64>,
    /// What was found; none if the row failed.
    pub found: Option<f64>,
    /// Whether it holds.
    pub holds: bool,
}

impl Verdict {
    /// (found − expected) / expected.
    pub fn deviation(&self) -> Option<f64> {
        Some(self.found? / self.expected? - 1.0)
    }
}

impl Claim {
    /// The rows whose figure is needed.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.expectations.iter().flat_map(|cell| match cell.of {
            Expected::Figure(_) => vec![cell.row],
            Expected::Below(other) | Expected::Above(other) => vec![cell.row, other],
        })
    }

    /// Judges every cell, given the figure of each row.
    pub fn judge(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<Verdict> {
        let verdict = |cell: &Expectation| {
            let found = figure(cell.row);
            let (relation, expected) = match cell.of {
                Expected::Figure(expected) => ('=', Some(expected)),
                Expected::Below(other) => ('<', figure(other)),
                Expected::Above(other) => ('>', figure(other)),
            };
            let slack = expected.map_or(0.0, |expected| expected.abs() * self.within);
            let holds = match (found.zip(expected), &cell.of) {
                (Some((found, expected)), Expected::Figure(_)) => (found - expected).abs() <= slack,
                (Some((found, expected)), Expected::Below(_)) => found < expected + slack,
                (Some((found, expected)), Expected::Above(_)) => found > expected - slack,
                (None, _) => false,
            };
            Verdict { label: cell.label.clone(), row: cell.row, relation, expected, found, holds }
        };
        self.expectations.iter().map(verdict).collect()
    }
}

/// Reads a claim on these rows.
pub(super) fn parse(part: &Part, rows: &[Row]) -> Parsed<Claim> {
    let table = part.table;
    known(table, "a claim", KEYS)?;
    let needed = |name| match text_of(table, name)? {
        Some(text) => Ok(text),
        None => Err(Fault::new(part.at.clone(), format!("this claim has no `{name}`"))),
    };
    Ok(Claim {
        id: needed("id")?,
        says: needed("says")?,
        source: text_of(table, "source")?.unwrap_or_default(),
        figure: figure(part)?,
        within: within(table)?,
        expectations: expectations(part, rows)?,
    })
}

fn figure(part: &Part) -> Parsed<String> {
    let Some(value) = part.table.get("figure") else {
        return Err(Fault::new(part.at.clone(), "this claim has no `figure`"));
    };
    let name = text_of(part.table, "figure")?.unwrap_or_default();
    let columns = columns();
    if name.starts_with("scheme.") || columns.contains(&name) {
        return Ok(name);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Err(Fault::new(value.span(), unknown_key("a row", &name, &columns)))
}

fn within(table: &DeTable) -> Parsed<f64> {
    let (Some(text), Some(value)) = (text_of(table, "within")?, table.get("within")) else {
        return Ok(0.0);
    };
    let share = Share::parse(&text).map_err(|why| Fault::new(value.span(), why.to_string()))?;
    Ok(share.as_f64())
}

fn expectations(part: &Part, rows: &[Row]) -> Parsed<Vec<Expectation>> {
    let kinds = ["rows", "falling", "rising"];
    let given: Vec<_> =
        kinds.iter().filter_map(|&kind| Some((kind, part.table.get(kind)?))).collect();
    let [(kind, value)] = given[..] else {
        let what = "a claim has one of `rows`, `falling` and `rising`";
        return Err(Fault::new(part.at.clone(), what));
    };
    let not_tables = || Fault::new(value.span(), format!("`{kind}` is not a list of tables"));
    let array = value.get_ref().as_array().ok_or_else(not_tables)?;
    let table = |value: &toml::Spanned<DeValue>| {
        let table = value.get_ref().as_table().ok_or_else(not_tables)?;
        Cell::parse(&Part { table, at: value.span() }, rows)
    };
    let cells: Vec<Cell> = array.iter().map(table).collect::<Parsed<_>>()?;
    match kind {
        "rows" => of_figures(cells),
        _ => of_order(cells, kind == "falling"),
    }
}

fn of_figures(cells: Vec<Cell>) -> Parsed<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for cell in cells {
        let Some(figure) = cell.expected else {
            return Err(Fault::new(cell.at, "it is not said what is `expected`"));
        };
        let (label, of) = (cell.label, || Expected::Figure(figure));
        let each = cell.rows.into_iter();
        expectations.extend(each.map(|row| Expectation { label: label.clone(), row, of: of() }));
    }
    Ok(expectations)
}

/// Each row against the one before.
fn of_order(cells: Vec<Cell>, falling: bool) -> Parsed<Vec<Expectation>> {
    for cell in &cells {
        if cell.rows.len() > 1 || cell.expected.is_some() {
            let what = format!(
                "{} names {} rows; in an order each names one, and expects no figure",
                cell.label,
                cell.rows.len()
            );
            return Err(Fault::new(cell.at.clone(), what));
        }
    }
    let pair = |pair: &[Cell]| {
        let (before, row) = (pair[0].rows[0], pair[1].rows[0]);
        let of = if falling { Expected::Below(before) } else { Expected::Above(before) };
        Expectation { label: pair[1].label.clone(), row, of }
    };
    Ok(cells.windows(2).map(pair).collect())
}

/// Rows that a claim speaks of.
struct Cell {
    label: String,
    rows: Vec<usize>,
    expected: Option<f64>,
    at: core::ops::Range<usize>,
}

impl Cell {
    fn parse(part: &Part, rows: &[Row]) -> Parsed<Cell> {
        let (mut chosen_by, mut expected) = (Vec::new(), None);
        for (name, at, value) in entries(part.table) {
            match name.as_str() {
                "expected" => expected = Some(number(value)?),
                _ => chosen_by.push(Setting::new(&name, at, value)?),
            }
        }
        let all = |row: &Row| chosen_by.iter().all(|setting| holds(&row.experiment, setting));
        let chosen = rows.iter().enumerate().filter(|(_, row)| all(row));
        let rows: Vec<usize> = chosen.map(|(index, _)| index).collect();
        let label: Vec<String> =
            chosen_by.iter().map(|setting| format!("{}={}", setting.key, setting.value)).collect();
        let label = label.join(" ").replace('"', "");
        match rows.is_empty() {
            true => Err(Fault::new(part.at.clone(), format!("no row has {label}"))),
            false => Ok(Cell { label, rows, expected, at: part.at.clone() }),
        }
    }
}

fn number(value: &toml::Spanned<DeValue>) -> Parsed<f64> {
    let number = scalar(value)?.as_f64();
    number.ok_or_else(|| Fault::new(value.span(), "what is `expected` is not a number"))
}
