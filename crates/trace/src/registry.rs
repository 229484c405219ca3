//! The known trace formats and workloads, as data.
//!
//! The command's lists, its help, format detection and the tests read these two lists; there is no
//! `match` on their names anywhere.

use spec::Spec;

use crate::error::{Error, Result, quote};
use crate::generate::workload::Workload;
pub use crate::generate::workloads::WORKLOADS;
use crate::input::stored_trace::StoredTrace;
use crate::parse::format::Format;
pub use crate::parse::formats::FORMATS;
use crate::parse::trace_head::{HEAD_BYTES, Likeness, TraceHead};

/// The format of this name.
///
/// # Errors
/// There is none; the message lists all and the nearest.
pub fn format(name: &str) -> Result<&'static Format> {
    let found = FORMATS.iter().copied().find(|format| format.name == name);
    found.ok_or_else(|| spec::unknown("format", name, &format_names()).into())
}

/// The workload of this name.
///
/// # Errors
/// There is none; the message lists all and the nearest.
pub fn workload(name: &str) -> Result<&'static Workload> {
    let found = WORKLOADS.iter().copied().find(|workload| workload.name == name);
    let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    found.ok_or_else(|| spec::unknown("workload", name, &names).into())
}

/// The capacity a workload asks for when the user gives none, in bytes.
///
/// # Errors
/// An unknown workload or key, or a space beyond 64 bits.
pub fn default_capacity(spec: &Spec, page_bytes: u32) -> Result<u64> {
    workload(&spec.name)?.default_capacity(&spec.pairs, page_bytes)
}

fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

/// Tells the format of a trace by the first lines of each part.
pub(crate) fn detect(input: &StoredTrace) -> Result<&'static Format> {
    let mut told: Option<(&StoredTrace, &'static Format)> = None;
    for part in input.parts() {
        let format = detect_part(part)?;
        match told {
            None => told = Some((part, format)),
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
    Ok(told.expect("a trace has parts").1)
}

/// Tells the format of one part; a header counts more than alike lines.
fn detect_part(part: &StoredTrace) -> Result<&'static Format> {
    let bytes = part.head(HEAD_BYTES)?;
    let head = TraceHead::new(&bytes);
    let likeness = |format: &&Format| (format.detect)(&head);
    let best = FORMATS.iter().map(likeness).max().unwrap_or(Likeness::None);
    let (name, is_member) = (part.name().to_owned(), part.is_member());
    if best == Likeness::None {
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
    fn formats_are_told_apart_by_their_first_lines() {
        let cases: &[(&[u8], &str)] = &[
            (b"0,20941264,8192,W,0.551706\n", "spc"),
            (b"0, 20941264, 8192, r, 0.551706, x\n", "spc"),
            (b"128166481075232275,rsrch,1,Write,281358336,45056,94872\r\n", "msr"),
            (b"fio version 3 iolog\n53 vdev add\n", "fio"),
            (b"fio version 2 iolog\n8,0 add\n", "fio"),
            (b"254,0    0      421     1.3    24  Q  DS 266240 + 2048 [x]\n", "blkparse"),
            (b"\n  7,4 0 1 0.000000000 23648 Q WS 41680 4\n", "blkparse"),
            (b"0,1,2,r,0.5,x,y\n", "spc"),
            (b"Timestamp,Response,IOType,LUN,Offset,Size\n1.0,,R,1,0,512\n", "systor"),
            (b"1538323200,4247200,128,1,1058\n", "tencent"),
            (b"419,W,8792731648,16384,1577808144360767\n", "alibaba"),
            (b"8996 4253 nfsd x 508516672 8 W 6 0 88b9\n", "fiu"),
            (b"5265.313 0 6357144 8 0\n", "disksim"),
            (b"0\t4.6\t0.00003815\t0\tWrite\t6194591\t32\r\n", "diskmon"),
            (b"BeginHeader\nDiskRead, TimeStamp\nEndHeader\n", "etw"),
            (b"x\n\nstart ; sector; length ; op ; a ; b\n", "blkreplay"),
            (b"time_ns,device,rwbs,offset,bytes\n", "csv"),
            (b"\x07tae more", "blktrace"),
            (b"eat\x07 more", "blktrace"),
            (b"a stray line\n7,4 0 1 0.000000000 23648 Q WS 41680 4\n", "blkparse"),
        ];
        for (text, name) in cases {
            assert_eq!(&detected(text).unwrap(), name, "{}", quote(text));
        }
    }

    #[test]
    fn an_unknown_format_shows_its_first_line_and_the_remedy() {
        let message = detected(b"\n\nsome,text\nmore").unwrap_err().to_string();
        assert!(message.contains("in no known format; it begins: some,text"), "{message}");
        assert!(message.contains("--format NAME"), "{message}");
        assert!(message.contains("spc, msr, systor, "), "{message}");
        let binary: Vec<u8> = (0..=255).cycle().take(200_000).collect();
        assert!(detected(&binary).is_err());
    }

    #[test]
    fn a_tie_is_an_error() {
        let both = b"0,1,512,W,0.1\n7,4 0 1 0.0 23648 Q WS 41680 4\n";
        let message = detected(both).unwrap_err().to_string();
        assert!(message.contains("any of these formats: spc, blkparse; choose"), "{message}");
    }

    #[test]
    fn five_integers_could_be_several() {
        let message = detected(b"938513000 4 264719034 16 0\n").unwrap_err().to_string();
        assert!(message.contains("these formats: disksim, mqsim, ssdsim; choose"), "{message}");
    }

    #[test]
    fn examples_are_well_formed() {
        for format in FORMATS {
            for example in format.examples {
                let spec = spec::Spec::parse(example.spec).unwrap();
                assert_eq!(spec.name, format.name);
                spec::resolve(format.name, &spec.pairs, format.params).unwrap();
            }
        }
    }

    #[test]
    fn names_are_unique_and_misspellings_are_helped() {
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
