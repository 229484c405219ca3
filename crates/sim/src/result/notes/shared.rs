//! The notes of several results: each sentence once.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

/// The notes of several results, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct SharedNotes {
    results: usize,
    /// Each sentence with the numbers of the results that have it.
    notes: Vec<(String, Vec<usize>)>,
    /// The place of each sentence in the list.
    places: HashMap<String, usize>,
}

impl SharedNotes {
    /// Adds the notes of the next result.
    pub fn add<'a>(&mut self, notes: impl IntoIterator<Item = &'a str>) {
        for note in notes {
            match self.places.get(note) {
                Some(&place) => self.notes[place].1.push(self.results),
                None => {
                    self.places.insert(note.to_owned(), self.notes.len());
                    self.notes.push((note.to_owned(), vec![self.results]));
                }
            }
        }
        self.results += 1;
    }

    /// Adds the notes of a result in its JSON form; a failed row of a sweep has none.
    pub fn add_json(&mut self, result: &Value) {
        if let Some(notes) = result["notes"].as_array() {
            self.add(notes.iter().filter_map(Value::as_str));
        }
    }

    /// The sentences. One that only some results share begins with the name that `who` gives to
    /// these, by their numbers.
    pub fn sentences(&self, who: impl Fn(&[usize]) -> String) -> Vec<String> {
        let sentence = |(note, results): &(String, Vec<usize>)| match results.len() {
            all if all == self.results => note.clone(),
            _ => format!("{}: {note}", who(results)),
        };
        self.notes.iter().map(sentence).collect()
    }

    /// The number of results, failed rows apart, and of those that have a note like this.
    pub fn having(&self, is_like: impl Fn(&str) -> bool) -> (usize, usize) {
        let of_notes = self.notes.iter().filter(|(note, _)| is_like(note));
        let having: BTreeSet<usize> = of_notes.flat_map(|(_, results)| results).copied().collect();
        (self.results, having.len())
    }

    /// The sentences; one that only some results share begins with their number. Of those that
    /// differ only in their figures the first one stands for all.
    pub fn counted_sentences(&self) -> Vec<String> {
        let mut kinds: Vec<(&str, BTreeSet<usize>, bool)> = Vec::new();
        let mut places = HashMap::new();
        for (note, results) in &self.notes {
            let place = *places.entry(without_figures(note)).or_insert(kinds.len());
            match kinds.get_mut(place) {
                Some((_, having, differ)) => {
                    having.extend(results);
                    *differ = true;
                }
                None => kinds.push((note, results.iter().copied().collect(), false)),
            }
        }
        let sentence = |(first, having, differ): &(&str, BTreeSet<usize>, bool)| {
            let some = format!("{} of {} runs", having.len(), self.results);
            match (differ, having.len() == self.results) {
                (true, _) => format!("{some}, with figures of their own: {first}"),
                (false, true) => (*first).to_owned(),
                (false, false) => format!("{some}: {first}"),
            }
        };
        kinds.iter().map(sentence).collect()
    }
}

/// What a sentence has in common with those that differ only in their figures.
fn without_figures(sentence: &str) -> String {
    sentence.chars().filter(|c| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '−')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_sentence_appears_once_and_says_who_has_it_unless_all_do() {
        let mut notes = SharedNotes::default();
        notes.add(["A.", "B."]);
        notes.add_json(&json!({"schema": "a failed row"}));
        notes.add_json(&json!({"notes": ["C.", "B."]}));
        let names = ["page", "bast"];
        let named = notes.sentences(|some| some.iter().map(|&at| names[at]).collect());
        assert_eq!(named, ["page: A.", "B.", "bast: C."]);
        assert_eq!(notes.counted_sentences(), ["1 of 2 runs: A.", "B.", "1 of 2 runs: C."]);
        let having = |letter: &str| notes.having(|note| note.starts_with(letter));
        assert_eq!([having("A"), having("B"), having("D")], [(2, 1), (2, 2), (2, 0)]);
        assert!(SharedNotes::default().counted_sentences().is_empty());
    }

    #[test]
    fn of_sentences_that_differ_in_figures_the_first_stands_for_all() {
        let mut notes = SharedNotes::default();
        notes.add(["It was 2.00, then 1,234.", "Odd."]);
        notes.add(["It was 3.14, then 5."]);
        notes.add(["It was 3.14, then many."]);
        let first = "2 of 3 runs, with figures of their own: It was 2.00, then 1,234.";
        let others = ["1 of 3 runs: Odd.", "1 of 3 runs: It was 3.14, then many."];
        assert_eq!(notes.counted_sentences(), [&[first][..], &others].concat());
    }
}
