//! Suggestions for misspelt names.

use crate::error::Error;

/// The error for an unknown name. Its message lists the known names and suggests the nearest one.
///
/// ```
/// let error = spec::unknown("scheme", "pge", &["page", "block"]);
/// let sentence = "unknown scheme `pge`; did you mean `page`? Known: page, block";
/// assert_eq!(error.to_string(), sentence);
/// ```
pub fn unknown(what: &str, word: &str, known: &[&str]) -> Error {
    Error::Unknown {
        what: what.to_owned(),
        word: word.to_owned(),
        nearest: nearest(word, known.iter().copied()).map(str::to_owned),
        known: known.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// Longer words get no suggestion: no name is that long, and a comparison takes quadratic time.
const WORD_LENGTH_MAX: usize = 64;

/// The known name that `word` was probably meant to be. If several are equally near, it is the
/// first.
///
/// The distance is the number of insertions, deletions, substitutions and swaps of neighbours,
/// without regard to case. It may be a third of the length of the longer word, and always one. A
/// prefix of at least three letters has distance one.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    if word.is_empty() || word.len() > WORD_LENGTH_MAX {
        return None;
    }
    let close = known.into_iter().filter_map(|candidate| {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        let tolerated = (word.len().max(letters.len()) / 3).max(1);
        let mut errors = distance(&word, &letters);
        if word.len() >= 3 && letters.starts_with(&word) {
            errors = errors.min(1);
        }
        let is_close = errors <= tolerated && errors < word.len().max(letters.len());
        is_close.then_some((errors, candidate))
    });
    close.min_by_key(|&(errors, _)| errors).map(|(_, candidate)| candidate)
}

/// The restricted Damerau-Levenshtein distance (optimal string alignment), with three rows.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substituted = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substituted.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_suggested_only_if_it_is_close() {
        let schemes = ["page", "dac", "dftl", "superblock", "faster", "fast"];
        assert_eq!(nearest("pgae", schemes), Some("page"));
        assert_eq!(nearest("PAGE", schemes), Some("page"));
        assert_eq!(nearest("fsat", schemes), Some("fast"));
        assert_eq!(nearest("super", schemes), Some("superblock"));
        assert_eq!(nearest("superblok", schemes), Some("superblock"));
        assert_eq!(nearest("zebra", schemes), None);
        assert_eq!(nearest("", schemes), None);
        assert_eq!(nearest("x", ["d"]), None);
        assert_eq!(nearest(&"p".repeat(100_000), schemes), None);
    }

    #[test]
    fn the_message_lists_the_known_names() {
        let error = unknown("scheme", "zebra", &["page", "block"]);
        assert_eq!(error.to_string(), "unknown scheme `zebra`; known: page, block");
    }

    #[test]
    fn a_swap_of_neighbours_counts_once() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("abcd"), &letters("abdc")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(distance(&letters(""), &letters("abc")), 3);
    }
}
