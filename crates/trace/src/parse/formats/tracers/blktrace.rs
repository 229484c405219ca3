//! blktrace: events of the Linux block layer as the kernel writes them (`blktrace_api.h`), one file
//! for each CPU.
//!
//! ```text
//! NAME.blktrace.0   ─┐  record: a header of 48 bytes, and a payload
//! NAME.blktrace.1   ─┼─ merged by time ─▶ events of one action ─▶ requests
//! NAME.blktrace.2   ─┘
//! ```
//!
//! Any of the files, or `NAME`, opens all of them. The byte order is that of the traced machine;
//! the magic number shows it. Only version 7 is supported. The action to replay is chosen as for
//! blkparse's text: D (issued) if there is any, else Q (queued). Notes (process names, wall clock,
//! messages) are ignored.

use std::sync::Arc;

use spec::{Params, shell_word};

use crate::error::{Error, Result};
use crate::input::resolve_path::common_of_cpus;
use crate::input::sliding_window::SlidingWindow;
use crate::input::stored_trace::StoredTrace;
use crate::parse::block_layer::{ACTION_PARAMS, LostEvents, Replayed, op_of};
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::normalize::Normalizer;
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::records::{RecordBytes, TRUNCATED};
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::reader::{ReadMode, ReadReport, Reader, ReaderFactory};
use crate::request::{Flags, Op, Request, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "blktrace",
    summary: "Linux blktrace, binary; NAME.blktrace.0, .1 … are merged by time",
    source: "Linux, include/uapi/linux/blktrace_api.h",
    params: ACTION_PARAMS,
    examples: &[],
    specimens: &[
        Specimen::detected(
            "blktrace",
            b"\x07tae\x01\0\0\0\xe8\x03\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x02\0\
              \x63\0\0\0\x10\0\x80\0\0\0\0\0\0\0\0\0",
        ),
        Specimen::detected(
            "blktrace:action=Q",
            b"eat\x07\0\0\0\x01\0\0\0\0\0\0\x03\xe8\0\0\0\0\0\0\0\x08\0\0\x10\0\0\x02\0\x01\
              \0\0\0\x63\0\x80\0\x10\0\0\0\0\0\0\0\x02xy",
        ),
    ],
    detect,
    opening: Opening::Inspected(open),
};

const HEADER_BYTES: usize = 48;

/// The upper three bytes of the first word; the lowest is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

fn detect(head: &TraceHead) -> Likeness {
    let magic = head.bytes().first_chunk();
    Likeness::of_header(magic.and_then(|word| big_endian(*word)).is_some())
}

/// Whether the magic number is in big-endian order; `None` if the word is not the magic number.
fn big_endian(word: [u8; 4]) -> Option<bool> {
    if u32::from_le_bytes(word) & !0xff == MAGIC {
        return Some(false);
    }
    (u32::from_be_bytes(word) & !0xff == MAGIC).then_some(true)
}

fn open(params: &Params, input: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    of_one_trace(input)?;
    let replayed = match params.opt_choice("action") {
        Some(word) => Replayed::given(word.as_bytes()[0]),
        None => action_to_replay(input)?,
    };
    Ok(Box::new(Blktrace { replayed }))
}

/// Checks that several files belong to one trace, each from another CPU.
fn of_one_trace(input: &StoredTrace) -> Result<()> {
    let names: Vec<&str> = input.parts().map(StoredTrace::name).collect();
    // Files outside archives were found by the common part of their names.
    let in_archive = names.len() > 1 && input.parts().all(StoredTrace::is_member);
    if !in_archive || common_of_cpus(names.iter().copied()).is_some() {
        return Ok(());
    }
    let (first, last) = (names[0], names[names.len() - 1]);
    let cpus = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let what = format!(
        "its members belong to several traces, from `{first}` to `{last}`; name those of one \
         trace, as in `{}`",
        shell_word(&format!("{cpus}*"))
    );
    Err(Error::Archive { name: input.name().to_owned(), what })
}

/// D if any file has one, else Q. Reads up to the first D, or the whole trace if it has none.
fn action_to_replay(input: &StoredTrace) -> Result<Replayed> {
    let mut seen = [false; 128];
    for part in input.parts() {
        let mut stream = EventFile::open(part)?;
        loop {
            match stream.advance() {
                Ok(true) => {}
                Ok(false) => break,
                Err(failure) => return Err(failure.into_error(part, stream.record_number)),
            }
            if let Some(letter) = stream.event.letter() {
                seen[usize::from(letter)] = true;
            }
            if seen[usize::from(b'D')] {
                return Replayed::choose(input, FORMAT.name, &seen);
            }
        }
    }
    Replayed::choose(input, FORMAT.name, &seen)
}

// ---- events ----------------------------------------------------------------------------------

/// The fields of a record that are used.
#[derive(Clone, Copy)]
struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
}

/// Bits of the upper half of the action.
const WRITE: u32 = 2;
const FLUSH: u32 = 4;
const SYNC: u32 = 8;
const PASSTHROUGH: u32 = 0x200;
const NOTIFY: u32 = 0x400;
const AHEAD: u32 = 0x800;
const META: u32 = 0x1000;
const DISCARD: u32 = 0x2000;
const FUA: u32 = 0x8000;

const SECTORS: ParseError = ParseError::new("its sector exceeds 64 bits in bytes");

impl Event {
    /// The action as blkparse prints it; `None` for notes and for actions that are never replayed.
    fn letter(&self) -> Option<u8> {
        if self.action >> 16 & NOTIFY != 0 {
            return None;
        }
        match self.action & 0xff {
            1 => Some(b'Q'),
            4 => Some(b'G'),
            7 => Some(b'D'),
            8 => Some(b'C'),
            12 => Some(b'I'),
            _ => None,
        }
    }

    fn flags(&self) -> Flags {
        let bits = [
            (FLUSH, Flags::PREFLUSH),
            (FUA, Flags::FUA),
            (SYNC, Flags::SYNC),
            (META, Flags::META),
            (AHEAD, Flags::READAHEAD),
        ];
        let set = bits.iter().filter(|(bit, _)| self.action >> 16 & bit != 0);
        set.fold(Flags::empty(), |flags, (_, flag)| flags | *flag)
    }

    /// The operation as blkparse prints it. The kernel marks discards as writes, too.
    fn op_letter(&self) -> u8 {
        let bits = self.action >> 16;
        if bits & DISCARD != 0 {
            b'D'
        } else if bits & WRITE != 0 {
            b'W'
        } else if self.bytes > 0 {
            b'R'
        } else {
            b'N'
        }
    }

    /// The request of an event, or the reason to skip it.
    #[inline(always)]
    fn line(&self, normalizer: &mut Normalizer) -> ParseResult {
        if self.action >> 16 & PASSTHROUGH != 0 {
            return Ok(Parsed::Skip("passthrough"));
        }
        let (flags, bytes) = (self.flags(), u64::from(self.bytes));
        let Some(op) = op_of(self.op_letter(), flags, bytes) else {
            return Ok(Parsed::Skip("no data"));
        };
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => (self.sector.checked_mul(SECTOR_BYTES).ok_or(SECTORS)?, bytes),
        };
        let device = normalizer.devices.named(u64::from(self.device), |device| {
            format!("{},{}", device >> 20, device & 0xf_ffff)
        })?;
        let ticks = self.time_ns;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }
}

// ---- one file --------------------------------------------------------------------------------

/// The events of one file, in the order of the file.
struct EventFile {
    window: SlidingWindow,
    record_number: u64,
    /// The latest event. Callers read its fields in place: copying a struct that was just written
    /// field by field stalls the processor.
    event: Event,
    sequences: Sequences,
    ended: bool,
}

/// The sequence numbers of the events of one CPU and device.
#[derive(Default)]
struct Sequence {
    /// The bytes of device and CPU.
    key: u64,
    /// The number before the first one.
    start: u32,
    /// The highest number.
    last: u32,
    /// Numbers between both that no event has.
    lost: u64,
}

/// The sequence numbers of a file, which usually has the events of one CPU.
#[derive(Default)]
struct Sequences {
    /// Of the latest event.
    latest: Sequence,
    others: Vec<Sequence>,
}

impl Sequences {
    /// Counts an event. Notes have no number.
    #[inline(always)]
    fn count(&mut self, key: u64, number: u32, event: &Event) {
        if key == self.latest.key && number == self.latest.last.wrapping_add(1) {
            self.latest.last = number;
        } else if event.action >> 16 & NOTIFY == 0 {
            self.count_gap(key, number);
        }
    }

    #[cold]
    fn count_gap(&mut self, key: u64, number: u32) {
        if key != self.latest.key {
            let known = self.others.iter().position(|one| one.key == key);
            let next = match known {
                Some(index) => self.others.swap_remove(index),
                None => {
                    let start = number.wrapping_sub(1);
                    Sequence { key, start, last: start, lost: 0 }
                }
            };
            let before = std::mem::replace(&mut self.latest, next);
            if self.others.len() < MOST_SEQUENCES {
                self.others.push(before);
            }
        }
        let one = &mut self.latest;
        match u64::from(number).checked_sub(u64::from(one.last)) {
            Some(step) => {
                one.lost += step.saturating_sub(1);
                one.last = number;
            }
            // It seemed to be lost.
            None => one.lost = one.lost.saturating_sub(1),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Sequence> {
        self.others.iter().chain([&self.latest])
    }
}

/// More than a machine has CPUs; a file with more is damaged.
const MOST_SEQUENCES: usize = 4096;

/// Why a file cannot be read beyond its latest record.
enum EventError {
    Parse(ParseError),
    Read(std::io::Error),
}

impl EventError {
    fn into_error(self, part: &StoredTrace, record_number: u64) -> Error {
        match self {
            EventError::Read(source) => part.failure(record_number, source),
            EventError::Parse(error) => error.of_record(part.name(), record_number),
        }
    }
}

const NO_MAGIC: ParseError = ParseError::fatal(
    "it does not begin with the magic number of blktrace, 0x65617407",
    "the file is damaged or not from blktrace",
);
const OTHER_VERSION: ParseError = ParseError::fatal(
    "it is not in version 7 of the format, the only supported one",
    "convert it with the blkparse of its own version and read the text",
);

impl EventFile {
    fn open(part: &StoredTrace) -> Result<EventFile> {
        let event = Event { time_ns: 0, sector: 0, bytes: 0, action: 0, device: 0 };
        let (window, sequences) = (part.window()?, Sequences::default());
        Ok(EventFile { window, record_number: 0, event, sequences, ended: false })
    }

    /// Reads the next event. False at the end of the file.
    #[inline(always)]
    fn advance(&mut self) -> std::result::Result<bool, EventError> {
        let header = self.take(HEADER_BYTES)?;
        if header.is_empty() {
            self.ended = true;
            return Ok(false);
        }
        self.record_number += 1;
        // The compiler knows the length of such a header and needs to check no position.
        let Some(bytes) = self.window.slice(header).first_chunk::<HEADER_BYTES>() else {
            return self.error(TRUNCATED);
        };
        let magic = [bytes[0], bytes[1], bytes[2], bytes[3]];
        let Some(big_endian) = big_endian(magic) else { return self.error(NO_MAGIC) };
        let record = RecordBytes { bytes, big_endian };
        if record.u32(0) != MAGIC | VERSION {
            return self.error(OTHER_VERSION);
        }
        self.event = Event {
            time_ns: record.u64(8),
            sector: record.u64(16),
            bytes: record.u32(24),
            action: record.u32(28),
            device: record.u32(36),
        };
        let device_and_cpu = RecordBytes { bytes, big_endian: false }.u64(36);
        self.sequences.count(device_and_cpu, record.u32(4), &self.event);
        let payload_bytes = usize::from(record.u16(46));
        if payload_bytes > 0 && self.take(payload_bytes)?.len() < payload_bytes {
            return self.error(TRUNCATED);
        }
        Ok(true)
    }

    /// The next bytes; fewer than `count` only at the end.
    #[inline(always)]
    fn take(&mut self, count: usize) -> std::result::Result<std::ops::Range<usize>, EventError> {
        self.window.next_bytes(count).map_err(EventError::Read)
    }

    /// An error in the latest record. It ends the file, because the next record cannot be found.
    #[cold]
    fn error(&mut self, error: ParseError) -> std::result::Result<bool, EventError> {
        self.ended = true;
        Err(EventError::Parse(error))
    }
}

// ---- all files -------------------------------------------------------------------------------

struct Blktrace {
    replayed: Replayed,
}

impl ReaderFactory for Blktrace {
    fn reader(&self, input: &Arc<StoredTrace>, mode: ReadMode) -> Result<Box<dyn Reader>> {
        let streams = input.parts().map(EventFile::open).collect::<Result<Vec<_>>>()?;
        let (input, normalizer) = (Arc::clone(input), Normalizer::new(mode));
        let mut merged = MergedReader { replayed: self.replayed, input, normalizer, streams };
        for index in 0..merged.streams.len() {
            merged.advance(index)?;
        }
        Ok(Box::new(merged))
    }

    fn is_unsorted(&self) -> bool {
        false
    }
}

/// One reading of all files.
struct MergedReader {
    replayed: Replayed,
    input: Arc<StoredTrace>,
    normalizer: Normalizer,
    /// Each has read its next event.
    streams: Vec<EventFile>,
}

impl MergedReader {
    /// Reads the next event of a file. If errors are tolerated, a truncated record ends the file.
    #[inline(always)]
    fn advance(&mut self, index: usize) -> Result<()> {
        match self.streams[index].advance() {
            Ok(_) => Ok(()),
            Err(EventError::Parse(error)) => self.bad_record(error, index),
            Err(failure) => {
                let record_number = self.streams[index].record_number;
                Err(failure.into_error(self.part(index), record_number))
            }
        }
    }

    fn part(&self, index: usize) -> &StoredTrace {
        self.input.part(index).expect("a stream for each part")
    }

    #[cold]
    fn bad_record(&mut self, error: ParseError, index: usize) -> Result<()> {
        let part = self.input.part(index).expect("a stream for each part");
        self.normalizer.bad_record(error, part, self.streams[index].record_number)
    }

    fn lost(&self) -> LostEvents {
        let sequences = self.streams.iter().flat_map(|stream| stream.sequences.all());
        sequences.fold(LostEvents::default(), |LostEvents { lost, kept }, one| {
            let numbers = u64::from(one.last.wrapping_sub(one.start));
            // In a damaged file the numbers may start again more than once.
            LostEvents { lost: lost + one.lost, kept: kept + numbers.saturating_sub(one.lost) }
        })
    }

    /// The file with the earliest event; of several, the first.
    #[inline(always)]
    fn earliest(&self) -> Option<usize> {
        let streams = self.streams.iter().enumerate().filter(|(_, stream)| !stream.ended);
        streams.min_by_key(|(_, stream)| stream.event.time_ns).map(|(index, _)| index)
    }

    /// Delivers the current event of a file.
    #[inline(always)]
    fn event(&mut self, index: usize, out: &mut Vec<Request>) -> Result<()> {
        let event = &self.streams[index].event;
        if event.letter() != Some(self.replayed.action) {
            self.normalizer.skipped.other_lines += 1;
            return Ok(());
        }
        let parsed = event.line(&mut self.normalizer);
        let taken = self.normalizer.take(parsed, 1, out);
        taken.or_else(|error| self.bad_record(error, index))
    }
}

impl Reader for MergedReader {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let before = out.len();
        while out.len() - before < max {
            let Some(index) = self.earliest() else { break };
            self.event(index, out)?;
            self.advance(index)?;
        }
        Ok(out.len() - before)
    }

    fn position_bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.window.position_bytes()).sum()
    }

    fn report(&self) -> ReadReport {
        let files = self.streams.len();
        let merged = (files > 1).then(|| format!("{files} files are merged by time."));
        let notes = [self.replayed.note()].into_iter().chain(merged).chain(self.lost().note());
        self.normalizer.report(notes.collect())
    }
}

#[cfg(test)]
mod tests;
