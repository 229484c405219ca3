//! dftl: the cache by hand, and everything against a naive model.
//!
//! Translation pages hold few entries here, so that small devices have many.

use std::collections::BTreeMap;

use ftl::{MapEvent, Metric, MissCosts, Run};
use nand::{Cause, Data, Lpn, Op, Sink};
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

/// Blocks of four pages, four entries a translation page, and room for so many entries.
fn device(cached: u32) -> Real {
    Real::new(&format!("dftl:cmt={},entries=4", 8 * cached), SEQUENTIAL, 4, 20)
}

impl Real {
    fn write(&mut self, first: u32, pages: u32) {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.write(&mut self.nand, &run).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    fn read(&mut self, first: u32, pages: u32) {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.read(&mut self.nand, &run, &mut Sink::None).unwrap();
        self.ftl.audit(&self.nand).unwrap();
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
fn a_translation_page_comes_into_being_by_a_program_alone() {
    let mut real = device(2);
    real.write(0, 1);
    real.write(4, 1);
    real.write(8, 1);
    assert_eq!(map_work(&real), [0, 1, 0, 0], "the entry of 0 went, and nothing was there to read");
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
    // Then 4 goes, dirty; then 1 and 2, clean since.
    real.write(9, 1);
    assert_eq!(map_work(&real), [0, 2, 0, 0]);
    real.write(10, 1);
    real.write(11, 1);
    assert_eq!(map_work(&real), [0, 2, 0, 0]);
    assert_eq!(figure(&real, "F_b"), 2.0, "three and one");
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
    // The entry of 4 goes, dirty, and 5's is cleaned with it; then 1's drops 5's for nothing.
    real.read(0, 1);
    assert_eq!(map_work(&real), [1, 1, 0, 0]);
    real.read(1, 1);
    assert_eq!(map_work(&real), [2, 1, 0, 0]);
    assert_eq!(real.nand.tally().count(Op::Read, Cause::Host), 4);
    assert_eq!(figure(&real, "cmt_read_misses"), 2.0);
}

#[test]
fn cleaned_entries_stay_in_their_order() {
    let mut real = device(3);
    for page in [0, 4, 1] {
        real.write(page, 1);
    }
    // 0 goes and 1 is cleaned; then 4 goes, then 1, then 8.
    real.write(8, 1);
    real.write(12, 1);
    real.forget_counts();
    real.write(16, 1);
    assert_eq!(map_work(&real), [0, 0, 0, 0], "1 was clean");
    real.write(20, 1);
    assert_eq!(map_work(&real), [0, 1, 0, 0], "8 was not");
}

#[test]
fn what_nothing_maps_costs_nothing_to_read_or_trim() {
    let mut real = device(1);
    real.write(0, 1);
    real.read(4, 4);
    real.ftl.trim(&mut real.nand, Lpn(8), 4).unwrap();
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    assert_eq!(figure(&real, "cmt_read_misses"), 0.0);
    assert_eq!(figure(&real, "cmt_write_misses"), 1.0);
}

#[test]
fn a_trim_is_a_write_to_the_cache() {
    let mut real = device(1);
    real.write(0, 2);
    assert_eq!(map_work(&real), [0, 1, 0, 0], "for 0");
    real.ftl.trim(&mut real.nand, Lpn(0), 2).unwrap();
    assert_eq!(map_work(&real), [2, 3, 0, 0], "for 1, written, then for 0, trimmed");
    assert_eq!(figure(&real, "cmt_write_misses"), 4.0);
    real.write(4, 1);
    assert_eq!(map_work(&real), [3, 4, 0, 0], "for 1, trimmed");
}

#[test]
fn a_partial_write_looks_its_entry_up_once() {
    let mut real = device(1);
    real.write(0, 1);
    real.write(4, 1);
    real.forget_counts();
    let whole = Run::whole(Lpn(0), 1, PAGE_BYTES, Data::None);
    real.ftl.write(&mut real.nand, &Run { head: 0b0011, tail: 0b0011, ..whole }).unwrap();
    assert_eq!(map_work(&real), [0, 1, 0, 0], "4 goes");
    assert_eq!(real.nand.tally().count(Op::Read, Cause::Rmw), 1);
}

#[test]
fn a_budget_shrinks_the_cache_at_once_and_lets_it_grow_again() {
    let mut real = device(6);
    for page in [0, 4, 8, 12, 1, 16] {
        real.write(page, 1);
    }
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 3 * 8).unwrap();
    assert_eq!(figure(&real, "cmt_entries"), 3.0);
    assert_eq!(map_work(&real), [0, 3, 0, 0], "0 with 1, 4 and 8 went");
    assert_eq!(real.ftl.ram().cache, 24);
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 0).unwrap();
    assert_eq!(figure(&real, "cmt_entries"), 1.0, "one entry there must be");
    real.ftl.resizable_map().unwrap().resize(&mut real.nand, 800).unwrap();
    real.forget_counts();
    real.write(20, 12);
    assert_eq!(map_work(&real), [0, 0, 0, 0]);
    real.ftl.audit(&real.nand).unwrap();
}

#[test]
fn the_least_extra_holds_all_translation_pages_the_reserve_and_one_more() {
    let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-last").unwrap()).unwrap();
    // 1000 blocks of 64 pages: 125 translation pages of 512 entries, in two blocks; of 100 entries
    // 640 in ten.
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
    assert_eq!(refused("dftl:entries=513"), "dftl: entries=513; a page of this chip holds 512");
    assert_eq!(refused("dftl:cmt=7"), "dftl: cmt=7; an entry takes 8 bytes");
}

#[test]
fn ram_is_the_directory_and_the_cache() {
    let ram = device(5).ftl.ram();
    assert_eq!((ram.map, ram.cache), (4 * u64::from(LOGICAL_BLOCKS), 40));
}

#[test]
fn with_room_for_every_entry_only_the_map_is_saved() {
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
    // Two more blocks are in reserve, so collection starts earlier and costs more.
    assert!(dftl.copies > page.copies && page.copies > 1000, "{dftl:?} {page:?}");
}

// ---- A naive model ------------------------------------------------------------------------------

/// Pages of the host's, then translation pages, by number.
type Number = usize;

struct Block {
    owners: Vec<Number>,
}

/// Knows the rules and searches for everything.
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
    /// Cached pages, least recently used first, and whether they are dirty.
    cmt: Vec<(Number, bool)>,
    counts: Counts,
    /// As [`map_work`] has it.
    map: [u64; 4],
    events: Vec<MapEvent>,
    seen: Seen,
    /// Blocks reclaimed and pages rewritten for it: of data, of entries.
    reclaimed: [[u64; 2]; 2],
}

/// What adaptive partitioning asks of an interval.
#[derive(Default)]
struct Seen {
    /// Hits and misses of reads, of writes.
    look_ups: [[u64; 2]; 2],
    /// Evictions of dirty entries, and how many each cleaned.
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
        uncached.sort();
        let mut updates: Vec<Number> =
            uncached.iter().map(|number| self.pages + number / self.entries).collect();
        updates.dedup();
        let room = self.open[1].map_or(0, |block| self.np - self.blocks[block].owners.len());
        match self.free.len() > usize::from(updates.len() > room) {
            // They wait in the cache.
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

    /// Adaptive partitioning, Table IV, with the chip's 88, 263 and 2000 µs.
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

/// Law: of uniform random writes over U pages, 1 − C/U miss a cache of C entries.
#[test]
fn uniform_random_writes_miss_the_cache_as_often_as_it_lacks_their_entry() {
    let pages = LOGICAL_BLOCKS * 64;
    for cached in [pages / 16, pages / 4, pages / 2] {
        let spec = format!("dftl:cmt={},entries=64", 8 * cached);
        let mut real = Real::new(&spec, SEQUENTIAL, 64, 8);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(12);
        let write = |real: &mut Real, lpn| {
            let run = Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
            real.ftl.write(&mut real.nand, &run).unwrap();
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
