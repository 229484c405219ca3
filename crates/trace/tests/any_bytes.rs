//! Every format, whatever the bytes: no panic, and what is delivered keeps a request's promises.

use std::io::Write;

use proptest::prelude::*;
use trace::registry::FORMATS;
use trace::{Op, ReadOptions, Trace};

/// Each format with a trace of its own, as spec and text; binary formats have unit tests.
static TEXTS: &[(&str, &str)] = &[
    ("spc", "0,20941264,8192,W,0.551706\n0, 20939840, 8192, r, 0.554041,x\n"),
    ("msr", "128166481075232275,rsrch,1,Write,281358336,45056,94872\n"),
    ("systor", "Timestamp,Response,IOType,LUN,Offset,Size\n1455529206.0020,0.0003,W,4,398,4096\n"),
    ("tencent", "1538323200,4247200,128,1,1058\n1538323199,13896880,128,0,1063\n"),
    ("alibaba", "419,W,8792731648,16384,1577808144360767\n"),
    ("fiu", "89966527950584 4253 nfsd x 508516672 8 W 6 0 88b93b62\n"),
    (
        "blkparse",
        "254,0 0 421 1.313174332 24 D DS 266240 + 2048 [kworker]\n7,4 0 1 0.0 2 D FWS 0 0\n",
    ),
    ("blkreplay", "Copyright\nstart ; sector; length ; op ; x\n 0.44 ; 37766917 ; 14 ; W ; 0.0\n"),
    ("fio", "fio version 3 iolog\n53 v add\n60 v read 0 4096\n61 v datasync 0 0\n"),
    ("fio", "fio version 2 iolog\nv read 0 4096\nv wait 2000 0\n"),
    ("etw", "BeginHeader\nEndHeader\nDiskRead, 1500, p, 64, 0xfa, 0x1000, 0x200, 42, 1, 0xa\n"),
    ("disksim", "5265.313 0 6357144 8 0\n"),
    ("mqsim:unit=ms", "938513000 4 264719034 16 0\n"),
    ("mqsim:unit=ps", "938513000 4 264719034 16 0\n"),
    ("ssdsim:unit=us", "26214000 1 240840 6 1\n"),
    ("flashsim", "26.214000\t0\t303574\t1\t0\n"),
    ("diskmon", "0\t4.656875\t0.00003815\t0\tWrite\t6194591\t32\r\n"),
    ("csv", "time_ns,device,rwbs,offset,bytes\n0,a,FWFS,7,9\n5,b,FW,0,0\n"),
    ("csv:columns=_+dev+op+off.sectors+len.pages+time.s", "\"k\",83,R,2988,16,159273.75\n"),
    ("csv:sep=tab,columns=op+off.bytes+len.bytes+time.ticks+_...,hex=off", "R\t0xf\t16\t15\tx\n"),
];

/// What no number of a trace should be.
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

/// Reads strictly and tolerantly, in the order of the file and of time.
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
fn every_text_format_is_tried() {
    for format in FORMATS {
        let tried = TEXTS.iter().any(|(spec, _)| spec.split(':').next() == Some(format.name));
        let binary = ["blktrace", "vscsi", "oracle-general", "oracle-general-opns"];
        assert!(tried || binary.contains(&format.name), "{}", format.name);
    }
    for (spec, text) in TEXTS {
        let format = Some(spec::Spec::parse(spec).unwrap());
        let options = ReadOptions { format, ..ReadOptions::default() };
        let trace = Trace::of_bytes("t", text.as_bytes(), &options).unwrap();
        assert!(!trace.requests().unwrap().is_empty(), "{spec}");
    }
}

#[test]
fn hostile_numbers_in_every_place_are_survived() {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.';
    for (format, text) in TEXTS {
        let starts = text
            .char_indices()
            .filter(|&(at, c)| is_word(c) && !text[..at].chars().next_back().is_some_and(is_word));
        for (start, _) in starts {
            let length = text[start..].find(|c| !is_word(c)).unwrap_or(text.len() - start);
            for hostile in HOSTILE {
                let damaged = [&text[..start], hostile, &text[start + length..]].concat();
                survives(format, damaged.as_bytes());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes: Vec<u8>) {
        // The newline keeps the bytes from passing for a compressed file.
        let bytes = [b"\n", &bytes[..]].concat();
        for format in FORMATS {
            survives(format.name, &bytes);
        }
        for (format, text) in TEXTS {
            survives(format, &[text.as_bytes(), &bytes].concat());
        }
    }

    #[test]
    fn damaged_packings_and_archives_are_survived(
        at: prop::sample::Index,
        byte: u8,
        cut: prop::sample::Index,
    ) {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, text) in [("a", TEXTS[0].1), (&"b".repeat(120), TEXTS[0].1)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        }
        let archive = archive.into_inner().unwrap();
        let mut xz = lzma_rust2::XzWriter::new(Vec::new(), Default::default()).unwrap();
        xz.write_all(&archive).unwrap();
        for mut bytes in [xz.finish().unwrap(), archive] {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            survives("spc", &bytes);
            bytes.truncate(cut.index(bytes.len()));
            survives("spc", &bytes);
        }
    }

    #[test]
    fn damaged_traces_are_survived(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        for (format, text) in TEXTS {
            let mut bytes = text.as_bytes().to_vec();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            survives(format, &bytes);
            bytes.truncate(cut.index(bytes.len()));
            survives(format, &bytes);
        }
    }
}
