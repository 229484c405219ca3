//! Counters that the laws compare with the fields of a result, and that its notes follow from.

use drive::Usage;

use crate::result::counts::HostPages;
use crate::result::record::{Column, Columns};

/// Counters that are not in the JSON of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Requests that were read from the trace, delivered or skipped.
    pub requests_read: u64,
    /// Pages that could be programmed when the measured pass began.
    pub free_pages_before: u64,
    /// Pages that could be programmed when it ended.
    pub free_pages_after: u64,
    /// Free blocks of the FTL when the measured pass began.
    pub free_blocks_before: u32,
    /// Free blocks of the FTL when it ended.
    pub free_blocks_after: u32,
    /// Pages of the measured pass that were skipped, or not programmed before their block was
    /// erased.
    pub lost_pages: u64,
    /// The sum of the wear of all blocks.
    pub wear_sum: u64,
    /// Erases counted since the device was new.
    pub erases_since_birth: u64,
    /// Pages that the host requested.
    pub asked: HostPages,
    /// The name of each layer, the topmost first, and the pages that it handed down.
    pub handed_down: Vec<(&'static str, HostPages)>,
    /// The time of all accesses to the DRAM of layers.
    pub dram_ns: u64,
    /// What the drive did, if time is the drive's.
    pub drive: Option<Usage>,
    /// The sum of all service times.
    pub service_sum_ns: u128,
    /// The sum of all increments.
    pub increment_sum_ns: u128,
}

/// Not in the JSON.
impl Columns for Evidence {
    fn columns(_: &str, _: &mut Vec<Column>) {}
}
