//! What can go wrong with a trace. Every message is a sentence with the file, the place, the text.

use std::io;

/// The result of reading or making a trace.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a trace cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open trace `{name}`: {source}")]
    Open {
        /// The trace.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// The path is a directory.
    #[error("trace `{name}` is a directory; name one of the files in it")]
    Directory {
        /// The trace.
        name: String,
    },
    /// There is not a byte in the file, or in what it decompresses to.
    #[error("trace `{name}` is empty")]
    Empty {
        /// The trace.
        name: String,
    },
    /// The file is packed in a way that is not read.
    #[error(
        "trace `{name}` is packed with {packing}, which is not read here; \
         unpack it first: `{remedy}`"
    )]
    Packing {
        /// The trace.
        name: String,
        /// The packing found by its magic bytes.
        packing: &'static str,
        /// A command that unpacks it.
        remedy: &'static str,
    },
    /// The compressed data end too early.
    #[error("trace `{name}`: the {packing} data end too early after line {line}; is it cut off?")]
    Truncated {
        /// The trace.
        name: String,
        /// The packing.
        packing: &'static str,
        /// The last whole line.
        line: u64,
    },
    /// There is no room to keep what can be read only once, or must be unpacked.
    #[error("cannot copy trace `{name}` to a temporary file: {source}")]
    Spool {
        /// The trace.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// An archive whose members are no trace, or that is damaged.
    #[error("archive `{name}`: {what}")]
    Archive {
        /// The archive.
        name: String,
        /// What is wrong, in a sentence.
        what: String,
    },
    /// The file cannot be read on.
    #[error("trace `{name}`: cannot read on after line {line}: {source}")]
    Read {
        /// The trace.
        name: String,
        /// The last whole line.
        line: u64,
        /// What the system or the decompressor says.
        source: io::Error,
    },
    /// A line is not what its format demands.
    #[error("{name}:{line}: {what}: {text}{}", remedy_clause(.remedy))]
    Line {
        /// The trace.
        name: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
        /// The line's text, clipped.
        text: String,
        /// What to do about it; may be empty.
        remedy: &'static str,
    },
    /// A record of a binary trace is not what its format demands.
    #[error("{name}: record {record}: {what}{}", remedy_clause(.remedy))]
    Record {
        /// The trace.
        name: String,
        /// The record, from 1.
        record: u64,
        /// What is wrong.
        what: &'static str,
        /// What to do about it; may be empty.
        remedy: &'static str,
    },
    /// A trace cannot be sorted for want of room for temporary files.
    #[error("cannot sort the trace in a temporary file: {0}")]
    Sort(#[source] io::Error),
    /// The content is in no known format.
    #[error(
        "trace `{name}` is in no known format; it begins: {text}\n\
         If you know the format, give `--format NAME`; known: {known}{}", member_clause(*is_member)
    )]
    UnknownFormat {
        /// The trace.
        name: String,
        /// Whether it is a member of an archive, of which others may be the trace.
        is_member: bool,
        /// Its first line, clipped.
        text: String,
        /// The known formats.
        known: String,
    },
    /// The parts of a trace are in different formats.
    #[error(
        "`{first}` is {first_format} and `{other}` is {other_format}, so they are not one trace; \
         name members of one format, as in `set.tar/*.csv`"
    )]
    MixedFormats {
        /// The first part.
        first: String,
        /// Its format.
        first_format: &'static str,
        /// A part in another format.
        other: String,
        /// That format.
        other_format: &'static str,
    },
    /// The content could be in several formats.
    #[error("trace `{name}` could be in any of these formats: {candidates}; choose by `--format`")]
    AmbiguousFormat {
        /// The trace.
        name: String,
        /// The formats that match.
        candidates: String,
    },
    /// A blkparse text has none of the events that are replayed by default.
    #[error(
        "trace `{name}` has no event D (issued) or Q (queued) to replay; it has {found}; \
         choose one with `--format blkparse:action=…` (or blktrace:action=…)"
    )]
    NoEvents {
        /// The trace.
        name: String,
        /// The actions that it has.
        found: String,
    },
    /// A name, key or value of a spec is wrong.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A workload that cannot exist, such as one that touches more pages than there are.
    #[error("workload {workload}: {what}")]
    Workload {
        /// The workload.
        workload: &'static str,
        /// What is impossible, with its numbers.
        what: String,
    },
    /// A request that the format to be written cannot express.
    #[error("request {index} cannot be written as {format}: {what}")]
    Unwritable {
        /// The request, from 0.
        index: u64,
        /// The format.
        format: &'static str,
        /// Why not.
        what: &'static str,
    },
    /// Writing a trace failed.
    #[error("cannot write the trace: {0}")]
    Write(#[source] io::Error),
}

impl Error {
    /// Whether the user asked for something impossible, rather than the trace being at fault.
    pub fn is_usage(&self) -> bool {
        matches!(self, Error::Spec(_) | Error::Workload { .. })
    }
}

fn member_clause(is_member: bool) -> &'static str {
    match is_member {
        true => "\nIf it is no trace, name the members that are, as in `set.tar/*.csv`",
        false => "",
    }
}

fn remedy_clause(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(" ({remedy})") }
}

/// The longest text of a line that a message shows, in characters.
const LONGEST_QUOTE: usize = 120;

/// A line as a message shows it: clipped, bytes that are no text replaced.
pub(crate) fn quote(line: &[u8]) -> String {
    // A character has at most four bytes, so these are enough for the clip and bound the work.
    let head = &line[..line.len().min(4 * (LONGEST_QUOTE + 1))];
    let text = String::from_utf8_lossy(head);
    let shown = |c: char| match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let mut quote: String = text.trim_end().chars().take(LONGEST_QUOTE).map(shown).collect();
    if text.trim_end().chars().count() > LONGEST_QUOTE {
        quote.push('…');
    }
    quote
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_clipped_and_harmless() {
        assert_eq!(quote(b"a,b\r"), "a,b");
        assert_eq!(quote(b"\xff\x00\tx"), "\u{fffd}\u{fffd} x");
        assert_eq!(quote(&[b'x'; 120]).chars().count(), 120);
        assert_eq!(quote(&[b'x'; 100_000]).chars().count(), 121);
    }
}
