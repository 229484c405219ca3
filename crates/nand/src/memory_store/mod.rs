//! A store in memory. It never fails, and copies of it share the blocks that neither has changed.

mod data_areas;
mod headers;

use alloc::sync::Arc;

use self::data_areas::{DataAreas, set_sparse, sparse};
use self::headers::Headers;
use crate::address::{BlockId, Ppn};
use crate::error::Result;
use crate::geometry::Geometry;
use crate::page_store::{
    Area, BlockRecord, Extent, Fault, Health, PageRecord, PageStore, Shape, SyncBy, SyncJob,
};
use crate::payload::Mode;
use crate::spare::Header;

/// Pages in memory.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    mode: Mode,
    geometry: Geometry,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default)]
struct Block {
    record: BlockRecord,
    /// Allocated by the first program in the block. Shared, because snapshots copy the whole store
    /// after every operation.
    pages: Option<Arc<Pages>>,
}

#[derive(Clone, Debug)]
struct Pages {
    headers: Headers,
    /// Scheme bytes of the spare areas, up to the last page that has any.
    extras: Vec<Box<[u8]>>,
    /// Metadata in the data areas, up to the last page that has any.
    metas: Vec<Box<[u8]>>,
    areas: DataAreas,
}

impl MemoryStore {
    /// A store of erased pages.
    ///
    /// # Panics
    /// In count mode, in which a chip has no store.
    pub fn new(mode: Mode, geometry: Geometry) -> MemoryStore {
        assert!(mode != Mode::Count, "a chip in count mode has no store");
        MemoryStore { mode, geometry, blocks: vec![Block::default(); geometry.blocks() as usize] }
    }

    /// A store with the pages and blocks of another one.
    ///
    /// # Errors
    /// The other storage failed.
    pub fn copy_of(store: &dyn PageStore) -> Result<MemoryStore> {
        let Shape { geometry, mode, .. } = store.shape();
        let mut copy = MemoryStore::new(mode, geometry);
        let mut page = PageRecord::new(mode);
        for block in (0..geometry.blocks()).map(BlockId) {
            copy.blocks[block.0 as usize].record = store.block(block)?;
            for ppn in geometry.span(block).map(|ppn| Ppn(ppn as u32)) {
                store.load(ppn, &mut page, Extent::Whole)?;
                if page.health != Health::Erased {
                    copy.save(ppn, &page, Area::Recorded)?;
                }
            }
        }
        Ok(copy)
    }

    /// Memory of a store with every page programmed as a whole, without the variable parts of spare
    /// areas.
    pub(crate) fn memory_bytes(geometry: &Geometry, mode: Mode) -> u64 {
        let data_bytes = match mode {
            Mode::Bytes => u64::from(geometry.page_bytes()),
            _ => size_of::<u32>() as u64,
        };
        let page_bytes = Headers::PAGE_BYTES as u64 + data_bytes;
        let block_bytes = (size_of::<Block>() + size_of::<Pages>()) as u64;
        u64::from(geometry.pages()) * page_bytes + u64::from(geometry.blocks()) * block_bytes
    }

    fn at(&self, ppn: Ppn) -> Option<(&Pages, usize)> {
        let block = self.geometry.block_of(ppn);
        let pages = self.blocks[block.0 as usize].pages.as_deref()?;
        Some((pages, self.geometry.offset_of(ppn) as usize))
    }

    fn at_mut(&mut self, ppn: Ppn) -> (&mut Pages, usize) {
        let (mode, geometry) = (self.mode, &self.geometry);
        let block = &mut self.blocks[geometry.block_of(ppn).0 as usize];
        (block.pages_mut(mode, geometry), geometry.offset_of(ppn) as usize)
    }

    fn decay(&mut self) {
        let pages = self.blocks.iter_mut().filter_map(|block| block.pages.as_mut());
        for pages in pages.filter(|pages| pages.headers.contains(Health::Unstable)) {
            Arc::make_mut(pages).headers.replace_health(Health::Unstable, Health::Torn);
        }
    }

    /// Copies data areas within a block, page by page: no scheme does this often.
    fn copy_within(&mut self, from: Ppn, to: Ppn, pages: u32) {
        let at = self.geometry.offset_of(from);
        let (block, offset) = self.at_mut(to);
        for page in 0..pages {
            let meta = sparse(&block.metas, (at + page) as usize).to_vec();
            set_sparse(&mut block.metas, offset + page as usize, &meta);
            block.areas.copy_within(at + page, offset as u32 + page);
        }
    }
}

impl Block {
    fn pages_mut(&mut self, mode: Mode, geometry: &Geometry) -> &mut Pages {
        let pages = self.pages.get_or_insert_with(|| Arc::new(Pages::new(mode, geometry)));
        Arc::make_mut(pages)
    }
}

impl PageStore for MemoryStore {
    fn shape(&self) -> Shape {
        Shape { geometry: self.geometry, mode: self.mode, takes_runs: true }
    }

    fn load(&self, ppn: Ppn, page: &mut PageRecord, extent: Extent) -> Result<Option<&[u8]>> {
        let Some((pages, offset)) = self.at(ppn) else {
            page.health = Health::Erased;
            return Ok(None);
        };
        page.health = pages.headers.health(offset);
        page.header = pages.headers.header(offset);
        replace(&mut page.extra, sparse(&pages.extras, offset));
        if extent == Extent::Spare {
            return Ok(None);
        }
        replace(&mut page.meta, sparse(&pages.metas, offset));
        let lent = pages.areas.bytes(offset as u32).filter(|_| extent == Extent::Lent);
        if lent.is_none() {
            let owner = pages.headers.owner(offset);
            let sectors_per_page = self.geometry.sectors_per_page();
            pages.areas.load(offset as u32, owner, sectors_per_page, &mut page.cells);
        }
        Ok(lent)
    }

    fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> Result<()> {
        let sectors_per_page = self.geometry.sectors_per_page();
        let (pages, offset) = self.at_mut(ppn);
        pages.headers.set(offset, page.health, page.header);
        set_sparse(&mut pages.extras, offset, &page.extra);
        match area {
            Area::Apart => return Ok(()),
            Area::Recorded => {
                let owner = pages.headers.owner(offset);
                pages.areas.save(offset as u32, owner, sectors_per_page, &page.cells);
            }
            Area::Lent(bytes) => pages.areas.save_bytes(offset as u32, bytes),
        }
        set_sparse(&mut pages.metas, offset, &page.meta);
        Ok(())
    }

    fn copy_data(&mut self, from: Ppn, to: Ppn, pages: u32) {
        let blocks = [from, to].map(|ppn| self.geometry.block_of(ppn).0 as usize);
        let [at, offset] = [from, to].map(|ppn| self.geometry.offset_of(ppn));
        let Ok([source, target]) = self.blocks.get_disjoint_mut(blocks) else {
            return self.copy_within(from, to, pages);
        };
        let source = source.pages.as_deref().expect("the source was loaded, so it has pages");
        let target = target.pages_mut(self.mode, &self.geometry);
        target.copy_metas(source, at as usize, offset as usize, pages as usize);
        target.areas.copy_run(offset, pages, &source.areas, at);
    }

    fn erase(&mut self, block: BlockId) -> Result<()> {
        let block = &mut self.blocks[block.0 as usize];
        block.record = BlockRecord { erases: block.record.erases + 1, half_erased: false };
        if let Some(pages) = &mut block.pages {
            match Arc::get_mut(pages) {
                Some(pages) => pages.erase(),
                None => block.pages = None,
            }
        }
        Ok(())
    }

    fn block(&self, block: BlockId) -> Result<BlockRecord> {
        Ok(self.blocks[block.0 as usize].record)
    }

    fn sync(&mut self, _by: SyncBy) -> Result<Option<SyncJob>> {
        Ok(None)
    }

    fn inject(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Health(ppn, health) => {
                let (pages, offset) = self.at_mut(ppn);
                pages.headers.set_health(offset, health);
            }
            Fault::Header(ppn, header) => {
                let (pages, offset) = self.at_mut(ppn);
                let health = match pages.headers.health(offset) {
                    Health::Erased => Health::Good,
                    health => health,
                };
                let header = Header::of_bytes(header, ppn, sparse(&pages.extras, offset));
                pages.headers.set(offset, health, header);
            }
            Fault::HalfErased(block) => self.blocks[block.0 as usize].record.half_erased = true,
            Fault::Decay => self.decay(),
        }
        Ok(())
    }

    fn has_unstable(&self) -> Result<bool> {
        let mut pages = self.blocks.iter().filter_map(|block| block.pages.as_ref());
        Ok(pages.any(|pages| pages.headers.contains(Health::Unstable)))
    }

    fn try_clone(&self) -> Result<Box<dyn PageStore>> {
        Ok(Box::new(self.clone()))
    }
}

impl Pages {
    fn new(mode: Mode, geometry: &Geometry) -> Pages {
        let pages = geometry.pages_per_block();
        Pages {
            headers: Headers::new(pages),
            extras: Vec::new(),
            metas: Vec::new(),
            areas: DataAreas::new(mode, pages, geometry.page_bytes()),
        }
    }

    fn copy_metas(&mut self, other: &Pages, at: usize, offset: usize, pages: usize) {
        if self.metas.is_empty() && other.metas.is_empty() {
            return;
        }
        for page in 0..pages {
            set_sparse(&mut self.metas, offset + page, sparse(&other.metas, at + page));
        }
    }

    fn erase(&mut self) {
        self.headers.erase();
        self.extras.clear();
        self.metas.clear();
        self.areas.erase();
    }
}

fn replace(bytes: &mut Vec<u8>, by: &[u8]) {
    bytes.clear();
    bytes.extend_from_slice(by);
}
