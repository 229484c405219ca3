//! The superblocks: which blocks each one has, how many of their pages are dead, and which block to
//! reclaim next.
//!
//! ```text
//! superblock 0   full [0 x 2 x] [x 5 6 7]   open [1 3 4 _]     logical blocks 0 and 1
//! superblock 1   full [8 9 a b] [c d e f]                      logical blocks 2 and 3
//! ```
//! A superblock is a set of consecutive logical blocks that share physical blocks. A page can be
//! anywhere in these. A superblock fills one block at a time, its *open* block. The others are
//! *full*; a block that was closed early counts as full too.
//!
//! Garbage collection is greedy over the device: the victim is the full block with the most dead
//! pages, among those whose contents fit into the free pages of their superblock's open block.
//! Moving a block may take more pages than its valid pages. Only the scheme knows how many, and
//! only when it examines the block.
//!
//! No search is needed. Each superblock keeps its full blocks in a [heap](super::block_heaps)
//! ordered by valid pages. A tree over all superblocks holds the first block of each heap that the
//! superblock's free pages might take. A block that turns out to need more free pages than there
//! are is *set aside*, together with the number that it needs. It is offered again when its
//! superblock opens a block and has enough free pages, or when enough of its own pages are
//! superseded. Each superseded page lowers the need by at most two: one for itself, and one for a
//! write that it might have induced. All full blocks are also in a second heap, which finds the
//! block with the fewest valid pages.
//!
//! The trees are asked only when a victim is chosen. Many pages of a superblock may change in
//! between, so a change only marks the superblock, and the next question brings its leaves up to
//! date.

use nand::{BlockId, Geometry, Nand, Ppn};

use crate::contract::{BlockRole, Violation, ensure};
use crate::part::index::min_tree::MinTree;
use crate::part::index::prefetch::prefetch;
use crate::part::map::frontier::Frontier;
use crate::part::recovery::block_audit;
use crate::part::spare::block_heaps::{BlockHeaps, Heap};

/// The number of a superblock.
pub type Sbn = u32;

const NONE: u32 = u32::MAX;
/// Maximum number of programs by which a block's need falls when one of its pages is superseded.
const NEED_FALL_PER_PAGE: u16 = 2;
/// The leaf of a superblock that has nothing to offer.
const NOTHING: u64 = u64::MAX;

#[derive(Clone, Debug)]
struct SuperblockState {
    open: Frontier,
    /// Number of blocks, including the open one.
    blocks: u32,
    /// Number of dead pages: pages that hold nothing valid and cannot be programmed.
    dead: u32,
    /// All full blocks, ordered by valid pages.
    full: Heap,
    /// The full blocks that are not set aside, ordered by valid pages.
    offered: Heap,
    /// The blocks set aside, ordered by the free pages that they need at least.
    aside: Heap,
    /// Whether the superblock is in the list of those that changed.
    changed: bool,
}

/// What is known about a block.
#[derive(Clone, Copy, Debug)]
struct BlockRecord {
    superblock: Sbn,
    valid: u16,
    /// Number of pages of a full block up to its last programmed one.
    occupied: u16,
    /// Number of free pages that a block set aside needs at least.
    need: u16,
    state: BlockState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockState {
    Free,
    Open,
    Full,
    /// Full, and known to need more free pages than its superblock has.
    Aside,
}

/// All superblocks and their blocks.
#[derive(Clone, Debug)]
pub struct Superblocks {
    superblocks: Vec<SuperblockState>,
    blocks: Vec<BlockRecord>,
    /// Links of the heaps `full`.
    full: BlockHeaps,
    /// Links of the heaps `offered` and `aside`; a block is in one of these.
    either: BlockHeaps,
    /// For each superblock the best full block that its free pages might take, as valid pages and
    /// block number.
    offers: MinTree<u64>,
    /// For each superblock a number that falls as its dead pages grow.
    live: MinTree<u64>,
    /// The superblocks whose leaves in the two trees may be out of date.
    changed: Vec<Sbn>,
    pages_per_block: u32,
    /// Whether an open block without valid pages is offered as well.
    pub offers_open: bool,
}

impl Superblocks {
    /// Superblocks that have no blocks.
    pub fn new(geometry: &Geometry, superblocks: u32) -> Superblocks {
        let none = Heap::EMPTY;
        let (full, offered, aside) = (none, none, none);
        let (open, changed) = (Frontier::NONE, false);
        let empty = SuperblockState { open, blocks: 0, dead: 0, full, offered, aside, changed };
        let state = BlockState::Free;
        let free = BlockRecord { superblock: NONE, valid: 0, occupied: 0, need: 0, state };
        Superblocks {
            superblocks: vec![empty; superblocks as usize],
            blocks: vec![free; geometry.blocks() as usize],
            full: BlockHeaps::new(geometry.blocks()),
            either: BlockHeaps::new(geometry.blocks()),
            offers: MinTree::new(superblocks as usize),
            live: MinTree::new(superblocks as usize),
            changed: Vec::new(),
            pages_per_block: geometry.pages_per_block(),
            offers_open: false,
        }
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Number of free pages in the open block.
    #[inline]
    pub fn room(&self, superblock: Sbn) -> u32 {
        self.superblocks[superblock as usize].open.room()
    }

    /// The page of the open block to program next. The open block must have room.
    #[inline]
    pub fn next(&self, superblock: Sbn) -> Ppn {
        self.superblocks[superblock as usize].open.next()
    }

    /// Number of blocks of a superblock.
    #[inline]
    pub fn blocks_of(&self, superblock: Sbn) -> u32 {
        self.superblocks[superblock as usize].blocks
    }

    /// Number of blocks of all superblocks.
    pub fn count(&self) -> u32 {
        self.superblocks.iter().map(|owner| owner.blocks).sum()
    }

    /// The superblock to which a block belongs.
    pub fn owner(&self, block: BlockId) -> Sbn {
        self.blocks[block.0 as usize].superblock
    }

    /// Number of valid pages in a block.
    #[inline]
    pub fn valid(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].valid.into()
    }

    /// Number of pages of a full block up to its last programmed one.
    pub fn occupied(&self, block: BlockId) -> u32 {
        self.blocks[block.0 as usize].occupied.into()
    }

    /// The open block, unless it is full.
    pub fn open_block(&self, geometry: &Geometry, superblock: Sbn) -> Option<BlockId> {
        self.superblocks[superblock as usize].open.block(geometry)
    }

    /// Whether a block is open.
    pub fn is_open(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].state == BlockState::Open
    }

    /// Whether a block belongs to no superblock.
    pub fn is_free(&self, block: BlockId) -> bool {
        self.blocks[block.0 as usize].state == BlockState::Free
    }

    /// The role of each block of a superblock.
    pub fn roles(&self) -> impl Iterator<Item = BlockRole> + '_ {
        let used = (0..).map(BlockId).zip(&self.blocks);
        let used = used.filter(|(_, record)| record.state != BlockState::Free);
        used.map(|(block, record)| BlockRole::of(block, "superblock", record.superblock))
    }

    /// Prefetches a superblock.
    pub fn prefetch(&self, superblock: Sbn) {
        prefetch(&self.superblocks, superblock as usize);
    }

    // ---- Filling ------------------------------------------------------------------------------

    /// Makes an erased block the open block of a superblock that has none.
    pub fn open(&mut self, geometry: &Geometry, superblock: Sbn, block: BlockId) {
        let owner = &mut self.superblocks[superblock as usize];
        assert!(
            owner.open.room() == 0,
            "a block was opened for superblock {superblock}, which has one with room"
        );
        let before = self.blocks[block.0 as usize].state;
        assert!(before == BlockState::Free, "{block:?} was opened and is {before:?}");
        owner.open = Frontier::open(block, geometry);
        owner.blocks += 1;
        let state = BlockState::Open;
        self.blocks[block.0 as usize] =
            BlockRecord { superblock, valid: 0, occupied: 0, need: 0, state };
        self.mark(superblock);
    }

    /// Notes that the next `pages` pages of the open block were programmed and are valid.
    #[inline]
    pub fn fill(&mut self, geometry: &Geometry, superblock: Sbn, pages: u32) {
        let owner = &mut self.superblocks[superblock as usize];
        let block = geometry.block_of(owner.open.next());
        self.blocks[block.0 as usize].valid += pages as u16;
        if owner.open.advance(pages, geometry).is_some() {
            self.shelve(block, self.pages_per_block);
        }
        self.mark(superblock);
    }

    /// Closes the open block, if there is one. Its free pages are lost.
    pub fn close(&mut self, geometry: &Geometry, superblock: Sbn) -> Option<BlockId> {
        let block = self.open_block(geometry, superblock)?;
        let owner = &mut self.superblocks[superblock as usize];
        let free = core::mem::replace(&mut owner.open, Frontier::NONE).room();
        owner.dead += free;
        self.shelve(block, self.pages_per_block - free);
        self.mark(superblock);
        Some(block)
    }

    /// Notes that `pages` pages of a block are not the newest versions any more.
    #[inline]
    pub fn supersede(&mut self, block: BlockId, pages: u16) {
        let known = &mut self.blocks[block.0 as usize];
        debug_assert!(known.valid >= pages, "{pages} of {} pages left {block:?}", known.valid);
        known.valid -= pages;
        let (superblock, valid) = (known.superblock, u32::from(known.valid));
        let owner = &mut self.superblocks[superblock as usize];
        owner.dead += u32::from(pages);
        match known.state {
            BlockState::Open => return self.mark(superblock),
            BlockState::Full => self.either.lower(&mut owner.offered, block, valid),
            BlockState::Aside => {
                known.need = known.need.saturating_sub(NEED_FALL_PER_PAGE * pages);
                self.either.lower(&mut owner.aside, block, known.need.into());
            }
            BlockState::Free => panic!("{block:?} is free, but holds a valid page"),
        }
        self.full.lower(&mut owner.full, block, valid);
        self.mark(superblock);
    }

    /// Removes a full block without valid pages, which is being erased, from its superblock.
    pub fn release(&mut self, block: BlockId) {
        let BlockRecord { superblock, valid, state, .. } = self.blocks[block.0 as usize];
        assert!(valid == 0, "{block:?} is released, but holds {valid} valid pages");
        let owner = &mut self.superblocks[superblock as usize];
        match state {
            BlockState::Aside => self.either.remove(&mut owner.aside, block),
            BlockState::Full => self.either.remove(&mut owner.offered, block),
            _ => panic!("{block:?} is released, but was not full"),
        }
        self.full.remove(&mut owner.full, block);
        owner.blocks -= 1;
        owner.dead -= self.pages_per_block;
        self.blocks[block.0 as usize].state = BlockState::Free;
        self.mark(superblock);
    }

    /// Adds a block with valid pages that a mount found. It counts as full, whatever it was before.
    pub fn adopt(&mut self, superblock: Sbn, block: BlockId, valid: u32, occupied: u32) {
        assert!(self.is_free(block), "{block:?} was found twice");
        assert!(valid <= occupied, "{block:?} has {valid} valid pages, {occupied} programmed");
        let owner = &mut self.superblocks[superblock as usize];
        owner.blocks += 1;
        owner.dead += self.pages_per_block - valid;
        let state = BlockState::Open;
        self.blocks[block.0 as usize] =
            BlockRecord { superblock, valid: valid as u16, occupied: 0, need: 0, state };
        self.shelve(block, occupied);
        self.mark(superblock);
    }

    fn shelve(&mut self, block: BlockId, occupied: u32) {
        let known = &mut self.blocks[block.0 as usize];
        assert!(known.state == BlockState::Open, "{block:?} was closed and is {:?}", known.state);
        (known.state, known.occupied) = (BlockState::Full, occupied as u16);
        let owner = &mut self.superblocks[known.superblock as usize];
        self.full.push(&mut owner.full, block, known.valid.into());
        self.either.push(&mut owner.offered, block, known.valid.into());
    }

    // ---- Choosing -----------------------------------------------------------------------------

    /// The full block with the most dead pages among those that need no more free pages than their
    /// superblock has; the lowest among equals. `needs` returns the need of a block, given its
    /// valid pages and those free pages.
    pub fn choose(&mut self, mut needs: impl FnMut(BlockId, u32, u32) -> u32) -> Option<BlockId> {
        self.settle();
        loop {
            let (superblock, offer) = self.offers.first_minimum();
            if offer == NOTHING {
                return None;
            }
            let (block, superblock) = (BlockId(offer as u32), superblock as Sbn);
            let (valid, room) = (self.valid(block), self.room(superblock));
            let need = if valid == 0 { 0 } else { needs(block, valid, room) };
            if need <= room {
                return Some(block);
            }
            self.set_aside(superblock, block, need);
        }
    }

    /// The full block of a superblock with the most dead pages; the lowest among equals.
    pub fn emptiest(&self, superblock: Sbn) -> Option<BlockId> {
        self.full.first(self.superblocks[superblock as usize].full).map(|(block, _)| block)
    }

    /// The two full blocks of a superblock with the most dead pages, among those that have any.
    pub fn two_emptiest(&mut self, superblock: Sbn) -> [Option<BlockId>; 2] {
        let (np, heap) = (self.pages_per_block, &mut self.superblocks[superblock as usize].full);
        let first = self.full.first(*heap).filter(|&(_, valid)| valid < np);
        let Some((block, valid)) = first else { return [None; 2] };
        self.full.remove(heap, block);
        let second = self.full.first(*heap).filter(|&(_, valid)| valid < np);
        self.full.push(heap, block, valid);
        [Some(block), second.map(|(block, _)| block)]
    }

    /// The superblock with the most dead pages, including those of its open block; the lowest among
    /// equals.
    pub fn deadest(&mut self) -> Option<Sbn> {
        self.settle();
        let (superblock, live) = self.live.first_minimum();
        (live < NOTHING).then_some(superblock as Sbn)
    }

    fn set_aside(&mut self, superblock: Sbn, block: BlockId, need: u32) {
        let owner = &mut self.superblocks[superblock as usize];
        self.either.remove(&mut owner.offered, block);
        self.either.push(&mut owner.aside, block, need);
        let known = &mut self.blocks[block.0 as usize];
        (known.state, known.need) = (BlockState::Aside, need as u16);
        self.offer(superblock);
    }

    /// Offers all blocks again that were set aside, because needs are lower from now on.
    pub fn offer_all_again(&mut self) {
        let all = 0..self.superblocks.len() as Sbn;
        all.for_each(|superblock| self.offer_again(superblock, u32::MAX));
    }

    /// Offers the blocks of a superblock again that were set aside and may need at most `most`
    /// pages.
    fn offer_again(&mut self, superblock: Sbn, most: u32) {
        let owner = &mut self.superblocks[superblock as usize];
        while let Some((block, need)) = self.either.first(owner.aside)
            && need <= most
        {
            let known = &mut self.blocks[block.0 as usize];
            self.either.remove(&mut owner.aside, block);
            self.either.push(&mut owner.offered, block, known.valid.into());
            known.state = BlockState::Full;
        }
        self.offer(superblock);
    }

    /// Marks a superblock whose leaves in the trees may be out of date.
    #[inline]
    fn mark(&mut self, superblock: Sbn) {
        let owner = &mut self.superblocks[superblock as usize];
        if !owner.changed {
            owner.changed = true;
            self.changed.push(superblock);
        }
    }

    /// Brings the leaves of all superblocks up to date.
    fn settle(&mut self) {
        while let Some(superblock) = self.changed.pop() {
            let owner = &mut self.superblocks[superblock as usize];
            owner.changed = false;
            let live = if owner.dead == 0 { NOTHING } else { NOTHING - u64::from(owner.dead) };
            self.live.set(superblock as usize, live);
            self.offer_again(superblock, self.room(superblock));
        }
    }

    fn offer(&mut self, superblock: Sbn) {
        let owner = &self.superblocks[superblock as usize];
        let room = owner.open.room();
        let mut offer = match self.either.first(owner.offered) {
            Some((block, valid)) if valid <= room => u64::from(valid) << 32 | u64::from(block.0),
            _ => NOTHING,
        };
        if self.offers_open && 0 < room && room < self.pages_per_block {
            offer = offer.min(self.offer_of_open(owner));
        }
        self.offers.set(superblock as usize, offer);
    }

    /// The offer of an open block: only a block without valid pages is worth erasing.
    fn offer_of_open(&self, owner: &SuperblockState) -> u64 {
        let block = owner.open.next().0 / self.pages_per_block;
        if self.blocks[block as usize].valid == 0 { block.into() } else { NOTHING }
    }

    // ---- Auditing -----------------------------------------------------------------------------

    /// Bytes of RAM that a controller needs for this: a count of valid pages per block.
    pub fn ram_bytes(&self) -> u64 {
        2 * self.blocks.len() as u64
    }

    /// Checks that no superblock has more than `most` blocks.
    ///
    /// # Errors
    /// The first superblock that has more.
    pub fn audit_limit(&self, most: u32) -> Result<(), Violation> {
        for (superblock, owner) in self.superblocks.iter().enumerate() {
            let blocks = owner.blocks;
            ensure!(
                blocks <= most,
                "superblock {superblock} has {blocks} blocks, at most {most} are allowed"
            );
        }
        Ok(())
    }

    /// Compares what is recorded of programmed pages, block by block, with the chip.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit_programmed(&self, nand: &Nand) -> Result<(), Violation> {
        self.superblocks.iter().try_for_each(|owner| owner.open.audit(nand))?;
        for (block, known) in (0..).map(BlockId).zip(&self.blocks) {
            if matches!(known.state, BlockState::Full | BlockState::Aside) {
                block_audit::programmed_up_to(nand, block, known.occupied.into())?;
            }
        }
        Ok(())
    }

    /// Compares all counts with `valid`, a recount of the valid pages of each block.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, geometry: &Geometry, valid: &[u32]) -> Result<(), Violation> {
        let mut counted = vec![(0, 0, None); self.superblocks.len()];
        for (block, known) in (0..).map(BlockId).zip(&self.blocks) {
            let recount = valid[block.0 as usize];
            if known.state == BlockState::Free {
                ensure!(recount == 0, "{block:?} is free, but holds {recount} valid pages");
                continue;
            }
            let count = u32::from(known.valid);
            ensure!(count == recount, "{block:?} has {recount} valid pages, counted {count}");
            let open = self.open_block(geometry, known.superblock) == Some(block);
            let opened = known.state == BlockState::Open;
            ensure!(
                open == opened,
                "{block:?}: state says open: {opened}, frontier says open: {open}"
            );
            let room = if open { self.room(known.superblock) } else { 0 };
            let (blocks, dead, least) = &mut counted[known.superblock as usize];
            *blocks += 1;
            *dead += self.pages_per_block - room - recount;
            if !open && least.is_none_or(|least| (recount, block) < least) {
                *least = Some((recount, block));
            }
        }
        for (superblock, (owner, (blocks, dead, least))) in
            (0..).zip(self.superblocks.iter().zip(counted))
        {
            let known = (owner.blocks, owner.dead, self.emptiest(superblock));
            let found = (blocks, dead, least.map(|(_, block)| block));
            ensure!(
                known == found,
                "superblock {superblock}: recorded {known:?}, counted {found:?}"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    const PAGES: u32 = 4;

    /// Two superblocks over eight blocks of four pages.
    fn superblocks() -> (Geometry, Superblocks) {
        let geometry = Geometry::new(512, 64, PAGES, 8, ProgramOrder::Any).unwrap();
        let superblocks = Superblocks::new(&geometry, 2);
        (geometry, superblocks)
    }

    fn add(all: &mut Superblocks, geometry: &Geometry, superblock: Sbn, block: u32, dead: u32) {
        all.open(geometry, superblock, BlockId(block));
        all.fill(geometry, superblock, PAGES);
        (0..dead).for_each(|_| all.supersede(BlockId(block), 1));
    }

    fn valid(all: &Superblocks) -> Vec<u32> {
        (0..8).map(|block| all.valid(BlockId(block))).collect()
    }

    #[test]
    fn the_best_block_is_the_one_whose_superblock_can_take_it() {
        let (geometry, mut all) = superblocks();
        add(&mut all, &geometry, 0, 0, 3);
        add(&mut all, &geometry, 0, 1, 2);
        add(&mut all, &geometry, 1, 2, 1);
        let choose = |all: &mut Superblocks| all.choose(|_, valid, _| valid);
        assert_eq!(choose(&mut all), None, "no superblock has a free page");
        assert_eq!(all.deadest(), Some(0));
        all.open(&geometry, 1, BlockId(5));
        assert_eq!(choose(&mut all), Some(BlockId(2)), "superblock 0 has no free page");
        all.fill(&geometry, 1, 2);
        assert_eq!(choose(&mut all), None, "three pages do not fit two");
        all.open(&geometry, 0, BlockId(6));
        assert_eq!(choose(&mut all), Some(BlockId(0)));
        all.audit(&geometry, &valid(&all)).unwrap();
    }

    #[test]
    fn a_block_that_needs_too_much_is_set_aside_until_something_changes() {
        let (geometry, mut all) = superblocks();
        add(&mut all, &geometry, 0, 3, 2);
        add(&mut all, &geometry, 0, 1, 1);
        all.open(&geometry, 0, BlockId(0));
        let mut asked = Vec::new();
        let mut choose = |all: &mut Superblocks, need_of_3| {
            let chosen = all.choose(|block, _, _| {
                asked.push(block.0);
                if block.0 == 3 { need_of_3 } else { 3 }
            });
            (chosen.map(|block| block.0), core::mem::take(&mut asked))
        };
        assert_eq!(choose(&mut all, 5), (Some(1), vec![3, 1]));
        assert_eq!(choose(&mut all, 5), (Some(1), vec![1]), "block 3 is not examined again");
        assert_eq!(all.emptiest(0), Some(BlockId(3)), "but block 3 is still known");
        all.supersede(BlockId(3), 1);
        assert_eq!(choose(&mut all, 4), (Some(3), vec![3]));
        assert_eq!(choose(&mut all, 5), (Some(1), vec![3, 1]));
        all.fill(&geometry, 0, 4);
        all.open(&geometry, 0, BlockId(7));
        assert_eq!(
            choose(&mut all, 4),
            (Some(1), vec![1]),
            "block 3 needs five pages, and four are free"
        );
        all.audit(&geometry, &valid(&all)).unwrap();
    }

    #[test]
    fn a_block_set_aside_is_offered_again_once_there_is_room_for_it() {
        let (geometry, mut all) = superblocks();
        add(&mut all, &geometry, 0, 3, 2);
        all.open(&geometry, 0, BlockId(0));
        all.fill(&geometry, 0, 1);
        assert_eq!(all.choose(|_, _, _| 4), None, "three are free");
        all.fill(&geometry, 0, 3);
        all.open(&geometry, 0, BlockId(1));
        assert_eq!(all.choose(|_, _, _| 4), Some(BlockId(3)));
    }

    #[test]
    fn all_blocks_set_aside_are_offered_again_when_needs_fall() {
        let (geometry, mut all) = superblocks();
        for (superblock, block) in [(0, 3), (1, 2)] {
            add(&mut all, &geometry, superblock, block, 2);
            all.open(&geometry, superblock, BlockId(block + 3));
            all.fill(&geometry, superblock, 2);
        }
        assert_eq!(all.choose(|_, _, _| 3), None, "two pages are free in each");
        assert_eq!(all.choose(|_, valid, _| valid), None, "both blocks are set aside");
        all.offer_all_again();
        assert_eq!(all.choose(|_, valid, _| valid), Some(BlockId(2)));
        all.audit(&geometry, &valid(&all)).unwrap();
    }

    #[test]
    fn the_two_emptiest_blocks_have_dead_pages_and_ties_go_to_the_lowest() {
        let (geometry, mut all) = superblocks();
        add(&mut all, &geometry, 1, 6, 1);
        assert_eq!(all.two_emptiest(1), [Some(BlockId(6)), None]);
        add(&mut all, &geometry, 1, 4, 1);
        add(&mut all, &geometry, 1, 5, 1);
        add(&mut all, &geometry, 1, 2, 0);
        assert_eq!(all.two_emptiest(1), [Some(BlockId(4)), Some(BlockId(5))]);
        assert_eq!(all.two_emptiest(0), [None, None]);
        assert_eq!(all.deadest(), Some(1));
    }

    #[test]
    fn free_pages_of_a_closed_block_count_as_dead() {
        let (geometry, mut all) = superblocks();
        all.open(&geometry, 0, BlockId(2));
        all.fill(&geometry, 0, 3);
        assert_eq!(all.deadest(), None);
        assert_eq!(all.close(&geometry, 0), Some(BlockId(2)));
        assert_eq!((all.deadest(), all.occupied(BlockId(2))), (Some(0), 3));
        assert_eq!(all.close(&geometry, 0), None);
        all.supersede(BlockId(2), 3);
        all.release(BlockId(2));
        assert_eq!((all.deadest(), all.blocks_of(0)), (None, 0));
        all.audit(&geometry, &[0; 8]).unwrap();
    }
}
