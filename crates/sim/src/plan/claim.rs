//! Claims: the results that are expected of the rows of a plan.
//!
//! ```toml
//! [[claim]]
//! id = "T1"
//! says = "greedy meets its mean-field limit"
//! source = "where the figures come from"
//! figure = "write_amplification"        # the quantity: see `quantity`
//! within = "1%"                         # tolerance; exact if not given
//! where = { ftl = "page" }              # options that all rows below have
//! any = true                            # one row is enough ("up to"); else all must hold
//! rows = [                              # the rows, and their expected values
//!     { extra = "7%", expected = 5.328 },
//!     { extra = "50%", between = [1.5, 1.7] },       # or at_most = 1.7, at_least = 1.5
//! ]
//!
//! [[claim]]
//! id = "T3"
//! says = "more choices help"
//! figure = "write_amplification"
//! within = "0.1%"                       # tolerated noise
//! falling = [{ ftl.d = 2 }, { ftl.d = 4 }]   # or rising; each selects one row
//!
//! [[claim]]
//! id = "FSTR-2"
//! says = "faster takes 65 to 70 % of fast's time"
//! figure = "time_us.total"
//! rows = [{ ftl = "faster", over = { ftl = "fast" }, between = [0.65, 0.70] }]
//! ```
//! Rows are selected as `row_selection` describes.

use spec::Share;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::plan::assignment::Assignment;
use crate::plan::document::{
    Fault, OrFault, TablePart, refuse_unknown, scalar, table_list, text_needed, text_of,
};
use crate::plan::quantity::{Quantity, ratio};
use crate::plan::row::Row;
use crate::plan::row_selection::{CellRows, RowSelection, as_written, common};

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

/// An expected result.
#[derive(Debug)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// The claim as a sentence.
    pub says: String,
    /// Where it comes from.
    pub source: String,
    /// The quantity that it looks at.
    pub figure: Quantity,
    /// The options that all its rows have, as they are written.
    pub common: String,
    /// The tolerance, as a share of the expected value.
    pub within: f64,
    /// Whether one cell that holds is enough. This is how "up to" is claimed.
    pub is_of_any: bool,
    expectations: Vec<Expectation>,
}

/// A cell of a claim: rows and their expected value.
#[derive(Debug)]
struct Expectation {
    /// The label of its row.
    label: String,
    cell: CellRows,
    of: Wanted<CellRows>,
}

/// The wanted value of a cell. `T` is the other value with which an ordered list compares it, or
/// the cell that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted<T = Option<f64>> {
    /// About this value.
    About(f64),
    /// Within this range; an end may be infinite.
    Between(f64, f64),
    /// Less than another value, if that exists.
    Below(T),
    /// More than another value, if that exists.
    Above(T),
}

impl<T> Wanted<T> {
    fn map<U>(self, other: impl Fn(T) -> U) -> Wanted<U> {
        match self {
            Wanted::About(figure) => Wanted::About(figure),
            Wanted::Between(low, high) => Wanted::Between(low, high),
            Wanted::Below(of) => Wanted::Below(other(of)),
            Wanted::Above(of) => Wanted::Above(other(of)),
        }
    }
}

/// Whether a cell, or a whole claim, holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is as claimed.
    Holds,
    /// It is not as claimed.
    FallsShort,
    /// There is no value: a run failed, or 0 is divided by 0.
    Undecided,
}

impl Judgement {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Judgement::Holds => "holds",
            Judgement::FallsShort => "falls short",
            Judgement::Undecided => "undecided",
        }
    }

    /// The judgement of a whole: it holds if all parts hold; undecided parts do not count.
    pub fn of_all(parts: impl IntoIterator<Item = Judgement>) -> Judgement {
        parts.into_iter().fold(Judgement::Undecided, |all, part| match (all, part) {
            (Judgement::FallsShort, _) | (_, Judgement::Undecided) => all,
            (_, part) => part,
        })
    }
}

/// The value that was found in a cell, and its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The label of its row.
    pub label: String,
    /// The number of the row, from 0.
    pub row: usize,
    /// The row by whose value it is divided.
    pub over: Option<usize>,
    /// The wanted value.
    pub wanted: Wanted,
    /// The value found; none if a row failed or has no such value.
    pub found: Option<f64>,
    /// Whether the cell holds.
    pub judgement: Judgement,
}

impl Verdict {
    /// The relative deviation of the value from the wanted one. It is 0 inside a range and counts
    /// from the nearest end outside. None if the wanted value is 0 and the found one is not.
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
    /// The rows that it needs.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.expectations.iter().flat_map(|cell| {
            let other = match cell.of {
                Wanted::Below(other) | Wanted::Above(other) => Some(other),
                Wanted::About(_) | Wanted::Between(..) => None,
            };
            cell.cell.rows().chain(other.into_iter().flat_map(CellRows::rows))
        })
    }

    /// Replaces the labels of its cells; `name` is given the row and the label.
    pub(super) fn relabel(&mut self, name: impl Fn(usize, &str) -> String) {
        if let Some(first) = self.expectations.first() {
            self.common = name(first.cell.row, &self.common);
        }
        for cell in &mut self.expectations {
            cell.label = name(cell.cell.row, &cell.label);
        }
    }

    /// Renumbers its rows.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        for cell in &mut self.expectations {
            cell.cell = cell.cell.renumbered(&number);
            cell.of = cell.of.map(|other| other.renumbered(&number));
        }
    }

    /// Whether it has a cell that divides the value of one row by that of another.
    pub fn is_relative(&self) -> bool {
        self.expectations.iter().any(|cell| cell.cell.over.is_some())
    }

    /// The judgement of the claim, given its judged cells.
    pub fn judgement(&self, cells: &[Verdict]) -> Judgement {
        let judgements = || cells.iter().map(|cell| cell.judgement);
        match self.is_of_any && judgements().any(|judgement| judgement == Judgement::Holds) {
            true => Judgement::Holds,
            false => Judgement::of_all(judgements()),
        }
    }

    /// Judges every cell, given the value of each row.
    pub fn judge(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<Verdict> {
        let verdict = |cell: &Expectation| {
            let found = cell.cell.value(&figure);
            let wanted = cell.of.map(|other| other.value(&figure));
            let judgement = found.map_or(Judgement::Undecided, |found| self.of_cell(found, wanted));
            let (label, CellRows { row, over }) = (cell.label.clone(), cell.cell);
            Verdict { label, row, over, wanted, found, judgement }
        };
        self.expectations.iter().map(verdict).collect()
    }

    fn of_cell(&self, found: f64, wanted: Wanted) -> Judgement {
        let slack = |expected: f64| expected.abs() * self.within;
        let holds = match wanted {
            Wanted::About(expected) => (found - expected).abs() <= slack(expected),
            Wanted::Between(low, high) => low <= found && found <= high,
            Wanted::Below(Some(expected)) => found < expected + slack(expected),
            Wanted::Above(Some(expected)) => found > expected - slack(expected),
            Wanted::Below(None) | Wanted::Above(None) => return Judgement::Undecided,
        };
        if holds { Judgement::Holds } else { Judgement::FallsShort }
    }
}

/// Reads a claim about these rows.
pub(super) fn parse(part: &TablePart, candidates: &[Row]) -> OrFault<Claim> {
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

fn is_of_any(table: &DeTable) -> OrFault<bool> {
    match table.get("any").map(|value| (value.get_ref(), value.span())) {
        None => Ok(false),
        Some((DeValue::Boolean(any), _)) => Ok(*any),
        Some((_, at)) => Err(Fault::new(at, "`any` is true or false")),
    }
}

fn within(table: &DeTable) -> OrFault<f64> {
    let (Some(text), Some(value)) = (text_of(table, "within")?, table.get("within")) else {
        return Ok(0.0);
    };
    let share = Share::parse(&text).map_err(|why| Fault::new(value.span(), why.to_string()))?;
    Ok(share.as_f64())
}

fn expectations(part: &TablePart, candidates: &[Row]) -> OrFault<Vec<Expectation>> {
    let kinds = ["rows", "falling", "rising"];
    let given: Vec<_> =
        kinds.iter().filter_map(|&kind| Some((kind, part.table.get(kind)?))).collect();
    let [(kind, value)] = given[..] else {
        let what = "a claim has one of `rows`, `falling` and `rising`";
        return Err(Fault::new(part.at.clone(), what));
    };
    let tables = table_list(value, || format!("`{kind}` is not a list of tables"))?;
    let common = common(part.table)?;
    let cell = |part| ClaimCell::parse(part, &common, candidates);
    let cells: Vec<ClaimCell> = tables.iter().map(cell).collect::<OrFault<_>>()?;
    match kind {
        "rows" => of_figures(cells, candidates),
        _ => of_order(cells, kind == "falling"),
    }
}

fn of_figures(cells: Vec<ClaimCell>, candidates: &[Row]) -> OrFault<Vec<Expectation>> {
    let mut expectations = Vec::new();
    for cell in cells {
        let Some(of) = cell.expected else {
            return Err(Fault::new(
                cell.selection.at,
                "the expected value is missing; give `expected`, `between` or a bound",
            ));
        };
        let expectation = |(label, cell)| Expectation { label, cell, of };
        expectations.extend(cell.selection.labelled(candidates).map(expectation));
    }
    Ok(expectations)
}

/// Compares each row with the previous one.
fn of_order(cells: Vec<ClaimCell>, falling: bool) -> OrFault<Vec<Expectation>> {
    for cell in &cells {
        let RowSelection { label, cells, at } = &cell.selection;
        if cells.len() > 1 || cell.expected.is_some() {
            let what = format!(
                "{label} names {} rows; an ordered list takes one row each, without a value",
                cells.len()
            );
            return Err(Fault::new(at.clone(), what));
        }
    }
    let pair = |pair: &[ClaimCell]| {
        let [before, this] = [0, 1].map(|at| pair[at].selection.cells[0]);
        let of = if falling { Wanted::Below(before) } else { Wanted::Above(before) };
        Expectation { label: pair[1].selection.label.clone(), cell: this, of }
    };
    Ok(cells.windows(2).map(pair).collect())
}

/// The rows of a claim with their expected value.
struct ClaimCell {
    selection: RowSelection,
    expected: Option<Wanted<CellRows>>,
}

impl ClaimCell {
    fn parse(part: &TablePart, common: &[Assignment], candidates: &[Row]) -> OrFault<ClaimCell> {
        let expectations = ["expected", "between", "at_most", "at_least"];
        let selection = RowSelection::parse(part, common, candidates, &expectations)?;
        Ok(ClaimCell { selection, expected: expected(part)? })
    }
}

/// The value or range that a cell expects, if one is given.
fn expected(part: &TablePart) -> OrFault<Option<Wanted<CellRows>>> {
    let given = |key| part.table.get(key).map(number).transpose();
    let range = part.table.get("between").map(two_numbers).transpose()?;
    let (figure, most, least) = (given("expected")?, given("at_most")?, given("at_least")?);
    match (figure, range, most, least) {
        (None, None, None, None) => Ok(None),
        (Some(figure), None, None, None) => Ok(Some(Wanted::About(figure))),
        (None, Some((low, high)), None, None) => Ok(Some(Wanted::Between(low, high))),
        (None, None, Some(high), None) => Ok(Some(Wanted::Between(f64::NEG_INFINITY, high))),
        (None, None, None, Some(low)) => Ok(Some(Wanted::Between(low, f64::INFINITY))),
        _ => {
            let what = "a cell has one of `expected`, `between`, `at_most` and `at_least`";
            Err(Fault::new(part.at.clone(), what))
        }
    }
}

fn number(value: &Spanned<DeValue>) -> OrFault<f64> {
    let number = scalar(value)?.as_f64();
    number.ok_or_else(|| Fault::new(value.span(), "the expected value is not a number"))
}

fn two_numbers(value: &Spanned<DeValue>) -> OrFault<(f64, f64)> {
    let ends = value.get_ref().as_array().map(|ends| ends.iter().map(number));
    let ends = ends.into_iter().flatten().collect::<OrFault<Vec<f64>>>()?;
    match ends[..] {
        [low, high] if low <= high => Ok((low, high)),
        _ => Err(Fault::new(value.span(), "`between` takes two numbers, the lower one first")),
    }
}
