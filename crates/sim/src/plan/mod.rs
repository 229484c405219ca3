//! A plan: many experiments in one TOML file, and the results that are expected of them.
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
//! [quick]                               # smaller values for `--scale quick`
//! trace.writes = "40K"
//!
//! [quick.instead]                       # replacements in its rows: see `quick_scale`
//! "desktop.txt.zst" = "desktop:writes=40K"
//!
//! [[claim]]                             # expected results: see `claim`
//! [[drawing]]                           # figures: see `drawing`
//! ```
//! A row takes its options from the base, then from `quick`, then from its grid or list; whole
//! options are set before keys inside them. The whole plan is checked before anything runs, and a
//! mistake is reported with its line and column.
//!
//! Several figures of a paper may need the same runs. Their plans name the plans that have these
//! runs, instead of a base and grids, and take only the rows that their claims and drawings need:
//!
//! ```toml
//! runs = ["runs/SL-tpcc.toml", "runs/SL-general.toml"]
//! ```
//!
//! * [`row`]           one run
//! * [`claim`]         expected results
//! * [`drawing`]       figures
//! * [`quantity`]      the quantity that a claim or drawing looks at
//! * [`drawn_traces`]  the traces of drawings
//! * `document`        reading TOML
//! * `assignment`      an option and its value
//! * `axis`            the values of a grid or list
//! * `rows`            the rows of a plan or of the plans that it names
//! * `quick_scale`     replacements under `--scale quick`
//! * `row_selection`   the rows of a claim or drawing

mod assignment;
mod axis;
pub mod claim;
mod document;
pub mod drawing;
pub mod drawn_traces;
pub mod quantity;
mod quick_scale;
pub mod row;
mod row_selection;
mod rows;

pub use crate::plan::row::{ReadOther, Row, Scale};

use std::collections::BTreeSet;
use std::path::Path;

use crate::config::experiment::Experiment;
use crate::error::{Error, Result};
use crate::plan::claim::Claim;
use crate::plan::document::{
    Fault, OrFault, TablePart, document, position, refuse_unknown, tables, text_of,
};
use crate::plan::drawing::Drawing;
use crate::plan::rows::{PARTS, Runs};

/// The runs of a sweep, with claims and drawings.
#[derive(Debug, Default)]
pub struct Plan {
    /// The title.
    pub title: String,
    /// The runs, in order.
    pub rows: Vec<Row>,
    /// The expected results.
    pub claims: Vec<Claim>,
    /// The figures.
    pub drawings: Vec<Drawing>,
    /// Sentences on the volumes that conditions chose; none before there is a row for each.
    pub choices: Vec<String>,
}

impl Plan {
    /// Reads a plan that takes no runs from other plans; errors call it `name`.
    ///
    /// # Errors
    /// The first mistake, with its line and column.
    pub fn parse(name: &str, text: &str, scale: Scale) -> Result<Plan> {
        let other = |_: &str| Err("there is no other plan here".to_owned());
        Plan::parse_beside(name, text, scale, &other)
    }

    /// Reads a plan that may take its runs from other plans.
    ///
    /// # Errors
    /// The first mistake, with its line and column.
    pub fn parse_beside(name: &str, text: &str, scale: Scale, read: ReadOther) -> Result<Plan> {
        parse(text, scale, read).map_err(|fault| {
            let (line, column) = position(text, fault.at.start);
            Error::Plan { name: name.to_owned(), line, column, what: fault.what }
        })
    }

    /// The rows of several plans as one plan, each row only once, without claims and drawings; and,
    /// for each of the plans, the numbers of its rows in that plan.
    pub fn union<'a>(plans: impl IntoIterator<Item = &'a Plan>) -> (Plan, Vec<Vec<usize>>) {
        let mut rows: Vec<Row> = Vec::new();
        let mut number = |row: &Row| {
            let found = rows.iter().position(|other| other.experiment == row.experiment);
            found.unwrap_or_else(|| {
                rows.push(row.clone());
                rows.len() - 1
            })
        };
        let numbers = plans.into_iter().map(|plan| plan.rows.iter().map(&mut number).collect());
        let numbers = numbers.collect();
        (Plan { rows, ..Plan::default() }, numbers)
    }

    /// The experiments of all rows, and those of the traces that are drawn.
    pub fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        let drawn = self.drawings.iter().flat_map(|drawing| &drawing.traces);
        let rows = self.rows.iter().map(|row| &row.experiment);
        rows.chain(drawn.map(|trace| &trace.experiment))
    }

    /// The same plan with its trace files in `directory`, except those with absolute paths.
    pub fn with_traces_in(mut self, directory: &Path) -> Plan {
        let rows = self.rows.iter_mut().map(|row| &mut row.experiment);
        let traces = self.drawings.iter_mut().flat_map(|drawing| &mut drawing.traces);
        for experiment in rows.chain(traces.map(|drawn| &mut drawn.experiment)) {
            let files: Vec<String> =
                experiment.trace_files().into_iter().map(str::to_owned).collect();
            let loads = experiment.load.iter_mut().map(|load| &mut load.trace);
            for trace in loads.chain(&mut experiment.trace) {
                if files.contains(trace) {
                    *trace = directory.join(&*trace).to_string_lossy().into_owned();
                }
            }
        }
        self
    }
}

fn parse(text: &str, scale: Scale, read: ReadOther) -> OrFault<Plan> {
    let document = document(text)?;
    let table = document.get_ref();
    refuse_unknown(table, "a plan", PARTS)?;
    let (runs, keeps_all) = match table.get("runs") {
        None => (Runs::parse(table, scale)?, true),
        Some(names) => (Runs::of_others(table, names, scale, read)?, false),
    };
    // Claims and drawings select rows by what is written, at either scale.
    let candidates = runs.written();
    let (claims, drawings) = (tables(table, "claim")?, tables(table, "drawing")?);
    if candidates.iter().any(|row| row.experiment.each_volume) {
        refuse_selections(&claims, &drawings)?;
    }
    let claims = claims.iter().map(|part| claim::parse(part, candidates));
    let drawings = drawings.iter().map(|part| drawing::parse(part, candidates));
    let mut plan = Plan {
        title: text_of(table, "title")?.unwrap_or_default(),
        claims: claims.collect::<OrFault<_>>()?,
        drawings: drawings.collect::<OrFault<_>>()?,
        ..Plan::default()
    };
    plan.claims.iter_mut().for_each(|claim| claim.relabel(|row, label| runs.label(row, label)));
    for drawing in &mut plan.drawings {
        drawing.relabel(|row, label| runs.label(row, label));
    }
    plan.rows = runs.rows();
    plan.drawings.iter_mut().for_each(|drawing| drawing.take_traces(&plan.rows));
    if !keeps_all {
        plan.drop_unused_rows();
    }
    Ok(plan)
}

/// Claims and drawings select rows, and the volumes of a trace are not known yet.
fn refuse_selections(claims: &[TablePart], drawings: &[TablePart]) -> OrFault<()> {
    let why = "a plan with `each_volume` has no claims and drawings: they select rows, and the \
               volumes are known only when the trace has been read; the report draws what the \
               volumes have in common";
    let first = claims.iter().chain(drawings).min_by_key(|part| part.at.start);
    first.map_or(Ok(()), |part| Err(Fault::new(part.at.clone(), why)))
}

impl Plan {
    /// Drops the rows that no claim and no drawing needs.
    fn drop_unused_rows(&mut self) {
        let claimed = self.claims.iter().flat_map(Claim::rows);
        let drawn = self.drawings.iter().flat_map(Drawing::rows);
        let kept: BTreeSet<usize> = claimed.chain(drawn).collect();
        let kept: Vec<usize> = kept.into_iter().collect();
        let number = |row: usize| kept.binary_search(&row).expect("the row is kept");
        self.claims.iter_mut().for_each(|claim| claim.renumber(number));
        self.drawings.iter_mut().for_each(|drawing| drawing.renumber(number));
        self.rows = kept.iter().map(|&row| self.rows[row].clone()).collect();
    }
}

#[cfg(test)]
mod tests;
