//! A store in memory that does not count as memory of a mount.

use nand::page_store::{
    Area, BlockRecord, Extent, Fault, PageRecord, PageStore, Shape, SyncBy, SyncJob,
};
use nand::{BlockId, Geometry, MemoryStore, Mode, Ppn, Result};

use crate::heap::uncounted;

/// The flash of a chip.
pub struct Flash(MemoryStore);

impl Flash {
    /// Factory-new flash that keeps stamps.
    pub fn new(geometry: Geometry) -> Flash {
        Flash(MemoryStore::new(Mode::Stamps, geometry))
    }
}

impl PageStore for Flash {
    fn shape(&self) -> Shape {
        Shape { takes_runs: false, ..self.0.shape() }
    }

    fn load(&self, ppn: Ppn, page: &mut PageRecord, extent: Extent) -> Result<Option<&[u8]>> {
        self.0.load(ppn, page, extent)
    }

    fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> Result<()> {
        uncounted(|| self.0.save(ppn, page, area))
    }

    fn erase(&mut self, block: BlockId) -> Result<()> {
        uncounted(|| self.0.erase(block))
    }

    fn block(&self, block: BlockId) -> Result<BlockRecord> {
        self.0.block(block)
    }

    fn sync(&mut self, by: SyncBy) -> Result<Option<SyncJob>> {
        self.0.sync(by)
    }

    fn inject(&mut self, fault: Fault) -> Result<()> {
        self.0.inject(fault)
    }

    fn try_clone(&self) -> Result<Box<dyn PageStore>> {
        self.0.try_clone()
    }
}
