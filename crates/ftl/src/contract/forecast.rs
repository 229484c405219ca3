//! Forecasts of a resizable map: what requests would cost with other sizes of it. The partitioner's
//! rule `balanced` needs them, which goes beyond the papers of the schemes.

use nand::Lpn;

use super::audit::Violation;
use super::shares::{ShareCosts, Shares};

/// A resizable map whose costs at other sizes can be forecast.
pub trait ForecastableMap {
    /// A forecast for a map that has each of these numbers of bytes. No request was seen yet.
    fn forecast(&self, sizes: &Shares<u64>) -> Box<dyn MapForecast>;

    /// What a use of a page costs now.
    fn page_costs(&self, lpn: Lpn) -> PageCosts;
}

/// Adds up what uses of pages would cost the resizable part of a map at each share. At shares below
/// `first` the buffer would absorb the use, so it does not reach the map.
pub trait MapForecast: Send {
    /// Adds the cost of a write.
    fn write(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts);

    /// Adds the cost of a trim. At shares below `first` the page still waits in the buffer.
    fn trim(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts);

    /// Adds the cost of a read.
    fn read(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts);

    /// Bytes of RAM.
    fn bytes(&self) -> u64;

    /// Checks the data structures.
    ///
    /// # Errors
    /// The first contradiction.
    fn audit(&self) -> Result<(), Violation>;
}

/// The costs of a page that a buffer above the scheme does not serve, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageCosts {
    /// Whether the page is mapped.
    pub is_mapped: bool,
    /// A read, without its map entry.
    pub read_ns: f64,
    /// A write with its part of the reclaim of a block, without its map entry.
    pub write_ns: f64,
    /// A read of the map.
    pub map_read_ns: f64,
    /// A write of the map with its part of the reclaim of a block.
    pub map_write_ns: f64,
}

impl PageCosts {
    /// An unmapped page without costs.
    pub const ZERO: PageCosts = PageCosts {
        is_mapped: false,
        read_ns: 0.0,
        write_ns: 0.0,
        map_read_ns: 0.0,
        map_write_ns: 0.0,
    };
}
