//! The serial clock: one operation after the other, as all five papers count.
//!
//! ```text
//! service(request)   = Σ count × latency over the operations that it causes
//! increment(request) = the part of its service time that is not under cause host
//! ```
//! Without layers, cause host covers exactly the pages of the request. A write buffer, however,
//! hands down pages of earlier requests.
//!
//! The clock measures *laps*: the time from one request to the next. Most requests cause nothing
//! but reads and programs of cause host, so a lap looks at these first.
//!
//! The [`service_queue`](super::service_queue) adds the time that requests wait.

use nand::{Cause, Op, Tally, Timing};

/// Turns the tally of a chip into time.
#[derive(Clone, Debug)]
pub struct SerialClock {
    timing: Timing,
    /// The tally at the end of the last lap.
    last: Reading,
    /// The tally at the end of the last lap with other operations.
    mixed: Reading,
    /// The time until then.
    mixed_ns: Lap,
}

/// What the clock reads from a tally.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    /// Operations of all kinds.
    operations: u64,
    /// Reads under cause host.
    reads: u64,
    /// Programs under cause host.
    programs: u64,
}

impl Reading {
    #[inline]
    fn of(tally: &Tally) -> Reading {
        let host = |op| tally.count(op, Cause::Host);
        let (reads, programs) = (host(Op::Read), host(Op::Program));
        Reading { operations: tally.operations(), reads, programs }
    }
}

/// The time between two readings of the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lap {
    /// The time of all operations.
    pub time_ns: u64,
    /// The part of it that is not under cause host.
    pub increment_ns: u64,
}

impl SerialClock {
    /// A clock for a chip with these latencies, whose tally is at zero.
    pub fn new(timing: Timing) -> SerialClock {
        let zero = Reading::default();
        SerialClock { timing, last: zero, mixed: zero, mixed_ns: Lap::default() }
    }

    /// The tally was set to zero.
    pub fn reset(&mut self) {
        *self = SerialClock::new(self.timing);
    }

    /// The time of all operations since the last reset.
    #[inline]
    pub fn now_ns(&self, tally: &Tally) -> u64 {
        self.timing.serial_ns(tally)
    }

    /// Whether nothing has happened since the last lap.
    pub fn is_current(&self, tally: &Tally) -> bool {
        self.last == Reading::of(tally)
    }

    /// The time since the last lap. A new lap begins.
    #[inline(always)]
    pub fn lap(&mut self, tally: &Tally) -> Lap {
        let now = Reading::of(tally);
        let last = core::mem::replace(&mut self.last, now);
        let (reads, programs) = (now.reads - last.reads, now.programs - last.programs);
        match now.operations - last.operations == reads + programs {
            true => Lap { time_ns: self.host_ns(reads, programs), increment_ns: 0 },
            false => self.mixed_lap(tally, last),
        }
    }

    /// The time of reads and programs of cause host.
    #[inline]
    fn host_ns(&self, reads: u64, programs: u64) -> u64 {
        reads * self.timing.read_ns + programs * self.timing.program_ns
    }

    /// A lap with operations of other kinds or causes, which began at `last`.
    #[inline(never)]
    fn mixed_lap(&mut self, tally: &Tally, last: Reading) -> Lap {
        let time_ns = self.timing.serial_ns(tally);
        let increment_ns = time_ns - self.timing.serial_ns_under(Cause::Host, tally);
        let plain_ns =
            self.host_ns(last.reads - self.mixed.reads, last.programs - self.mixed.programs);
        let before = core::mem::replace(&mut self.mixed_ns, Lap { time_ns, increment_ns });
        self.mixed = self.last;
        Lap {
            time_ns: time_ns - before.time_ns - plain_ns,
            increment_ns: increment_ns - before.increment_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{
        BlockId, Content, Copies, Geometry, Lpn, Mode, Nand, Page, Ppn, ProgramOrder, Sink,
    };

    const TIMING: Timing = Timing {
        read_ns: 10,
        spare_read_ns: 3,
        program_ns: 200,
        erase_ns: 1500,
        transfer_ns: 0,
        spare_transfer_ns: 0,
    };

    /// Laps of plain requests and of others must add up to the time that the tally gives.
    #[test]
    fn laps_add_up() {
        let geometry = Geometry::new(512, 64, 4, 4, ProgramOrder::Sequential).unwrap();
        let (mut nand, mut clock) = (Nand::new(geometry, Mode::Count), SerialClock::new(TIMING));
        let page = |lpn| Page { owner: Lpn(lpn), kind: 1, extra: &[], content: Content::Pad };
        let lap = |clock: &mut SerialClock, nand: &Nand| {
            let Lap { time_ns, increment_ns } = clock.lap(nand.tally());
            assert!(clock.is_current(nand.tally()));
            (time_ns, increment_ns)
        };
        nand.program(Ppn(0), &page(7), Cause::Host).unwrap();
        assert_eq!(lap(&mut clock, &nand), (200, 0));
        assert_eq!(lap(&mut clock, &nand), (0, 0), "nothing happened");
        nand.program(Ppn(1), &page(8), Cause::Host).unwrap();
        nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc).unwrap();
        nand.erase(BlockId(0), Cause::Gc).unwrap();
        assert_eq!(lap(&mut clock, &nand), (200 + 210 + 1500, 210 + 1500));
        nand.read(Ppn(4), Lpn(7), 1, &mut Sink::None, Cause::Host).unwrap();
        nand.read(Ppn(4), Lpn(7), 1, &mut Sink::None, Cause::Host).unwrap();
        assert_eq!(lap(&mut clock, &nand), (20, 0));
        assert_eq!(clock.now_ns(nand.tally()), 200 + 200 + 210 + 1500 + 20);
        nand.reset_tally();
        clock.reset();
        nand.program(Ppn(5), &page(9), Cause::Merge).unwrap();
        assert_eq!(lap(&mut clock, &nand), (200, 200));
    }
}
