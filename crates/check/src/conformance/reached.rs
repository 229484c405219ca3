//! What cases without cuts have reached. A clean check says nothing about a part of an FTL that no
//! case has come to.

use std::collections::BTreeMap;

use ftl::{Ftl, Metric};

/// What cases without cuts have reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reached {
    /// Number of host operations after which the whole device was compared with the oracle.
    pub compared: u64,
    /// The most erases of a case.
    pub erases: u64,
    /// The largest value of each figure that a guest has reported at the end of a mount.
    pub figures: BTreeMap<String, f64>,
}

impl Reached {
    /// Notes the figures of an FTL.
    pub fn note_figures(&mut self, ftl: &dyn Ftl) {
        for (name, figure) in ftl.report().figures {
            if let Metric::Real(value) = figure {
                self.note(name, value);
            }
        }
    }

    fn note(&mut self, name: &str, value: f64) {
        let most = self.figures.entry(name.to_owned()).or_insert(value);
        *most = most.max(value);
    }

    /// Adds what other cases have reached.
    pub fn add(&mut self, other: &Reached) {
        self.compared += other.compared;
        self.erases = self.erases.max(other.erases);
        other.figures.iter().for_each(|(name, &value)| self.note(name, value));
    }

    /// The same as text: the two numbers, then a line for each figure, whose name has no control
    /// characters.
    pub fn to_text(&self) -> String {
        let figures = self.figures.iter().map(|(name, value)| format!("\n{value} {name}"));
        format!("{} {}{}", self.compared, self.erases, figures.collect::<String>())
    }

    /// What such a text says.
    pub fn from_text(text: &str) -> Option<Reached> {
        let mut lines = text.split('\n').map(|line| line.split_once(' '));
        let (compared, erases) = lines.next()??;
        let figure = |line: Option<(&str, &str)>| {
            let (value, name) = line?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Some(Reached {
            compared: compared.parse().ok()?,
            erases: erases.parse().ok()?,
            figures: lines.map(figure).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(compared: u64, erases: u64, figures: &[(&str, f64)]) -> Reached {
        let figures = figures.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Reached { compared, erases, figures }
    }

    #[test]
    fn of_several_cases_the_largest_figures_count() {
        let mut all = reached(3, 7, &[("merges", 2.0), ("least", -4.0)]);
        all.add(&reached(4, 5, &[("merges", 9.0), ("moves", 0.0), ("least", -6.0)]));
        let most = [("merges", 9.0), ("moves", 0.0), ("least", -4.0)];
        assert_eq!(all, reached(7, 7, &most));
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        for figures in [&[][..], &[("merges", 2.5), ("", 1e300), ("two words", f64::INFINITY)]] {
            let some = reached(12, 3, figures);
            assert_eq!(Reached::from_text(&some.to_text()), Some(some));
        }
        for torn in ["", "1", "1 x", "1 2\n", "1 2\nx merges"] {
            assert_eq!(Reached::from_text(torn), None, "{torn:?}");
        }
    }
}
