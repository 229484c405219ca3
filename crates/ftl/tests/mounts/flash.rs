//! A store in memory that does not count as memory of a mount.

use nand::page_store::{BlockRecord, Health, PageRecord, PageStore, SpareRecord};
use nand::spare::HEADER_BYTES;
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
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }

    fn mode(&self) -> Mode {
        self.0.mode()
    }

    fn load_spare(&self, ppn: Ppn) -> Result<SpareRecord<'_>> {
        self.0.load_spare(ppn)
    }

    fn load(&self, ppn: Ppn, page: &mut PageRecord) -> Result<()> {
        self.0.load(ppn, page)
    }

    fn save(&mut self, ppn: Ppn, page: &PageRecord) -> Result<()> {
        uncounted(|| self.0.save(ppn, page))
    }

    fn erase(&mut self, block: BlockId) -> Result<()> {
        uncounted(|| self.0.erase(block))
    }

    fn block(&self, block: BlockId) -> Result<BlockRecord> {
        self.0.block(block)
    }

    fn sync(&mut self) -> Result<()> {
        self.0.sync()
    }

    fn set_health(&mut self, ppn: Ppn, health: Health) -> Result<()> {
        self.0.set_health(ppn, health)
    }

    fn set_header(&mut self, ppn: Ppn, header: [u8; HEADER_BYTES]) -> Result<()> {
        self.0.set_header(ppn, header)
    }

    fn set_half_erased(&mut self, block: BlockId) -> Result<()> {
        self.0.set_half_erased(block)
    }

    fn decay(&mut self) -> Result<()> {
        self.0.decay()
    }

    fn try_clone(&self) -> Result<Box<dyn PageStore>> {
        self.0.try_clone()
    }
}
