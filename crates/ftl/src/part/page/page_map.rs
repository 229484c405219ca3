//! A map with an entry for each logical page, and the blocks that it points into: the common base
//! of the page-granular schemes.
//!
//! ```text
//! L2P  0 1 2 3 …          frontier  [3 0 7 3 _ _]   pages are appended
//!      │ └──────────────▶ full      [5 1 x x 9 x]   x: superseded
//!      └────────────────▶ full      [x 0 x x x 2]   a victim: its valid pages are copied to a
//!                                                   frontier, then it is erased
//! ```
//! The scheme decides how many frontiers there are and which pages go to which. Blocks are filled
//! in page order, so every chip accepts the programs, whatever order it demands.
//!
//! A scheme may keep pages of its own in the same map, after the host's. Their owner is a number
//! beyond the capacity. Garbage collection, mounts and audits treat them like the host's pages.
//!
//! **Mounting.** One scan finds the newest copy of each page; [`recovery_plan`] explains the cases
//! that need care. Blocks that were open are closed, and their remaining pages are lost, because
//! one of them may be torn although it looks erased.

use nand::{BlockId, Cause, Content, Copies, Data, Geometry, Lpn, Nand, Page, Pages, Ppn};

use crate::contract::{Base, MountConfig, Ram, Report, Result, Run, Span, Violation, ensure};
use crate::part::map::flat_map::{FlatMap, answered_by_flat};
use crate::part::map::frontier::Frontier;
use crate::part::map::rmw;
use crate::part::page::victims::Victims;
use crate::part::page::victims::policy::Policy;
use crate::part::recovery::recovery_plan::{self, RecoveryPlan};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan, Suspects};
use crate::part::recovery::survey::{self, Survey};

/// The map, the blocks, and the trims of a page-granular scheme.
#[derive(Debug)]
pub struct PageMap {
    /// The newest place of each page, free blocks and trims. A scheme's own pages follow the
    /// host's.
    pub flat: FlatMap,
    logical_pages: u32,
    victims: Victims,
    /// Host pages written. The ages of blocks are measured by this clock.
    written: u64,
    /// Valid pages of the current victim. Kept between victims to reuse its memory.
    moving: Vec<Ppn>,
    /// Pages that are written together. Kept to reuse its memory.
    singles: Vec<u32>,
}

impl PageMap {
    /// The map of an empty device, on which all blocks are free. The scheme keeps `own_pages` pages
    /// of its own.
    pub fn format(nand: &Nand, device: &MountConfig, policy: &Policy, own_pages: u32) -> PageMap {
        let geometry = nand.geometry();
        let per_block = geometry.pages_per_block();
        PageMap {
            flat: FlatMap::format(nand, device, own_pages),
            logical_pages: device.logical_blocks * per_block,
            victims: Victims::new(policy, geometry, device.params, device.seed),
            written: 0,
            moving: Vec::with_capacity(per_block as usize),
            singles: Vec::new(),
        }
    }

    /// Pages of the exported capacity.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Host pages written. After a mount the count continues from the sequence number of the last
    /// program.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Takes a free block to be filled. The caller guarantees that there is one.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand) -> Result<Frontier> {
        let block = self.flat.pool.take(nand)?;
        self.victims.open(block);
        Ok(Frontier::open(block, nand.geometry()))
    }

    /// Programs at most `most` pages of a run, from page `index` on, at a frontier with room.
    /// Returns the number of pages programmed: the pages in a row that the host wrote whole, or one
    /// page of which it wrote some sectors.
    ///
    /// # Errors
    /// The power fails.
    #[inline(always)]
    pub fn write(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        most: u32,
        frontier: &mut Frontier,
        kind: u8,
    ) -> Result<u32> {
        let (first, to) = (run.first.plus(index), frontier.next());
        let some = (run, index, most.min(frontier.room()));
        let done = rmw::program(nand, some, to, kind, |lpn| self.flat.newest(lpn))?;
        let pages = (0..done).map(|page| (first.plus(page), to.plus(page)));
        self.note_written(nand, done, pages, frontier);
        Ok(done)
    }

    /// Writes the first of these requests, as [`Ftl::write`](crate::contract::Ftl::write) does with
    /// those that follow its run: single whole pages, as long as the frontier has room. Returns
    /// their number.
    ///
    /// # Errors
    /// The power fails.
    pub fn write_next(
        &mut self,
        nand: &mut Nand,
        next: &[Span],
        frontier: &mut Frontier,
    ) -> Result<usize> {
        if next.is_empty() {
            return Ok(0);
        }
        let mut lpns = core::mem::take(&mut self.singles);
        lpns.clear();
        let singles = single_pages(nand, next).take(frontier.room() as usize);
        lpns.extend(singles.map(|span| span.first));
        if !lpns.is_empty() {
            // A chip that only counts keeps neither kinds nor data.
            let to = frontier.next();
            let pages = Pages::List { lpns: &lpns, kind: 0, data: Data::None };
            nand.program(to, pages, Cause::Host)?;
            let pages = lpns.iter().map(|&lpn| Lpn(lpn)).zip((to.0..).map(Ppn));
            self.note_written(nand, lpns.len() as u32, pages, frontier);
        }
        let written = lpns.len();
        self.singles = lpns;
        Ok(written)
    }

    /// Writes one of [these](single_pages) pages at a frontier with room.
    ///
    /// # Errors
    /// The power fails.
    #[inline]
    pub fn write_single(
        &mut self,
        nand: &mut Nand,
        lpn: Lpn,
        frontier: &mut Frontier,
    ) -> Result<()> {
        let to = frontier.next();
        let pages = Pages::Run { first: lpn, pages: 1, kind: 0, data: Data::None };
        nand.program(to, pages, Cause::Host)?;
        self.note_written(nand, 1, core::iter::once((lpn, to)), frontier);
        Ok(())
    }

    /// Notes that this number of pages of the host were programmed at a frontier, and where each
    /// is now.
    #[inline(always)]
    fn note_written(
        &mut self,
        nand: &Nand,
        pages: u32,
        places: impl Iterator<Item = (Lpn, Ppn)>,
        frontier: &mut Frontier,
    ) {
        for (lpn, to) in places {
            self.point(nand, lpn, to);
            self.flat.note_written(lpn);
        }
        self.written += u64::from(pages);
        self.advance(frontier, pages, nand.geometry());
    }

    /// Programs a page of the scheme's own at a frontier with room.
    ///
    /// # Errors
    /// The power fails.
    pub fn write_own(
        &mut self,
        nand: &mut Nand,
        owner: Lpn,
        bytes: &[u8],
        frontier: &mut Frontier,
        kind: u8,
        cause: Cause,
    ) -> Result<()> {
        let to = frontier.next();
        let content = Content::Meta(bytes);
        nand.program(to, &Page { owner, kind, extra: &[], content }, cause)?;
        self.point(nand, owner, to);
        self.advance(frontier, 1, nand.geometry());
        Ok(())
    }

    /// Points a page to the place where it was just programmed.
    #[inline]
    fn point(&mut self, nand: &Nand, lpn: Lpn, to: Ppn) {
        debug_assert_eq!(
            nand.owner(to),
            lpn,
            "{lpn:?} is pointed to {to:?}, which holds another page"
        );
        self.replace(nand, lpn, to);
    }

    /// Replaces a map entry; the page that it pointed to is no longer valid.
    #[inline(always)]
    fn replace(&mut self, nand: &Nand, lpn: Lpn, to: Ppn) {
        let old = self.flat.point(lpn, to);
        if old != Ppn::NONE {
            debug_assert_eq!(
                nand.owner(old),
                lpn,
                "{lpn:?} pointed to {old:?}, which holds another page"
            );
            self.victims.invalidate(nand.geometry().block_of(old));
        }
    }

    /// Forgets a page of the FTL's own, which becomes dead.
    pub fn forget(&mut self, nand: &Nand, owner: Lpn) {
        debug_assert!(owner.0 >= self.logical_pages(), "{owner:?} is a page of the host");
        self.replace(nand, owner, Ppn::NONE);
    }

    /// Moves a frontier past pages that were just programmed, and closes its block if it is full.
    #[inline]
    fn advance(&mut self, frontier: &mut Frontier, pages: u32, geometry: &Geometry) {
        if let Some(full) = frontier.advance(pages, geometry) {
            self.victims.close(full, geometry.pages_per_block(), self.written);
        }
    }

    /// Closes the block of a frontier before it is full. Nothing is written to the rest of it.
    pub fn close(&mut self, frontier: Frontier, geometry: &Geometry) {
        let programmed = geometry.pages_per_block() - frontier.room();
        if let Some(block) = frontier.block(geometry) {
            self.victims.close(block, programmed, self.written);
        }
    }

    // ---- Garbage collection -------------------------------------------------------------------

    /// The policy's victim.
    ///
    /// # Panics
    /// No full block has a dead page. This cannot happen on a device that has at least the extra
    /// blocks that its scheme demands.
    pub fn choose_victim(&mut self) -> BlockId {
        let victim = self.victims.choose(self.written);
        victim.expect("with the extra blocks that schemes demand, some full block has a dead page")
    }

    /// The full block with the fewest valid pages; none if no block is full.
    pub fn fewest_valid(&self) -> Option<BlockId> {
        self.victims.counts().fewest().map(|(block, _)| block)
    }

    /// The valid pages of a full block; none if the block is not full.
    pub fn valid_pages_of_full(&self, block: BlockId) -> Option<u16> {
        self.victims.counts().of_full(block)
    }

    /// The pages of a block that are valid or still erased; none if the block is neither open nor
    /// full.
    pub fn valid_or_erased_pages(&self, block: BlockId) -> Option<u16> {
        self.victims.counts().valid_or_erased(block)
    }

    /// The first valid page of a block, if there is one.
    pub fn first_valid(&self, nand: &Nand, block: BlockId) -> Option<Lpn> {
        let owners = nand.owners(block).iter().zip(nand.geometry().first_page(block).0..);
        let mut valid = owners.filter(|&(&owner, ppn)| self.flat.is_newest(owner, Ppn(ppn)));
        valid.next().map(|(&owner, _)| Lpn(owner))
    }

    /// Copies the valid pages of a block to a frontier and erases the block. When the frontier's
    /// block is full, the frontier continues in a free one. `moved` is called with each page and
    /// its old place. Copies get the given `kind`, or keep theirs if there is none.
    ///
    /// # Errors
    /// The power fails.
    pub fn empty(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        frontier: &mut Frontier,
        kind: Option<u8>,
        cause: Cause,
        moved: impl FnMut(Lpn, Ppn),
    ) -> Result<()> {
        self.move_out(nand, victim, frontier, kind, cause, moved)?;
        self.erase(nand, victim, cause)
    }

    /// The first half of [`empty`](Self::empty): copies the valid pages of a block.
    ///
    /// # Errors
    /// The power fails.
    pub fn move_out(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        frontier: &mut Frontier,
        kind: Option<u8>,
        cause: Cause,
        mut moved: impl FnMut(Lpn, Ppn),
    ) -> Result<()> {
        self.gather(nand, victim);
        let moving = core::mem::take(&mut self.moving);
        let mut rest = &moving[..];
        while !rest.is_empty() {
            if frontier.room() == 0 {
                *frontier = self.open(nand)?;
            }
            rest = &rest[self.copy(nand, rest, frontier, kind, cause, &mut moved)?..];
        }
        self.moving = moving;
        Ok(())
    }

    /// The second half: erases a block without valid pages, after all trims have been written to
    /// flash.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase(&mut self, nand: &mut Nand, victim: BlockId, cause: Cause) -> Result<()> {
        let valid = || self.first_valid(nand, victim);
        debug_assert_eq!(valid(), None, "{victim:?} is to be erased, but holds a valid page");
        self.flat.pool.erase(nand, victim, cause)?;
        self.victims.release(victim);
        Ok(())
    }

    /// The valid pages of a block, in physical order.
    pub fn gather(&mut self, nand: &Nand, block: BlockId) -> &[Ppn] {
        self.flat.gather(nand, block, &mut self.moving, |_, ppn| ppn);
        &self.moving
    }

    /// Copies valid pages of a victim, as many as the frontier has room for. Returns their number.
    /// For the rest see [`empty`](Self::empty).
    ///
    /// # Errors
    /// The power fails.
    pub fn copy(
        &mut self,
        nand: &mut Nand,
        from: &[Ppn],
        frontier: &mut Frontier,
        kind: Option<u8>,
        cause: Cause,
        moved: &mut impl FnMut(Lpn, Ppn),
    ) -> Result<usize> {
        let to = frontier.next();
        let pages = from.len().min(frontier.room() as usize);
        nand.copy(to, Copies::of(&from[..pages]).with_kind(kind), cause)?;
        let owners = nand.array().owners_of_run(to, pages as u32);
        for (index, (&owner, &from)) in (0..).zip(owners.iter().zip(from)) {
            let old = self.flat.point(Lpn(owner), to.plus(index));
            debug_assert_eq!(old, from, "{owner} was copied from a place that it had left");
            moved(Lpn(owner), from);
        }
        self.advance(frontier, pages as u32, nand.geometry());
        Ok(pages)
    }

    // ---- Mounting -----------------------------------------------------------------------------

    /// Fills a map that was just formatted with the pages found on flash. `found` is called with
    /// the newest copy of each page. If the result names an endangered block, the caller empties it
    /// before anything else; then it [commits](Self::commit_recovery).
    ///
    /// # Errors
    /// The power is lost again, or no sequence of writes and cuts can have led to what is on flash.
    pub fn recover(
        &mut self,
        nand: &mut Nand,
        device: &MountConfig,
        found: impl FnMut(PageCopy) -> Result<()>,
    ) -> Result<Recovered> {
        let Survey { scan, suspects, .. } = survey::read(nand, device, &mut self.flat.pool.trims)?;
        scan.is_within(self.flat.pages())?;
        let blocks: Vec<BlockId> = self.flat.pool.iter().collect();
        let newest = recovery_plan::elect(&scan, self.flat.pages());
        let plan = recovery_plan::plan(nand.geometry(), &blocks, &scan, newest, &suspects)?;
        if let Some(block) = plan.given_up {
            self.flat.give_up(nand, block)?;
        }
        self.adopt(nand.geometry(), &scan, &plan);
        plan.newest.iter().filter_map(|&ppn| scan.copy(ppn)).try_for_each(found)?;
        Ok(Recovered { endangered: plan.endangered, suspects })
    }

    /// Continues the trim log. The caller has emptied the endangered block, if there was one.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn commit_recovery(&mut self, nand: &mut Nand, recovered: &Recovered) -> Result<()> {
        self.flat.commit_recovery(nand, &recovered.suspects)
    }

    /// Fills map, pool and victims by a plan: blocks with a valid page are full, the others free.
    fn adopt(&mut self, geometry: &Geometry, scan: &SpareScan, plan: &RecoveryPlan) {
        let mut valid = vec![0; geometry.blocks() as usize];
        let mapped = (0..).map(Lpn).zip(&plan.newest).filter(|(_, ppn)| **ppn != Ppn::NONE);
        for (lpn, &ppn) in mapped {
            self.flat.point(lpn, ppn);
            valid[geometry.block_of(ppn).0 as usize] += 1;
        }
        let mut free: Vec<BlockId> = self.flat.pool.drain();
        free.retain(|block| valid[block.0 as usize] == 0);
        // The fallback goes last: the mount itself may erase and program the first free block.
        free.sort_by_key(|&block| Some(block) == plan.fallback);
        free.iter().for_each(|&block| self.flat.pool.give_doubtful(block));
        // Blocks close in the order of their last programs, which is the order of their ages.
        let mut full = last_programs(geometry, scan);
        full.retain(|&(_, block)| valid[block.0 as usize] > 0);
        for (sequence, block) in full {
            self.victims.open(block);
            self.written = sequence;
            self.victims.close(block, valid[block.0 as usize], sequence);
        }
    }

    // ---- Answers common to all page-granular schemes ------------------------------------------

    /// What all page-granular schemes report: an entry of four bytes a page, valid counts, trims
    /// and free blocks.
    pub fn report(&self) -> Report {
        let map = 4 * u64::from(self.logical_pages);
        let other = self.victims.counts().ram_bytes() + self.flat.pool.trim_bytes();
        let ram = Ram { map, other, ..Ram::default() };
        Report { ram, free_blocks: self.flat.pool.len(), ..Report::default() }
    }

    /// Checks that no two logical pages share a physical one, that each block is free, full or at a
    /// frontier, that valid counts equal a recount, and that at least `reserve` blocks are free.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(
        &self,
        nand: &Nand,
        frontiers: &[Frontier],
        reserve: u32,
    ) -> core::result::Result<(), Violation> {
        let valid = self.flat.audit(nand)?;
        self.audit_free()?;
        self.audit_counts(nand, &valid, frontiers)?;
        ensure!(self.flat.pool.len() >= reserve, "only {} blocks are free", self.flat.pool.len());
        Ok(())
    }

    fn audit_free(&self) -> core::result::Result<(), Violation> {
        for block in self.flat.pool.iter() {
            let is_open = self.victims.counts().is_open(block);
            ensure!(!is_open, "{block:?} is free and open");
            let is_full = self.victims.counts().of_full(block).is_some();
            ensure!(!is_full, "{block:?} is free and full");
        }
        Ok(())
    }

    fn audit_counts(
        &self,
        nand: &Nand,
        valid: &[u32],
        frontiers: &[Frontier],
    ) -> core::result::Result<(), Violation> {
        let (geometry, counts) = (nand.geometry(), self.victims.counts());
        let mut listed = self.flat.pool.len();
        for block in (0..geometry.blocks()).map(BlockId) {
            let recount = valid[block.0 as usize];
            if counts.of_full(block).is_some() {
                counts.audit(block, geometry.pages_per_block(), recount)?;
            } else if counts.is_open(block) {
                let mut at_block = frontiers.iter().filter(|f| f.block(geometry) == Some(block));
                let Some(frontier) = at_block.next() else {
                    return Err(Violation(format!("{block:?} is open, but no frontier fills it")));
                };
                ensure!(at_block.next().is_none(), "{block:?} is filled by two frontiers");
                frontier.audit(nand)?;
                counts.audit(block, geometry.pages_per_block() - frontier.room(), recount)?;
            } else {
                ensure!(recount == 0, "{block:?} holds valid pages, but is neither open nor full");
                continue;
            }
            listed += 1;
        }
        let blocks = self.flat.pool.blocks();
        ensure!(listed == blocks, "{listed} of {blocks} blocks are in a list");
        self.victims.audit()
    }
}

/// The first of the requests that follow a run, as far as an FTL may write them with it: those that
/// write a single whole page, on a chip that keeps no data and has no guard.
#[inline]
pub fn single_pages<'a>(nand: &Nand, next: &'a [Span]) -> impl Iterator<Item = &'a Span> + use<'a> {
    let ahead = if nand.array().keeps_pages() || nand.has_guard() { &[] } else { next };
    let full = nand.geometry().full_mask();
    ahead.iter().take_while(move |span| span.only_page(full).is_some())
}

/// The steps of a mount that are left to the scheme.
#[derive(Debug)]
pub struct Recovered {
    /// The block to empty, because its last page may become unreadable.
    pub endangered: Option<BlockId>,
    suspects: Suspects,
}

/// Blocks with a readable page, in the order of their last programs.
fn last_programs(geometry: &Geometry, scan: &SpareScan) -> Vec<(u64, BlockId)> {
    let mut last = vec![0; geometry.blocks() as usize];
    for copy in scan.copies() {
        let slot = &mut last[geometry.block_of(copy.ppn).0 as usize];
        *slot = copy.spare.sequence.max(*slot);
    }
    let blocks = last.into_iter().zip((0..).map(BlockId));
    let mut blocks: Vec<_> = blocks.filter(|&(sequence, _)| sequence > 0).collect();
    blocks.sort_unstable();
    blocks
}

impl Base for PageMap {
    answered_by_flat!([flat] read flush prefetch place extent facet);

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let (mut at, end) = (first.0, first.0 + pages);
        while let Some(run) = self.flat.mapped_run(at..end) {
            at = run.end;
            run.clone().for_each(|lpn| self.replace(nand, Lpn(lpn), Ppn::NONE));
            self.flat.note_trimmed(nand, run)?;
        }
        Ok(())
    }
}
