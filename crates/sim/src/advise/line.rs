//! A line through write amplifications by the number of extra blocks.

/// The line that fits points best (least squares).
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its value at the mean of the points.
    mean: (f64, f64),
    /// Its slope for an extra block.
    pub slope: f64,
}

impl Line {
    /// The line through these points; none if they do not differ in their extra blocks.
    pub fn through(points: &[(u64, f64)]) -> Option<Line> {
        let count = points.len() as f64;
        let mean = |of: fn(&(u64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mean_x, mean_y) = (mean(|point| point.0 as f64), mean(|point| point.1));
        let moment: f64 = points.iter().map(|it| (it.0 as f64 - mean_x) * (it.1 - mean_y)).sum();
        let squares: f64 = points.iter().map(|it| (it.0 as f64 - mean_x).powi(2)).sum();
        (squares > 0.0).then(|| Line { mean: (mean_x, mean_y), slope: moment / squares })
    }

    /// The largest distance of a point from the line, as a share of the mean.
    pub fn farthest(&self, points: &[(u64, f64)]) -> f64 {
        let (mean_x, mean_y) = self.mean;
        let off = |it: &(u64, f64)| (it.1 - mean_y - self.slope * (it.0 as f64 - mean_x)).abs();
        points.iter().map(off).fold(0.0, f64::max) / mean_y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_are_not_far_from_it() {
        let falling = [(1, 5.0), (2, 4.0), (3, 3.0)];
        let line = Line::through(&falling).unwrap();
        assert!(line.slope == -1.0 && line.farthest(&falling) < 1e-12, "{line:?}");
        let kink = [(1, 4.0), (2, 1.0), (3, 4.0)];
        let farthest = Line::through(&kink).unwrap().farthest(&kink);
        assert!((farthest - 2.0 / 3.0).abs() < 1e-12, "mean 3, 1 is 2 off");
        assert!(Line::through(&[(7, 2.0)]).is_none());
    }
}
