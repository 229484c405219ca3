//! Which rows a claim or a drawing speaks of.
//!
//! ```toml
//! { extra = "7%", ftl.victim = "fifo" }                # rows that have these options
//! { ftl = "faster", over = { ftl = "fast" } }          # each over the row that differs in `over`
//! ```
//! A claim or a drawing may say once, as `where`, what all of its rows have. With `over` a figure
//! is that of its row over that of the other. Where several rows are named, the other is the one
//! that differs from it only in what `over` names.

use core::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::assignment::{self, Base, Options, Setting, Wish, entries, settings};
use super::metric::ratio;
use super::{Fault, Parsed, Part, Row};

/// The rows of a plan, to choose from.
pub(super) struct Known<'a> {
    rows: &'a [Row],
    /// Of each what it is chosen by.
    options: Vec<Options>,
}

impl<'a> Known<'a> {
    /// These rows.
    pub fn new(rows: &'a [Row]) -> Known<'a> {
        Known { rows, options: rows.iter().map(|row| assignment::of(&row.experiment)).collect() }
    }

    /// The rows.
    pub fn rows(&self) -> &'a [Row] {
        self.rows
    }
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// A row.
    pub row: usize,
    /// The row over whose figure it is taken.
    pub over: Option<usize>,
}

impl Place {
    /// The rows that it needs.
    pub fn rows(self) -> impl Iterator<Item = usize> {
        [Some(self.row), self.over].into_iter().flatten()
    }

    /// Its figure; infinite if it is something over nothing, none if nothing over nothing.
    pub fn found(self, figure: &impl Fn(usize) -> Option<f64>) -> Option<f64> {
        match self.over {
            None => figure(self.row),
            Some(over) => ratio(figure(self.row)?, figure(over)?),
        }
    }

    /// The same, its rows numbered anew.
    pub fn renumbered(self, number: &impl Fn(usize) -> usize) -> Place {
        Place { row: number(self.row), over: self.over.map(number) }
    }
}

/// Rows that have the same options.
#[derive(Debug)]
pub(super) struct Chosen {
    /// Which, in words, beside what all have.
    pub label: String,
    /// One at least.
    pub places: Vec<Place>,
    /// Where that is written.
    pub at: Range<usize>,
}

impl Chosen {
    /// Reads a table of options beside those that hold for all; the keys in `but` are somebody
    /// else's.
    pub fn parse(part: &Part, common: &[Setting], known: &Known, but: &[&str]) -> Parsed<Chosen> {
        let (mut chosen_by, mut over) = (common.to_vec(), None);
        for (name, at, value) in entries(part.table) {
            match name.as_str() {
                name if but.contains(&name) => {}
                "over" => over = Some(other_row(value)?),
                _ => chosen_by.push(Setting::new(&name, at, value)?),
            }
        }
        let over_text = over.as_ref().map(|over| format!(" over {}", words(over)));
        let named = |settings| format!("{}{}", words(settings), over_text.as_deref().unwrap_or(""));
        let (label, whole) = (named(&chosen_by[common.len()..]), named(&chosen_by));
        let wishes = chosen_by.iter().map(Wish::of).collect::<Parsed<Vec<Wish>>>()?;
        let all = |row: &usize| wishes.iter().all(|wish| wish.holds(&known.options[*row]));
        let chosen = (0..known.rows.len()).filter(all);
        let place = |row: usize| {
            let like = |over| like(row, over, known, &whole, part);
            Ok(Place { row, over: over.as_deref().map(like).transpose()? })
        };
        let places: Vec<Place> = chosen.map(place).collect::<Parsed<_>>()?;
        match places.is_empty() {
            true => Err(Fault::new(part.at.clone(), format!("no row has {whole}"))),
            false => Ok(Chosen { label, places, at: part.at.clone() }),
        }
    }

    /// Each row with what it is called: what all have, and what tells it from the others.
    pub fn labelled(&self, known: &Known) -> impl Iterator<Item = (String, Place)> {
        let label = |place| format!("{}{}", self.label, self.apart(place, known.rows));
        self.places.iter().map(move |&place| (label(place).trim_start().to_owned(), place))
    }

    fn apart(&self, place: Place, rows: &[Row]) -> String {
        let value = |place: &Place, key: &str| rows[place.row].varied.get(key).cloned();
        let varies =
            |key: &str| self.places.iter().any(|one| value(one, key) != value(&place, key));
        let word = |(key, value): (&String, &Value)| format!(" {key}={value}").replace('"', "");
        let varied = rows[place.row].varied.iter();
        varied.filter(|(key, _)| varies(key)).map(word).collect()
    }
}

/// What `where` says of all rows of a claim or a drawing.
pub(super) fn common(table: &DeTable) -> Parsed<Vec<Setting>> {
    match table.get("where") {
        None => Ok(Vec::new()),
        Some(value) => match value.get_ref().as_table() {
            Some(table) => settings(table),
            None => Err(Fault::new(value.span(), "`where` is a table of options, as of a row")),
        },
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
fn like(row: usize, over: &[Setting], known: &Known, label: &str, part: &Part) -> Parsed<usize> {
    let other = Base::of(&known.rows[row].experiment).with(over)?.experiment()?;
    let found = known.rows.iter().position(|row| row.experiment == other);
    found.ok_or_else(|| Fault::new(part.at.clone(), format!("{label}: there is no such other row")))
}

/// Settings as one writes them.
pub(super) fn words(settings: &[Setting]) -> String {
    let word = |setting: &Setting| format!("{}={}", setting.key, setting.value);
    settings.iter().map(word).collect::<Vec<_>>().join(" ").replace('"', "")
}
