//! Names in figures, none over another.
//!
//! * [`curve_ends`] names at the ends of curves
//! * [`places`]     names beside points

pub(crate) mod curve_ends;
pub(crate) mod places;
