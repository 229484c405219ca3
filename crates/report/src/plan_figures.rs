//! The figures that a plan asks for in its `[[drawing]]` entries, apart from those of its claims.

use sim::plan::drawing::{Drawing, Drawn, DrawnCell, Portrait};
use sim::plan::quantity::Quantity;
use sim::sweep::Findings;

use crate::axis_labels::metric_axis;
use crate::charts::{Facets, Point, are_bars_nevertheless, draw};
use crate::figure::{DataTable, Figure, slug};
use crate::number_format::number;
use crate::runs::{self, LabelledResult, capitalised};
use crate::traces::{self, LabelledTrace};

/// The figures of a plan's drawings. `prefix` makes their ids unique in a page with several plans.
/// A drawing is left out if all its runs failed or all its traces are missing.
pub fn figures(found: &Findings, prefix: &str) -> Vec<Figure> {
    let drawings = found.plan().drawings.iter().enumerate();
    let figure = |(at, drawing): (usize, &Drawing)| {
        let figure = content(at, drawing, found)?;
        let mut caption = figure.caption;
        if !drawing.common.is_empty() {
            caption += &format!(" Runs shown: {}.", drawing.common);
        }
        if !drawing.source.is_empty() {
            caption += &format!(" Source: {}.", drawing.source);
        }
        let id = slug(&format!("{prefix} {}", drawing.id));
        let title = format!("{}: {}", drawing.id, drawing.says);
        Some(Figure { id, title, caption, ..figure })
    };
    drawings.filter_map(figure).collect()
}

/// A sentence on each drawing that is left out because its rows have nothing to show. Traces
/// that could not be read are named elsewhere.
pub fn left_out(found: &Findings) -> Vec<String> {
    let drawings = found.plan().drawings.iter().enumerate();
    let of_rows = drawings.filter(|(_, drawing)| !matches!(drawing.of, Drawn::Traces(_)));
    let empty = of_rows.filter(|(at, drawing)| content(*at, drawing, found).is_none());
    let says = |drawing: &Drawing| {
        let id = &drawing.id;
        format!("Drawing {id} is left out: its rows have nothing to show, or it never changes.")
    };
    empty.map(|(_, drawing)| says(drawing)).collect()
}

/// The content of a drawing, without its own title and caption.
fn content(at: usize, drawing: &Drawing, found: &Findings) -> Option<Figure> {
    match &drawing.of {
        Drawn::Figure(of) => points(at, drawing, of, found),
        Drawn::Portrait(portrait) => portraits(at, *portrait, found),
        Drawn::Traces(portrait) => {
            let traces = found.traces(at).map(|(label, found)| LabelledTrace { label, found });
            traces::portrait(*portrait, &traces.collect::<Vec<_>>())
        }
    }
}

/// One point per row.
fn points(at: usize, drawing: &Drawing, of: &Quantity, found: &Findings) -> Option<Figure> {
    let cells = found.cells(at);
    let rows = &found.plan().rows;
    let name = of.to_string();
    let values = cells.iter().filter_map(|cell| cell.found);
    let (factor, title) = metric_axis(&name, &drawing.says, drawing.is_relative(), values);
    let point = |cell: &DrawnCell| {
        Point::new(cell.label.to_owned(), &rows[cell.row].varied, cell.found).times(factor)
    };
    let points: Vec<Point> = cells.iter().map(point).collect();
    let facets = Facets { along: drawing.along.as_deref(), each: drawing.each.as_deref() };
    let bars = match are_bars_nevertheless(&points, facets) {
        true => " Bars: an axis needs three numbers or more of an option that all rows set.",
        false => "",
    };
    let caption = format!("{}.{bars}", capitalised(&title));
    let line = |cell: &DrawnCell| {
        let found = cell.found.map_or("–".into(), |found| number(found * factor));
        vec![cell.label.to_owned(), found]
    };
    let head = vec!["runs".to_owned(), title.clone()];
    let has_any = cells.iter().any(|cell| cell.found.is_some());
    has_any.then(|| Figure {
        spec: draw(&points, &title, facets),
        table: Some(DataTable::new(head, cells.iter().map(line))),
        caption,
        ..Figure::default()
    })
}

/// One curve or panel per row.
fn portraits(at: usize, portrait: Portrait, found: &Findings) -> Option<Figure> {
    let cells = found.cells(at);
    let result = |cell: &DrawnCell| Some((cell.label.to_owned(), found.whole(cell.row)?));
    let results: Vec<_> = cells.iter().filter_map(result).collect();
    let labelled = results.iter().map(|(label, result)| LabelledResult { label, result });
    let runs: Vec<LabelledResult> = labelled.collect();
    if runs.is_empty() { None } else { runs::portrait(portrait, &runs) }
}
