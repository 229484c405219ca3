//! Drawings of plans: what a paper's figure shows, measured, whether or not something is claimed.

use sim::clock::SERIAL_CAVEAT;
use sim::plan::Scale;
use sim::plan::drawing::{Cell, Drawing, Drawn, Portrait};
use sim::plan::metric::Metric;
use sim::sweep::Findings;

use crate::curves::{Layout, Point, draw};
use crate::figure::{Figure, Table, slug};
use crate::plans::{QUICK, in_common};
use crate::runs::{self, Run};
use crate::traces::{self, Traced};
use crate::words::{self, number};

/// The drawings of a plan; `prefix` keeps names apart in a page of several. One whose runs all
/// failed, or whose traces are all missing, is not there.
pub fn figures(found: &Findings, scale: Scale, prefix: &str) -> Vec<Figure> {
    let drawings = found.plan().drawings.iter().enumerate();
    let figure = |(at, drawing): (usize, &Drawing)| {
        let figure = match &drawing.of {
            Drawn::Figure(of) => points(at, drawing, of, found),
            Drawn::Portrait(portrait) => portraits(at, *portrait, found),
            Drawn::Traces(portrait) => {
                let traces = found.traces(at).map(|(label, found)| Traced { label, found });
                traces::portrait(*portrait, &traces.collect::<Vec<_>>())
            }
        }?;
        let plan = found.plan();
        let mut caption = format!("{}: {}", plan.title, figure.caption);
        if !drawing.common.is_empty() {
            caption += &format!(" Here: {}.", drawing.common);
        }
        if !drawing.source.is_empty() {
            caption += &format!(" The published one: {}.", drawing.source);
        }
        if scale == Scale::Quick {
            caption += &format!(" {QUICK}");
        }
        let id = slug(&format!("{prefix} {}", drawing.id));
        let title = format!("{}: {}", drawing.id, drawing.says);
        Some(Figure { id, title, caption, ..figure })
    };
    drawings.filter_map(figure).collect()
}

/// A point a row.
fn points(at: usize, drawing: &Drawing, of: &Metric, found: &Findings) -> Option<Figure> {
    let cells = found.cells(at);
    let rows = &found.plan().rows;
    let name = of.to_string();
    let figures = cells.iter().filter_map(|cell| cell.found);
    let (factor, title) = words::axis(&name, &drawing.says, drawing.is_relative(), figures);
    let point = |cell: &Cell| {
        Point::new(cell.label.to_owned(), &rows[cell.row].varied, cell.found).times(factor)
    };
    let points: Vec<Point> = cells.iter().map(point).collect();
    let mut caption = format!("{title}. {}", in_common(found.plan()));
    if name.contains("_us") {
        caption += &format!(" {SERIAL_CAVEAT}");
    }
    let layout = Layout { along: drawing.along.as_deref(), each: drawing.each.as_deref() };
    let line = |cell: &Cell| {
        let found = cell.found.map_or("–".into(), |found| number(found * factor));
        vec![cell.label.to_owned(), found]
    };
    let head = vec!["runs".to_owned(), title.clone()];
    let has_any = cells.iter().any(|cell| cell.found.is_some());
    has_any.then(|| Figure {
        spec: draw(&points, &title, layout),
        table: Some(Table::new(head, cells.iter().map(line).collect())),
        caption,
        ..Figure::default()
    })
}

/// A curve or a picture a row.
fn portraits(at: usize, portrait: Portrait, found: &Findings) -> Option<Figure> {
    let cells = found.cells(at);
    let whole = |cell: &Cell| Some((cell.label.to_owned(), found.whole(cell.row)?));
    let whole: Vec<_> = cells.iter().filter_map(whole).collect();
    let runs: Vec<Run> = whole.iter().map(|(label, result)| Run { label, result }).collect();
    if runs.is_empty() { None } else { runs::portrait(portrait, &runs) }
}
