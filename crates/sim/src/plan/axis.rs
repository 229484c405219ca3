//! What a grid or a list varies: axes of points, a point being what is set together.

use core::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::assignment::{Setting, entries, settings};
use super::{Fault, Parsed, Part, ROWS_MAX};

/// The points that one key of a grid or list goes through.
pub(super) struct Axis {
    name: String,
    at: Range<usize>,
    points: Vec<Vec<Setting>>,
}

/// The axes of a grid or list, in the order in which they are written.
pub(super) fn axes(part: &Part) -> Parsed<Vec<Axis>> {
    let axis = |(name, at, value): (String, Range<usize>, &Spanned<DeValue>)| {
        let points = points(&name, at.clone(), value)?;
        Ok(Axis { name, at, points })
    };
    let axes: Vec<Axis> = entries(part.table).into_iter().map(axis).collect::<Parsed<_>>()?;
    match axes.is_empty() {
        true => Err(Fault::new(part.at.clone(), "there is nothing here to vary")),
        false => Ok(axes),
    }
}

/// A list of values, a list of tables that set several options each, or one value.
fn points(name: &str, at: Range<usize>, value: &Spanned<DeValue>) -> Parsed<Vec<Vec<Setting>>> {
    let alone = |value: &Spanned<DeValue>| Ok(vec![Setting::new(name, at.clone(), value)?]);
    match value.get_ref().as_array() {
        None => Ok(vec![alone(value)?]),
        Some(values) if values.is_empty() => {
            Err(Fault::new(value.span(), format!("`{name}` has no values")))
        }
        Some(values) => values
            .iter()
            .map(|value| match value.get_ref().as_table() {
                Some(table) => settings(table),
                None => alone(value),
            })
            .collect(),
    }
}

/// What the rows of a grid or list set.
type Combinations<'a> = Parsed<Vec<Vec<&'a Setting>>>;

/// Every combination of points, the last axis fastest.
pub(super) fn product<'a>(axes: &'a [Axis]) -> Combinations<'a> {
    let mut rows: Vec<Vec<&'a Setting>> = vec![Vec::new()];
    for axis in axes {
        let count = rows.len() * axis.points.len();
        if count > ROWS_MAX {
            let what = format!("`{}` makes more than {ROWS_MAX} rows; split the plan", axis.name);
            return Err(Fault::new(axis.at.clone(), what));
        }
        let extended = |row: Vec<&'a Setting>| {
            let point = |point: &'a Vec<Setting>| row.iter().copied().chain(point).collect();
            axis.points.iter().map(point).collect::<Vec<_>>()
        };
        rows = rows.into_iter().flat_map(extended).collect();
    }
    Ok(rows)
}

/// The first point of each axis, the second of each, and so on; an axis of one point stays there.
pub(super) fn side_by_side(axes: &[Axis]) -> Combinations<'_> {
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
        let point = |axis: &'_ Axis| axis.points.len().min(index + 1) - 1;
        axes.iter().flat_map(|axis| &axis.points[point(axis)]).collect()
    };
    Ok((0..count).map(row).collect())
}
