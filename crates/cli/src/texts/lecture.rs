//! The text that explains a scheme, as a terminal takes it.

use ftl::contract::Lecture;

use crate::terminal::{self, Ink, columns, unbroken};

/// The columns of sentences in a file or a pipe, and at most on a terminal.
const WIDEST: usize = 100;

/// The picture, and the sentences up to the first heading.
pub fn text(lecture: &Lecture) -> String {
    text_within(lecture, terminal::width().unwrap_or(usize::MAX))
}

fn text_within(lecture: &Lecture, width: usize) -> String {
    let parts = parts(lecture);
    let parts = parts.iter().map(|part| match part {
        Part::Picture(lines) => picture(lines, width),
        Part::Sentences(text) => filled(&bold(&unlinked(text)), width.min(WIDEST)) + "\n",
    });
    parts.collect::<String>()
}

/// A sentence in lines as wide as those of a lecture.
pub fn sentence(text: &str) -> String {
    filled(text, terminal::width().unwrap_or(WIDEST).min(WIDEST)) + "\n"
}

/// What a lecture consists of.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// Lines that stay as they are.
    Picture(Vec<&'static str>),
    /// A paragraph, an item of a list, or nothing between two of them.
    Sentences(String),
}

/// The parts of a lecture, without those below a heading.
fn parts(lecture: &Lecture) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = lecture.lines().take_while(|line| !line.starts_with("# "));
    while let Some(line) = lines.next() {
        let is_item =
            line.starts_with("* ") || line.starts_with(|first: char| first.is_ascii_digit());
        match parts.last_mut() {
            _ if line.starts_with("```") => {
                let block = lines.by_ref().take_while(|line| !line.starts_with("```"));
                parts.push(Part::Picture(block.collect()));
            }
            Some(Part::Sentences(text)) if !is_item && !line.is_empty() && !text.is_empty() => {
                *text += " ";
                *text += line.trim();
            }
            _ => parts.push(Part::Sentences(line.to_owned())),
        }
    }
    while parts.last() == Some(&Part::Sentences(String::new())) {
        parts.pop();
    }
    parts
}

/// A picture with a blank line below, if the terminal is wide enough for it.
fn picture(lines: &[&str], width: usize) -> String {
    let drawn: Option<String> = lines.iter().map(|line| drawn(line, width)).collect();
    match drawn {
        Some(drawn) => drawn + "\n",
        None => filled("(The picture needs a wider terminal.)", width) + "\n\n",
    }
}

/// A line of a picture. If it is too wide, its caption follows below, which three blanks or more
/// set apart. None if that is still too wide.
fn drawn(line: &str, width: usize) -> Option<String> {
    if 2 + columns(line) <= width {
        return Some(format!("  {line}").trim_end().to_owned() + "\n");
    }
    let mut parts = line.rmatch_indices("   ").map(|(at, _)| line.split_at(at));
    parts.find_map(|(picture, caption)| {
        let (picture, caption) = (picture.trim_end(), caption.trim_start());
        let indent = width.checked_sub(columns(caption))?.min(2 + columns(picture));
        let above = if picture.is_empty() { String::new() } else { format!("  {picture}\n") };
        (2 + columns(picture) <= width).then(|| format!("{above}{:indent$}{caption}\n", ""))
    })
}

/// A text without the targets of links.
fn unlinked(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('[') {
        out += &rest[..at];
        let (label, behind) = rest[at + 1..].split_once(']').unwrap_or((&rest[at + 1..], ""));
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        let behind = match target {
            Some((_, behind)) => Some(behind),
            None => label.starts_with('`').then_some(behind),
        };
        match behind {
            Some(_) => out += &label.replace("crate::", "").replace("mod@", ""),
            None => out.push('['),
        }
        rest = behind.unwrap_or(&rest[at + 1..]);
    }
    out + rest
}

/// A text in which `**words**` are bold.
fn bold(text: &str) -> String {
    let parts = text.split("**").enumerate();
    parts
        .map(|(at, part)| if at % 2 == 1 { Ink::Title.on(part) } else { part.to_owned() })
        .collect()
}

/// A paragraph in lines of at most this width. Those of an item begin below its text.
fn filled(text: &str, width: usize) -> String {
    let item = text.split_once(' ').filter(|(mark, _)| *mark == "*" || mark.ends_with('.'));
    let indent = item.filter(|(mark, _)| mark.len() <= 2).map_or(0, |(mark, _)| mark.len() + 1);
    let (mut lines, mut taken) = (String::new(), 0);
    for word in unbroken(text) {
        let wide = columns(word.trim_end());
        if taken > indent && taken + wide > width {
            lines.truncate(lines.trim_end().len());
            lines += "\n";
            lines += &" ".repeat(indent);
            taken = indent;
        }
        lines += word;
        taken += columns(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\
//! two: words of a scheme,
//! and more of [it](crate::it).
//!
//! ```text
//!   [0 1 2 3]   four
//! ```
//! 1. First
//!    item.
//! 2. Second
//!
//! **Bold** as [`crate::code`], [0] as it is.
//!
//! # Below
//! nothing
";

    #[test]
    fn a_lecture_is_a_picture_and_filled_paragraphs_without_links() {
        let lecture = Lecture::of("two.rs", HEAD);
        let shown = "two: words of a scheme, and more of it.\n\n    [0 1 2 3]   four\n\n\
                     1. First item.\n2. Second\n\nBold as `code`, [0] as it is.\n";
        assert_eq!(text_within(&lecture, 60), shown);
        let narrow = text_within(&lecture, 13);
        assert!(narrow.starts_with("two: words of\na scheme, and\nmore of it.\n"), "{narrow}");
        assert!(narrow.contains("\n    [0 1 2 3]\n         four\n\n"), "{narrow}");
        assert!(narrow.contains("\n1. First\n   item.\n"), "{narrow}");
        assert!(text_within(&lecture, 12).contains("needs a\nwider\nterminal"));
    }

    #[test]
    fn every_scheme_has_a_lecture_of_plain_text() {
        for scheme in ftl::SCHEMES {
            let narrow = text_within(&scheme.lecture, 80);
            assert!(narrow.lines().all(|line| columns(line) <= 80), "{narrow}");
            assert!(!narrow.contains("wider terminal"), "{}", scheme.name);
            let text = text_within(&scheme.lecture, 100);
            let is_picture = |line: &&str| line.starts_with("  ");
            for line in text.lines().filter(|line| !is_picture(line)) {
                assert!(!line.contains("](") && !line.contains("**"), "{}: {line}", scheme.name);
                assert!(columns(line) <= 100, "{}: {line}", scheme.name);
            }
            assert!(text.lines().count() > 5, "{}: {text}", scheme.name);
        }
    }
}
