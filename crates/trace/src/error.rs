//! Errors of reading, generating and writing traces. Every message names the trace, and the
//! position and text if there are any.

use std::io;

use spec::shell_word;

/// The name of standard input in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// The result of reading, generating or writing a trace.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a trace cannot be read, generated or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened.
    #[error("cannot open trace `{name}`: {source}")]
    Open {
        /// The trace.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A folder without files that could be a trace.
    #[error(
        "no file in the folder of `{name}` is a trace: hidden and empty files are left out; name a \
         file, or a folder with files"
    )]
    Folder {
        /// The folder, perhaps with a pattern.
        name: String,
    },
    /// A file in a folder is an archive.
    #[error("`{name}` is an archive in a folder of traces; name it alone, or extract it")]
    ArchiveInFolder {
        /// The archive.
        name: String,
    },
    /// The file is empty, or its decompressed content is.
    #[error("trace `{name}` is empty")]
    Empty {
        /// The trace.
        name: String,
    },
    /// The compression of the file is not supported.
    #[error(
        "trace `{name}` is compressed with {compression}, which is not supported; \
         decompress it first: `{}`",
        piped(.remedy, .name, *.is_member)
    )]
    UnsupportedCompression {
        /// The trace.
        name: String,
        /// The compression, recognised by its magic number.
        compression: &'static str,
        /// A command that decompresses `FILE`.
        remedy: &'static str,
        /// Whether it is a member of an archive.
        is_member: bool,
    },
    /// The compressed data are truncated.
    #[error(
        "trace `{name}` is cut short: its {compression} data are truncated; fetch the file again"
    )]
    Truncated {
        /// The trace.
        name: String,
        /// The compression.
        compression: &'static str,
    },
    /// The text is encoded in UTF-16.
    #[error(
        "trace `{name}` is text in UTF-16; convert it first: `{}`",
        piped("iconv -f UTF-16 -t UTF-8 FILE", .name, *.is_member)
    )]
    Utf16 {
        /// The trace.
        name: String,
        /// Whether it is a member of an archive.
        is_member: bool,
    },
    /// The lines end in a carriage return alone.
    #[error(
        "trace `{name}` has lines that end in a carriage return alone; convert it first: `{}`",
        piped("tr '\\r' '\\n' < FILE", .name, *.is_member)
    )]
    CarriageReturns {
        /// The trace.
        name: String,
        /// Whether it is a member of an archive.
        is_member: bool,
    },
    /// The file begins within the header of an archive.
    #[error(
        "trace `{name}` begins within the header of a tar archive, so the first bytes of the \
         archive are missing; fetch the archive again"
    )]
    HeadlessArchive {
        /// The trace.
        name: String,
    },
    /// Input that can be read only once, or has to be decompressed, cannot be copied.
    #[error("cannot copy trace `{name}` to a temporary file: {source}")]
    Spool {
        /// The trace.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// An archive is damaged, or its members are not a trace.
    #[error("archive `{name}`: {what}")]
    Archive {
        /// The archive.
        name: String,
        /// What is wrong, in a sentence.
        what: String,
    },
    /// Reading the file fails.
    #[error("trace `{name}`: {}: {source}", after(*line))]
    Read {
        /// The trace.
        name: String,
        /// The last complete line.
        line: u64,
        /// The error of the system or of the decompressor.
        source: io::Error,
    },
    /// A line violates its format.
    #[error("{name}:{line}: {what}: {text}{}", remedy_clause(.remedy))]
    Line {
        /// The trace.
        name: String,
        /// The number of the line, from 1.
        line: u64,
        /// What is wrong.
        what: String,
        /// The text of the line, shortened.
        text: String,
        /// A hint or remedy; may be empty.
        remedy: &'static str,
        /// Whether the whole trace is unreadable.
        fatal: bool,
    },
    /// A record of a binary trace violates its format.
    #[error("{name}: record {record}: {what}{}", remedy_clause(.remedy))]
    Record {
        /// The trace.
        name: String,
        /// The number of the record, from 1.
        record: u64,
        /// What is wrong.
        what: &'static str,
        /// A hint or remedy; may be empty.
        remedy: &'static str,
        /// Whether the whole trace is unreadable.
        fatal: bool,
    },
    /// Every line or record was bad and was skipped.
    #[error(
        "trace `{name}` has no request left, because `--skip-bad` left out {count} bad lines or \
         records; the first one: {first}\n\
         The columns may be in other units or in another format: `ftlab list formats` shows how \
         `--format` describes them"
    )]
    NothingLeft {
        /// The trace.
        name: String,
        /// The number of bad lines or records.
        count: u64,
        /// The message of the first.
        first: String,
    },
    /// The trace has no volume of this name.
    #[error(
        "trace {name} has no volume `{volume}`; {}{}",
        listed(volumes),
        nearest.as_ref().map_or(String::new(), |it| format!("; did you mean `{it}`?"))
    )]
    NoVolume {
        /// The trace.
        name: String,
        /// The name that was asked for.
        volume: String,
        /// The names of its volumes, in the order of their first requests.
        volumes: Vec<String>,
        /// A name of these that is nearly the same.
        nearest: Option<String>,
    },
    /// A row of columns is no request.
    #[error("{name}: column `{column}`, row {row} (counted from 0): {what}")]
    Column {
        /// The name of the requests.
        name: String,
        /// The column.
        column: &'static str,
        /// The number of the row, from 0.
        row: u64,
        /// What is wrong.
        what: String,
    },
    /// A log of writes violates its format, or cannot be read.
    #[error("{name}: {what}")]
    LogWrites {
        /// The log.
        name: String,
        /// What is wrong and where, in a sentence.
        what: String,
    },
    /// The name of a mark does not fit into a log of writes.
    #[error(
        "a mark with a name of {bytes} bytes cannot be logged; it can have at most {bytes_max} \
         bytes, and no zero"
    )]
    MarkName {
        /// Bytes of the name.
        bytes: usize,
        /// The longest name in bytes.
        bytes_max: usize,
    },
    /// A temporary file for sorting a trace cannot be written or read.
    #[error("cannot sort the trace with temporary files: {0}")]
    Sort(#[source] io::Error),
    /// Requests that were kept in a temporary file cannot be read again.
    #[error("cannot read trace `{name}` again from a temporary file: {source}")]
    Kept {
        /// The trace.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The format of the content is unknown.
    #[error(
        "trace `{name}` is in no known format; it begins: {text}\n\
         {}If you know the format, give it as in `ftlab trace info {} --format spc`; the formats \
         are: {known}{}",
        recipes_clause(.name, .text, .readings), argument(.name),
        member_clause(.other_member)
    )]
    UnknownFormat {
        /// The trace.
        name: String,
        /// The largest other member of the archive, which may be the trace.
        other_member: Option<String>,
        /// Its first line, shortened.
        text: String,
        /// Settings that read its beginning.
        readings: Vec<PossibleReading>,
        /// The known formats.
        known: String,
    },
    /// The content is what a tracing program has recorded, which it prints as text.
    #[error(
        "trace `{name}` is a recording that {program} prints as text, which can be read:\n    \
         {program} {} > trace.txt\n    ftlab trace info trace.txt",
        argument(.name)
    )]
    Recording {
        /// The trace.
        name: String,
        /// The program and its options before the name of the file.
        program: &'static str,
    },
    /// The content is binary, and in no known format.
    #[error(
        "trace `{name}` is binary and in no known format; it begins: {text}\n\
         The binary formats that can be read are blktrace, vscsi, oracle-general and \
         oracle-general-opns, of which the last two have to be named, as in `ftlab trace info {} \
         --format oracle-general`; read others as the text that their own programs print{}",
        argument(.name), member_clause(.other_member)
    )]
    UnknownBinary {
        /// The trace.
        name: String,
        /// The largest other member of the archive, which may be the trace.
        other_member: Option<String>,
        /// Its first line, shortened.
        text: String,
    },
    /// The parts of a trace are in different formats.
    #[error(
        "`{first}` is in format {first_format} and `{other}` in format {other_format}, so they are \
         not one trace; name members in one format, as in `{}`",
        alike(.first)
    )]
    MixedFormats {
        /// The first part.
        first: String,
        /// Its format.
        first_format: String,
        /// A part in another format.
        other: String,
        /// That format.
        other_format: String,
    },
    /// The content could be in several formats, or in several units of one.
    #[error(
        "trace `{name}` fits several readings alike; choose the one with the right figures:{}",
        commands(.name, .readings)
    )]
    AmbiguousFormat {
        /// The trace.
        name: String,
        /// The readings that match.
        readings: Vec<PossibleReading>,
    },
    /// A trace of the block layer has none of the events that are replayed by default.
    #[error(
        "trace `{name}` has no events D (issued) or Q (queued) to replay; {}",
        actions_clause(.name, .format, .found)
    )]
    NoEvents {
        /// The trace.
        name: String,
        /// Its format.
        format: &'static str,
        /// The actions that it has.
        found: Vec<char>,
    },
    /// A text of the kernel's events has none of those that are requests.
    #[error(
        "trace `{name}` has none of the events {events}{}; record one of them, as with \
         `trace-cmd record -e block_rq_issue`",
        found_clause(.found)
    )]
    NoKernelEvents {
        /// The trace.
        name: String,
        /// The events that are read.
        events: String,
        /// Some of the events that it has.
        found: Vec<String>,
    },
    /// A name, key or value of a spec is wrong.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A workload is impossible, such as one that touches more pages than the space has.
    #[error("workload {workload}: {what}")]
    Workload {
        /// The workload.
        workload: &'static str,
        /// What is impossible, with the numbers.
        what: String,
    },
    /// A request cannot be expressed in the format that is written.
    #[error("request {index} cannot be written as {format}: {what}")]
    Unwritable {
        /// The number of the request, from 0.
        index: u64,
        /// The format.
        format: &'static str,
        /// The reason.
        what: &'static str,
    },
    /// Writing a trace failed.
    #[error("cannot write the trace: {0}")]
    Write(#[source] io::Error),
}

impl Error {
    /// Whether `--skip-bad` would skip and count the line or record that is at fault.
    pub fn is_skippable(&self) -> bool {
        matches!(self, Error::Line { fatal: false, .. } | Error::Record { fatal: false, .. })
    }

    /// The error for a trace that has no volume `volume`, but these.
    pub fn no_volume(trace: &str, volume: &str, volumes: Vec<String>) -> Error {
        let nearest = spec::nearest(volume, volumes.iter().map(String::as_str)).map(str::to_owned);
        let (name, volume) = (trace.to_owned(), volume.to_owned());
        Error::NoVolume { name, volume, volumes, nearest }
    }

    /// Whether the user's request is at fault, not the trace.
    pub fn is_usage(&self) -> bool {
        let is_volume = matches!(self, Error::NoVolume { .. });
        is_volume || matches!(self, Error::Spec(_) | Error::Workload { .. } | Error::Column { .. })
    }
}

/// Settings that read the beginning of a trace whose format is not certain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleReading {
    /// What to give as `--format`.
    pub spec: String,
    /// What the first requests do if they are read in this way; `None` if they cannot be read.
    pub summary: Option<String>,
}

/// The most volumes that a message names.
const VOLUMES_LISTED: usize = 8;

/// Where reading failed.
fn after(line: u64) -> String {
    match line {
        0 => "cannot read the first line".to_owned(),
        _ => format!("cannot continue reading after line {line}"),
    }
}

/// The volumes of a trace, as its message names them.
fn listed(volumes: &[String]) -> String {
    let first = volumes.iter().take(VOLUMES_LISTED).map(|name| format!("`{name}`"));
    let first = first.collect::<Vec<_>>().join(", ");
    let more = if volumes.len() > VOLUMES_LISTED { ", …" } else { "" };
    match volumes.len() {
        1 => format!("its only volume is {first}"),
        count => format!("it has {count}: {first}{more}"),
    }
}

/// The word for a trace on a command line.
fn argument(name: &str) -> String {
    shell_word(if name == STANDARD_INPUT { "-" } else { name })
}

/// For each reading its summary and the command that reads the trace in this way.
fn commands(name: &str, readings: &[PossibleReading]) -> String {
    let name = argument(name);
    let command = |reading: &PossibleReading| {
        let summary = reading.summary.as_deref().unwrap_or("its beginning has bad lines");
        let spec = shell_word(&reading.spec);
        format!("\n  {summary}:\n    ftlab trace info {name} --format {spec}")
    };
    readings.iter().map(command).collect()
}

/// Commands that read the trace, or an example of one. `text` is its first line.
fn recipes_clause(name: &str, text: &str, readings: &[PossibleReading]) -> String {
    let separator = match text {
        text if text.contains(';') => "sep=semicolon,",
        text if text.contains(',') => "",
        _ => "sep=blank,",
    };
    match readings {
        [] if text.contains("block_rq_") => String::from(
            "It seems to have events of Linux's block layer, but in another form than `perf \
             script`, `trace-cmd report` and ftrace itself print.\n",
        ),
        [] => format!(
            "Columns in any order can be read. If they were time, operation, offset, length:\n    \
             ftlab trace info {} --format csv:{separator}columns=time.s+op+off.bytes+len.bytes\n\
             `ftlab list formats` explains the words under csv.\n",
            argument(name)
        ),
        readings => format!(
            "This reads its beginning; check that units and figures are right:{}\n{}",
            commands(name, readings),
            volume_clause(readings)
        ),
    }
}

/// What a column is called that the readings leave out, but which may name the volume.
fn volume_clause(readings: &[PossibleReading]) -> &'static str {
    let columns = |reading: &PossibleReading| {
        let columns = reading.spec.split("columns=").nth(1)?.split(',').next()?;
        Some(columns.split('+').map(str::to_owned).collect::<Vec<_>>())
    };
    let leaves_out = |columns: Vec<String>| {
        columns.iter().any(|one| one == "_") && !columns.iter().any(|one| one == "dev")
    };
    match readings.iter().filter_map(columns).any(leaves_out) {
        true => "A column called `_` is left out; call the one that names the volume `dev`.\n",
        false => "",
    }
}

/// The actions that a trace of the block layer has, with a command for each that can be replayed.
fn actions_clause(name: &str, format: &str, found: &[char]) -> String {
    let joined: Vec<String> = found.iter().map(char::to_string).collect();
    let joined = joined.join(", ");
    let name = argument(name);
    let command =
        |action: char| format!("\n    ftlab trace info {name} --format {format}:action={action}");
    let commands: String = "GIC".chars().filter(|one| found.contains(one)).map(command).collect();
    match (found, commands.as_str()) {
        ([], _) => String::from("it has no event at all"),
        (_, "") => format!("it has {joined}, none of which is a request; record D with blktrace"),
        (_, commands) => format!("it has {joined}; this replays them:{commands}"),
    }
}

fn found_clause(found: &[String]) -> String {
    if found.is_empty() { String::new() } else { format!("; it has {}", found.join(", ")) }
}

fn member_clause(other_member: &Option<String>) -> String {
    match other_member {
        Some(other) => {
            format!("\nIf it is not a trace, name the members that are, as in `{}`", alike(other))
        }
        None => String::new(),
    }
}

/// A path for the members in the folder of this one that end like it.
fn alike(member: &str) -> String {
    let (folder, file) = member.split_at(member.rfind('/').map_or(0, |slash| slash + 1));
    match file.split_once('.') {
        Some((_, ending)) => shell_word(&format!("{folder}*.{ending}")),
        None => shell_word(member),
    }
}

/// A command line that reads a trace from a command with `FILE` in place of the name of the trace.
/// A member of an archive has to be extracted first.
fn piped(command: &str, name: &str, is_member: bool) -> String {
    let file = if is_member { String::from("FILE") } else { argument(name) };
    format!("{} | ftlab trace info -", command.replace("FILE", &file))
}

fn remedy_clause(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(" ({remedy})") }
}

/// The longest quotation of a line in a message, in characters.
const LONGEST_QUOTE: usize = 120;

/// A line as quoted in a message: shortened, and with replacements for bytes that are not text.
pub(crate) fn quote(line: &[u8]) -> String {
    // A character has at most four bytes, so this prefix suffices and limits the work.
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
    fn quotations_are_short_and_printable() {
        assert_eq!(quote(b"a,b\r"), "a,b");
        assert_eq!(quote(b"\xff\x00\tx"), "\u{fffd}\u{fffd} x");
        assert_eq!(quote(&[b'x'; 120]).chars().count(), 120);
        assert_eq!(quote(&[b'x'; 100_000]).chars().count(), 121);
    }
}
