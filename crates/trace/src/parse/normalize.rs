//! What happens to every record, whatever its format: checks, the trace's clock, skips by reason.
//!
//! Readers of lines and of binary records hand in what they parsed; what comes back is a request,
//! nothing (there is nothing to serve), or a fault, which is an error or, on request, counted.

use crate::error::{Error, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::parsed::{ParseError, RawRequest};
use crate::reader::{ReadMode, Skipped};
use crate::request::{Op, Request};

const TOO_LATE: ParseError = ParseError::new("the time lies more than 584 years after the first");
const BEYOND: ParseError = ParseError::new("offset + length exceeds 64 bits");

/// What one reading of a trace keeps between records.
pub(crate) struct Normalizer {
    pub(crate) devices: Devices,
    pub(crate) skipped: Skipped,
    clock: Clock,
    skip_bad: bool,
}

impl Normalizer {
    pub(crate) fn new(reading: ReadMode) -> Normalizer {
        Normalizer {
            devices: Devices::default(),
            skipped: Skipped::default(),
            clock: Clock { raw: reading.raw_times, ..Clock::default() },
            skip_bad: reading.skip_bad,
        }
    }

    /// The records of another part follow, whose times count from its own beginning if so said.
    pub(crate) fn next_part(&mut self, own_clock: bool) {
        self.clock.rewound |= own_clock;
    }

    /// Checks a record, puts it on the trace's clock, and takes it in, unless there is nothing to
    /// serve. It is written where it stays: a processor waits when it reads whole what it has just
    /// written field by field.
    #[inline(always)]
    pub(crate) fn request(
        &mut self,
        record: RawRequest,
        tick_ns: u64,
        out: &mut Vec<Request>,
    ) -> std::result::Result<(), ParseError> {
        let RawRequest { ticks, offset, bytes, device, op, flags } = record;
        offset.checked_add(bytes).ok_or(BEYOND)?;
        let ticks = self.clock.advance(ticks, &mut self.skipped);
        let time_ns = ticks.checked_mul(tick_ns).ok_or(TOO_LATE)?;
        if bytes == 0 && op != Op::Flush {
            self.skipped.add("zero-length");
            return Ok(());
        }
        out.push(Request { time_ns, offset, bytes, device, op, flags });
        Ok(())
    }

    /// A bad line is an error, or is counted where the user wants that.
    #[cold]
    pub(crate) fn bad_line(
        &mut self,
        fault: ParseError,
        part: &StoredTrace,
        number: u64,
        line: &[u8],
    ) -> Result<()> {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        // What fills up the last block of a tar archive is no line.
        if line.iter().all(|&byte| byte == 0) {
            self.skipped.other_lines += 1;
            return Ok(());
        }
        if self.is_tolerated(fault) {
            return Ok(());
        }
        Err(Error::Line {
            name: part.name().to_owned(),
            line: number,
            what: fault.sentence(),
            text: quote(line),
            remedy: fault.remedy,
        })
    }

    /// The same for a record of a binary trace.
    #[cold]
    pub(crate) fn bad_record(
        &mut self,
        fault: ParseError,
        part: &StoredTrace,
        number: u64,
    ) -> Result<()> {
        if self.is_tolerated(fault) {
            return Ok(());
        }
        let name = part.name().to_owned();
        Err(Error::Record { name, record: number, what: fault.what, remedy: fault.remedy })
    }

    fn is_tolerated(&mut self, fault: ParseError) -> bool {
        let tolerated = self.skip_bad && !fault.fatal;
        if tolerated {
            self.skipped.add("malformed");
        }
        tolerated
    }
}

/// The clock of a trace: ticks since the first record, never going back; or, for sorting later,
/// ticks as they stand. Where a part's times count from its own beginning, its first record comes
/// right behind the latest one before.
#[derive(Default)]
struct Clock {
    first: Option<u64>,
    latest: u64,
    raw: bool,
    /// A part with its own beginning has begun, and none of its records has come.
    rewound: bool,
    /// The first tick of such a part, and the tick that it becomes.
    part_first: u64,
    part_becomes: u64,
}

impl Clock {
    #[inline]
    fn advance(&mut self, ticks: u64, skipped: &mut Skipped) -> u64 {
        if self.rewound {
            self.rewound = false;
            (self.part_first, self.part_becomes) = (ticks, self.latest);
        }
        let ticks = ticks.saturating_sub(self.part_first).saturating_add(self.part_becomes);
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
