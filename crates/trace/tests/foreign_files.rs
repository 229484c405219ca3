//! Files from other systems and broken downloads: byte-order marks, UTF-16, line ends of Windows,
//! quoted headings, compressed data that are cut short.

use std::io::Write;

use trace::parse::format::Specimen;
use trace::registry::FORMATS;
use trace::{ReadOptions, Request, Trace};

/// The short traces of all text formats.
fn texts() -> impl Iterator<Item = (&'static Specimen, &'static str)> {
    let specimens = FORMATS.iter().flat_map(|format| format.specimens);
    specimens.filter_map(|specimen| {
        let text = std::str::from_utf8(specimen.bytes).ok().filter(|text| !text.contains('\0'))?;
        Some((specimen, text))
    })
}

/// The requests of a trace whose format is given, or detected.
fn read(bytes: &[u8], format: Option<&str>, skip_bad: bool) -> Result<Vec<Request>, String> {
    let format = format.map(|format| spec::Spec::parse(format).unwrap());
    let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
    let requests = Trace::of_bytes("t", bytes, &options).and_then(|trace| trace.requests());
    requests.map_err(|error| error.to_string())
}

/// The ways to name the format of a specimen.
fn formats(specimen: &Specimen) -> Vec<Option<&'static str>> {
    if specimen.is_detected { vec![Some(specimen.spec), None] } else { vec![Some(specimen.spec)] }
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_change_nothing() {
    let mut count = 0;
    for (specimen, text) in texts() {
        let windows = text.replace("\r\n", "\n").replace('\n', "\r\n");
        for format in formats(specimen) {
            let expected = read(text.as_bytes(), format, false);
            assert!(expected.is_ok() || format.is_none(), "{format:?}: {expected:?}");
            for foreign in [&format!("\u{feff}{text}"), &windows, &format!("\u{feff}{windows}")] {
                let found = read(foreign.as_bytes(), format, false);
                assert_eq!(found, expected, "{format:?}: {foreign:?}");
            }
            count += 1;
        }
    }
    assert!(count > 30, "{count}");
}

#[test]
fn utf_16_is_refused_with_a_remedy() {
    for (specimen, text) in texts() {
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = [b"\xff\xfe", &little[..]].concat();
        for bytes in [marked, little, [b"\xfe\xff", &big[..]].concat(), big] {
            for format in formats(specimen) {
                let message = read(&bytes, format, false).unwrap_err();
                assert!(message.contains("is text in UTF-16"), "{format:?}: {message}");
                assert!(message.contains("`iconv -f UTF-16 -t UTF-8 t | ftlab trace info -`"));
            }
        }
    }
}

#[test]
fn headings_may_be_quoted() {
    let cases = [
        (
            "Timestamp, Hostname ,DiskNumber,Type,Offset,Size,ResponseTime",
            "128166481075232275,rsrch,1,Write,281358336,45056,94872",
        ),
        ("Timestamp,Response,IOType,LUN,Offset,Size", "1455529206.002,0.003,W,4,39845888,4096"),
        ("device_id,opcode,offset,length,timestamp", "419,W,8792731648,16384,1577808144360767"),
        ("time_ns,device,rwbs,offset,bytes", "0,a,W,8,4096"),
    ];
    for (heading, line) in cases {
        let quoted = heading.split(',').map(|name| format!("\"{name}\"")).collect::<Vec<_>>();
        for heading in [heading.to_uppercase(), quoted.join(","), quoted.join(" , ")] {
            let requests = read(format!("{heading}\n{line}\n").as_bytes(), None, false);
            assert_eq!(requests.map(|requests| requests.len()), Ok(1), "{heading}");
        }
    }
}

// ---- compressed data that are cut short -------------------------------------------------------

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Lines of a trace that take more than a window of the reader.
fn lines(count: u32) -> String {
    (0..count).map(|n| format!("0,{},4096,W,{n}.{}\n", n % 977, n % 7919)).collect()
}

#[test]
fn a_bad_line_is_not_blamed_if_the_file_is_cut_short() {
    let text = lines(100_000).replace("0,5,4096,W,5.5\n", "0,5,4096,W,5.5\nbroken\n");
    for packed in [gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 1).unwrap()] {
        let message = read(&packed, None, false).unwrap_err();
        assert!(message.starts_with("t:7: "), "{message}");
        for end in [packed.len() - 1, packed.len() * 9 / 10] {
            for skip_bad in [false, true] {
                let message = read(&packed[..end], None, skip_bad).unwrap_err();
                assert!(message.starts_with("trace `t` is cut short: its "), "{message}");
                assert!(message.ends_with(" data are truncated; fetch the file again"));
            }
        }
    }
}

#[test]
fn a_bad_record_is_not_blamed_if_the_file_is_cut_short() {
    let mut record = [0; 24];
    record[4] = 0xff;
    let bad = [&[0; 4][..], &[0xff; 8], &[1; 4], &[0; 8]].concat();
    let packed = gzip(&[&bad[..], &record.repeat(100_000)].concat());
    let format = Some("oracle-general:as=write,object_unit=4KiB");
    let message = read(&packed, format, false).unwrap_err();
    assert!(message.starts_with("t: record 1: "), "{message}");
    let message = read(&packed[..packed.len() - 1], format, false).unwrap_err();
    assert!(message.starts_with("trace `t` is cut short: its gzip data"), "{message}");
}

#[test]
fn a_blkreplay_load_may_repeat_its_comments_and_its_header() {
    let header = "Copyright 2012; all\n\nstart ; sector; length ; op ;  replay_delay=0\n";
    let request = "  0.000000000 ;     37766853 ;   64 ; W ; 0.0 ; 0.0\n";
    let text = [header, header, request, request].concat();
    assert_eq!(read(text.as_bytes(), None, false).unwrap().len(), 2);
    let broken = [header, header, "0.0 ; here ; 64 ; W\n", request].concat();
    let message = read(broken.as_bytes(), None, false).unwrap_err();
    assert!(message.starts_with("t:7: column 2, the offset"), "{message}");
}
