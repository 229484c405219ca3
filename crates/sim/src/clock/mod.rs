//! From counts to time. A clock sees the chip's tally, never a scheme.

pub mod serial;

/// What serial times cannot tell: the sentence that stands beside every latency until there is a
/// clock that knows channels and queues.
pub const SERIAL_CAVEAT: &str = "Serial time ranks FTLs; it does not predict the latency of an SSD \
                                 with channels and queues.";
