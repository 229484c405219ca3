//! Time as a drive spends it: channels, dies, a buffer, and the queues before them.
//!
//! ```text
//! request ─▶ dispatcher ─▶ link ─▶ firmware ─┬─▶ buffer ─▶ answer
//!                                            └─▶ die ⇄ channel ─▶ … ─▶ link ─▶ answer
//! ```
//! An FTL serves requests one after the other and knows no time. The [`engine`] takes each request
//! with the flash operations that the FTL made of it, and finds out when they happen. It is an
//! event queue: a transfer takes its channel when its data is ready, not when it was issued. A
//! timeline that books operations in the order of their issue leaves channels idle and is up to
//! 27 % slower than a real drive.
//!
//! * [`profile`]    a drive and its figures
//! * [`presets`]    drives by name, each figure with its source
//! * [`places`]     from a PPN to its die, plane and page type
//! * [`operation`]  requests and flash operations as they come in
//! * [`recorder`]   collects them from a chip
//! * [`recorded`]   the same for a log or a film, too
//! * [`engine`]     when everything happens
//! * [`journal`]    what happened when
//! * [`usage`]      what the parts did, and the laws that it obeys
//! * [`shares`]     where a response time went
//! * [`fit`]        figures of a drive from measurements

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod engine;
pub mod fit;
pub mod journal;
pub mod operation;
pub mod places;
pub mod presets;
pub mod profile;
pub mod recorded;
pub mod recorder;
pub mod shares;
pub mod usage;

pub use engine::Drive;
pub use journal::Entry;
pub use operation::{Answer, HostRequest, Issued};
pub use presets::PRESETS;
pub use profile::Profile;
pub use recorder::Recorder;
pub use shares::Shares;
pub use usage::Usage;
