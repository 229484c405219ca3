//! Events of the Linux kernel as text: ftrace (`/sys/kernel/tracing/trace`), `trace-cmd report`,
//! `perf script`.
//!
//! ```text
//! kworker/2:1-311  [002] d..2.  1042.118203: block_rq_issue: 259,0 WS 4096 () 204800 + 8 [kworker]
//! task (may have blanks)        seconds      event           fields
//! ```
//!
//! | event | fields that are used |
//! |---|---|
//! | `block_rq_issue`, `block_rq_insert` | device, RWBS, bytes, (command), sector `+` sectors |
//! | `block_io_start` | the same |
//! | `block_rq_complete`, `block_bio_queue` | the same without bytes; the latter without command |
//! | `nvme_setup_cmd` | `disk=`, command, `slba=` in blocks, `len=` in blocks less one |
//! | `ufshcd_command` | `send_req:`, device, `size:` in bytes, `LBA:` in blocks, `opcode:` |
//! | `mmc_request_start` | device, opcode, argument, `blocks=`, and more: see `ftrace/mmc.rs` |
//! | `mmc_blk_rw_start` | `cmd=`, `addr=` and `size=` in blocks |
//! | `scsi_dispatch_cmd_start` | host to `lun=`, command, `lba=` and `txlen=` in blocks |
//!
//! A request causes several events. Only one kind is replayed: `event=`, or the first kind of the
//! list that the trace has. To choose it, the file is read once up to its first `block_rq_issue`.
//! The kernel says in the text how many events it lost.

mod commands;
mod fields;
mod mmc;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use spec::{Kind, Param, Params};

use self::fields::{BEYOND, Fields, Requested};
use self::mmc::Cards;
use crate::error::{Error, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::block_layer::{LostEvents, op_of, rwbs};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::{LineEnds, TraceParser, for_each_line};
use crate::parse::text::field::Field;
use crate::parse::text::split::{Blanks, Split};
use crate::parse::text::trace_head::{Likeness, TraceHead, blank_fields};
use crate::reader::ReaderFactory;
use crate::request::{Op, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "ftrace",
    summary: "Linux kernel events as text by ftrace, trace-cmd or perf script: block layer, NVMe, \
              UFS, eMMC and SCSI",
    source: "Linux, include/trace/events/{block,ufs,mmc,scsi}.h, drivers/nvme/host/trace.h",
    params: PARAMS,
    examples: &[],
    specimens: SPECIMENS,
    detect,
    opening: Opening::Inspected(open),
};

static PARAMS: &[Param] = &[
    Param::key(
        "event",
        Kind::Choice(&[
            "block_rq_issue",
            "block_bio_queue",
            "block_rq_insert",
            "block_io_start",
            "block_rq_complete",
            "nvme_setup_cmd",
            "ufshcd_command",
            "mmc_request_start",
            "mmc_blk_rw_start",
            "scsi_dispatch_cmd_start",
        ]),
        "",
        "the events to replay; default: the first of these that the file has",
    ),
    Param::key(
        "block",
        Kind::Size,
        "bytes",
        "the block of addresses in commands; default: 4KiB for UFS, 512 bytes for all others",
    ),
];

static SPECIMENS: &[Specimen] = &[
    Specimen::detected(
        "ftrace",
        b"# tracer: nop\n#\n a b-31 [002] d..2. 7.118203: block_rq_issue: 259,0 WS 4096 () 800 + 8 \
          be,0,4 [a b]\nCPU:1 [LOST 5 EVENTS]\n",
    ),
    Specimen::detected("ftrace", b"x 9 [1] 7.5: block:block_rq_issue: 8,0 DS 4096 () 16 + 8 [x]\n"),
    Specimen::detected(
        "ftrace:event=block_rq_complete",
        b"x-9 [1] 7.5: block_rq_complete: 8,0 R () 8 + 8 [0]\n",
    ),
    Specimen::detected(
        "ftrace",
        b"f-9 [0] 7.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmdid=2, nsid=1, flags=0x0, \
          meta=0x0, cmd=(nvme_cmd_write slba=64, len=7, ctrl=0x0, dsmgmt=0, reftag=0)\n",
    ),
    Specimen::detected(
        "ftrace:block=4KiB",
        b"k-9 [3] .... 7.5: ufshcd_command: send_req: 1d84000.ufshc: tag: 3, DB: 0x8, size: 4096, \
          IS: 0, LBA: 81920, opcode: 0x28 (READ_10), group_id: 0x0\n",
    ),
    Specimen::detected(
        "ftrace",
        b"q/0-9 [0] ...1 7.5: mmc_request_start: mmc0: start struct mmc_request[c6]: \
          cmd_opcode=25 cmd_arg=0x800 cmd_flags=0xb5 blocks=8 block_size=512 data_flags=0x100\n",
    ),
    Specimen::detected(
        "ftrace",
        b"q/0-9 [0] ...1 7.5: mmc_blk_rw_start: cmd=18,addr=0x0039f640,size=0x00000020\n",
    ),
    Specimen::detected(
        "ftrace",
        b"a-9 [0] .... 7.5: scsi_dispatch_cmd_start: host_no=0 channel=0 id=0 lun=0 data_sgl=1 \
          prot_sgl=0 prot_op=0x0 cmnd=(READ_10 lba=4096 txlen=8 protect=0 raw=28 00)\n",
    ),
];

/// Some line has an event. It need not be one of the list: those may come later, and if there are
/// none, the error says which events the trace has.
fn detect(head: &TraceHead) -> Likeness {
    let has_event = |line| EventLine::read(line).is_some() || event_name(line).is_some();
    Likeness::of_lines(head.whole_lines().any(has_event))
}

fn open(params: &Params, input: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    let event = match params.opt_choice("event") {
        Some(name) => EVENTS.iter().position(|event| event.name == name).expect("a choice"),
        None => event_to_replay(input)?,
    };
    let block_bytes = params.opt_size("block").unwrap_or(EVENTS[event].block_bytes);
    Ok(Box::new(Ftrace { event, block_bytes, cards: Cards::default(), lost: 0 }))
}

/// The first event of the list that the file has.
fn event_to_replay(input: &StoredTrace) -> Result<usize> {
    let (mut first, mut others) = (EVENTS.len(), BTreeSet::new());
    for_each_line(input, |line| {
        match EventLine::read(line) {
            Some(line) => first = first.min(line.event),
            None if others.len() < MOST_NAMED => others.extend(event_name(line).map(quote)),
            None => {}
        }
        if first == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let (has_any, name) = (first < EVENTS.len(), input.name().to_owned());
    let found = others.into_iter().collect();
    has_any.then_some(first).ok_or(Error::NoKernelEvents { name, events: event_names(), found })
}

/// The most names of other events that the error shows.
const MOST_NAMED: usize = 5;

fn event_names() -> String {
    EVENTS.iter().map(|event| event.name).collect::<Vec<_>>().join(", ")
}

// ---- events ----------------------------------------------------------------------------------

/// Reads the fields of an event, whose addresses are in blocks of this size.
type ReadFields = for<'a> fn(&'a [u8], u64, &mut Cards) -> ParseResult<Fields<'a>>;

struct Event {
    name: &'static str,
    read: ReadFields,
    block_bytes: u64,
}

/// The events, the preferred first.
static EVENTS: [Event; 10] = [
    Event { name: "block_rq_issue", read: block, block_bytes: SECTOR_BYTES },
    Event { name: "block_bio_queue", read: block, block_bytes: SECTOR_BYTES },
    Event { name: "block_rq_insert", read: block, block_bytes: SECTOR_BYTES },
    Event { name: "block_io_start", read: block, block_bytes: SECTOR_BYTES },
    Event { name: "block_rq_complete", read: block, block_bytes: SECTOR_BYTES },
    Event { name: "nvme_setup_cmd", read: commands::nvme, block_bytes: SECTOR_BYTES },
    Event { name: "ufshcd_command", read: commands::ufs, block_bytes: 4096 },
    Event { name: "mmc_request_start", read: mmc::request, block_bytes: SECTOR_BYTES },
    Event { name: "mmc_blk_rw_start", read: mmc::blocks, block_bytes: SECTOR_BYTES },
    Event { name: "scsi_dispatch_cmd_start", read: commands::scsi, block_bytes: SECTOR_BYTES },
];

const BLOCK: ParseError = ParseError::new(
    "the fields of the event are not device, RWBS, bytes, (command), sector `+` sectors",
);
/// `259,0 WS 4096 () 204800 + 8 be,0,4 [task]`
fn block<'a>(fields: &'a [u8], sector_bytes: u64, _: &mut Cards) -> ParseResult<Fields<'a>> {
    let mut words = Split::new(fields, Blanks);
    let device = words.next().ok_or(BLOCK)?.bytes();
    let (letter, flags) = words.next().and_then(|word| rwbs(word.bytes())).ok_or(BLOCK)?;
    let rest = match memchr::memchr(b'(', words.rest()) {
        // A bio has no command, but its task may have a parenthesis.
        Some(open) if !words.rest()[..open].contains(&b'[') => {
            let close = memchr::memchr(b')', words.rest()).ok_or(BLOCK)?;
            if close > open + 1 {
                return Ok(Fields::Skip("passthrough"));
            }
            &words.rest()[close + 1..]
        }
        _ => words.rest(),
    };
    let mut words = Split::new(rest, Blanks);
    let sector = words.next().and_then(Field::number).ok_or(BLOCK)?;
    words.next().filter(|word| word.bytes() == b"+").ok_or(BLOCK)?;
    let sectors = words.next().and_then(Field::number).ok_or(BLOCK)?;
    let Some(op) = op_of(letter, flags, sectors) else { return Ok(Fields::Skip("no data")) };
    let (device, range) = (Cow::Borrowed(device), (sector, sectors));
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit: sector_bytes }))
}

// ---- lines -----------------------------------------------------------------------------------

/// A line with an event of the list.
struct EventLine<'a> {
    event: usize,
    time_ns: u64,
    fields: &'a [u8],
}

impl<'a> EventLine<'a> {
    /// Looks for `seconds: event: `. Whatever is before it may have blanks and colons.
    fn read(line: &'a [u8]) -> Option<EventLine<'a>> {
        memchr::memchr_iter(b':', line).find_map(|colon| {
            let before = &line[..colon];
            let start = memchr::memrchr2(b' ', b'\t', before).map_or(0, |blank| blank + 1);
            let time = &before[start..];
            time.contains(&b'.').then_some(())?;
            let time_ns = Field::new(time).decimal(9, b'.')?;
            let rest = line[colon + 1..].trim_ascii_start();
            // perf script puts the group before the name.
            let groups: [&[u8]; 5] = [b"block:", b"nvme:", b"ufs:", b"mmc:", b"scsi:"];
            let rest = groups.iter().find_map(|group| rest.strip_prefix(*group)).unwrap_or(rest);
            let (name, fields) = rest.split_at(memchr::memchr(b':', rest)?);
            let event = EVENTS.iter().position(|event| event.name.as_bytes() == name)?;
            Some(EventLine { event, time_ns, fields: fields[1..].trim_ascii_start() })
        })
    }
}

/// The name of any event: `task [cpu] flags seconds: name: fields`, where flags may be missing and
/// perf script puts the group before the name.
fn event_name(line: &[u8]) -> Option<&[u8]> {
    let words = blank_fields(line, MOST_WORDS);
    let is_cpu = |word: &&[u8]| {
        let digits = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"));
        digits.is_some_and(|digits| Field::new(digits).is_digits())
    };
    let cpu = words.iter().position(is_cpu)?;
    let is_time = |word: &&[u8]| {
        let time = word.strip_suffix(b":").filter(|time| time.contains(&b'.'));
        time.is_some_and(|time| Field::new(time).decimal(9, b'.').is_some())
    };
    let time = words.iter().skip(cpu + 1).take(2).position(is_time)? + cpu + 1;
    let name = words.get(time + 1)?.strip_suffix(b":")?;
    let name = &name[memchr::memrchr(b':', name).map_or(0, |colon| colon + 1)..];
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    (!name.is_empty() && name.iter().all(is_letter)).then_some(name)
}

/// Words of a line up to the name of its event, at most: names of tasks may have blanks.
const MOST_WORDS: usize = 12;

/// The number of events that the kernel lost here: `CPU:2 [LOST 123 EVENTS]`, or in trace-cmd
/// `CPU:2 [123 EVENTS DROPPED]`.
#[cold]
fn lost_events(line: &[u8]) -> u64 {
    let line = line.trim_ascii();
    let text = match line.strip_prefix(b"CPU") {
        Some(text) if text.ends_with(b"EVENTS]") || text.ends_with(b"EVENTS DROPPED]") => text,
        _ => return 0,
    };
    let bracket = memchr::memchr(b'[', text).unwrap_or(0);
    let mut words = Split::new(&text[bracket + 1..], Blanks);
    words.find_map(Field::number).unwrap_or(1)
}

#[derive(Clone)]
struct Ftrace {
    /// The kind of the events that are replayed.
    event: usize,
    block_bytes: u64,
    cards: Cards,
    /// Events that the kernel lost.
    lost: u64,
}

impl TraceParser for Ftrace {
    const TICK_NS: u64 = 1;

    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let Some(found) = EventLine::read(line) else {
            self.lost = self.lost.saturating_add(lost_events(line));
            return Ok(Parsed::Other);
        };
        if found.event != self.event {
            return Ok(Parsed::Other);
        }
        let Requested { device, op, flags, range, length_unit } =
            match (EVENTS[self.event].read)(found.fields, self.block_bytes, &mut self.cards)? {
                Fields::Requested(requested) => requested,
                Fields::Skip(reason) => return Ok(Parsed::Skip(reason)),
                Fields::Other => return Ok(Parsed::Other),
            };
        // The sector of a flush may be anything.
        let (first, count) = if op == Op::Flush { (0, 0) } else { range };
        let offset = first.checked_mul(self.block_bytes).ok_or(BEYOND)?;
        let bytes = count.checked_mul(length_unit).ok_or(BEYOND)?;
        let (ticks, device) = (found.time_ns, devices.index(&device)?);
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }

    fn line_ends(&self) -> LineEnds {
        LineEnds::Usual
    }

    fn notes(&self) -> Vec<String> {
        let event = format!("The requests are the events {}.", EVENTS[self.event].name);
        let is_command = !EVENTS[self.event].name.starts_with("block");
        let block = is_command.then(|| {
            format!(
                "Addresses are in blocks of {} bytes; `block=` gives another.",
                self.block_bytes
            )
        });
        // The file may be an excerpt, so the number of events that were not lost is not known.
        let lost = LostEvents { lost: self.lost, kept: 0 }.note();
        [Some(event), block, lost].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Request};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn read_with(event: Option<&str>, text: &[u8]) -> (Vec<Request>, crate::reader::ReadReport) {
        let input = Arc::new(StoredTrace::of_bytes("t", text).unwrap());
        let keys: Vec<_> = event.map(|it| ("event".into(), it.into())).into_iter().collect();
        let params = spec::resolve("", &keys, PARAMS).unwrap();
        let mode = crate::reader::ReadMode { skip_bad: false, raw_times: false };
        let mut reader = open(&params, &input).unwrap().reader(&input, mode).unwrap();
        let mut requests = Vec::new();
        while reader.next_batch(&mut requests, 7).unwrap() > 0 {}
        (requests, reader.report())
    }

    fn shown(requests: &[Request]) -> Vec<(Op, u64, u64, u64)> {
        requests.iter().map(|it| (it.op, it.offset, it.bytes, it.time_ns / 1000)).collect()
    }

    const BLOCK_EVENTS: &[u8] = b"# tracer: nop\n#\n\
        my task-311 [002] d..2.  7.000100: block_rq_insert: 259,0 WS 4096 () 204800 + 8 [my task]\n\
        my task-311 [002] d..2.  7.000200: block_rq_issue: 259,0 WS 4096 () 204800 + 8 be,0,4 [m]\n\
        CPU:2 [LOST 123 EVENTS]\n\
          <idle>-0 [002] d..2.  7.000300: block_rq_complete: 259,0 WS () 204800 + 8 [0]\n\
          a: 1.5-9 [001] .....  7.000400: block_rq_issue: 259,0 FF 0 () 0 + 0 [a]\n\
          a-9 [001] .....  7.000500: block_rq_issue: 259,0 DS 65536 () 4096 + 128 [a (x)]\n\
          a-9 [001] .....  7.000600: block_bio_queue: 8,0 R 99328 + 16 [a (x)]\n\
          a-9 [001] .....  7.000700: block_rq_issue: 8,0 R 36 (12 00 00) 0 + 0 [smartd]\n\
          a-9 [001] .....  7.000800: sched_switch: prev_comm=a ==> next_comm=b\n\
        CPU:1 [7 EVENTS DROPPED]\n";

    #[test]
    fn issued_requests_of_the_block_layer() {
        let (requests, report) = read_with(None, BLOCK_EVENTS);
        let expected = [
            (Op::Write, 204_800 * 512, 4096, 0),
            (Op::Flush, 0, 0, 200),
            (Op::Trim, 4096 * 512, 65_536, 300),
        ];
        assert_eq!(shown(&requests), expected);
        assert_eq!(requests[0].flags, Flags::SYNC);
        assert_eq!((report.skipped.get("passthrough"), report.devices.len()), (1, 1));
        assert_eq!(report.notes[0], "The requests are the events block_rq_issue.");
        assert!(report.notes[1].starts_with("130 events were lost"), "{:?}", report.notes);
        let queued = read_with(Some("block_bio_queue"), BLOCK_EVENTS).0;
        assert_eq!(shown(&queued), [(Op::Read, 99_328 * 512, 8192, 0)]);
        assert_eq!(read_with(Some("block_rq_complete"), BLOCK_EVENTS).0.len(), 1);
    }

    #[test]
    fn requests_that_newer_kernels_start() {
        let text = b"a-9 [0] ..... 7.1: block_io_start: 259,0 WFS 4096 () 800 + 8 [a]\n\
            a-9 [0] d.h.. 7.2: block_rq_complete: 259,0 WFS () 800 + 8 [0]\n\
            a-9 [0] dNh.. 7.2: block_io_done: 259,0 WFS 0 () 800 + 0 [a]\n";
        let (requests, report) = read_with(None, text);
        assert_eq!(shown(&requests), [(Op::Write, 800 * 512, 4096, 0)]);
        assert_eq!(report.notes[0], "The requests are the events block_io_start.");
    }

    #[test]
    fn a_trace_without_requests_is_recognised_and_says_what_it_has() {
        let text = "k/0-9 [000] ...1 7.5: mmc_request_done: mmc0: end struct mmc_request[c6]: \
            cmd_opcode=25\nx y 9 [001] 7.6: sched:sched_switch: prev_comm=a ==> next_comm=b\n";
        let read = |text: &str| {
            let options = crate::ReadOptions::default();
            let trace = crate::Trace::of_bytes("t", text.as_bytes(), &options);
            trace.and_then(|trace| trace.requests()).map_err(|error| error.to_string())
        };
        let message = read(text).unwrap_err();
        assert!(message.contains("it has mmc_request_done, sched_switch"), "{message}");
        assert!(message.contains("`trace-cmd record -e block_rq_issue`"), "{message}");
        let padding = text.repeat(1000);
        let issued = "k-9 [000] .... 7.7: block_rq_issue: 8,0 W 4096 () 8 + 8 [k]\n";
        assert_eq!(read(&(padding + issued)).map(|requests| requests.len()), Ok(1));
    }

    #[test]
    fn ufs_commands_whose_address_the_kernel_does_not_print_are_errors() {
        let line = "k-1 [0] 1.5: ufshcd_command: send_req: 1d.ufshc: tag: 3, DB: 0x0, size: -1, \
            IS: 0, LBA: 0, opcode: 0x8a (WRITE_16), group_id: 0x0\n";
        let trace = crate::Trace::of_bytes("t", line.as_bytes(), &crate::ReadOptions::default());
        let message = trace.unwrap().requests().unwrap_err().to_string();
        assert!(message.starts_with("t:1: the event has no address and no size"), "{message}");
    }

    #[test]
    fn commands_of_nvme_and_ufs() {
        let text = b"f-9 [0] 7.5: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmd=(nvme_cmd_read \
              slba=99328, len=7, ctrl=0x0)\n\
            f-9 [0] 7.6: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=1, cmd=(nvme_cmd_flush nsid=1)\n\
            f-9 [0] 7.7: nvme_setup_cmd: nvme0: disk=, qid=0, cmd=(nvme_admin_identify cns=1)\n";
        let (requests, report) = read_with(None, text);
        let expected = [(Op::Read, 99_328 * 512, 4096, 0), (Op::Flush, 0, 0, 100_000)];
        assert_eq!(shown(&requests), expected);
        assert_eq!(report.devices, ["nvme0n1"]);
        let text =
            b"k-1 [0] 1.5: ufshcd_command: send_req: 1d.ufshc: tag: 3, DB: 0x8, size: 8192, \
              IS: 0, LBA: 16, opcode: 0x2a (WRITE_10), group_id: 0x0\n\
            k-1 [0] 1.6: ufshcd_command: complete_rsp: 1d.ufshc: tag: 3, DB: 0x0, size: 8192, \
              IS: 0, LBA: 16, opcode: 0x2a (WRITE_10), group_id: 0x0\n";
        let (requests, report) = read_with(None, text);
        assert_eq!(shown(&requests), [(Op::Write, 16 * 4096, 8192, 0)]);
        assert_eq!((report.devices, report.skipped.other_lines), (vec!["1d.ufshc".into()], 1));
    }

    /// An event `mmc_request_start` as Linux 6 prints it, with zeros for what is not read.
    fn mmc(host: &str, opcode: u32, argument: u32, data: &str) -> String {
        format!(
            "q-9 [0] ...1. 7.5: mmc_request_start: {host}: start struct mmc_request[00000000c66]: \
             cmd_opcode={opcode} cmd_arg={argument:#x} cmd_flags=0xb5 cmd_retries=0 stop_opcode=12 \
             stop_arg=0x0 stop_flags=0x49d stop_retries=0 sbc_opcode=23 sbc_arg=0x8 sbc_flags=0x15 \
             sbc_retires=0 {data} tag=-1 can_retune=0 doing_retune=0 retune_now=0 need_retune=0 \
             hold_retune=1 retune_period=0\n"
        )
    }

    #[test]
    fn addresses_of_cards_are_found_in_every_form_that_kernels_print() {
        let read = |opcode, argument, data: &str| {
            let (requests, _) = read_with(None, mmc("mmc0", opcode, argument, data).as_bytes());
            (requests[0].op, requests[0].offset, requests[0].bytes)
        };
        let write = (Op::Write, 4096 * 512, 4096);
        assert_eq!(read(25, 4096, "blocks=8 block_size=512 data_flags=0x100"), write, "4.8");
        let exchanged = "blocks=8 block_size=4096 blk_addr=512 data_flags=0x100";
        assert_eq!(read(25, 4096, exchanged), write, "4.15");
        let named = "blocks=8 block_size=512 blk_addr=4096 data_flags=0x100";
        assert_eq!(read(25, 4096, named), write, "6.0");
        assert_eq!(read(24, 4096 * 512, named), write, "a card that counts bytes");
        assert_eq!(read(0, 0, exchanged), write, "through the command queue");
        assert_eq!(read(0, 0, named), write, "through the command queue");
        let reading = "blocks=8 block_size=512 blk_addr=512 data_flags=0x200";
        assert_eq!(read(18, 512, reading), (Op::Read, 512 * 512, 4096));
        assert_eq!(read(0, 0, reading), (Op::Read, 512 * 512, 4096));
    }

    #[test]
    fn cards_remember_erases_and_partitions() {
        let (none, data) = ("blocks=0 block_size=0 blk_addr=0 data_flags=0x0", "blocks=8");
        let text = [
            mmc("mmc0", 0, 0, none),
            mmc("mmc0", 8, 0, "blocks=1 block_size=512 blk_addr=0 data_flags=0x200"),
            mmc("mmc0", 35, 1024, none),
            mmc("mmc1", 33, 9, none),
            mmc("mmc0", 36, 2047, none),
            mmc("mmc0", 38, 3, none),
            mmc("mmc0", 38, 3, none),
            mmc("mmc0", 6, 0x03b3_0301, none),
            mmc("mmc0", 25, 0, data),
            mmc("mmc1", 25, 16, data),
            mmc("mmc0", 6, 0x03b3_4801, none),
            mmc("mmc0", 6, 0x0320_0101, none),
            mmc("mmc0", 17, 8, data),
        ];
        let (requests, report) = read_with(None, text.concat().as_bytes());
        let found: Vec<_> =
            requests.iter().map(|it| (it.op, it.offset / 512, it.bytes / 512, it.device)).collect();
        let expected = [
            (Op::Trim, 1024, 1024, 0),
            (Op::Write, 16, 8, 1),
            (Op::Flush, 0, 0, 0),
            (Op::Read, 8, 8, 0),
        ];
        assert_eq!(found, expected);
        let skipped: Vec<_> = report.skipped.iter().collect();
        assert_eq!(
            skipped,
            [("erase without range", 1), ("boot or replay-protected partition", 1)]
        );
        assert_eq!(report.skipped.other_lines, 7);
        assert!(report.notes[1].starts_with("Addresses are in blocks of 512"), "{report:?}");
    }

    #[test]
    fn events_of_cards_without_addresses_are_errors_that_name_better_ones() {
        let line = "q-9 [0] ...1 7.5: mmc_request_start: mmc0: start struct mmc_request[c6]\n";
        let trace = crate::Trace::of_bytes("t", line.as_bytes(), &crate::ReadOptions::default());
        let message = trace.unwrap().requests().unwrap_err().to_string();
        assert!(message.contains("record the events block_rq_issue instead"), "{message}");
    }

    #[test]
    fn blocks_of_android_and_commands_of_scsi() {
        let text = b"q-9 [0] ...1 7.5: mmc_blk_rw_start: cmd=18,addr=0x00000640,size=0x00000020\n\
            q-9 [0] ...1 7.6: mmc_blk_rw_end: cmd=18,addr=0x00000640,size=0x00000020\n\
            q-9 [0] ...1 7.7: mmc_blk_rw_start: cmd=25,addr=0x00000008,size=0x00000001\n";
        let expected = [(Op::Read, 0x640 * 512, 0x20 * 512, 0), (Op::Write, 8 * 512, 512, 200_000)];
        assert_eq!(shown(&read_with(None, text).0), expected);
        let scsi = |lun: u32, command: &str| {
            format!(
                "a-9 [0] .... 7.5: scsi_dispatch_cmd_start: host_no=2 channel=0 id=1 lun={lun} \
                 data_sgl=1 prot_sgl=0 prot_op=SCSI_PROT_NORMAL driver_tag=1 scheduler_tag=2 \
                 cmnd=({command} raw=00)\n"
            )
        };
        let text = [
            scsi(0, "READ_10 lba=4096 txlen=8 protect=0"),
            scsi(4, "WRITE_16 lba=16 txlen=1 protect=0"),
            scsi(0, "SYNCHRONIZE_CACHE -"),
            scsi(0, "UNMAP regions=1"),
            scsi(0, "WRITE_SAME_16 lba=8 txlen=16 unmap=1 protect=0"),
            scsi(0, "WRITE_SAME lba=8 txlen=16 unmap=0 protect=0"),
            scsi(0, "INQUIRY -"),
        ];
        let (requests, report) = read_with(None, text.concat().as_bytes());
        let expected = [
            (Op::Read, 4096 * 512, 4096, 0),
            (Op::Write, 16 * 512, 512, 0),
            (Op::Flush, 0, 0, 0),
            (Op::Trim, 8 * 512, 8192, 0),
            (Op::Write, 8 * 512, 8192, 0),
        ];
        assert_eq!(shown(&requests), expected);
        let names = ["2:0:1:0", "2:0:1:4"];
        assert_eq!(
            (report.devices, report.skipped.get("other command")),
            (names.map(String::from).into(), 1)
        );
    }

    /// Other programs print registers instead, and trace-cmd may fail to parse.
    #[test]
    fn commands_in_another_form_are_errors() {
        for fields in [
            "nvme_setup_cmd: nvme0n1: qid=1, cdw10=0x0, cdw12=0x7, opcode=0x02",
            "scsi_dispatch_cmd_start: [FAILED TO PARSE] host_no=0 channel=0 opcode=40",
        ] {
            let line = format!("f-9 [0] 7.5: {fields}\n");
            let options = crate::ReadOptions::default();
            let trace = crate::Trace::of_bytes("t", line.as_bytes(), &options).unwrap();
            let message = trace.requests().unwrap_err().to_string();
            assert!(message.starts_with("t:1: the event has no cm"), "{message}");
        }
    }

    #[test]
    fn each_logical_unit_of_ufs_is_a_device() {
        let text: String = [4, 0, 4]
            .iter()
            .map(|unit| {
                format!(
                    "k-1 [0] 1.5: ufshcd_command: send_req: 0:0:0:{unit}: tag: 3, DB: 0x8, \
                     size: 8192, IS: 0, LBA: 16, opcode: 0x2a (WRITE_10), group_id: 0x0\n"
                )
            })
            .collect();
        let (requests, report) = read_with(None, text.as_bytes());
        assert_eq!(requests.iter().map(|it| it.device).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(report.devices, ["0:0:0:4", "0:0:0:0"]);
    }

    #[test]
    fn a_file_without_such_events_is_refused() {
        let input = StoredTrace::of_bytes("t", b"a-9 [1] 7.5: sched_switch: x\n").unwrap();
        let message = event_to_replay(&input).unwrap_err().to_string();
        assert!(message.contains("has none of the events block_rq_issue, "), "{message}");
    }

    proptest! {
        #[test]
        fn damaged_lines_are_survived(at in 0usize..900, byte: u8) {
            let mut bytes = BLOCK_EVENTS.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            for event in 0..EVENTS.len() {
                let parser = Ftrace { event, block_bytes: 4096, cards: Cards::default(), lost: 0 };
                prop_assert!(crate::parse::parser::tests::read_all(parser, &bytes, true).is_ok());
            }
        }
    }
}
