//! Latencies of a chip. The chip itself never uses them: clocks compute times from them.
//!
//! ```text
//! read     ── array ──┤── transfer ──▶        latency = array + transfer
//! program  ── transfer ──┤── array ──▶
//! erase    ── array ──▶
//! ```
//! A serial clock needs latencies only. A clock with channels needs the two parts of each, because
//! the array occupies a die and the transfer occupies a channel.

use crate::op::{Cause, Op, Tally};

/// Latencies in nanoseconds. The default is zero throughout, for runs that do not look at time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Reading a page, including its transfer.
    pub read_ns: u64,
    /// Reading a spare area alone, including its transfer.
    pub spare_read_ns: u64,
    /// Programming a page, including its transfer.
    pub program_ns: u64,
    /// Erasing a block.
    pub erase_ns: u64,
    /// The part of `read_ns` and `program_ns` in which the page crosses the channel with its spare
    /// area. Zero where only the sum is known.
    pub transfer_ns: u64,
    /// The part of `spare_read_ns` in which the spare area crosses the channel.
    pub spare_transfer_ns: u64,
}

impl Timing {
    /// No latency at all.
    pub const ZERO: Timing = Timing {
        read_ns: 0,
        spare_read_ns: 0,
        program_ns: 0,
        erase_ns: 0,
        transfer_ns: 0,
        spare_transfer_ns: 0,
    };

    /// The latency of one operation: its array time and its transfer.
    #[inline]
    pub fn of(&self, op: Op) -> u64 {
        match op {
            Op::Read => self.read_ns,
            Op::SpareRead => self.spare_read_ns,
            Op::Program => self.program_ns,
            Op::Erase => self.erase_ns,
        }
    }

    /// The time in which an operation occupies the channel.
    pub fn transfer_ns(&self, op: Op) -> u64 {
        match op {
            Op::Read | Op::Program => self.transfer_ns,
            Op::SpareRead => self.spare_transfer_ns,
            Op::Erase => 0,
        }
    }

    /// The time in which an operation occupies the flash array.
    pub fn array_ns(&self, op: Op) -> u64 {
        let (latency, transfer) = (self.of(op), self.transfer_ns(op));
        assert!(transfer <= latency, "{op:?}: {transfer} ns of transfer in {latency} ns");
        latency - transfer
    }

    /// The serial time of all operations in the tally: Σ count × latency.
    #[inline]
    pub fn serial_ns(&self, tally: &Tally) -> u64 {
        Op::ALL.iter().map(|&op| tally.total(op) * self.of(op)).sum()
    }

    /// The part of the serial time that falls to one cause.
    #[inline]
    pub fn serial_ns_under(&self, cause: Cause, tally: &Tally) -> u64 {
        Op::ALL.iter().map(|&op| tally.count(op, cause) * self.of(op)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_is_array_time_and_transfer() {
        let timing = Timing {
            read_ns: 88,
            spare_read_ns: 28,
            program_ns: 263,
            erase_ns: 2000,
            transfer_ns: 63,
            spare_transfer_ns: 2,
        };
        assert_eq!(Op::ALL.map(|op| timing.transfer_ns(op)), [63, 2, 63, 0]);
        assert_eq!(Op::ALL.map(|op| timing.array_ns(op)), [25, 26, 200, 2000]);
        for op in Op::ALL {
            assert_eq!(timing.of(op), timing.array_ns(op) + timing.transfer_ns(op));
        }
    }
}
