//! Archives of all kinds of traces: the members are one trace, and each has its own header.

use std::io::Write;

use trace::{Op, ReadOptions, Request, Trace};

/// An archive of these files, in this order.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn opened(bytes: &[u8], format: &str, skip_bad: bool) -> Result<Trace, String> {
    let format = (!format.is_empty()).then(|| spec::Spec::parse(format).unwrap());
    let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
    Trace::of_bytes("set", bytes, &options).map_err(|error| error.to_string())
}

/// The requests of an archive, which are the same if it is compressed.
#[track_caller]
fn requests(files: &[(&str, &[u8])], format: &str) -> Vec<Request> {
    let archive = tar(files);
    let all = |bytes: &[u8]| opened(bytes, format, false).unwrap().requests().unwrap();
    let requests = all(&archive);
    assert_eq!(all(&gzip(&archive)), requests, "compressed or not");
    requests
}

/// The error of an archive that cannot be read, which is the same if it is compressed.
#[track_caller]
fn refused(files: &[(&str, &[u8])], format: &str) -> String {
    let archive = tar(files);
    let message = |bytes: &[u8]| {
        opened(bytes, format, false).and_then(|trace| trace.requests().map_err(|e| e.to_string()))
    };
    let refused = message(&archive).unwrap_err();
    assert_eq!(message(&gzip(&archive)).unwrap_err(), refused);
    refused
}

fn seconds(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.time_ns / 1_000_000_000).collect()
}

#[test]
fn every_member_has_its_own_heading() {
    let member = |second: u32| {
        format!("Timestamp,Response,IOType,LUN,Offset,Size\n{second}.0,0.1,W,0,{second},512\n")
    };
    let (one, two) = (member(1000), member(1003));
    let files = [("b.csv", two.as_bytes()), ("a.csv", one.as_bytes())];
    let systor = requests(&files, "");
    assert_eq!(systor.iter().map(|r| r.offset).collect::<Vec<_>>(), [1000, 1003], "by name");
    assert_eq!(seconds(&systor), [0, 3], "one clock");
    let headed = "csv:columns=time.s+_+op+dev+off.bytes+len.bytes,header=true";
    assert_eq!(requests(&files, headed), systor);
    let packed = gzip(two.as_bytes());
    assert_eq!(requests(&[("b", &packed), ("a", one.as_bytes())], ""), systor);
}

#[test]
fn the_error_for_a_bad_line_names_the_member() {
    let files: [(&str, &[u8]); 2] =
        [("1.spc", b"0,0,512,W,0.1\n"), ("d/2.spc", b"0,8,512,W,0.2\n0,x,512,W,0.3\n")];
    let message = refused(&files, "");
    assert!(message.starts_with("set/d/2.spc:2: column 2, the offset"), "{message}");
    let trace = opened(&tar(&files), "", true).unwrap();
    assert_eq!(trace.requests().unwrap().len(), 2);
}

#[test]
fn a_line_does_not_continue_in_the_next_member() {
    let files: [(&str, &[u8]); 2] = [("1", b"0,0,512,W,0.1\n0,1,512,W"), ("2", b",0.2\n")];
    assert!(refused(&files, "spc").starts_with("set/1:2: column 5"));
    let files: [(&str, &[u8]); 2] = [("1", b"0,0,512,W,0.1"), ("2", b"0,1,512,W,0.2\n")];
    assert_eq!(requests(&files, "").len(), 2, "a last line needs no newline");
}

#[test]
fn a_member_that_is_not_a_trace_is_an_error() {
    let trace = b"0,0,512,W,0.1\n";
    let message = refused(&[("README", b"hello there\n"), ("t.spc", trace)], "");
    assert!(message.starts_with("trace `set/README` is in no known format"), "{message}");
    assert!(message.contains("name the members that are, as in `'set/*.spc'`"), "{message}");
    let fio = b"fio version 3 iolog\n";
    let message = refused(&[("a.spc", trace), ("b.log", fio)], "");
    let expected = "`set/a.spc` is in format spc and `set/b.log` in format fio, so they are not";
    assert!(message.starts_with(expected), "{message}");
    let message = refused(&[("a.log", fio), ("b.spc", trace)], "");
    let expected = "`set/a.log` is in format fio and `set/b.spc` in format spc";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn times_relative_to_the_file_continue_from_the_previous_member() {
    let fio = |second: u32| {
        format!(
            "fio version 3 iolog\n0 v add\n{second}000000 v write 0 512\n\
                 {}000000 v write 512 512\n",
            second + 2
        )
    };
    let (one, two) = (fio(5), fio(1));
    let files = [("1", one.as_bytes()), ("2", two.as_bytes())];
    assert_eq!(seconds(&requests(&files, "")), [0, 2, 2, 4]);
    let waits = b"fio version 2 iolog\nv write 0 512\nv wait 3000000 0\nv write 0 512\n";
    assert_eq!(seconds(&requests(&[("1", waits), ("2", waits)], "")), [0, 3, 3, 6]);
    let etw = b"BeginHeader\nEndHeader\nDiskRead, 9000000, p, 6, 0xf, 0x0, 0x200, 0, 1, 0\n\
        DiskRead, 7000000, p, 6, 0xe, 0x200, 0x200, 0, 1, 0\n";
    let etw = requests(&[("1", etw), ("2", etw)], "");
    assert_eq!(seconds(&etw), [0, 2, 2, 2], "sorted within each member, not across members");
    assert_eq!(etw.iter().map(|r| r.offset).collect::<Vec<_>>(), [512, 0, 0, 512]);
}

#[test]
fn absolute_times_of_all_members_share_one_clock() {
    let files: [(&str, &[u8]); 2] = [
        ("1", b"7,R,0,512,5000000\n7,R,0,512,9000000\n"),
        ("2", b"7,R,512,512,8000000\n7,R,0,512,11000000\n"),
    ];
    assert_eq!(seconds(&requests(&files, "alibaba")), [0, 4, 4, 6]);
    let sorted = opened(&tar(&files), "alibaba", false).unwrap().sorted(true);
    assert_eq!(seconds(&sorted.requests().unwrap()), [0, 3, 4, 6]);
}

#[test]
fn members_with_binary_records_are_one_trace() {
    let record = |seconds: u32| {
        let mut record = seconds.to_le_bytes().to_vec();
        record.extend_from_slice(&7u64.to_le_bytes());
        record.extend_from_slice(&512u32.to_le_bytes());
        record.extend_from_slice(&(-1i64).to_le_bytes());
        record
    };
    let (one, two) = ([record(1), record(2)].concat(), record(4));
    let format = "oracle-general:as=write";
    let all = requests(&[("1", &one), ("2", &two)], format);
    assert_eq!(seconds(&all), [0, 1, 3]);
    let message = refused(&[("1", &one), ("2", &two[..20])], format);
    assert!(message.starts_with("set/2: record 1: the file ends within"), "{message}");
}

/// A queued write, recorded by blktrace.
fn event(time_ns: u64, sector: u64) -> Vec<u8> {
    let mut record = 0x6561_7407u32.to_le_bytes().to_vec();
    record.extend_from_slice(&1u32.to_le_bytes());
    record.extend_from_slice(&time_ns.to_le_bytes());
    record.extend_from_slice(&sector.to_le_bytes());
    record.extend_from_slice(&512u32.to_le_bytes());
    record.extend_from_slice(&(2u32 << 16 | 1).to_le_bytes());
    record.resize(48, 0);
    record
}

#[test]
fn files_of_several_cpus_in_an_archive_are_merged() {
    let (one, two) = ([event(0, 1), event(20, 3)].concat(), event(10, 2));
    let files = [("d.blktrace.0", one.as_slice()), ("d.blktrace.1", &two)];
    let sectors: Vec<_> = requests(&files, "").iter().map(|r| r.offset / 512).collect();
    assert_eq!(sectors, [1, 2, 3]);
    let others = [("d.blktrace.0", one.as_slice()), ("e.blktrace.0", &two)];
    let message = refused(&others, "");
    assert!(message.contains("from `set/d.blktrace.0` to `set/e.blktrace.0`"), "{message}");
    let message = refused(&[("d.blktrace.0", &one), ("d.blktrace.1", &two[..40])], "");
    assert!(message.starts_with("set/d.blktrace.1: record 1: the file ends"), "{message}");
}

#[test]
fn members_of_an_uncompressed_archive_are_read_in_place() {
    let line = |n: u32| format!("0,{n},512,{},{n}.5\n", ["R", "W"][n as usize % 2]);
    let texts: Vec<String> =
        (0..3).map(|member| (member * 60_000..(member + 1) * 60_000).map(line).collect()).collect();
    assert!(texts[0].len() > 1 << 20, "more than a window");
    let named = ["a", "b", "c"].into_iter().zip(texts.iter().map(String::as_bytes));
    let files: Vec<(&str, &[u8])> = named.collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set.tar");
    std::fs::write(&path, tar(&files)).unwrap();
    let whole = opened(texts.concat().as_bytes(), "", false).unwrap().requests().unwrap();
    let trace = Trace::open(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    assert!(trace.requests().unwrap() == whole);
    let (mut replay, mut batch) = (trace.replay().unwrap(), Vec::new());
    while replay.next_batch(&mut batch, 1 << 20).unwrap() > 0 {}
    assert_eq!(Some(replay.position_bytes()), trace.size_hint_bytes());
    assert!(batch.iter().any(|request| request.op == Op::Read));
}
