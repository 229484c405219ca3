//! Replacements under `--scale quick`: workloads for trace files that may not be there, and smaller
//! sizes inside specs.
//!
//! ```toml
//! [quick.instead]
//! "blkparse/desktop.txt.zst" = "desktop:writes=40K"
//! "log=4096,sequential_log=256" = "log=64,sequential_log=4"
//! ```
//! Whole words are replaced in all texts of grids and lists. Claims select rows by what is written
//! there, before the replacement. A row loses its `format` when a workload replaces its file.

use core::ops::Range;

use serde_json::Value;
use toml::de::DeTable;

use crate::plan::assignment::Assignment;
use crate::plan::document::{Fault, OrFault, TomlEntry, as_table, in_order};

/// The name of the table inside `quick`.
pub(super) const NAME: &str = "instead";

/// Texts, their replacements, and their places in the plan.
#[derive(Debug, Default)]
pub(super) struct QuickReplacements {
    pairs: Vec<(String, String, Range<usize>)>,
}

impl QuickReplacements {
    /// Reads the table inside `quick`, if there is one.
    pub(super) fn parse(quick: &DeTable) -> OrFault<QuickReplacements> {
        let Some(value) = quick.get(NAME) else { return Ok(QuickReplacements::default()) };
        let pair = |(from, to): TomlEntry<'_, '_>| match to.get_ref().as_str() {
            Some(text) => Ok((from.get_ref().to_string(), text.to_owned(), from.span())),
            None => Err(Fault::new(to.span(), "the replacement is not a text")),
        };
        let pairs = in_order(as_table(value, "quick.instead")?).into_iter().map(pair);
        Ok(QuickReplacements { pairs: pairs.collect::<OrFault<_>>()? })
    }

    /// The assignments of a row with all replacements made.
    pub(super) fn replaced(&self, assignments: &[&Assignment]) -> Vec<Assignment> {
        let replaced = |assignment: &&Assignment| {
            let mut assignment = (*assignment).clone();
            self.replace_in(&mut assignment.value);
            assignment
        };
        assignments.iter().map(replaced).collect()
    }

    /// Makes all replacements in a text or a list of texts.
    fn replace_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.apply(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.replace_in(value)),
            _ => {}
        }
    }

    /// A text with all replacements made.
    pub(super) fn apply(&self, text: &str) -> String {
        let one = |text: String, (from, to, _): &(String, String, _)| replace(&text, from, to);
        self.pairs.iter().fold(text.to_owned(), one)
    }

    /// Refuses a replacement for a text that none of these texts contains.
    pub(super) fn refuse_unused(&self, texts: &[&str]) -> OrFault<()> {
        let is_used = |from: &str| texts.iter().any(|text| replace(text, from, "") != *text);
        match self.pairs.iter().find(|(from, _, _)| !is_used(from)) {
            None => Ok(()),
            Some((from, _, at)) => {
                let what = format!("no row has `{from}`, so it cannot be replaced");
                Err(Fault::new(at.clone(), what))
            }
        }
    }
}

/// The texts of a value: itself, or the members of a list.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Replaces whole words: `128MiB` does not contain `8MiB`, and `4.4%` does not contain `4%`.
fn replace(text: &str, from: &str, to: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || c == '.' || c == '_';
    let (mut done, mut out) = (0, String::new());
    for (at, _) in text.match_indices(from) {
        let end = at + from.len();
        let begins = !text[..at].ends_with(in_word) || !from.starts_with(in_word);
        let ends = !text[end..].starts_with(in_word) || !from.ends_with(in_word);
        if begins && ends {
            out += &text[done..at];
            out += to;
            done = end;
        }
    }
    out + &text[done..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_replaced() {
        assert_eq!(replace("8MiB", "8MiB", "1MiB"), "1MiB");
        assert_eq!(replace("128MiB", "8MiB", "1MiB"), "128MiB");
        assert_eq!(replace("4.4%", "4%", "1%"), "4.4%");
        let spec = "last:log=4096,sequential_log=256,adapt=false";
        let quick = replace(spec, "log=4096,sequential_log=256", "log=64,sequential_log=4");
        assert_eq!(quick, "last:log=64,sequential_log=4,adapt=false");
    }
}
