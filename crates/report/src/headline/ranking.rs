//! What is best, and what cannot be told apart from it.

/// A value with the name of what has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The name.
    pub name: String,
    /// The value.
    pub value: f64,
    /// How far the value is from sure, as a share of it; none if that is not known.
    pub spread: Option<f64>,
}

impl Measure {
    /// The ends between which the value is.
    fn ends(&self) -> [f64; 2] {
        let reach = self.value.abs() * self.spread.unwrap_or(0.0).max(ALIKE);
        [self.value - reach, self.value + reach]
    }

    fn overlaps(&self, other: &Measure) -> bool {
        let ([low, high], [other_low, other_high]) = (self.ends(), other.ends());
        low <= other_high && other_low <= high
    }
}

/// Values that differ by less than twice this share are shown alike, and called equal.
const ALIKE: f64 = 0.0005;

/// Measures from the best to the worst.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// The best one, those whose uncertainty overlaps with its, and all between them: none of the
    /// others is better than one of these.
    pub best: Vec<Measure>,
    /// The others.
    pub others: Vec<Measure>,
}

impl Ranking {
    /// The ranking of these measures, of which the least is the best; none of no finite measures.
    pub fn of_least(measures: impl IntoIterator<Item = Measure>) -> Option<Ranking> {
        Ranking::of(measures, |value| value)
    }

    /// The ranking of these measures, of which the largest is the best; none of no finite measures.
    pub fn of_most(measures: impl IntoIterator<Item = Measure>) -> Option<Ranking> {
        Ranking::of(measures, |value| -value)
    }

    fn of(measures: impl IntoIterator<Item = Measure>, cost: fn(f64) -> f64) -> Option<Ranking> {
        let finite = measures.into_iter().filter(|measure| measure.value.is_finite());
        let mut all: Vec<Measure> = finite.collect();
        all.sort_by(|a, b| cost(a.value).total_cmp(&cost(b.value)));
        let first = all.first()?;
        let alike = all.iter().rposition(|measure| measure.overlaps(first))? + 1;
        let others = all.split_off(alike);
        Some(Ranking { best: all, others })
    }

    /// The best measure.
    pub fn first(&self) -> &Measure {
        &self.best[0]
    }

    /// The names of the best and of those that cannot be told from it.
    pub fn best_names(&self) -> Vec<String> {
        self.best.iter().map(|measure| measure.name.clone()).collect()
    }

    /// The largest uncertainty among those that are best; none if none is known.
    pub fn spread(&self) -> Option<f64> {
        self.best.iter().filter_map(|measure| measure.spread).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(name: &str, value: f64, spread: Option<f64>) -> Measure {
        Measure { name: name.into(), value, spread }
    }

    #[test]
    fn what_overlaps_with_the_best_cannot_be_told_from_it() {
        let all = [
            measure("far", 3.0, None),
            measure("unsure", 2.5, Some(0.3)),
            measure("close", 2.1, Some(0.02)),
            measure("best", 2.0, Some(0.03)),
            measure("none", f64::NAN, None),
        ];
        let ranking = Ranking::of_least(all.clone()).unwrap();
        assert_eq!(ranking.best_names(), ["best", "close", "unsure"]);
        assert_eq!(ranking.others, [all[0].clone()]);
        assert_eq!((ranking.spread(), ranking.first().value), (Some(0.3), 2.0));
        assert_eq!(Ranking::of_most(all.clone()).unwrap().best_names(), ["far", "unsure"]);
        assert_eq!(Ranking::of_least([]), None);
        let between = [all[1].clone(), measure("sure", 2.3, Some(0.01)), all[3].clone()];
        let ranking = Ranking::of_least(between).unwrap();
        assert_eq!(
            ranking.best_names(),
            ["best", "sure", "unsure"],
            "it is better than one of them"
        );
    }
}
