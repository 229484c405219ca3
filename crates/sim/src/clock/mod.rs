//! From operation counts to time. A clock sees the counts of the chip, never a scheme.

pub mod drive_queue;
pub mod drive_times;
pub mod issue_times;
pub mod open_rates;
pub mod request_queue;
pub mod serial;
pub mod service_queue;

/// Nanoseconds as microseconds, the unit of results.
pub fn us(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// The limit of serial times. This sentence stands beside every serial latency.
pub const SERIAL_CAVEAT: &str = "Serial time ranks FTLs; it does not predict the latency of an SSD \
                                 with channels and queues.";

/// The limit of a drive's times. This sentence stands beside every latency in a drive.
pub const DRIVE_CAVEAT: &str = "Times in a drive follow its profile; the documentation of drives \
                                says what the model leaves out.";
