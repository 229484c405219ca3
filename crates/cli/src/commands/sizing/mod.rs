//! Which drive does a load need?
//!
//! * [`advise`] all questions at once, from a log
//! * [`size`]   the least over-provisioning, TBW and DWPD, data sheets
//! * [`bound`]  what placement could achieve

pub mod advise;
pub mod bound;
pub mod size;
