//! Optional abilities of FTLs, all behind one door: [`Ftl::facet`](super::ftl::Ftl::facet). A new
//! ability is a variant here, and concerns only those who have it and those who use it.

use nand::{BlockId, Cause, Lpn, Nand};

use super::error::Result;
use super::report::Entered;

/// The abilities for which a caller can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FacetKind {
    /// The part of the map that can grow and shrink at run time.
    Map,
    /// The exchange of erased blocks with a layer above.
    Lender,
    /// Work after a number of requests.
    Tuner,
    /// Totals of the layers.
    Layers,
}

/// An ability of an FTL. The kind of the answer is that of the question.
pub enum Facet<'a> {
    /// The part of the map that can grow and shrink at run time.
    Map(&'a mut dyn ResizableMap),
    /// The exchange of erased blocks with a layer above.
    Lender(&'a mut dyn BlockLender),
    /// Work after a number of requests.
    Tuner(&'a mut dyn Tuner),
    /// Totals of this layer and those below.
    Layers(LayerTotals),
}

/// Totals of the layers above a scheme, cheap enough to be asked for after each request. All else
/// is in the [report](super::ftl::Ftl::report).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerTotals {
    /// Pages that entered the scheme since the last reset.
    pub entered: Entered,
    /// Pages put into or taken out of DRAM since the last reset.
    pub dram_accesses: u64,
    /// Bytes that layers take from the DRAM of a buffer above them (the map of a sector log).
    pub borrowed_bytes: u64,
}

/// A layer that adapts after a number of requests.
pub trait Tuner {
    /// Takes notice of the end of a request.
    ///
    /// # Errors
    /// Power lost.
    fn end_request(&mut self, nand: &mut Nand) -> Result<()>;
}

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

    /// Fills the room that the part has after it grew, as far as that is cheap, and gives up what
    /// only a smaller one needs. Otherwise misses fill the room one by one.
    ///
    /// # Errors
    /// The power fails.
    fn fill(&mut self, _: &mut Nand) -> Result<()> {
        Ok(())
    }

    /// Starts to record events for [`take_events`](Self::take_events).
    fn watch(&mut self);

    /// Appends the events since the last call, in order.
    fn take_events(&mut self, events: &mut Vec<MapEvent>);

    /// The cost of a miss, measured since the last call. The map must be watched.
    fn miss_costs(&mut self) -> MissCosts;
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

    /// Erases a block of the layer, in which no page counts any more. A power cut must not bring
    /// its pages back.
    ///
    /// # Errors
    /// The power fails.
    fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()>;

    /// Number of erased blocks that are not open.
    fn free_blocks(&self) -> u32;
}
