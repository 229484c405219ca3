//! The values of a grid or list. Each of its keys is an axis; each point on an axis is a set of
//! assignments that belong together.

use core::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::plan::assignment::{Assignment, assignments, entries};
use crate::plan::document::{Fault, OrFault, TablePart};
use crate::plan::row::ROWS_MAX;

/// One key of a grid or list and its points.
pub(super) struct GridAxis {
    name: String,
    at: Range<usize>,
    points: Vec<Vec<Assignment>>,
}

/// The axes of a grid or list, in the order in which they are written.
pub(super) fn axes(part: &TablePart) -> OrFault<Vec<GridAxis>> {
    let axis = |(name, at, value): (String, Range<usize>, &Spanned<DeValue>)| {
        let points = points(&name, at.clone(), value)?;
        Ok(GridAxis { name, at, points })
    };
    let axes: Vec<GridAxis> = entries(part.table).into_iter().map(axis).collect::<OrFault<_>>()?;
    match axes.is_empty() {
        true => Err(Fault::new(part.at.clone(), "there is nothing to vary here")),
        false => Ok(axes),
    }
}

/// The points of an axis: a list of values, a list of tables that set several options each, or one
/// value.
fn points(name: &str, at: Range<usize>, value: &Spanned<DeValue>) -> OrFault<Vec<Vec<Assignment>>> {
    let alone = |value: &Spanned<DeValue>| Ok(vec![Assignment::new(name, at.clone(), value)?]);
    match value.get_ref().as_array() {
        None => Ok(vec![alone(value)?]),
        Some(values) if values.is_empty() => {
            Err(Fault::new(value.span(), format!("`{name}` has no values")))
        }
        Some(values) => values
            .iter()
            .map(|value| match value.get_ref().as_table() {
                Some(table) => assignments(table),
                None => alone(value),
            })
            .collect(),
    }
}

/// For each row of a grid or list, its assignments.
type Combinations<'a> = OrFault<Vec<Vec<&'a Assignment>>>;

/// Every combination of points, the last axis fastest.
pub(super) fn product<'a>(axes: &'a [GridAxis]) -> Combinations<'a> {
    let mut rows: Vec<Vec<&'a Assignment>> = vec![Vec::new()];
    for axis in axes {
        let count = rows.len() * axis.points.len();
        if count > ROWS_MAX {
            let what = format!("`{}` makes more than {ROWS_MAX} rows; split the plan", axis.name);
            return Err(Fault::new(axis.at.clone(), what));
        }
        let extended = |row: Vec<&'a Assignment>| {
            let point = |point: &'a Vec<Assignment>| row.iter().copied().chain(point).collect();
            axis.points.iter().map(point).collect::<Vec<_>>()
        };
        rows = rows.into_iter().flat_map(extended).collect();
    }
    Ok(rows)
}

/// The first point of each axis, then the second point of each, and so on. An axis of one point is
/// used for all rows.
pub(super) fn side_by_side(axes: &[GridAxis]) -> Combinations<'_> {
    let count = axes.iter().map(|axis| axis.points.len()).max().unwrap_or(0);
    for axis in axes {
        let points = axis.points.len();
        if points != 1 && points != count {
            let what = format!(
                "`{}` has {points} values, another key of this list has {count}: they go side by \
                 side",
                axis.name
            );
            return Err(Fault::new(axis.at.clone(), what));
        }
    }
    let row = |index| {
        let point = |axis: &'_ GridAxis| axis.points.len().min(index + 1) - 1;
        axes.iter().flat_map(|axis| &axis.points[point(axis)]).collect()
    };
    Ok((0..count).map(row).collect())
}
