//! Where a response time went.

use core::ops::{Add, AddAssign};

/// Parts of a response time, in nanoseconds. Their sum is the response time.
///
/// They follow the operation that ended last, and the operations for which it had to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Waiting for dies and channels that served other requests.
    pub queue_ns: u64,
    /// In the flash array.
    pub array_ns: u64,
    /// On channels and on the link to the host.
    pub transfer_ns: u64,
    /// Garbage collection and merges: of the request itself, or waiting for a die at such work.
    pub collection_ns: u64,
    /// Waiting for room in the buffer.
    pub buffer_ns: u64,
    /// Firmware, dispatcher, and memory above the flash.
    pub firmware_ns: u64,
}

impl Shares {
    /// No time.
    pub(crate) const NONE: Shares = Shares {
        queue_ns: 0,
        array_ns: 0,
        transfer_ns: 0,
        collection_ns: 0,
        buffer_ns: 0,
        firmware_ns: 0,
    };

    /// The names of the parts, in the order of [`Shares::parts`].
    pub const NAMES: [&'static str; 6] =
        ["queue", "array", "transfer", "collection", "buffer", "firmware"];

    /// The parts in nanoseconds.
    pub fn parts(&self) -> [u64; 6] {
        let Shares { queue_ns, array_ns, transfer_ns, collection_ns, buffer_ns, firmware_ns } =
            *self;
        [queue_ns, array_ns, transfer_ns, collection_ns, buffer_ns, firmware_ns]
    }

    /// The sum of the parts.
    pub fn total_ns(&self) -> u64 {
        self.parts().iter().sum()
    }
}

impl Add for Shares {
    type Output = Shares;

    fn add(self, other: Shares) -> Shares {
        Shares {
            queue_ns: self.queue_ns + other.queue_ns,
            array_ns: self.array_ns + other.array_ns,
            transfer_ns: self.transfer_ns + other.transfer_ns,
            collection_ns: self.collection_ns + other.collection_ns,
            buffer_ns: self.buffer_ns + other.buffer_ns,
            firmware_ns: self.firmware_ns + other.firmware_ns,
        }
    }
}

impl AddAssign for Shares {
    fn add_assign(&mut self, other: Shares) {
        *self = *self + other;
    }
}
