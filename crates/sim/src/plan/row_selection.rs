//! The rows that a claim or a drawing selects.
//!
//! ```toml
//! { extra = "7%", ftl.victim = "fifo" }                # the rows with these options
//! { ftl = "faster", over = { ftl = "fast" } }          # each divided by the row with `over` set
//! ```
//! A claim or drawing may give options that all of its rows have once, as `where`. With `over`, the
//! value of each selected row is divided by the value of another row: the one that has the options
//! in `over` and is the same in everything else.

use core::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::experiment::{Experiment, options};
use crate::plan::assignment::{
    Assignment, Condition, assigned, assignments, entries, with_keys_of,
};
use crate::plan::document::{Fault, OrFault, TablePart, unknown_key};
use crate::plan::quantity::ratio;
use crate::plan::row::Row;

/// The rows from which a cell of a claim or drawing takes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CellRows {
    /// The row.
    pub row: usize,
    /// The row by whose value it is divided.
    pub over: Option<usize>,
}

impl CellRows {
    /// All rows that it needs.
    pub fn rows(self) -> impl Iterator<Item = usize> {
        [Some(self.row), self.over].into_iter().flatten()
    }

    /// The value of the cell; infinite if a nonzero value is divided by 0, none if 0 is.
    pub fn value(self, quantity: &impl Fn(usize) -> Option<f64>) -> Option<f64> {
        match self.over {
            None => quantity(self.row),
            Some(over) => ratio(quantity(self.row)?, quantity(over)?),
        }
    }

    /// The same cell after its rows were renumbered.
    pub fn renumbered(self, number: &impl Fn(usize) -> usize) -> CellRows {
        CellRows { row: number(self.row), over: self.over.map(number) }
    }
}

/// Rows selected by their options.
#[derive(Debug)]
pub(super) struct RowSelection {
    /// The options by which they are selected, without those that all rows have.
    pub label: String,
    /// The rows; there is at least one.
    pub cells: Vec<CellRows>,
    /// The place of the selection in the plan.
    pub at: Range<usize>,
}

impl RowSelection {
    /// Reads a table of options; the selected rows also have the `common` ones. Keys in `except`
    /// are no options.
    pub fn parse(
        part: &TablePart,
        common: &[Assignment],
        candidates: &[Row],
        except: &[&str],
    ) -> OrFault<RowSelection> {
        let (mut selected_by, mut over) = (common.to_vec(), None);
        for (name, at, value) in entries(part.table) {
            match name.as_str() {
                name if except.contains(&name) => {}
                "over" => over = Some(table_of_options(value, "over")?),
                _ => {
                    refuse_unknown_option(&name, &at, except)?;
                    selected_by.push(Assignment::new(&name, at, value)?);
                }
            }
        }
        let over_text = over.as_ref().map(|over| format!(" over {}", as_written(over)));
        let named = |by| format!("{}{}", as_written(by), over_text.as_deref().unwrap_or(""));
        let (label, whole) = (named(&selected_by[common.len()..]), named(&selected_by));
        let conditions = selected_by.iter().map(Condition::of).collect::<OrFault<Vec<_>>>()?;
        let meets = |row: &Row| conditions.iter().all(|it| it.holds(row));
        let selected = (0..candidates.len()).filter(|&row| meets(&candidates[row]));
        let cell = |row: usize| {
            let divisor = |over| divisor(row, over, candidates, &whole, part);
            Ok(CellRows { row, over: over.as_deref().map(divisor).transpose()? })
        };
        let cells: Vec<CellRows> = selected.map(cell).collect::<OrFault<_>>()?;
        match cells.is_empty() {
            true => Err(Fault::new(part.at.clone(), format!("no row has {whole}"))),
            false => Ok(RowSelection { label, cells, at: part.at.clone() }),
        }
    }

    /// Each cell with its label: the label of the selection, and the options in which the cell
    /// differs from the other ones.
    pub fn labelled(&self, candidates: &[Row]) -> impl Iterator<Item = (String, CellRows)> {
        let label = |cell| format!("{}{}", self.label, self.differences(cell, candidates));
        self.cells.iter().map(move |&cell| (label(cell).trim_start().to_owned(), cell))
    }

    fn differences(&self, cell: CellRows, rows: &[Row]) -> String {
        let value = |cell: &CellRows, key: &str| rows[cell.row].varied.get(key).cloned();
        let differs = |key: &str| self.cells.iter().any(|one| value(one, key) != value(&cell, key));
        let text = |(key, value): (&String, &Value)| format!(" {key}={value}").replace('"', "");
        let varied = rows[cell.row].varied.iter();
        varied.filter(|(key, _)| differs(key)).map(text).collect()
    }
}

/// Refuses a name that is neither that of an option nor one of `keys`, which may stand beside them.
fn refuse_unknown_option(name: &str, at: &Range<usize>, keys: &[&str]) -> OrFault<()> {
    let option = name.split('.').next().unwrap_or(name);
    let options = options().iter().map(|option| option.name);
    let known: Vec<&str> = keys.iter().copied().chain(["over"]).chain(options).collect();
    match known.contains(&option) {
        true => Ok(()),
        false => Err(Fault::new(at.clone(), unknown_key("a selection of rows", option, &known))),
    }
}

/// The options that `where` gives to all rows of a claim or drawing.
pub(super) fn common(table: &DeTable) -> OrFault<Vec<Assignment>> {
    match table.get("where") {
        None => Ok(Vec::new()),
        Some(value) => table_of_options(value, "where"),
    }
}

fn table_of_options(value: &Spanned<DeValue>, name: &str) -> OrFault<Vec<Assignment>> {
    match value.get_ref().as_table() {
        Some(table) => assignments(table),
        None => Err(Fault::new(value.span(), format!("`{name}` is a table of options"))),
    }
}

/// The row that differs from this one only in the options of `over`. If none does, keys inside
/// these options that grids and lists set by themselves stay as they are.
fn divisor(
    row: usize,
    over: &[Assignment],
    candidates: &[Row],
    label: &str,
    part: &TablePart,
) -> OrFault<usize> {
    let row = &candidates[row];
    let find = |other: Experiment| candidates.iter().position(|row| row.experiment == other);
    let exact = find(assigned(&row.experiment, over)?);
    let with_keys = || find(assigned(&row.experiment, &with_keys_of(row, over)).ok()?);
    exact
        .or_else(with_keys)
        .ok_or_else(|| Fault::new(part.at.clone(), format!("{label}: there is no such other row")))
}

/// Assignments as users write them.
pub(super) fn as_written(assignments: &[Assignment]) -> String {
    let text = |assignment: &Assignment| format!("{}={}", assignment.key, assignment.value);
    assignments.iter().map(text).collect::<Vec<_>>().join(" ").replace('"', "")
}
