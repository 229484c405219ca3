//! Latencies of a chip. The chip itself never looks at them: clocks multiply.

use crate::op::{Cause, Op, Tally};

/// Nanoseconds an operation takes, transfer over the bus included; by default none, for whoever
/// does not look at time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Reading a page.
    pub read_ns: u64,
    /// Reading a spare area alone.
    pub spare_read_ns: u64,
    /// Programming a page.
    pub program_ns: u64,
    /// Erasing a block.
    pub erase_ns: u64,
}

impl Timing {
    /// Nanoseconds of one operation.
    #[inline]
    pub fn of(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_ns,
            Op::SpareRead => self.spare_read_ns,
            Op::Program => self.program_ns,
            Op::Erase => self.erase_ns,
        }
    }

    /// Serial time of all that is in the tally, in nanoseconds: Σ count × latency.
    #[inline]
    pub fn serial_ns(&self, tally: &Tally) -> u64 {
        Op::ALL.iter().map(|&op| tally.total(op) * self.of(op)).sum()
    }

    /// The part of it that one cause has.
    #[inline]
    pub fn serial_ns_under(&self, cause: Cause, tally: &Tally) -> u64 {
        Op::ALL.iter().map(|&op| tally.count(op, cause) * self.of(op)).sum()
    }
}
