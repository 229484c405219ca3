//! The rows of a plan: those that its base, grids and lists make, or those of the plans it names.

use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::plan::assignment::{Assignment, assigned, assignments_except, overridden};
use crate::plan::axis;
use crate::plan::document::{
    Fault, OrFault, TablePart, as_table, document, position, refuse_unknown, tables,
};
use crate::plan::quick_scale::{self, QuickReplacements};
use crate::plan::row::{ROWS_MAX, ReadOther, Row, Scale};

/// The keys of a plan.
pub(super) const PARTS: &[&str] =
    &["title", "runs", "base", "quick", "grid", "list", "claim", "drawing"];

/// Rows as they are written, and as they are run.
#[derive(Debug, Default)]
pub(super) struct Runs {
    written: Vec<Row>,
    /// The rows at the scale of the sweep.
    run: Vec<Row>,
    /// For each row, the index of its replacements in the list below.
    replaced_by: Vec<usize>,
    replacements: Vec<QuickReplacements>,
    is_quick: bool,
}

impl Runs {
    /// The rows as they are written; claims and drawings select these.
    pub fn written(&self) -> &[Row] {
        &self.written
    }

    /// The label of a row at this scale, given the label as it is written.
    pub fn label(&self, row: usize, written: &str) -> String {
        match self.is_quick {
            true => self.replacements[self.replaced_by[row]].apply(written),
            false => written.to_owned(),
        }
    }

    /// The rows at this scale.
    pub fn rows(self) -> Vec<Row> {
        self.run
    }

    /// The rows that a plan makes itself.
    pub fn parse(table: &DeTable, scale: Scale) -> OrFault<Runs> {
        let ((base, given), replacements) = (base(table, scale)?, replacements(table)?);
        let (mut written, mut quick) = (Vec::new(), Vec::new());
        for (is_grid, part) in sets(table)? {
            let axes = axis::axes(&part)?;
            let combinations = match is_grid {
                true => axis::product(&axes),
                false => axis::side_by_side(&axes),
            }?;
            refuse_too_many(&part, written.len(), combinations.len())?;
            for combination in &combinations {
                let own: Vec<Assignment> = combination.iter().copied().cloned().collect();
                written.push(row(&base, &given, &own)?);
                quick.push(row(&base, &given, &replacements.replaced(combination))?);
            }
        }
        if written.is_empty() {
            written.push(row(&base, &given, &[])?);
            quick.push(row(&base, &given, &[])?);
        }
        let values = written.iter().flat_map(|row| row.varied.values());
        let texts: Vec<&str> = values.flat_map(quick_scale::texts).collect();
        replacements.refuse_unused(&texts)?;
        [&mut written, &mut quick].into_iter().for_each(|rows| add_given(rows, &given));
        let run = match scale {
            Scale::Full => written.clone(),
            Scale::Quick => quick.into_iter().map(without_useless_format).collect(),
        };
        let (replaced_by, replacements) = (vec![0; run.len()], vec![replacements]);
        Ok(Runs { written, run, replaced_by, replacements, is_quick: scale == Scale::Quick })
    }

    /// The rows of the plans that `runs` names, each only once.
    pub fn of_others(
        table: &DeTable,
        names: &Spanned<DeValue>,
        scale: Scale,
        read: ReadOther,
    ) -> OrFault<Runs> {
        let own =
            ["base", "quick", "grid", "list"].into_iter().find(|&part| table.contains_key(part));
        if let Some(part) = own {
            let what = format!(
                "`runs` and `{part}` exclude each other: a plan has rows of its own or takes those \
                 of others"
            );
            return Err(Fault::new(names.span(), what));
        }
        let names = match names.get_ref().as_array() {
            None => vec![names],
            Some(names) => names.iter().collect(),
        };
        let mut all = Runs { is_quick: scale == Scale::Quick, ..Runs::default() };
        for name in names {
            let word = name.get_ref().as_str();
            let word = word.ok_or_else(|| Fault::new(name.span(), "a plan is named by a text"))?;
            let runs = other(word, scale, read).map_err(|what| Fault::new(name.span(), what))?;
            all.add(runs);
        }
        Ok(all)
    }

    fn add(&mut self, other: Runs) {
        let before = self.replacements.len();
        let rows = other.written.into_iter().zip(other.run).zip(other.replaced_by);
        for ((written, run), replaced_by) in rows {
            let is_same = |at: usize| {
                self.written[at].experiment == written.experiment
                    && self.run[at].experiment == run.experiment
            };
            if !(0..self.run.len()).any(is_same) {
                self.written.push(written);
                self.run.push(run);
                self.replaced_by.push(before + replaced_by);
            }
        }
        self.replacements.extend(other.replacements);
    }
}

/// The rows of another plan; the error is a sentence.
fn other(name: &str, scale: Scale, read: ReadOther) -> Result<Runs, String> {
    let text = read(name).map_err(|why| format!("cannot read plan {name}: {why}"))?;
    let parsed = || {
        let document = document(&text)?;
        let table = document.get_ref();
        refuse_unknown(table, "a plan", PARTS)?;
        match table.get("runs") {
            None => Runs::parse(table, scale),
            Some(at) => {
                let what = "this plan takes its runs from other plans; name those instead";
                Err(Fault::new(at.span(), what))
            }
        }
    };
    parsed().map_err(|fault| {
        let (line, column) = position(&text, fault.at.start);
        format!("{name}:{line}:{column}: {}", fault.what)
    })
}

/// The replacements of the quick scale.
fn replacements(table: &DeTable) -> OrFault<QuickReplacements> {
    match table.get("quick") {
        None => Ok(QuickReplacements::default()),
        Some(quick) => QuickReplacements::parse(as_table(quick, "quick")?),
    }
}

/// Drops the format of a row whose trace file was replaced by a workload.
fn without_useless_format(mut row: Row) -> Row {
    if row.experiment.trace_files().is_empty() {
        row.experiment.format = None;
    }
    row
}

/// Adds to each row the values of the base for options that vary in other rows.
fn add_given(rows: &mut [Row], base: &[Assignment]) {
    let given = base.iter().map(|it| (it.key.to_string(), &it.value));
    let varies = |key: &String| rows.iter().any(|row| row.varied.contains_key(key));
    let given: Vec<_> = given.filter(|(key, _)| varies(key)).collect();
    for row in rows {
        for (key, value) in &given {
            // A row that sets the whole option takes nothing of it from the base; one that sets a
            // key inside it takes the rest.
            let option = key.split('.').next().unwrap_or(key);
            if ![key, option].iter().any(|&name| row.varied.contains_key(name)) {
                row.varied.insert(key.clone(), (*value).clone());
            }
        }
    }
}

/// The base, changed by `quick` at the quick scale, and what it assigns.
fn base(table: &DeTable, scale: Scale) -> OrFault<(Experiment, Vec<Assignment>)> {
    let part = |name| match table.get(name) {
        None => Ok(Vec::new()),
        Some(part) => assignments_except(as_table(part, name)?, quick_scale::NAME),
    };
    let (base, quick) = (part("base")?, part("quick")?);
    let whole = assigned(&Experiment::default(), &base)?;
    // The quick part is checked at either scale.
    let overridden = overridden(&base, &quick);
    let small = assigned(&Experiment::default(), &overridden)?;
    match (scale, quick.is_empty()) {
        (Scale::Full, _) => Ok((whole, base)),
        (Scale::Quick, false) => Ok((small, overridden)),
        (Scale::Quick, true) => {
            Err(Fault::new(0..0, "this plan has no [quick] part, so there is only `--scale full`"))
        }
    }
}

/// The grids (`true`) and lists (`false`), in the order in which they are written.
fn sets<'a, 'i>(table: &'a DeTable<'i>) -> OrFault<Vec<(bool, TablePart<'a, 'i>)>> {
    let grids = tables(table, "grid")?.into_iter().map(|part| (true, part));
    let mut sets: Vec<_> = grids.collect();
    sets.extend(tables(table, "list")?.into_iter().map(|part| (false, part)));
    sets.sort_by_key(|(_, part)| part.at.start);
    Ok(sets)
}

/// The row that changes the base, which `given` makes, by its own assignments.
fn row(base: &Experiment, given: &[Assignment], own: &[Assignment]) -> OrFault<Row> {
    let varied = own.iter().map(|it| (it.key.to_string(), it.value.clone())).collect();
    let experiment = assigned(base, own)?;
    Setup::new(&experiment).map_err(|why| {
        let why = why.to_string();
        Fault::new(cause(&overridden(given, own), &why), why)
    })?;
    Ok(Row { experiment, varied })
}

/// The place of the last assignment without which a row would not be refused for this reason.
fn cause(all: &[Assignment], why: &str) -> Range<usize> {
    let is_cause = |at: &usize| {
        let rest = [&all[..*at], &all[at + 1..]].concat();
        let without = assigned(&Experiment::default(), &rest).ok();
        without.is_some_and(|it| !Setup::new(&it).is_err_and(|other| other.to_string() == why))
    };
    let found = (0..all.len()).rev().find(is_cause).map(|at| &all[at]);
    found.or(all.last()).map_or(0..0, |assignment| assignment.at.clone())
}

fn refuse_too_many(part: &TablePart, before: usize, more: usize) -> OrFault<()> {
    match before + more > ROWS_MAX {
        true => {
            let what = format!("{} rows are more than {ROWS_MAX}; split the plan", before + more);
            Err(Fault::new(part.at.clone(), what))
        }
        false => Ok(()),
    }
}
