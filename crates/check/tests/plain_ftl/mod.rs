//! A page-mapped FTL that is as simple as possible, and a list of bugs that can be planted in it.
//! They show that the checker works: it finds nothing without a bug, and it finds every bug.
//!
//! ```text
//! data        [3 0 7 3][5 1 _ _]…      pages are appended to one open block; garbage collection
//!                                      empties the block with the fewest valid pages
//! tombstones  [S S S S][S S _ _][    ] a flush after a trim writes a snapshot of all tombstones
//! ```
//! A correct mount does four things. It adds no pages to blocks that were partly written. It erases
//! free blocks again before it uses them. It copies the last page programmed before it erases an
//! older copy of that page. It writes a new snapshot to a block without the last two snapshots.
//!
//! On a chip with several dies a flush also waits until all are idle, and a mount copies the last
//! page of each die. That is enough if dies are reordered, but not after a brown-out.

use std::collections::VecDeque;
use std::ops::Range;

use ftl::{Base, Extent, Ftl, MountConfig, Ram, Report, Result, Run, Scheme, Span, Violation};
use nand::{BlockId, Cause, Content, Copies, Data, Lpn, Nand, Page, PageState, Ppn, Sink, Spare};
use spec::{Kind, Param};

/// Number of free blocks kept: garbage collection needs one, and so does each mount after a cut.
const RESERVE: usize = 4;
/// Number of blocks for tombstones, at the end of the device.
const TOMBSTONE_BLOCKS: usize = 3;
/// Size of a tombstone: LPN and version.
const TOMBSTONE_BYTES: usize = 12;

/// All bugs that can be planted; the first one stands for no bug.
pub const BUGS: &[&str] = &[
    "none",
    "versions-ignored",
    "sequence-restarts",
    "tombstones-outside-sequence",
    "copies-get-new-versions",
    "erased-before-copies",
    "last-copy-forgotten",
    "stale-pages-copied",
    "base-not-read",
    "base-forgotten",
    "base-is-oldest",
    "unstable-trusted",
    "fallback-erased",
    "half-erased-trusted",
    "open-block-resumed",
    "torn-page-refused",
    "trims-first-page-only",
    "tombstones-not-flushed",
    "erased-before-tombstones",
    "tombstones-forgotten",
    "tombstones-beat-newer",
    "tombstones-erased-first",
    "mapped-block-free",
    "free-block-twice",
    "free-blocks-overstated",
    "mount-reads-often",
    "mount-erases-often",
    "format-in-two-steps",
    "mount-spreads-pages",
    "copies-count-as-host",
    "victim-freed-twice",
    "stream-forgotten",
    "part-not-read",
    "old-place-cached",
    "first-page-hidden",
    "older-twin-wins",
    "failed-rescue-ignored",
    "three-torn-pages-refused",
    "flush-without-wait",
    "force-without-wait",
    "last-die-rescued-only",
];

pub static SCHEME: Scheme = Scheme {
    name: "plain",
    summary: "a simple page map with one bug",
    source: "the checker's own tests",
    params: &[Param {
        name: "bug",
        kind: Kind::Choice(BUGS),
        default: "none",
        unit: "",
        doc: "the bug",
    }],
    least_extra: |_, _, _| RESERVE as u32 + 3,
    mount,
    ..Scheme::PLAIN
};

struct PlainFtl {
    bug: &'static str,
    map: Vec<Option<Ppn>>,
    /// The first copy of each page that the mount found. Only a bug needs it.
    oldest: Vec<Option<Ppn>>,
    data: Vec<BlockId>,
    /// Free blocks, each with a flag: must it be erased before use?
    free: VecDeque<(BlockId, bool)>,
    open: Option<(BlockId, u32)>,
    /// The version of the last trim of each page; 0 if there was none.
    tombstones: Vec<u64>,
    unflushed: bool,
    /// Sorted by age of their snapshots. The last block holds the newest one.
    tombstone_blocks: VecDeque<BlockId>,
    /// Next page of the last tombstone block.
    tombstone_next: u32,
    /// The first page that was written last, and its place before. Only a bug needs it.
    cached: Option<(Lpn, Ppn)>,
    /// Whether page 0 cannot be seen. Only a bug hides it, after some writes in its neighbourhood.
    hides_first: bool,
    /// Writes since the mount.
    writes: u32,
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let (data, tombstone_blocks) = device.blocks.split_at(device.blocks.len() - TOMBSTONE_BLOCKS);
    let pages = (device.logical_blocks * nand.geometry().pages_per_block()) as usize;
    let mut ftl = PlainFtl {
        bug: device.params.choice("bug"),
        map: vec![None; pages],
        oldest: vec![None; pages],
        data: data.to_vec(),
        free: VecDeque::new(),
        open: None,
        tombstones: vec![0; pages],
        unflushed: false,
        tombstone_blocks: tombstone_blocks.iter().copied().collect(),
        tombstone_next: u32::MAX,
        cached: None,
        hides_first: false,
        writes: 0,
    };
    ftl.recover(nand)?;
    Ok(Box::new(ftl))
}

impl PlainFtl {
    fn has(&self, bug: &str) -> bool {
        self.bug == bug
    }

    // ---- Writing ------------------------------------------------------------------------------

    fn write_page(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<()> {
        while self.room(nand) == 0 && self.free.len() <= RESERVE {
            self.collect(nand)?;
        }
        let (owner, full) = (run.first.plus(index), nand.geometry().full_mask());
        let mask = run.mask(index, full);
        let base = self.map[owner.0 as usize].filter(|_| !self.has("base-not-read"));
        if let Some(old) = base.filter(|_| mask != full) {
            nand.read(old, owner, full & !mask, &mut Sink::None, Cause::Rmw)?;
        }
        let data = run.data.from_page(index, nand.geometry().page_bytes());
        let base = match self.bug {
            "base-forgotten" => None,
            "base-is-oldest" => base.map(|newest| self.oldest(nand, owner).unwrap_or(newest)),
            _ => base,
        };
        let content = Content::Host { data, mask, base };
        let to = self.next_page(nand)?;
        nand.program(to, &Page { owner, kind: 1, extra: &[], content }, Cause::Host)?;
        let old = self.map[owner.0 as usize].replace(to);
        // A read of the whole device begins with page 0, and takes any other one out of the cache.
        if index == 0 && owner != Lpn(0) && self.has("old-place-cached") {
            self.cached = old.map(|old| (owner, old));
        }
        Ok(())
    }

    /// The first copy that the mount found, if it is still there.
    fn oldest(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.oldest[lpn.0 as usize].filter(|&ppn| nand.owner(ppn) == lpn)
    }

    fn room(&self, nand: &Nand) -> u32 {
        self.open.map_or(0, |(_, next)| nand.geometry().pages_per_block() - next)
    }

    /// Takes the next page of the open block, or of a new one.
    fn next_page(&mut self, nand: &mut Nand) -> Result<Ppn> {
        if self.room(nand) == 0 {
            let (block, doubtful) = self.free.pop_front().expect("a free block is kept");
            if doubtful && !(self.has("half-erased-trusted") && looks_erased(nand, block)?) {
                nand.erase(block, Cause::Meta)?;
            }
            self.open = Some((block, 0));
        }
        let (block, next) = self.open.expect("just opened");
        self.open = Some((block, next + 1));
        Ok(nand.geometry().page(block, next))
    }

    // ---- Garbage collection -------------------------------------------------------------------

    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let open = self.open.map(|(block, _)| block);
        let is_free = |block| self.free.iter().any(|&(free, _)| free == block);
        let full = self.data.iter().filter(|&&block| Some(block) != open && !is_free(block));
        let victim =
            *full.min_by_key(|&&block| self.valid(nand, block).len()).expect("one is full");
        let mut moving = self.valid(nand, victim);
        self.cached = None;
        if self.has("erased-before-copies") {
            nand.erase(victim, Cause::Gc)?;
        }
        if self.has("last-copy-forgotten") {
            moving.pop();
        }
        if self.has("stale-pages-copied") {
            let first = nand.geometry().first_page(victim);
            let pages = (0..nand.geometry().pages_per_block()).map(|at| first.plus(at));
            moving = pages.filter(|&ppn| nand.owner(ppn).is_host()).collect();
        }
        for from in moving {
            self.copy(nand, from)?;
        }
        // The victim may hold a trimmed page. Without its tombstone an older copy could return.
        if !self.has("erased-before-tombstones") {
            Base::flush(self, nand, None)?;
        }
        if !self.has("erased-before-copies") {
            nand.erase(victim, Cause::Gc)?;
        }
        self.free.push_back((victim, false));
        if self.has("victim-freed-twice") {
            self.free.push_back((victim, true));
        }
        Ok(())
    }

    fn valid(&self, nand: &Nand, block: BlockId) -> Vec<Ppn> {
        let first = nand.geometry().first_page(block);
        let pages = (0..nand.geometry().pages_per_block()).map(|at| first.plus(at));
        pages
            .filter(|&ppn| self.map.get(nand.owner(ppn).0 as usize).copied().flatten() == Some(ppn))
            .collect()
    }

    fn copy(&mut self, nand: &mut Nand, from: Ppn) -> Result<()> {
        let (owner, to) = (nand.owner(from), self.next_page(nand)?);
        if self.has("copies-get-new-versions") {
            let content = Content::Host { data: Data::None, mask: 0, base: Some(from) };
            nand.program(to, &Page { owner, kind: 1, extra: &[], content }, Cause::Gc)?;
        } else {
            let cause = if self.has("copies-count-as-host") { Cause::Host } else { Cause::Gc };
            nand.copy(to, Copies::of(&[from]), cause)?;
        }
        self.map[owner.0 as usize] = Some(to);
        Ok(())
    }

    // ---- Tombstones ---------------------------------------------------------------------------

    fn write_snapshot(&mut self, nand: &mut Nand) -> Result<()> {
        if self.tombstone_next >= nand.geometry().pages_per_block() {
            let oldest = match self.has("tombstones-erased-first") {
                true => self.tombstone_blocks.pop_back(),
                false => self.tombstone_blocks.pop_front(),
            };
            let oldest = oldest.expect("there are three");
            nand.erase(oldest, Cause::Meta)?;
            self.tombstone_blocks.push_back(oldest);
            self.tombstone_next = 0;
            if self.has("tombstones-forgotten") {
                self.tombstones.fill(0);
            }
        }
        let tombstones = self.tombstones.iter().enumerate().filter(|&(_, &version)| version > 0);
        let bytes: Vec<u8> = tombstones
            .flat_map(|(lpn, version)| {
                [&(lpn as u32).to_le_bytes()[..], &version.to_le_bytes()[..]].concat()
            })
            .collect();
        assert!(
            bytes.len() <= nand.geometry().page_bytes() as usize,
            "the plain FTL is for tiny chips only"
        );
        let to =
            nand.geometry().page(self.tombstone_blocks[TOMBSTONE_BLOCKS - 1], self.tombstone_next);
        let content = Content::Meta(&bytes);
        nand.program(to, &Page { owner: Lpn::SYSTEM, kind: 2, extra: &[], content }, Cause::Meta)?;
        self.tombstone_next += 1;
        self.unflushed = false;
        Ok(())
    }

    fn read_snapshot(&mut self, nand: &mut Nand, at: Ppn) -> Result<()> {
        for tombstone in nand.read_meta(at, Cause::Meta)?.chunks_exact(TOMBSTONE_BYTES) {
            let (lpn, version) = tombstone.split_at(4);
            let lpn = u32::from_le_bytes(lpn.try_into().expect("4 bytes"));
            let version = u64::from_le_bytes(version.try_into().expect("8 bytes"));
            self.tombstones[lpn as usize] = version;
        }
        Ok(())
    }

    // ---- Mount --------------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand) -> Result<()> {
        if self.has("mount-reads-often") {
            (0..15).try_for_each(|_| self.scan(nand, &self.data).map(|_| ()))?;
        }
        let copies = self.scan(nand, &self.data.clone())?;
        let tombstone_blocks: Vec<BlockId> = self.tombstone_blocks.iter().copied().collect();
        let snapshots = self.scan(nand, &tombstone_blocks)?;
        let newest = snapshots.iter().max_by_key(|(_, spare)| spare.sequence);
        if let Some(&(at, _)) = newest {
            self.read_snapshot(nand, at)?;
        }
        if self.has("format-in-two-steps") {
            if nand.is_factory_new() {
                (0..2).try_for_each(|_| self.write_snapshot(nand))?;
            }
            if matches!(snapshots[..], [(_, spare)] if spare.sequence == 1) {
                return Err(ftl::Error::Unmountable("the format is not complete".to_owned()));
            }
        }
        self.sort_tombstone_blocks(nand, &snapshots);
        self.resume(nand, &copies, &snapshots);
        self.elect(&copies);
        let last = self.last_of_dies(nand, &copies);
        self.list_free(nand, &last, &copies);
        if self.has("mount-erases-often") {
            let block = self.free[0].0;
            (0..=2 * nand.geometry().pages()).try_for_each(|_| nand.erase(block, Cause::Meta))?;
        }
        last.into_iter().try_for_each(|last| self.rescue(nand, last))?;
        if self.tombstones.iter().any(|&version| version > 0) {
            self.write_snapshot(nand)?;
        }
        if self.has("mount-spreads-pages") {
            return self.spread(nand, &copies);
        }
        // Collection would move the older twins before they decay.
        while self.free.len() <= RESERVE && !self.has("older-twin-wins") {
            self.collect(nand)?;
        }
        Ok(())
    }

    /// The last pages programmed: one of each die.
    fn last_of_dies(&self, nand: &Nand, copies: &[(Ppn, Spare)]) -> Vec<(Ppn, Spare)> {
        let geometry = *nand.geometry();
        let die = |ppn| match self.has("last-die-rescued-only") {
            true => 0,
            false => geometry.die_of(geometry.block_of(ppn)),
        };
        let of_die = |number| copies.iter().filter(move |(ppn, _)| die(*ppn) == number);
        let last = |number| of_die(number).max_by_key(|(_, spare)| spare.sequence).copied();
        (0..geometry.dies()).filter_map(last).collect()
    }

    /// Moves the oldest page too, and makes no room.
    fn spread(&mut self, nand: &mut Nand, copies: &[(Ppn, Spare)]) -> Result<()> {
        let is_valid =
            |(ppn, spare): &&(Ppn, Spare)| self.map[spare.owner.0 as usize] == Some(*ppn);
        let oldest = copies.iter().filter(is_valid).min_by_key(|(_, spare)| spare.sequence);
        oldest.map_or(Ok(()), |&(ppn, _)| self.copy(nand, ppn))
    }

    fn scan(&self, nand: &mut Nand, blocks: &[BlockId]) -> Result<Vec<(Ppn, Spare)>> {
        let (mut found, mut torn) = (Vec::new(), 0);
        for &block in blocks {
            for offset in 0..nand.geometry().pages_per_block() {
                let ppn = nand.geometry().page(block, offset);
                match nand.read_spare(ppn, Cause::Meta)? {
                    PageState::Programmed(spare) => found.push((ppn, spare)),
                    PageState::Unreadable => {
                        torn += 1;
                        let most = match self.bug {
                            "torn-page-refused" => 0,
                            "three-torn-pages-refused" => 2,
                            _ => u32::MAX,
                        };
                        if torn > most {
                            let why = format!("page {} is torn", ppn.0);
                            return Err(ftl::Error::Unmountable(why));
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(found)
    }

    fn sort_tombstone_blocks(&mut self, nand: &Nand, snapshots: &[(Ppn, Spare)]) {
        let newest = |block: &BlockId| {
            let of = snapshots.iter().filter(|(ppn, _)| nand.geometry().block_of(*ppn) == *block);
            of.map(|(_, spare)| spare.sequence).max()
        };
        self.tombstone_blocks.make_contiguous().sort_by_key(newest);
    }

    fn resume(&self, nand: &mut Nand, copies: &[(Ppn, Spare)], snapshots: &[(Ppn, Spare)]) {
        let last = |pages: &[(Ppn, Spare)]| {
            pages.iter().map(|(_, spare)| spare.sequence).max().unwrap_or(0)
        };
        let last_tombstone = self.tombstones.iter().copied().max().unwrap_or(0);
        nand.mounting().resume(match self.bug {
            "sequence-restarts" => 1,
            "tombstones-outside-sequence" => last(copies) + 1,
            _ => last(copies).max(last(snapshots)).max(last_tombstone) + 1,
        });
    }

    fn elect(&mut self, copies: &[(Ppn, Spare)]) {
        let mut best: Vec<Option<Spare>> = vec![None; self.map.len()];
        for &(ppn, spare) in copies {
            let lpn = spare.owner.0 as usize;
            self.oldest[lpn].get_or_insert(ppn);
            let beaten_by_tombstone = match self.has("tombstones-beat-newer") {
                true => self.tombstones[lpn] > 0,
                false => self.tombstones[lpn] > spare.version,
            };
            let beaten = best[lpn].is_some_and(|best| match self.has("older-twin-wins") {
                true => best.version >= spare.version,
                false => best.rank() > spare.rank(),
            });
            if beaten_by_tombstone || beaten && !self.has("versions-ignored") {
                continue;
            }
            best[lpn] = Some(spare);
            self.map[lpn] = Some(ppn);
        }
    }

    /// Blocks without valid pages are free. Those with an older copy of a last page come last.
    fn list_free(&mut self, nand: &Nand, last: &[(Ppn, Spare)], copies: &[(Ppn, Spare)]) {
        let geometry = nand.geometry();
        let holds_fallback = |block: BlockId| {
            let mut of_block = copies.iter().filter(|(ppn, _)| geometry.block_of(*ppn) == block);
            let is_last = |owner| last.iter().any(|(_, spare)| spare.owner == owner);
            of_block.any(|(_, spare)| is_last(spare.owner))
        };
        let mut free: Vec<BlockId> = self.data.clone();
        free.retain(|&block| {
            let mut mapped = self.map.iter().flatten();
            !mapped.any(|&ppn| geometry.block_of(ppn) == block)
        });
        free.sort_by_key(|&block| holds_fallback(block) != self.has("fallback-erased"));
        self.free = free.into_iter().map(|block| (block, true)).collect();
        let mapped = self.map.iter().flatten().next().filter(|_| self.has("mapped-block-free"));
        self.free.extend(mapped.map(|&ppn| (geometry.block_of(ppn), true)));
        let twice = self.free.back().copied().filter(|_| self.has("free-block-twice"));
        self.free.extend(twice);
    }

    /// The last page programmed may decay, so it is copied to a new block.
    fn rescue(&mut self, nand: &mut Nand, (ppn, spare): (Ppn, Spare)) -> Result<()> {
        let used = self.map[spare.owner.0 as usize] == Some(ppn);
        if self.has("open-block-resumed") && used {
            let block = nand.geometry().block_of(ppn);
            self.open = Some((block, nand.geometry().offset_of(ppn) + 1));
        }
        if !used || self.has("unstable-trusted") {
            return Ok(());
        }
        match self.copy(nand, ppn) {
            Err(ftl::Error::Chip(nand::Error::Unreadable(_)))
                if self.has("failed-rescue-ignored") =>
            {
                Ok(())
            }
            done => done,
        }
    }
}

fn looks_erased(nand: &mut Nand, block: BlockId) -> Result<bool> {
    let first = nand.geometry().first_page(block);
    let mut erased = true;
    for offset in 0..nand.geometry().pages_per_block() {
        erased &= nand.read_spare(first.plus(offset), Cause::Meta)? == PageState::Erased;
    }
    Ok(erased)
}

impl Base for PlainFtl {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            let is_part = run.mask(index, full) != full && self.has("part-not-read");
            if is_part || lpn.0 == 0 && self.hides_first {
                continue;
            }
            self.cached.take_if(|(page, _)| *page != lpn || index > 0);
            let cached = self.cached.map(|(_, old)| old);
            if let Some(ppn) = cached.or(self.map[lpn.0 as usize]) {
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        let pages = if self.has("trims-first-page-only") { 1 } else { pages };
        (self.cached, self.hides_first) = (None, false);
        for lpn in first.0..first.0 + pages {
            self.map[lpn as usize] = None;
            self.tombstones[lpn as usize] = nand.take_sequence();
        }
        self.unflushed = true;
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand, forced: Option<&Run>) -> Result<()> {
        if self.unflushed && !self.has("tombstones-not-flushed") {
            self.write_snapshot(nand)?;
        }
        let waits = match forced {
            Some(_) => !self.has("force-without-wait"),
            None => !self.has("flush-without-wait"),
        };
        if waits {
            nand.wait();
        }
        Ok(())
    }

    fn place(&self, _: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.map[lpn.0 as usize]
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        let mapped = |lpn: u32| self.map[lpn as usize].is_some();
        let is_mapped = mapped(lpns.start);
        let pages = lpns.take_while(|&lpn| mapped(lpn) == is_mapped).count() as u32;
        Extent { is_mapped, pages }
    }

    fn prefetch(&self, _: &[Span], _: Option<&Nand>) {}
}

impl Ftl for PlainFtl {
    ftl::base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        if run.stream == 3 && self.has("stream-forgotten") {
            return Ok(0);
        }
        (0..run.pages).try_for_each(|index| self.write_page(nand, run, index))?;
        self.writes += 1;
        let is_near = (6..=12).contains(&run.first.0) && self.writes > 8;
        self.hides_first = is_near && self.has("first-page-hidden");
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> std::result::Result<(), Violation> {
        for (lpn, ppn) in self.map.iter().enumerate() {
            let Some(ppn) = *ppn else { continue };
            let (owner, block) = (nand.owner(ppn), nand.geometry().block_of(ppn));
            if owner.0 as usize != lpn {
                let why = format!("LPN {lpn} maps to {ppn:?}, which holds {owner:?}");
                return Err(Violation(why));
            }
            let is_free = self.free.iter().any(|&(free, _)| free == block);
            if is_free {
                return Err(Violation(format!("{block:?} is free, but holds LPN {lpn}")));
            }
        }
        let mut free: Vec<u32> = self.free.iter().map(|(block, _)| block.0).collect();
        free.sort_unstable();
        match free.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Violation(format!("block {} is listed as free twice", pair[0]))),
            None => Ok(()),
        }
    }

    fn report(&self) -> Report {
        let free_blocks = match self.has("free-blocks-overstated") {
            true => self.data.len() + TOMBSTONE_BLOCKS,
            false => self.free.len(),
        };
        let ram = Ram { map: 4 * self.map.len() as u64, ..Ram::default() };
        Report { ram, free_blocks: free_blocks as u32, ..Report::default() }
    }

    fn reset_report(&mut self) {}
}
