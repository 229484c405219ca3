//! A store whose blocks can exchange their numbers, so that one block takes the place of another.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::address::{BlockId, Ppn};
use crate::error::Result;
use crate::page_store::{
    Area, Extent, Fault, PageRecord, PageStore, Shape, SyncBy, SyncJob, load_spare,
};

/// The store, and the block that stands behind each number.
///
/// Numbers are volatile: a power cycle gives every block its own number back.
pub(crate) struct NumberedStore {
    store: Box<dyn PageStore>,
    shape: Shape,
    /// By number; empty before the first exchange.
    behind: Vec<BlockId>,
}

impl NumberedStore {
    /// All blocks have their own numbers.
    pub(crate) fn new(store: Box<dyn PageStore>) -> NumberedStore {
        NumberedStore { shape: store.shape(), store, behind: Vec::new() }
    }

    pub(crate) fn try_clone(&self) -> Result<NumberedStore> {
        Ok(self.with_store(self.store.try_clone()?))
    }

    /// The same pages; changes are kept in memory.
    pub(crate) fn view(&self) -> Result<NumberedStore> {
        Ok(self.with_store(self.store.view()?))
    }

    fn with_store(&self, store: Box<dyn PageStore>) -> NumberedStore {
        NumberedStore { store, shape: self.shape, behind: self.behind.clone() }
    }

    /// The store, in which every block has its own number.
    pub(crate) fn storage(&self) -> &dyn PageStore {
        &*self.store
    }

    /// Gives the store back. Every block has its own number there.
    pub(crate) fn into_store(self) -> Box<dyn PageStore> {
        self.store
    }

    #[inline]
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    // ---- Numbers ---------------------------------------------------------------------------

    /// The block behind a number.
    #[inline]
    pub(crate) fn behind(&self, number: BlockId) -> BlockId {
        self.behind.get(number.0 as usize).copied().unwrap_or(number)
    }

    /// Two blocks exchange their numbers.
    pub(crate) fn exchange(&mut self, one: BlockId, other: BlockId) {
        if self.behind.is_empty() {
            self.behind = (0..self.shape.geometry.blocks()).map(BlockId).collect();
        }
        self.behind.swap(one.0 as usize, other.0 as usize);
    }

    /// A block that does not have its own number, if there is one, and that number.
    pub(crate) fn moved(&self) -> Option<(BlockId, BlockId)> {
        let numbers = (0..).map(BlockId);
        numbers.zip(self.behind.iter().copied()).find(|(number, block)| number != block)
    }

    /// The page of the chip behind a page that the FTL names.
    #[inline]
    pub(crate) fn page(&self, ppn: Ppn) -> Ppn {
        if self.behind.is_empty() { ppn } else { self.page_behind(ppn) }
    }

    fn page_behind(&self, ppn: Ppn) -> Ppn {
        let geometry = &self.shape.geometry;
        let block = self.behind(geometry.block_of(ppn));
        geometry.page(block, geometry.offset_of(ppn))
    }

    // ---- Calls of the store ----------------------------------------------------------------

    pub(crate) fn load(
        &self,
        ppn: Ppn,
        page: &mut PageRecord,
        extent: Extent,
    ) -> Result<Option<&[u8]>> {
        self.store.load(self.page(ppn), page, extent)
    }

    pub(crate) fn spare(&self, ppn: Ppn) -> Result<PageRecord> {
        load_spare(&*self.store, self.page(ppn))
    }

    pub(crate) fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> Result<()> {
        self.store.save(self.page(ppn), page, area)
    }

    pub(crate) fn copy_data(&mut self, from: Ppn, to: Ppn, pages: u32) {
        let (from, to) = (self.page(from), self.page(to));
        self.store.copy_data(from, to, pages);
    }

    pub(crate) fn erase(&mut self, block: BlockId) -> Result<()> {
        self.store.erase(self.behind(block))
    }

    pub(crate) fn sync(&mut self, by: SyncBy) -> Result<Option<SyncJob>> {
        self.store.sync(by)
    }

    pub(crate) fn end_sync(&mut self, done: Result<()>) -> Result<()> {
        self.store.end_sync(done)
    }

    pub(crate) fn inject(&mut self, fault: Fault) -> Result<()> {
        self.store.inject(match fault {
            Fault::Health(ppn, health) => Fault::Health(self.page(ppn), health),
            Fault::Header(ppn, header) => Fault::Header(self.page(ppn), header),
            Fault::HalfErased(block) => Fault::HalfErased(self.behind(block)),
            Fault::Decay => Fault::Decay,
        })
    }
}
