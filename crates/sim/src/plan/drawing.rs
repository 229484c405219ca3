//! Drawings: the figures of a plan, whether or not a claim belongs to them.
//!
//! ```toml
//! [[drawing]]
//! id = "SL Fig. 2"
//! says = "partial writes behind a buffer"
//! source = "where a similar figure is published"
//! figure = "time_us.gc"                 # one point per row: see `quantity`
//! along = "buffer"                      # option on the axis; by default the one with most numbers
//! each = "trace"                        # option with a panel for each value; by default one panel
//! where = { extra = "3%" }              # options that all rows have
//! rows = [{ ftl = "fast" }]             # rows: see `row_selection`; by default all
//!
//! [[drawing]]
//! id = "FSTR Fig. 4"
//! says = "data blocks that victims are associated with"
//! draws = "associated blocks"           # one curve or picture per row: see `Portrait`
//!
//! [[drawing]]
//! id = "FSTR Fig. 2a"
//! says = "where writes go"
//! draws = "access pattern"              # of the traces of the rows: see `TracePortrait`
//! ```
//! A row is not run if only its trace is drawn.

use core::mem;

use toml::Spanned;
use toml::de::DeTable;

use crate::config::choices::Timing;
use crate::config::experiment::Experiment;
use crate::config::replay::Replay;
use crate::plan::document::{
    Fault, OrFault, TablePart, refuse_unknown, table_list, text_needed, text_of,
};
use crate::plan::drawn_traces::{self, DrawnTrace};
use crate::plan::quantity::Quantity;
use crate::plan::row::Row;
use crate::plan::row_selection::{CellRows, RowSelection, as_written, common};
use spec::named_enum;

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

named_enum! {
    /// Curves and pictures of a row.
    pub enum Portrait: "drawing" {
        /// Stacked bars of the time by cause.
        TimeByCause = "time by cause",
        /// The distribution of the service times of writes.
        ServiceOfWrites = "service times of writes",
        /// The distribution of the service times of reads.
        ServiceOfReads = "service times of reads",
        /// The distribution of the increments of writes.
        IncrementsOfWrites = "increments of writes",
        /// The distribution of the increments of reads.
        IncrementsOfReads = "increments of reads",
        /// The number of data blocks in a full merge.
        AssociatedBlocks = "associated blocks",
        /// The number of programmed pages in the victims of superblock schemes.
        VictimUtilisation = "utilisation of victims",
        /// Write amplification along the trace.
        WriteAmplification = "write amplification",
        /// Free blocks along the trace.
        FreeBlocks = "free blocks",
        /// Mean service time along the trace.
        ServiceCourse = "service time along the trace",
        /// Requests served per second of serial time, along the trace.
        Throughput = "throughput along the trace",
        /// The wear of the blocks.
        Wear = "wear",
        /// The distribution of the response times of writes.
        ResponseOfWrites = "response times of writes",
        /// The distribution of the response times of reads.
        ResponseOfReads = "response times of reads",
        /// Percentiles of the response times against the number of requests in the drive.
        LatencyAgainstDepth = "latency against depth",
        /// Where requests of a drive spent their time, by the length of the response.
        PartsOfResponses = "parts of responses",
        /// Response times in a drive over time.
        ResponsesOverTime = "responses over time",
        /// The utilisation of dies and channels.
        Utilisation = "utilisation of dies and channels",
    }
}

impl Portrait {
    /// What it needs and an experiment does not have, as a plan sets it.
    fn lacks(self, experiment: &Experiment) -> Option<&'static str> {
        let Experiment { ftl, timing, interval, replay, load, .. } = experiment;
        let has_drive = *timing == Timing::Drive;
        let has_waiting = has_drive || *replay != Replay::CLOSED || !load.is_empty();
        let has_groups = ["superblock", "lsb"].iter().any(|it| ftl.split(':').next() == Some(it));
        let (has, what) = match self {
            Portrait::WriteAmplification
            | Portrait::FreeBlocks
            | Portrait::ServiceCourse
            | Portrait::Throughput => (interval.is_some(), "an `interval`"),
            Portrait::ResponsesOverTime if has_drive => (interval.is_some(), "an `interval`"),
            Portrait::LatencyAgainstDepth
            | Portrait::PartsOfResponses
            | Portrait::ResponsesOverTime
            | Portrait::Utilisation => (has_drive, "`timing = \"drive\"`"),
            Portrait::ResponseOfWrites | Portrait::ResponseOfReads => {
                (has_waiting, "a `replay` with waiting, or `timing = \"drive\"`")
            }
            Portrait::VictimUtilisation => (has_groups, "`ftl = \"superblock\"` or `\"lsb\"`"),
            _ => (true, ""),
        };
        (!has).then_some(what)
    }
}

named_enum! {
    /// Curves and pictures of a trace.
    pub enum TracePortrait: "drawing" {
        /// The addresses of writes in their order.
        AccessPattern = "access pattern",
        /// The addresses of reads in their order.
        ReadPattern = "read pattern",
        /// Reads and writes per second over time.
        RequestRate = "requests over time",
        /// Bytes read and written per second over time.
        ByteRate = "throughput over time",
        /// The number of writes of each page, in descending order.
        UpdateFrequency = "update frequency",
        /// The distribution of the number of page writes between two writes of the same page.
        WriteIntervals = "write intervals",
        /// The write intervals along the trace, for three pages.
        HotWarmCold = "hot, warm and cold pages",
        /// How often the pages of a write had been written before, by request size.
        UpdatesBySize = "updates by request size",
        /// The share of page writes that cover only part of their page, by page size.
        SubPageWrites = "sub-page writes",
        /// The sizes of reads and writes.
        RequestSizes = "request sizes",
    }
}

/// A figure to be drawn.
#[derive(Debug)]
pub struct Drawing {
    /// Its id.
    pub id: String,
    /// What it shows, as a sentence.
    pub says: String,
    /// Where a similar figure is published.
    pub source: String,
    /// The content.
    pub of: Drawn,
    /// The options that all its rows have, as they are written.
    pub common: String,
    /// The option on the axis.
    pub along: Option<String>,
    /// The option whose values have a panel each.
    pub each: Option<String>,
    /// The traces that are drawn; empty if rows are drawn.
    pub traces: Vec<DrawnTrace>,
    cells: Vec<(String, CellRows)>,
}

/// The content of a drawing.
#[derive(Debug)]
pub enum Drawn {
    /// A point.
    Figure(Quantity),
    /// A curve or a picture.
    Portrait(Portrait),
    /// A curve or a picture of its trace.
    Traces(TracePortrait),
}

/// A row of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnCell<'a> {
    /// Its label.
    pub label: &'a str,
    /// Its number, from 0.
    pub row: usize,
    /// Its value, if a point is drawn and the row has a value.
    pub found: Option<f64>,
}

impl Drawing {
    /// The rows that must be run.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.cells.iter().flat_map(|(_, cell)| cell.rows())
    }

    /// Whether it divides the value of one row by that of another.
    pub fn is_relative(&self) -> bool {
        self.cells.iter().any(|(_, cell)| cell.over.is_some())
    }

    /// The cells, given the value of each row. The label of a single row consists of the options
    /// that all rows have.
    pub fn cells(&self, figure: impl Fn(usize) -> Option<f64>) -> Vec<DrawnCell<'_>> {
        let mut cells = Vec::with_capacity(self.cells.len());
        for (own, cell) in &self.cells {
            let label = if own.is_empty() { &self.common } else { own };
            cells.push(DrawnCell { label, row: cell.row, found: cell.value(&figure) });
        }
        cells
    }

    /// Replaces the labels of its rows; `name` is given the row and the label.
    pub(super) fn relabel(&mut self, name: impl Fn(usize, &str) -> String) {
        if let Some((_, first)) = self.cells.first() {
            self.common = name(first.row, &self.common);
        }
        self.cells.iter_mut().for_each(|(label, cell)| *label = name(cell.row, label));
    }

    /// Takes the traces of its rows, if it draws traces; `rows` are the rows as they are run. Then
    /// it no longer needs the rows.
    pub(super) fn take_traces(&mut self, rows: &[Row]) {
        if matches!(self.of, Drawn::Traces(_)) {
            self.traces = drawn_traces::of(self.cells.iter().map(|(_, cell)| &rows[cell.row]));
            self.cells.clear();
        }
    }

    /// Renumbers its rows.
    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> usize) {
        self.cells.iter_mut().for_each(|(_, cell)| *cell = cell.renumbered(&number));
    }
}

/// Reads a drawing of these rows.
pub(super) fn parse(part: &TablePart, candidates: &[Row]) -> OrFault<Drawing> {
    let table = part.table;
    refuse_unknown(table, "a drawing", KEYS)?;
    let of = match portrait(part)? {
        Some(portrait) => portrait,
        None => Drawn::Figure(Quantity::parse(part, "drawing")?),
    };
    let (common, cells) = cells(part, candidates)?;
    if let Drawn::Portrait(portrait) = of {
        refuse_undrawable(part, portrait, &cells, candidates)?;
    }
    Ok(Drawing {
        id: text_needed(part, "drawing", "id")?,
        says: text_needed(part, "drawing", "says")?,
        source: text_of(table, "source")?.unwrap_or_default(),
        of,
        common,
        along: option(part, "along", candidates)?,
        each: option(part, "each", candidates)?,
        traces: Vec::new(),
        cells,
    })
}

/// The curve or picture that `draws` names, if it is given.
fn portrait(part: &TablePart) -> OrFault<Option<Drawn>> {
    let Some(value) = part.table.get("draws") else { return Ok(None) };
    let other = ["figure", "along", "each"].into_iter().find(|&key| part.table.contains_key(key));
    if let Some(key) = other {
        let what = format!("`draws` and `{key}` exclude each other: a row has a curve or a point");
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

/// Refuses rows that have nothing of what is drawn.
fn refuse_undrawable(
    part: &TablePart,
    portrait: Portrait,
    cells: &[(String, CellRows)],
    candidates: &[Row],
) -> OrFault<()> {
    let lack = |(label, cell): &(String, CellRows)| {
        let what = portrait.lacks(&candidates[cell.row].experiment)?;
        Some((label.clone(), what))
    };
    let Some((label, what)) = cells.iter().find_map(lack) else { return Ok(()) };
    let row = if label.is_empty() { "its row".to_owned() } else { format!("the row {label}") };
    let at = part.table.get("draws").map_or(part.at.clone(), Spanned::span);
    let why =
        format!("this drawing needs {what}, which {row} does not have; select the rows that do");
    Err(Fault::new(at, format!("{why}, with `where` or `rows`")))
}

/// An option that a grid or list sets.
fn option(part: &TablePart, key: &str, candidates: &[Row]) -> OrFault<Option<String>> {
    let (Some(name), Some(value)) = (text_of(part.table, key)?, part.table.get(key)) else {
        return Ok(None);
    };
    let option = name.split_once('.').map_or(name.as_str(), |(option, _)| option);
    let sets = |row: &Row| row.varied.contains_key(&name) || row.varied.contains_key(option);
    match candidates.iter().any(sets) {
        true => Ok(Some(name)),
        false => Err(Fault::new(value.span(), format!("no grid and no list sets `{name}`"))),
    }
}

/// The options that all rows have, and the rows with those by which they differ.
fn cells(part: &TablePart, candidates: &[Row]) -> OrFault<(String, Vec<(String, CellRows)>)> {
    let (common, none) = (common(part.table)?, DeTable::new());
    let tables = match part.table.get("rows") {
        Some(value) => table_list(value, || "`rows` is not a list of tables".to_owned())?,
        None => vec![TablePart { table: &none, at: part.at.clone() }],
    };
    let selection = |part| RowSelection::parse(part, &common, candidates, &[]);
    let mut selections = tables.iter().map(selection).collect::<OrFault<Vec<RowSelection>>>()?;
    let own = match selections.as_mut_slice() {
        [only] => mem::take(&mut only.label),
        _ => String::new(),
    };
    let shared = format!("{} {own}", as_written(&common)).trim().to_owned();
    let cells = |selection: &RowSelection| selection.labelled(candidates).collect::<Vec<_>>();
    Ok((shared, selections.iter().flat_map(cells).collect()))
}
