//! A live disk: one owner of FTL and chip, which performs the requests of all connections.
//!
//! ```text
//! request ─▶ refusals ─▶ injuries ─▶ disk ─▶ grouped sync ─▶ gate ─▶ answer
//! ```
//! * [`client`]        who asked
//! * [`bytes`]         ranges of bytes, sectors and pages
//! * [`recorder`]      records of what was done
//! * [`watch`]         films of what happens now
//! * [`store`]         the disk and who takes down what is done to it
//! * [`streams`]       a stream for each connection
//! * [`block_status`]  the state of bytes
//! * [`failures`]      what an error of the disk means to a client
//! * [`refusals`]      requests that make no sense
//! * [`injuries`]      failures on demand
//! * [`long_work`]     trims and zeroes of long ranges, piece by piece
//! * [`grouped_sync`]  flushes that share a sync of the file
//! * [`pacing`]        answers at the time of a drive
//! * [`gate`]          answers that leave later
//! * [`live`]          the disk itself
//!
//! Nothing here knows a socket or a thread.

pub mod block_status;
pub mod bytes;
pub mod client;
pub mod failures;
pub mod gate;
pub mod grouped_sync;
pub mod injuries;
pub mod live;
pub mod long_work;
pub mod pacing;
pub mod recorder;
pub mod refusals;
pub mod store;
pub mod streams;
pub mod watch;
