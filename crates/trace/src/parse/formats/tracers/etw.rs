//! Disk events of Event Tracing for Windows as csv, dumped by `xperf` or `tracerpt`; for example
//! the traces of Microsoft's production servers (Kavalanekar et al., IISWC 2008).
//!
//! ```text
//! BeginHeader
//! DiskRead, TimeStamp, Process Name ( PID), ThreadID, IrpPtr, ByteOffset, IOSize, ElapsedTime, …
//! EndHeader
//! DiskRead, 2500, System (   4), 64, 0xfffffa8, 0x00001000, 0x00000200, 420, 0, 0x…, "C:\a,b"
//! ```
//!
//! The header names the columns of each event. Events without a header line have the classic
//! columns. Newer dumpers add a column `CPU` after `ThreadID`, which some headers do not mention.
//! The reader notices it because the field at IrpPtr's position is not a hexadecimal number; then
//! all columns from there on are shifted by one.
//!
//! An event is logged when the request completes. The request arrived at the time of its Init event
//! (the one with the same IrpPtr) or, without one, ElapsedTime before completion. So the requests
//! have to be sorted by arrival. Times are in microseconds; offset and size are hexadecimal bytes.
//! File names are quoted and may contain commas, so fields are counted from the left; all used
//! fields precede the name.

use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::TraceParser;
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::request::Op;
use rustc_hash::FxHashMap;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "etw",
    summary: "ETW disk events as csv (xperf): DiskRead, DiskWrite, DiskFlush; sorted by arrival",
    source: "headers of the traces themselves; Kavalanekar et al., IISWC 2008",
    params: &[],
    examples: &[],
    specimens: &[Specimen::detected(
        "etw",
        b"BeginHeader\nEndHeader\nDiskRead, 1500, p, 64, 0xfa, 0x1000, 0x200, 42, 1, 0xa\n",
    )],
    detect,
    opening: Opening::Parser(|_| Ok(Box::new(Etw::new()))),
};

fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_header(head.any(|line| line == b"BeginHeader"))
}

/// The events of completed requests. The names of Init events begin with the same word.
static EVENTS: [(&str, Op); 3] =
    [("DiskRead", Op::Read), ("DiskWrite", Op::Write), ("DiskFlush", Op::Flush)];

const THREAD: usize = 3;

/// The positions of the columns of an event, in the order of [`COLUMNS`]. At 0 is the name of the
/// event, so 0 stands for a column that it does not have.
type EventColumns = [usize; COLUMNS.len()];

const COLUMNS: [&str; 6] =
    ["TimeStamp", "IrpPtr", "ByteOffset", "IOSize", "ElapsedTime", "DiskNum"];

const CLASSIC: EventColumns = [1, 4, 5, 6, 7, 8];
const CLASSIC_FLUSH: EventColumns = [1, 4, 0, 0, 5, 6];

/// The columns named by a line of the header.
fn columns_of_header(fields: &EventFields) -> EventColumns {
    COLUMNS.map(|name| {
        let named = |field: &&[u8]| field.eq_ignore_ascii_case(name.as_bytes());
        fields.0.iter().position(named).unwrap_or(0)
    })
}

/// More fields than precede a file name.
const MOST_FIELDS: usize = 24;

/// The first fields of a line without surrounding blanks; empty beyond the last one.
struct EventFields<'a>([&'a [u8]; MOST_FIELDS]);

impl<'a> EventFields<'a> {
    fn new(line: &'a [u8]) -> EventFields<'a> {
        let mut fields = [&b""[..]; MOST_FIELDS];
        for (field, text) in fields.iter_mut().zip(line.split(|&byte| byte == b',')) {
            *field = text.trim_ascii();
        }
        EventFields(fields)
    }

    /// The field with this index; empty if the event has no such field.
    fn at(&self, index: usize) -> &'a [u8] {
        if index == 0 { b"" } else { self.0.get(index).copied().unwrap_or_default() }
    }
}

#[derive(Clone)]
struct Etw {
    in_header: bool,
    /// For each of [`EVENTS`].
    columns: [EventColumns; 3],
    /// The arrival times of requests that have an Init event and have not completed, by IrpPtr.
    begun_ns: FxHashMap<Vec<u8>, u64>,
}

/// More requests than any device has in flight; further Init events are ignored.
const MOST_IN_FLIGHT: usize = 1 << 16;

const TIME: ParseError = ParseError::new("TimeStamp is not a number of microseconds");
const ELAPSED: ParseError = ParseError::new("ElapsedTime is not a number of microseconds");
const OFFSET: ParseError = ParseError::new("ByteOffset is not a hexadecimal number such as 0x1000");
const SIZE: ParseError = ParseError::new("IOSize is not a hexadecimal number such as 0x1000");

impl TraceParser for Etw {
    const TICK_NS: u64 = 1;
    const UNSORTED: bool = true;
    const OWN_CLOCK: bool = true;

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let line = line.trim_ascii();
        match line {
            b"BeginHeader" => self.in_header = true,
            b"EndHeader" => self.in_header = false,
            _ => return self.event(line, devices),
        }
        Ok(Parsed::Other)
    }

    fn notes(&self) -> Vec<String> {
        vec![String::from(
            "A request arrives at its Init event or, without one, ElapsedTime before it completes.",
        )]
    }
}

impl Etw {
    fn new() -> Etw {
        let columns = [CLASSIC, CLASSIC, CLASSIC_FLUSH];
        Etw { in_header: false, columns, begun_ns: FxHashMap::default() }
    }

    fn event(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let name = line.split(|&byte| byte == b',').next().unwrap_or_default().trim_ascii_end();
        let known = |suffix: &str| {
            let matches = |(event, _): &(&str, Op)| {
                name.strip_prefix(event.as_bytes()).is_some_and(|end| end == suffix.as_bytes())
            };
            EVENTS.iter().position(matches)
        };
        match (known(""), self.in_header) {
            (Some(event), true) => self.columns[event] = columns_of_header(&EventFields::new(line)),
            (Some(event), false) => return self.completed(event, &EventFields::new(line), devices),
            (None, false) if known("Init").is_some() => self.begun(&EventFields::new(line))?,
            _ => {}
        }
        Ok(Parsed::Other)
    }

    /// A request arrives. Up to IrpPtr the columns of its event are the classic ones.
    fn begun(&mut self, fields: &EventFields) -> ParseResult<()> {
        let [time, irp, ..] = columns_of_line(CLASSIC, fields);
        let time_ns = time_ns(fields.at(time)).ok_or(TIME)?;
        let irp = fields.at(irp);
        if self.begun_ns.len() < MOST_IN_FLIGHT {
            self.begun_ns.insert(irp.to_vec(), time_ns);
        }
        Ok(())
    }

    fn completed(
        &mut self,
        event: usize,
        fields: &EventFields,
        devices: &mut Devices,
    ) -> ParseResult {
        let [time, irp, offset, size, elapsed, disk] = columns_of_line(self.columns[event], fields);
        let completed_ns = time_ns(fields.at(time)).ok_or(TIME)?;
        let ticks = match self.begun_ns.remove(fields.at(irp)) {
            Some(begun_ns) => begun_ns,
            // A request that arrived before the trace began counts as arrived at time 0.
            None => completed_ns.saturating_sub(time_ns(fields.at(elapsed)).ok_or(ELAPSED)?),
        };
        let op = EVENTS[event].1;
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (
                hexadecimal(fields.at(offset)).ok_or(OFFSET)?,
                hexadecimal(fields.at(size)).ok_or(SIZE)?,
            ),
        };
        let device = devices.index(fields.at(disk))?;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, ..RawRequest::BLANK }))
    }
}

/// The columns of this line, which may contain a CPU that the header does not mention.
fn columns_of_line(columns: EventColumns, fields: &EventFields) -> EventColumns {
    let is_hex = |index| fields.at(index).starts_with(b"0x");
    let irp = columns[1];
    let has_cpu = irp > THREAD && !is_hex(irp) && is_hex(irp + 1);
    columns.map(|index| index + usize::from(has_cpu && index > THREAD))
}

fn time_ns(field: &[u8]) -> Option<u64> {
    Field::new(field).decimal(3, b'.')
}

fn hexadecimal(field: &[u8]) -> Option<u64> {
    Field::new(field).hexadecimal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::replay::{ReadOptions, Trace};
    use proptest::prelude::*;

    const CLASSIC_TEXT: &[u8] = b"BeginHeader\n\
        \x20 DiskRead, TimeStamp,  Process Name ( PID), ThreadID,   IrpPtr, ByteOffset,   IOSize,\
        ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap, FileObject, FileName\n\
        \x20DiskWrite, TimeStamp,  Process Name ( PID), ThreadID,   IrpPtr, ByteOffset,   IOSize,\
        ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap, FileObject, FileName\n\
        \x20DiskFlush, TimeStamp,  Process Name ( PID), ThreadID,   IrpPtr, ElapsedTime, DiskNum,\
        IrpFlags, DiskSvcTime, I/O Pri\nEndHeader\n\
        OS Version: 5.2.3790, Trace Size: 9216KB\n\
        \x20DiskWrite,   1500,         System (   4),      64, 0xffa80, 0x000f6e1000, 0x00001000,\
        420,        1, 0x000a00,         400,       3, 0x0,  0xfffff8, \"C:\\a, b\"\n\
        \x20 DiskRead,   2500,         sql,server.exe\n\
        \x20DiskFlush,   2600,         System (   4),      64, 0xffa90,        100,        1,\
        0x000a00,         90,       3\n\
        DiskReadInit, 1100,         System (   4),      64, 0xffaa0\n\
        \x20 DiskRead,   2700,         System (   4),      64, 0xffaa0, 0x0000001000, 0x00000200,\
        1,        0, 0x000a00,         400,       3, 0x0,  0xfffff8, \"C:\\c\"\n\
        \x20  CSwitch,   2700\n";

    fn sorted(text: &[u8]) -> Vec<crate::request::Request> {
        let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
        Trace::of_bytes("t", text, &options).unwrap().requests().unwrap()
    }

    #[test]
    fn requests_are_sorted_by_arrival() {
        let requests = sorted(CLASSIC_TEXT);
        let seen: Vec<_> = requests.iter().map(|r| (r.op, r.time_ns, r.offset, r.bytes)).collect();
        let expected = [
            (Op::Write, 0, 0x0f6e_1000, 4096),
            (Op::Read, 20_000, 4096, 512),
            (Op::Flush, 1_420_000, 0, 0),
        ];
        assert_eq!(seen, expected);
        assert_eq!((requests[0].device, requests[1].device, requests[2].device), (0, 1, 0));
        assert_eq!(detect(&TraceHead::new(CLASSIC_TEXT)), Likeness::Header);
    }

    #[test]
    fn a_cpu_after_the_thread_shifts_the_other_columns() {
        let plain = b"DiskWrite, 1500, System (   4), 64, 3, 0xfa80, 0x1000, 0x200, 420, 1, 0xa00";
        let told = "BeginHeader\nDiskWrite, TimeStamp, Process Name ( PID), ThreadID, CPU, IrpPtr, \
            ByteOffset, IOSize, ElapsedTime, DiskNum\nEndHeader\n";
        let untold = told.replace(" CPU,", "");
        for header in [told, &untold, "BeginHeader\nEndHeader\n"] {
            let requests = sorted(&[header.as_bytes(), plain].concat());
            assert_eq!((requests[0].offset, requests[0].bytes), (4096, 512), "{header}");
        }
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            ("DiskRead, x, p, 1, 0x1, 0x0, 0x200, 1, 0", "TimeStamp"),
            ("DiskRead, -5, p, 1, 0x1, 0x0, 0x200, 1, 0", "TimeStamp"),
            ("DiskRead, 5, p, 1, 0x1, zero, 0x200, 1, 0", "ByteOffset"),
            ("DiskRead, 5, p, 1, 0x1, 0x0, 0x1ffffffffffffffff, 1, 0", "IOSize"),
            ("DiskRead, 5, p, 1, 0x1, 0x0, 0x200, 1e5, 0", "ElapsedTime"),
            ("DiskReadInit, 5e5, p, 1, 0x1", "TimeStamp"),
        ];
        for (line, what) in cases {
            let message = read_all(Etw::new(), line.as_bytes(), false).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let bytes = [b"\nDiskRead, ", &bytes[..]].concat();
            let _ = read_all(Etw::new(), &bytes, false);
            prop_assert!(read_all(Etw::new(), &bytes, true).is_ok());
        }

        #[test]
        fn damaged_lines_are_survived(at in 0usize..2000, byte: u8) {
            let mut bytes = CLASSIC_TEXT.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            prop_assert!(read_all(Etw::new(), &bytes, true).is_ok());
        }
    }
}
