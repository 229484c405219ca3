//! Counters that the laws compare with the fields of a result, and that its notes follow from.

use drive::Usage;

use crate::clock::open_rates::OpenRates;
use crate::result::counts::HostPages;
use crate::result::record::{Column, Columns};

/// A larger change from the first to the last fifth is worth a word, as a share of the first.
const CHANGE: f64 = 0.03;
/// A change within this number of standard errors is no change.
const ERRORS: f64 = 3.0;

/// Write amplification in the first and in the last fifth of the pages written in a pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fifths {
    /// In the first fifth.
    pub first: f64,
    /// In the last fifth.
    pub last: f64,
    /// The standard error of their difference.
    pub error: f64,
}

impl Fifths {
    /// Whether write amplification still moves: the result then depends on the length of the pass.
    pub fn still_moves(&self) -> bool {
        let change = (self.last - self.first).abs();
        change > CHANGE * self.first && change > ERRORS * self.error
    }
}

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
    /// How fast open loads issued requests, and how fast these were answered.
    pub open_rates: OpenRates,
    /// Write amplification at the beginning and at the end, if the pass is long enough to tell.
    pub fifths: Option<Fifths>,
    /// The notes about the trace alone.
    pub trace_notes: Vec<String>,
    /// The sum of all service times.
    pub service_sum_ns: u128,
    /// The sum of all increments.
    pub increment_sum_ns: u128,
}

/// Not in the JSON.
impl Columns for Evidence {
    fn columns(_: &str, _: &mut Vec<Column>) {}
}
