//! Trace formats and workloads by name, and trace formats by content.
//!
//! The lists themselves are in `parse/formats/mod.rs` and `generate/workloads/mod.rs`.

use spec::Spec;

use crate::error::{Error, Result, quote};
use crate::generate::workload::Workload;
pub use crate::generate::workloads::WORKLOADS;
use crate::input::stored_trace::StoredTrace;
use crate::parse::format::Format;
pub use crate::parse::formats::FORMATS;
use crate::parse::text::encoding::is_utf_16;
use crate::parse::trace_head::{HEAD_BYTES, Likeness, TraceHead};

/// The format with this name.
///
/// # Errors
/// Unknown name; the message lists all names and suggests the nearest.
pub fn format(name: &str) -> Result<&'static Format> {
    let found = FORMATS.iter().copied().find(|format| format.name == name);
    found.ok_or_else(|| spec::unknown("format", name, &format_names()).into())
}

/// The workload with this name.
///
/// # Errors
/// Unknown name; the message lists all names and suggests the nearest.
pub fn workload(name: &str) -> Result<&'static Workload> {
    let found = WORKLOADS.iter().copied().find(|workload| workload.name == name);
    let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    found.ok_or_else(|| spec::unknown("workload", name, &names).into())
}

/// The capacity that a workload needs, in bytes; used if the user gives none.
///
/// # Errors
/// Unknown workload or key, or a capacity beyond 64 bits.
pub fn default_capacity(spec: &Spec, page_bytes: u32) -> Result<u64> {
    workload(&spec.name)?.default_capacity(&spec.pairs, page_bytes)
}

fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Detects the format of a trace by the beginning of each part, which must all agree.
pub(crate) fn detect(trace: &StoredTrace) -> Result<&'static Format> {
    let mut detected: Option<(&StoredTrace, &'static Format)> = None;
    for part in trace.parts() {
        let format = detect_part(part)?;
        match detected {
            None => detected = Some((part, format)),
            Some((first, known)) if known.name != format.name => {
                return Err(Error::MixedFormats {
                    first: first.name().to_owned(),
                    first_format: known.name,
                    other: part.name().to_owned(),
                    other_format: format.name,
                });
            }
            Some(_) => {}
        }
    }
    Ok(detected.expect("a trace has parts").1)
}

/// Detects the format of one part. A matching header takes precedence over matching lines.
fn detect_part(part: &StoredTrace) -> Result<&'static Format> {
    let bytes = part.head(HEAD_BYTES)?;
    let head = TraceHead::new(&bytes);
    let likeness = |format: &&Format| (format.detect)(&head);
    let best = FORMATS.iter().map(likeness).max().unwrap_or(Likeness::None);
    let (name, is_member) = (part.name().to_owned(), part.is_member());
    if best == Likeness::None {
        if is_utf_16(&bytes) {
            return Err(Error::Utf16 { name });
        }
        let (text, known) = (quote(head.first()), format_names().join(", "));
        return Err(Error::UnknownFormat { name, is_member, text, known });
    }
    let matching: Vec<_> = FORMATS.iter().filter(|format| likeness(format) == best).collect();
    match matching.as_slice() {
        [format] => Ok(format),
        several => {
            let names: Vec<_> = several.iter().map(|format| format.name).collect();
            Err(Error::AmbiguousFormat { name, candidates: names.join(", ") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &[u8]) -> Result<&'static str> {
        Ok(detect(&StoredTrace::spool("t", text)?)?.name)
    }

    #[test]
    fn specimens_are_detected_if_their_content_identifies_the_format() {
        for format in FORMATS {
            assert!(!format.specimens.is_empty(), "{} has no specimen", format.name);
            for specimen in format.specimens {
                let is_detected = detected(specimen.bytes).is_ok_and(|name| name == format.name);
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
    fn a_trace_that_looks_like_two_formats_is_refused() {
        let both = b"0,1,512,W,0.1\n7,4 0 1 0.0 23648 Q WS 41680 4\n";
        let message = detected(both).unwrap_err().to_string();
        assert!(message.contains("any of these formats: spc, blkparse; choose"), "{message}");
    }

    #[test]
    fn five_integers_are_ambiguous() {
        let message = detected(b"938513000 4 264719034 16 0\n").unwrap_err().to_string();
        assert!(message.contains("these formats: disksim, mqsim, ssdsim; choose"), "{message}");
    }

    #[test]
    fn examples_and_specimens_are_well_formed() {
        for format in FORMATS {
            let examples = format.examples.iter().map(|example| example.spec);
            let specimens = format.specimens.iter().map(|specimen| specimen.spec);
            for text in examples.chain(specimens) {
                let spec = Spec::parse(text).unwrap();
                assert_eq!(spec.name, format.name);
                spec::resolve(format.name, &spec.pairs, format.params).unwrap();
            }
        }
    }

    #[test]
    fn names_are_unique_and_misspellings_get_a_suggestion() {
        for (index, format) in FORMATS.iter().enumerate() {
            assert!(FORMATS[..index].iter().all(|earlier| earlier.name != format.name));
            spec::resolve(format.name, &[], format.params).unwrap();
        }
        let message = format("blkpars").err().unwrap().to_string();
        assert!(message.contains("did you mean `blkparse`?"), "{message}");
        let message = workload("unifrom").err().unwrap().to_string();
        assert!(message.contains("did you mean `uniform`?"), "{message}");
    }
}
