//! What the rows of a plan are expected to show.
//!
//! ```toml
//! [[claim]]
//! id = "T1"
//! says = "greedy meets its mean-field limit"
//! source = "where the figures come from"
//! figure = "write_amplification"        # what is looked at: see `figure`
//! within = "1%"                         # of the expected figure; exact if not given
//! rows = [                              # each: which rows, and what is expected of them
//!     { extra = "7%", expected = 5.328 },
//!     { extra = "50%", between = [1.5, 1.7] },       # or at_most = 1.7, at_least = 1.5
//! ]
//!
//! [[claim]]
//! id = "T3"
//! says = "more choices help"
//! figure = "write_amplification"
//! within = "0.1%"                       # noise that is let pass
//! falling = [{ ftl.d = 2 }, { ftl.d = 4 }]   # or rising: one row each
//!
//! [[claim]]
//! id = "FSTR-2"
//! says = "faster takes 65 to 70 % of fast's time"
//! figure = "time_us.total"
//! rows = [{ ftl = "faster", over = { ftl = "fast" }, between = [0.65, 0.70] }]
//! ```
//! With `over` the figure of a cell is that of its row over that of the other. Where a cell names
//! several rows, the other is the one that differs from it only in what `over` names.

use core::fmt;
use core::ops::Range;

use serde_json::Value;
use spec::Share;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::figure::{Figure, ratio};
use super::setting::{Base, Setting, entries, holds, settings};
use super::{Fault, Parsed, Part, Row, known, scalar, text_of};

const KEYS: &[&str] =
    &["id", "says", "source", "figure", "per", "statistic", "within", "rows", "falling", "rising"];

/// Something that rows should show.
#[derive(Debug)]
pub struct Claim {
    /// Its name.
    pub id: String,
    /// The claim in words.
    pub says: String,
    /// Who made it.
    pub source: String,
    /// What it looks at.
    pub figure: Figure,
    /// How far it may be off, of the expected figure.
    pub within: f64,
    expectations: Vec<Expectation>,
}

/// One cell of a claim.
#[derive(Debug)]
struct Expectation {
    /// Which row, in words.
    label: String,
    cell: Place,
    of: Expected,
}

/// Where a cell's figure comes from.
#[derive(Clone, Copy, Debug)]
struct Place {
    row: usize,
    /// The row over whose figure it is taken.
    over: Option<usize>,
}

impl Place {
    fn rows(self) -> impl Iterator<Item = usize> {
        [Some(self.row), self.over].into_iter().flatten()
    }

    /// Its figure; infinite if it is something over nothing, none if nothing over nothing.
    fn found(self, figure: &impl Fn(usize) -> Option<f64>) -> Option<f64> {
        match self.over {
            None => figure(self.row),
            Some(over) => ratio(figure(self.row)?, figure(over)?),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    /// About so much.
    Figure(f64),
    /// From so much to so much.
    Between(f64, f64),
    /// Less than that cell.
    Below(Place),
    /// More than that cell.
    Above(Place),
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// About so much.
    About(f64),
    /// From so much to so much; an end may be infinite.
    Between(f64, f64),
    /// Less than another figure, if there is one.
    Below(Option<f64>),
    /// More than another figure, if there is one.
    Above(Option<f64>),
}

impl fmt::Display for Wanted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = |out: &mut fmt::Formatter<'_>, sign, other: Option<f64>| match other {
            Some(other) => write!(out, "{sign} {other:.3}"),
            None => write!(out, "{sign} –"),
        };
        match *self {
            Wanted::About(figure) => write!(out, "= {figure:.3}"),
            Wanted::Between(f64::NEG_INFINITY, high) => write!(out, "≤ {high:.3}"),
            Wanted::Between(low, f64::INFINITY) => write!(out, "≥ {low:.3}"),
            Wanted::Between(low, high) => write!(out, "{low:.3} to {high:.3}"),
            Wanted::Below(figure) => other(out, '<', figure),
            Wanted::Above(figure) => other(out, '>', figure),
        }
    }
}

/// What becomes of a cell, or of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A cell is as claimed; all cells of a claim are that say something.
    Holds,
    /// It is not.
    FallsShort,
    /// There is no such figure: nothing over nothing, or a run that failed.
    Undecided,
}

impl Outcome {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::FallsShort => "falls short",
            Outcome::Undecided => "undecided",
        }
    }

    /// What becomes of a claim: cells that say nothing leave it to the others.
    pub fn of<'a>(cells: impl IntoIterator<Item = &'a Verdict>) -> Outcome {
        let cells = cells.into_iter().map(|cell| cell.outcome);
        cells.fold(Outcome::Undecided, |all, cell| match (all, cell) {
            (Outcome::FallsShort, _) | (_, Outcome::Undecided) => all,
            (_, cell) => cell,
        })
    }
}

/// What was found in one cell of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Which row, in words.
    pub label: String,
    /// The row, from 0.
    pub row: usize,
    /// What is expected.
    pub wanted: Wanted,
    /// What was found; none if a row failed or has no such figure.
    pub found: Option<f64>,
    /// What becomes of it.
    pub outcome: Outcome,
}

impl Verdict {
    /// How far the found figure is off what is expected, as a part of that: 0 inside a range, else
    /// from its nearest end.
    pub fn deviation(&self) -> Option<f64> {
        let found = self.found?;
        let expected = match self.wanted {
            Wanted::About(figure) => figure,
            Wanted::Between(low, high) => found.clamp(low, high),
            Wanted::Below(figure) | Wanted::Above(figure) => figure?,
        };
        Some(ratio(found, expected).map_or(0.0, |ratio| ratio - 1.0))
    }
}

impl Claim {
    /// The rows whose figure is needed.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.expectations.iter().flat_map(|cell| {
            let other = match cell.of {
                Expected::Below(other) | Expected::Above(other) => Some(other),
                Expected::Figure(_) | Expected::Between(..) => None,
            };
            cell.cell.rows().chain(other.into_iter().flat_map(Place::rows))
        })
    }

    /// Names its cells anew.
    pub(super) fn relabel(&mut self, name: impl Fn(&str) -> String) {
        self.expectations.iter_mut().for_each(|cell| cell.label = name(&cell.label));
    }

    /// Whether its cells are about one row's figure over another's.
    pub fn is_relative(&self) -> bool {
        self.expectations.iter().any(|cell| cell.cell.over.is_some())
    }

    /// Judges every cell, given the figure of each row.
    pub fn judge(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<Verdict> {
        let verdict = |cell: &Expectation| {
            let found = cell.cell.found(&figure);
            let wanted = match cell.of {
                Expected::Figure(expected) => Wanted::About(expected),
                Expected::Between(low, high) => Wanted::Between(low, high),
                Expected::Below(other) => Wanted::Below(other.found(&figure)),
                Expected::Above(other) => Wanted::Above(other.found(&figure)),
            };
            let outcome = found.map_or(Outcome::Undecided, |found| self.outcome(found, wanted));
            Verdict { label: cell.label.clone(), row: cell.cell.row, wanted, found, outcome }
        };
        self.expectations.iter().map(verdict).collect()
    }

    fn outcome(&self, found: f64, wanted: Wanted) -> Outcome {
        let slack = |expected: f64| expected.abs() * self.within;
        let holds = match wanted {
            Wanted::About(expected) => (found - expected).abs() <= slack(expected),
            Wanted::Between(low, high) => low <= found && found <= high,
            Wanted::Below(Some(expected)) => found < expected + slack(expected),
            Wanted::Above(Some(expected)) => found > expected - slack(expected),
            Wanted::Below(None) | Wanted::Above(None) => return Outcome::Undecided,
        };
        if holds { Outcome::Holds } else { Outcome::FallsShort }
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
        figure: Figure::parse(part)?,
        within: within(table)?,
        expectations: expectations(part, rows)?,
    })
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
    let table = |value: &Spanned<DeValue>| {
        let table = value.get_ref().as_table().ok_or_else(not_tables)?;
        Cell::parse(&Part { table, at: value.span() }, rows)
    };
    let cells: Vec<Cell> = array.iter().map(table).collect::<Parsed<_>>()?;
    match kind {
        "rows" => of_figures(cells, rows),
        _ => of_order(cells, kind == "falling"),
    }
}

fn of_figures(cells: Vec<Cell>, rows: &[Row]) -> Parsed<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for cell in cells {
        let Some(of) = cell.expected else {
            return Err(Fault::new(cell.at, "it is not said what is `expected`"));
        };
        let own = |&place: &Place| names_apart(&cell.places, place, rows);
        let label = |place| format!("{}{}", cell.label, own(place)).trim_start().to_owned();
        let expectation = |place| Expectation { label: label(place), cell: *place, of };
        expectations.extend(cell.places.iter().map(expectation));
    }
    Ok(expectations)
}

/// What tells a row from the others that its cell names.
fn names_apart(places: &[Place], place: Place, rows: &[Row]) -> String {
    let value = |place: &Place, key: &str| rows[place.row].varied.get(key).cloned();
    let varied = rows[place.row].varied.iter();
    let varies = |key: &str| places.iter().any(|other| value(other, key) != value(&place, key));
    let word = |(key, value): (&String, &Value)| format!(" {key}={value}").replace('"', "");
    varied.filter(|(key, _)| varies(key)).map(word).collect()
}

/// Each row against the one before.
fn of_order(cells: Vec<Cell>, falling: bool) -> Parsed<Vec<Expectation>> {
    for cell in &cells {
        if cell.places.len() > 1 || cell.expected.is_some() {
            let what = format!(
                "{} names {} rows; in an order each names one, and expects no figure",
                cell.label,
                cell.places.len()
            );
            return Err(Fault::new(cell.at.clone(), what));
        }
    }
    let pair = |pair: &[Cell]| {
        let (before, cell) = (pair[0].places[0], pair[1].places[0]);
        let of = if falling { Expected::Below(before) } else { Expected::Above(before) };
        Expectation { label: pair[1].label.clone(), cell, of }
    };
    Ok(cells.windows(2).map(pair).collect())
}

/// Rows that a claim speaks of.
struct Cell {
    label: String,
    places: Vec<Place>,
    expected: Option<Expected>,
    at: Range<usize>,
}

impl Cell {
    fn parse(part: &Part, rows: &[Row]) -> Parsed<Cell> {
        let (mut chosen_by, mut over) = (Vec::new(), None);
        for (name, at, value) in entries(part.table) {
            match name.as_str() {
                "expected" | "between" | "at_most" | "at_least" => {}
                "over" => over = Some(other_row(value)?),
                _ => chosen_by.push(Setting::new(&name, at, value)?),
            }
        }
        let mut label = words(&chosen_by);
        if let Some(over) = &over {
            label += &format!(" over {}", words(over));
        }
        let all = |row: &Row| chosen_by.iter().all(|setting| holds(&row.experiment, setting));
        let chosen = (0..).zip(rows).filter(|(_, row)| all(row));
        let place = |(index, row): (usize, &Row)| {
            let over = over.as_ref().map(|over| like(row, over, rows, &label, part)).transpose()?;
            Ok(Place { row: index, over })
        };
        let places: Vec<Place> = chosen.map(place).collect::<Parsed<_>>()?;
        match places.is_empty() {
            true => Err(Fault::new(part.at.clone(), format!("no row has {label}"))),
            false => Ok(Cell { label, places, expected: expected(part)?, at: part.at.clone() }),
        }
    }
}

/// What `over` names.
fn other_row(value: &Spanned<DeValue>) -> Parsed<Vec<Setting>> {
    match value.get_ref().as_table() {
        Some(table) => settings(table),
        None => Err(Fault::new(value.span(), "`over` is a table of options, as of a row")),
    }
}

/// The row that differs from this one only in what is named.
fn like(row: &Row, over: &[Setting], rows: &[Row], label: &str, part: &Part) -> Parsed<usize> {
    let other = Base::of(&row.experiment).with(over)?.experiment()?;
    let found = rows.iter().position(|row| row.experiment == other);
    found.ok_or_else(|| Fault::new(part.at.clone(), format!("{label}: there is no such other row")))
}

fn words(settings: &[Setting]) -> String {
    let word = |setting: &Setting| format!("{}={}", setting.key, setting.value);
    settings.iter().map(word).collect::<Vec<_>>().join(" ").replace('"', "")
}

/// The figure or the range that a cell expects, if it says so.
fn expected(part: &Part) -> Parsed<Option<Expected>> {
    let given = |key| part.table.get(key).map(number).transpose();
    let range = part.table.get("between").map(two_numbers).transpose()?;
    let (figure, most, least) = (given("expected")?, given("at_most")?, given("at_least")?);
    match (figure, range, most, least) {
        (None, None, None, None) => Ok(None),
        (Some(figure), None, None, None) => Ok(Some(Expected::Figure(figure))),
        (None, Some((low, high)), None, None) => Ok(Some(Expected::Between(low, high))),
        (None, None, Some(high), None) => Ok(Some(Expected::Between(f64::NEG_INFINITY, high))),
        (None, None, None, Some(low)) => Ok(Some(Expected::Between(low, f64::INFINITY))),
        _ => {
            let what = "a cell has one of `expected`, `between`, `at_most` and `at_least`";
            Err(Fault::new(part.at.clone(), what))
        }
    }
}

fn number(value: &Spanned<DeValue>) -> Parsed<f64> {
    let number = scalar(value)?.as_f64();
    number.ok_or_else(|| Fault::new(value.span(), "what is expected is not a number"))
}

fn two_numbers(value: &Spanned<DeValue>) -> Parsed<(f64, f64)> {
    let ends = value.get_ref().as_array().map(|ends| ends.iter().map(number));
    let ends = ends.into_iter().flatten().collect::<Parsed<Vec<f64>>>()?;
    match ends[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(Fault::new(value.span(), "`between` takes two numbers, the lower one first")),
    }
}
