//! Counters that the laws compare with the fields of a result.

use crate::result::counts::HostPages;
use crate::result::record::Columns;

/// What the laws need besides the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Requests that the reader delivered or skipped.
    pub requests_read: u64,
    /// Pages that could be programmed when the measured pass began.
    pub free_pages_before: u64,
    /// The same at its end.
    pub free_pages_after: u64,
    /// Pages skipped, or unfilled when their block was erased, in the measured pass.
    pub lost_pages: u64,
    /// Σ of the blocks' wear.
    pub wear_sum: u64,
    /// Erases counted since birth.
    pub erases_since_birth: u64,
    /// Pages that the host asked for; where no layer stands above the scheme they all entered it.
    pub asked: HostPages,
    /// Accesses to the layers' DRAM × their time.
    pub dram_ns: u64,
    /// Σ of all service times.
    pub service_sum_ns: u128,
    /// Σ of what they are above the host's own pages.
    pub increment_sum_ns: u128,
}

/// Not in the JSON.
impl Columns for Evidence {
    fn columns(_: &str, _: &mut Vec<String>) {}
}
