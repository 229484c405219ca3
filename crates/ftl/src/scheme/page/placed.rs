//! Page mapping under a policy from outside.
//!
//! ```text
//! class 0  [3 0 7 3 _ _]     each class has one open block
//! class 1  [5 1 9 _ _ _]
//! ```
//! The policy chooses the class of every page that is written or copied, and, if it wants to, the
//! victims. With one class and no choice of victims this is `page` with one frontier.
//!
//! **Reserve.** The pages of a victim may go to all C classes, so C blocks may be opened while it
//! is emptied, and only one is erased then. C erased blocks are enough: with R erased blocks at
//! least R·Np pages are free, a victim takes at most Np−1 of them, and the other C−1 open blocks
//! can hold back (C−1)·(Np−1). So for R = C there is always an erased block when a frontier needs
//! one. Each victim has a dead page, so every collection gains, and collections go on until C
//! blocks are erased again. For that, 2C extra blocks are enough.
//!
//! Invariant: at least C blocks are erased whenever no victim is being emptied.

use nand::{BlockId, Cause, Lpn, Nand, Ppn};

use crate::contract::page_policy::{
    Candidates, Class, ErasedBlock, HostWrite, MovedPage, PagePolicy,
};
use crate::contract::{Base, Error, Ftl, Metric, Ram, Report, Result, Run, Violation};
use crate::part::map::frontier::Frontier;
use crate::part::page::page_map::PageMap;
use crate::part::recovery::page_kind;

/// Page mapping whose pages a policy places.
pub(super) struct Placed {
    map: PageMap,
    policy: Box<dyn PagePolicy>,
    /// Whether the policy chooses victims.
    chooses: bool,
    /// The open block of each class.
    frontiers: Vec<Frontier>,
    blocks: Vec<BlockLife>,
    /// The number of the host page that wrote each page last, from 1; 0 if it holds nothing.
    written: Vec<u64>,
    /// Valid pages of the current victim, by class. Kept to reuse the memory.
    parts: Vec<Vec<Ppn>>,
    /// The full blocks. Kept to reuse the memory.
    candidates: Candidates,
    victims_taken: u64,
}

/// What is known of a block that is open or full, in host pages written.
#[derive(Clone, Copy, Debug, Default)]
struct BlockLife {
    class: Class,
    opened: u64,
    filled: u64,
}

/// The extra blocks that a policy with this number of classes needs.
pub(super) fn extra_blocks(classes: Class) -> u32 {
    2 * u32::from(classes)
}

impl Placed {
    /// A factory-new device. The map is that of an empty device, which has at least
    /// [`extra_blocks`] extra blocks.
    pub(super) fn new(nand: &Nand, map: PageMap, policy: Box<dyn PagePolicy>) -> Placed {
        let (classes, geometry) = (usize::from(policy.classes()), nand.geometry());
        let pages_per_block = geometry.pages_per_block();
        Placed {
            chooses: policy.chooses_victims(),
            frontiers: vec![Frontier::NONE; classes],
            blocks: vec![BlockLife::default(); geometry.blocks() as usize],
            written: vec![0; map.logical_pages() as usize],
            parts: vec![Vec::with_capacity(pages_per_block as usize); classes],
            candidates: Candidates { pages_per_block, ..Candidates::default() },
            victims_taken: 0,
            policy,
            map,
        }
    }

    fn reserve(&self) -> u32 {
        self.frontiers.len() as u32
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// The class of a page that is written after `now` host pages.
    fn place(&mut self, nand: &Nand, lpn: Lpn, now: u64, request_bytes: u64) -> Result<Class> {
        let last = self.written[lpn.0 as usize];
        let place = self.map.flat.newest(lpn);
        let class = place.map(|ppn| self.blocks[nand.geometry().block_of(ppn).0 as usize].class);
        let lifespan = (last > 0).then(|| now + 1 - last);
        let write = HostWrite { lpn, now, lifespan, class, request_bytes };
        let class = self.policy.place(&write)?;
        self.known(class, lpn)
    }

    fn known(&self, class: Class, lpn: Lpn) -> Result<Class> {
        let classes = self.frontiers.len();
        match usize::from(class) < classes {
            true => Ok(class),
            false => Err(Error::Policy(format!(
                "the policy puts page {} into class {class}; it has {classes}, from 0 to {}",
                lpn.0,
                classes - 1
            ))),
        }
    }

    /// Writes the pages of a run from page `index` on that go to this class, as far as its open
    /// block has room. Returns their number, and the class of the next page if it was asked for.
    fn write_some(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        class: Class,
    ) -> Result<(u32, Option<Class>)> {
        self.make_room(nand, class)?;
        let (first, now) = (run.first.plus(index), self.map.written());
        let most = (run.pages - index).min(self.frontiers[class as usize].room());
        let (mut pages, mut other) = (1, None);
        while pages < most && other.is_none() {
            let then = now + u64::from(pages);
            let next = self.place(nand, first.plus(pages), then, run.request_bytes)?;
            other = (next != class).then_some(next);
            pages += u32::from(other.is_none());
        }
        self.program(nand, run, index, pages, class)?;
        Ok((pages, other))
    }

    /// Programs pages of a run at the open block of a class, which has room for them.
    fn program(
        &mut self,
        nand: &mut Nand,
        run: &Run,
        index: u32,
        pages: u32,
        class: Class,
    ) -> Result<()> {
        let frontier = &mut self.frontiers[class as usize];
        let block = nand.geometry().block_of(frontier.next());
        let (mut done, end) = (index, index + pages);
        while done < end {
            let now = self.map.written();
            let some = self.map.write(nand, run, done, end - done, frontier, page_kind::DATA)?;
            for page in 0..some {
                let lpn = run.first.plus(done + page);
                self.written[lpn.0 as usize] = now + u64::from(page) + 1;
            }
            done += some;
        }
        if frontier.room() == 0 {
            self.blocks[block.0 as usize].filled = self.map.written();
        }
        Ok(())
    }

    /// Makes sure that the open block of a class has room, and that the reserve is full.
    fn make_room(&mut self, nand: &mut Nand, class: Class) -> Result<()> {
        while self.frontiers[class as usize].room() == 0 || self.map.pool.len() < self.reserve() {
            if self.map.pool.len() > self.reserve() {
                self.open(nand, class)?;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }

    fn open(&mut self, nand: &mut Nand, class: Class) -> Result<()> {
        let frontier = self.map.open(nand)?;
        let block = nand.geometry().block_of(frontier.next());
        let opened = self.map.written();
        self.blocks[block.0 as usize] = BlockLife { class, opened, filled: opened };
        self.frontiers[class as usize] = frontier;
        Ok(())
    }

    // ---- Garbage collection -------------------------------------------------------------------

    /// Empties a victim and erases it.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.choose_victim(nand)?;
        self.victims_taken += 1;
        let copied = self.sort_out(nand, victim)?;
        for class in 0..self.frontiers.len() {
            self.copy_part(nand, class as Class)?;
        }
        self.map.erase(nand, victim, Cause::Gc)?;
        let BlockLife { class, opened, .. } = self.blocks[victim.0 as usize];
        let now = self.map.written();
        let lifespan = now - opened;
        self.policy.erased(&ErasedBlock { block: victim, class, lifespan, copied, now })
    }

    fn choose_victim(&mut self, nand: &Nand) -> Result<BlockId> {
        if !self.chooses {
            return Ok(self.map.choose_victim());
        }
        self.list_candidates(nand);
        let at = self.policy.victim(&self.candidates)?;
        let blocks = &self.candidates.blocks;
        blocks.get(at).map(|&block| BlockId(block)).ok_or_else(|| {
            Error::Policy(format!(
                "the policy chooses victim {at} of {} candidates, which are counted from 0",
                blocks.len()
            ))
        })
    }

    fn list_candidates(&mut self, nand: &Nand) {
        let now = self.map.written();
        let Candidates { blocks, valid, ages, classes, pages_per_block, .. } = &mut self.candidates;
        blocks.clear();
        valid.clear();
        ages.clear();
        classes.clear();
        for block in (0..nand.geometry().blocks()).map(BlockId) {
            let life = &self.blocks[block.0 as usize];
            let count = self.map.valid_pages_of_full(block).map(u32::from);
            if let Some(count) = count.filter(|count| count < pages_per_block) {
                blocks.push(block.0);
                valid.push(count);
                ages.push(now - life.filled);
                classes.push(life.class);
            }
        }
        self.candidates.now = now;
    }

    /// Sorts the valid pages of a victim by the classes to which they go. Returns their number.
    fn sort_out(&mut self, nand: &Nand, victim: BlockId) -> Result<u32> {
        let class = self.blocks[victim.0 as usize].class;
        let now = self.map.written();
        self.parts.iter_mut().for_each(Vec::clear);
        let copied = self.map.gather(nand, victim).len();
        for at in 0..copied {
            let ppn = self.map.gathered()[at];
            let lpn = nand.owner(ppn);
            let age = now - self.written[lpn.0 as usize];
            let to = self.policy.place_copy(&MovedPage { lpn, now, age, class })?;
            let to = self.known(to, lpn)?;
            self.parts[usize::from(to)].push(ppn);
        }
        Ok(copied as u32)
    }

    /// Copies the pages of the victim that go to a class.
    fn copy_part(&mut self, nand: &mut Nand, class: Class) -> Result<()> {
        let part = core::mem::take(&mut self.parts[class as usize]);
        let mut done = 0;
        while done < part.len() {
            if self.frontiers[class as usize].room() == 0 {
                self.open(nand, class)?;
            }
            let frontier = &mut self.frontiers[class as usize];
            let block = nand.geometry().block_of(frontier.next());
            done +=
                self.map.copy(nand, &part[done..], frontier, None, Cause::Gc, &mut |_, _| {})?;
            if frontier.room() == 0 {
                self.blocks[block.0 as usize].filled = self.map.written();
            }
        }
        self.parts[class as usize] = part;
        Ok(())
    }
}

impl Ftl for Placed {
    fn base(&self) -> &dyn Base {
        &self.map
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        &mut self.map
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.map.flat.check_bases(nand, run)?;
        let (mut index, mut asked) = (0, None);
        while index < run.pages {
            // This is decided before garbage collection, which may move the page.
            let class = match asked {
                Some(class) => class,
                None => {
                    let (lpn, now) = (run.first.plus(index), self.map.written());
                    self.place(nand, lpn, now, run.request_bytes)?
                }
            };
            let (pages, other) = self.write_some(nand, run, index, class)?;
            index += pages;
            asked = other;
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.written[first.0 as usize..][..pages as usize].fill(0);
        self.map.trim(nand, first, pages)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, &self.frontiers, self.reserve())
    }

    fn ram(&self) -> Ram {
        let facts = 8 * self.written.len() + size_of::<BlockLife>() * self.blocks.len();
        let other = self.map.other_bytes() + facts as u64;
        Ram { map: self.map.map_bytes(), other, ..Ram::default() }
    }

    fn report(&self) -> Report {
        let victims = Metric::Count(self.victims_taken);
        Report { merges: None, figures: vec![("gc_victims", victims)] }
    }

    fn reset_report(&mut self) {
        self.victims_taken = 0;
    }
}
