//! Charts of the rows of a sweep, measured and published, over the parameter that varies.
//!
//! The parameter on the axis is the one with the most numeric values, at least three. The other
//! parameters that vary name the curves. A row without a number on the axis, such as an adaptive
//! share, becomes a horizontal line. If no parameter is numeric, each row becomes a bar.

mod axis;
mod bars;
mod point;

use serde_json::Value;

use crate::figure::spec;
use axis::Axis;
pub use point::Point;

/// The parameters that a chart is drawn over. Those not given are chosen from the points.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facets<'a> {
    /// The parameter on the axis.
    pub along: Option<&'a str>,
    /// The parameter with a panel for each of its values.
    pub each: Option<&'a str>,
}

/// Whether these points become bars although a parameter for axis or panels is given: too few of
/// its values are numbers, or not all points have it.
pub fn are_bars_nevertheless(points: &[Point], facets: Facets) -> bool {
    let is_given = facets.along.or(facets.each).is_some();
    is_given && Axis::choose(points, facets.along, facets.each).is_none()
}

/// The Vega-Lite spec of a chart of these points. `title` labels the axis of their values.
pub fn draw(points: &[Point], title: &str, facets: Facets) -> Value {
    let (values, parts) = match Axis::choose(points, facets.along, facets.each) {
        Some(axis) => axis.curves(points, title),
        None => bars::bars(points, title),
    };
    spec(values, parts)
}
