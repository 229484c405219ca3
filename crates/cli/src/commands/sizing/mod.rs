//! Which drive does a load need?
//!
//! * [`size`]   the least over-provisioning, TBW and DWPD, data sheets
//! * [`bound`]  what placement could achieve

pub mod bound;
pub mod size;
