//! Results as texts for people: tables, and the pages of comparisons.
//!
//! * [`result`]     one result
//! * [`comparison`] several results side by side
//! * [`groups`]     the quantities by which results are compared
//! * [`table`]      rows of cells

pub mod comparison;
pub mod groups;
pub mod result;
pub mod table;

pub use crate::output::json;
