//! Texts for a terminal: as wide as it is, with bold letters and colours if it has them. A file or
//! a pipe gets every text as it is.
//!
//! The width is that of the terminal, or `COLUMNS` if the environment sets it. There are neither
//! bold letters nor colours with `NO_COLOR`, nor on a terminal that is `dumb`; `CLICOLOR_FORCE`
//! asks for them in a file or a pipe, too.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::LazyLock;

use anstream::{AutoStream, ColorChoice};
use clap::builder::styling::{AnsiColor, Style};
use terminal_size::{Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

use crate::process::stdout;

/// The columns of standard output, if it is a terminal.
pub fn width() -> Option<usize> {
    width_of(stdout::own())
}

/// The columns of standard error, if it is a terminal.
pub fn error_width() -> Option<usize> {
    width_of(&io::stderr())
}

fn width_of(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let asked = || std::env::var("COLUMNS").ok()?.trim().parse().ok().filter(|&it| it > 0);
    let own = |stream| terminal_size_of(stream).map(|(Width(columns), _)| usize::from(columns));
    stream.is_terminal().then(|| asked().or_else(|| own(stream))).flatten()
}

/// The columns that a text takes, without its colours.
pub fn columns(text: &str) -> usize {
    plain(text).width()
}

/// A text without colours and bold letters.
fn plain(text: &str) -> Cow<'_, str> {
    match text.contains('\u{1b}') {
        true => Cow::Owned(anstream::adapter::strip_str(text).to_string()),
        false => Cow::Borrowed(text),
    }
}

/// How a part of a text stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A head or a title.
    Title,
    /// The best value of a row, and what holds.
    Good,
    /// What falls short.
    Bad,
    /// The label of a note.
    Note,
}

impl Ink {
    /// The text, which stands out on standard output if that has colours.
    pub fn on(self, text: &str) -> String {
        static HAS_COLOURS: LazyLock<bool> =
            LazyLock::new(|| AutoStream::choice(stdout::own()) != ColorChoice::Never);
        if *HAS_COLOURS { self.always_on(text) } else { text.to_owned() }
    }

    /// The text, which stands out.
    pub fn always_on(self, text: &str) -> String {
        let style = match self {
            Ink::Title => Style::new().bold(),
            Ink::Good => AnsiColor::Green.on_default().bold(),
            Ink::Bad => AnsiColor::Red.on_default().bold(),
            Ink::Note => AnsiColor::Yellow.on_default(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// Lines that begin with these blanks are commands and specs to copy. They stay in one piece, as a
/// terminal wraps them.
const COPIED: &str = "    ";

/// A text whose lines are at most this wide, if their words are. They break between words, and go
/// on below the text beside a label.
pub fn folded(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match columns(line) > width {
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
        let length = columns(word.trim_end());
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
        column += columns(word);
    }
    folded
}

/// The pieces between which a line may break, with the blanks behind them. Alternatives that are
/// too wide for any line break behind a `|`.
fn words(line: &str, width: usize) -> Vec<&str> {
    let is_wide = |word: &str| columns(word.trim_end()) > width - lead(line).min(width);
    let pieces = |word| match is_wide(word) {
        true => word.split_inclusive('|').collect(),
        false => vec![word],
    };
    unbroken(line).into_iter().flat_map(pieces).collect()
}

/// Units that stay on the line of their number.
const UNITS: [&str; 21] = [
    "%", "B", "KiB", "MiB", "GiB", "TiB", "KB", "MB", "GB", "TB", "MB/s", "GB/s", "TBW", "PBW",
    "DWPD", "IOPS", "ns", "µs", "ms", "s", "h",
];

/// The words of a line with the blanks behind them. A number and its unit are one word.
pub fn unbroken(line: &str) -> Vec<&str> {
    let (mut words, mut start) = (Vec::new(), 0);
    for (at, _) in line.match_indices(' ') {
        let next = line[at + 1..].split([' ', ',', ';', ':', ')', '.', '\u{1b}']).next();
        let is_unit = next.is_some_and(|next| UNITS.contains(&next));
        let is_number = line[..at].ends_with(|end: char| end.is_ascii_digit());
        if !(is_unit && is_number || line[..at].ends_with('±')) {
            words.push(&line[start..=at]);
            start = at + 1;
        }
    }
    words.push(&line[start..]);
    words
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
        lead + columns(&line.trim_start()[..end]) + gap
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
        assert_eq!(folded("it took 12.5 MiB, of it", 14), "it took\n  12.5 MiB, of\n  it");
    }

    #[test]
    fn colours_take_no_columns() {
        let note = Ink::Note.always_on("note");
        assert_eq!((columns(&note), plain(&note)), (4, "note".into()));
        assert_eq!(columns("µs 漢"), 5);
        let text = format!("{note}     one two three four");
        assert_eq!(plain(&folded(&text, 20)), "note     one two\n         three four");
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
