//! page: one L2P entry a page; writes go where there is room, garbage collection makes room.
//!
//! ```text
//! L2P  0 1 2 3 …          frontier  [3 0 7 3 _ _]   host writes append here
//!      │ └──────────────▶ full      [5 1 x x 9 x]   x: superseded
//!      └────────────────▶ full      [x 0 x x x 2]   ◀ victim: fewest valid pages (greedy)
//! ```
//! When erased blocks are down to the reserve, a victim's valid pages are copied to the frontier of
//! garbage collection (the host's own with `frontiers=1`) and the victim is erased. Uniform random
//! writes have closed forms: greedy and fifo in the mean-field limit (Desnoyers 2012; Bux and
//! Iliadis 2010), random 1/(1−ρ).
//!
//! Invariants: an LPN maps to the page that holds its newest version; at least `RESERVE` blocks are
//! erased whenever no victim is being emptied; blocks are filled in page order, so this scheme
//! runs on every program order.
//!
//! **Coming back.** One scan finds the newest copy of each page; [`recovery`] says what needs care.
//! Blocks that were open are closed and their remaining pages lost, for one of them may look erased
//! and be torn.

use nand::{BlockId, Cause, Chip, Geometry, Lpn, Nand, Ppn, Sink};
use spec::{Kind, Param, Params};

use crate::contract::{Device, Figure, Ftl, Ram, Report, Result, Run, Scheme, Violation};
use crate::ensure;
use crate::part::block_pool::BlockPool;
use crate::part::frontier::Frontier;
use crate::part::kind;
use crate::part::prefetch::prefetch;
use crate::part::recovery::{self, Plan};
use crate::part::rmw;
use crate::part::scan::{self, Scan};
use crate::part::trim_log::{self, TrimLog};
use crate::part::victims::{Policy, Victims};

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;

static PARAMS: &[Param] = &[
    Param {
        name: "victim",
        kind: Kind::Choice(Policy::NAMES),
        default: "greedy",
        unit: "",
        doc: "which full block garbage collection empties",
    },
    Param {
        name: "d",
        kind: Kind::Count,
        default: "2",
        unit: "draws",
        doc: "blocks that dchoices draws, with replacement",
    },
    Param {
        name: "frontiers",
        kind: Kind::Count,
        default: "1",
        unit: "blocks",
        doc: "1: host and garbage collection fill one block; 2: one each",
    },
];

/// Page mapping.
pub static SCHEME: Scheme = Scheme {
    name: "page",
    summary: "page mapping: an L2P entry a page, garbage collection by a choice of victim policies",
    source: "the baseline of all five papers; policies as in schemes they cite",
    params: PARAMS,
    refuses,
    least_extra: |params, _, _| RESERVE + params.count("frontiers") as u32,
    mount,
};

fn refuses(params: &Params, _: &Chip) -> Option<String> {
    match (params.count("frontiers"), params.count("d")) {
        (1 | 2, 1..=65_536) => None,
        (1 | 2, d) => Some(format!("d={d} draws; 1 to 65536 are possible")),
        (frontiers, _) => Some(format!("frontiers={frontiers}; 1 or 2 are possible")),
    }
}

fn mount(nand: &mut Nand, device: &Device) -> Result<Box<dyn Ftl>> {
    let mut ftl = PageMapped::format(nand, device);
    if !nand.is_factory_new() {
        ftl.recover(nand, device)?;
    }
    Ok(Box::new(ftl))
}

struct PageMapped {
    l2p: Vec<Ppn>,
    pool: BlockPool,
    victims: Victims,
    host: Frontier,
    /// Where garbage collection writes; with one frontier the host's serves.
    gc: Option<Frontier>,
    trims: Option<TrimLog>,
    /// Host pages written: the clock of ages.
    written: u64,
    /// Valid pages of the victim; kept for its capacity.
    moving: Vec<Ppn>,
    victims_taken: u64,
}

impl PageMapped {
    fn format(nand: &Nand, device: &Device) -> PageMapped {
        let geometry = nand.geometry();
        let per_block = geometry.pages_per_block();
        let (data, trims) = TrimLog::split(nand, device);
        let choice = device.params.choice("victim");
        let policy = Policy::named(choice, device.params.count("d") as u32);
        PageMapped {
            l2p: vec![Ppn::NONE; (device.logical_blocks * per_block) as usize],
            pool: BlockPool::of(data),
            victims: Victims::new(policy.expect("a declared choice"), geometry, device.seed),
            host: Frontier::NONE,
            gc: (device.params.count("frontiers") == 2).then_some(Frontier::NONE),
            trims,
            written: 0,
            moving: Vec::with_capacity(per_block as usize),
            victims_taken: 0,
        }
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// Sees to it that the host's frontier has room.
    fn make_room(&mut self, nand: &mut Nand) -> Result<()> {
        while self.host.room() == 0 {
            if self.pool.len() > RESERVE {
                self.host = self.open(nand)?;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }

    /// Programs whole pages, as many as the frontier takes, and maps them.
    fn write_whole(&mut self, nand: &mut Nand, run: &Run, index: u32, pages: u32) -> Result<()> {
        let (first, to) = (run.first.plus(index), self.host.next());
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        nand.program_run(to, first, pages, kind::DATA, data, Cause::Host)?;
        for page in 0..pages {
            self.map(first.plus(page), to.plus(page), nand.geometry());
        }
        self.fill_host(pages, nand.geometry());
        Ok(())
    }

    /// Programs one page of which the host gave only some sectors.
    fn write_part(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<()> {
        let (owner, to) = (run.first.plus(index), self.host.next());
        let full = nand.geometry().full_mask();
        let mask = run.mask(index, full);
        let base = self.mapped(owner);
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        rmw::program(nand, to, owner, mask, data, base)?;
        self.map(owner, to, nand.geometry());
        self.fill_host(1, nand.geometry());
        Ok(())
    }

    fn fill_host(&mut self, pages: u32, geometry: &Geometry) {
        self.written += u64::from(pages);
        if let Some(full) = self.host.advance(pages, geometry) {
            self.victims.close(full, geometry.pages_per_block(), self.written);
        }
    }

    fn map(&mut self, lpn: Lpn, to: Ppn, geometry: &Geometry) {
        let old = core::mem::replace(&mut self.l2p[lpn.0 as usize], to);
        if old != Ppn::NONE {
            self.victims.invalidate(geometry.block_of(old));
        }
        if let Some(trims) = &mut self.trims {
            trims.written(lpn);
        }
    }

    fn mapped(&self, lpn: Lpn) -> Option<Ppn> {
        Some(self.l2p[lpn.0 as usize]).filter(|&ppn| ppn != Ppn::NONE)
    }

    // ---- Garbage collection -------------------------------------------------------------------

    /// Empties the policy's victim and erases it.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.victims.choose(self.written);
        let victim = victim.expect("with its least extra blocks a device always has a dead page");
        self.victims_taken += 1;
        self.empty(nand, victim, Cause::Gc)
    }

    fn empty(&mut self, nand: &mut Nand, victim: BlockId, cause: Cause) -> Result<()> {
        self.gather(nand, victim);
        let mut moved = 0;
        while moved < self.moving.len() {
            if self.gc_frontier().room() == 0 {
                *self.gc_frontier() = self.open(nand)?;
            }
            moved += self.copy_some(nand, moved, cause)?;
        }
        if let Some(trims) = &mut self.trims {
            trims.flush(nand)?;
        }
        nand.erase(victim, cause)?;
        self.victims.release(victim);
        self.pool.give(victim);
        Ok(())
    }

    /// Lists the valid pages of a block, in physical order.
    fn gather(&mut self, nand: &Nand, block: BlockId) {
        let owners = nand.owners(block);
        for &owner in owners {
            prefetch(&self.l2p, owner as usize);
        }
        // Without a branch on validity, which no predictor could guess.
        self.moving.resize(owners.len(), Ppn::NONE);
        let mut valid = 0;
        for (&owner, ppn) in owners.iter().zip(nand.geometry().first_page(block).0..) {
            self.moving[valid] = Ppn(ppn);
            // Padding and erased pages own what no map has.
            valid += usize::from(self.l2p.get(owner as usize) == Some(&Ppn(ppn)));
        }
        self.moving.truncate(valid);
    }

    /// Copies gathered pages from number `moved` on, as many as the frontier takes.
    fn copy_some(&mut self, nand: &mut Nand, moved: usize, cause: Cause) -> Result<usize> {
        let geometry = *nand.geometry();
        let frontier = self.gc_frontier();
        let (to, room) = (frontier.next(), frontier.room());
        let pages = (self.moving.len() - moved).min(room as usize);
        nand.copy_many(&self.moving[moved..][..pages], to, None, cause)?;
        for page in 0..pages as u32 {
            let copy = to.plus(page);
            self.l2p[nand.owner(copy).0 as usize] = copy;
        }
        if let Some(full) = self.gc_frontier().advance(pages as u32, &geometry) {
            self.victims.close(full, geometry.pages_per_block(), self.written);
        }
        Ok(pages)
    }

    fn gc_frontier(&mut self) -> &mut Frontier {
        self.gc.as_mut().unwrap_or(&mut self.host)
    }

    fn open(&mut self, nand: &mut Nand) -> Result<Frontier> {
        let block = self.pool.take(nand)?;
        self.victims.open(block);
        Ok(Frontier::open(block, nand.geometry()))
    }

    // ---- Coming back --------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &Device) -> Result<()> {
        let scan = Scan::read(nand, device.blocks)?;
        let last = scan.last();
        nand.resume(last.map_or(0, |copy| copy.spare.sequence) + 1);
        let pages = self.l2p.len() as u32;
        let tombstones = trim_log::tombstones(&mut self.trims, nand, pages)?;
        let copies = scan.host_copies(self.l2p.len() as u32)?;
        let blocks: Vec<BlockId> = self.pool.iter().collect();
        let plan = recovery::plan(nand.geometry(), &blocks, &copies, last, &tombstones)?;
        if let Some(block) = plan.given_up {
            nand.erase(block, Cause::Meta)?;
        }
        self.adopt(nand.geometry(), &scan, &plan);
        if let Some(block) = plan.endangered {
            self.empty(nand, block, Cause::Meta)?;
        }
        if let Some(trims) = &mut self.trims {
            let l2p = &self.l2p;
            trims.resume(nand, &tombstones, |lpn| l2p[lpn.0 as usize] != Ppn::NONE, last)?;
        }
        Ok(())
    }

    /// Takes over what a scan found: blocks with a valid page are full, the others free.
    fn adopt(&mut self, geometry: &Geometry, scan: &Scan, plan: &Plan) {
        let mut valid = vec![0; geometry.blocks() as usize];
        for (entry, copy) in self.l2p.iter_mut().zip(&plan.newest) {
            *entry = copy.map_or(Ppn::NONE, |copy| copy.ppn);
            if let Some(copy) = copy {
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
}

/// Blocks with a readable page, by the sequence of their last program.
fn last_programs(geometry: &Geometry, scan: &Scan) -> Vec<(u64, BlockId)> {
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

impl Ftl for PageMapped {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            if let Some(ppn) = self.mapped(lpn) {
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        let full = nand.geometry().full_mask();
        let mut index = 0;
        while index < run.pages {
            self.make_room(nand)?;
            let whole = run.whole_pages_from(index, full).min(self.host.room());
            match whole {
                0 => self.write_part(nand, run, index)?,
                _ => self.write_whole(nand, run, index, whole)?,
            }
            index += whole.max(1);
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let span = first.0 as usize..first.0 as usize + pages as usize;
        let mut at = span.start;
        while let Some(start) = (at..span.end).find(|&lpn| self.l2p[lpn] != Ppn::NONE) {
            at = start;
            while at < span.end && self.l2p[at] != Ppn::NONE {
                let old = core::mem::replace(&mut self.l2p[at], Ppn::NONE);
                self.victims.invalidate(nand.geometry().block_of(old));
                at += 1;
            }
            if let Some(trims) = &mut self.trims {
                trims.trim(nand, start as u32..at as u32)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.trims.as_mut().map_or(Ok(()), |trims| trims.flush(nand))
    }

    fn prefetch(&self, run: &Run) {
        for page in 0..run.pages.min(16) {
            prefetch(&self.l2p, run.first.0 as usize + page as usize);
        }
    }

    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        let Some(ppn) = self.mapped(lpn) else { return Ok(None) };
        scan::version(nand, ppn)
    }

    fn free_blocks(&self) -> u32 {
        self.pool.len()
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let geometry = nand.geometry();
        let mut valid = vec![0; geometry.blocks() as usize];
        let mapped = self.l2p.iter().enumerate().filter(|&(_, &ppn)| ppn != Ppn::NONE);
        for (lpn, &ppn) in mapped {
            // That each page has one owner makes the map injective.
            let owner = nand.owner(ppn);
            ensure!(owner.0 as usize == lpn, "LPN {lpn} maps to {ppn:?}, which holds {owner:?}");
            valid[geometry.block_of(ppn).0 as usize] += 1;
        }
        let mut seen = vec![false; geometry.blocks() as usize];
        for block in self.pool.iter() {
            let twice = core::mem::replace(&mut seen[block.0 as usize], true);
            ensure!(!twice, "{block:?} is free twice");
            ensure!(valid[block.0 as usize] == 0, "{block:?} is free and holds valid pages");
            let listed = self.victims.is_open(block) || self.victims.valid(block).is_some();
            ensure!(!listed, "{block:?} is free and in use");
        }
        let frontiers = [Some(self.host), self.gc];
        for block in (0..geometry.blocks()).map(BlockId) {
            let recount = valid[block.0 as usize];
            if let Some(count) = self.victims.valid(block) {
                ensure!(count == recount, "{block:?} has {recount} valid pages, counted {count}");
            } else if self.victims.is_open(block) {
                let mut fills = frontiers.iter().flatten();
                let frontier = fills.find(|frontier| frontier.block(geometry) == Some(block));
                ensure!(frontier.is_some(), "{block:?} is open, but nothing fills it");
                let room = frontier.map_or(0, Frontier::room);
                self.victims.audit(block, geometry.pages_per_block() - room, recount)?;
            }
        }
        ensure!(self.pool.len() >= RESERVE, "only {} blocks are free", self.pool.len());
        Ok(())
    }

    fn ram(&self) -> Ram {
        let trims = self.trims.as_ref().map_or(0, TrimLog::ram_bytes);
        Ram { map: 4 * self.l2p.len() as u64, cache: 0, other: self.victims.ram_bytes() + trims }
    }

    fn report(&self) -> Report {
        let victims = Figure::Count(self.victims_taken);
        Report { merges: None, figures: vec![("gc_victims", victims)] }
    }

    fn reset_report(&mut self) {
        self.victims_taken = 0;
    }
}
