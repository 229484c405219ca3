//! What cases have reached. A clean check says nothing about a part of an FTL that no case has come
//! to.

use std::collections::BTreeMap;

use ftl::{Ftl, Metric};

/// What cases without cuts have reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reached {
    /// Number of host operations after which the whole device was compared with the oracle.
    pub compared: u64,
    /// The most erases of a case.
    pub erases: u64,
    /// The figures of a guest.
    pub figures: Figures,
}

impl Reached {
    /// Adds what other cases have reached.
    pub fn add(&mut self, other: &Reached) {
        self.compared += other.compared;
        self.erases = self.erases.max(other.erases);
        self.figures.add(&other.figures);
    }

    /// The same as text: a line with the two numbers, and the figures.
    pub fn to_text(&self) -> String {
        format!("{} {}\n{}", self.compared, self.erases, self.figures.to_text())
    }

    /// What such a text says.
    pub fn from_text(text: &str) -> Option<Reached> {
        let (line, rest) = text.split_once('\n')?;
        let (compared, erases) = line.split_once(' ')?;
        let (figures, rest) = Figures::from_start(rest)?;
        let (compared, erases) = (compared.parse().ok()?, erases.parse().ok()?);
        rest.is_empty().then_some(Reached { compared, erases, figures })
    }
}

/// The largest value of each figure that a guest has reported at the end of a mount.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(BTreeMap<String, f64>);

impl Figures {
    /// Notes the figures of an FTL.
    pub fn note_all(&mut self, ftl: &dyn Ftl) {
        for (name, figure) in ftl.report().figures {
            if let Metric::Real(value) = figure {
                self.note(name, value);
            }
        }
    }

    fn note(&mut self, name: &str, value: f64) {
        match self.0.get_mut(name) {
            Some(most) => *most = most.max(value),
            None => _ = self.0.insert(name.to_owned(), value),
        }
    }

    /// Adds those of other mounts.
    pub fn add(&mut self, other: &Figures) {
        other.iter().for_each(|(name, value)| self.note(name, value));
    }

    /// The figures by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, &value)| (name.as_str(), value))
    }

    /// The same as text: their number, then a line for each. Names have no control characters.
    pub fn to_text(&self) -> String {
        let lines = self.iter().map(|(name, value)| format!("{value} {name}\n"));
        format!("{}\n{}", self.0.len(), lines.collect::<String>())
    }

    /// The figures with which a text begins, and the rest of the text.
    pub fn from_start(text: &str) -> Option<(Figures, &str)> {
        let (count, mut rest) = text.split_once('\n')?;
        let mut figures = Figures::default();
        for _ in 0..count.parse().ok()? {
            let (line, others) = rest.split_once('\n')?;
            let (value, name) = line.split_once(' ')?;
            figures.note(name, value.parse().ok()?);
            rest = others;
        }
        Some((figures, rest))
    }
}

impl<'a> FromIterator<(&'a str, f64)> for Figures {
    fn from_iter<I: IntoIterator<Item = (&'a str, f64)>>(figures: I) -> Figures {
        Figures(figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(compared: u64, erases: u64, figures: &[(&str, f64)]) -> Reached {
        Reached { compared, erases, figures: figures.iter().copied().collect() }
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
        for torn in ["", "1\n", "1 2\n", "1 2\n1\n", "1 2\n1\nx merges\n", "1 2\n0\nmore"] {
            assert_eq!(Reached::from_text(torn), None, "{torn:?}");
        }
    }
}
