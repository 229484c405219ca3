//! Is it right, also when the power fails at any operation?
//!
//! ```text
//! shape × workload × seed × scheme = Case ──► properties: no cut, everything compared all the time
//!                                        └──► power_loss: cut at every program and erase,
//!                                                        × every outcome, × again while recovering
//! ```
//! The contract that is checked, for every sector after any cut and mount:
//!
//! 1. it reads as one value it really had, at or after the last flush that covers it: never older,
//!    never mixed, never another sector's;
//! 2. writes answered before an answered flush are there;
//! 3. a trimmed sector reads zero if a flush followed; if none did, zero or a value that rule 1
//!    allows, and the same one at every later mount until it is written or trimmed again;
//! 4. the map is injective (the scheme's own audit);
//! 5. mounting again changes nothing and takes a bounded number of operations.
//!
//! * [`shape`]      tiny chips by name
//! * [`step`]       one operation of the host
//! * [`workload`]   programs of them by name, or by their steps
//! * [`ace`]        all short programs there are
//! * [`case`](mod@case) a scheme, a shape, a workload, a seed; and the line that replays it
//! * [`oracle`]     what a sector may read
//! * [`violation`]  what can be wrong, by name
//! * [`life`]       a device between power-on and power-off
//! * [`properties`] conformance without cuts
//! * [`power_loss`] cuts everywhere, and the replay of one
//! * [`campaign`]   many cases on all cores, and what they found
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod ace;
pub mod campaign;
pub mod case;
pub mod dice;
pub mod life;
pub mod oracle;
mod panics;
pub mod power_loss;
pub mod properties;
pub mod shape;
pub mod step;
pub mod violation;
pub mod workload;
