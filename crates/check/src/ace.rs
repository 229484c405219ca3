//! All short programs there are (bounded exhaustive testing, after ACE: Mohan et al., OSDI '18, who
//! found that most crash bugs need at most three operations and a cut right after them).
//!
//! ```text
//! w0 p1 t2   write, patch (part of a page), trim page 0, 1, 2
//! f r a g    flush · read all · write all · rewrite one page until garbage collection runs
//! ```
//! A cut in an earlier step of a program is a cut in the last step of a shorter one, so each
//! program is cut in its last step alone.

use crate::step::{Extent, Space, Step};

/// What the names of such programs begin with.
pub const PREFIX: &str = "ace-";

/// Every step that a program may be made of.
pub const ALPHABET: [&str; 13] =
    ["w0", "w1", "w2", "p0", "p1", "p2", "t0", "t1", "t2", "f", "r", "a", "g"];

/// The names of all programs of exactly `length` steps.
pub fn names(length: usize) -> impl Iterator<Item = String> {
    let count = ALPHABET.len().pow(length as u32);
    (0..count).map(move |mut at| {
        let letters = (0..length).map(|_| {
            let letter = ALPHABET[at % ALPHABET.len()];
            at /= ALPHABET.len();
            letter
        });
        format!("{PREFIX}{}", letters.collect::<Vec<_>>().join("."))
    })
}

/// The steps of a program, its letters parted by points.
///
/// # Errors
/// A letter that is none.
pub fn steps(word: &str, space: Space) -> spec::Result<Vec<Step>> {
    let letters = word.split('.').map(|letter| steps_of(letter, space));
    Ok(letters.collect::<spec::Result<Vec<_>>>()?.concat())
}

fn steps_of(letter: &str, space: Space) -> spec::Result<Vec<Step>> {
    if !ALPHABET.contains(&letter) {
        return Err(spec::unknown("step", letter, &ALPHABET));
    }
    let full = space.full();
    let page = letter[1..].parse().unwrap_or(0);
    Ok(match &letter[..1] {
        "w" => vec![Step::Write(Extent::whole(page, 1, full))],
        "p" => vec![Step::Write(Extent { first: page, pages: 1, head: 1, tail: 1 })],
        "t" => vec![Step::Trim { first: page, pages: 1 }],
        "f" => vec![Step::Flush],
        "r" => vec![Step::Read(Extent::whole(0, space.pages, full))],
        "a" => vec![Step::Write(Extent::whole(0, space.pages, full))],
        _ => {
            // The last page is none of those that the other letters name.
            let rewrite = Step::Write(Extent::whole(space.pages - 1, 1, full));
            vec![rewrite; (space.extra_pages + space.pages_per_block) as usize]
        }
    })
}

/// How many steps of a program come before those of its last letter.
///
/// # Errors
/// A letter that is none.
pub fn steps_before_last(name: &str, space: Space) -> spec::Result<usize> {
    let word = name.strip_prefix(PREFIX).unwrap_or(name);
    match word.rsplit_once('.') {
        Some((before, _)) => Ok(steps(before, space)?.len()),
        None => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space =
        Space { pages: 4, pages_per_block: 2, sectors_per_page: 2, extra_pages: 4 };

    #[test]
    fn all_programs_of_a_length_are_there_once() {
        let mut all: Vec<String> = names(2).collect();
        assert_eq!(all.len(), ALPHABET.len().pow(2));
        assert!(all.contains(&"ace-w0.f".to_owned()) && all.contains(&"ace-f.w0".to_owned()));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), ALPHABET.len().pow(2));
    }

    #[test]
    fn letters_are_steps_and_the_last_is_known() {
        let program = steps("p1.g.t2", SPACE).unwrap();
        assert_eq!(program.len(), 1 + 6 + 1);
        assert_eq!(program[0], Step::Write(Extent { first: 1, pages: 1, head: 1, tail: 1 }));
        assert_eq!(program[7], Step::Trim { first: 2, pages: 1 });
        assert_eq!(steps_before_last("ace-p1.g.t2", SPACE).unwrap(), 7);
        assert_eq!(steps_before_last("ace-g", SPACE).unwrap(), 0);
    }

    #[test]
    fn a_letter_that_is_none_is_refused() {
        let message = steps("w0.x", SPACE).unwrap_err().to_string();
        assert!(message.starts_with("unknown step `x`"), "{message}");
        assert!(steps("", SPACE).is_err());
    }
}
