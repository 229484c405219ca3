//! Optional abilities of FTLs. [`Ftl`](super::ftl::Ftl) has an accessor for each of these traits;
//! it returns `None` if the FTL does not have the ability.

use nand::{BlockId, Lpn, Nand};

use super::error::Result;
use super::report::{Entered, LayerReport};
use super::shares::{ShareCosts, Shares};

/// The part of a map that can grow and shrink at run time: cached entries (dftl), the map of the
/// log (fast). [`MapBudget`](super::scheme::MapBudget) says how.
pub trait ResizableMap {
    /// Sets the RAM budget of this part in bytes. Returns the number of bytes that the part takes
    /// from now on: whole entries, and never less than the scheme needs. Shrinking may cost flash
    /// operations at once.
    ///
    /// # Errors
    /// The power fails.
    fn resize(&mut self, nand: &mut Nand, bytes: u64) -> Result<u64>;

    /// Starts to record events for [`take_events`](Self::take_events).
    fn watch(&mut self);

    /// Appends the events since the last call, in order.
    fn take_events(&mut self, events: &mut Vec<MapEvent>);

    /// The cost of a miss, measured since the last call. The map must be watched.
    fn miss_costs(&mut self) -> MissCosts;

    /// Starts to forecast what requests would cost if this part had each of these numbers of bytes.
    fn start_forecast(&mut self, sizes: &Shares<u64>);

    /// Adds what the write of a page would cost this part of the map at each share from `first` on.
    /// At smaller shares of the map the buffer would have absorbed the write. The forecast must
    /// have been started.
    fn forecast_write(&mut self, lpn: Lpn, first: usize, costs: &mut ShareCosts);

    /// The same for the trim of a page. At smaller shares the page still waits in the buffer.
    fn forecast_trim(&mut self, lpn: Lpn, first: usize, costs: &mut ShareCosts);

    /// The same for the read of a page.
    fn forecast_read(&mut self, lpn: Lpn, first: usize, costs: &mut ShareCosts);

    /// What a read and a write cost that miss a buffer above the scheme, without what they cost
    /// this part of the map.
    fn page_costs(&self) -> PageCosts;
}

/// An event of a [`ResizableMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// The host read a page, and the part held no entry for it.
    ReadMissed(Lpn),
    /// The host wrote a page, and the part held no entry for it.
    WriteMissed(Lpn),
    /// A page left the part for lack of room.
    Left(Lpn),
}

/// The additional cost of a page for which there was no room, in nanoseconds (adaptive
/// partitioning, Table IV).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissCosts {
    /// A read that misses the resizable part of the map.
    pub map_read_ns: f64,
    /// A write that misses the resizable part of the map.
    pub map_write_ns: f64,
    /// A read that misses a buffer above the scheme.
    pub buffer_read_ns: f64,
    /// A write that misses a buffer above the scheme.
    pub buffer_write_ns: f64,
}

/// The cost of a page that a buffer above the scheme does not serve, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PageCosts {
    /// A read.
    pub read_ns: f64,
    /// A write, with its part of the reclaim of a block.
    pub write_ns: f64,
}

/// Exchanges erased blocks with a layer above, so that the wear of the layer's blocks is levelled
/// with that of all others.
pub trait BlockLender {
    /// Hands out the erased block that is next in turn; none if no block is free. Directly
    /// afterwards the layer must return one of its own with [`give_back`](Self::give_back).
    ///
    /// # Errors
    /// The power fails.
    fn lend(&mut self, nand: &mut Nand) -> Result<Option<BlockId>>;

    /// Takes a block that the layer has just erased, in return for the one lent. It becomes the
    /// last of the free blocks.
    fn give_back(&mut self, block: BlockId);
}

/// Reports of the layers above a scheme. The topmost layer answers for all layers below it too.
pub trait Layered {
    /// Metrics of each layer, the topmost first.
    fn reports(&self) -> Vec<LayerReport>;

    /// Pages that entered the scheme since the last reset.
    fn entered(&self) -> Entered;

    /// Bytes that layers take from the DRAM of a buffer above them (the map of a sector log).
    fn borrowed_bytes(&self) -> u64;

    /// Pages put into or taken out of the DRAM of layers since the last reset.
    fn dram_accesses(&self) -> u64;
}
