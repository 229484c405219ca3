//! All short programs of host operations. This is bounded exhaustive testing, as in CrashMonkey and
//! its Automatic Crash Explorer ACE (Mohan et al., OSDI '18). They found that most crash bugs need
//! at most three operations, and a crash right after them.
//!
//! ```text
//! w0 p1 t2   write, patch (write part of a page), trim: each on page 0, 1 or 2
//! f r a g    flush · read all · write all · rewrite one page until garbage collection runs
//! ```
//! A program is named by its letters, such as `ace-w0.f.t0.g`. Only the operations of its last
//! letter are cut, because a cut in an earlier one was already tried with a shorter program.

use crate::workload::host_operation::{Dimensions, Extent, HostOperation};

/// Prefix of the names of short programs.
pub const PREFIX: &str = "ace-";

/// The letters that programs are made of.
pub const ALPHABET: [&str; 13] =
    ["w0", "w1", "w2", "p0", "p1", "p2", "t0", "t1", "t2", "f", "r", "a", "g"];

/// The names of all programs of exactly `length` letters.
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

/// The host operations of a program, whose letters are separated by points.
///
/// # Errors
/// A letter is unknown.
pub fn operations(letters: &str, dimensions: Dimensions) -> spec::Result<Vec<HostOperation>> {
    let parts = letters.split('.').map(|letter| operations_of(letter, dimensions));
    Ok(parts.collect::<spec::Result<Vec<_>>>()?.concat())
}

fn operations_of(letter: &str, dimensions: Dimensions) -> spec::Result<Vec<HostOperation>> {
    if !ALPHABET.contains(&letter) {
        return Err(spec::unknown("letter", letter, &ALPHABET));
    }
    let full = dimensions.full();
    let page = letter[1..].parse().unwrap_or(0);
    Ok(match &letter[..1] {
        "w" => vec![HostOperation::Write(Extent::whole(page, 1, full))],
        "p" => vec![HostOperation::Write(Extent { first: page, pages: 1, head: 1, tail: 1 })],
        "t" => vec![HostOperation::Trim { first: page, pages: 1 }],
        "f" => vec![HostOperation::Flush],
        "r" => vec![HostOperation::Read(Extent::whole(0, dimensions.pages, full))],
        "a" => vec![HostOperation::Write(Extent::whole(0, dimensions.pages, full))],
        _ => {
            // No other letter names the last page.
            let rewrite = HostOperation::Write(Extent::whole(dimensions.pages - 1, 1, full));
            vec![rewrite; (dimensions.extra_pages + dimensions.pages_per_block) as usize]
        }
    })
}

/// The number of host operations before those of the last letter.
///
/// # Errors
/// A letter is unknown.
pub fn operations_before_last(name: &str, dimensions: Dimensions) -> spec::Result<usize> {
    let letters = name.strip_prefix(PREFIX).unwrap_or(name);
    match letters.rsplit_once('.') {
        Some((before, _)) => Ok(operations(before, dimensions)?.len()),
        None => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSIONS: Dimensions =
        Dimensions { pages: 4, pages_per_block: 2, sectors_per_page: 2, extra_pages: 4 };

    #[test]
    fn names_lists_every_program_of_a_length_once() {
        let mut all: Vec<String> = names(2).collect();
        assert_eq!(all.len(), ALPHABET.len().pow(2));
        assert!(all.contains(&"ace-w0.f".to_owned()) && all.contains(&"ace-f.w0".to_owned()));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), ALPHABET.len().pow(2));
    }

    #[test]
    fn each_letter_stands_for_its_operations() {
        let program = operations("p1.g.t2", DIMENSIONS).unwrap();
        assert_eq!(program.len(), 1 + 6 + 1);
        assert_eq!(
            program[0],
            HostOperation::Write(Extent { first: 1, pages: 1, head: 1, tail: 1 })
        );
        assert_eq!(program[7], HostOperation::Trim { first: 2, pages: 1 });
        assert_eq!(operations_before_last("ace-p1.g.t2", DIMENSIONS).unwrap(), 7);
        assert_eq!(operations_before_last("ace-g", DIMENSIONS).unwrap(), 0);
    }

    #[test]
    fn an_unknown_letter_is_refused() {
        let message = operations("w0.x", DIMENSIONS).unwrap_err().to_string();
        assert!(message.starts_with("unknown letter `x`"), "{message}");
        assert!(operations("", DIMENSIONS).is_err());
    }
}
