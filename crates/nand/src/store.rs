//! What the chip really holds in the modes that can be mounted: header, state and contents of
//! each page. Blocks come into being with their first program.

use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::geometry::Geometry;
use crate::payload::{Cells, Content, Mode, Sink};
use crate::spare::{HEADER_BYTES, PageState, Spare};

/// The truth about a page, of which a reader sees only part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Erased,
    Good,
    /// Torn so that nothing can be read.
    Torn,
    /// Torn, but all bits still read as ones.
    LooksErased,
    /// Reads well until it [decays](Store::decay).
    Unstable,
}

#[derive(Clone, Debug)]
struct StoredBlock {
    health: Vec<Health>,
    headers: Vec<[u8; HEADER_BYTES]>,
    /// Scheme bytes of the spare areas, where there are any.
    extras: Vec<Box<[u8]>>,
    /// Contents of metadata pages, where there are any.
    metas: Vec<Box<[u8]>>,
    cells: Cells,
}

impl StoredBlock {
    fn new(mode: Mode, geometry: &Geometry) -> StoredBlock {
        let pages = geometry.pages_per_block();
        StoredBlock {
            health: vec![Health::Erased; pages as usize],
            headers: vec![[0xFF; HEADER_BYTES]; pages as usize],
            extras: Vec::new(),
            metas: Vec::new(),
            cells: Cells::new(mode, pages, geometry.sectors_per_page()),
        }
    }

    fn erase(&mut self) {
        self.health.fill(Health::Erased);
        self.headers.fill([0xFF; HEADER_BYTES]);
        self.extras.clear();
        self.metas.clear();
    }

    fn state(&self, offset: usize) -> PageState {
        match self.health[offset] {
            Health::Erased | Health::LooksErased => PageState::Erased,
            Health::Torn => PageState::Unreadable,
            Health::Good | Health::Unstable => {
                match Spare::decode(&self.headers[offset], sparse(&self.extras, offset)) {
                    Some(spare) => PageState::Programmed(spare),
                    None => PageState::Unreadable,
                }
            }
        }
    }
}

/// A list of byte strings that stays empty while nobody has any.
fn sparse(list: &[Box<[u8]>], at: usize) -> &[u8] {
    list.get(at).map_or(&[], |bytes| bytes)
}

fn set_sparse(list: &mut Vec<Box<[u8]>>, at: usize, bytes: &[u8]) {
    if list.len() <= at && !bytes.is_empty() {
        list.resize(at + 1, Box::default());
    }
    if let Some(slot) = list.get_mut(at) {
        *slot = bytes.into();
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Store {
    mode: Mode,
    blocks: Vec<Option<Box<StoredBlock>>>,
}

impl Store {
    pub(crate) fn new(mode: Mode, geometry: &Geometry) -> Store {
        Store { mode, blocks: vec![None; geometry.blocks() as usize] }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub(crate) fn program(
        &mut self,
        geometry: &Geometry,
        ppn: Ppn,
        spare: Spare,
        extra: &[u8],
        content: Content,
    ) {
        let sectors = geometry.sectors_per_page();
        let base = match content {
            Content::Host { base: Some(base), mask, .. } if mask != geometry.full_mask() => {
                self.page_cells(geometry, base)
            }
            _ => None,
        };
        let (block, offset) = self.open(geometry, ppn);
        block.header(geometry, offset, spare, extra);
        set_sparse(&mut block.metas, offset, b"");
        match content {
            Content::Host { data, mask, .. } => {
                block.cells.put(offset as u32, sectors, base.as_ref());
                block.cells.overlay(offset as u32, sectors, spare.owner, mask, data);
            }
            Content::Sectors { data, mask, meta } => {
                block.cells.put(offset as u32, sectors, None);
                block.cells.overlay(offset as u32, sectors, spare.owner, mask, data);
                set_sparse(&mut block.metas, offset, meta);
            }
            Content::Meta(bytes) => set_sparse(&mut block.metas, offset, bytes),
            Content::Pad => block.cells.put(offset as u32, sectors, None),
        }
    }

    /// Copies contents, spare bytes and version; owner and version come back in the result.
    pub(crate) fn copy(
        &mut self,
        geometry: &Geometry,
        from: Ppn,
        to: Ppn,
        sequence: u64,
        kind: Option<u8>,
    ) {
        let PageState::Programmed(old) = self.state(geometry, from) else {
            panic!("copied page {from:?}, which holds nothing readable");
        };
        let sectors = geometry.sectors_per_page();
        let cells = self.page_cells(geometry, from);
        let extra = self.extra(geometry, from).to_vec();
        let meta = self.meta(geometry, from).to_vec();
        let (block, offset) = self.open(geometry, to);
        let spare = Spare { sequence, kind: kind.unwrap_or(old.kind), ..old };
        block.header(geometry, offset, spare, &extra);
        set_sparse(&mut block.metas, offset, &meta);
        block.cells.put(offset as u32, sectors, cells.as_ref());
    }

    /// Gives a page that was just programmed other scheme bytes.
    pub(crate) fn describe(&mut self, geometry: &Geometry, ppn: Ppn, extra: &[u8]) {
        let PageState::Programmed(spare) = self.state(geometry, ppn) else {
            panic!("described page {ppn:?}, which holds nothing readable");
        };
        let (block, offset) = self.open(geometry, ppn);
        block.header(geometry, offset, spare, extra);
    }

    pub(crate) fn erase(&mut self, block: BlockId) {
        if let Some(stored) = &mut self.blocks[block.0 as usize] {
            stored.erase();
        }
    }

    pub(crate) fn state(&self, geometry: &Geometry, ppn: Ppn) -> PageState {
        match self.at(geometry, ppn) {
            Some((block, offset)) => block.state(offset),
            None => PageState::Erased,
        }
    }

    pub(crate) fn read(
        &self,
        geometry: &Geometry,
        ppn: Ppn,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
    ) {
        if let Some((block, offset)) = self.at(geometry, ppn) {
            let sectors = geometry.sectors_per_page();
            block.cells.read(offset as u32, sectors, lpn, mask, sink);
        }
    }

    pub(crate) fn extra(&self, geometry: &Geometry, ppn: Ppn) -> &[u8] {
        self.at(geometry, ppn).map_or(&[], |(block, offset)| sparse(&block.extras, offset))
    }

    pub(crate) fn meta(&self, geometry: &Geometry, ppn: Ppn) -> &[u8] {
        self.at(geometry, ppn).map_or(&[], |(block, offset)| sparse(&block.metas, offset))
    }

    pub(crate) fn set_health(&mut self, geometry: &Geometry, ppn: Ppn, health: Health) {
        let (block, offset) = self.open(geometry, ppn);
        block.health[offset] = health;
    }

    /// What a cut left unstable becomes unreadable.
    pub(crate) fn decay(&mut self) {
        let pages = self.blocks.iter_mut().flatten().flat_map(|block| &mut block.health);
        for health in pages.filter(|health| **health == Health::Unstable) {
            *health = Health::Torn;
        }
    }

    fn at(&self, geometry: &Geometry, ppn: Ppn) -> Option<(&StoredBlock, usize)> {
        let block = self.blocks[geometry.block_of(ppn).0 as usize].as_deref()?;
        Some((block, geometry.offset_of(ppn) as usize))
    }

    fn open(&mut self, geometry: &Geometry, ppn: Ppn) -> (&mut StoredBlock, usize) {
        let mode = self.mode;
        let slot = &mut self.blocks[geometry.block_of(ppn).0 as usize];
        let block = slot.get_or_insert_with(|| Box::new(StoredBlock::new(mode, geometry)));
        (block, geometry.offset_of(ppn) as usize)
    }

    fn page_cells(&self, geometry: &Geometry, ppn: Ppn) -> Option<Cells> {
        let (block, offset) = self.at(geometry, ppn)?;
        Some(block.cells.page(offset as u32, geometry.sectors_per_page()))
    }
}

impl StoredBlock {
    fn header(&mut self, geometry: &Geometry, offset: usize, spare: Spare, extra: &[u8]) {
        let room = geometry.spare_bytes() as usize - HEADER_BYTES;
        assert!(extra.len() <= room, "{} scheme bytes in {room}", extra.len());
        self.headers[offset] = spare.encode(extra);
        self.health[offset] = Health::Good;
        set_sparse(&mut self.extras, offset, extra);
    }
}
