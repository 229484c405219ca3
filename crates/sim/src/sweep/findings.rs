//! Findings of a sweep: the values that claims and drawings need, and the rows that failed.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::input::trace_stats::{TraceStats, TraceStatsCache};
use crate::plan::Plan;
use crate::plan::claim::Verdict;
use crate::plan::drawing::{Drawn, DrawnCell};
use crate::result::columns::at;
use crate::result::notes::SharedNotes;
use NeededBy::{Claim, Drawing};

/// Columns that every sweep shows, with or without claims.
pub const OVERVIEW: [&str; 3] = ["write_amplification", "time_us.total", "drive.iops"];

/// Columns that are added up over the volumes of a trace.
const PAGES: [&str; 2] = ["host_pages.written", "programs.total"];

/// Findings of the rows seen so far.
#[derive(Debug)]
pub struct Findings<'a> {
    plan: &'a Plan,
    /// The rows that failed.
    pub failed: Vec<FailedRow>,
    /// The values that claims and drawings need, by the one that needs it and the row.
    values: HashMap<(NeededBy, usize), Option<f64>>,
    /// Rows of which the whole result is drawn.
    whole: HashMap<usize, Value>,
    /// For each drawing its traces with their labels, as far as they could be read.
    traces: Vec<Vec<(&'a str, Arc<TraceStats>)>>,
    /// Sentences about the traces that could not be read.
    pub unread: Vec<String>,
    /// The notes of the rows.
    pub notes: SharedNotes,
    /// For each row the columns of the overview.
    overview: Vec<[Option<f64>; OVERVIEW.len()]>,
    /// For each row the pages that the host wrote, and those that were programmed.
    pages: Vec<Option<[f64; 2]>>,
}

/// A claim or drawing that needs a value, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum NeededBy {
    Claim(usize),
    Drawing(usize),
}

/// A row that could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRow {
    /// Its number, from 0.
    pub row: usize,
    /// The exit code that the run would have had.
    pub exit_code: u64,
    /// The error message.
    pub message: String,
}

impl<'a> Findings<'a> {
    /// No findings yet.
    pub fn of(plan: &'a Plan) -> Findings<'a> {
        let claims = plan.claims.iter().enumerate();
        let claimed = claims.flat_map(|(at, claim)| claim.rows().map(move |row| (Claim(at), row)));
        let drawings = plan.drawings.iter().enumerate();
        let drawn = drawings.flat_map(|(at, of)| of.rows().map(move |row| (Drawing(at), row)));
        let values = claimed.chain(drawn).map(|needed| (needed, None)).collect();
        let overview = vec![[None; OVERVIEW.len()]; plan.rows.len()];
        Findings {
            plan,
            failed: Vec::new(),
            values,
            whole: HashMap::new(),
            traces: vec![Vec::new(); plan.drawings.len()],
            unread: Vec::new(),
            notes: SharedNotes::default(),
            overview,
            pages: vec![None; plan.rows.len()],
        }
    }

    /// Collects the statistics of the traces that are drawn. A trace that cannot be read is left
    /// out of its drawings.
    pub fn survey(&mut self, surveys: &mut TraceStatsCache) {
        for (drawing, traces) in self.plan.drawings.iter().zip(&mut self.traces) {
            for drawn in &drawing.traces {
                match surveys.of(&drawn.experiment) {
                    Ok(surveyed) => traces.push((drawn.label.as_str(), surveyed)),
                    Err(why) if self.unread.contains(&why) => {}
                    Err(why) => self.unread.push(why),
                }
            }
        }
    }

    /// Takes note of a row, given as JSON.
    pub fn see(&mut self, index: usize, row: &Value) {
        let error = &row["sweep"]["error"];
        if let (Some(exit_code), Some(message)) =
            (error["exit_code"].as_u64(), error["message"].as_str())
        {
            self.failed.push(FailedRow { row: index, exit_code, message: message.to_owned() });
        }
        for (claim, of) in self.plan.claims.iter().enumerate() {
            if let Some(value) = self.values.get_mut(&(Claim(claim), index)) {
                *value = of.figure.of(row);
            }
        }
        for (drawing, of) in self.plan.drawings.iter().enumerate() {
            let Some(value) = self.values.get_mut(&(Drawing(drawing), index)) else { continue };
            match &of.of {
                Drawn::Figure(of) => *value = of.of(row),
                Drawn::Portrait(_) if error.is_null() => {
                    self.whole.insert(index, row.clone());
                }
                Drawn::Portrait(_) | Drawn::Traces(_) => {}
            }
        }
        self.notes.add_json(row);
        self.overview[index] = OVERVIEW.map(|column| at(row, column).as_f64());
        let [written, programmed] = PAGES.map(|column| at(row, column).as_f64());
        self.pages[index] = written.zip(programmed).map(<[f64; 2]>::from);
    }

    /// The plan to which the rows belong.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The judged cells of a claim, given by its number in the plan.
    pub fn verdicts(&self, claim: usize) -> Vec<Verdict> {
        self.plan.claims[claim].judge(|row| self.values[&(Claim(claim), row)])
    }

    /// The rows of a drawing, given by its number in the plan.
    pub fn cells(&self, drawing: usize) -> Vec<DrawnCell<'a>> {
        self.plan.drawings[drawing].cells(|row| self.values[&(Drawing(drawing), row)])
    }

    /// A whole row as JSON; none if it failed or no drawing needs it.
    pub fn whole(&self, row: usize) -> Option<&Value> {
        self.whole.get(&row)
    }

    /// The traces of a drawing, given by its number in the plan, with their labels.
    pub fn traces(&self, drawing: usize) -> impl Iterator<Item = (&'a str, &TraceStats)> {
        self.traces[drawing].iter().map(|(label, surveyed)| (*label, &**surveyed))
    }

    /// A column of the [overview](OVERVIEW) of a row.
    pub fn overview(&self, row: usize, column: usize) -> Option<f64> {
        self.overview[row][column]
    }

    /// Pages that the host of a row wrote, and pages that were programmed; none if it failed.
    pub fn pages(&self, row: usize) -> Option<[f64; 2]> {
        self.pages[row]
    }
}
