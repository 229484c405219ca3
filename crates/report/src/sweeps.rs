//! The page of a sweep: each claim with what was found, and what every sweep shows.

use serde_json::{Map, Value};
use sim::clock::SERIAL_CAVEAT;
use sim::plan::claim::{Claim, Outcome, Verdict, Wanted};
use sim::plan::{Plan, Scale};
use sim::sweep::findings::{Findings, OVERVIEW};

use crate::curves::{Layout, Point, draw};
use crate::drawings;
use crate::figure::{Figure, Table, slug};
use crate::page::{Page, Section};
use crate::plans::{QUICK, in_common};
use crate::words::{self, number};

/// A claim, and what was found, cell by cell.
#[derive(Debug)]
pub struct Judged<'a> {
    /// What is claimed.
    pub claim: &'a Claim,
    /// Whether each of its cells holds.
    pub verdicts: Vec<Verdict>,
    /// Whether a run failed that it looks at.
    pub has_failed: bool,
}

impl Judged<'_> {
    /// How many cells hold, and how many say something; one that will do stands for all.
    pub fn cells(&self) -> (usize, usize) {
        let are = |of: Outcome| self.verdicts.iter().filter(move |cell| cell.outcome == of).count();
        match (self.claim.is_of_any, self.outcome()) {
            (true, Outcome::Holds) => (1, 1),
            _ => (are(Outcome::Holds), self.verdicts.len() - are(Outcome::Undecided)),
        }
    }

    /// What becomes of the claim.
    pub fn outcome(&self) -> Outcome {
        self.claim.outcome(&self.verdicts)
    }

    /// How far off the worst cell is that falls short, as a part of what is expected.
    pub fn worst(&self) -> Option<f64> {
        if self.outcome() == Outcome::Holds {
            return None;
        }
        let short = self.verdicts.iter().filter(|cell| cell.outcome == Outcome::FallsShort);
        let off = short.filter_map(Verdict::deviation);
        off.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }
}

/// The claims of a plan, judged.
pub fn judged<'a>(found: &Findings<'a>) -> Vec<Judged<'a>> {
    let failed = |row| found.failed.iter().any(|failed| failed.row == row);
    let claims = found.plan().claims.iter().enumerate();
    let judge = |(index, claim): (usize, &'a Claim)| {
        let has_failed = claim.rows().any(failed);
        Judged { claim, verdicts: found.verdicts(index), has_failed }
    };
    claims.map(judge).collect()
}

/// A report of a sweep.
pub fn page(found: &Findings, scale: Scale, made_by: String) -> Page {
    let plan = found.plan();
    let title = if plan.title.is_empty() { "Sweep" } else { &plan.title };
    let runs = || format!("{} runs. {}", number(plan.rows.len() as f64), in_common(plan));
    let mut lead = Vec::new();
    lead.extend((!plan.rows.is_empty()).then(runs));
    lead.extend(failures(found));
    lead.extend((scale == Scale::Quick).then(|| QUICK.to_owned()));
    lead.extend((!plan.rows.is_empty()).then(|| SERIAL_CAVEAT.to_owned()));
    let judged = judged(found);
    let mut sections = Vec::new();
    if !judged.is_empty() {
        let table = Some(glance(&judged));
        sections.push(Section { title: "Claims at a glance".into(), table, ..Section::default() });
        let figures = judged.iter().map(|judged| figure(judged, found, scale, "")).collect();
        sections.push(Section { title: "Claims".into(), figures, ..Section::default() });
    }
    let drawn = drawings::figures(found, scale, "");
    if !drawn.is_empty() {
        let figures = drawn;
        sections.push(Section { title: "Drawings".into(), figures, ..Section::default() });
    }
    if !plan.rows.is_empty() {
        let figures = overviews(found, "");
        sections.push(Section { title: "All runs".into(), figures, ..Section::default() });
    }
    Page { title: title.to_owned(), lead, sections, made_by, ..Page::default() }
}

/// What is to be said of rows that failed, and of traces that could not be read.
pub fn failures(found: &Findings) -> Option<String> {
    let runs = found.failed.first().map(|first| {
        let failed = number(found.failed.len() as f64);
        format!("{failed} runs failed, the first, row {}, with: {}", first.row, first.message)
    });
    let unread = found.unread.iter().map(|why| format!("A trace is not drawn: {why}"));
    let all: Vec<String> = runs.into_iter().chain(unread).collect();
    (!all.is_empty()).then(|| all.join(". "))
}

/// What every sweep shows, a figure a column; `prefix` keeps names apart in a page of several.
pub fn overviews(found: &Findings, prefix: &str) -> Vec<Figure> {
    (0..OVERVIEW.len()).map(|column| overview(found, column, prefix)).collect()
}

/// A line a claim.
pub fn glance(judged: &[Judged]) -> Table {
    let row = |judged: &Judged| {
        let off = judged.worst().map_or(String::new(), |off| format!("{:+.1} %", 100.0 * off));
        let (holding, decided) = judged.cells();
        vec![
            judged.claim.id.clone(),
            judged.claim.says.clone(),
            judged.claim.source.clone(),
            format!("{holding} of {decided}"),
            off,
            judged.outcome().word().to_owned(),
        ]
    };
    let head = ["claim", "says", "published in", "cells that hold", "worst is off by", "verdict"];
    let head = head.map(str::to_owned).to_vec();
    Table { head, rows: judged.iter().map(row).collect(), words: 3 }
}

/// The figure of a claim, with the published points drawn in.
pub fn figure(judged: &Judged, found: &Findings, scale: Scale, prefix: &str) -> Figure {
    let claim = judged.claim;
    let name = claim.figure.to_string();
    let figures = judged.verdicts.iter().filter_map(|v| v.found);
    let (factor, title) = words::axis(&name, &claim.says, claim.is_relative(), figures);
    let point = |(cell, varied): (&Verdict, Map<String, Value>)| {
        let point = Point::new(cell.label.clone(), &varied, cell.found);
        point.against(cell.wanted).times(factor)
    };
    let varied = varied(&judged.verdicts, found.plan());
    let points: Vec<Point> = judged.verdicts.iter().zip(varied).map(point).collect();
    let source = if claim.source.is_empty() { "the source" } else { &claim.source };
    let mut caption = format!("{}: {title}. {}", found.plan().title, in_common(found.plan()));
    if !claim.common.is_empty() {
        caption += &format!(" Here: {}.", claim.common);
    }
    if points.iter().any(Point::is_published) {
        caption += &format!(" Diamonds and red ticks: what {source} gives.");
    }
    if scale == Scale::Quick {
        caption += &format!(" {QUICK}");
    }
    if name.contains("_us") {
        caption += &format!(" {SERIAL_CAVEAT}");
    }
    Figure {
        id: slug(&format!("{prefix} {}", claim.id)),
        title: format!("{}: {}", claim.id, claim.says),
        caption,
        spec: draw(&points, &title, Layout::default()),
        table: Some(cells(&judged.verdicts, factor)),
    }
}

/// What the row of each cell sets. Where all cells look at one value and compare it with many, such
/// as a share that adapts with every other share, each is told by the one it is compared with.
fn varied(verdicts: &[Verdict], plan: &Plan) -> Vec<Map<String, Value>> {
    let own = |cell: &Verdict| &plan.rows[cell.row].varied;
    let other = |cell: &Verdict| cell.over.map(|row| &plan.rows[row].varied);
    let is_told_by_other = |key: &str| {
        let first = &verdicts[0];
        verdicts.iter().all(|cell| own(cell).get(key) == own(first).get(key))
            && verdicts.iter().any(|cell| {
                other(cell).map(|row| row.get(key)) != other(first).map(|row| row.get(key))
            })
    };
    let of_cell = |cell: &Verdict| {
        let mut varied = own(cell).clone();
        for (key, value) in other(cell).into_iter().flatten() {
            if is_told_by_other(key) {
                varied.insert(key.clone(), value.clone());
            }
        }
        varied
    };
    verdicts.iter().map(of_cell).collect()
}

/// What is expected and what was found, cell by cell.
fn cells(verdicts: &[Verdict], factor: f64) -> Table {
    let row = |cell: &Verdict| {
        let off = cell.deviation().map(|off| format!("{:+.2} %", 100.0 * off));
        vec![
            cell.label.clone(),
            wanted(cell.wanted, factor),
            cell.found.map_or("–".into(), |found| number(found * factor)),
            off.unwrap_or("–".into()),
            cell.outcome.word().to_owned(),
        ]
    };
    let head = ["runs", "published", "measured", "off by", "verdict"].map(str::to_owned).to_vec();
    Table::new(head, verdicts.iter().map(row).collect())
}

fn wanted(wanted: Wanted, factor: f64) -> String {
    let number = |figure: f64| number(figure * factor);
    let other = |sign, figure: Option<f64>| format!("{sign} {}", figure.map_or("–".into(), number));
    match wanted {
        Wanted::About(figure) => number(figure),
        Wanted::Between(f64::NEG_INFINITY, high) => format!("≤ {}", number(high)),
        Wanted::Between(low, f64::INFINITY) => format!("≥ {}", number(low)),
        Wanted::Between(low, high) => format!("{} to {}", number(low), number(high)),
        Wanted::Below(figure) => other("<", figure),
        Wanted::Above(figure) => other(">", figure),
    }
}

/// A column of all rows.
fn overview(found: &Findings, column: usize, prefix: &str) -> Figure {
    let (plan, name) = (found.plan(), OVERVIEW[column]);
    let rows = plan.rows.iter().enumerate();
    let figures = (0..plan.rows.len()).filter_map(|row| found.overview(row, column));
    let (factor, title) = words::scaled(words::of(name), figures);
    let points: Vec<Point> = rows
        .map(|(index, row)| {
            let parts = row.varied.iter().map(|(key, value)| format!("{key}={value}"));
            let label = parts.collect::<Vec<_>>().join(" ").replace('"', "");
            Point::new(label, &row.varied, found.overview(index, column)).times(factor)
        })
        .collect();
    let caveat = if name.contains("_us") { SERIAL_CAVEAT } else { "" };
    Figure {
        id: slug(&format!("{prefix} all {name}")),
        title: title.clone(),
        caption: format!("{}: {title} of every run. {} {caveat}", plan.title, in_common(plan)),
        spec: draw(&points, &title, Layout::default()),
        table: None,
    }
}
