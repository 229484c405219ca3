//! The terms of the glossary that a text uses.

use serde::Serialize;

const GLOSSARY: &str = include_str!("../../../glossary.md");

/// A term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// Its name.
    pub name: String,
    /// What it means.
    pub text: String,
}

/// All terms of the glossary.
fn all() -> impl Iterator<Item = Term> {
    let terms = GLOSSARY.split("\n## Terms\n").nth(1).unwrap_or_default();
    terms.split("\n\n").filter_map(|paragraph| {
        let paragraph = paragraph.trim().replace('\n', " ");
        let (name, rest) = paragraph.strip_prefix("**")?.split_once("**")?;
        // Behind the name may stand its place in a paper.
        let text = match rest.trim_start().strip_prefix('(') {
            Some(rest) => rest.split_once(')')?.1,
            None => rest,
        };
        let text = text.trim_start_matches(['.', ' ']).replace(['*', '`'], "");
        Some(Term { name: name.to_owned(), text })
    })
}

/// The terms whose names a text has as whole words, also in the plural.
pub fn used_in(text: &str) -> Vec<Term> {
    let text = text.to_lowercase();
    let uses = |name: &str| {
        let name = name.to_lowercase();
        text.match_indices(&name).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + name.len()..].trim_start_matches('s').chars().next();
            let is_outside = |side: Option<char>| side.is_none_or(|it| !it.is_alphanumeric());
            is_outside(before) && is_outside(after)
        })
    };
    let is_used = |term: &Term| term.name.split(", ").any(uses);
    all().filter(is_used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_found_in_the_plural_and_not_inside_a_word() {
        let names = |text: &str| -> Vec<String> {
            used_in(text).into_iter().map(|term| term.name).collect()
        };
        let found = names("Two full merges, and a dead log block");
        assert_eq!(found, ["dead", "full merge", "log block", "merge"]);
        assert_eq!(names("auditing"), [""; 0]);
    }

    #[test]
    fn a_meaning_is_plain_text() {
        let term = used_in("a full merge").remove(0);
        assert!(term.text.len() > 40 && !term.text.contains(['*', '`', '\n']), "{term:?}");
    }
}
