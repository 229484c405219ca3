//! How much flash does a drive need? The least over-provisioning for a write amplification, and how
//! long the flash lasts.
//!
//! ```text
//! runs at several numbers of extra blocks ──▶ curve: extra, write amplification ──▶ least extra
//! figures of a data sheet ──▶ write amplification ──▶ effective spare, by the mean-field limit
//! write amplification, P/E cycles ──▶ TBW, DWPD
//! ```
//!
//! * [`over_provisioning`] both definitions of over-provisioning
//! * [`search`]            the least extra blocks that meet a target
//! * [`mod@falling`]       the falling curve that fits measured values best
//! * [`reach`]             whether a trace reaches collection at all
//! * [`probe`]             a run with a number of extra blocks
//! * [`answer`]            the answer for an FTL, as JSON
//! * [`bound`]             what placement could achieve on a trace
//! * [`mean_field`]        the closed form of greedy on uniform writes, and its inverse
//! * [`data_sheet`]        write amplification by the figures of a data sheet
//! * [`endurance`]         TBW, DWPD and P/E cycles

pub mod answer;
pub mod bound;
pub mod data_sheet;
pub mod endurance;
pub mod falling;
pub mod mean_field;
pub mod over_provisioning;
pub mod probe;
pub mod reach;
pub mod search;
