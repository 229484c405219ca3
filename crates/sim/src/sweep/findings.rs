//! What the rows of a sweep show: the figures that claims look at, and which rows failed.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::input::trace_stats::{TraceStats, TraceStatsCache};
use crate::plan::Plan;
use crate::plan::claim::Verdict;
use crate::plan::drawing::{Cell, Drawn};
use crate::result::columns::at;
use Speaker::{Claim, Drawing};

/// What every sweep shows, claims or not: columns of the rows.
pub const OVERVIEW: [&str; 2] = ["write_amplification", "time_us.total"];

/// What was found in the rows seen so far.
#[derive(Debug)]
pub struct Findings<'a> {
    plan: &'a Plan,
    /// The rows that failed.
    pub failed: Vec<FailedRow>,
    /// The figures that claims and drawings speak of, by who speaks and row.
    figures: HashMap<(Speaker, usize), Option<f64>>,
    /// Rows that are drawn whole.
    whole: HashMap<usize, Value>,
    /// Of each drawing the traces that it is of and that could be read.
    traces: Vec<Vec<(&'a str, Arc<TraceStats>)>>,
    /// Traces that could not be read, and why.
    pub unread: Vec<String>,
    /// Of each row the columns of the overview.
    overview: Vec<[Option<f64>; OVERVIEW.len()]>,
}

/// Who speaks of a figure, by its number in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Speaker {
    Claim(usize),
    Drawing(usize),
}

/// A row that could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRow {
    /// Its number, from 0.
    pub row: usize,
    /// With what the run would have ended.
    pub exit_code: u64,
    /// Why.
    pub message: String,
}

impl<'a> Findings<'a> {
    /// Nothing yet.
    pub fn of(plan: &'a Plan) -> Findings<'a> {
        let claims = plan.claims.iter().enumerate();
        let claimed = claims.flat_map(|(at, claim)| claim.rows().map(move |row| (Claim(at), row)));
        let drawings = plan.drawings.iter().enumerate();
        let drawn = drawings.flat_map(|(at, of)| of.rows().map(move |row| (Drawing(at), row)));
        let figures = claimed.chain(drawn).map(|needed| (needed, None)).collect();
        let overview = vec![[None; OVERVIEW.len()]; plan.rows.len()];
        Findings {
            plan,
            failed: Vec::new(),
            figures,
            whole: HashMap::new(),
            traces: vec![Vec::new(); plan.drawings.len()],
            unread: Vec::new(),
            overview,
        }
    }

    /// Looks through the traces that are drawn. One that cannot be read stays out of its drawings.
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

    /// Looks at a row, given as JSON.
    pub fn see(&mut self, index: usize, row: &Value) {
        let error = &row["sweep"]["error"];
        if let (Some(exit_code), Some(message)) =
            (error["exit_code"].as_u64(), error["message"].as_str())
        {
            self.failed.push(FailedRow { row: index, exit_code, message: message.to_owned() });
        }
        for (claim, of) in self.plan.claims.iter().enumerate() {
            if let Some(figure) = self.figures.get_mut(&(Claim(claim), index)) {
                *figure = of.figure.of(row);
            }
        }
        for (drawing, of) in self.plan.drawings.iter().enumerate() {
            let Some(figure) = self.figures.get_mut(&(Drawing(drawing), index)) else { continue };
            match &of.of {
                Drawn::Figure(of) => *figure = of.of(row),
                Drawn::Portrait(_) if error.is_null() => {
                    self.whole.insert(index, row.clone());
                }
                Drawn::Portrait(_) | Drawn::Traces(_) => {}
            }
        }
        self.overview[index] = OVERVIEW.map(|column| at(row, column).as_f64());
    }

    /// The plan whose rows these are.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Cell by cell, whether a claim of the plan, by its number, holds.
    pub fn verdicts(&self, claim: usize) -> Vec<Verdict> {
        self.plan.claims[claim].judge(|row| self.figures[&(Claim(claim), row)])
    }

    /// Row by row, what a drawing of the plan, by its number, has points for.
    pub fn cells(&self, drawing: usize) -> Vec<Cell<'a>> {
        self.plan.drawings[drawing].cells(|row| self.figures[&(Drawing(drawing), row)])
    }

    /// A row that is drawn whole, as JSON; none if it failed, or no drawing needs it.
    pub fn whole(&self, row: usize) -> Option<&Value> {
        self.whole.get(&row)
    }

    /// The traces that a drawing of the plan, by its number, is of, and what each is called.
    pub fn traces(&self, drawing: usize) -> impl Iterator<Item = (&'a str, &TraceStats)> {
        self.traces[drawing].iter().map(|(label, surveyed)| (*label, &**surveyed))
    }

    /// A column of the [overview](OVERVIEW) in a row.
    pub fn overview(&self, row: usize, column: usize) -> Option<f64> {
        self.overview[row][column]
    }
}
