//! The runs of a plan: what its base, grids and lists make, or those of other plans.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::assignment::{Base, Setting, overridden, settings_but};
use super::quick_scale::{self, Instead};
use super::{
    Fault, Parsed, Part, ROWS_MAX, ReadOther, Row, Scale, as_table, axis, position, tables,
};
use crate::config::setup::Setup;

/// Rows as they are written, and as they are run.
#[derive(Debug, Default)]
pub(super) struct Runs {
    written: Vec<Row>,
    /// The rows at the scale that is asked for.
    run: Vec<Row>,
    /// Of each row which of the insteads below makes it smaller.
    instead: Vec<usize>,
    insteads: Vec<Instead>,
    is_quick: bool,
}

impl Runs {
    /// The rows as they are written, of which claims and drawings speak.
    pub fn written(&self) -> &[Row] {
        &self.written
    }

    /// What a row is called at this scale, if it is written so.
    pub fn label(&self, row: usize, written: &str) -> String {
        match self.is_quick {
            true => self.insteads[self.instead[row]].text(written),
            false => written.to_owned(),
        }
    }

    /// The rows at this scale.
    pub fn rows(self) -> Vec<Row> {
        self.run
    }

    /// The rows that a plan makes itself.
    pub fn parse(table: &DeTable, scale: Scale) -> Parsed<Runs> {
        let (base, instead) = (base(table, scale)?, instead(table)?);
        let (mut written, mut quick) = (Vec::new(), Vec::new());
        for (is_grid, part) in sets(table)? {
            let axes = axis::axes(&part)?;
            let combinations = match is_grid {
                true => axis::product(&axes),
                false => axis::side_by_side(&axes),
            }?;
            refuse_too_many(&part, written.len(), combinations.len())?;
            for combination in &combinations {
                let own: Vec<Setting> =
                    combination.iter().map(|&setting| setting.clone()).collect();
                written.push(row(&base, &own)?);
                quick.push(row(&base, &instead.of(combination))?);
            }
        }
        if written.is_empty() {
            written.push(row(&base, &[])?);
            quick.push(row(&base, &[])?);
        }
        let texts: Vec<&str> =
            written.iter().flat_map(|row| row.varied.values()).filter_map(Value::as_str).collect();
        instead.refuse_unused(&texts)?;
        let run = match scale {
            Scale::Full => written.clone(),
            Scale::Quick => quick.into_iter().map(without_idle_format).collect(),
        };
        let is_quick = scale == Scale::Quick;
        Ok(Runs { instead: vec![0; run.len()], insteads: vec![instead], written, run, is_quick })
    }

    /// The rows of the plans that `runs` names, each once.
    pub fn of_others(
        table: &DeTable,
        names: &Spanned<DeValue>,
        scale: Scale,
        read: ReadOther,
    ) -> Parsed<Runs> {
        let own =
            ["base", "quick", "grid", "list"].into_iter().find(|&part| table.contains_key(part));
        if let Some(part) = own {
            let what = format!("`runs` and `{part}` exclude each other: other plans' rows, or own");
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
        let before = self.insteads.len();
        for ((written, run), instead) in other.written.into_iter().zip(other.run).zip(other.instead)
        {
            let is_same = |at: usize| {
                self.written[at].experiment == written.experiment
                    && self.run[at].experiment == run.experiment
            };
            if !(0..self.run.len()).any(is_same) {
                self.written.push(written);
                self.run.push(run);
                self.instead.push(before + instead);
            }
        }
        self.insteads.extend(other.insteads);
    }
}

/// The rows of another plan, or why there are none.
fn other(name: &str, scale: Scale, read: ReadOther) -> Result<Runs, String> {
    let text = read(name).map_err(|why| format!("cannot read plan {name}: {why}"))?;
    let parsed = || {
        let document = DeTable::parse(&text)
            .map_err(|error| Fault::new(error.span().unwrap_or(0..0), error.message().trim()))?;
        let table = document.get_ref();
        super::refuse_unknown(table, "a plan", super::PARTS)?;
        match table.get("runs") {
            None => Runs::parse(table, scale),
            Some(at) => {
                let what = "this plan takes its runs from others itself; name those";
                Err(Fault::new(at.span(), what))
            }
        }
    };
    parsed().map_err(|fault| {
        let (line, column) = position(&text, fault.at.start);
        format!("{name}:{line}:{column}: {}", fault.what)
    })
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
    if !row.experiment.reads_file() {
        row.experiment.format = None;
    }
    row
}

/// The base with what `quick` changes.
fn base(table: &DeTable, scale: Scale) -> Parsed<Base> {
    let part = |name| match table.get(name) {
        None => Ok(Vec::new()),
        Some(part) => settings_but(as_table(part, name)?, quick_scale::NAME),
    };
    let (base, quick) = (part("base")?, part("quick")?);
    let whole = Base::default().with(&base)?;
    // What is quick is checked whatever is asked for.
    let small = Base::default().with(&overridden(&base, &quick))?;
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
    Setup::new(&experiment).map_err(|why| Fault::new(at, why.to_string()))?;
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
