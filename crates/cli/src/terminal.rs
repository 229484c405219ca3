//! Texts that fit the width of a terminal. A file or a pipe gets every text as it is.

use std::io;

use terminal_size::{Width, terminal_size_of};

/// The columns of standard output, if it is a terminal.
pub fn width() -> Option<usize> {
    terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

/// The columns of standard error, if it is a terminal.
pub fn error_width() -> Option<usize> {
    terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns))
}

/// Lines that begin with these blanks are commands and specs to copy. They stay in one piece, as a
/// terminal wraps them.
const COPIED: &str = "    ";

/// A text whose lines are at most this wide, if their words are. They break between words, and go
/// on below the text beside a label.
pub fn folded(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match line.chars().count() > width {
        true => folded_line(line, width),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A message, folded except for its commands.
pub fn folded_message(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match line.starts_with(COPIED) {
        true => line.to_owned(),
        false => folded(line, width),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn folded_line(line: &str, width: usize) -> String {
    let (mut folded, mut column) = (String::new(), 0);
    let (beside, below) = (hanging_indent(line, width), lead(line) + 2);
    for word in words(line, width) {
        let length = word.trim_end().chars().count();
        // A word that is too wide beside the label may fit below it.
        let indent = match beside + length > width && below + length <= width {
            true => below,
            false => beside,
        };
        if column + length > width && column > indent {
            folded.truncate(folded.trim_end().len());
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        }
        folded.push_str(word);
        column += word.chars().count();
    }
    folded
}

/// The pieces between which a line may break, with the blanks behind them. A number stays with its
/// `%`. Alternatives that are too wide for any line break behind a `|`.
fn words(line: &str, width: usize) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    let is_wide = |word: &str| word.trim_end().chars().count() > width - lead(line).min(width);
    for (at, _) in line.match_indices(' ') {
        if !line[at + 1..].starts_with('%') {
            words.push(&line[start..=at]);
            start = at + 1;
        }
    }
    words.push(&line[start..]);
    let pieces = |word| match is_wide(word) {
        true => word.split_inclusive('|').collect(),
        false => vec![word],
    };
    words.into_iter().flat_map(pieces).collect()
}

/// Blanks with which a line begins.
fn lead(line: &str) -> usize {
    line.chars().take_while(|&letter| letter == ' ').count()
}

/// Where the text of a line begins: behind its label, which two blanks end, if it has one.
fn hanging_indent(line: &str, width: usize) -> usize {
    let lead = lead(line);
    let label = line.trim_start().find("  ").map(|end| {
        let rest = &line.trim_start()[end..];
        let gap = rest.chars().take_while(|&letter| letter == ' ').count();
        lead + line.trim_start()[..end].chars().count() + gap
    });
    label.filter(|&indent| indent <= width / 2).unwrap_or((lead + 2).min(width / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_below_the_text_beside_the_label() {
        let text = "note     one two three four\nshort\n";
        assert_eq!(folded(text, 20), "note     one two\n         three four\nshort\n");
        assert_eq!(folded("one two three", 8), "one two\n  three");
    }

    #[test]
    fn a_word_that_fits_no_room_beside_the_label_goes_below_it() {
        assert_eq!(folded("hash    0123456789", 16), "hash\n  0123456789");
        assert_eq!(folded("hash    0123456789ABCDEF", 16), "hash    0123456789ABCDEF");
    }

    #[test]
    fn alternatives_break_behind_a_bar_and_numbers_keep_their_unit() {
        let text = "  of=  one|two|three|four: which";
        assert_eq!(
            folded(text, 14),
            "  of=  one|\n       two|\n       three|\n       four:\n       which"
        );
        assert_eq!(folded("it was at 7.0 % extra", 14), "it was at\n  7.0 % extra");
    }

    #[test]
    fn commands_in_a_message_stay_in_one_piece() {
        let text = "one two three\n    ftlab run a b c\n";
        assert_eq!(folded_message(text, 8), "one two\n  three\n    ftlab run a b c\n");
    }

    #[test]
    fn a_word_that_is_too_long_stands_alone_and_nothing_is_lost() {
        for width in 1..40 {
            let text = "  label=    800,000,000,000  µs of a verylongwordwithoutanyblank in it";
            let found = folded(text, width);
            let words = |text: &str| -> Vec<String> {
                text.split_whitespace().map(str::to_owned).collect()
            };
            assert_eq!(words(&found), words(text), "{width}");
        }
    }
}
