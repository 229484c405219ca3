//! What stands in a row's values under `--scale quick` instead of what is written there: workloads
//! for trace files that nobody has at hand, and sizes inside specs.
//!
//! ```toml
//! [quick.instead]
//! "blkparse/desktop.txt.zst" = "desktop:writes=40K"
//! "log=4096,sequential_log=256" = "log=64,sequential_log=4"
//! ```
//! Whole words are replaced, wherever a grid or list has them in a text; claims go on speaking of
//! what is written there. A file that gives way to a workload takes its `format` with it.

use core::ops::Range;

use serde_json::Value;
use toml::de::DeTable;

use super::assignment::Setting;
use super::{Fault, Parsed, as_table, in_order};

/// The name of the table inside `quick`.
pub(super) const NAME: &str = "instead";

/// Texts and what stands instead of them.
#[derive(Debug, Default)]
pub(super) struct Instead {
    pairs: Vec<(String, String, Range<usize>)>,
}

impl Instead {
    /// Reads the table inside `quick`, if there is one.
    pub(super) fn parse(quick: &DeTable) -> Parsed<Instead> {
        let Some(value) = quick.get(NAME) else { return Ok(Instead::default()) };
        let pair = |(from, to): super::Entry<'_, '_>| match to.get_ref().as_str() {
            Some(text) => Ok((from.get_ref().to_string(), text.to_owned(), from.span())),
            None => Err(Fault::new(to.span(), "what stands instead is a text")),
        };
        let pairs = in_order(as_table(value, "quick.instead")?).into_iter().map(pair);
        Ok(Instead { pairs: pairs.collect::<Parsed<_>>()? })
    }

    /// The settings of a row with what stands in them instead.
    pub(super) fn of(&self, settings: &[&Setting]) -> Vec<Setting> {
        let replaced = |setting: &&Setting| {
            let mut setting = (*setting).clone();
            if let Value::String(text) = &mut setting.value {
                *text = self.text(text);
            }
            setting
        };
        settings.iter().map(replaced).collect()
    }

    /// A text with what stands in it instead.
    pub(super) fn text(&self, text: &str) -> String {
        let one = |text: String, (from, to, _): &(String, String, _)| replace(&text, from, to);
        self.pairs.iter().fold(text.to_owned(), one)
    }

    /// Refuses what stands for nothing in any of these texts.
    pub(super) fn refuse_unused(&self, texts: &[&str]) -> Parsed<()> {
        let stands = |from: &str| texts.iter().any(|text| replace(text, from, "") != *text);
        match self.pairs.iter().find(|(from, _, _)| !stands(from)) {
            None => Ok(()),
            Some((from, _, at)) => {
                let what = format!("no row has `{from}`, so nothing can stand instead of it");
                Err(Fault::new(at.clone(), what))
            }
        }
    }
}

/// Replaces whole words: `8MiB` does not stand in `128MiB`, nor `4%` in `4.4%`.
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
    fn only_whole_words_give_way() {
        assert_eq!(replace("8MiB", "8MiB", "1MiB"), "1MiB");
        assert_eq!(replace("128MiB", "8MiB", "1MiB"), "128MiB");
        assert_eq!(replace("4.4%", "4%", "1%"), "4.4%");
        let spec = "last:log=4096,sequential_log=256,adapt=false";
        let quick = replace(spec, "log=4096,sequential_log=256", "log=64,sequential_log=4");
        assert_eq!(quick, "last:log=64,sequential_log=4,adapt=false");
    }
}
