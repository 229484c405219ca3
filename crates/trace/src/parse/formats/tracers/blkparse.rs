//! blkparse text: events of the Linux block layer as printed by `blkparse` (`blkparse_fmt.c`).
//!
//! ```text
//! 254,0    0      421     1.313174332    24  Q  DS 266240 + 2048 [kworker/u2:1]
//! dev      cpu    number  seconds        pid action rwbs sector + sectors [process]
//! ```
//!
//! Each request causes several events, one for each action on it. Only one action is replayed:
//! `action=`, or by default D (issued to the device) if the file has any, else Q (queued). To
//! choose the default, the file is read once up to its first D. Lines that do not begin with
//! `digits,digits` belong to the summary.
//!
//! Times count from the start of the trace. An event a few ms before it has a negative time, which
//! blkparse prints as 2^64 ns less a little, in seconds modulo 2^32: `1266874889.670442898`. Such a
//! time is read as the negative one that it means. As a Unix time it is a moment of 2010, so it
//! stays as it is if no other time of the trace counts from its start.
//!
//! A compact form omits `+` and the process: `7,4 0 1 0.000000000 23648 Q WS 41680 4`.

use std::ops::ControlFlow;

use spec::Params;

use crate::error::Result;
use crate::input::stored_trace::StoredTrace;
use crate::parse::block_layer::{ACTION_PARAMS, LostEvents, Replayed, op_of, rwbs};
use crate::parse::devices::Devices;
use crate::parse::format::{Format, Opening, Specimen};
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::parse::parser::{LineEnds, TraceParser, for_each_line};
use crate::parse::text::field::Field;
use crate::parse::text::split::{Blanks, Split};
use crate::parse::text::trace_head::{Likeness, TraceHead};
use crate::reader::ReaderFactory;
use crate::request::{Flags, Op, SECTOR_BYTES};

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "blkparse",
    summary: "Linux blktrace as text by blkparse, default or compact columns",
    source: "blkparse(1) and blktrace's blkparse_fmt.c",
    params: ACTION_PARAMS,
    examples: &[],
    specimens: &[
        Specimen::detected(
            "blkparse",
            b"254,0 0 421 1.313174332 24 D DS 266240 + 2048 [kworker]\n\
              7,4 0 1 0.0 2 D FWS 0 0\n",
        ),
        Specimen::detected("blkparse:action=C", b"254,0 0 421 1.3 24 C R 266240 + 2048 [0]\n"),
        Specimen::detected("blkparse", b"\n  7,4 0 1 0.000000000 23648 Q WS 41680 4\n"),
        Specimen::detected("blkparse", b"a stray line\n7,4 0 1 0.0 23648 Q WS 41680 4\n"),
    ],
    detect,
    opening: Opening::Inspected(open),
};

/// A line that begins with `digits,digits`, a blank and another word. Two numbers in a csv have no
/// other word.
fn detect(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let mut words = Split::new(line, Blanks);
        words.next().is_some_and(is_device_name) && words.next().is_some()
    }))
}

fn open(params: &Params, input: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    let given = params.opt_choice("action").map(|word| word.as_bytes()[0]);
    let events = Events::of(input, given.is_none())?;
    let replayed = match given {
        Some(action) => Replayed::given(action),
        None => Replayed::choose(input, FORMAT.name, &events.actions)?,
    };
    let has_unix_times = !events.count_from_start.unwrap_or(false);
    Ok(Box::new(Blkparse { has_unix_times, ..Blkparse::new(replayed) }))
}

/// What the events of a trace show before it is read.
struct Events {
    /// The actions that were seen.
    actions: [bool; 128],
    /// Whether times count from the start of the trace, by the first time that shows it.
    count_from_start: Option<bool>,
}

impl Events {
    /// Reads up to the first D, or the whole file if it has none, unless the action is given.
    fn of(input: &StoredTrace, seeks_action: bool) -> Result<Events> {
        let mut events = Events { actions: [false; 128], count_from_start: None };
        for_each_line(input, |line| {
            if let Ok(Some(head)) = EventHead::read(&mut Split::new(line, Blanks), is_device_name) {
                events.see(&head);
            }
            let has_action = !seeks_action || events.actions[usize::from(b'D')];
            match has_action && events.count_from_start.is_some() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(events)
    }

    fn see(&mut self, head: &EventHead) {
        if let &[action @ 0..128] = head.action {
            self.actions[usize::from(action)] = true;
        }
        if self.count_from_start.is_none() && !is_before_start(wrapped(head.time_ns)) {
            self.count_from_start = Some(head.time_ns < LONGEST_NS);
        }
    }
}

#[derive(Clone)]
struct Blkparse {
    replayed: Replayed,
    /// Whether times are no times since the start of the trace.
    has_unix_times: bool,
    /// Requests with a time before the start of the trace.
    before_start: u64,
    /// Events that were lost or kept, as the summaries of the devices say.
    lost_events: LostEvents,
}

const CPU: ParseError = ParseError::new("column 2, the CPU, is not a number");
const NUMBER: ParseError = ParseError::new("column 3, the sequence number, is not a number");
const TIME: ParseError = ParseError::new("column 4, the time, is not seconds such as 1.313174332");
const PID: ParseError = ParseError::new("column 5, the process id, is not a number");
const ACTION: ParseError = ParseError::new("column 6, the action, is missing");
const RWBS: ParseError = ParseError::new("column 7 is not RWBS, F?(D|W|R|N)F?A?S?M?");
const RANGE: ParseError =
    ParseError::new("columns 8 and following are neither `sector + sectors` nor `sector sectors`");
const CUT: ParseError = ParseError::new("the line ends before the sectors");
const BEYOND: ParseError = ParseError::new("the sectors exceed 64 bits in bytes");

/// What blkparse leaves out of 2^64 ns when it prints their seconds modulo 2^32.
const MODULO_NS: u64 = (1 << 34) * 1_000_000_000;

/// Events are before the start of the trace by a few ms. A minute is still too short for a clash
/// with times that count from elsewhere.
const BEFORE_START_NS: i64 = 60_000_000_000;

/// Ten years: longer than any trace, and shorter than the time from 1970 to the first one.
const LONGEST_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

impl TraceParser for Blkparse {
    const TICK_NS: u64 = 1;

    #[inline]
    fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
        let mut words = Split::new(line, Blanks);
        // It is usually the device of the line before, so the digits need not be checked again.
        let is_device = |name: Field| devices.is_latest(name.bytes()) || is_device_name(name);
        let Some(head) = EventHead::read(&mut words, is_device)? else {
            return Ok(self.summary(line));
        };
        if head.action != [self.replayed.action] {
            return Ok(Parsed::Other);
        }
        let (letter, flags) = words.next().and_then(|word| rwbs(word.bytes())).ok_or(RWBS)?;
        let Some((sector, sectors)) = range(letter, flags, &mut words)? else {
            return Ok(Parsed::Skip("passthrough"));
        };
        let device = devices.index(head.device)?;
        let Some(op) = op_of(letter, flags, sectors) else { return Ok(Parsed::Skip("no data")) };
        let ticks = self.unwrapped(head.time_ns);
        self.before_start += u64::from(is_before_start(ticks));
        // The sector of a flush may be anything, such as 2^64 - 1.
        let (sector, sectors) = if op == Op::Flush { (0, 0) } else { (sector, sectors) };
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or(BEYOND)?;
        let bytes = sectors.checked_mul(SECTOR_BYTES).ok_or(BEYOND)?;
        Ok(Parsed::Request(RawRequest { ticks, offset, bytes, device, op, flags, stream: 0 }))
    }

    fn line_ends(&self) -> LineEnds {
        LineEnds::Usual
    }

    fn notes(&self) -> Vec<String> {
        let notes = [
            Some(self.replayed.note()),
            before_start_note(self.before_start),
            self.lost_events.note(),
        ];
        notes.into_iter().flatten().collect()
    }
}

impl Blkparse {
    fn new(replayed: Replayed) -> Blkparse {
        let lost_events = LostEvents::default();
        Blkparse { replayed, has_unix_times: false, before_start: 0, lost_events }
    }

    /// The time that a printed one means; one before the start of the trace is counted down from
    /// 2^64.
    #[inline]
    fn unwrapped(&self, printed_ns: u64) -> u64 {
        let whole_ns = wrapped(printed_ns);
        if is_before_start(whole_ns) && !self.has_unix_times { whole_ns } else { printed_ns }
    }

    /// A line of the summary of a device. Two of them say how many events were kept and lost:
    /// `Events (8,0): 3 entries` and `Skips: 2 forward (398 -  99.3%)`.
    #[cold]
    fn summary(&mut self, line: &[u8]) -> Parsed {
        let line = line.trim_ascii();
        let LostEvents { lost, kept } = &mut self.lost_events;
        if line.starts_with(b"Events (") {
            *kept = kept.saturating_add(grouped_number(after(line, b"): ")));
        } else if line.starts_with(b"Skips:") {
            *lost = lost.saturating_add(grouped_number(after(line, b"(")));
        }
        Parsed::Other
    }
}

/// The text after the first `mark`; empty without one.
fn after<'a>(text: &'a [u8], mark: &[u8]) -> &'a [u8] {
    memchr::memmem::find(text, mark).map_or(&[], |at| &text[at + mark.len()..])
}

/// The number up to the next blank, such as `1,002`. The locale separates thousands. 0 if there is
/// none.
fn grouped_number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|byte| !matches!(byte, b' ' | b'-' | b')'));
    let digits: Vec<u8> = digits.copied().filter(u8::is_ascii_digit).collect();
    Field::new(&digits).number().unwrap_or(0)
}

/// A printed time with what blkparse leaves out of times before the start.
#[inline]
fn wrapped(printed_ns: u64) -> u64 {
    printed_ns.wrapping_add(MODULO_NS)
}

fn is_before_start(time_ns: u64) -> bool {
    (-BEFORE_START_NS..0).contains(&time_ns.cast_signed())
}

fn before_start_note(count: u64) -> Option<String> {
    (count > 0).then(|| {
        format!(
            "{count} of the times {} shortly before the start of the trace: blkparse prints such a \
             negative time as 2^64 ns less a little, here about 1266874889 s. It is read as the \
             negative time that it means.",
            if count == 1 { "is" } else { "are" }
        )
    })
}

/// The columns common to all events.
struct EventHead<'a> {
    device: &'a [u8],
    time_ns: u64,
    action: &'a [u8],
}

impl<'a> EventHead<'a> {
    /// Reads up to the action. `None` if the line does not begin with a device.
    #[inline(always)]
    fn read(
        words: &mut Split<'a, Blanks>,
        is_device: impl FnOnce(Field) -> bool,
    ) -> ParseResult<Option<EventHead<'a>>> {
        let Some(device) = words.next().filter(|&name| is_device(name)) else { return Ok(None) };
        words.next().filter(|word| word.is_digits()).ok_or(CPU)?;
        words.next().filter(|word| word.is_digits()).ok_or(NUMBER)?;
        let time_ns = words.next().and_then(|word| word.decimal(9, b'.')).ok_or(TIME)?;
        words.next().filter(|word| word.is_digits()).ok_or(PID)?;
        let action = words.next().ok_or(ACTION)?.bytes();
        Ok(Some(EventHead { device: device.bytes(), time_ns, action }))
    }
}

/// `major,minor`.
fn is_device_name(word: Field) -> bool {
    let mut numbers = Split::new(word.bytes(), b',');
    let [major, minor] = [numbers.next(), numbers.next()];
    let both = [major, minor].iter().all(|number| number.is_some_and(Field::is_digits));
    both && numbers.next().is_none()
}

/// Sector and number of sectors; both 0 if the line has none, as that of a flush. `None` for a SCSI
/// command: `(12 00 …)`, possibly after a length.
#[inline(always)]
fn range(letter: u8, flags: Flags, words: &mut Split<Blanks>) -> ParseResult<Option<(u64, u64)>> {
    let Some(sector) = words.next() else {
        let has_data = matches!(letter, b'R' | b'W' | b'D') && !flags.contains(Flags::PREFLUSH);
        return if has_data { Err(CUT) } else { Ok(Some((0, 0))) };
    };
    match sector.bytes() {
        [b'[', ..] => return Ok(Some((0, 0))),
        [b'(', ..] => return Ok(None),
        _ => {}
    }
    let sector = sector.number().ok_or(RANGE)?;
    let mut sectors = words.next().ok_or(RANGE)?;
    match sectors.bytes() {
        [b'(', ..] => return Ok(None),
        // The completion of a flush has a sector, but no length.
        [b'[', ..] => return Ok(Some((0, 0))),
        b"+" => sectors = words.next().ok_or(RANGE)?,
        _ => {}
    }
    Ok(Some((sector, sectors.number().ok_or(RANGE)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::tests::read_all;
    use crate::reader::Skipped;
    use crate::request::Request;
    use proptest::prelude::*;

    fn read(action: u8, text: &[u8]) -> std::result::Result<(Vec<Request>, Skipped), String> {
        read_all(Blkparse::new(Replayed::given(action)), text, false)
    }

    const REAL: &[u8] = b"\
254,0    0      421     1.313174332    24  Q  DS 266240 + 2048 [kworker/u2:1]
254,0    0       32     0.283209406    37  D  FN [kworker/0:1H]
254,0    0       33     1.400000000    37  D  FWFSM 8 + 16 [jbd2/vda (1) + x]
  8,16   3        9     1.500000000  4528  D   R 584808 + 936 [java]
  8,16   3       40     2.002047336  4528  C   R 584808 + 936 [0]
  8,0    1        5     2.1            99  D   N 36 (12 00 00 00 24 00 ..) [smartd]
  8,0    1        6     2.2            99  D   R (a1 08) [smartd]
  8,0    0        0     2.3             0  m   N cfq idle
  8,0    1        7     2.4            99  D   W 5 + 0 [x]
CPU0 (8,16):
 Reads Queued:           0,        0KiB\t Writes Queued:          0,        0KiB
";

    #[test]
    fn captured_lines_of_the_default_form() {
        let (requests, skipped) = read(b'D', REAL).unwrap();
        assert_eq!(requests.len(), 3);
        assert_eq!((requests[0].op, requests[0].bytes), (Op::Flush, 0));
        assert_eq!(requests[0].flags, Flags::PREFLUSH);
        assert_eq!((requests[1].offset, requests[1].bytes), (8 * 512, 16 * 512));
        let all = Flags::PREFLUSH | Flags::FUA | Flags::SYNC | Flags::META;
        assert_eq!((requests[1].op, requests[1].flags), (Op::Write, all));
        assert_eq!(requests[1].time_ns, 1_400_000_000 - 283_209_406);
        assert_eq!((requests[2].op, requests[2].device), (Op::Read, 1));
        assert_eq!((skipped.get("passthrough"), skipped.get("zero-length")), (2, 1));
        assert_eq!(skipped.other_lines, 5);
        assert_eq!(read(b'Q', REAL).unwrap().0[0].op, Op::Trim);
        assert_eq!(read(b'C', REAL).unwrap().0[0].bytes, 936 * 512);
        assert_eq!(detect(&TraceHead::new(REAL)), Likeness::Lines);
    }

    #[test]
    fn the_sector_of_a_flush_may_be_anything() {
        let text = b"8,0 0 1 0.1 9 D FF 18446744073709551615 + 0 [a]\n\
            8,0 0 2 0.2 0 C FF 18446744073709551615 + 0 [0]\n";
        for action in *b"DC" {
            assert_eq!(read(action, text).unwrap().0[0].op, Op::Flush);
        }
    }

    #[test]
    fn events_that_the_summary_calls_lost_are_in_a_note() {
        let notes = |lines: &[&str]| {
            let mut parser = Blkparse::new(Replayed::given(b'D'));
            for line in lines {
                let parsed = parser.parse(line.as_bytes(), &mut Devices::default());
                assert_eq!(parsed, Ok(Parsed::Other));
            }
            parser.notes()
        };
        let one = ["Events (8,0): 3 entries", "Skips: 2 forward (398 -  99.3%)"];
        let other = ["Events (sda): 333,001 entries", "Skips: 1 forward (1,002 -   0.3%)"];
        let lost = |lines: &[&str]| notes(lines)[1].clone();
        assert!(lost(&one).starts_with("398 events (99.3 %) were lost"), "{}", lost(&one));
        let both = lost(&[one, other].concat());
        assert!(both.starts_with("1400 events (0.4 %) were lost"), "{both}");
        let excerpt = lost(&[one[1], "Skip", "Skips:", "Events ("]);
        assert!(excerpt.starts_with("398 events were lost"), "{excerpt}");
        let rare = lost(&["Events (8,0): 9,999 entries", "Skips: 1 forward (1 -   0.0%)"]);
        assert!(rare.starts_with("1 event (less than 0.1 %) was lost"), "{rare}");
        assert_eq!(notes(&other[..1]).len(), 1);
        assert_eq!(notes(&[]).len(), 1);
    }

    #[test]
    fn wrapped_times_are_before_the_start() {
        let at = |times: &[&str]| {
            let line = |time: &&str| format!("8,0 1 1 {time} 9 D W 8 + 8 [a]\n");
            let text: String = times.iter().map(line).collect();
            let (requests, skipped) = read(b'D', text.as_bytes()).unwrap();
            let times: Vec<_> = requests.iter().map(|it| it.time_ns / 1000).collect();
            (times, skipped.backward_times, skipped.absurd_times)
        };
        let first = ["1266874889.707551616", "0.000000000", "0.500000000"];
        assert_eq!(at(&first), (vec![0, 2000, 502_000], 0, 0));
        let within = ["0.1", "1266874889.707551616", "18446744073.707551616", "0.2"];
        assert_eq!(at(&within), (vec![0, 0, 0, 100_000], 2, 0), "the order of lines is kept");
        // Unix times of that hour are no negative times, and are no steps either.
        assert_eq!(at(&["1266874000.5", "1266874001.5"]), (vec![0, 1_000_000], 0, 0));
        let mut parser = Blkparse::new(Replayed::given(b'D'));
        for time in first {
            let line = format!("8,0 1 1 {time} 9 D W 8 + 8 [a]");
            parser.parse(line.as_bytes(), &mut Devices::default()).unwrap();
        }
        let notes = parser.notes();
        assert!(notes[1].starts_with("1 of the times is shortly before the start"), "{notes:?}");
    }

    #[test]
    fn unix_times_of_that_minute_are_not_before_the_start() {
        let read = |times: &[&str]| {
            let line = |time: &&str| format!("8,0 1 1 {time} 9 D W 8 + 8 [a]\n");
            let text: String = times.iter().map(line).collect();
            let trace = crate::Trace::of_bytes("t", text.as_bytes(), &Default::default()).unwrap();
            let mut replay = trace.replay().unwrap();
            let mut seconds = Vec::new();
            replay.for_each(crate::go_on, |it| seconds.push(it.time_ns / 1_000_000_000)).unwrap();
            (seconds, replay.report().notes.len())
        };
        let within = ["1266874880.5", "1266874882.5", "1266874889.5"];
        assert_eq!(read(&within), (vec![0, 2, 9], 1));
        let around = ["1266874829.5", "1266874880.5", "1266874891.5"];
        assert_eq!(read(&around), (vec![0, 51, 62], 1));
        let negative = ["1266874889.500000000", "0.792448384"];
        assert_eq!(read(&negative), (vec![0, 1], 2), "a note about the time before the start");
    }

    #[test]
    fn a_file_without_issued_requests_says_what_is_missing() {
        let notes = |spec: &[(String, String)]| {
            let text = b"8,0 1 1 0.1 99 Q R 8 + 8 [x]\n8,0 1 1 0.2 99 C R 8 + 8 [0]\n";
            let input = std::sync::Arc::new(StoredTrace::spool("t", &text[..]).unwrap());
            let source = open(&spec::resolve("", spec, ACTION_PARAMS).unwrap(), &input).unwrap();
            let mode = crate::reader::ReadMode { skip_bad: false, raw_times: false };
            source.reader(&input, mode).unwrap().report().notes.join(" ")
        };
        assert!(notes(&[]).contains("has no event D (issued to the device)"), "{}", notes(&[]));
        let completed = notes(&[("action".into(), "C".into())]);
        assert!(completed.ends_with("(completed); their times are those of completion."));
    }

    #[test]
    fn the_compact_form() {
        let text = b"7,5   1 1 0.000000000 22362 Q WS 17410 18\n7,5 0 2 0.5 1 Q FWS 0 0\n\
            7,0 1 1 0.6 19681 Q RA 12590896 32\n";
        let (requests, _) = read(b'Q', text).unwrap();
        assert_eq!((requests[0].offset, requests[0].bytes), (17_410 * 512, 18 * 512));
        assert_eq!(requests[1].op, Op::Flush);
        assert_eq!(requests[1].flags, Flags::PREFLUSH | Flags::SYNC);
        assert_eq!(requests[2].flags, Flags::READAHEAD);
    }

    #[test]
    fn the_action_is_d_if_the_file_has_any() {
        let action = |text: &str| {
            let input = StoredTrace::spool("t", text.as_bytes()).unwrap();
            let events = Events::of(&input, true).unwrap();
            let replayed = Replayed::choose(&input, FORMAT.name, &events.actions);
            replayed.map(|it| it.action).map_err(|error| error.to_string())
        };
        let q = "8,0 1 1 0.1 99 Q R 8 + 8 [x]\n";
        let c = "8,0 1 1 0.1 99 C R 8 + 8 [0]\n";
        let d = "8,0 1 1 0.1 99 D R 8 + 8 [x]";
        assert_eq!(action(&q.repeat(50_000)), Ok(b'Q'));
        assert_eq!(action(&(q.repeat(50_000) + d)), Ok(b'D'));
        let message = action(c).unwrap_err();
        let command = "\n    ftlab trace info t --format blkparse:action=C";
        assert!(message.contains(command), "{message}");
        let both = action(&(c.to_owned() + &c.replace(" C ", " I "))).unwrap_err();
        for letter in ["C", "I"] {
            assert!(both.contains(&format!("blkparse:action={letter}")), "{both}");
        }
        let merges = action(&c.replace(" C ", " M ")).unwrap_err();
        assert!(merges.contains("it has M, none of which"), "{merges}");
        assert!(action("8,0 nonsense").unwrap_err().contains("no event at all"));
    }

    #[test]
    fn a_last_line_that_may_be_cut_within_its_length_is_in_a_note() {
        let notes = |text: &str| {
            let trace = crate::Trace::of_bytes("t", text.as_bytes(), &Default::default()).unwrap();
            let mut replay = trace.replay().unwrap();
            replay.for_each(crate::go_on, |_| {}).unwrap();
            replay.report().notes.join(" ")
        };
        let line = "8,0 1 1 0.1 9 D W 8 + 128 [a]";
        let cut = |bytes: usize| notes(&format!("{line}\n{}", &line[..bytes]));
        let note = "The last line of `t` has no line end";
        assert!(cut(line.len() - 4).contains(note), "{}", cut(line.len() - 4));
        assert!(cut(line.len() - 6).contains(note), "one digit is left");
        assert!(!cut(line.len()).contains(note) && !cut(line.len() - 2).contains(note));
        assert!(!notes(&format!("{line}\n")).contains(note));
        assert!(notes("7,4 0 1 0.0 23648 Q WS 41680 4").contains(note));
        assert!(!notes("7,4 0 1 0.0 23648 Q WS 41680 4\n\r\n").contains(note));
    }

    #[test]
    fn errors_name_the_column() {
        let cases = [
            ("8,0 x", "column 2"),
            ("8,0 1 x", "column 3"),
            ("8,0 1 1 x", "column 4"),
            ("8,0 1 1 99999999999.0", "column 4"),
            ("8,0 1 1 0.1 x", "column 5"),
            ("8,0 1 1 0.1 99", "column 6"),
            ("8,0 1 1 0.1 99 D", "column 7"),
            ("8,0 1 1 0.1 99 D X 8 + 8", "column 7"),
            ("8,0 1 1 0.1 99 D RX 8 + 8", "column 7"),
            ("8,0 1 1 0.1 99 D W", "the line ends before the sectors"),
            ("8,0 1 1 0.1 99 D R 8", "columns 8"),
            ("8,0 1 1 0.1 99 D R 8 + x", "columns 8"),
            ("8,0 1 1 0.1 99 D R 36028797018963968 + 8", "the sectors exceed"),
        ];
        for (line, what) in cases {
            let message = read(b'D', line.as_bytes()).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let bytes = [b"\n8,0 1 1 0.1 9 D ", &bytes[..]].concat();
            let _ = read(b'D', &bytes);
            let parser = Blkparse::new(Replayed::given(b'D'));
            prop_assert!(read_all(parser, &bytes, true).is_ok());
        }

        #[test]
        fn damaged_lines_are_survived(at in 0usize..700, byte: u8) {
            let mut bytes = REAL.to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            let parser = Blkparse::new(Replayed::given(b'D'));
            prop_assert!(read_all(parser, &bytes, true).is_ok());
        }
    }
}
