//! What is drawn of rows, whether or not something is claimed of it.
//!
//! ```toml
//! [[drawing]]
//! id = "SL Fig. 2"
//! says = "partial writes behind a buffer"
//! source = "where a like figure is published"
//! figure = "time_us.gc"                 # a point a row: see `figure`
//! along = "buffer"                      # the option at the axis; else the one of most numbers
//! each = "trace"                        # a panel for each of its values; one for all if not given
//! where = { extra = "3%" }              # what all rows have
//! rows = [{ ftl = "fast" }]             # which rows: see `chosen`; all if not given
//!
//! [[drawing]]
//! id = "FSTR Fig. 4"
//! says = "data blocks that victims are associated with"
//! draws = "associated blocks"           # a curve or a picture a row: see `Portrait`
//!
//! [[drawing]]
//! id = "FSTR Fig. 2a"
//! says = "where writes go"
//! draws = "access pattern"              # of the rows' traces, each once: see `TracePortrait`
//! ```
//! A row whose trace alone is drawn need not be run.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::keyword_enum::keyword_enum;
use crate::plan::document::{Fault, Parsed, TablePart, refuse_unknown, text_needed, text_of};
use crate::plan::drawn_traces::{self, DrawnTrace};
use crate::plan::quantity::Quantity;
use crate::plan::row::Row;
use crate::plan::row_selection::{Candidates, CellRows, RowSelection, as_written, common};

const KEYS: &[&str] = &[
    "id",
    "says",
    "source",
    "figure",
    "per",
    "statistic",
    "draws",
    "along",
    "each",
    "where",
    "rows",
];

keyword_enum! {
    /// What is drawn of a whole row.
    Portrait, "drawing":
    /// Stacked bars of the time by what caused it.
    TimeByCause = "time by cause",
    /// The distribution of the service times of writes.
    ServiceOfWrites = "service times of writes",
    /// The distribution of the service times of reads.
    ServiceOfReads = "service times of reads",
    /// The distribution of what writes took beyond the bare operations.
    IncrementsOfWrites = "increments of writes",
    /// The distribution of what reads took beyond the bare operations.
    IncrementsOfReads = "increments of reads",
    /// How many data blocks full merges concern.
    AssociatedBlocks = "associated blocks",
    /// How many programmed pages victims have, of superblocks.
    VictimUtilisation = "utilisation of victims",
    /// Write amplification along the trace.
    WriteAmplification = "write amplification",
    /// Free blocks along the trace.
    FreeBlocks = "free blocks",
    /// Mean service time along the trace.
    ServiceCourse = "service time along the trace",
    /// Requests served in a second of serial time, along the trace.
    Throughput = "throughput along the trace",
    /// The wear of the blocks.
    Wear = "wear",
}

keyword_enum! {
    /// What is drawn of traces.
    TracePortrait, "drawing":
    /// Writes by number and address.
    AccessPattern = "access pattern",
    /// Pages in the order of how often they are written.
    UpdateFrequency = "update frequency",
    /// The distribution of the page writes between two writes of a page.
    WriteIntervals = "write intervals",
    /// The course of these for three pages.
    HotWarmCold = "hot, warm and cold pages",
    /// How often what requests of a size write had been written before.
    UpdatesBySize = "updates by request size",
    /// Page writes that cover part of their page, by page size.
    SubPageWrites = "sub-page writes",
    /// How large reads and writes are.
    RequestSizes = "request sizes",
}

/// Something to be drawn.
#[derive(Debug)]
pub struct Drawing {
    /// Its name.
    pub id: String,
    /// What it shows, in words.
    pub says: String,
    /// Where a figure like it is published.
    pub source: String,
    /// What is drawn.
    pub of: Drawn,
    /// What all its rows have, in words.
    pub common: String,
    /// The option at the axis.
    pub along: Option<String>,
    /// The option of whose values each has a panel of its own.
    pub each: Option<String>,
    /// The traces that are drawn; none where rows are.
    pub traces: Vec<DrawnTrace>,
    cells: Vec<(String, CellRows)>,
}

/// What is drawn of each row.
#[derive(Debug)]
pub enum Drawn {
    /// A point.
    Figure(Quantity),
    /// A curve or a picture.
    Portrait(Portrait),
    /// A curve or a picture of its trace.
    Traces(TracePortrait),
}

/// A row that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell<'a> {
    /// What it is called.
    pub label: &'a str,
    /// Its number, from 0.
    pub row: usize,
    /// Its figure, if it has one and a point is drawn.
    pub found: Option<f64>,
}

impl Drawing {
    /// The rows that must be run.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().flat_map(|(_, cell)| cell.rows())
    }

    /// Whether it is of one row's figure over another's.
    pub fn is_relative(&self) -> bool {
        self.cells.iter().any(|(_, cell)| cell.over.is_some())
    }

    /// What is drawn, given the figure of each row. A row alone is called by what all have.
    pub fn cells(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<Cell<'_>> {
        let mut cells = Vec::with_capacity(self.cells.len());
        for (own, cell) in &self.cells {
            let label = if own.is_empty() { &self.common } else { own };
            cells.push(Cell { label, row: cell.row, found: cell.value(&figure) });
        }
        cells
    }

    /// Names its rows anew.
    pub(super) fn relabel(&mut self, name: impl Fn(usize, &str) -> String) {
        if let Some((_, first)) = self.cells.first() {
            self.common = name(first.row, &self.common);
        }
        self.cells.iter_mut().for_each(|(label, cell)| *label = name(cell.row, label));
    }

    /// Of a drawing of traces, given the rows as they are run: takes these rows' traces, and needs
    /// the rows no more.
    pub(super) fn take_traces(&mut self, rows: &[Row]) {
        if matches!(self.of, Drawn::Traces(_)) {
            self.traces = drawn_traces::of(self.cells.iter().map(|(_, cell)| &rows[cell.row]));
            self.cells.clear();
        }
    }

    /// Numbers its rows anew.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.cells.iter_mut().for_each(|(_, cell)| *cell = cell.renumbered(&number));
    }
}

/// Reads a drawing of these rows.
pub(super) fn parse(part: &TablePart, candidates: &Candidates) -> Parsed<Drawing> {
    let table = part.table;
    refuse_unknown(table, "a drawing", KEYS)?;
    let of = match portrait(part)? {
        Some(portrait) => portrait,
        None => Drawn::Figure(Quantity::parse(part, "drawing")?),
    };
    Ok(Drawing {
        id: text_needed(part, "drawing", "id")?,
        says: text_needed(part, "drawing", "says")?,
        source: text_of(table, "source")?.unwrap_or_default(),
        of,
        common: as_written(&common(table)?),
        along: option(part, "along", candidates)?,
        each: option(part, "each", candidates)?,
        traces: Vec::new(),
        cells: cells(part, candidates)?,
    })
}

/// What `draws` says, if anything.
fn portrait(part: &TablePart) -> Parsed<Option<Drawn>> {
    let Some(value) = part.table.get("draws") else { return Ok(None) };
    let other = ["figure", "along", "each"].into_iter().find(|&key| part.table.contains_key(key));
    if let Some(key) = other {
        let what = format!("`draws` and `{key}` exclude each other: a curve a row, or a point");
        return Err(Fault::new(value.span(), what));
    }
    let word = text_of(part.table, "draws")?.unwrap_or_default();
    let of_rows = word.parse().map(Drawn::Portrait);
    let of_any = of_rows.or_else(|_: spec::Error| word.parse().map(Drawn::Traces));
    of_any.map(Some).map_err(|_: spec::Error| {
        let names = [Portrait::NAMES, TracePortrait::NAMES].concat();
        Fault::new(value.span(), spec::unknown("drawing", &word, &names).to_string())
    })
}

/// An option that rows set.
fn option(part: &TablePart, key: &str, candidates: &Candidates) -> Parsed<Option<String>> {
    let (Some(name), Some(value)) = (text_of(part.table, key)?, part.table.get(key)) else {
        return Ok(None);
    };
    let option = name.split_once('.').map_or(name.as_str(), |(option, _)| option);
    let sets = |row: &Row| row.varied.contains_key(&name) || row.varied.contains_key(option);
    match candidates.rows().iter().any(sets) {
        true => Ok(Some(name)),
        false => Err(Fault::new(value.span(), format!("no grid and no list sets `{name}`"))),
    }
}

fn cells(part: &TablePart, candidates: &Candidates) -> Parsed<Vec<(String, CellRows)>> {
    let common = common(part.table)?;
    let Some(value) = part.table.get("rows") else {
        let none = DeTable::new();
        let all = RowSelection::parse(
            &TablePart { table: &none, at: part.at.clone() },
            &common,
            candidates,
            &[],
        )?;
        return Ok(all.labelled(candidates).collect());
    };
    let not_tables = || Fault::new(value.span(), "`rows` is not a list of tables");
    let tables = value.get_ref().as_array().ok_or_else(not_tables)?;
    let chosen = |value: &Spanned<DeValue>| {
        let table = value.get_ref().as_table().ok_or_else(not_tables)?;
        RowSelection::parse(&TablePart { table, at: value.span() }, &common, candidates, &[])
    };
    let chosen = tables.iter().map(chosen).collect::<Parsed<Vec<RowSelection>>>()?;
    Ok(chosen.iter().flat_map(|chosen| chosen.labelled(candidates).collect::<Vec<_>>()).collect())
}
