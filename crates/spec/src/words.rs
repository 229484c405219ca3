//! Splitting a spec into its words, and guessing what a misspelt word meant.

use std::fmt;

use crate::error::{Error, Result};

/// A name with its settings as the user wrote them: `name[:key=value[,key=value…]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// What is asked for, such as a scheme, chip, workload or format.
    pub name: String,
    /// Keys and values in the order written; nothing is checked but that keys are words.
    pub pairs: Vec<(String, String)>,
}

impl Spec {
    /// Splits a spec. Which names and keys exist is for [`crate::resolve`] to say.
    ///
    /// # Errors
    /// A name or key that is not a plain word, or a part that is not `key=value`.
    pub fn parse(text: &str) -> Result<Spec> {
        let (name, settings) = match text.split_once(':') {
            Some((name, settings)) => (name, parse_settings(settings, text)?),
            None => (text, Vec::new()),
        };
        Ok(Spec { name: word(name, text)?, pairs: settings })
    }

    /// A spec without settings.
    pub fn plain(name: &str) -> Spec {
        Spec { name: name.to_owned(), pairs: Vec::new() }
    }
}

impl fmt::Display for Spec {
    /// Writes what [`Spec::parse`] reads back to an equal spec.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        for (index, (key, value)) in self.pairs.iter().enumerate() {
            let separator = if index == 0 { ':' } else { ',' };
            write!(out, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

/// Splits `key=value[,key=value…]`, the part of a spec after its name.
///
/// # Errors
/// A key that is not a plain word, or a part that is not `key=value`.
pub fn parse_pairs(text: &str) -> Result<Vec<(String, String)>> {
    parse_settings(text, text)
}

/// As [`parse_pairs`], with the whole text for the error to show.
fn parse_settings(settings: &str, text: &str) -> Result<Vec<(String, String)>> {
    settings.split(',').map(|pair| parse_pair(pair, text)).collect()
}

fn parse_pair(pair: &str, text: &str) -> Result<(String, String)> {
    match pair.split_once('=') {
        Some((key, value)) if !value.is_empty() => Ok((word(key, text)?, value.to_owned())),
        _ => Err(Error::Pair { pair: pair.to_owned(), text: text.to_owned() }),
    }
}

fn word(word: &str, text: &str) -> Result<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if word.is_empty() || !word.chars().all(plain) {
        return Err(Error::Name { word: word.to_owned(), text: text.to_owned() });
    }
    Ok(word.to_owned())
}

/// The error for a word that names nothing known: lists what is, with the nearest match.
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

/// Words longer than this are no misspelling of ours, and comparing them costs quadratic time.
const LONGEST_WORD: usize = 64;

/// The known word that `word` was probably meant to be; the first of equals.
///
/// Distance counts insertions, deletions, substitutions and swaps of neighbours, ignoring case. A
/// third of the longer word may be wrong (at least one letter); a start of three letters is as good
/// as one slip.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    if word.is_empty() || word.len() > LONGEST_WORD {
        return None;
    }
    let close = known.into_iter().filter_map(|candidate| {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        let tolerated = (word.len().max(letters.len()) / 3).max(1);
        let mut slips = distance(&word, &letters);
        if word.len() >= 3 && letters.starts_with(&word) {
            slips = slips.min(1);
        }
        let hopeless = slips > tolerated || slips >= word.len().max(letters.len());
        (!hopeless).then_some((slips, candidate))
    });
    close.min_by_key(|&(slips, _)| slips).map(|(_, candidate)| candidate)
}

/// Damerau-Levenshtein distance in its restricted form (optimal string alignment), three rows.
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
    fn a_spec_is_a_name_and_pairs_and_prints_as_written() {
        for text in ["page", "skew:writes=4M,hot=70/30,pages=1.4M", "csv:columns=time.us+op=x"] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!(spec.to_string(), text);
        }
        let spec = Spec::parse("csv:columns=a=b").unwrap();
        assert_eq!(spec.pairs, [("columns".to_owned(), "a=b".to_owned())]);
        assert_eq!(Spec::parse("page").unwrap(), Spec::plain("page"));
    }

    #[test]
    fn malformed_specs_are_refused_with_the_part_and_the_whole() {
        let message = |text| Spec::parse(text).unwrap_err().to_string();
        assert_eq!(message("page:d"), "`d` in `page:d` is not `key=value`");
        assert_eq!(message("page:d=,e=1"), "`d=` in `page:d=,e=1` is not `key=value`");
        assert_eq!(message("page:"), "`` in `page:` is not `key=value`");
        assert!(message("").starts_with("`` in `` is not a name"));
        assert!(message("pa ge").starts_with("`pa ge` in `pa ge` is not a name"));
        assert!(message("page:=3").starts_with("`` in `page:=3` is not a name"));
        assert!(message("page:d=1,").starts_with("`` in `page:d=1,` is not"));
    }

    #[test]
    fn the_nearest_word_is_within_reach_or_none() {
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
    fn an_unknown_word_lists_the_known_ones() {
        let error = unknown("scheme", "zebra", &["page", "block"]);
        assert_eq!(error.to_string(), "unknown scheme `zebra`; known: page, block");
    }

    #[test]
    fn swaps_count_once() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("abcd"), &letters("abdc")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(distance(&letters(""), &letters("abc")), 3);
    }
}
