//! Results and traces as texts: tables, the pages of comparisons, JSON of traces.
//!
//! * [`advise`]      the advice on a load
//! * [`bound`]       what placement could achieve
//! * [`result`]      one result
//! * [`comparison`]  several results side by side
//! * [`description`] a trace
//! * [`film`]        FTLs at work, to watch
//! * [`groups`]      the quantities by which results are compared
//! * [`lecture`]     the text that explains a scheme
//! * [`life`]        lives of devices
//! * [`size`]        the answers of a sizing
//! * [`sweep`]       the rows and claims of a sweep
//! * [`table`]       rows of cells
//! * [`volumes`]     the volumes of a trace

pub mod advise;
pub mod bound;
pub mod comparison;
pub mod description;
pub mod film;
pub mod groups;
pub mod lecture;
pub mod life;
pub mod result;
pub mod size;
pub mod sweep;
pub mod table;
pub mod volumes;

pub use crate::output::json;
