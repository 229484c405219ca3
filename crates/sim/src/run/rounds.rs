//! Rounds until a steady state, and the judgement of their windows.
//!
//! ```text
//! round    1 | 2  3 | 4  5  6  7  8    the window of rounds 2 and 3 is given up: they differ by
//! WA       1 | 3  4 | 5  5  5  5  5    too much already; that of rounds 4 to 8 is steady
//! ```
//! No window contains the first round, in which the extra blocks fill: it would be cheap.
//!
//! The counters of a run are set to zero when a window begins, so that the result is that of the
//! window. Therefore windows do not overlap. SNIA's window slides, so it may end a few rounds
//! earlier; every window that ends a run here would end it there.

use crate::config::until::{SteadyRule, WINDOW};
use crate::result::run_result::SteadyPart;

/// Figures of the values of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFigures {
    /// Their mean.
    pub mean: f64,
    /// The difference of the largest and the smallest, as a share of the mean.
    pub range: f64,
    /// The slope of the line that fits them best (least squares), a round.
    pub slope: f64,
    /// The difference of the largest and the smallest value of that line, as a share of the mean.
    pub rise: f64,
}

impl WindowFigures {
    /// The figures of these values; none if one is missing, or if there are none.
    pub fn of(values: &[Option<f64>]) -> Option<WindowFigures> {
        let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
        let (count, last) = (values.len() as f64, values.len().checked_sub(1)? as f64);
        let mean = values.iter().sum::<f64>() / count;
        let distances = (0..values.len()).map(|round| round as f64 - last / 2.0);
        let moment: f64 = distances.clone().zip(&values).map(|(x, value)| x * value).sum();
        let squares: f64 = distances.map(|x| x * x).sum();
        let slope = if squares > 0.0 { moment / squares } else { 0.0 };
        let (least, most) = extremes(&values);
        Some(WindowFigures {
            mean,
            range: (most - least) / mean,
            slope,
            rise: slope.abs() * last / mean,
        })
    }

    /// Whether a window with these figures is one of a steady state.
    pub fn is_steady(&self, rule: &SteadyRule) -> bool {
        self.range <= rule.range.as_f64() && self.rise <= rule.slope.as_f64()
    }
}

fn extremes(values: &[f64]) -> (f64, f64) {
    let extend = |(least, most): (f64, f64), &value: &f64| (least.min(value), most.max(value));
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), extend)
}

/// What follows from a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The window goes on.
    GoesOn,
    /// Another window begins with the next round.
    Restarts,
    /// The window is one of a steady state.
    Steady,
    /// There is no steady state, and no room for another window.
    GivenUp,
    /// So much waits in the queue that no further round can be served.
    Swamped,
}

/// The rounds so far. Windows follow each other; the last one has begun.
#[derive(Clone, Debug)]
pub struct Rounds {
    rule: SteadyRule,
    round_pages: u64,
    values: Vec<Option<f64>>,
    /// The index of the first round of the window.
    first: usize,
}

impl Rounds {
    /// No rounds yet, on a device with this number of logical pages.
    pub fn new(rule: SteadyRule, logical_pages: u32) -> Rounds {
        let round_pages = rule.round_pages(logical_pages);
        Rounds { rule, round_pages, values: Vec::new(), first: 0 }
    }

    /// Pages that the host writes in a round.
    pub fn round_pages(&self) -> u64 {
        self.round_pages
    }

    /// The number of rounds so far.
    pub fn count(&self) -> u32 {
        self.values.len() as u32
    }

    /// The number of rounds of the window so far.
    pub fn in_window(&self) -> u64 {
        self.window().len() as u64
    }

    fn window(&self) -> &[Option<f64>] {
        &self.values[self.first..]
    }

    /// Adds the write amplification of a round.
    ///
    /// A window that can no longer be steady is not finished if there is room for another one.
    pub fn add(&mut self, write_amplification: Option<f64>) -> Verdict {
        self.values.push(write_amplification);
        let is_whole = self.window().len() == WINDOW;
        let figures = WindowFigures::of(self.window());
        if is_whole && figures.is_some_and(|figures| figures.is_steady(&self.rule)) {
            return Verdict::Steady;
        }
        let has_room = self.values.len() + WINDOW <= self.rule.rounds as usize;
        let is_first = self.values.len() == 1;
        match is_first || is_whole || self.is_hopeless() {
            true if has_room => {
                self.first = self.values.len();
                Verdict::Restarts
            }
            _ if is_whole => Verdict::GivenUp,
            _ => Verdict::GoesOn,
        }
    }

    /// Whether the window cannot become steady, whatever the next rounds are: its values differ by
    /// more than the allowed share of the largest, and so of every mean. A larger value would add
    /// as much to the difference as to the largest.
    fn is_hopeless(&self) -> bool {
        let known: Vec<f64> = self.window().iter().flatten().copied().collect();
        let (least, most) = extremes(&known);
        known.len() < self.window().len() || most - least > self.rule.range.as_f64() * most
    }

    /// What a result says about the rounds.
    pub fn part(&self, verdict: Verdict) -> SteadyPart {
        let figures = WindowFigures::of(self.window());
        SteadyPart {
            reached: verdict == Verdict::Steady,
            rounds: self.count(),
            round_pages: self.round_pages,
            first_measured: self.first as u32 + 1,
            write_amplification: self.values.clone(),
            mean: figures.map(|it| it.mean),
            range: figures.map(|it| it.range),
            slope: figures.map(|it| it.slope),
            rise: figures.map(|it| it.rise),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(values: &[f64]) -> WindowFigures {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        WindowFigures::of(&values).unwrap()
    }

    /// By hand: mean 3, slope (−2·2 − 2 + 0 + 4 + 2·4) / 10.
    #[test]
    fn figures_of_a_window_are_those_of_least_squares() {
        let found = figures(&[2.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!((found.mean, found.slope), (3.0, 0.6));
        assert!((found.range - 2.0 / 3.0).abs() < 1e-12 && (found.rise - 0.8).abs() < 1e-12);
        let flat = figures(&[1.0; 5]);
        assert_eq!((flat.mean, flat.range, flat.slope, flat.rise), (1.0, 0.0, 0.0, 0.0));
        assert_eq!(figures(&[2.0]).slope, 0.0);
        assert_eq!((WindowFigures::of(&[]), WindowFigures::of(&[Some(1.0), None])), (None, None));
    }

    #[test]
    fn both_conditions_of_the_rule_count() {
        let is_steady =
            |values: &[f64], rule: &str| figures(values).is_steady(&rule.parse().unwrap());
        // Range 19 %, no slope; range 21 %.
        assert!(is_steady(&[3.0, 3.6, 3.3, 3.0, 3.6, 3.3][..5], "steady"));
        assert!(!is_steady(&[3.0, 3.7, 3.3, 3.0, 3.3], "steady"));
        // The line rises by 10.1 %, the range is the same; and a falling one.
        assert!(!is_steady(&[1.0, 1.025, 1.053, 1.08, 1.107], "steady"));
        assert!(!is_steady(&[1.107, 1.08, 1.053, 1.025, 1.0], "steady"));
        assert!(is_steady(&[1.0, 1.025, 1.05, 1.075, 1.1], "steady"));
        assert!(!is_steady(&[1.0, 1.025, 1.05, 1.075, 1.1], "steady:slope=5%"));
        assert!(!is_steady(&[3.0, 3.6, 3.3, 3.0, 3.6], "steady:range=10%"));
    }

    /// The verdicts on rounds with these values.
    fn verdicts(rule: &str, values: &[f64]) -> (Vec<Verdict>, SteadyPart) {
        let mut rounds = Rounds::new(rule.parse().unwrap(), 100);
        let verdicts: Vec<_> = values.iter().map(|&value| rounds.add(Some(value))).collect();
        let part = rounds.part(verdicts[verdicts.len() - 1]);
        (verdicts, part)
    }

    use Verdict::{GivenUp, GoesOn, Restarts, Steady};

    #[test]
    fn no_window_contains_the_first_round() {
        let (found, part) = verdicts("steady", &[3.0; 6]);
        assert_eq!(found, [Restarts, GoesOn, GoesOn, GoesOn, GoesOn, Steady]);
        assert_eq!((part.rounds, part.first_measured), (6, 2));
    }

    #[test]
    fn a_window_begins_anew_as_soon_as_it_is_hopeless() {
        let (found, part) = verdicts("steady", &[0.0, 1.0, 2.0, 3.0, 3.1, 3.0, 3.1, 3.0]);
        let rest = [GoesOn, GoesOn, GoesOn, GoesOn, Steady];
        assert_eq!(found, [&[Restarts, GoesOn, Restarts][..], &rest].concat());
        assert_eq!((part.rounds, part.first_measured, part.reached), (8, 4, true));
        assert!((part.mean.unwrap() - 3.04).abs() < 1e-12);
        assert_eq!(part.write_amplification.len(), 8);
    }

    #[test]
    fn a_drift_within_the_range_takes_whole_windows() {
        let rising: Vec<f64> = (0..11).map(|round| 3.0 + 0.1 * f64::from(round)).collect();
        let (found, part) = verdicts("steady:rounds=11", &rising);
        assert_eq!((found[5], found[10]), (Restarts, GivenUp));
        assert_eq!((part.first_measured, part.reached), (7, false));
        assert!(part.rise.unwrap() > 0.1);
    }

    #[test]
    fn a_hopeless_window_is_finished_if_there_is_no_room_for_another() {
        let (found, part) = verdicts("steady:rounds=7", &[0.0, 1.0, 2.0, 3.0, 3.0, 3.0]);
        assert_eq!(found, [Restarts, GoesOn, GoesOn, GoesOn, GoesOn, GivenUp]);
        assert_eq!((part.rounds, part.first_measured, part.reached), (6, 2, false));
    }

    #[test]
    fn rounds_without_pages_are_not_steady() {
        let mut rounds = Rounds::new("steady:rounds=6".parse().unwrap(), 100);
        assert_eq!(rounds.add(None), Restarts);
        let rest: Vec<_> = (0..5).map(|_| rounds.add(None)).collect();
        assert_eq!(rest, [GoesOn, GoesOn, GoesOn, GoesOn, GivenUp]);
        assert_eq!(rounds.part(GivenUp).mean, None);
    }
}
