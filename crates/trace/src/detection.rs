//! Trace formats by content: which format, or which well-known trace of a format, a file looks
//! like. If that is not certain, the error shows the commands that read the file.

use std::sync::Arc;

use spec::Spec;

use crate::error::{Error, PossibleReading, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::encoding::is_utf_16;
use crate::parse::format::Format;
use crate::parse::formats::FORMATS;
use crate::parse::formats::custom::csv::heading;
use crate::parse::text::trace_head::{HEAD_BYTES, Likeness, TraceHead};
use crate::reader::ReadMode;
use crate::registry::{format, format_names};
use crate::request::{Op, Request};

/// A format with the settings that read a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// What the user would give as `--format`.
    pub(crate) spec: Spec,
    /// The well-known traces that it is meant for; empty if the format alone was recognised.
    pub(crate) traces: &'static str,
}

impl Reading {
    /// All formats, and all well-known traces of formats, with their likeness to the beginning of a
    /// trace.
    fn all(head: &TraceHead) -> Vec<(Likeness, Reading)> {
        let readings = |format: &&'static Format| {
            let plain = Reading { spec: Spec::plain(format.name), traces: "" };
            let examples = format.examples.iter().map(|example| {
                let spec = Spec::parse(example.spec).expect("tests parse all examples");
                ((example.detect)(head), Reading { spec, traces: example.traces })
            });
            [((format.detect)(head), plain)].into_iter().chain(examples).collect::<Vec<_>>()
        };
        FORMATS.iter().flat_map(readings).collect()
    }

    /// A sentence about a reading that was chosen for its columns.
    pub(crate) fn note(&self) -> Option<String> {
        let note = || format!("The columns are those of {}: {}.", self.traces, self.spec);
        (!self.traces.is_empty()).then(note)
    }
}

/// Detects from the beginning of each part how a trace is to be read. All parts must agree.
pub(crate) fn detect(trace: &StoredTrace) -> Result<Reading> {
    let mut detected: Option<(&StoredTrace, Reading)> = None;
    for part in trace.parts() {
        let reading = detect_part(trace, part).map_err(|error| part.unless_truncated(error))?;
        match &detected {
            None => detected = Some((part, reading)),
            Some((first, known)) if *known != reading => {
                return Err(Error::MixedFormats {
                    first: first.name().to_owned(),
                    first_format: known.spec.to_string(),
                    other: part.name().to_owned(),
                    other_format: reading.spec.to_string(),
                });
            }
            Some(_) => {}
        }
    }
    Ok(detected.expect("a trace has parts").1)
}

/// Detects how one part is to be read. A matching header takes precedence over matching lines.
fn detect_part(trace: &StoredTrace, part: &StoredTrace) -> Result<Reading> {
    let bytes = part.head(HEAD_BYTES)?;
    let head = TraceHead::new(&bytes);
    let all = Reading::all(&head);
    let best = all.iter().map(|(likeness, _)| *likeness).max().unwrap_or(Likeness::None);
    if best == Likeness::None {
        return Err(unknown_format(part, &head));
    }
    let matching = all.into_iter().filter(|(likeness, _)| *likeness == best);
    let mut matching: Vec<Reading> = matching.map(|(_, reading)| reading).collect();
    match matching.len() {
        1 => Ok(matching.remove(0)),
        _ => {
            let possible = |reading: Reading| PossibleReading {
                summary: read_head(&head, &reading.spec).map(|requests| summary(&requests)),
                spec: reading.spec.to_string(),
            };
            let readings = matching.into_iter().map(possible).collect();
            Err(Error::AmbiguousFormat { name: trace.name().to_owned(), readings })
        }
    }
}

fn unknown_format(part: &StoredTrace, head: &TraceHead) -> Error {
    if is_utf_16(head.bytes()) {
        return Error::Utf16 { name: part.name().to_owned() };
    }
    let examples = FORMATS.iter().flat_map(|format| format.examples);
    let recipes = heading::recipe(head).into_iter();
    let recipes = recipes.chain(examples.map(|example| example.spec.to_owned()));
    let possible = |spec: String| {
        let requests = read_head(head, &Spec::parse(&spec).ok()?)?;
        Some(PossibleReading { spec, summary: Some(summary(&requests)) })
    };
    Error::UnknownFormat {
        name: part.name().to_owned(),
        is_member: part.is_member(),
        text: quote(head.first()),
        readings: recipes.filter_map(possible).collect(),
        known: format_names().join(", "),
    }
}

/// The requests at the beginning of a trace if it is read in this way; `None` if it has none or a
/// line is bad.
fn read_head(head: &TraceHead, spec: &Spec) -> Option<Vec<Request>> {
    let lines: Vec<&[u8]> = head.whole_lines().collect();
    let stored = StoredTrace::of_bytes("", &lines.join(&b'\n')).ok()?;
    let format = format(&spec.name).ok()?;
    let params = spec::resolve("", &spec.pairs, format.params).ok()?;
    let factory = format.open(&params, &stored).ok()?;
    let mode = ReadMode { skip_bad: false, raw_times: false };
    let mut reader = factory.reader(&Arc::new(stored), mode).ok()?;
    let mut requests = Vec::new();
    while reader.next_batch(&mut requests, HEAD_BYTES).ok()? > 0 {}
    (!requests.is_empty()).then_some(requests)
}

/// A sentence about the first requests, by which a user can tell whether the units are right.
fn summary(requests: &[Request]) -> String {
    let total = |op: Op| {
        let bytes = requests.iter().filter(|request| request.op == op).map(|request| request.bytes);
        match bytes.map(|bytes| bytes as f64).sum::<f64>() / 1024.0 {
            kibibytes @ ..1024.0 => format!("{kibibytes:.1} KiB"),
            kibibytes => format!("{:.1} MiB", kibibytes / 1024.0),
        }
    };
    let seconds = requests.last().map_or(0.0, |last| last.time_ns as f64 / 1e9);
    let (count, written, read) = (requests.len(), total(Op::Write), total(Op::Read));
    format!("its first {count} requests write {written} and read {read} in {seconds:.3} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &[u8]) -> Result<String> {
        Ok(detect(&StoredTrace::spool("t", text)?)?.spec.to_string())
    }

    #[test]
    fn specimens_are_detected_if_their_content_identifies_the_format() {
        for format in FORMATS {
            assert!(!format.specimens.is_empty(), "{} has no specimen", format.name);
            for specimen in format.specimens {
                let is_detected = detected(specimen.bytes)
                    .is_ok_and(|spec| spec.split(':').next() == Some(format.name));
                let shown = format!("{}: {}", specimen.spec, quote(specimen.bytes));
                assert_eq!(is_detected, specimen.is_detected, "{shown}");
            }
        }
    }

    #[test]
    fn the_error_for_an_unknown_format_shows_the_first_line_and_a_remedy() {
        let message = detected(b"\n\nsome,text\nmore").unwrap_err().to_string();
        assert!(message.contains("in no known format; it begins: some,text"), "{message}");
        assert!(message.contains("--format NAME"), "{message}");
        assert!(message.contains("spc, msr, systor, "), "{message}");
        let binary: Vec<u8> = (0..=255).cycle().take(200_000).collect();
        assert!(detected(&binary).is_err());
    }

    #[test]
    fn a_heading_with_usual_names_gives_the_command_that_reads_it() {
        let text = b"timestamp,rw_flag,sector,size\n0.5,R,100,8\n1.5,W,108,16\n";
        let message = detected(text).unwrap_err().to_string();
        let expected = "\n  its first 2 requests write 8.0 KiB and read 4.0 KiB in 1.000 s:\n    \
            ftlab trace info t --format \
            csv:columns=time.s+op+off.sectors+len.sectors,header=true\n";
        assert!(message.contains(expected), "{message}");
    }

    #[test]
    fn a_trace_that_looks_like_two_formats_is_refused() {
        let both = b"0,1,512,W,0.1\n7,4 0 1 0.0 23648 Q WS 41680 4\n";
        let message = detected(both).unwrap_err().to_string();
        for format in ["spc", "blkparse"] {
            let command = format!("\n    ftlab trace info t --format {format}\n");
            assert!(format!("{message}\n").contains(&command), "{message}");
        }
    }

    #[test]
    fn units_that_fit_alike_are_refused_with_every_reading() {
        let message = detected(b"26.214 0 303574 1 0\n78.643 0 55596 1 1\n").unwrap_err();
        let message = message.to_string() + "\n";
        for format in ["disksim", "disksim:unit=s", "flashsim"] {
            assert!(message.contains(&format!(" t --format {format}\n")), "{format}: {message}");
        }
        assert!(message.contains("write 0.5 KiB and read 0.5 KiB in 52.429 s"), "{message}");
    }

    #[test]
    fn five_integers_are_ambiguous() {
        let message = detected(b"938513000 4 264719034 16 0\n").unwrap_err().to_string() + "\n";
        for format in ["disksim", "mqsim", "ssdsim", "ssdsim:unit=us"] {
            assert!(message.contains(&format!(" t --format {format}\n")), "{format}: {message}");
        }
    }
}
