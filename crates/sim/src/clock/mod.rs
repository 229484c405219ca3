//! From operation counts to time. A clock sees the counts of the chip, never a scheme.

pub mod serial;
pub mod service_queue;

/// The limit of serial times. This sentence stands beside every latency until there is a clock with
/// channels and queues.
pub const SERIAL_CAVEAT: &str = "Serial time ranks FTLs; it does not predict the latency of an SSD \
                                 with channels and queues.";
