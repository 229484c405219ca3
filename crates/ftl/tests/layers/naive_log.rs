//! A naive model of the sector log: lists of sectors. It must pass the same calls to the FTL below.

use std::collections::{BTreeMap, BTreeSet};

use ftl::Durability;
use ftl::layer::sector_log::SectorLogSize;
use nand::SectorMask;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::Real;
use crate::recorder::{Call, SECTORS, WHOLE};
use crate::sector_log::on_chip;

const PER_BLOCK: usize = 2;
const PAGES: u32 = 16;

/// Page, and number of the sector in it.
type Sector = (u32, u32);

#[derive(Default)]
struct NaiveLog {
    /// The programmed pages of the log with their blocks, the oldest first.
    pages: Vec<(usize, Vec<Sector>)>,
    /// For each sector, the page of the log with its newest programmed copy. Pages are counted
    /// since the start.
    map: BTreeMap<Sector, usize>,
    /// Number of pages that were erased already.
    gone: usize,
    waiting: Vec<Sector>,
    blocks: usize,
    map_bytes_max: u64,
    calls: Vec<Call>,
    /// Number of pages programmed in the head block, and of blocks opened since the start.
    filled: usize,
    opened: usize,
    figures: BTreeMap<&'static str, u64>,
    operations: [u64; 3],
}

impl NaiveLog {
    fn count(&mut self, name: &'static str, n: usize) {
        *self.figures.entry(name).or_default() += n as u64;
    }

    fn free_pages(&self) -> usize {
        let used: BTreeSet<usize> = self.pages.iter().map(|(block, _)| *block).collect();
        let room = if used.is_empty() { 0 } else { PER_BLOCK - self.filled };
        (self.blocks - used.len()) * PER_BLOCK + room
    }

    fn map_bytes(&self, more: &[Sector]) -> u64 {
        let pages: BTreeSet<u32> = self.map.keys().chain(more).map(|sector| sector.0).collect();
        let buckets = (self.blocks * PER_BLOCK).next_power_of_two() as u64;
        4 * buckets + pages.len() as u64 * (8 + 4 * u64::from(SECTORS))
    }

    fn of(&self, page: u32) -> BTreeSet<u32> {
        let logged = self.map.keys().filter(|sector| sector.0 == page);
        let all = logged.chain(self.waiting.iter().filter(|sector| sector.0 == page));
        all.map(|sector| sector.1).collect()
    }

    fn forget(&mut self, page: u32) {
        let sectors = self.of(page).len();
        self.count("left_sectors", sectors);
        let waited = self.waiting.len();
        self.waiting.retain(|sector| sector.0 != page);
        self.count("taken_waiting", waited - self.waiting.len());
        self.map.retain(|sector, _| sector.0 != page);
    }

    fn settle(&mut self, least: usize) {
        while self.waiting.len() >= least.max(1) {
            let grows = self.map_bytes(&self.waiting) > self.map_bytes_max;
            if self.free_pages() == 0 || grows && !self.pages.is_empty() {
                self.clean();
                continue;
            }
            if self.pages.is_empty() || self.filled == PER_BLOCK {
                (self.filled, self.opened) = (0, self.opened + 1);
            }
            self.filled += 1;
            let page = std::mem::take(&mut self.waiting);
            for sector in &page {
                self.map.insert(*sector, self.gone + self.pages.len());
            }
            self.operations[1] += 1;
            self.count("programmed_sectors", page.len());
            self.count("padding_sectors", SECTORS as usize - page.len());
            self.pages.push((self.opened, page));
        }
    }

    fn clean(&mut self) {
        let tail = self.pages[0].0;
        let size = self.pages.iter().take_while(|(block, _)| *block == tail).count();
        let mut read = BTreeSet::new();
        for number in self.gone..self.gone + size {
            for sector in self.pages[number - self.gone].1.clone() {
                if self.map.get(&sector) == Some(&number) {
                    self.evict(sector.0, &mut read);
                }
            }
        }
        self.count("log_pages_once", read.len());
        self.pages.drain(..size);
        self.gone += size;
        self.operations[2] += 1;
    }

    fn evict(&mut self, page: u32, read: &mut BTreeSet<usize>) {
        let places = self.map.iter().filter(|(sector, _)| sector.0 == page);
        let places: BTreeSet<usize> = places.map(|(_, &place)| place).collect();
        self.operations[0] += places.len() as u64;
        read.extend(places);
        let sectors = self.of(page);
        let mask = sectors.iter().fold(0, |mask, sector| mask | 1 << sector);
        let request_bytes = 512 * sectors.len() as u64;
        self.calls.push(Call::Write { first: page, masks: vec![mask], request_bytes });
        self.count("Evicts_SL", 1);
        self.count("evicted_sectors", sectors.len());
        self.forget(page);
    }

    fn write(&mut self, first: u32, masks: &[SectorMask], request_bytes: u64) {
        let mut index = 0;
        while index < masks.len() {
            let page = first + index as u32;
            if masks[index] != WHOLE {
                self.write_part(page, masks[index]);
                index += 1;
                continue;
            }
            let run = masks[index..].iter().take_while(|&&mask| mask == WHOLE).count();
            self.calls.push(Call::Write { first: page, masks: vec![WHOLE; run], request_bytes });
            self.count("Writes_full", run);
            (page..page + run as u32).for_each(|page| self.forget(page));
            index += run;
        }
    }

    fn write_part(&mut self, page: u32, mask: SectorMask) {
        self.count("Writes_subpage", 1);
        let mut any = false;
        for index in (0..SECTORS).filter(|index| mask >> index & 1 == 1) {
            self.count("subpage_sectors", 1);
            let is_hit = self.of(page).contains(&index);
            any |= is_hit;
            self.count("hit_sectors", usize::from(is_hit));
            match self.waiting.contains(&(page, index)) {
                true => self.count("replaced_waiting", 1),
                false => self.waiting.push((page, index)),
            }
            self.settle(SECTORS as usize);
        }
        self.count("hit_any", usize::from(any));
    }

    fn read(&mut self, first: u32, masks: &[SectorMask]) {
        for (page, &mask) in (first..).zip(masks) {
            let mut rest = mask;
            let mut pages = BTreeSet::new();
            for index in (0..SECTORS).filter(|index| mask >> index & 1 == 1) {
                let sector = (page, index);
                if self.waiting.contains(&sector) {
                    rest &= !(1 << index);
                } else if let Some(&place) = self.map.get(&sector) {
                    pages.insert(place);
                    rest &= !(1 << index);
                }
            }
            self.operations[0] += pages.len() as u64;
            if rest != 0 {
                self.calls.push(Call::Read { lpn: page, mask: rest });
            }
        }
    }
}

/// A host that does anything allowed, and checks what it reads.
struct Host {
    rng: Xoshiro256PlusPlus,
    /// Newest write of each sector; 0 if it reads zero.
    newest: Vec<u32>,
}

impl Host {
    fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32() % bound
    }

    /// A run with partial ends.
    fn run(&mut self) -> (u32, Vec<SectorMask>) {
        let first = if self.below(2) == 0 { self.below(4) } else { self.below(PAGES) };
        let pages = if self.below(6) == 0 { 1 + self.below(4) } else { 1 };
        let mut masks = vec![WHOLE; pages.min(PAGES - first) as usize];
        for end in [0, masks.len() - 1] {
            if self.below(8) > 0 {
                masks[end] = SectorMask::from(1 + self.below(15));
            }
        }
        (first, masks)
    }

    fn step(&mut self, real: &mut Real, naive: &mut NaiveLog) {
        let (first, masks) = self.run();
        let (pages, head, tail) = (masks.len() as u32, masks[0], masks[masks.len() - 1]);
        match self.below(16) {
            0 => {
                real.trim(first, pages);
                (first..first + pages).for_each(|page| naive.forget(page));
                naive.calls.push(Call::Trim { first, pages });
                self.newest[(first * SECTORS) as usize..][..(pages * SECTORS) as usize].fill(0);
            }
            1 => {
                real.flush();
                naive.settle(1);
                naive.calls.push(Call::Flush);
            }
            2..=4 => {
                let found = real.read_run(first, pages, head, tail);
                naive.read(first, &masks);
                for (at, stamp) in found.iter().enumerate() {
                    let wanted = masks[at / SECTORS as usize] >> (at as u32 % SECTORS) & 1 == 1;
                    let newest = self.newest[(first * SECTORS) as usize + at];
                    assert_eq!(stamp.write(), if wanted { newest } else { 0 });
                }
            }
            _ => {
                real.write_masked(first, pages, head, tail);
                naive.write(first, &masks, u64::from(pages) * 2048);
                for (page, &mask) in (first..).zip(&masks) {
                    for index in (0..SECTORS).filter(|index| mask >> index & 1 == 1) {
                        self.newest[(page * SECTORS + index) as usize] = real.writes;
                    }
                }
            }
        }
    }
}

const COUNTED: [&str; 13] = [
    "Writes_full",
    "Writes_subpage",
    "subpage_sectors",
    "hit_sectors",
    "hit_any",
    "replaced_waiting",
    "taken_waiting",
    "left_sectors",
    "programmed_sectors",
    "padding_sectors",
    "Evicts_SL",
    "evicted_sectors",
    "log_pages_once",
];

fn agrees(blocks: u32, map_bytes_max: Option<u64>, seed: u64) {
    let layout = SectorLogSize { blocks, map_bytes_max };
    let (mut real, calls) = on_chip("", layout, Durability::Paper);
    let map_bytes_max = map_bytes_max.unwrap_or(u64::MAX);
    let mut naive = NaiveLog { blocks: blocks as usize, map_bytes_max, ..NaiveLog::default() };
    let newest = vec![0; (PAGES * SECTORS) as usize];
    let mut host = Host { rng: Xoshiro256PlusPlus::seed_from_u64(seed), newest };
    for step in 0..600 {
        host.step(&mut real, &mut naive);
        let place = format!("{layout:?}, seed {seed}, step {step}");
        assert_eq!(*calls.read().unwrap(), naive.calls, "{place}");
        calls.write().unwrap().clear();
        naive.calls.clear();
        assert_eq!(real.operations(), naive.operations, "{place}");
        for name in COUNTED {
            let expected = naive.figures.get(name).copied().unwrap_or(0) as f64;
            assert_eq!(real.log(name), expected, "{name}, {place}");
        }
        assert_eq!(real.log("waiting"), naive.waiting.len() as f64, "{place}");
        assert_eq!(real.log("map_bytes"), naive.map_bytes(&[]) as f64, "{place}");
    }
    assert!(naive.operations[2] > 5, "too few blocks were cleaned");
}

#[test]
fn the_log_passes_on_what_the_naive_model_passes_on() {
    for seed in 0..8 {
        for blocks in [1, 2, 3, 5] {
            agrees(blocks, None, seed);
        }
    }
}

/// Buckets for at most ten pages, and room for four to seven entries.
#[test]
fn the_log_agrees_with_the_naive_model_if_its_map_is_limited() {
    for seed in 0..8 {
        for (blocks, entries) in [(2, 4), (4, 5), (5, 7)] {
            let buckets = (blocks * PER_BLOCK as u64).next_power_of_two();
            agrees(blocks as u32, Some(4 * buckets + 24 * entries), seed);
        }
    }
}
