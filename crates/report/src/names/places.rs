//! Where names stand beside their points, so that none covers another.
//!
//! Places are found for a narrow page. On a wider one points are further apart, so they hold there,
//! too.

/// A point with a name, which may be empty. A coordinate on a logarithmic axis is a logarithm.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub name: String,
    pub x: f64,
    pub y: f64,
}

/// The side of a point on which its name stands: alignment, and offsets in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Side {
    pub align: &'static str,
    pub dx: f64,
    pub dy: f64,
}

/// Where a name stands if nothing else is there.
const FIRST: Side = Side { align: "left", dx: 9.0, dy: 0.0 };

/// Width of the view on a narrow page, in pixels.
const WIDTH: f64 = 265.0;
/// Width of a letter, and half of the height of a line.
const LETTER: f64 = 7.2;
const HALF_LINE: f64 = 8.0;
/// Half of the size of a point.
const HALF_POINT: f64 = 6.0;

/// The sides that are tried, the best first; then ever further above and below.
fn sides() -> impl Iterator<Item = Side> {
    let beside = |align, dx| move |dy| Side { align, dx, dy };
    let steps = [0.0, -13.0, 13.0, -26.0, 26.0, -39.0, 39.0, -52.0, 52.0, -65.0, 65.0];
    steps.into_iter().flat_map(move |dy| [beside("left", 9.0)(dy), beside("right", -9.0)(dy)])
}

/// A box: left, right, top, bottom.
type Frame = [f64; 4];

fn overlap(a: &Frame, b: &Frame) -> bool {
    a[0] < b[1] && b[0] < a[1] && a[2] < b[3] && b[2] < a[3]
}

/// The least and the largest of these coordinates.
pub(crate) fn extent(coordinates: impl Iterator<Item = f64>) -> [f64; 2] {
    coordinates
        .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], it| [low.min(it), high.max(it)])
}

/// A side for each point, in a view of this height whose axes have these ends.
pub(crate) fn places(points: &[Place], x: [f64; 2], y: [f64; 2], height: f64) -> Vec<Side> {
    let share = |at: f64, [low, high]: [f64; 2]| (at - low) / (high - low).max(f64::MIN_POSITIVE);
    let across: Vec<f64> = points.iter().map(|point| share(point.x, x)).collect();
    let up: Vec<f64> = points.iter().map(|point| share(point.y, y)).collect();
    let centre = |at: usize| (across[at] * WIDTH, (1.0 - up[at]) * height);
    let mut taken: Vec<Frame> = (0..points.len())
        .map(|at| {
            let (x, y) = centre(at);
            [x - HALF_POINT, x + HALF_POINT, y - HALF_POINT, y + HALF_POINT]
        })
        .collect();
    let mut found = Vec::new();
    for (at, point) in points.iter().enumerate() {
        let (x, y) = centre(at);
        let length = point.name.chars().count() as f64 * LETTER;
        let frame = |side: &Side| -> Frame {
            let from = if side.align == "left" { x + side.dx } else { x + side.dx - length };
            [from, from + length, y + side.dy - HALF_LINE, y + side.dy + HALF_LINE]
        };
        let fits = |side: &Side| {
            let own = frame(side);
            let is_inside = own[0] >= 0.0 && own[1] <= WIDTH + 10.0 && own[2] >= -8.0;
            is_inside
                && own[3] <= height + HALF_LINE
                && !taken.iter().any(|other| overlap(&own, other))
        };
        if length == 0.0 {
            found.push(FIRST);
            continue;
        }
        let side = sides().find(fits).unwrap_or(FIRST);
        taken.push(frame(&side));
        found.push(side);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str, x: f64, y: f64) -> Place {
        Place { name: name.into(), x, y }
    }

    #[test]
    fn a_name_stands_to_the_right_unless_that_is_taken() {
        let points = [place("page", 0.0, 0.0), place("dac", 0.4, 0.0), place("fast", 4.6, 2.2)];
        let sides = places(&points, [0.0, 4.6], [0.0, 2.2], 300.0);
        assert_eq!(sides[0].align, "left");
        assert!(sides[0].dy != 0.0, "dac's point is there: {sides:?}");
        assert_eq!((sides[1].align, sides[1].dy), ("left", 0.0));
        assert_eq!(sides[2].align, "right", "the frame ends there");
    }

    #[test]
    fn points_in_one_place_have_names_above_each_other() {
        let points: Vec<Place> = ["a", "b", "c"].map(|name| place(name, 5.0, 5.0)).to_vec();
        let sides = places(&points, [5.0, 5.0], [0.0, 5.0], 300.0);
        assert!(sides[0] != sides[1] && sides[1] != sides[2] && sides[0] != sides[2], "{sides:?}");
    }
}
