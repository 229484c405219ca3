//! Arbitrary bytes in every format cause no panic, and every delivered request is valid.

use std::io::Write;

use proptest::prelude::*;
use trace::parse::format::Specimen;
use trace::registry::FORMATS;
use trace::{Op, ReadOptions, Trace};

/// The short traces of all formats.
fn specimens() -> impl Iterator<Item = &'static Specimen> {
    FORMATS.iter().flat_map(|format| format.specimens)
}

/// Texts in place of a number that no reader should accept, or that are at the limit.
static HOSTILE: &[&str] = &[
    "",
    "-1",
    "NaN",
    "inf",
    "1e400",
    "1e-400",
    "0x",
    "0xffffffffffffffffff",
    "18446744073709551615",
    "18446744073709551616",
    "36028797018963968",
    "99999999999999999999999999999999999999999999",
    "00000000000000000000000000000000000000000001",
    "18446744073.709551616",
    "1.",
    ".5",
    "1.5.5",
    "\0",
    "\u{fffd}",
    "½",
];

/// Reads with and without tolerance for bad lines, in the order of the file and sorted by time.
fn survives(format: &str, bytes: &[u8]) {
    for (skip_bad, sort) in [(false, false), (true, false), (true, true)] {
        let spec = spec::Spec::parse(format).unwrap();
        let options = ReadOptions { format: Some(spec), skip_bad, ..ReadOptions::default() };
        let Ok(trace) = Trace::of_bytes("t", bytes, &options) else { return };
        match trace.sorted(sort).requests() {
            Ok(requests) => {
                assert!(requests.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
                for request in requests {
                    assert!(request.offset.checked_add(request.bytes).is_some(), "{request:?}");
                    assert_eq!(request.bytes == 0, request.op == Op::Flush, "{request:?}");
                }
            }
            Err(error) => assert!(error.to_string().len() < 2000, "{error}"),
        }
    }
}

#[test]
fn every_format_has_specimens_and_each_contains_requests() {
    for format in FORMATS {
        assert!(
            !format.specimens.is_empty(),
            "{} has no specimen, so no test reads it",
            format.name
        );
    }
    for specimen in specimens() {
        let format = Some(spec::Spec::parse(specimen.spec).unwrap());
        let options = ReadOptions { format, ..ReadOptions::default() };
        let trace = Trace::of_bytes("t", specimen.bytes, &options).unwrap();
        assert!(!trace.requests().unwrap().is_empty(), "{}", specimen.spec);
    }
}

#[test]
fn hostile_numbers_in_every_field_are_survived() {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'.';
    for specimen in specimens() {
        let words = specimen.bytes.chunk_by(|one, other| is_word(one) == is_word(other));
        let mut start = 0;
        for word in words {
            let (before, after) = (&specimen.bytes[..start], &specimen.bytes[start + word.len()..]);
            start += word.len();
            if is_word(&word[0]) {
                for hostile in HOSTILE {
                    survives(specimen.spec, &[before, hostile.as_bytes(), after].concat());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        // The newline prevents the bytes from looking like a compressed file.
        let bytes = [b"\n", &bytes[..]].concat();
        for format in FORMATS {
            survives(format.name, &bytes);
        }
        for specimen in specimens() {
            survives(specimen.spec, &[specimen.bytes, &bytes].concat());
        }
    }

    #[test]
    fn damaged_compression_and_archives_are_survived(
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let specimen = FORMATS[0].specimens[0];
        let mut archive = tar::Builder::new(Vec::new());
        for name in ["a", &"b".repeat(120)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(specimen.bytes.len() as u64);
            archive.append_data(&mut header, name, specimen.bytes).unwrap();
        }
        let archive = archive.into_inner().unwrap();
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), Default::default()).unwrap();
        xz.write_all(&archive).unwrap();
        for mut bytes in [xz.finish().unwrap(), archive] {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            survives(specimen.spec, &bytes);
            bytes.truncate(cut.index(bytes.len()));
            survives(specimen.spec, &bytes);
        }
    }

    #[test]
    fn damaged_traces_are_survived(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        for specimen in specimens() {
            let mut bytes = specimen.bytes.to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            survives(specimen.spec, &bytes);
            bytes.truncate(cut.index(bytes.len()));
            survives(specimen.spec, &bytes);
        }
    }
}
