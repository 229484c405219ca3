//! Checks FTLs for correctness, also when the power fails during any program or erase, and when the
//! machine below an image file crashes.
//!
//! ```text
//! subject × device model × workload × seed = Case ─┬► conformance: compared after every operation
//!                                                  ├► cut: the power fails at every program and
//!                                                  │    erase, with every outcome, and again in
//!                                                  │    recovery
//!                                                  └► crash: the machine crashes at every write
//!                                                       of an image, with many losses, and again
//! ```
//! The contract, which must hold for every sector after any cut or crash and mount:
//!
//! 1. A sector reads a value that it had at the last flush or later. It never reads an older
//!    value, a mixture, or the value of another sector.
//! 2. A write that was answered before an answered flush survives.
//! 3. A trimmed sector reads zero if a flush followed the trim. If none did, it reads zero or a
//!    value allowed by rule 1, and keeps it in later mounts until it is written or trimmed again.
//! 4. No two logical pages share a physical page (the scheme audits itself).
//! 5. Another mount changes nothing, and every mount takes a bounded number of operations.
//!
//! ```
//! use check::case::Case;
//! use check::device_model::DeviceModel;
//! use check::subject::Subject;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (subject, model) = (Subject::from_spec("fast")?, DeviceModel::named("tiny")?);
//! let case = Case::new(&subject, model, "hot", 7, ftl::Durability::Full)?;
//! match check::conformance::check(&case) {
//!     Ok(reached) => assert!(reached.compared > 0),
//!     Err(failed) => panic!("{failed}"), // It ends with the line that replays it.
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * [`device_model`]   tiny devices by name
//! * [`subject`]        a scheme with parameters and layers
//! * [`workload`]       lists of host operations: named workloads and short programs
//! * [`case`](mod@case) all that determines a check, apart from cuts and crashes
//! * [`oracle`]         the values that each sector may have
//! * [`finding`]        the defects, and a description of one
//! * [`flash`]          chips on images, and sectors that describe themselves
//! * [`device`]         a device between power-on and power-off, its power cuts and crashes
//! * [`conformance`]    checks without cuts, and what they have reached
//! * [`cut`]            checks with power cuts, replays, and the smallest workload that fails
//! * [`crash`]          checks with crashes of the machine below an image: the same
//! * [`failed_case`]    a finding with the command line that replays it
//! * [`observer`]       watches a campaign and can stop it
//! * [`campaign`]       many cases on all cores
//! * [`rng`]            random numbers from a seed
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod campaign;
pub mod case;
pub mod conformance;
pub mod crash;
pub mod cut;
pub mod device;
pub mod device_model;
pub mod failed_case;
pub mod finding;
pub mod flash;
pub mod observer;
pub mod oracle;
mod panics;
pub mod rng;
pub mod subject;
pub mod workload;
