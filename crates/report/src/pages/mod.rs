//! The pages of reports.
//!
//! * [`advice`] which drive a load needs
//! * [`bound`]  what placement could achieve
//! * [`film`]   an FTL at work, to watch
//! * [`life`]   a load until the flash is worn out
//! * [`sizing`] write amplification against over-provisioning
//! * [`sweep`]  the claims, drawings and rows of a plan
//! * [`sweep_rows`] its rows as a table, on the page and for a paper
//! * [`papers`] all claims and experiments of papers

pub mod advice;
pub mod bound;
pub mod film;
pub mod life;
pub mod papers;
pub mod sizing;
pub mod sweep;
pub mod sweep_rows;
