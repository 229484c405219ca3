//! How long operations take.

use nand::{Geometry, Op, Timing};

use crate::profile::{ArrayTimes, Profile};

/// The times of all kinds of operations, in nanoseconds.
#[derive(Debug)]
pub(crate) struct Durations {
    /// In the array: one time, or one for each number of a page in its block.
    array: [Vec<u64>; Op::ALL.len()],
    /// On the channel, with the command.
    channel: [u64; Op::ALL.len()],
    /// On the channel, the command alone.
    pub command_ns: u64,
}

impl Durations {
    /// The times of a drive made of chips with this timing, whose FTL uses this geometry.
    pub fn new(profile: &Profile, geometry: &Geometry, chip: &Timing) -> Durations {
        let array = |op| match profile.times(op) {
            ArrayTimes::OfChip => vec![profile.array_ns(op, 0, chip)],
            ArrayTimes::ByType(_) => (0..geometry.pages_per_block())
                .map(|index| profile.array_ns(op, index, chip))
                .collect(),
        };
        let channel = |op| {
            let bytes = match op {
                Op::Read | Op::Program => geometry.page_bytes(),
                Op::SpareRead => geometry.spare_bytes(),
                Op::Erase => 0,
            };
            profile.command_ns + duration_ns(bytes.into(), profile.transfer)
        };
        Durations {
            array: Op::ALL.map(array),
            channel: Op::ALL.map(channel),
            command_ns: profile.command_ns,
        }
    }

    /// The time in the array of an operation on the page with this number in its physical block.
    #[inline]
    pub fn array_ns(&self, op: Op, index: u32) -> u64 {
        match self.array[op as usize][..] {
            [time_ns] => time_ns,
            ref times => times[index as usize],
        }
    }

    /// The time of an operation on its channel.
    #[inline]
    pub fn channel_ns(&self, op: Op) -> u64 {
        self.channel[op as usize]
    }
}

/// The time that bytes take at a rate; none takes no time.
pub(crate) fn duration_ns(bytes: u64, rate: Option<u64>) -> u64 {
    rate.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000).div_ceil(rate.into()) as u64)
}
