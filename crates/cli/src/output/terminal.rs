//! Texts that fit the width of a terminal. A file or a pipe gets every text as it is.

use std::io;

use terminal_size::{Width, terminal_size_of};

/// The columns of standard output, if it is a terminal.
pub fn width() -> Option<usize> {
    terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns))
}

/// A text whose lines are at most this wide, if their words are. They break between words, and go
/// on below the text beside a label.
pub fn folded(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| match line.chars().count() > width {
        true => folded_line(line, width),
        false => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn folded_line(line: &str, width: usize) -> String {
    let (mut folded, mut column) = (String::new(), 0);
    let indent = hanging_indent(line, width);
    for word in line.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
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

/// Where the text of a line begins: behind its label, which two blanks end, if it has one.
fn hanging_indent(line: &str, width: usize) -> usize {
    let lead = line.chars().take_while(|&letter| letter == ' ').count();
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
