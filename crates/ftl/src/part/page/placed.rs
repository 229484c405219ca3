//! Page mapping whose pages a policy places: the common base of the schemes that separate pages by
//! their expected lifespans.
//!
//! ```text
//! class 0  [3 0 7 3 _ _]     each class has one open block
//! class 1  [5 1 9 _ _ _]
//! ```
//! A [policy](PagePolicy) takes the decisions: the class of every page that is written or copied,
//! what it learns from a block that is erased, and, if it wants to, the victims. With one class and
//! no choice of victims this is `page` with one frontier.
//!
//! **Reserve.** The valid pages of a victim may go to all T classes that receive copies, so T
//! blocks may be opened while it is emptied, and only one is erased then. T erased blocks are
//! enough: with R erased blocks at least R·Np pages are free, a victim takes at most Np−1 of them,
//! and the other T−1 open blocks can hold back (T−1)·(Np−1). So for R = T there is always an erased
//! block when a frontier needs one. Each victim has a dead page, so every collection gains, and
//! collections go on until T blocks are erased again. For that, T extra blocks are enough beside
//! one for each of the C classes.
//!
//! With [reclaim units](crate::part::page::reclaim_units) of n blocks a single block of a victim
//! may be all valid, although the unit has a dead page. The reserve is still enough: the open
//! blocks that receive copies and the erased ones together have room for T·Np pages at least
//! whenever no block is being emptied, because a block that is erased gives back what its copies
//! took. If no block is erased while at most Np−1 pages of the block are copied, (T−1)·Np + 1 pages
//! of room are left, and T−1 open blocks hold back (T−1)·(Np−1) of them at most. A class may hold
//! back n blocks in its open unit, so C·n + T extra blocks are needed.
//!
//! Invariants: at least T blocks are erased whenever no victim is being emptied. All valid pages of
//! a block are of one class.
//!
//! **Recovery.** The class of a page is in its kind byte, as far as 4 bits go. Times of writes are
//! not kept: after a mount every page counts as just written. The recovery of
//! [`recovery_plan`](crate::part::recovery::recovery_plan) needs a rule for the order of copies:
//! if no block is erased, the block that was programmed last holds nothing but copies from the
//! victim. Therefore the room in open blocks is used up before a block is opened, and from then on
//! only the block that was opened last is programmed. A mount closes all open blocks, and may find
//! a single erased one. Until the reserve is full again, copies that find no erased block share the
//! block that was opened last, whatever their class.

use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn};

use crate::contract::page_policy::{
    Candidates, Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice,
};
use crate::contract::{
    BlockRole, Error, Ftl, Metric, MountConfig, Report, Result, Run, Span, Violation, base_is,
};
use crate::part::map::frontier::Frontier;
use crate::part::page::block_classes::BlockClasses;
use crate::part::page::page_map::PageMap;
use crate::part::page::reclaim_units::{self, ReclaimUnits};
use crate::part::page::victims::registry;
use crate::part::recovery::survey;

/// Page mapping whose pages a policy places.
pub struct Placed<P: PagePolicy + ?Sized> {
    map: PageMap,
    policy: Box<P>,
    traits: Traits,
    /// The open block of each class.
    frontiers: Vec<Frontier>,
    /// The class whose open block was opened last.
    opened_last: Class,
    classes: BlockClasses,
    /// The reclaim units, if the policy has some.
    units: Option<ReclaimUnits>,
    blocks: Vec<BlockLife>,
    /// The number of the host page that wrote each page last, from 1. It means nothing if the page
    /// is unmapped. Empty if the policy does not follow times.
    written: Vec<u64>,
    /// Valid pages of the current victim, by class. Kept to reuse the memory.
    parts: Vec<Vec<Ppn>>,
    /// The full blocks. Kept to reuse the memory.
    candidates: Candidates,
    counts: PlacedCounts,
    /// Whether a mount found fewer erased blocks than the reserve, and they are not made up yet.
    is_short: bool,
}

/// What the policy answers about itself. It is asked once.
#[derive(Clone, Copy)]
struct Traits {
    chooses_victims: bool,
    follows_times: bool,
    /// Blocks that are erased whenever no victim is being emptied.
    reserve: u32,
}

/// What is known of a block that is open or full, in host pages written.
#[derive(Clone, Copy, Debug)]
struct BlockLife {
    opened: u64,
    filled: u64,
}

/// Pages and victims since the last reset.
struct PlacedCounts {
    victims: u64,
    /// Pages that the host wrote to each class.
    writes: Vec<u64>,
    /// Pages that garbage collection copied to each class.
    copies: Vec<u64>,
}

/// The extra blocks that a policy needs: one for each of its classes, and one more for each of the
/// `copied` classes that receive copies.
pub const fn extra_blocks(classes: Class, copied: Class) -> u32 {
    classes as u32 + copied as u32
}

/// Mounts a scheme that is page mapping with a policy. `policy` makes the policy of a device.
///
/// # Errors
/// The power is lost again, or no sequence of writes and cuts can have led to what is on flash.
pub fn mount<P: PagePolicy + 'static>(
    nand: &mut Nand,
    device: &MountConfig,
    policy: impl FnOnce(&PlacedDevice) -> P,
) -> Result<Box<dyn Ftl>> {
    let map = PageMap::format(nand, device, registry::chosen(device.params), 0);
    let policy = Box::new(policy(&placed_device(nand, device, &map)));
    let ftl = Placed::new(nand, device, map, policy);
    survey::mounted(nand, device, ftl, Placed::recover)
}

/// What a policy is told about a device with this map.
pub fn placed_device(nand: &Nand, device: &MountConfig, map: &PageMap) -> PlacedDevice {
    PlacedDevice {
        page_bytes: nand.geometry().page_bytes(),
        pages_per_block: nand.geometry().pages_per_block(),
        logical_pages: map.logical_pages(),
        extra_blocks: map.flat.pool.blocks() - device.logical_blocks,
    }
}

impl<P: PagePolicy + ?Sized> Placed<P> {
    /// A factory-new device. The map is that of an empty device, which has at least
    /// [`extra_blocks`] extra blocks.
    pub fn new(nand: &Nand, device: &MountConfig, map: PageMap, policy: Box<P>) -> Placed<P> {
        let (classes, geometry) = (usize::from(policy.classes()), nand.geometry());
        let pages_per_block = geometry.pages_per_block();
        let traits = Traits {
            chooses_victims: policy.chooses_victims(),
            follows_times: policy.follows_times(),
            reserve: policy.copy_classes().into(),
        };
        let life = BlockLife { opened: 0, filled: 0 };
        let units = |blocks| ReclaimUnits::new(device, blocks, classes, pages_per_block);
        let times = if traits.follows_times { map.logical_pages() as usize } else { 0 };
        Placed {
            traits,
            frontiers: vec![Frontier::NONE; classes],
            opened_last: 0,
            classes: BlockClasses::new(geometry, classes),
            units: policy.unit_blocks().map(units),
            blocks: vec![life; geometry.blocks() as usize],
            written: vec![0; times],
            parts: vec![Vec::with_capacity(pages_per_block as usize); classes],
            candidates: Candidates { pages_per_block, ..Candidates::default() },
            counts: PlacedCounts { victims: 0, writes: vec![0; classes], copies: vec![0; classes] },
            is_short: false,
            policy,
            map,
        }
    }

    fn class_of(&self, nand: &Nand, ppn: Ppn) -> Class {
        self.classes.of(nand.geometry().block_of(ppn))
    }

    // ---- Writing ------------------------------------------------------------------------------

    /// The class of page `index` of a run, which is written after `now` host pages.
    #[inline]
    fn place(&mut self, nand: &Nand, run: &Run, index: u32, now: u64) -> Result<Class> {
        let lpn = run.first.plus(index);
        let (mut lifespan, mut class) = (None, None);
        if self.traits.follows_times {
            class = self.map.flat.newest(lpn).map(|ppn| self.class_of(nand, ppn));
            lifespan = class.map(|_| now + 1 - self.written[lpn.0 as usize]);
        }
        let Run { request_bytes, stream, .. } = *run;
        let write = HostWrite { lpn, now, lifespan, class, request_bytes, stream };
        known(self.policy.place(&write)?, lpn, self.frontiers.len())
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
        let now = self.map.written();
        let most = (run.pages - index).min(self.frontiers[class as usize].room());
        let (mut pages, mut other) = (1, None);
        while pages < most && other.is_none() {
            let next = self.place(nand, run, index + pages, now + u64::from(pages))?;
            other = (next != class).then_some(next);
            pages += u32::from(other.is_none());
        }
        self.program(nand, run, index, pages, class)?;
        self.counts.writes[class as usize] += u64::from(pages);
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
        let kind = self.classes.kind_in(class);
        let frontier = &mut self.frontiers[class as usize];
        let block = nand.geometry().block_of(frontier.next());
        let (mut done, end) = (index, index + pages);
        while done < end {
            let now = self.map.written();
            let some = self.map.write(nand, run, done, end - done, frontier, kind)?;
            if self.traits.follows_times {
                let first = run.first.plus(done).0 as usize;
                let times = &mut self.written[first..first + some as usize];
                times.iter_mut().zip(now + 1..).for_each(|(written, now)| *written = now);
            }
            done += some;
        }
        self.note_programmed(block, class);
        Ok(())
    }

    /// Notes that pages were programmed in the open block of a class, which may be full now.
    #[inline]
    fn note_programmed(&mut self, block: BlockId, class: Class) {
        if self.frontiers[class as usize].room() == 0 {
            let now = self.map.written();
            self.blocks[block.0 as usize].filled = now;
            if let Some(units) = &mut self.units {
                units.note_filled(class, now);
            }
        }
    }

    /// Makes sure that the open block of a class has room, and that the reserve is full.
    #[inline]
    fn make_room(&mut self, nand: &mut Nand, class: Class) -> Result<()> {
        let reserve = self.traits.reserve;
        while self.frontiers[class as usize].room() == 0 || self.map.flat.pool.len() < reserve {
            if self.map.flat.pool.len() > reserve {
                self.open(nand, class)?;
            } else {
                self.collect(nand)?;
            }
        }
        self.is_short = false;
        Ok(())
    }

    fn open(&mut self, nand: &mut Nand, class: Class) -> Result<()> {
        let frontier = self.map.open(nand)?;
        let block = nand.geometry().block_of(frontier.next());
        let opened = self.map.written();
        self.blocks[block.0 as usize] = BlockLife { opened, filled: opened };
        self.classes.set(block, class);
        if let Some(units) = &mut self.units {
            units.note_opened(class, block);
        }
        self.frontiers[class as usize] = frontier;
        self.opened_last = class;
        Ok(())
    }

    // ---- Garbage collection -------------------------------------------------------------------

    /// Empties a victim and erases it. Kept out of the path of a write, which needs the registers.
    #[inline(never)]
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.choose_victim(nand)?;
        self.counts.victims += 1;
        let copied = self.sort_out(nand, victim)?;
        self.copy_parts(nand)?;
        self.map.erase(nand, victim, Cause::Gc)?;
        let (class, now) = (self.classes.of(victim), self.map.written());
        let lifespan = now - self.blocks[victim.0 as usize].opened;
        self.policy.erased(&ErasedBlock { block: victim, class, lifespan, copied, now })
    }

    fn choose_victim(&mut self, nand: &Nand) -> Result<BlockId> {
        if let Some(units) = self.units.as_mut().filter(|units| units.have_several_blocks()) {
            let (now, map) = (self.map.written(), &self.map);
            let valid = |block| map.valid_pages_of_full(block).map_or(0, u32::from);
            let victim = units.next_victim(now, valid);
            return Ok(victim.expect("with the extra blocks that schemes demand, a unit is full"));
        }
        if !self.traits.chooses_victims {
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
        let Candidates { blocks, valid, ages, classes, erases, pages_per_block, .. } =
            &mut self.candidates;
        let taken = nand.array().wear_of_blocks();
        blocks.clear();
        valid.clear();
        ages.clear();
        classes.clear();
        erases.clear();
        for block in (0..nand.geometry().blocks()).map(BlockId) {
            let life = &self.blocks[block.0 as usize];
            let count = self.map.valid_pages_of_full(block).map(u32::from);
            if let Some(count) = count.filter(|count| count < pages_per_block) {
                blocks.push(block.0);
                valid.push(count);
                ages.push(now - life.filled);
                classes.push(self.classes.of(block));
                erases.push(taken[block.0 as usize]);
            }
        }
        self.candidates.now = now;
    }

    /// Sorts the valid pages of a victim by the classes to which they go. Returns their number.
    fn sort_out(&mut self, nand: &Nand, victim: BlockId) -> Result<u32> {
        let (class, now) = (self.classes.of(victim), self.map.written());
        let Placed { map, policy, parts, written, frontiers, .. } = self;
        parts.iter_mut().for_each(Vec::clear);
        let gathered = map.gather(nand, victim);
        for &ppn in gathered {
            let lpn = nand.owner(ppn);
            let age = written.get(lpn.0 as usize).map_or(0, |written| now - written);
            let to = policy.place_copy(&MovedPage { lpn, now, age, class })?;
            parts[usize::from(known(to, lpn, frontiers.len())?)].push(ppn);
        }
        Ok(gathered.len() as u32)
    }

    /// Copies the sorted pages: first to the room in open blocks, then to blocks that are opened.
    fn copy_parts(&mut self, nand: &mut Nand) -> Result<()> {
        let parts = core::mem::take(&mut self.parts);
        let mut rests: Vec<(Class, &[Ppn])> = Vec::with_capacity(parts.len());
        for (class, part) in (0..).zip(&parts).filter(|(_, part)| !part.is_empty()) {
            let done = self.copy(nand, part, class)?;
            rests.push((class, &part[done..]));
        }
        for (class, mut rest) in rests {
            while !rest.is_empty() {
                let class = self.open_for_copies(nand, class)?;
                rest = &rest[self.copy(nand, rest, class)?..];
            }
        }
        self.parts = parts;
        Ok(())
    }

    /// Opens a block for copies of a class. Returns the class whose open block receives them, which
    /// is another one if no block is erased.
    fn open_for_copies(&mut self, nand: &mut Nand, class: Class) -> Result<Class> {
        if !self.map.flat.pool.is_empty() {
            self.open(nand, class)?;
        }
        Ok(self.opened_last)
    }

    /// Copies pages to the open block of a class, as far as it has room. Returns their number.
    fn copy(&mut self, nand: &mut Nand, from: &[Ppn], class: Class) -> Result<usize> {
        let kind = self.classes.kind_in(class);
        let frontier = &mut self.frontiers[class as usize];
        if frontier.room() == 0 {
            return Ok(0);
        }
        let block = nand.geometry().block_of(frontier.next());
        let copied = self.map.copy(nand, from, frontier, Some(kind), Cause::Gc, &mut |_, _| {})?;
        self.note_programmed(block, class);
        self.counts.copies[class as usize] += copied as u64;
        Ok(copied)
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let (geometry, classes) = (*nand.geometry(), &mut self.classes);
        let recovered = self.map.recover(nand, device, |copy| classes.found(&geometry, copy))?;
        self.restart_times();
        if let Some(block) = recovered.endangered {
            self.move_whole(nand, block)?;
        }
        self.regroup(&geometry);
        self.is_short = self.map.flat.pool.len() < self.traits.reserve;
        self.map.commit_recovery(nand, &recovered)
    }

    /// Forms the reclaim units of the blocks that a mount has found.
    fn regroup(&mut self, geometry: &Geometry) {
        if let Some(units) = &mut self.units {
            let classes = &self.classes;
            let with_class = |block: BlockId| (block, classes.of(block));
            let full = full_blocks(&self.map, geometry).map(with_class);
            let filling = filling_blocks(&self.frontiers, geometry).map(with_class);
            units.regroup(full, filling, self.map.written());
        }
    }

    /// Lets every page count as just written, and every block as just filled.
    fn restart_times(&mut self) {
        let now = self.map.written();
        for life in &mut self.blocks {
            (life.opened, life.filled) = (now, now);
        }
        self.written.fill(now);
    }

    /// Moves an endangered block to a clean one of the same class.
    fn move_whole(&mut self, nand: &mut Nand, block: BlockId) -> Result<()> {
        let class = self.classes.of(block);
        self.open(nand, class)?;
        let kind = self.classes.kind_in(class);
        let frontier = &mut self.frontiers[class as usize];
        self.map.empty(nand, block, frontier, Some(kind), Cause::Meta, |_, _| {})
    }
}

/// The blocks that are full, in the order of their numbers.
fn full_blocks(map: &PageMap, geometry: &Geometry) -> impl Iterator<Item = BlockId> {
    let is_full = |block: &BlockId| map.valid_pages_of_full(*block).is_some();
    (0..geometry.blocks()).map(BlockId).filter(is_full)
}

/// The blocks that are being filled.
fn filling_blocks(frontiers: &[Frontier], geometry: &Geometry) -> impl Iterator<Item = BlockId> {
    frontiers.iter().filter_map(|frontier| frontier.block(geometry))
}

/// The class into which a policy puts a page, if it is one of its `classes`.
#[inline]
fn known(class: Class, lpn: Lpn, classes: usize) -> Result<Class> {
    match usize::from(class) < classes {
        true => Ok(class),
        false => Err(unknown_class(class, lpn, classes)),
    }
}

#[cold]
fn unknown_class(class: Class, lpn: Lpn, classes: usize) -> Error {
    Error::Policy(format!(
        "the policy puts page {} into class {class}; it has {classes}, from 0 to {}",
        lpn.0,
        classes - 1
    ))
}

impl<P: PagePolicy + ?Sized> Ftl for Placed<P> {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let (mut index, mut asked) = (0, None);
        while index < run.pages {
            // This is decided before garbage collection, which may move the page.
            let class = match asked {
                Some(class) => class,
                None => self.place(nand, run, index, self.map.written())?,
            };
            let (pages, other) = self.write_some(nand, run, index, class)?;
            index += pages;
            asked = other;
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let reserve = if self.is_short { 0 } else { self.traits.reserve };
        self.map.audit(nand, &self.frontiers, reserve)?;
        if let Some(units) = &self.units {
            let full = full_blocks(&self.map, nand.geometry());
            let filling = filling_blocks(&self.frontiers, nand.geometry());
            units.audit(full, filling, |block| self.classes.of(block))?;
        }
        self.classes.audit(nand, &self.map)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(
            self.classes.iter_classed().map(|(it, at)| BlockRole::of(it, "class", at.into())),
        );
    }

    /// Beside the page map, RAM holds a byte a block for its class, and what the policy keeps.
    fn report(&self) -> Report {
        let PlacedCounts { victims, writes, copies } = &self.counts;
        let mut report = self.map.report();
        report.ram.other += self.blocks.len() as u64 + self.policy.ram_bytes();
        report.figures = vec![
            ("gc_victims", Metric::Count(*victims)),
            ("class_writes", Metric::Counts(writes.clone())),
            ("class_copies", Metric::Counts(copies.clone())),
        ];
        if let Some(units) = &self.units {
            report.ram.other += units.ram_bytes(self.blocks.len() as u64);
            let rooms = self.frontiers.iter().map(Frontier::room).enumerate();
            let rooms = rooms.map(|(class, room)| units.room(class, room)).collect();
            report.figures.push((reclaim_units::UNIT_ROOM, Metric::Counts(rooms)));
            report.figures.push(("units_opened", Metric::Counts(units.opened_by_class().to_vec())));
            report.figures.push(("units_collected", Metric::Count(units.collected(*victims))));
        }
        report.figures.extend(self.policy.figures());
        report
    }

    fn reset_report(&mut self) {
        self.counts.victims = 0;
        self.counts.writes.fill(0);
        self.counts.copies.fill(0);
        if let Some(units) = &mut self.units {
            units.reset_counts();
        }
    }
}
