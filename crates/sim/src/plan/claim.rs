//! What the rows of a plan are expected to show.
//!
//! ```toml
//! [[claim]]
//! id = "T1"
//! says = "greedy meets its mean-field limit"
//! source = "where the figures come from"
//! figure = "write_amplification"        # what is looked at: see `figure`
//! within = "1%"                         # of the expected figure; exact if not given
//! where = { ftl = "page" }              # what all rows below have, if anything
//! any = true                            # one of the rows will do: "up to"; else all must
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
//! How rows are chosen: see `chosen`.

use core::fmt;

use spec::Share;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::plan::assignment::Assignment;
use crate::plan::document::{
    Fault, Parsed, TablePart, refuse_unknown, scalar, text_needed, text_of,
};
use crate::plan::quantity::{Quantity, ratio};
use crate::plan::row_selection::{Candidates, CellRows, RowSelection, as_written, common};

const KEYS: &[&str] = &[
    "id",
    "says",
    "source",
    "figure",
    "per",
    "statistic",
    "within",
    "any",
    "where",
    "rows",
    "falling",
    "rising",
];

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
    pub figure: Quantity,
    /// What all its rows have, in words.
    pub common: String,
    /// How far it may be off, of the expected figure.
    pub within: f64,
    /// Whether one cell that is as expected will do: what is claimed as "up to".
    pub is_of_any: bool,
    expectations: Vec<Expectation>,
}

/// One cell of a claim.
#[derive(Debug)]
struct Expectation {
    /// Which row, in words.
    label: String,
    cell: CellRows,
    of: Expected,
}

#[derive(Clone, Copy, Debug)]
enum Expected {
    /// About so much.
    Figure(f64),
    /// From so much to so much.
    Between(f64, f64),
    /// Less than that cell.
    Below(CellRows),
    /// More than that cell.
    Above(CellRows),
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

    /// What becomes of the whole: parts that say nothing leave it to the others.
    pub fn of_all(parts: impl IntoIterator<Item = Outcome>) -> Outcome {
        parts.into_iter().fold(Outcome::Undecided, |all, part| match (all, part) {
            (Outcome::FallsShort, _) | (_, Outcome::Undecided) => all,
            (_, part) => part,
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
    /// The row over whose figure it is taken.
    pub over: Option<usize>,
    /// What is expected.
    pub wanted: Wanted,
    /// What was found; none if a row failed or has no such figure.
    pub found: Option<f64>,
    /// What becomes of it.
    pub outcome: Outcome,
}

impl Verdict {
    /// How far the found figure is off what is expected, as a part of that: 0 inside a range, else
    /// from its nearest end; none if that is nothing and the figure is not.
    pub fn deviation(&self) -> Option<f64> {
        let found = self.found?;
        let expected = match self.wanted {
            Wanted::About(figure) => figure,
            Wanted::Between(low, high) => found.clamp(low, high),
            Wanted::Below(figure) | Wanted::Above(figure) => figure?,
        };
        match ratio(found, expected) {
            None => Some(0.0),
            Some(ratio) => Some(ratio - 1.0).filter(|off| off.is_finite()),
        }
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
            cell.cell.rows().chain(other.into_iter().flat_map(CellRows::rows))
        })
    }

    /// Names its cells anew, by row.
    pub(super) fn relabel(&mut self, name: impl Fn(usize, &str) -> String) {
        if let Some(first) = self.expectations.first() {
            self.common = name(first.cell.row, &self.common);
        }
        for cell in &mut self.expectations {
            cell.label = name(cell.cell.row, &cell.label);
        }
    }

    /// Numbers its rows anew.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        for cell in &mut self.expectations {
            cell.cell = cell.cell.renumbered(&number);
            cell.of = match cell.of {
                Expected::Below(other) => Expected::Below(other.renumbered(&number)),
                Expected::Above(other) => Expected::Above(other.renumbered(&number)),
                of => of,
            };
        }
    }

    /// Whether its cells are about one row's figure over another's.
    pub fn is_relative(&self) -> bool {
        self.expectations.iter().any(|cell| cell.cell.over.is_some())
    }

    /// What becomes of it, given what was found in its cells.
    pub fn outcome(&self, cells: &[Verdict]) -> Outcome {
        let outcomes = || cells.iter().map(|cell| cell.outcome);
        match self.is_of_any && outcomes().any(|outcome| outcome == Outcome::Holds) {
            true => Outcome::Holds,
            false => Outcome::of_all(outcomes()),
        }
    }

    /// Judges every cell, given the figure of each row.
    pub fn judge(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<Verdict> {
        let verdict = |cell: &Expectation| {
            let found = cell.cell.value(&figure);
            let wanted = match cell.of {
                Expected::Figure(expected) => Wanted::About(expected),
                Expected::Between(low, high) => Wanted::Between(low, high),
                Expected::Below(other) => Wanted::Below(other.value(&figure)),
                Expected::Above(other) => Wanted::Above(other.value(&figure)),
            };
            let outcome = found.map_or(Outcome::Undecided, |found| self.of_cell(found, wanted));
            let (label, CellRows { row, over }) = (cell.label.clone(), cell.cell);
            Verdict { label, row, over, wanted, found, outcome }
        };
        self.expectations.iter().map(verdict).collect()
    }

    fn of_cell(&self, found: f64, wanted: Wanted) -> Outcome {
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
pub(super) fn parse(part: &TablePart, candidates: &Candidates) -> Parsed<Claim> {
    let table = part.table;
    refuse_unknown(table, "a claim", KEYS)?;
    Ok(Claim {
        id: text_needed(part, "claim", "id")?,
        says: text_needed(part, "claim", "says")?,
        source: text_of(table, "source")?.unwrap_or_default(),
        figure: Quantity::parse(part, "claim")?,
        common: as_written(&common(table)?),
        within: within(table)?,
        is_of_any: is_of_any(table)?,
        expectations: expectations(part, candidates)?,
    })
}

fn is_of_any(table: &DeTable) -> Parsed<bool> {
    match table.get("any").map(|value| (value.get_ref(), value.span())) {
        None => Ok(false),
        Some((DeValue::Boolean(any), _)) => Ok(*any),
        Some((_, at)) => Err(Fault::new(at, "`any` is true or false")),
    }
}

fn within(table: &DeTable) -> Parsed<f64> {
    let (Some(text), Some(value)) = (text_of(table, "within")?, table.get("within")) else {
        return Ok(0.0);
    };
    let share = Share::parse(&text).map_err(|why| Fault::new(value.span(), why.to_string()))?;
    Ok(share.as_f64())
}

fn expectations(part: &TablePart, candidates: &Candidates) -> Parsed<Vec<Expectation>> {
    let kinds = ["rows", "falling", "rising"];
    let given: Vec<_> =
        kinds.iter().filter_map(|&kind| Some((kind, part.table.get(kind)?))).collect();
    let [(kind, value)] = given[..] else {
        let what = "a claim has one of `rows`, `falling` and `rising`";
        return Err(Fault::new(part.at.clone(), what));
    };
    let not_tables = || Fault::new(value.span(), format!("`{kind}` is not a list of tables"));
    let array = value.get_ref().as_array().ok_or_else(not_tables)?;
    let common = common(part.table)?;
    let table = |value: &Spanned<DeValue>| {
        let table = value.get_ref().as_table().ok_or_else(not_tables)?;
        Cell::parse(&TablePart { table, at: value.span() }, &common, candidates)
    };
    let cells: Vec<Cell> = array.iter().map(table).collect::<Parsed<_>>()?;
    match kind {
        "rows" => of_figures(cells, candidates),
        _ => of_order(cells, kind == "falling"),
    }
}

fn of_figures(cells: Vec<Cell>, candidates: &Candidates) -> Parsed<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for cell in cells {
        let Some(of) = cell.expected else {
            return Err(Fault::new(cell.selection.at, "it is not said what is `expected`"));
        };
        let expectation = |(label, cell)| Expectation { label, cell, of };
        expectations.extend(cell.selection.labelled(candidates).map(expectation));
    }
    Ok(expectations)
}

/// Each row against the one before.
fn of_order(cells: Vec<Cell>, falling: bool) -> Parsed<Vec<Expectation>> {
    for cell in &cells {
        let RowSelection { label, cells, at } = &cell.selection;
        if cells.len() > 1 || cell.expected.is_some() {
            let what = format!(
                "{label} names {} rows; in an order each names one, and expects no figure",
                cells.len()
            );
            return Err(Fault::new(at.clone(), what));
        }
    }
    let pair = |pair: &[Cell]| {
        let [before, this] = [0, 1].map(|at| pair[at].selection.cells[0]);
        let of = if falling { Expected::Below(before) } else { Expected::Above(before) };
        Expectation { label: pair[1].selection.label.clone(), cell: this, of }
    };
    Ok(cells.windows(2).map(pair).collect())
}

/// Rows that a claim speaks of, and what it expects of them.
struct Cell {
    selection: RowSelection,
    expected: Option<Expected>,
}

impl Cell {
    fn parse(part: &TablePart, common: &[Assignment], candidates: &Candidates) -> Parsed<Cell> {
        let expectations = ["expected", "between", "at_most", "at_least"];
        let selection = RowSelection::parse(part, common, candidates, &expectations)?;
        Ok(Cell { selection, expected: expected(part)? })
    }
}

/// The figure or the range that a cell expects, if it says so.
fn expected(part: &TablePart) -> Parsed<Option<Expected>> {
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
