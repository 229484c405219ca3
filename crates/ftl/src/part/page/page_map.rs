//! A map with an entry for each logical page, and the blocks that it points into: what
//! page-granular schemes have in common.
//!
//! ```text
//! L2P  0 1 2 3 …          frontier  [3 0 7 3 _ _]   pages are appended
//!      │ └──────────────▶ full      [5 1 x x 9 x]   x: superseded
//!      └────────────────▶ full      [x 0 x x x 2]   a victim: its valid pages are copied to a
//!                                                   frontier, then it is erased
//! ```
//! How many frontiers there are, and who writes to which, is the scheme's business. Blocks are
//! filled in page order, so this runs on every program order.
//!
//! A scheme may keep pages of its own in the same map, above the host's: their owner is a number
//! beyond the capacity, and collections, mounts and audits treat them alike.
//!
//! **Coming back.** One scan finds the newest copy of each page; [`recovery_plan`] says what needs
//! care. Blocks that were open are closed and their remaining pages lost, for one of them may look
//! erased and be torn.

use nand::{BlockId, Cause, Content, Geometry, Lpn, Nand, Page, Ppn, Sink};

use crate::contract::{Base, BlockLender, MountConfig, Result, Run, Violation, ensure};
use crate::part::map::block_pool::BlockPool;
use crate::part::map::flat_map::FlatMap;
use crate::part::map::frontier::Frontier;
use crate::part::page::victims::{Policy, Victims};
use crate::part::recovery::recovery_plan::{self, RecoveryPlan};
use crate::part::recovery::spare_scan::{PageCopy, SpareScan};
use crate::part::recovery::trim_log::{self, TrimLog};

/// The map, the blocks, and the trims of a page-granular scheme.
#[derive(Debug)]
pub struct PageMap {
    /// Where pages stand, and trims. A scheme's own pages follow the host's.
    pub flat: FlatMap,
    logical_pages: u32,
    /// Free blocks.
    pub pool: BlockPool,
    victims: Victims,
    /// Host pages written: the clock of ages.
    written: u64,
    /// Valid pages of the victim; kept for its capacity.
    moving: Vec<Ppn>,
}

impl PageMap {
    /// The map of an empty device: all blocks are free. The scheme keeps `own_pages` of its own.
    pub fn format(nand: &Nand, device: &MountConfig, policy: Policy, own_pages: u32) -> PageMap {
        let geometry = nand.geometry();
        let per_block = geometry.pages_per_block();
        let (data, trims) = TrimLog::split(nand, device);
        let logical_pages = device.logical_blocks * per_block;
        PageMap {
            flat: FlatMap::new(logical_pages + own_pages, trims),
            logical_pages,
            pool: BlockPool::of(data),
            victims: Victims::new(policy, geometry, device.seed),
            written: 0,
            moving: Vec::with_capacity(per_block as usize),
        }
    }

    /// Pages of the exported capacity.
    pub fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    /// Host pages written; after a mount it goes on from the sequence of the last program.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Takes a free block, of which the caller has seen that there is one, to be filled.
    ///
    /// # Errors
    /// The power fails.
    pub fn open(&mut self, nand: &mut Nand) -> Result<Frontier> {
        let block = self.pool.take(nand)?;
        self.victims.open(block);
        Ok(Frontier::open(block, nand.geometry()))
    }

    /// Programs pages of a run, from page `index` on, at a frontier with room; returns how many of
    /// the `most` it did: those that the host gave whole, or one of which it gave some sectors.
    ///
    /// # Errors
    /// The power fails.
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
        let done = self.flat.program(nand, run, index, most.min(frontier.room()), to, kind)?;
        for page in 0..done {
            self.point(first.plus(page), to.plus(page), nand.geometry());
            self.flat.note_written(first.plus(page));
        }
        self.written += u64::from(done);
        self.advance(frontier, done, nand.geometry());
        Ok(done)
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
        self.point(owner, to, nand.geometry());
        self.advance(frontier, 1, nand.geometry());
        Ok(())
    }

    #[inline]
    fn point(&mut self, lpn: Lpn, to: Ppn, geometry: &Geometry) {
        let old = self.flat.point(lpn, to);
        if old != Ppn::NONE {
            self.victims.invalidate(geometry.block_of(old));
        }
    }

    fn advance(&mut self, frontier: &mut Frontier, pages: u32, geometry: &Geometry) {
        if let Some(full) = frontier.advance(pages, geometry) {
            self.victims.close(full, geometry.pages_per_block(), self.written);
        }
    }

    // ---- Garbage collection -------------------------------------------------------------------

    /// The policy's victim.
    ///
    /// # Panics
    /// No full block has a dead page, which cannot be on a device with the least extra blocks.
    pub fn choose_victim(&mut self) -> BlockId {
        let victim = self.victims.choose(self.written);
        victim.expect("with its least extra blocks a device always has a dead page")
    }

    /// The first valid page of a block, if there is one.
    pub fn first_valid(&self, nand: &Nand, block: BlockId) -> Option<Lpn> {
        let owners = nand.owners(block).iter().zip(nand.geometry().first_page(block).0..);
        let mut valid = owners.filter(|&(&owner, ppn)| self.flat.is_newest(owner, Ppn(ppn)));
        valid.next().map(|(&owner, _)| Lpn(owner))
    }

    /// Copies a block's valid pages to a frontier, which goes on in free blocks as need be, and
    /// erases it. `moved` hears of each page, and where it was. Copies get this `kind`; none: they
    /// keep theirs.
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

    /// The first half of [`empty`](Self::empty): copies a block's valid pages.
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
        let mut done = 0;
        while done < self.moving.len() {
            if frontier.room() == 0 {
                *frontier = self.open(nand)?;
            }
            done += self.copy_some(nand, done, frontier, kind, cause, &mut moved)?;
        }
        Ok(())
    }

    /// The second half: erases a block without valid pages, once all trims are written down.
    ///
    /// # Errors
    /// The power fails.
    pub fn erase(&mut self, nand: &mut Nand, victim: BlockId, cause: Cause) -> Result<()> {
        self.flat.flush(nand)?;
        nand.erase(victim, cause)?;
        self.victims.release(victim);
        self.pool.give(victim);
        Ok(())
    }

    /// Lists the valid pages of a block, in physical order.
    fn gather(&mut self, nand: &Nand, block: BlockId) {
        let owners = nand.owners(block);
        for &owner in owners {
            self.flat.prefetch_entry(owner);
        }
        // Without a branch on validity, which no predictor could guess.
        self.moving.resize(owners.len(), Ppn::NONE);
        let mut valid = 0;
        for (&owner, ppn) in owners.iter().zip(nand.geometry().first_page(block).0..) {
            self.moving[valid] = Ppn(ppn);
            valid += usize::from(self.flat.is_newest(owner, Ppn(ppn)));
        }
        self.moving.truncate(valid);
    }

    /// Copies gathered pages from number `done` on, as many as the frontier takes.
    fn copy_some(
        &mut self,
        nand: &mut Nand,
        done: usize,
        frontier: &mut Frontier,
        kind: Option<u8>,
        cause: Cause,
        moved: &mut impl FnMut(Lpn, Ppn),
    ) -> Result<usize> {
        let to = frontier.next();
        let pages = (self.moving.len() - done).min(frontier.room() as usize);
        nand.copy_many(&self.moving[done..][..pages], to, kind, cause)?;
        for (copy, &from) in (to.0..).map(Ppn).zip(&self.moving[done..][..pages]) {
            let owner = nand.owner(copy);
            self.flat.point(owner, copy);
            moved(owner, from);
        }
        self.advance(frontier, pages as u32, nand.geometry());
        Ok(pages)
    }

    // ---- Coming back --------------------------------------------------------------------------

    /// Fills a map just formatted with what is on the flash. `found` hears of the newest copy of
    /// each page, and how old it is on the clock of [`written`](Self::written). Returns the block
    /// that must be emptied before anything else, if there is one; after that the caller
    /// [resumes trims](Self::resume_trims).
    ///
    /// # Errors
    /// The power is lost again, or the flash holds what no writes and cuts can have left.
    pub fn recover(
        &mut self,
        nand: &mut Nand,
        device: &MountConfig,
        found: impl FnMut(&PageCopy),
    ) -> Result<Recovered> {
        let scan = SpareScan::read(nand, device.blocks)?;
        let last = scan.last();
        nand.resume_sequence(last.map_or(0, |copy| copy.spare.sequence) + 1);
        let mut tombstones = trim_log::tombstones(&mut self.flat.trims, nand, self.logical_pages)?;
        tombstones.resize(self.flat.pages() as usize, 0);
        let copies = scan.host_copies(self.flat.pages())?;
        let blocks: Vec<BlockId> = self.pool.iter().collect();
        let plan = recovery_plan::plan(nand.geometry(), &blocks, &copies, last, &tombstones)?;
        if let Some(block) = plan.given_up {
            nand.erase(block, Cause::Meta)?;
        }
        self.adopt(nand.geometry(), &scan, &plan);
        plan.newest.iter().flatten().for_each(found);
        Ok(Recovered { endangered: plan.endangered, last, tombstones })
    }

    /// Goes on with the trim log, once nothing is endangered any more.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn resume_trims(&mut self, nand: &mut Nand, recovered: &Recovered) -> Result<()> {
        let tombstones = &recovered.tombstones[..self.logical_pages as usize];
        self.flat.resume_trims(nand, tombstones, recovered.last)
    }

    /// Takes over what a scan found: blocks with a valid page are full, the others free.
    fn adopt(&mut self, geometry: &Geometry, scan: &SpareScan, plan: &RecoveryPlan) {
        let mut valid = vec![0; geometry.blocks() as usize];
        for (lpn, copy) in (0..).map(Lpn).zip(&plan.newest) {
            if let Some(copy) = copy {
                self.flat.point(lpn, copy.ppn);
                valid[geometry.block_of(copy.ppn).0 as usize] += 1;
            }
        }
        let mut free: Vec<BlockId> = core::mem::take(&mut self.pool).iter().collect();
        free.retain(|block| valid[block.0 as usize] == 0);
        // The fallback last: the first is erased and written to before the mount is done.
        free.sort_by_key(|&block| Some(block) == plan.fallback);
        free.iter().for_each(|&block| self.pool.give_doubtful(block));
        // In the order of their last programs, which is the order of ages.
        let mut full = last_programs(geometry, scan);
        full.retain(|&(_, block)| valid[block.0 as usize] > 0);
        for (sequence, block) in full {
            self.victims.open(block);
            self.written = sequence;
            self.victims.close(block, valid[block.0 as usize], sequence);
        }
    }

    // ---- What every page-granular scheme answers alike ----------------------------------------

    /// Bytes of the map itself, an entry a logical page.
    pub fn map_bytes(&self) -> u64 {
        4 * u64::from(self.logical_pages)
    }

    /// Bytes a controller spends on valid counts and trims.
    pub fn other_bytes(&self) -> u64 {
        self.victims.ram_bytes() + self.flat.trim_bytes()
    }

    /// No two pages on one, each block free, full or at a frontier, counts equal to a recount, and
    /// at least `reserve` free blocks.
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
        self.audit_free(nand.geometry(), &valid)?;
        self.audit_counts(nand.geometry(), &valid, frontiers)?;
        ensure!(self.pool.len() >= reserve, "only {} blocks are free", self.pool.len());
        Ok(())
    }

    fn audit_free(
        &self,
        geometry: &Geometry,
        valid: &[u32],
    ) -> core::result::Result<(), Violation> {
        let mut seen = vec![false; geometry.blocks() as usize];
        for block in self.pool.iter() {
            let twice = core::mem::replace(&mut seen[block.0 as usize], true);
            ensure!(!twice, "{block:?} is free twice");
            ensure!(valid[block.0 as usize] == 0, "{block:?} is free and holds valid pages");
            let listed = self.victims.is_open(block) || self.victims.valid(block).is_some();
            ensure!(!listed, "{block:?} is free and in use");
        }
        Ok(())
    }

    fn audit_counts(
        &self,
        geometry: &Geometry,
        valid: &[u32],
        frontiers: &[Frontier],
    ) -> core::result::Result<(), Violation> {
        for block in (0..geometry.blocks()).map(BlockId) {
            let recount = valid[block.0 as usize];
            if let Some(count) = self.victims.valid(block) {
                ensure!(count == recount, "{block:?} has {recount} valid pages, counted {count}");
            } else if self.victims.is_open(block) {
                let mut fills = frontiers.iter();
                let frontier = fills.find(|frontier| frontier.block(geometry) == Some(block));
                ensure!(frontier.is_some(), "{block:?} is open, but nothing fills it");
                let room = frontier.map_or(0, Frontier::room);
                self.victims.audit(block, geometry.pages_per_block() - room, recount)?;
            }
        }
        Ok(())
    }
}

/// What a mount still has to do, and what for.
#[derive(Debug)]
pub struct Recovered {
    /// The block to empty: its last page may decay.
    pub endangered: Option<BlockId>,
    last: Option<PageCopy>,
    tombstones: Vec<u64>,
}

/// Blocks with a readable page, by the sequence of their last program.
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
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.flat.read(nand, run, sink)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let (mut at, end) = (first.0, first.0 + pages);
        while let Some(run) = self.flat.mapped_run(at..end) {
            at = run.end;
            run.clone().for_each(|lpn| self.point(Lpn(lpn), Ppn::NONE, nand.geometry()));
            self.flat.note_trimmed(nand, run)?;
        }
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.flat.flush(nand)
    }

    fn prefetch(&self, run: &Run) {
        self.flat.prefetch(run);
    }

    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        self.flat.version(nand, lpn)
    }

    fn free_blocks(&self) -> u32 {
        self.pool.len()
    }

    fn block_lender(&mut self) -> Option<&mut dyn BlockLender> {
        Some(&mut self.pool)
    }
}
