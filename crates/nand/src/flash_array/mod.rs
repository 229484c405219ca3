//! The flash itself: pages, blocks, the rules of flash, and everything that outlives a power cut.
//!
//! Breaking a rule of flash is a bug of the FTL and panics, in release builds too:
//!
//! * a page is programmed once between two erases of its block, in the chip's program order;
//! * only programmed pages are read or copied, and the reader names the owner that it expects;
//! * a half-erased block is erased again before its first program.
//!
//! The array counts no operations and cannot lose its power; [`Nand`](crate::Nand) adds both.

mod block_lives;
mod numbered_store;
mod stored_pages;
#[cfg(test)]
mod tests;

use alloc::borrow::Cow;
use core::cell::Cell;
use core::ops::Range;

use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::geometry::{Geometry, Pairing, ProgramOrder};
use crate::memory_store::MemoryStore;
use crate::page_store::{
    Area, BlockRecord, Fault, Health, PageRecord, PageStore, SyncBy, SyncJob, load_spare,
};
use crate::payload::{Mode, Page, Sink};
use crate::spare::{HEADER_BYTES, Header, PageState, Spare};
pub(crate) use block_lives::{BlockLives, FACTORY_BAD};
pub(crate) use stored_pages::CopySpare;
use stored_pages::StoredPages;

/// The header of the first page of a block that is marked as bad.
const BAD_MARK: [u8; HEADER_BYTES] = [0; HEADER_BYTES];

/// Pages and blocks of a chip.
///
/// Owners, fill levels and wear are kept in RAM. Where the chip has a store they are a copy of what
/// it holds, so [`from_store`](Self::from_store) can rebuild them.
pub struct FlashArray {
    /// All pages and blocks. It is only asked how many there are.
    geometry: Geometry,
    /// Those that the FTL numbers. Behind them are those that replace blocks that fail. All
    /// arithmetic is done with this one, as callers do it, so that the compiler sees equal values.
    of_ftl: Geometry,
    /// Where blocks can fail.
    lives: Option<Box<BlockLives>>,
    /// The owner of each page; [`Lpn::NONE`] where it is erased.
    owners: Vec<u32>,
    /// By block: the number of programmed pages in any order, else the lowest page that may still
    /// be programmed.
    filled: Vec<u16>,
    half_erased: Vec<BlockId>,
    /// Whether each block is used with one bit per cell; none if no block is.
    slc: Option<Vec<bool>>,
    /// Erases of each block, under whatever number the FTL knows it.
    wear: Vec<u32>,
    /// Pages that were skipped, or still unused when their block was erased, since the last reset.
    lost_pages: u64,
    /// None in count mode.
    pages: Option<StoredPages>,
    /// The flash itself, if it must not be changed any more, and this is a copy in memory.
    frozen: Option<Box<FlashArray>>,
}

impl FlashArray {
    /// A factory-fresh array, in memory: all blocks erased.
    pub(crate) fn new(geometry: Geometry, mode: Mode) -> FlashArray {
        FlashArray {
            owners: vec![Lpn::NONE.0; geometry.pages() as usize],
            filled: vec![0; geometry.blocks() as usize],
            half_erased: Vec::new(),
            slc: None,
            wear: vec![0; geometry.blocks() as usize],
            lost_pages: 0,
            pages: (mode != Mode::Count)
                .then(|| StoredPages::new(Box::new(MemoryStore::new(mode, geometry)))),
            of_ftl: geometry,
            lives: None,
            frozen: None,
            geometry,
        }
    }

    /// A factory-fresh array with these blocks of the FTL and others, which can fail.
    pub(crate) fn on_media(
        of_ftl: Geometry,
        all: Geometry,
        mode: Mode,
        lives: BlockLives,
    ) -> FlashArray {
        FlashArray { of_ftl, lives: Some(Box::new(lives)), ..FlashArray::new(all, mode) }
    }

    /// The same array where blocks can fail, the first ones of which are numbered by the FTL.
    pub(crate) fn with_lives(self, of_ftl: Geometry, mut lives: BlockLives) -> FlashArray {
        lives.resume(&self.wear);
        FlashArray { of_ftl, lives: Some(Box::new(lives)), ..self }
    }

    /// Memory that an array with every page programmed takes, without scheme bytes.
    pub fn memory_bytes(geometry: &Geometry, mode: Mode) -> u64 {
        let (pages, blocks) = (u64::from(geometry.pages()), u64::from(geometry.blocks()));
        let stored = match mode {
            Mode::Count => 0,
            _ => MemoryStore::memory_bytes(geometry, mode),
        };
        pages * size_of::<u32>() as u64
            + blocks * (size_of::<u16>() + size_of::<u32>()) as u64
            + stored
    }

    /// The array of the pages in `store`. Reads every spare area.
    ///
    /// # Errors
    /// The storage failed.
    pub fn from_store(store: Box<dyn PageStore>) -> Result<FlashArray> {
        let geometry = store.shape().geometry;
        let mut array = FlashArray::new(geometry, Mode::Count);
        for block in (0..geometry.blocks()).map(BlockId) {
            let BlockRecord { erases, half_erased } = store.block(block)?;
            array.wear[block.0 as usize] = erases;
            array.half_erased.extend(half_erased.then_some(block));
            for ppn in geometry.span(block) {
                let spare = load_spare(&*store, Ppn(ppn as u32))?;
                array.owners[ppn] = match (spare.health, spare.state()) {
                    (Health::Erased, _) => Lpn::NONE.0,
                    (_, PageState::Programmed(spare)) => spare.owner.0,
                    // Programmed, but the owner is lost.
                    _ => Lpn::SYSTEM.0,
                };
            }
            array.filled[block.0 as usize] = array.filled_by_owners(block);
        }
        array.pages = Some(StoredPages::new(store));
        Ok(array)
    }

    /// The storage of the flash; none in count mode.
    pub fn storage(&self) -> Option<&dyn PageStore> {
        let flash = self.frozen.as_deref().unwrap_or(self);
        flash.pages.as_ref().map(|pages| pages.store().storage())
    }

    /// The store with all pages; none in count mode.
    pub fn into_store(mut self) -> Option<Box<dyn PageStore>> {
        self.thaw();
        self.pages.map(StoredPages::into_store)
    }

    /// An independent array with the same pages.
    ///
    /// # Errors
    /// The storage failed.
    pub fn try_clone(&self) -> Result<FlashArray> {
        let mut owners = self.owners.clone();
        self.stand_ins().for_each(|page| owners[page.0 as usize] = Lpn::SYSTEM.0);
        self.clone_with(owners, self.pages.as_ref().map(StoredPages::try_clone).transpose()?)
    }

    fn clone_with(&self, owners: Vec<u32>, pages: Option<StoredPages>) -> Result<FlashArray> {
        Ok(FlashArray {
            geometry: self.geometry,
            of_ftl: self.of_ftl,
            lives: self.lives.clone(),
            owners,
            filled: self.filled.clone(),
            half_erased: self.half_erased.clone(),
            slc: self.slc.clone(),
            wear: self.wear.clone(),
            lost_pages: self.lost_pages,
            pages,
            frozen: self.frozen.as_ref().map(|flash| flash.try_clone()).transpose()?.map(Box::new),
        })
    }

    /// Whether operations in flight can be [reordered](crate::Outcome::Reordered): there are
    /// several dies, and pages are kept.
    pub fn can_reorder(&self) -> bool {
        self.of_ftl.dies() > 1 && self.keeps_pages()
    }

    // ---- Looking at the array --------------------------------------------------------------

    /// Pages, blocks and program order, with the blocks that replace others.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Pages, blocks and program order, as the FTL numbers them.
    #[inline]
    pub(crate) fn of_ftl(&self) -> &Geometry {
        &self.of_ftl
    }

    /// What is kept of each page.
    pub fn mode(&self) -> Mode {
        self.pages.as_ref().map_or(Mode::Count, |pages| pages.shape().mode)
    }

    /// Whether scheme bytes of spare areas, and metadata of pages, are kept. If not, schemes need
    /// not compose them; no operation may depend on it.
    #[inline]
    pub fn keeps_pages(&self) -> bool {
        self.pages.is_some()
    }

    /// The owners of all pages of a block; [`Lpn::SYSTEM`] also where a fault has taken it away.
    #[inline]
    pub fn owners(&self, block: BlockId) -> &[u32] {
        &self.owners[self.of_ftl.span(block)]
    }

    /// The owners of `pages` pages from `first` on.
    #[inline]
    pub fn owners_of_run(&self, first: Ppn, pages: u32) -> &[u32] {
        &self.owners[first.0 as usize..][..pages as usize]
    }

    #[inline]
    pub(crate) fn owner(&self, ppn: Ppn) -> Lpn {
        Lpn(self.owners[ppn.0 as usize])
    }

    /// The pages that share the cells of a page and precede it in its block: an interrupted program
    /// of this page can destroy them.
    pub fn lower_pages(&self, ppn: Ppn) -> impl Iterator<Item = Ppn> + use<> {
        let block = self.of_ftl.block_of(ppn);
        let (first, offset) = (self.of_ftl.first_page(block), self.of_ftl.offset_of(ppn));
        let pairing = if self.is_slc(block) { Pairing::NONE } else { self.of_ftl.pairing() };
        pairing.lower_pages(offset).map(move |offset| first.plus(offset))
    }

    #[inline]
    fn is_slc(&self, block: BlockId) -> bool {
        self.slc.as_ref().is_some_and(|slc| slc[block.0 as usize])
    }

    /// Uses an erased block with one bit per cell until its next erase. It then has only
    /// [`slc_pages`](Geometry::slc_pages) pages.
    pub(crate) fn use_as_slc(&mut self, block: BlockId) {
        assert!(self.filled[block.0 as usize] == 0, "{block:?} is not erased");
        if self.of_ftl.pairing().bits > 1 {
            let blocks = self.geometry.blocks() as usize;
            self.slc.get_or_insert_with(|| vec![false; blocks])[block.0 as usize] = true;
        }
    }

    /// Erased blocks are used with all bits of their cells again, because the power was off.
    pub(crate) fn forget_slc(&mut self) {
        let slc = self.slc.iter_mut().flatten();
        slc.zip(&self.filled).filter(|(_, filled)| **filled == 0).for_each(|(slc, _)| *slc = false);
    }

    /// Erases of each block that the FTL numbers, whatever block stood behind the number.
    pub fn wear(&self) -> &[u32] {
        &self.wear[..self.of_ftl.blocks() as usize]
    }

    /// Erases of the block that stands behind each number of the FTL.
    pub fn wear_of_blocks(&self) -> &[u32] {
        &self.erases_of_blocks()[..self.of_ftl.blocks() as usize]
    }

    /// The same for all numbers, also those in reserve.
    pub fn erases_of_blocks(&self) -> &[u32] {
        self.lives.as_ref().map_or(&self.wear, |lives| lives.erases())
    }

    /// Pages skipped, or unused when their block was erased, since the counters were reset.
    pub fn lost_pages(&self) -> u64 {
        self.lost_pages
    }

    pub(crate) fn forget_lost_pages(&mut self) {
        self.lost_pages = 0;
    }

    /// Pages of the FTL that can still be programmed before the next erase. Walks all blocks.
    pub fn free_pages(&self) -> u64 {
        let per_block = u64::from(self.of_ftl.pages_per_block());
        self.filled[..self.of_ftl.blocks() as usize]
            .iter()
            .map(|&filled| per_block - u64::from(filled))
            .sum()
    }

    /// Whether nothing was ever programmed or erased.
    pub fn is_untouched(&self) -> bool {
        self.wear.iter().all(|&erases| erases == 0) && self.filled.iter().all(|&pages| pages == 0)
    }

    /// Header and scheme bytes of a page; none if error correction or the checksum failed, or in
    /// count mode. For audits, and for mounts that have read this spare area.
    ///
    /// # Errors
    /// The storage failed.
    pub fn peek_spare(&self, ppn: Ppn) -> Result<Option<(Spare, Cow<'_, [u8]>)>> {
        self.pages.as_ref().map_or(Ok(None), |pages| pages.peek_spare(ppn))
    }

    /// The metadata of a page; none if it cannot be read, or in count mode.
    pub fn peek_meta(&self, ppn: Ppn) -> Option<Vec<u8>> {
        self.pages.as_ref()?.peek_meta(ppn)
    }

    /// Whether a page is erased. A page that only reads as erased after an interrupted program is
    /// not.
    #[inline]
    pub fn is_erased(&self, ppn: Ppn) -> bool {
        self.owner(ppn) == Lpn::NONE
    }

    /// Whether the chip has this page, and it is programmed.
    #[inline]
    pub fn is_programmed(&self, ppn: Ppn) -> bool {
        self.owners.get(ppn.0 as usize).is_some_and(|&owner| owner != Lpn::NONE.0)
    }

    /// Number of pages of a block that are erased, from this one on up to the first that is not.
    pub fn erased_from(&self, first: Ppn) -> u32 {
        let to_end = self.of_ftl.pages_per_block() - self.of_ftl.offset_of(first);
        match self.of_ftl.program_order() {
            ProgramOrder::Any => {
                let owners = self.owners_of_run(first, to_end).iter();
                owners.take_while(|&&owner| owner == Lpn::NONE.0).count() as u32
            }
            _ if self.of_ftl.offset_of(first) < self.filled(self.of_ftl.block_of(first)) => 0,
            _ => to_end,
        }
    }

    /// Whether the rules of flash allow to program a page now.
    #[inline]
    pub fn may_program(&self, ppn: Ppn) -> bool {
        let block = self.of_ftl.block_of(ppn);
        let (offset, next) = (self.of_ftl.offset_of(ppn), self.filled(block));
        let is_in_order = match self.of_ftl.program_order() {
            ProgramOrder::Sequential => offset == next,
            ProgramOrder::Ascending => offset >= next,
            ProgramOrder::Any => self.is_erased(ppn),
        };
        is_in_order && (self.half_erased.is_empty() || !self.is_half_erased(block))
    }

    /// Whether the last erase of a block was interrupted, so that it must be erased again.
    pub fn is_half_erased(&self, block: BlockId) -> bool {
        self.half_erased.contains(&block)
    }

    /// Number of programmed pages of a block in any order, else the offset of the lowest page that
    /// may still be programmed.
    #[inline]
    pub fn filled(&self, block: BlockId) -> u32 {
        self.filled[block.0 as usize].into()
    }

    /// The number of pages of a block up to the last one that does not read as erased.
    ///
    /// # Errors
    /// The storage failed.
    pub fn fill_level(&self, block: BlockId) -> Result<u32> {
        let span = self.of_ftl.span(block);
        for page in span.clone().rev() {
            if !self.reads_as_erased(Ppn(page as u32))? {
                return Ok((page - span.start) as u32 + 1);
            }
        }
        Ok(0)
    }

    /// Whether a page is erased, or an interrupted program has left it so that it reads as erased.
    /// Such a page has lost its owner.
    fn reads_as_erased(&self, ppn: Ppn) -> Result<bool> {
        match self.owner(ppn) {
            Lpn::NONE => Ok(true),
            Lpn::SYSTEM if self.keeps_pages() => Ok(self.state(ppn)? == PageState::Erased),
            _ => Ok(false),
        }
    }

    /// The fill level of a block that its owners imply.
    fn filled_by_owners(&self, block: BlockId) -> u16 {
        let is_used = |owner: &u32| *owner != Lpn::NONE.0;
        let owners = self.owners(block);
        let filled = match self.of_ftl.program_order() {
            ProgramOrder::Any => owners.iter().filter(|&owner| is_used(owner)).count(),
            _ => owners.iter().rposition(is_used).map_or(0, |last| last + 1),
        };
        filled as u16
    }

    // ---- Operations in count mode ----------------------------------------------------------

    /// Programs a run of pages, of which only the owners are kept: `first` and the following.
    /// Returns the owners.
    #[inline(always)]
    pub(crate) fn count_run(&mut self, to: Ppn, first: Lpn, pages: u32) -> &[u32] {
        self.claim(to, pages);
        let owners = &mut self.owners[to.0 as usize..][..pages as usize];
        match owners {
            // Most runs have a single page.
            [owner] => *owner = first.0,
            _ => owners.iter_mut().zip(first.0..).for_each(|(owner, lpn)| *owner = lpn),
        }
        owners
    }

    /// Programs pages that need not be consecutive, of which only the owners are kept. Returns the
    /// owners.
    #[inline]
    pub(crate) fn count_pages(&mut self, to: Ppn, lpns: &[u32]) -> &[u32] {
        self.claim(to, lpns.len() as u32);
        let owners = &mut self.owners[to.0 as usize..][..lpns.len()];
        owners.copy_from_slice(lpns);
        owners
    }

    /// Copies pages, of which only the owners are kept. Returns the owners.
    #[inline]
    pub(crate) fn count_copies(&mut self, from: &[Ppn], to: Ppn) -> &[u32] {
        self.claim(to, from.len() as u32);
        if let &[source] = from {
            let owner = self.owner(source);
            expect_programmed(source, owner);
            self.owners[to.0 as usize] = owner.0;
            return self.owners_of_run(to, 1);
        }
        let owners = Cell::from_mut(&mut self.owners[..]).as_slice_of_cells();
        for (copy, &source) in owners[to.0 as usize..].iter().zip(from) {
            let owner = owners[source.0 as usize].get();
            expect_programmed(source, Lpn(owner));
            copy.set(owner);
        }
        self.owners_of_run(to, from.len() as u32)
    }

    /// Does the same if all pages but the `strays` are consecutive: page `n` is at `base + n`.
    #[inline]
    pub(crate) fn count_copies_around(
        &mut self,
        base: Ppn,
        from: &[Ppn],
        strays: impl Iterator<Item = u32>,
        to: Ppn,
    ) -> &[u32] {
        self.claim(to, from.len() as u32);
        self.owners.copy_within(base.0 as usize..base.0 as usize + from.len(), to.0 as usize);
        for stray in strays {
            self.owners[to.0 as usize + stray as usize] = self.owner(from[stray as usize]).0;
        }
        debug_assert!(
            from.iter().zip(to.0..).all(|(&from, to)| self.owner(from) == self.owner(Ppn(to))),
            "{from:?} were copied as if they were around {base:?}"
        );
        let owners = self.owners_of_run(to, from.len() as u32);
        // There is no branch per page, so that the compiler can vectorise the comparisons.
        if owners.iter().fold(false, |erased, &owner| erased | (owner == Lpn::NONE.0)) {
            let erased = owners.iter().position(|&owner| owner == Lpn::NONE.0);
            refuse_copy(from[erased.unwrap_or(0)]);
        }
        owners
    }

    // ---- Operations on stored pages --------------------------------------------------------

    /// Programs a page. After a failure of the storage it counts as torn. The first of `run` pages
    /// that are programmed together may bring the data of all; the others then have a run of 0.
    pub(crate) fn program(
        &mut self,
        ppn: Ppn,
        page: &Page,
        run: u32,
        sequence: u64,
        tentative: bool,
    ) -> Result<()> {
        assert!(page.owner != Lpn::NONE, "programmed {ppn:?} without an owner");
        let area = self.stored_mut().compose(page, run, sequence, tentative)?;
        self.save(ppn, page.owner, area, None)
    }

    /// Copies a page. A source that cannot be read changes nothing; after a failure of the storage
    /// the destination counts as torn. Its data are there when [copies are
    /// finished](Self::finish_copies).
    pub(crate) fn copy(&mut self, from: Ppn, to: Ppn, new: CopySpare) -> Result<()> {
        let owner = self.owner(from);
        if owner == Lpn::NONE {
            return Err(Error::WrongOwner(from));
        }
        let source = self.stored_mut().compose_copy(from, owner, new)?;
        self.save(to, owner, Area::Recorded, source)
    }

    /// Copies the data areas of the pages that were copied last.
    pub(crate) fn finish_copies(&mut self) {
        self.stored_mut().finish_copies();
    }

    /// Programs the composed page. A copy gets its data from the page `from`.
    fn save(&mut self, ppn: Ppn, owner: Lpn, area: Area, from: Option<Ppn>) -> Result<()> {
        self.claim(ppn, 1);
        let saved = self.stored_mut().save(ppn, area, from);
        let owner = if saved.is_ok() { owner } else { Lpn::SYSTEM };
        let before = core::mem::replace(&mut self.owners[ppn.0 as usize], owner.0);
        assert!(before == Lpn::NONE.0, "programmed {ppn:?}, which {:?} owns", Lpn(before));
        saved
    }

    /// Programs a page with all that it holds in another array.
    pub(crate) fn program_as_in(&mut self, other: &FlashArray, ppn: Ppn) -> Result<()> {
        let block = self.of_ftl.block_of(ppn);
        if other.is_slc(block) && !self.is_slc(block) {
            self.use_as_slc(block);
        }
        self.stored_mut().load_from(other.stored(), ppn)?;
        self.save(ppn, other.owner(ppn), Area::Recorded, None)
    }

    /// Copies the sectors in `mask` of page `ppn`, which must hold `lpn`, to the sink.
    pub(crate) fn read(
        &mut self,
        ppn: Ppn,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
    ) -> Result<()> {
        self.expect_owner(ppn, lpn)?;
        self.stored_mut().read(ppn, lpn, mask, sink)
    }

    /// Reads the spare area of a page.
    pub(crate) fn read_spare(&mut self, ppn: Ppn) -> Result<PageState> {
        self.stored_mut().read_spare(ppn)
    }

    /// Whether the data of page `ppn`, which must hold `lpn`, can be read.
    pub(crate) fn is_readable(&mut self, ppn: Ppn, lpn: Lpn) -> Result<bool> {
        Ok(self.owner(ppn) == lpn && self.stored_mut().is_readable(ppn, lpn)?)
    }

    /// The metadata of a page.
    pub(crate) fn read_meta(&mut self, ppn: Ppn) -> Result<&[u8]> {
        let owner = self.owner(ppn);
        self.stored_mut().read_meta(ppn, owner)
    }

    /// The state that a reader of a spare area finds.
    ///
    /// # Errors
    /// The storage failed.
    ///
    /// # Panics
    /// In count mode.
    pub fn state(&self, ppn: Ppn) -> Result<PageState> {
        self.stored().state(ppn)
    }

    pub(crate) fn sync(&mut self, by: SyncBy) -> Result<Option<SyncJob>> {
        match (&mut self.frozen, &mut self.pages) {
            // What has changed since is in memory only.
            (Some(flash), _) => flash.sync(by),
            (None, Some(pages)) => pages.store_mut().sync(by),
            (None, None) => Ok(None),
        }
    }

    pub(crate) fn end_sync(&mut self, done: Result<()>) -> Result<()> {
        match (&mut self.frozen, &mut self.pages) {
            (Some(flash), _) => flash.end_sync(done),
            (None, Some(pages)) => pages.store_mut().end_sync(done),
            (None, None) => done,
        }
    }

    // ---- Operations in every mode ----------------------------------------------------------

    /// Erases a block. After an error it counts as half erased.
    pub(crate) fn erase(&mut self, block: BlockId) -> Result<()> {
        let (index, span) = (block.0 as usize, self.of_ftl.span(block));
        debug_assert_eq!(
            self.filled[index],
            self.filled_by_owners(block),
            "{block:?}: the fill level and the owners differ"
        );
        let per_block = u64::from(self.of_ftl.pages_per_block());
        self.lost_pages += per_block - u64::from(core::mem::take(&mut self.filled[index]));
        self.owners[span].fill(Lpn::NONE.0);
        self.wear[index] += 1;
        if let Some(lives) = &mut self.lives {
            lives.erase(block);
        }
        if let Some(slc) = &mut self.slc {
            slc[index] = false;
        }
        if self.pages.is_some() { self.erase_stored(block) } else { Ok(()) }
    }

    /// Erases the stored pages of a block, apart from the path of a simulation, which stores none.
    #[inline(never)]
    fn erase_stored(&mut self, block: BlockId) -> Result<()> {
        let Some(pages) = &mut self.pages else { return Ok(()) };
        self.half_erased.retain(|&half| half != block);
        let erased = pages.erase(block, self.of_ftl.span(block));
        if erased.is_err() {
            self.half_erased.push(block);
        }
        erased
    }

    /// Checks that page `ppn` holds `lpn`. Reading the wrong page is a bug of the FTL, and panics
    /// in count mode. Where pages are stored, damaged contents can lead to it too.
    #[inline]
    pub(crate) fn expect_owner(&self, ppn: Ppn, lpn: Lpn) -> Result<()> {
        if self.owner(ppn) == lpn { Ok(()) } else { self.refuse_owner(ppn, lpn) }
    }

    #[cold]
    fn refuse_owner(&self, ppn: Ppn, lpn: Lpn) -> Result<()> {
        let holds = self.owner(ppn);
        let pages = self.pages.as_ref();
        let pages = pages.unwrap_or_else(|| panic!("read {ppn:?} for {lpn:?}; it holds {holds:?}"));
        // A page that cannot be read has lost its owner through a fault.
        Err(match pages.state(ppn)? {
            PageState::Unreadable => Error::Unreadable(ppn),
            _ => Error::WrongOwner(ppn),
        })
    }

    // ---- Blocks that fail ------------------------------------------------------------------

    /// The lives of all blocks, if they can fail.
    pub(crate) fn lives(&self) -> Option<&BlockLives> {
        self.lives.as_deref()
    }

    /// The block behind a number.
    pub(crate) fn behind(&self, number: BlockId) -> BlockId {
        self.lives.as_ref().map_or(number, |lives| lives.behind(number))
    }

    /// Does something that counts no lost pages: it is not of the FTL.
    pub(crate) fn without_losses<T>(&mut self, work: impl FnOnce(&mut FlashArray) -> T) -> T {
        let lost_pages = self.lost_pages;
        let done = work(self);
        self.lost_pages = lost_pages;
        done
    }

    /// Programs a page of the media: of a count, only that it is programmed.
    pub(crate) fn program_of_media(&mut self, ppn: Ppn, page: &Page, sequence: u64) -> Result<()> {
        if self.keeps_pages() {
            return self.program(ppn, page, 1, sequence, false);
        }
        self.count_run(ppn, page.owner, 1);
        Ok(())
    }

    /// Programs what a page holds, whatever it is, to another page. What cannot be read cannot be
    /// read there either.
    pub(crate) fn move_page(&mut self, from: Ppn, to: Ppn) -> Result<()> {
        if !self.keeps_pages() {
            self.count_copies(&[from], to);
            return Ok(());
        }
        let owner = self.owner(from);
        self.stored_mut().load_to_move(from)?;
        self.save(to, owner, Area::Recorded, None)
    }

    /// Leaves a page as a failed program does. A power cut may let it be read for some time, but
    /// not if its data were lost before.
    pub(crate) fn fail_program(&mut self, ppn: Ppn) -> Result<()> {
        if !self.keeps_pages() {
            return Ok(());
        }
        self.finish_copies();
        if self.spare(ppn)?.health == Health::DataLost {
            let header = self.header(ppn)?;
            self.inject(Fault::Header(ppn, header.map(|byte| !byte)))?;
        }
        self.tear(ppn, Health::Torn)
    }

    /// The next erase of a block is one too many.
    pub(crate) fn wear_out(&mut self, block: BlockId) {
        self.lives.as_mut().expect("the blocks can fail").wear_out(block);
    }

    /// Marks a block as bad, in the spare area of its first page, as makers of flash do: all bits
    /// of the header are zero.
    pub(crate) fn mark_bad(&mut self, block: BlockId) -> Result<()> {
        let first = self.of_ftl.first_page(block);
        if self.keeps_pages() {
            self.finish_copies();
            self.inject(Fault::Header(first, BAD_MARK))?;
        }
        self.lives.as_mut().expect("the blocks can fail").mark_bad(block);
        Ok(())
    }

    /// Finds the marks that a store has kept.
    pub(crate) fn find_bad_marks(&mut self) -> Result<()> {
        for block in (0..self.geometry.blocks()).map(BlockId) {
            let record = self.stored().store().spare(self.of_ftl.first_page(block))?;
            if record.header == Header::Damaged(BAD_MARK) {
                self.lives.as_mut().expect("the blocks can fail").mark_bad(block);
            }
        }
        Ok(())
    }

    /// Leaves an erased block as a failed erase does.
    pub(crate) fn fail_erase(&mut self, block: BlockId) -> Result<()> {
        if self.keeps_pages() { self.half_erase(block) } else { Ok(()) }
    }

    /// Pages that can be programmed in a block.
    pub(crate) fn usable_pages(&self, block: BlockId) -> u32 {
        match self.is_slc(block) {
            true => self.of_ftl.slc_pages(),
            false => self.of_ftl.pages_per_block(),
        }
    }

    /// Uses a block with one bit per cell if another one is used so.
    pub(crate) fn use_as(&mut self, block: BlockId, other: BlockId) {
        if self.is_slc(other) {
            self.use_as_slc(block);
        }
    }

    /// Two blocks exchange their numbers. Their erases, as the FTL counts them, stay.
    pub(crate) fn exchange(&mut self, one: BlockId, other: BlockId) {
        let spans = [one, other].map(|block| self.of_ftl.span(block));
        swap_ranges(&mut self.owners, spans);
        self.filled.swap(one.0 as usize, other.0 as usize);
        if let Some(slc) = &mut self.slc {
            slc.swap(one.0 as usize, other.0 as usize);
        }
        for block in &mut self.half_erased {
            *block = match *block {
                it if it == one => other,
                it if it == other => one,
                it => it,
            };
        }
        if let Some(lives) = &mut self.lives {
            lives.exchange(one, other);
        }
        if let Some(pages) = &mut self.pages {
            pages.store_mut().exchange(one, other);
        }
    }

    /// Gives the blocks the numbers that they have in another array with the same flash.
    pub(crate) fn number_as(&mut self, other: &FlashArray) {
        if self.lives.is_none() {
            return;
        }
        for number in (0..self.geometry.blocks()).map(BlockId) {
            self.put_behind(number, other.behind(number));
        }
    }

    /// Gives a block this number, in exchange for its own.
    pub(crate) fn put_behind(&mut self, number: BlockId, block: BlockId) {
        if self.behind(number) != block {
            let mut numbers = (0..self.geometry.blocks()).map(BlockId);
            let now = numbers.find(|&it| self.behind(it) == block);
            self.exchange(number, now.expect("every block has a number"));
        }
    }

    /// Whether the flash stays as it is, and this is a copy in memory.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// From now on, or still, the flash stays as it is. Whatever changes is in memory, until the
    /// power fails.
    pub(crate) fn freeze(&mut self) -> Result<()> {
        let Some(pages) = self.pages.as_ref().filter(|_| !self.is_frozen()) else { return Ok(()) };
        let pages = Some(pages.view_as_it_is()?);
        let copy = self.clone_with(self.owners.clone(), pages)?;
        let flash = core::mem::replace(self, copy);
        self.frozen = Some(Box::new(flash));
        Ok(())
    }

    /// Forgets what changed since the flash stays as it is.
    pub(crate) fn thaw(&mut self) {
        if let Some(flash) = self.frozen.take() {
            *self = *flash;
        }
    }

    /// Gives every block its own number back.
    pub(crate) fn forget_moves(&mut self) {
        while let Some((number, block)) =
            self.pages.as_ref().and_then(|pages| pages.store().moved())
        {
            self.exchange(number, block);
        }
    }

    // ---- Stand-ins -------------------------------------------------------------------------

    /// Lets the page `by` stand in for an unreadable page that had this spare area.
    pub(crate) fn stand_in(&mut self, page: Ppn, by: Ppn, spare: Spare, extra: &[u8]) {
        self.owners[page.0 as usize] = spare.owner.0;
        self.stored_mut().stand_in(page, by, spare, extra);
    }

    /// Ends all stand-ins: their pages are unreadable again.
    pub(crate) fn end_stand_ins(&mut self) {
        let pages: Vec<Ppn> = self.stand_ins().collect();
        pages.iter().for_each(|page| self.owners[page.0 as usize] = Lpn::SYSTEM.0);
        if let Some(stored) = &mut self.pages {
            stored.end_stand_ins();
        }
    }

    pub(crate) fn stand_ins(&self) -> impl Iterator<Item = Ppn> + '_ {
        self.pages.iter().flat_map(StoredPages::stand_ins)
    }

    // ---- Faults ----------------------------------------------------------------------------

    fn inject(&mut self, fault: Fault) -> Result<()> {
        self.stored_mut().store_mut().inject(fault)
    }

    fn spare(&self, ppn: Ppn) -> Result<PageRecord> {
        self.stored().store().spare(ppn)
    }

    /// Leaves a programmed page as an interrupted program does.
    pub(crate) fn tear(&mut self, ppn: Ppn, health: Health) -> Result<()> {
        assert!(self.owner(ppn) != Lpn::NONE, "an interrupted program left {ppn:?} erased");
        let now = self.spare(ppn)?;
        self.owners[ppn.0 as usize] = match (health, now.health, now.header) {
            // There are no data that could be read for some time.
            (Health::Unstable, Health::DataLost, _) => return Ok(()),
            // Also of a program that has failed.
            (Health::Unstable, _, Header::Intact(spare)) => spare.owner.0,
            _ => Lpn::SYSTEM.0,
        };
        self.inject(Fault::Health(ppn, health))
    }

    /// Leaves an erased block as an interrupted erase does: it reads as erased, and must be erased
    /// again.
    pub(crate) fn half_erase(&mut self, block: BlockId) -> Result<()> {
        assert!(self.filled[block.0 as usize] == 0, "an interrupted erase left {block:?} filled");
        self.half_erased.push(block);
        self.inject(Fault::HalfErased(block))
    }

    /// The bytes of the header of a page.
    fn header(&self, ppn: Ppn) -> Result<[u8; HEADER_BYTES]> {
        let record = self.spare(ppn)?;
        // A header is checked against the place on the chip, not against the number.
        let place = self.stored().store().page(ppn);
        Ok(record.header.bytes(place, &record.extra))
    }

    /// Flips a bit in the header of a programmed page.
    pub(crate) fn flip_bit(&mut self, ppn: Ppn) -> Result<()> {
        let mut header = self.header(ppn)?;
        let bit = scatter(ppn, u64::from(header[9])) as usize % (8 * header.len());
        header[bit / 8] ^= 1 << (bit % 8);
        self.owners[ppn.0 as usize] = Lpn::SYSTEM.0;
        self.inject(Fault::Header(ppn, header))
    }

    /// Gives a programmed page the header of the page that was programmed before it, as a chip does
    /// that programs the old contents of its page register.
    pub(crate) fn repeat_header(&mut self, ppn: Ppn) -> Result<()> {
        let mut before = (0, [0; HEADER_BYTES]);
        for other in (0..self.geometry.pages()).map(Ppn).filter(|&other| other != ppn) {
            if let PageState::Programmed(spare) = self.spare(other)?.state() {
                before = before.max((spare.sequence, self.header(other)?));
            }
        }
        self.owners[ppn.0 as usize] = Lpn::SYSTEM.0;
        self.inject(Fault::Header(ppn, before.1))
    }

    /// Moves a programmed page to an erased page of another block, as a chip does that programs the
    /// wrong page. Without such a page, the programmed page is torn.
    pub(crate) fn misdirect(&mut self, ppn: Ppn) -> Result<()> {
        let (geometry, block) = (self.geometry, self.geometry.block_of(ppn));
        let others = (1..geometry.blocks()).map(|n| BlockId((block.0 + n) % geometry.blocks()));
        let mut erased = others.flat_map(|other| geometry.span(other)).map(|at| Ppn(at as u32));
        let Some(to) = erased.find(|&at| self.owner(at) == Lpn::NONE) else {
            return self.tear(ppn, Health::Torn);
        };
        let header = self.header(ppn)?;
        self.inject(Fault::Header(to, header))?;
        self.inject(Fault::Health(ppn, Health::Erased))?;
        self.owners[to.0 as usize] = Lpn::SYSTEM.0;
        self.owners[ppn.0 as usize] = Lpn::NONE.0;
        for block in [block, geometry.block_of(to)] {
            self.filled[block.0 as usize] = self.filled_by_owners(block);
        }
        Ok(())
    }

    /// Leaves a block as an erase does that was interrupted early: every page reads as before until
    /// it decays.
    pub(crate) fn weaken_block(&mut self, block: BlockId) -> Result<()> {
        self.leave_half_erased(block, |_| Some(Health::Unstable))
    }

    /// Leaves a block as an erase does that was interrupted in the middle: some pages read as
    /// before, some cannot be read, some look erased. The numbers of the pages and the wear of the
    /// block decide which.
    pub(crate) fn mix_block(&mut self, block: BlockId) -> Result<()> {
        let draw = u64::from(self.wear[block.0 as usize]);
        self.leave_half_erased(block, |ppn| match scatter(ppn, draw) % 4 {
            0 => Some(Health::Torn),
            1 => Some(Health::LooksErased),
            2 => Some(Health::Unstable),
            _ => None,
        })
    }

    fn leave_half_erased(
        &mut self,
        block: BlockId,
        left: impl Fn(Ppn) -> Option<Health>,
    ) -> Result<()> {
        for ppn in self.of_ftl.span(block).map(|ppn| Ppn(ppn as u32)) {
            let health = self.spare(ppn)?.health;
            let is_programmed =
                matches!(health, Health::Good | Health::Unstable | Health::DataLost);
            if let (true, Some(left)) = (is_programmed, left(ppn)) {
                self.tear(ppn, left)?;
            }
        }
        if !self.half_erased.contains(&block) {
            self.half_erased.push(block);
        }
        self.inject(Fault::HalfErased(block))
    }

    /// Makes the data area of a page unreadable. Its spare area stays as it is.
    pub(crate) fn lose_data(&mut self, ppn: Ppn) -> Result<()> {
        let health = self.spare(ppn)?.health;
        let is_readable = matches!(health, Health::Good | Health::Unstable);
        if is_readable { self.inject(Fault::Health(ppn, Health::DataLost)) } else { Ok(()) }
    }

    /// A copy in which unstable pages have become unreadable, as they do in time.
    ///
    /// # Errors
    /// The storage failed.
    pub fn decayed(&self) -> Result<FlashArray> {
        let mut later = self.try_clone()?;
        later.decay()?;
        Ok(later)
    }

    /// Makes all unstable pages unreadable.
    pub(crate) fn decay(&mut self) -> Result<()> {
        self.inject(Fault::Decay)
    }

    // ---- Ownership of pages ----------------------------------------------------------------

    /// Claims the `pages` pages from `to` on for programming; here the rules are enforced.
    #[inline(always)]
    fn claim(&mut self, to: Ppn, pages: u32) {
        let block = self.of_ftl.block_of(to);
        let offset = to.0 - self.of_ftl.first_page(block).0;
        let end = offset + pages;
        if self.slc.is_some() || !self.half_erased.is_empty() {
            self.check_state(block, end);
        }
        let next = u32::from(self.filled[block.0 as usize]);
        let fits = end <= self.of_ftl.pages_per_block();
        let (in_order, filled) = match self.of_ftl.program_order() {
            ProgramOrder::Sequential => (offset == next, end),
            ProgramOrder::Ascending => {
                self.lost_pages += u64::from(offset.saturating_sub(next));
                (offset >= next, end)
            }
            ProgramOrder::Any => (fits && self.are_erased(to, pages), next + pages),
        };
        if !fits || !in_order {
            self.refuse_program(block, offset, pages, next);
        }
        self.filled[block.0 as usize] = filled as u16;
        debug_assert!(self.are_erased(to, pages), "{to:?}: claimed a page that has an owner");
    }

    #[cold]
    #[inline(never)]
    fn refuse_program(&self, block: BlockId, offset: u32, pages: u32, next: u32) -> ! {
        if offset + pages > self.of_ftl.pages_per_block() {
            panic!("{pages} pages from offset {offset} on do not fit {block:?}");
        }
        match self.of_ftl.program_order() {
            ProgramOrder::Any => {
                panic!("{block:?}: page {offset} or one of the {pages} from it is programmed")
            }
            _ => panic!("{block:?}: programmed page {offset}; next is {next}"),
        }
    }

    /// Checks that a block in a special state can take programs up to page `end`.
    #[cold]
    fn check_state(&self, block: BlockId, end: u32) {
        let half = self.half_erased.contains(&block);
        assert!(!half, "programmed {block:?}, which a cut left half erased");
        let most = self.of_ftl.slc_pages();
        let fits = !self.is_slc(block) || end <= most;
        assert!(
            fits,
            "programmed {end} pages of {block:?}, which has {most} with one bit per cell"
        );
    }

    fn are_erased(&self, first: Ppn, pages: u32) -> bool {
        self.owners_of_run(first, pages).iter().all(|&owner| owner == Lpn::NONE.0)
    }

    fn stored(&self) -> &StoredPages {
        self.pages.as_ref().expect("a chip in count mode keeps no pages")
    }

    fn stored_mut(&mut self) -> &mut StoredPages {
        self.pages.as_mut().expect("a chip in count mode keeps no pages")
    }
}

/// Swaps two ranges of the same length that do not overlap.
fn swap_ranges<T>(items: &mut [T], [one, other]: [Range<usize>; 2]) {
    let (low, high) = if one.start < other.start { (one, other) } else { (other, one) };
    let (before, from_high) = items.split_at_mut(high.start);
    before[low].swap_with_slice(&mut from_high[..high.end - high.start]);
}

#[inline]
fn expect_programmed(source: Ppn, owner: Lpn) {
    if owner == Lpn::NONE {
        refuse_copy(source);
    }
}

#[cold]
#[inline(never)]
fn refuse_copy(source: Ppn) -> ! {
    panic!("copied {source:?}, which is erased")
}

/// A number that depends on a page and on `draw` without any pattern.
pub(crate) fn scatter(ppn: Ppn, draw: u64) -> u64 {
    let mut x = u64::from(ppn.0).wrapping_add(draw << 32).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
