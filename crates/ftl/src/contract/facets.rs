//! What only some FTLs can do. [`Ftl`](super::ftl::Ftl) has an accessor for each of these traits,
//! which returns `None` where the FTL cannot do it.

use nand::{BlockId, Lpn, Nand};

use super::error::Result;
use super::report::{Entered, LayerReport};

/// The part of a map that can grow and shrink at run time: cached entries (dftl), the map of the
/// log (fast). [`MapBudget`](super::scheme::MapBudget) says how.
pub trait ResizableMap {
    /// Sets the RAM, in bytes, that this part may take; returns the bytes that it takes from now
    /// on, in whole entries and never less than the scheme needs. Shrinking may cost flash
    /// operations at once.
    ///
    /// # Errors
    /// The power fails.
    fn resize(&mut self, nand: &mut Nand, bytes: u64) -> Result<u64>;

    /// Starts to record events for [`take_events`](Self::take_events).
    fn watch(&mut self);

    /// Appends the events since the last call, in order.
    fn take_events(&mut self, events: &mut Vec<MapEvent>);

    /// What a miss costs, as seen since the last call. The map must be watched.
    fn miss_costs(&mut self) -> MissCosts;
}

/// An event of a [`ResizableMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// A page was to be read, and the part held nothing of it.
    ReadMissed(Lpn),
    /// A page was written, and the part held nothing of it.
    WriteMissed(Lpn),
    /// Want of room drove a page out of the part.
    Left(Lpn),
}

/// What one page costs more because there was no room for it, in nanoseconds (adaptive
/// partitioning, Table IV).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissCosts {
    /// A read that misses the map's part.
    pub map_read_ns: f64,
    /// A write that misses it.
    pub map_write_ns: f64,
    /// A read that misses a buffer above the scheme.
    pub buffer_read_ns: f64,
    /// A write that misses it.
    pub buffer_write_ns: f64,
}

/// Exchanges erased blocks with a layer above, so that the wear of the layer's blocks is levelled
/// with that of all others.
pub trait BlockLender {
    /// Hands out the erased block that is next in turn. The layer returns one of its own by
    /// [`give_back`](Self::give_back) before anything else happens. None if no block is free.
    ///
    /// # Errors
    /// The power fails.
    fn lend(&mut self, nand: &mut Nand) -> Result<Option<BlockId>>;

    /// Takes a block that the layer has just erased, in return for the one lent. It becomes the
    /// last of the free blocks.
    fn give_back(&mut self, block: BlockId);
}

/// What layers above a scheme report. The topmost layer answers for all layers below it too.
pub trait Layered {
    /// Metrics of each layer, the topmost first.
    fn reports(&self) -> Vec<LayerReport>;

    /// Pages that entered the scheme since the last reset.
    fn entered(&self) -> Entered;

    /// Bytes that layers take out of the DRAM of a buffer above them (the map of a sector log).
    fn borrowed_bytes(&self) -> u64;

    /// Pages put into or taken out of the DRAM of layers since the last reset.
    fn dram_accesses(&self) -> u64;
}
