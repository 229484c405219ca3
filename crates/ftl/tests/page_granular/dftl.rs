//! dftl: the cache counted by hand, and all counts against a naive model.
//!
//! Translation pages hold few entries here, so that even a small device has many of them.

use std::collections::BTreeMap;

use ftl::{MapEvent, Metric, MissCosts, Run};
use nand::{Cause, Data, Lpn, Mode, Op, Ppn, Sink};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, PAGE_BYTES, Real, step};

const SEQUENTIAL: &str = "sequential";

/// Reads and programs of translation pages, copies of them, and erases of their blocks.
fn map_work(real: &Real) -> [u64; 4] {
    let tally = real.nand.tally();
    let copies = tally.copies(Cause::Map);
    [
        tally.count(Op::Read, Cause::Map) - copies,
        tally.count(Op::Program, Cause::Map) - copies,
        copies,
        tally.count(Op::Erase, Cause::Map),
    ]
}

fn figure(real: &Real, name: &str) -> f64 {
    let figures = real.ftl.report().figures;
    match figures.into_iter().find(|(known, _)| *known == name) {
        Some((_, Metric::Count(count))) => count as f64,
        Some((_, Metric::Real(figure))) => figure,
        other => panic!("{name}: {other:?}"),
    }
}

/// A device with blocks of four pages, four entries per translation page, and a cache of `cached`
/// entries.
fn device(cached: u32) -> Real {
    Real::new(&format!("dftl:cmt={},entries=4", 8 * cached), SEQUENTIAL, 4, 20)
}

impl Real {
    fn write(&mut self, first: u32, pages: u32) {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.write_run(&mut self.nand, &run).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    fn read(&mut self, first: u32, pages: u32) {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.read(&mut self.nand, &run, &mut Sink::None).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    /// The place of the first translation page. Its number follows those of the host's pages.
    fn translation_page(&self) -> Ppn {
        let first = Lpn(4 * LOGICAL_BLOCKS);
        self.ftl.place(&self.nand, first).expect("it was written")
    }

    fn forget_counts(&mut self) {
        self.nand.reset_tally();
        self.ftl.reset_report();
    }
}

// ---- Counted by hand ----------------------------------------------------------------------------

#[test]
fn a_write_that_misses_costs_no_flash_work_while_there_is_room() {
    let mut real = device(8);
    real.write(0, 8);
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    assert_eq!((figure(&real, "cmt_entries"), figure(&real, "cmt_write_misses")), (8.0, 8.0));
}

#[test]
fn the_first_version_of_a_translation_page_needs_no_read() {
    let mut real = device(2);
    real.write(0, 1);
    real.write(4, 1);
    real.write(8, 1);
    assert_eq!(
        map_work(&real),
        [0, 1, 0, 0],
        "the entry of 0 is evicted; its translation page did not exist yet"
    );
}

#[test]
fn an_eviction_cleans_all_dirty_entries_of_its_translation_page() {
    let mut real = device(4);
    for page in [0, 4, 1, 2] {
        real.write(page, 1);
    }
    real.write(8, 1);
    assert_eq!(map_work(&real), [0, 1, 0, 0]);
    assert_eq!((figure(&real, "batches"), figure(&real, "F_b")), (1.0, 3.0));
    // Next the dirty entry of 4 is evicted, then those of 1 and 2, which are clean by now.
    real.write(9, 1);
    assert_eq!(map_work(&real), [0, 2, 0, 0]);
    real.write(10, 1);
    real.write(11, 1);
    assert_eq!(map_work(&real), [0, 2, 0, 0]);
    assert_eq!(figure(&real, "F_b"), 2.0, "the mean of three and one");
}

#[test]
fn an_eviction_reads_the_translation_page_that_is_there() {
    let mut real = device(1);
    real.write(0, 1);
    real.write(4, 1);
    real.write(0, 1);
    assert_eq!(map_work(&real), [0, 2, 0, 0]);
    real.write(4, 1);
    assert_eq!(map_work(&real), [1, 3, 0, 0]);
}

#[test]
fn a_read_that_misses_reads_a_translation_page_and_one_that_hits_none() {
    let mut real = device(2);
    real.write(0, 4);
    real.write(4, 2);
    real.forget_counts();
    real.read(4, 2);
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    assert_eq!(figure(&real, "cmt_read_hit_ratio"), 1.0);
    // Reading 0 evicts the dirty entry of 4 and cleans that of 5 with it. Reading 1 evicts the
    // entry of 5, which is clean and costs nothing.
    real.read(0, 1);
    assert_eq!(map_work(&real), [1, 1, 0, 0]);
    real.read(1, 1);
    assert_eq!(map_work(&real), [2, 1, 0, 0]);
    assert_eq!(real.nand.tally().count(Op::Read, Cause::Host), 4);
    assert_eq!(figure(&real, "cmt_read_misses"), 2.0);
}

/// A device whose first translation page cannot be read, and the place of that page. The single
/// cached entry is of another page.
fn with_lost_translation_page() -> (Real, Ppn) {
    let mut real = Real::in_mode("dftl:cmt=8,entries=4", SEQUENTIAL, 4, 20, Mode::Stamps);
    for page in [0, 4] {
        let run = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::Stamp(1));
        real.ftl.write_run(&mut real.nand, &run).unwrap();
    }
    let ppn = real.translation_page();
    real.nand.power().lose_data(ppn).unwrap();
    real.forget_counts();
    (real, ppn)
}

/// Nothing is lost with it: spare areas say the same. It is read once more before it is written.
#[test]
fn a_lost_translation_page_is_written_anew_when_an_entry_of_it_leaves() {
    let (mut real, lost) = with_lost_translation_page();
    let scans = |real: &Real| {
        real.nand.tally().count(Op::SpareRead, Cause::Map) / u64::from(real.nand.geometry().pages())
    };
    real.read(0, 1);
    assert_eq!(scans(&real), 1);
    real.read(4, 1);
    assert_eq!(scans(&real), 2);
    assert!(real.translation_page() != lost, "it is still there");
    real.read(0, 1);
    assert_eq!(scans(&real), 2, "it can be read again");
}

#[test]
fn a_mount_does_without_a_lost_translation_page_and_leaves_the_cache_at_its_size() {
    let (mut real, lost) = with_lost_translation_page();
    real.power_cycle();
    assert_eq!(figure(&real, "cmt_entries"), 1.0);
    real.read(0, 1);
    real.read(4, 1);
    assert!(real.translation_page() != lost, "it is still there");
}

#[test]
fn cleaned_entries_stay_in_their_order() {
    let mut real = device(3);
    for page in [0, 4, 1] {
        real.write(page, 1);
    }
    // Evicting 0 also cleans 1. The next entries to be evicted are 4, 1 and 8, in this order.
    real.write(8, 1);
    real.write(12, 1);
    real.forget_counts();
    real.write(16, 1);
    assert_eq!(map_work(&real), [0, 0, 0, 0], "1 was clean");
    real.write(20, 1);
    assert_eq!(map_work(&real), [0, 1, 0, 0], "8 was not clean");
}

#[test]
fn unmapped_pages_cost_nothing_to_read_or_trim() {
    let mut real = device(1);
    real.write(0, 1);
    real.read(4, 4);
    real.ftl.trim(&mut real.nand, Lpn(8), 4).unwrap();
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    assert_eq!(figure(&real, "cmt_read_misses"), 0.0);
    assert_eq!(figure(&real, "cmt_write_misses"), 1.0);
}

#[test]
fn the_cache_treats_a_trim_as_a_write() {
    let mut real = device(1);
    real.write(0, 2);
    assert_eq!(map_work(&real), [0, 1, 0, 0], "the entry of 0 is evicted");
    real.ftl.trim(&mut real.nand, Lpn(0), 2).unwrap();
    assert_eq!(
        map_work(&real),
        [2, 3, 0, 0],
        "the written entry of 1 is evicted, then the trimmed entry of 0"
    );
    assert_eq!(figure(&real, "cmt_write_misses"), 4.0);
    real.write(4, 1);
    assert_eq!(map_work(&real), [3, 4, 0, 0], "the trimmed entry of 1 is evicted");
}

#[test]
fn a_partial_write_looks_its_entry_up_once() {
    let mut real = device(1);
    real.write(0, 1);
    real.write(4, 1);
    real.forget_counts();
    let whole = Run::whole(Lpn(0), 1, PAGE_BYTES, Data::None);
    real.ftl.write_run(&mut real.nand, &Run { head: 0b0011, tail: 0b0011, ..whole }).unwrap();
    assert_eq!(map_work(&real), [0, 1, 0, 0], "the entry of 4 is evicted");
    assert_eq!(real.nand.tally().count(Op::Read, Cause::Rmw), 1);
}

#[test]
fn a_smaller_budget_shrinks_the_cache_at_once_and_a_larger_one_lets_it_grow() {
    let mut real = device(6);
    for page in [0, 4, 8, 12, 1, 16] {
        real.write(page, 1);
    }
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 3 * 8).unwrap();
    assert_eq!(figure(&real, "cmt_entries"), 3.0);
    assert_eq!(map_work(&real), [0, 3, 0, 0], "0 (which cleans 1), 4 and 8 are evicted");
    assert_eq!(real.ftl.report().ram.cache, 24);
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 0).unwrap();
    assert_eq!(figure(&real, "cmt_entries"), 1.0, "the cache keeps at least one entry");
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 800).unwrap();
    real.forget_counts();
    real.write(20, 12);
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    real.ftl.audit(&real.nand).unwrap();
}

/// The number of translation pages that are in use.
fn translation_pages(real: &Real) -> usize {
    let owners = (4 * LOGICAL_BLOCKS..5 * LOGICAL_BLOCKS).map(Lpn);
    owners.filter(|&owner| real.ftl.place(&real.nand, owner).is_some()).count()
}

/// Random steps on a cache that gets random sizes; now and then the power fails. Whatever is
/// released, each entry is in the cache or in flash, where it has its value.
#[test]
fn a_cache_that_grew_releases_pages_and_loses_no_entry() {
    let mut real = Real::in_mode("dftl:cmt=64,entries=4", SEQUENTIAL, 4, 20, Mode::Stamps);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(14);
    let (mut released, mut kept) = (0, 0);
    for round in 0..4000 {
        let step = step(&mut rng, 4);
        match rng.next_u32() % 3 {
            0 => real.read(step.first as u32, step.pages as u32),
            _ => {
                let (first, pages) = (Lpn(step.first as u32), step.pages as u32);
                let data = Data::Stamp(round + 1);
                let run = Run { data, ..Run::whole(first, pages, PAGE_BYTES, Data::None) };
                real.ftl.write_run(&mut real.nand, &run).unwrap();
            }
        }
        if round % 5 == 0 {
            let before = translation_pages(&real);
            let map = real.ftl.resizable_map().unwrap();
            map.resize(&mut real.nand, 8 * (1 + u64::from(rng.next_u32() % 56))).unwrap();
            map.fill(&mut real.nand).unwrap();
            let after = translation_pages(&real);
            released += before.saturating_sub(after);
            kept += after;
        }
        if round % 97 == 0 {
            real.power_cycle();
        }
        real.ftl.audit(&real.nand).unwrap();
    }
    assert!(released > 500 && kept > 500, "{released} released, {kept} kept");
}

#[test]
fn a_cache_with_all_entries_needs_no_translation_page() {
    let mut real = device(8);
    real.write(0, 4 * LOGICAL_BLOCKS);
    assert!(translation_pages(&real) > 6);
    let map = real.ftl.resizable_map().unwrap();
    map.resize(&mut real.nand, u64::from(8 * 4 * LOGICAL_BLOCKS)).unwrap();
    map.fill(&mut real.nand).unwrap();
    assert_eq!(translation_pages(&real), 0);
    real.forget_counts();
    (0..20).for_each(|_| real.write(0, 4 * LOGICAL_BLOCKS));
    assert_eq!(map_work(&real)[..3], [0, 0, 0], "the old pages are dead");
    let mut roles = Vec::new();
    real.ftl.roles(&real.nand, &mut roles);
    assert!(roles.iter().all(|role| role.name != "translation"), "their blocks are erased");
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 64).unwrap();
    assert!(translation_pages(&real) > 6, "evicted entries are written again");
    real.ftl.audit(&real.nand).unwrap();
}

#[test]
fn the_least_extra_holds_all_translation_pages_the_reserve_and_one_more() {
    let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-last").unwrap()).unwrap();
    // 1000 blocks of 64 pages need 125 translation pages of 512 entries, which fill two blocks; or
    // 640 translation pages of 100 entries, which fill ten.
    for (spec, least) in [("dftl", 2 + 4), ("dftl:entries=100", 10 + 4)] {
        let choice = ftl::Choice::from_spec(&spec::Spec::parse(spec).unwrap()).unwrap();
        choice.check(&chip, 1000, least).unwrap();
        let error = choice.check(&chip, 1000, least - 1).unwrap_err().to_string();
        assert!(error.starts_with(&format!("dftl needs at least {least} extra")), "{error}");
    }
    let refused = |spec: &str| {
        let choice = ftl::Choice::from_spec(&spec::Spec::parse(spec).unwrap()).unwrap();
        choice.check(&chip, 1000, 100).unwrap_err().to_string()
    };
    assert_eq!(
        refused("dftl:entries=513"),
        "dftl: entries=513; a page of this chip holds at most 512"
    );
    assert_eq!(refused("dftl:cmt=7"), "dftl: cmt=7; at least one entry of 8 bytes is needed");
}

#[test]
fn ram_is_the_directory_and_the_cache() {
    let ram = device(5).ftl.report().ram;
    assert_eq!((ram.map, ram.cache), (4 * u64::from(LOGICAL_BLOCKS), 40));
}

#[test]
fn a_cache_with_room_for_every_entry_needs_no_map_work() {
    let mut dftl = Real::new("dftl", SEQUENTIAL, 4, 6);
    let mut page = Real::new("page", SEQUENTIAL, 4, 6);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    for _ in 0..3000 {
        let step = step(&mut rng, 4);
        step.run_on(&mut dftl);
        step.run_on(&mut page);
    }
    assert_eq!(map_work(&dftl), [0, 0, 0, 0]);
    let (dftl, page) = (dftl.counts(), page.counts());
    assert_eq!((dftl.host, dftl.rmw), (page.host, page.rmw));
    // dftl's reserve is two blocks larger, so that collections start earlier and cost more.
    assert!(dftl.copies > page.copies && page.copies > 1000, "{dftl:?} {page:?}");
}

// ---- A naive model ------------------------------------------------------------------------------

/// The number of a page: first the host's pages, then the translation pages.
type Number = usize;

struct Block {
    owners: Vec<Number>,
}

/// Follows the rules and searches linearly for everything.
struct NaiveDftl {
    np: usize,
    entries: usize,
    capacity: usize,
    pages: usize,
    blocks: Vec<Block>,
    free: Vec<usize>,
    /// The open data block and the open translation block.
    open: [Option<usize>; 2],
    place: BTreeMap<Number, (usize, usize)>,
    /// The cached entries by page, least recently used first, and whether they are dirty.
    cmt: Vec<(Number, bool)>,
    counts: Counts,
    /// The same as [`map_work`].
    map: [u64; 4],
    events: Vec<MapEvent>,
    seen: Seen,
    /// Blocks reclaimed, and pages rewritten for that: first of data, then of translation pages.
    reclaimed: [[u64; 2]; 2],
}

/// Statistics of an interval for adaptive partitioning.
#[derive(Default)]
struct Seen {
    /// Hits and misses: first of reads, then of writes.
    look_ups: [[u64; 2]; 2],
    /// For each eviction of a dirty entry the number of entries that it cleaned.
    batches: Vec<u64>,
}

impl NaiveDftl {
    fn new(np: usize, entries: usize, capacity: usize, extra: usize) -> NaiveDftl {
        let blocks = LOGICAL_BLOCKS as usize + extra;
        NaiveDftl {
            np,
            entries,
            capacity,
            pages: LOGICAL_BLOCKS as usize * np,
            blocks: (0..blocks).map(|_| Block { owners: Vec::new() }).collect(),
            free: (0..blocks).collect(),
            open: [None; 2],
            place: BTreeMap::new(),
            cmt: Vec::new(),
            counts: Counts::default(),
            map: [0; 4],
            events: Vec::new(),
            seen: Seen::default(),
            reclaimed: [[0; 2]; 2],
        }
    }

    fn has_room(&self, which: usize) -> bool {
        self.open[which].is_some_and(|block| self.blocks[block].owners.len() < self.np)
    }

    fn append(&mut self, which: usize, number: Number) {
        if !self.has_room(which) {
            self.open[which] = Some(self.free.remove(0));
        }
        let block = self.open[which].unwrap();
        self.blocks[block].owners.push(number);
        self.place.insert(number, (block, self.blocks[block].owners.len() - 1));
    }

    fn make_room(&mut self, which: usize) {
        while !self.has_room(which) {
            match self.free.len() > 3 {
                true => self.open[which] = Some(self.free.remove(0)),
                false => self.collect(),
            }
        }
    }

    fn valid(&self, block: usize) -> Vec<Number> {
        let owners = self.blocks[block].owners.iter().enumerate();
        let valid = owners.filter(|&(at, owner)| self.place.get(owner) == Some(&(block, at)));
        valid.map(|(_, &owner)| owner).collect()
    }

    fn collect(&mut self) {
        let full = (0..self.blocks.len()).filter(|&b| self.blocks[b].owners.len() == self.np);
        let victim = full.min_by_key(|&block| (self.valid(block).len(), block)).unwrap();
        let is_data = self.blocks[victim].owners[0] < self.pages;
        let mut uncached: Vec<Number> = Vec::new();
        let mut rewritten = self.valid(victim).len() as u64;
        for number in self.valid(victim) {
            self.append(usize::from(!is_data), number);
            if !is_data {
                self.map[2] += 1;
                continue;
            }
            self.counts.copies += 1;
            match self.cmt.iter_mut().find(|(cached, _)| *cached == number) {
                Some((_, dirty)) => *dirty = true,
                None => uncached.push(number),
            }
        }
        uncached.sort_unstable();
        let mut updates: Vec<Number> =
            uncached.iter().map(|number| self.pages + number / self.entries).collect();
        updates.dedup();
        let room = self.open[1].map_or(0, |block| self.np - self.blocks[block].owners.len());
        match self.free.len() > usize::from(updates.len() > room) {
            // No block is free for the updates: the entries wait in the cache.
            false => self.cmt.extend(uncached.iter().map(|&number| (number, true))),
            true => updates.into_iter().for_each(|page| {
                self.map[0] += 1;
                self.map[1] += 1;
                self.append(1, page);
                rewritten += 1;
            }),
        }
        let reclaimed = &mut self.reclaimed[usize::from(!is_data)];
        *reclaimed = [reclaimed[0] + 1, reclaimed[1] + rewritten];
        self.blocks[victim].owners.clear();
        for open in self.open.iter_mut().filter(|open| **open == Some(victim)) {
            *open = None;
        }
        self.free.push(victim);
        match is_data {
            true => self.counts.erases += 1,
            false => self.map[3] += 1,
        }
    }

    fn evict(&mut self) {
        let (number, dirty) = self.cmt[0];
        if dirty {
            self.make_room(1);
            let page = number / self.entries;
            self.map[0] += u64::from(self.place.contains_key(&(self.pages + page)));
            self.map[1] += 1;
            self.append(1, self.pages + page);
            let entries = self.entries;
            let own = self.cmt.iter_mut().filter(|(cached, _)| cached / entries == page);
            let batch = own.map(|(_, dirty)| core::mem::take(dirty)).filter(|&was| was).count();
            self.seen.batches.push(batch as u64);
        }
        self.cmt.remove(0);
        self.events.push(MapEvent::Left(Lpn(number as u32)));
    }

    fn look_up(&mut self, number: Number, write: bool) {
        let cached = |model: &NaiveDftl| model.cmt.iter().position(|entry| entry.0 == number);
        let is_miss = cached(self).is_none();
        self.seen.look_ups[usize::from(write)][usize::from(is_miss)] += 1;
        if is_miss {
            let missed = if write { MapEvent::WriteMissed } else { MapEvent::ReadMissed };
            self.events.push(missed(Lpn(number as u32)));
            while self.cmt.len() >= self.capacity {
                self.evict();
            }
            if cached(self).is_none() {
                self.map[0] += u64::from(!write);
                self.cmt.push((number, false));
            }
        }
        let at = cached(self).unwrap();
        let (_, dirty) = self.cmt.remove(at);
        self.cmt.push((number, dirty || write));
    }

    /// The costs of Table IV in the paper on adaptive partitioning, for latencies of 88 µs (read),
    /// 263 µs (program) and 2000 µs (erase).
    fn miss_costs(&mut self) -> MissCosts {
        let Seen { look_ups, batches } = core::mem::take(&mut self.seen);
        let (read, program, erase) = (88e3, 263e3, 2000e3);
        let overhead = |[blocks, pages]: [u64; 2]| match blocks {
            0 => 0.0,
            _ => (pages as f64 * (read + program) / blocks as f64 + erase) / self.np as f64,
        };
        let ratio = |[hits, misses]: [u64; 2]| misses as f64 / (hits + misses).max(1) as f64;
        let batch = match batches.len() {
            0 => 1.0,
            count => batches.iter().sum::<u64>() as f64 / count as f64,
        };
        let entry_write = (read + program + overhead(self.reclaimed[1])) / batch;
        MissCosts {
            map_read_ns: read,
            map_write_ns: entry_write,
            buffer_read_ns: read + read * ratio(look_ups[0]),
            buffer_write_ns: program
                + overhead(self.reclaimed[0])
                + entry_write * ratio(look_ups[1]),
        }
    }

    fn read(&mut self, number: Number) {
        if self.place.contains_key(&number) {
            self.look_up(number, false);
        }
    }

    fn write(&mut self, number: Number, partial: bool) {
        self.look_up(number, true);
        self.make_room(0);
        self.counts.rmw += u64::from(partial && self.place.contains_key(&number));
        self.append(0, number);
        self.counts.host += 1;
    }

    fn trim(&mut self, number: Number) {
        if self.place.contains_key(&number) {
            self.look_up(number, true);
            self.place.remove(&number);
        }
    }
}

#[test]
fn dftl_counts_as_the_naive_model_counts() {
    for (np, entries, cached, extra) in
        [(4, 4, 1, 7), (4, 4, 6, 9), (6, 10, 12, 7), (8, 3, 20, 10), (4, 48, 40, 5)]
    {
        let spec = format!("dftl:cmt={},entries={entries}", 8 * cached);
        let mut real = Real::new(&spec, SEQUENTIAL, np, extra);
        let mut naive = NaiveDftl::new(np, entries, cached, extra as usize);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(10);
        let mut events = Vec::new();
        real.ftl.resizable_map().unwrap().watch();
        for round in 0..3000 {
            let step = step(&mut rng, np);
            let pages = step.first..step.first + step.pages;
            if rng.next_u32().is_multiple_of(3) {
                real.read(step.first as u32, step.pages as u32);
                pages.for_each(|page| naive.read(page));
            } else {
                step.run_on(&mut real);
                for (at, page) in pages.enumerate() {
                    match step.trim {
                        true => naive.trim(page),
                        false => naive.write(page, step.is_partial(at)),
                    }
                }
            }
            assert_eq!(real.counts(), naive.counts, "{spec}, Np {np}, step {round}");
            assert_eq!(map_work(&real), naive.map, "{spec}, Np {np}, step {round}");
            real.ftl.resizable_map().unwrap().take_events(&mut events);
            assert_eq!(events, naive.events, "{spec}, Np {np}, step {round}");
            events.clear();
            naive.events.clear();
            if round % 60 == 59 {
                are_alike(real.ftl.resizable_map().unwrap().miss_costs(), naive.miss_costs());
            }
        }
        assert!(naive.map.iter().all(|&n| n > 20 || cached == 40), "{spec}: {:?}", naive.map);
        assert!(naive.counts.copies > 500, "{:?}", naive.counts);
    }
}

fn are_alike(a: MissCosts, b: MissCosts) {
    let list = |c: MissCosts| [c.map_read_ns, c.map_write_ns, c.buffer_read_ns, c.buffer_write_ns];
    for (one, other) in list(a).into_iter().zip(list(b)) {
        assert!((one / other - 1.0).abs() < 1e-9, "{a:?} {b:?}");
    }
}

/// Law: of uniform random writes to U pages, a share of 1 − C/U misses a cache of C entries.
#[test]
fn uniform_random_writes_miss_at_the_rate_of_uncached_entries() {
    let pages = LOGICAL_BLOCKS * 64;
    for cached in [pages / 16, pages / 4, pages / 2] {
        let spec = format!("dftl:cmt={},entries=64", 8 * cached);
        let mut real = Real::new(&spec, SEQUENTIAL, 64, 8);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
        let write = |real: &mut Real, lpn| {
            let run = Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
            real.ftl.write_run(&mut real.nand, &run).unwrap();
        };
        (0..pages).for_each(|lpn| write(&mut real, lpn));
        let writes = 150_000;
        for round in 0..writes + 5000 {
            if round == 5000 {
                real.ftl.reset_report();
            }
            write(&mut real, rng.next_u32() % pages);
        }
        let misses = figure(&real, "cmt_write_misses") / f64::from(writes);
        let law = 1.0 - f64::from(cached) / f64::from(pages);
        assert!((misses / law - 1.0).abs() < 0.01, "{cached} cached: {misses}, {law}");
    }
}
