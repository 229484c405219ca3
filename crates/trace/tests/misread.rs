//! Traces that are easily misread: the right values, or notes and errors that say so.

use spec::Spec;
use trace::{ReadOptions, ReadReport, Request, Trace};

fn read_as(format: &str, text: &str, skip_bad: bool) -> Result<(Vec<Request>, ReadReport), String> {
    let format = (!format.is_empty()).then(|| Spec::parse(format).unwrap());
    let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
    let trace = Trace::of_bytes("t", text.as_bytes(), &options).map_err(|it| it.to_string())?;
    let (mut replay, mut requests) = (trace.replay().unwrap(), Vec::new());
    while replay.next_batch(&mut requests, 3).map_err(|error| error.to_string())? > 0 {}
    Ok((requests, replay.report()))
}

fn read(text: &str) -> (Vec<Request>, String) {
    let (requests, report) = read_as("", text, false).unwrap();
    (requests, report.notes.join("\n"))
}

#[test]
fn bad_lines_that_were_left_out_are_in_the_notes() {
    let good: String = (0..200).map(|n| format!("0,{n},512,W,0.{n:03}\n")).collect();
    let (requests, report) = read_as("spc", &(good.clone() + "0,x,512,W,9\n"), true).unwrap();
    assert_eq!(requests.len(), 200);
    let note = "`--skip-bad` left out 1 of 201 lines or records (0.5 %). The first: t:201: column \
                2, the offset, is not a whole number such as 4096: 0,x,512,W,9.";
    assert_eq!(report.notes, [note]);
    let (_, report) = read_as("spc", &(good + &"0,x,512,W,9\n".repeat(200)), true).unwrap();
    let warning = "left out 200 of 400 lines or records (50.0 %), so the results may not be those";
    assert!(report.notes[0].contains(warning), "{:?}", report.notes);
}

#[test]
fn a_trace_of_bad_lines_alone_is_an_error() {
    let message = read_as("spc", "0,x,512,W,9\n0,y,512,W,9\n", true).unwrap_err();
    let expected = "trace `t` has no request left, because `--skip-bad` left out 2 bad lines";
    assert!(message.starts_with(expected), "{message}");
    assert!(message.contains("the first one: t:1: column 2, the offset"), "{message}");
    assert!(message.contains("`ftlab list formats`"), "{message}");
    assert!(read_as("spc", "\n", true).unwrap().0.is_empty(), "nothing is bad");
}

#[test]
fn sizes_that_are_rather_sectors_are_noted_with_the_option() {
    let text: String = (0..50).map(|n| format!("0,{},8,W,{n}.5\n", n * 8)).collect();
    let (requests, notes) = read(&text);
    assert_eq!(requests[1].bytes, 8);
    let option = "--format csv:columns=dev+off.sectors+len.sectors+op+time.s+_...";
    assert!(notes.contains("The median request has 8 bytes") && notes.contains(option), "{notes}");
    let (requests, report) =
        read_as(option.strip_prefix("--format ").unwrap(), &text, false).unwrap();
    assert_eq!((requests[1].bytes, report.notes.len()), (4096, 0));
}

#[test]
fn an_absurd_time_stamp_is_noted_and_does_not_delay_the_others() {
    let line =
        |ms: u64| format!("8,0 1 {ms} {}.{:03}000000 9 D W {ms} + 8 [a]\n", ms / 1000, ms % 1000);
    let text = |stamp: &str| -> String {
        let mut lines: Vec<_> = (1..=200).map(line).collect();
        lines[20] = format!("8,0 1 21 {stamp} 9 D W 21 + 8 [a]\n");
        lines.concat()
    };
    for stamp in ["18446744073.000000000", "9999999999.000000000"] {
        let (requests, notes) = read(&text(stamp));
        assert_eq!(requests[199].time_ns, 199_000_000, "{stamp}");
        assert!(notes.contains("1 of 200 times are "), "{stamp}: {notes}");
        assert!(notes.contains("`--sort`"), "{stamp}: {notes}");
    }
    assert!(!read(&text("0.021000000")).1.contains("times are"));
}

#[test]
fn a_gap_of_days_is_noted() {
    let (_, notes) = read("0,0,512,W,0.5\n0,8,512,W,1.5\n0,0,512,W,400000.5\n");
    assert!(notes.contains("There is a gap of 4.6 days between two requests"), "{notes}");
}

#[test]
fn a_first_line_of_names_is_a_heading_in_all_formats_with_columns() {
    let traces = [
        ("ASU,LBA,Size,Opcode,Timestamp\n", "0,8,4096,W,0.5\n"),
        ("Timestamp,Offset,Size,IOType,VolumeID\n", "1538323200,8,8,1,0\n"),
        ("StorageVolumeId,Timestamp,Opcode,Offset,Size\n", "0,0.5,W,4096,4096\n"),
        ("time op sector count flag\n", "0.5 W 8 8 0\n"),
    ];
    for (heading, line) in traces {
        let (requests, _) = read(&format!("{heading}{line}"));
        assert_eq!((requests.len(), requests[0].offset, requests[0].bytes), (1, 4096, 4096));
        assert!(read_as("", &format!("{line}{heading}"), false).is_err(), "only the first line");
    }
}

#[test]
fn a_trace_without_reads_and_writes_says_what_it_has() {
    let flushes = "8,0 0 1 0.1 9 D FF 0 + 0 [a]\n8,0 0 1 0.2 9 D DS 8 + 8 [a]\n\
        8,0 0 1 0.3 9 D FF 0 + 0 [a]\n8,0 0 1 0.3 9 D R (a1 08) [a]\n";
    let (_, notes) = read(flushes);
    let note = "The trace has no reads and no writes; it has 1 trim, 2 flushes, 1 skipped line or \
                record (passthrough).";
    assert!(notes.contains(note), "{notes}");
    let (_, notes) = read("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n");
    assert!(notes.contains("no writes; it has 1 line without a request."), "{notes}");
    let (_, notes) = read(&(flushes.to_owned() + "8,0 0 1 0.4 9 D R 8 + 8 [a]\n"));
    assert!(!notes.contains("no reads"), "{notes}");
    let options = ReadOptions { limit: Some(2), ..ReadOptions::default() };
    let trace = Trace::of_bytes("t", flushes.as_bytes(), &options).unwrap();
    let (mut replay, mut requests) = (trace.replay().unwrap(), Vec::new());
    while replay.next_batch(&mut requests, 3).unwrap() > 0 {}
    assert_eq!(replay.report().notes.len(), 1, "there may be others behind the limit");
}

#[test]
fn a_column_that_is_no_clock_is_noted() {
    let gaps = [100, 20, 33, 4, 85, 6];
    let text: String = gaps.iter().map(|gap| format!("{gap},W,0,4096\n")).collect();
    let spec = "csv:columns=time.us+op+off.bytes+len.bytes";
    let (_, report) = read_as(spec, &text, false).unwrap();
    let note = report.notes.join("\n");
    assert!(note.contains("5 of 6 times are before") && note.contains("not a clock"), "{note}");
    let untimed = "`--format csv:columns=_+op+off.bytes+len.bytes` reads the trace without times";
    assert!(note.contains(untimed) && !note.contains("--sort"), "{note}");
}

#[test]
fn notes_have_no_placeholders() {
    let odd = "fio version 2 iolog\nf write 1125899906842624 8\nf read 0 8\n";
    let (_, notes) = read(odd);
    assert!(notes.contains("The median request has 8 bytes, which is unusual."), "{notes}");
    assert!(notes.contains("beyond 1 PiB: they may be damaged."), "{notes}");
}
