//! From raw requests to requests, the same for every format: checks, the clock of the trace, and
//! counts of skipped requests.

use crate::error::{Error, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::parsed::{ParseError, ParseResult, Parsed, RawRequest};
use crate::reader::{ReadMode, ReadReport, Skipped};
use crate::request::{Op, Request};

const TOO_LATE: ParseError = ParseError::new("the time is more than 584 years after the first");
const BEYOND: ParseError = ParseError::new("offset + length exceeds 64 bits");

/// Checks the raw requests of one replay of a trace and appends them as requests.
pub(crate) struct Normalizer {
    pub(crate) devices: Devices,
    pub(crate) skipped: Skipped,
    clock: Clock,
    skip_bad: bool,
}

impl Normalizer {
    pub(crate) fn new(mode: ReadMode) -> Normalizer {
        Normalizer {
            devices: Devices::default(),
            skipped: Skipped::default(),
            clock: Clock { raw: mode.raw_times, ..Clock::default() },
            skip_bad: mode.skip_bad,
        }
    }

    /// For rows that were read before. Times count from `first_ns`, unless they are raw; `skipped`
    /// is what was skipped when the rows were read.
    pub(crate) fn of_rows(raw_times: bool, first_ns: u64, skipped: Skipped) -> Normalizer {
        let clock = Clock { first: Some(first_ns), raw: raw_times, ..Clock::default() };
        Normalizer { devices: Devices::default(), skipped, clock, skip_bad: false }
    }

    /// Begins another part of the trace. If `own_clock`, its times count from its own beginning.
    pub(crate) fn next_part(&mut self, own_clock: bool) {
        self.clock.part_begins |= own_clock;
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
        ReadReport { devices: self.devices.names(), skipped: self.skipped.clone(), notes }
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
        let ticks = self.clock.advance(ticks, &mut self.skipped);
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
        if self.is_tolerated(error) {
            return Ok(());
        }
        Err(part.unless_truncated(Error::Line {
            name: part.name().to_owned(),
            line: number,
            what: error.sentence(),
            text: quote(line),
            remedy: error.remedy,
            fatal: error.fatal,
        }))
    }

    /// The same for a record of a binary trace.
    #[cold]
    pub(crate) fn bad_record(
        &mut self,
        error: ParseError,
        part: &StoredTrace,
        number: u64,
    ) -> Result<()> {
        if self.is_tolerated(error) {
            return Ok(());
        }
        Err(part.unless_truncated(error.of_record(part.name(), number)))
    }

    fn is_tolerated(&mut self, error: ParseError) -> bool {
        let tolerated = self.skip_bad && !error.fatal;
        if tolerated {
            self.skipped.add("malformed");
        }
        tolerated
    }
}

/// The clock of a trace. It counts ticks since the first request and never goes back; or, if the
/// requests will be sorted, it leaves ticks as they are. If the times of a part count from its own
/// beginning, the first request of the part gets the latest time of the parts before it.
#[derive(Default)]
struct Clock {
    first: Option<u64>,
    latest: u64,
    raw: bool,
    /// Whether a part with its own clock has begun, but has delivered no request yet.
    part_begins: bool,
    /// The first tick of the latest such part.
    part_first: u64,
    /// The tick of the trace that corresponds to `part_first`.
    part_start: u64,
}

impl Clock {
    #[inline]
    fn advance(&mut self, ticks: u64, skipped: &mut Skipped) -> u64 {
        if self.part_begins {
            self.part_begins = false;
            (self.part_first, self.part_start) = (ticks, self.latest);
        }
        let ticks = ticks.saturating_sub(self.part_first).saturating_add(self.part_start);
        if self.raw {
            self.latest = self.latest.max(ticks);
            return ticks;
        }
        let first = *self.first.get_or_insert(ticks);
        if ticks < self.latest {
            skipped.backward_times += 1;
        } else {
            self.latest = ticks;
        }
        self.latest.max(first) - first
    }
}
