//! The flash at a moment, as a film shows it.
//!
//! Blocks are shared between pictures until they change, so a picture costs a pointer for each
//! block and what has changed since the one before.

use std::sync::Arc;

use nand::{BlockId, Cause, FlashArray, Geometry, Lpn, Ppn};

use crate::moment::Moment;

/// The number of a place that does not exist.
pub const NOWHERE: u32 = u32::MAX;

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCell {
    /// Its owner, as an LPN.
    pub owner: u32,
    /// The number of its program among all that the film saw; 0 for earlier ones.
    pub born: u32,
    /// Its state.
    pub state: PageState,
    /// The cause of its program; host for those before the film.
    pub cause: Cause,
    /// The stream of the write; 0 for none, and for pages programmed before the film.
    pub stream: u8,
}

/// The state of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Programmed, and superseded or trimmed since.
    Stale = 0,
    /// Holds the newest version of its owner, or metadata of the FTL, or something of a guest.
    Valid = 1,
    /// An interrupted program left it: it cannot be read, or not for long.
    Torn = 2,
}

impl PageCell {
    /// An erased page.
    pub const ERASED: PageCell = PageCell {
        owner: Lpn::NONE.0,
        born: 0,
        state: PageState::Stale,
        cause: Cause::Host,
        stream: 0,
    };

    /// Whether the page is erased.
    pub fn is_erased(&self) -> bool {
        self.owner == Lpn::NONE.0
    }

    /// The page of the host, or of the map, whose data it holds.
    fn lpn(&self) -> Option<u32> {
        Lpn(self.owner).is_host().then_some(self.owner)
    }
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCell {
    /// Its pages.
    pub pages: Vec<PageCell>,
    /// How many of them are programmed.
    pub programmed: u32,
    /// Its erases.
    pub wear: u32,
    /// Its role.
    pub role: Role,
}

impl BlockCell {
    /// Whether no page is programmed.
    pub fn is_erased(&self) -> bool {
        self.programmed == 0
    }
}

/// The role of a block: the number of its name in [`Picture::role_names`], and what it serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The number of the name.
    pub name: u8,
    /// The number of the logical block, superblock or region that it serves.
    pub of: Option<u32>,
}

/// The blocks of a picture.
pub type Blocks = Vec<Arc<BlockCell>>;

/// A picture that follows the operations.
pub struct Picture {
    /// The blocks.
    pub blocks: Blocks,
    /// The names of roles. The first is that of blocks which no scheme names.
    pub role_names: Vec<&'static str>,
    geometry: Geometry,
    /// For each owner its newest place.
    newest: Vec<u32>,
    /// Programs so far.
    programs: u32,
}

/// A page whose newest place was not that of its last program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// The page.
    pub owner: u32,
    /// Its place; none if it is not mapped.
    pub place: Option<u32>,
}

impl Picture {
    /// The flash now. Blocks without a role of their own have the plain one.
    pub fn of(now: &Moment, plain_role: &'static str) -> Picture {
        let geometry = *now.nand.geometry();
        let blocks = (0..geometry.blocks()).map(BlockId);
        let mut picture = Picture {
            blocks: blocks.map(|block| Arc::new(block_cell(now, block))).collect(),
            role_names: vec![plain_role],
            geometry,
            newest: Vec::new(),
            programs: 0,
        };
        picture.find_newest();
        picture.take_roles(now);
        picture
    }

    /// A page.
    pub fn page(&self, ppn: u32) -> &PageCell {
        let (block, offset) = self.split(ppn);
        &self.blocks[block].pages[offset]
    }

    /// Programs so far.
    pub fn programs(&self) -> u32 {
        self.programs
    }

    /// The block of a page.
    pub fn block_of(&self, ppn: u32) -> u32 {
        self.split(ppn).0 as u32
    }

    /// The newest place of a page.
    pub fn newest(&self, owner: u32) -> Option<u32> {
        self.newest.get(owner as usize).copied().filter(|&ppn| ppn != NOWHERE)
    }

    // ---- Operations ---------------------------------------------------------------------------

    /// A page was programmed.
    pub fn program(&mut self, ppn: u32, owner: u32, cause: Cause, stream: u8) {
        self.programs += 1;
        let cell = PageCell { owner, born: self.programs, state: PageState::Valid, cause, stream };
        let (block, offset) = self.split(ppn);
        let block = Arc::make_mut(&mut self.blocks[block]);
        block.programmed += u32::from(block.pages[offset].is_erased());
        block.pages[offset] = cell;
        if let Some(owner) = cell.lpn() {
            self.supersede(owner);
            self.point(owner, ppn);
        }
    }

    /// A page was copied.
    pub fn copy(&mut self, from: u32, to: u32, owner: u32, cause: Cause) {
        let stream = self.page(from).stream;
        self.program(to, owner, cause, stream);
    }

    /// A block was erased.
    pub fn erase(&mut self, block: u32) {
        let first = block * self.geometry.pages_per_block();
        for (ppn, cell) in (first..).zip(self.blocks[block as usize].pages.clone()) {
            if cell.lpn().is_some_and(|owner| self.newest(owner) == Some(ppn)) {
                self.point(cell.owner, NOWHERE);
            }
        }
        let erased = Arc::make_mut(&mut self.blocks[block as usize]);
        erased.pages.fill(PageCell::ERASED);
        erased.programmed = 0;
        erased.wear += 1;
        erased.role = Role::default();
    }

    /// Corrects the place of a page if the FTL says another one.
    pub fn correct(&mut self, owner: u32, now: &Moment) -> Option<Correction> {
        let place = now.place(owner)?.map(|Ppn(ppn)| ppn);
        // In a page of several owners (a sector log) the older versions of the others still count.
        let is_elsewhere = place.is_some_and(|ppn| self.page(ppn).owner != owner);
        if is_elsewhere || place == self.newest(owner) {
            return None;
        }
        self.supersede(owner);
        if let Some(ppn) = place {
            self.cell(ppn).state = PageState::Valid;
        }
        self.point(owner, place.unwrap_or(NOWHERE));
        Some(Correction { owner, place })
    }

    /// Takes the roles of all blocks from the FTL. Returns those that changed.
    pub fn take_roles(&mut self, now: &Moment) -> Vec<(u32, Role)> {
        let mut named = Vec::new();
        let Some(ftl) = now.ftl else { return Vec::new() };
        ftl.roles(now.nand, &mut named);
        let mut roles = vec![Role::default(); self.blocks.len()];
        for role in named {
            let name = self.name_of(role.name);
            roles[role.block.0 as usize] = Role { name, of: role.of };
        }
        let mut changed = Vec::new();
        for (block, role) in (0..).zip(roles) {
            let cell = &mut self.blocks[block as usize];
            let role = if cell.is_erased() { Role::default() } else { role };
            if cell.role != role {
                Arc::make_mut(cell).role = role;
                changed.push((block, role));
            }
        }
        changed
    }

    /// Takes over what a power cut left on flash. A page that cannot be read, or not for long, is
    /// torn. Which of the others count is known after the next mount; until then, those count that
    /// did before.
    ///
    /// # Errors
    /// The storage failed.
    pub fn take_flash(&mut self, flash: &FlashArray) -> nand::Result<()> {
        let weak = flash.decayed()?;
        for block in 0..self.blocks.len() as u32 {
            let mut cell = BlockCell::clone(&self.blocks[block as usize]);
            let first = block * self.geometry.pages_per_block();
            for (ppn, page) in (first..).zip(&mut cell.pages) {
                let is_torn = weak.state(Ppn(ppn))? == nand::PageState::Unreadable;
                let owner = flash.owners_of_run(Ppn(ppn), 1)[0];
                let state = match is_torn {
                    true => PageState::Torn,
                    false if owner == page.owner => page.state,
                    false => PageState::Stale,
                };
                *page = PageCell { owner, state, ..*page };
            }
            cell.programmed = cell.pages.iter().filter(|page| !page.is_erased()).count() as u32;
            cell.wear = flash.wear()[block as usize];
            self.blocks[block as usize] = Arc::new(cell);
        }
        self.find_newest();
        Ok(())
    }

    /// Takes everything from flash and FTL. Of a page with the same owner as before, it is still
    /// known when and why it was programmed.
    pub fn look_again(&mut self, now: &Moment) {
        for (number, known) in (0..).zip(&mut self.blocks) {
            let mut cell = block_cell(now, BlockId(number));
            for (page, before) in cell.pages.iter_mut().zip(&known.pages) {
                if page.owner == before.owner && before.state != PageState::Torn {
                    *page = PageCell { state: page.state, ..*before };
                }
            }
            *known = Arc::new(cell);
        }
        self.find_newest();
        self.take_roles(now);
    }

    /// Finds the newest place of each owner among the pages that are valid.
    fn find_newest(&mut self) {
        self.newest.clear();
        for ppn in 0..self.geometry.pages() {
            let page = *self.page(ppn);
            if let (Some(owner), PageState::Valid) = (page.lpn(), page.state) {
                self.point(owner, ppn);
            }
        }
    }

    fn name_of(&mut self, name: &'static str) -> u8 {
        let known = self.role_names.iter().position(|known| *known == name);
        let number = known.unwrap_or_else(|| {
            self.role_names.push(name);
            self.role_names.len() - 1
        });
        u8::try_from(number).expect("schemes have few roles")
    }

    fn cell(&mut self, ppn: u32) -> &mut PageCell {
        let (block, offset) = self.split(ppn);
        &mut Arc::make_mut(&mut self.blocks[block]).pages[offset]
    }

    /// The newest place of a page becomes stale.
    fn supersede(&mut self, owner: u32) {
        if let Some(old) = self.newest(owner) {
            self.cell(old).state = PageState::Stale;
        }
    }

    fn point(&mut self, owner: u32, ppn: u32) {
        let at = owner as usize;
        if self.newest.len() <= at {
            self.newest.resize(at + 1, NOWHERE);
        }
        self.newest[at] = ppn;
    }

    fn split(&self, ppn: u32) -> (usize, usize) {
        let per_block = self.geometry.pages_per_block();
        ((ppn / per_block) as usize, (ppn % per_block) as usize)
    }
}

fn block_cell(now: &Moment, block: BlockId) -> BlockCell {
    let first = now.nand.geometry().first_page(block).0;
    let owners = now.nand.array().owners(block).iter();
    let page = |(ppn, &owner): (u32, &u32)| {
        let state = state(now, ppn, owner);
        PageCell { owner, state, ..PageCell::ERASED }
    };
    let pages: Vec<PageCell> = (first..).zip(owners).map(page).collect();
    let programmed = pages.iter().filter(|page| !page.is_erased()).count() as u32;
    let wear = now.nand.array().wear()[block.0 as usize];
    BlockCell { pages, programmed, wear, role: Role::default() }
}

/// The state of a page in which nothing was programmed yet.
fn state(now: &Moment, ppn: u32, owner: u32) -> PageState {
    let is_newest = |place: Option<Ppn>| place == Some(Ppn(ppn));
    let is_valid = match Lpn(owner) {
        Lpn::NONE => false,
        Lpn::SYSTEM => true,
        _ => now.place(owner).is_none_or(is_newest),
    };
    if is_valid { PageState::Valid } else { PageState::Stale }
}
