//! Films: what an FTL did with its flash, operation by operation, to watch.
//!
//! ```text
//! requests, operations ─▶ Recorder ─▶ takes: a picture of the flash, then every operation
//!                                       │ thinned: some takes are kept, evenly and by interest
//!                                       ▼
//!                                     Film ─▶ bytes: a header in JSON, columns, compressed
//! ```
//! * [`mod@column`]    columns of numbers as bytes
//! * [`picture`]   the flash at a moment: owners, states and causes of pages, roles of blocks
//! * [`moment`]    what is known of an FTL between two requests
//! * [`scene`]     merges, collections and other named acts among the operations of a request
//! * [`take`]      consecutive requests with all their operations
//! * [`cutting`]   the choice of the takes that are kept
//! * [`footage`]   the takes of a pass; they become a film that is small enough
//! * [`header`]    the part of a film that is JSON
//! * [`encoding`]  a film as bytes; docs/film.md defines the format
//! * [`recorder`]  watches a device, request by request
//!
//! Every figure of a film is a counter of the run at that moment; nothing is estimated.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod column;
pub mod cutting;
pub mod encoding;
pub mod footage;
pub mod header;
pub mod moment;
pub mod picture;
pub mod recorder;
pub mod scene;
pub mod take;

pub use encoding::Film;
pub use footage::{BYTES_MAX, Footage, films};
pub use header::About;
pub use moment::{HostOp, Moment, Request};
pub use recorder::{Plan, Recorder};
