//! From raw requests to requests, the same for every format: checks, the clock of the trace, and
//! counts of skipped requests.

use crate::error::{Error, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::reader::{MALFORMED, ReadMode, ReadReport, Skipped};
use crate::request::{Op, Request};

const TOO_LATE: ParseError = ParseError::new("the time is more than 584 years after the first");
const BEYOND: ParseError = ParseError::new("offset + length exceeds 64 bits");

/// Checks the raw requests of one replay of a trace and appends them as requests.
pub(crate) struct Normalizer {
    pub(crate) devices: Devices,
    pub(crate) skipped: Skipped,
    clock: Clock,
    skip_bad: bool,
    /// The message of the first bad line or record that was skipped.
    first_bad: Option<String>,
}

impl Normalizer {
    pub(crate) fn new(mode: ReadMode) -> Normalizer {
        Normalizer {
            devices: Devices::default(),
            skipped: Skipped::default(),
            clock: Clock { raw: mode.raw_times, ..Clock::default() },
            skip_bad: mode.skip_bad,
            first_bad: None,
        }
    }

    /// For rows that were read before. Times count from `first_ns`, unless they are raw; `skipped`
    /// is what was skipped when the rows were read.
    pub(crate) fn of_rows(raw_times: bool, first_ns: u64, skipped: Skipped) -> Normalizer {
        let mut clock = Clock { raw: raw_times, ..Clock::default() };
        clock.begin(first_ns, 1);
        let devices = Devices::default();
        Normalizer { devices, skipped, clock, skip_bad: false, first_bad: None }
    }

    /// Begins another part of the trace. If `own_clock`, its times count from its own beginning.
    pub(crate) fn next_part(&mut self, own_clock: bool) {
        if own_clock {
            (self.clock.part_begins, self.clock.believed) = (true, 0);
        }
    }

    /// Delivers, skips or counts what a line or record was parsed to.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        parsed: ParseResult,
        tick_ns: u64,
        out: &mut Vec<Request>,
    ) -> ParseResult<()> {
        match parsed? {
            Parsed::Request(request) => self.request(request, tick_ns, out)?,
            Parsed::Skip(reason) => self.skipped.add(reason),
            Parsed::Other => self.skipped.other_lines += 1,
        }
        Ok(())
    }

    /// The devices and the skipped requests so far, with notes of the reader.
    pub(crate) fn report(&self, notes: Vec<String>) -> ReadReport {
        ReadReport {
            devices: self.devices.names(),
            skipped: self.skipped.clone(),
            notes,
            first_bad: self.first_bad.clone(),
        }
    }

    /// Checks a raw request, converts its time, and appends it to `out`; one without data is
    /// skipped and counted. It is pushed into `out` directly, because copying a struct that was
    /// just written field by field stalls the processor.
    #[inline(always)]
    pub(crate) fn request(
        &mut self,
        request: RawRequest,
        tick_ns: u64,
        out: &mut Vec<Request>,
    ) -> ParseResult<()> {
        let RawRequest { ticks, offset, bytes, device, op, flags, stream } = request;
        offset.checked_add(bytes).ok_or(BEYOND)?;
        let ticks = self.clock.advance(ticks, tick_ns, &mut self.skipped);
        let time_ns = ticks.checked_mul(tick_ns).ok_or(TOO_LATE)?;
        if bytes == 0 && op != Op::Flush {
            self.skipped.add("zero-length");
            return Ok(());
        }
        out.push(Request { time_ns, offset, bytes, device, op, flags, stream });
        Ok(())
    }

    /// Handles a bad line: an error, or counted if the user tolerates bad lines.
    #[cold]
    pub(crate) fn bad_line(
        &mut self,
        error: ParseError,
        part: &StoredTrace,
        number: u64,
        line: &[u8],
    ) -> Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        // The zeros that fill the last block of a tar archive are not a line.
        if line.iter().all(|&byte| byte == 0) {
            self.skipped.other_lines += 1;
            return Ok(());
        }
        self.bad(error.fatal, || Error::Line {
            name: part.name().to_owned(),
            line: number,
            what: error.sentence(),
            text: quote(line),
            remedy: error.remedy,
            fatal: error.fatal,
        })
        .map_err(|error| part.unless_truncated(error))
    }

    /// The same for a record of a binary trace.
    #[cold]
    pub(crate) fn bad_record(
        &mut self,
        error: ParseError,
        part: &StoredTrace,
        number: u64,
    ) -> Result<()> {
        self.bad(error.fatal, || error.of_record(part.name(), number))
            .map_err(|error| part.unless_truncated(error))
    }

    /// Counts an error, if the user tolerates it.
    fn bad(&mut self, is_fatal: bool, error: impl FnOnce() -> Error) -> Result<()> {
        if !self.skip_bad || is_fatal {
            return Err(error());
        }
        self.skipped.add(MALFORMED);
        self.first_bad.get_or_insert_with(|| error().to_string());
        Ok(())
    }
}

/// A step of the clock by more than this is not believed before a second request confirms it.
const FAR_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// The clock of a trace. It counts ticks since the first request and never goes back; or, if the
/// requests will be sorted, it leaves ticks as they are. If the times of a part count from its own
/// beginning, the first request of the part gets the latest time of the parts before it.
///
/// Ticks are differences modulo 2^64, so times before zero are possible. A time that goes back, or
/// forward by more than a year, becomes that of the request before. If the next request confirms a
/// step of more than a year, the traced machine's clock was set: time goes on from where it was.
#[derive(Default)]
struct Clock {
    first: u64,
    latest: u64,
    /// A step from `latest` that is smaller needs no further look. 0 before the first request, and
    /// if every request needs one.
    believed: u64,
    raw: bool,
    has_begun: bool,
    /// The latest absurd time, and `latest` at that moment.
    jump: Option<(u64, u64)>,
    /// Whether a part with its own clock has begun, but has delivered no request yet.
    part_begins: bool,
    /// Of the latest part with its own clock: its first tick, and the tick of the trace at which it
    /// began.
    part: Option<(u64, u64)>,
}

impl Clock {
    #[inline(always)]
    fn advance(&mut self, ticks: u64, tick_ns: u64, skipped: &mut Skipped) -> u64 {
        if ticks.wrapping_sub(self.latest) >= self.believed {
            return self.advance_carefully(ticks, tick_ns, skipped);
        }
        self.latest = ticks;
        ticks.wrapping_sub(self.first)
    }

    fn begin(&mut self, first: u64, tick_ns: u64) {
        (self.has_begun, self.first, self.latest) = (true, first, first);
        self.believed = if self.raw { 0 } else { FAR_NS / tick_ns };
    }

    #[inline(never)]
    fn advance_carefully(&mut self, ticks: u64, tick_ns: u64, skipped: &mut Skipped) -> u64 {
        if self.part_begins {
            (self.part_begins, self.believed) = (false, 0);
            self.part = Some((ticks, self.latest));
        }
        let ticks = match self.part {
            // Nothing of such a part is before its first request, as it comes after other parts.
            Some((first, start)) => {
                let since = ticks.wrapping_sub(first).cast_signed().max(0).cast_unsigned();
                start.wrapping_add(since)
            }
            None => ticks,
        };
        if self.raw {
            self.latest = self.latest.max(ticks);
            return ticks;
        }
        if !self.has_begun {
            self.begin(ticks, tick_ns);
        } else if ticks.wrapping_sub(self.latest) >= FAR_NS / tick_ns {
            self.step(ticks, tick_ns, skipped);
        } else {
            self.latest = ticks;
        }
        self.latest.wrapping_sub(self.first)
    }

    /// A step back, or far forward.
    #[cold]
    fn step(&mut self, ticks: u64, tick_ns: u64, skipped: &mut Skipped) {
        let far = FAR_NS / tick_ns;
        let back = self.latest.wrapping_sub(ticks).cast_signed();
        let is_confirmed = self.jump.is_some_and(|(jumped, latest)| {
            let apart = jumped.wrapping_sub(ticks).cast_signed().unsigned_abs();
            latest == self.latest && apart <= far
        });
        self.jump = None;
        if is_confirmed {
            self.first = self.first.wrapping_sub(back.cast_unsigned());
            self.latest = ticks;
        } else {
            // A huge number has wrapped around; one that is just below zero is before the start.
            let has_wrapped = back.unsigned_abs() >= far
                && ticks.cast_signed() < 0
                && self.latest.cast_signed() >= 0;
            if back > 0 && !has_wrapped {
                skipped.backward_times += 1;
                let step_ns = back.unsigned_abs().saturating_mul(tick_ns);
                skipped.step_back_ns = skipped.step_back_ns.max(step_ns);
            } else {
                skipped.absurd_times += 1;
            }
            if back.unsigned_abs() >= far {
                self.jump = Some((ticks, self.latest));
            }
        }
    }
}
