//! Writes requests as text: fio iolog version 3, blkparse in its compact form, or csv.
//!
//! An fio iolog has microseconds and no flags, and a note says what was lost. blkparse text has
//! nanoseconds and all flags, but only whole sectors. csv has everything; only csv has streams.
//! Devices keep their names as far as the format can express them.
//!
//! csv is also the form in which a live disk records what it does: a line is complete with its line
//! end, so the lines before an interruption are a whole trace, and the reader refuses a torn one.

mod device_names;
mod output_format;

use std::io::{self, BufWriter, Write};

use crate::error::{Error, Result};
use crate::parse::formats::custom::csv::{STREAMS_HEADING, WRITTEN_HEADING};
use crate::replay::{BATCH, ReadReport, Trace};
use crate::request::{Flags, Op, Request, SECTOR_BYTES};
use crate::writer::device_names::DeviceNames;
pub use crate::writer::output_format::OutputFormat;

/// The `--format` that reads [`OutputFormat::Csv`], which is also detected by its heading.
pub const CSV_SPEC: &str = "csv:sep=comma,columns=time.ns+dev+rwbs+off.bytes+len.bytes,header=true";

/// The same for a trace with streams.
pub const CSV_STREAMS_SPEC: &str =
    "csv:sep=comma,columns=time.ns+dev+rwbs+off.bytes+len.bytes+stream,header=true";

/// Writes all requests of a trace, with their streams and the names of its devices. `check` is
/// called with the position after each batch and may end the writing.
///
/// # Errors
/// The trace cannot be read or written, or `check` refuses.
pub fn write_trace<E: From<Error>>(
    trace: &Trace,
    out: impl Write,
    form: OutputFormat,
    mut check: impl FnMut(u64) -> std::result::Result<(), E>,
) -> std::result::Result<WrittenTrace, E> {
    let mut writer = TraceWriter::with_streams(BufWriter::new(out), form, trace.has_streams()?)?;
    let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
    while replay.next_batch(&mut batch, BATCH)? > 0 {
        if batch.iter().any(|request| request.device as usize >= writer.names.count()) {
            let devices = replay.report().devices;
            devices[writer.names.count()..].iter().for_each(|name| writer.names.add(name));
        }
        batch.drain(..).try_for_each(|request| writer.write(&request))?;
        check(replay.position_bytes())?;
    }
    let changes = [writer.names.note(), writer.lost.note()].into_iter().flatten().collect();
    writer.finish()?;
    Ok(WrittenTrace { read: replay.report(), changes })
}

/// What is known of a trace after it was written.
#[derive(Debug)]
pub struct WrittenTrace {
    /// What was read besides the requests.
    pub read: ReadReport,
    /// Sentences on what the format could not express: names of several devices, flags, and times
    /// between microseconds.
    pub changes: Vec<String>,
}

/// Writes requests one by one.
pub struct TraceWriter<W> {
    out: W,
    form: OutputFormat,
    /// Whether streams are written; only csv can.
    has_streams: bool,
    index: u64,
    names: DeviceNames,
    /// The number of devices that an fio iolog has opened.
    devices_opened: usize,
    /// The time of the latest request.
    time_us: u64,
    lost: Lost,
}

/// The requests of which an fio iolog cannot express everything.
#[derive(Debug, Default)]
struct Lost {
    /// Those with flags.
    flags: u64,
    /// Those that force their data or a flush, which changes results.
    forcing: u64,
    /// Those whose time is no whole number of microseconds.
    times: u64,
}

impl Lost {
    fn see(&mut self, request: &Request) {
        let implied = if request.op == Op::Flush { Flags::PREFLUSH } else { Flags::empty() };
        let flags = request.flags - implied;
        self.flags += u64::from(!flags.is_empty());
        let forces = request.op != Op::Flush && flags.intersects(Flags::FUA | Flags::PREFLUSH);
        self.forcing += u64::from(forces);
        self.times += u64::from(!request.time_ns.is_multiple_of(1_000));
    }

    /// What is to be said if anything was lost.
    fn note(&self) -> Option<String> {
        let counts = [
            ("with flags", self.flags),
            ("that force their data or a flush (FUA, preflush)", self.forcing),
            ("with times between microseconds", self.times),
        ];
        let lost = counts.iter().filter(|(_, count)| *count > 0);
        let lost: Vec<String> = lost.map(|(what, count)| format!("{what}: {count}")).collect();
        (!lost.is_empty()).then(|| {
            let lost = lost.join("; ");
            format!(
                "An fio iolog has no flags, and whole microseconds; csv and blkparse keep all. \
                 Requests {lost}."
            )
        })
    }
}

impl<W: Write> TraceWriter<W> {
    /// Starts a trace without streams. The caller buffers `out` and calls [`TraceWriter::finish`].
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(out: W, form: OutputFormat) -> Result<TraceWriter<W>> {
        TraceWriter::with_streams(out, form, false)
    }

    /// The same; if `has_streams`, the streams of writes are written too, as far as the format has
    /// a place for them.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn with_streams(
        mut out: W,
        form: OutputFormat,
        has_streams: bool,
    ) -> Result<TraceWriter<W>> {
        match form {
            OutputFormat::Fio => writeln!(out, "fio version 3 iolog"),
            OutputFormat::Csv if has_streams => writeln!(out, "{STREAMS_HEADING}"),
            OutputFormat::Csv => writeln!(out, "{WRITTEN_HEADING}"),
            OutputFormat::Blkparse => Ok(()),
        }
        .map_err(Error::Write)?;
        let names = DeviceNames::new(form);
        Ok(TraceWriter {
            out,
            form,
            has_streams,
            index: 0,
            names,
            devices_opened: 0,
            time_us: 0,
            lost: Lost::default(),
        })
    }

    /// Writes one request.
    ///
    /// # Errors
    /// The output cannot be written, or the format cannot express the request.
    pub fn write(&mut self, request: &Request) -> Result<()> {
        let is_whole = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES);
        let has_sectors = is_whole(request.offset) && is_whole(request.bytes);
        let written = match self.form {
            OutputFormat::Blkparse if !has_sectors => {
                let what =
                    "it is not a whole number of sectors of 512 bytes; fio and csv allow any bytes";
                return Err(Error::Unwritable { index: self.index, format: "blkparse", what });
            }
            OutputFormat::Blkparse => self.write_blkparse(request),
            OutputFormat::Fio => self.write_fio(request),
            OutputFormat::Csv => self.write_csv(request),
        };
        written.map_err(Error::Write)?;
        self.index += 1;
        Ok(())
    }

    /// Hands all requests so far to the operating system. What was written until then can be read
    /// after the process is killed.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(Error::Write)
    }

    /// Ends the trace and returns the output, flushed.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> Result<W> {
        if self.form == OutputFormat::Fio {
            for name in &self.names.written()[..self.devices_opened] {
                writeln!(self.out, "{} {name} close", self.time_us).map_err(Error::Write)?;
            }
        }
        self.out.flush().map_err(Error::Write)?;
        Ok(self.out)
    }

    fn write_fio(&mut self, request: &Request) -> io::Result<()> {
        let Request { offset, bytes, device, .. } = request;
        self.lost.see(request);
        let time_us = request.time_ns / 1_000;
        self.time_us = time_us;
        let _ = self.names.of(*device);
        let opened = self.devices_opened.max(*device as usize + 1);
        for name in &self.names.written()[self.devices_opened..opened] {
            writeln!(self.out, "{time_us} {name} add\n{time_us} {name} open")?;
        }
        self.devices_opened = opened;
        let action = match request.op {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "datasync",
        };
        writeln!(self.out, "{time_us} {} {action} {offset} {bytes}", self.names.of(*device))
    }

    fn write_csv(&mut self, request: &Request) -> io::Result<()> {
        let Request { time_ns, offset, bytes, device, stream, .. } = request;
        let device = self.names.of(*device);
        write!(self.out, "{time_ns},{device},{},{offset},{bytes}", rwbs(request))?;
        if self.has_streams {
            write!(self.out, ",{stream}")?;
        }
        self.out.write_all(b"\n")
    }

    fn write_blkparse(&mut self, request: &Request) -> io::Result<()> {
        let (seconds, ns) = (request.time_ns / 1_000_000_000, request.time_ns % 1_000_000_000);
        let (sector, sectors) = (request.offset / SECTOR_BYTES, request.bytes / SECTOR_BYTES);
        let (number, rwbs) = (self.index + 1, rwbs(request));
        let device = self.names.of(request.device);
        writeln!(self.out, "{device} 0 {number} {seconds}.{ns:09} 0 Q {rwbs} {sector} {sectors}")
    }
}

/// The RWBS word of operation and flags. A flush is written as a write with a preflush, or as `F`
/// if it has no such flag; only one with FUA alone, which no kernel makes, gets a preflush.
fn rwbs(request: &Request) -> String {
    let is_plain = !request.flags.intersects(Flags::PREFLUSH | Flags::FUA);
    let letter = match request.op {
        Op::Read => 'R',
        Op::Flush if is_plain => 'F',
        Op::Write | Op::Flush => 'W',
        Op::Trim => 'D',
    };
    let mut rwbs = String::new();
    if request.op == Op::Flush && !is_plain || request.flags.contains(Flags::PREFLUSH) {
        rwbs.push('F');
    }
    rwbs.push(letter);
    let letters =
        [(Flags::FUA, 'F'), (Flags::READAHEAD, 'A'), (Flags::SYNC, 'S'), (Flags::META, 'M')];
    for (flag, letter) in letters {
        if request.flags.contains(flag) {
            rwbs.push(letter);
        }
    }
    rwbs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::ReadOptions;
    use crate::request::STREAMS_MAX;
    use proptest::prelude::*;

    /// Writes requests to a file and reads them back; the format is detected.
    fn round_trip(requests: &[Request], form: OutputFormat) -> Vec<Request> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let has_streams = requests.iter().any(|request| request.stream > 0);
        let mut writer = TraceWriter::with_streams(&file, form, has_streams).unwrap();
        for request in requests {
            writer.write(request).unwrap();
        }
        writer.finish().unwrap();
        let path = file.path().to_str().unwrap();
        Trace::open(path, &ReadOptions::default()).unwrap().requests().unwrap()
    }

    /// The same requests without what an output cannot express.
    fn without(requests: &[Request], has_flags: bool) -> Vec<Request> {
        let flags = |request: &Request| if has_flags { request.flags } else { Flags::empty() };
        requests.iter().map(|r| Request { flags: flags(r), stream: 0, ..*r }).collect()
    }

    #[test]
    fn what_a_format_cannot_express_is_told() {
        let said = |lines: &str, form| {
            let mut trace = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
            write!(trace, "{WRITTEN_HEADING}\n{lines}").unwrap();
            let path = trace.path().to_str().unwrap();
            let trace = Trace::open(path, &ReadOptions::default()).unwrap();
            let written = write_trace(&trace, Vec::new(), form, |_| Ok::<_, Error>(())).unwrap();
            written.changes.join(" ")
        };
        let all = "0,0,WFS,0,512\n1,0,FW,0,512\n2000,0,WS,0,512\n3000,0,FW,0,0\n3000,0,R,0,512\n";
        for (lines, lost) in [
            (
                all,
                "with flags: 3; that force their data or a flush (FUA, preflush): 2; with times \
                 between microseconds: 1",
            ),
            ("0,0,WM,0,512\n", "with flags: 1"),
            ("0,0,W,0,512\n5,0,R,0,512\n", "with times between microseconds: 1"),
        ] {
            let fio =
                "An fio iolog has no flags, and whole microseconds; csv and blkparse keep all.";
            assert_eq!(said(lines, OutputFormat::Fio), format!("{fio} Requests {lost}."));
        }
        assert_eq!(said("0,0,W,0,512\n7000,0,R,0,512\n8000,0,FW,0,0\n", OutputFormat::Fio), "");
        for form in [OutputFormat::Csv, OutputFormat::Blkparse] {
            assert_eq!(said(all, form), "");
        }
    }

    /// Valid traces whose times start at 0 and whose devices and streams are numbered in order of
    /// appearance.
    fn requests() -> impl Strategy<Value = Vec<Request>> {
        let one = (0u64..10_000_000, 0u64..1 << 50, 1u64..5000, 0u32..3, 0usize..4, 0usize..160);
        prop::collection::vec(one, 1..50).prop_map(|fields| {
            let (mut time_us, mut devices, mut streams) = (0, Vec::new(), 0);
            let mut requests = Vec::new();
            for (index, (step_us, sector, sectors, device, op, bits)) in
                fields.into_iter().enumerate()
            {
                time_us += if index == 0 { 0 } else { step_us };
                if !devices.contains(&device) {
                    devices.push(device);
                }
                let device = devices.iter().position(|&known| known == device).unwrap() as u32;
                let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
                let (offset, bytes) =
                    if op == Op::Flush { (0, 0) } else { (sector * 512, sectors * 512) };
                let flags = flags(bits % 32, op);
                let is_new = bits / 32 > 3 && op == Op::Write && streams < STREAMS_MAX;
                streams += u8::from(is_new);
                let stream =
                    if op == Op::Write { streams.saturating_sub(bits as u8 / 64) } else { 0 };
                let stream = if is_new { streams } else { stream };
                requests.push(Request {
                    time_ns: time_us * 1000,
                    offset,
                    bytes,
                    device,
                    op,
                    flags,
                    stream,
                });
            }
            requests
        })
    }

    fn flags(bits: usize, op: Op) -> Flags {
        let all = [Flags::FUA, Flags::PREFLUSH, Flags::SYNC, Flags::META, Flags::READAHEAD];
        let chosen = all.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        let flags = chosen.fold(Flags::empty(), |flags, (_, &flag)| flags | flag);
        let is_of_no_kernel = op == Op::Flush && flags.contains(Flags::FUA);
        if is_of_no_kernel { flags | Flags::PREFLUSH } else { flags }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_request_survives_blkparse(requests in requests()) {
            let plain = without(&requests, true);
            prop_assert_eq!(round_trip(&requests, OutputFormat::Blkparse), plain);
        }

        #[test]
        fn every_request_survives_csv(requests in requests()) {
            prop_assert_eq!(round_trip(&requests, OutputFormat::Csv), requests);
        }

        #[test]
        fn every_request_survives_fio_except_for_its_flags(requests in requests()) {
            let plain = without(&requests, false);
            prop_assert_eq!(round_trip(&requests, OutputFormat::Fio), plain);
        }
    }

    #[test]
    fn the_spec_for_csv_equals_the_default() {
        for (text, spec) in [
            ("time_ns,device,rwbs,offset,bytes\n0,a,FWFS,7,9\n5,b,FW,0,0\n", CSV_SPEC),
            (
                "time_ns,device,rwbs,offset,bytes,stream\n0,a,FWFS,7,9,x\n5,b,FW,0,0,\n",
                CSV_STREAMS_SPEC,
            ),
        ] {
            let read = |format: &str| {
                let format = Some(spec::Spec::parse(format).unwrap());
                let options = ReadOptions { format, ..ReadOptions::default() };
                let trace = Trace::of_bytes("t", text.as_bytes(), &options).unwrap();
                (trace.requests().unwrap(), trace.has_streams().unwrap())
            };
            assert_eq!(read(spec), read("csv"));
            let (requests, has_streams) = read("csv");
            assert_eq!((requests.len(), has_streams), (2, spec == CSV_STREAMS_SPEC));
            assert_eq!(requests[0].stream, u8::from(has_streams));
        }
    }

    #[test]
    fn an_interrupted_record_is_read_up_to_its_last_whole_line() {
        let write = |time_ns, offset| {
            let (op, flags) = (Op::Write, Flags::FUA);
            Request { time_ns, offset, bytes: 4096, device: 0, op, flags, stream: 0 }
        };
        let mut out = std::io::BufWriter::new(Vec::new());
        let mut writer = TraceWriter::new(&mut out, OutputFormat::Csv).unwrap();
        writer.write(&write(0, 512)).unwrap();
        writer.write(&write(7, 1 << 40)).unwrap();
        writer.flush().unwrap();
        let text = out.into_inner().unwrap();
        let line = text.len() - "7,0,WF,1099511627776,4096\n".len();
        let read = |end, skip_bad| {
            let format = Some(spec::Spec::plain("csv"));
            let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
            Trace::of_bytes("record", &text[..end], &options).unwrap().requests()
        };
        assert_eq!(read(text.len(), false).unwrap(), [write(0, 512), write(7, 1 << 40)]);
        assert_eq!(read(line, false).unwrap(), [write(0, 512)]);
        for end in line + 1..text.len() {
            let message = read(end, false).unwrap_err().to_string();
            assert!(message.starts_with("record:3: the last line has no line end"), "{message}");
            assert_eq!(read(end, true).unwrap(), [write(0, 512)], "{end} bytes");
        }
    }

    #[test]
    fn blkparse_refuses_requests_that_are_not_whole_sectors() {
        let (op, flags) = (Op::Write, Flags::empty());
        let odd = Request { time_ns: 0, offset: 7, bytes: 9, device: 0, op, flags, stream: 0 };
        assert_eq!(round_trip(&[odd], OutputFormat::Fio), [odd]);
        let mut writer = TraceWriter::new(Vec::new(), OutputFormat::Blkparse).unwrap();
        let message = writer.write(&odd).unwrap_err().to_string();
        assert!(message.starts_with("request 0 cannot be written as blkparse"), "{message}");
    }
}
