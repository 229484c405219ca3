//! A naive model of adaptive partitioning: everything is a list. It must pass the same calls to the
//! FTL below.
//!
//! There are 22 pages, and room for 24 entries in cache and ghost together. So no entry is ever
//! removed at random, and the ghost of the map can be a list too.

use ftl::MissCosts;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::PAGE_BYTES;
use crate::elastic::{Cache, ENTRY_BYTES};
use crate::partitioner::{DRAM, Divided};
use crate::recorder::{Call, WHOLE};

const PAGES: u32 = 22;
const PAGE: u64 = PAGE_BYTES as u64;
const UNIT: u64 = 512;

struct NaivePartitioner {
    interval: u64,
    max_step: u64,
    costs: MissCosts,
    requests: u64,
    mapping: u64,
    /// Pages in the buffer and in its ghost, each with the least recently used first.
    buffer: Vec<(u32, u64)>,
    ghost: Vec<u32>,
    cache: Cache,
    ghost_of_map: Vec<u32>,
    /// Ghost hits of the interval: reads and writes in the ghost of the buffer, then of the map.
    hits: [u64; 4],
    /// Ghost hits of all completed intervals.
    hits_before: [u64; 4],
    calls: Vec<Call>,
}

impl NaivePartitioner {
    fn rest(&self) -> u64 {
        DRAM - self.mapping
    }

    /// Uses the map entry of a page that is written to the FTL below or read from it.
    fn enters(&mut self, lpn: u32, is_write: bool) {
        let (hit, gone) = self.cache.touch(lpn);
        if !hit && let Some(at) = self.ghost_of_map.iter().position(|&page| page == lpn) {
            self.ghost_of_map.remove(at);
            self.hits[2 + usize::from(is_write)] += 1;
        }
        self.leave(gone);
    }

    fn leave(&mut self, gone: Vec<u32>) {
        self.ghost_of_map.extend(gone);
        let most = (self.rest() / ENTRY_BYTES) as usize;
        assert!(self.ghost_of_map.len() <= most, "an entry would be removed at random");
    }

    fn shrink_buffer(&mut self) {
        while self.buffer.len() as u64 > self.rest() / PAGE {
            let (lpn, mask) = self.buffer.remove(0);
            self.ghost.push(lpn);
            self.shrink_ghost();
            let request_bytes = PAGE;
            self.calls.push(Call::Write { first: lpn, masks: vec![mask], request_bytes });
            self.enters(lpn, true);
        }
    }

    fn shrink_ghost(&mut self) {
        while self.ghost.len() as u64 > self.mapping / PAGE {
            self.ghost.remove(0);
        }
    }

    fn write(&mut self, lpn: u32, mask: u64) {
        let mask = match self.buffer.iter().position(|page| page.0 == lpn) {
            Some(at) => self.buffer.remove(at).1 | mask,
            None => {
                if let Some(at) = self.ghost.iter().position(|&page| page == lpn) {
                    self.ghost.remove(at);
                    self.hits[1] += 1;
                }
                mask
            }
        };
        self.buffer.push((lpn, mask));
        self.shrink_buffer();
    }

    fn read(&mut self, lpn: u32, wanted: u64) {
        let at = self.buffer.iter().position(|page| page.0 == lpn);
        let held = at.map_or(0, |at| self.buffer[at].1);
        if held & wanted != 0 {
            let page = self.buffer.remove(at.unwrap());
            self.buffer.push(page);
        } else if let Some(at) = self.ghost.iter().position(|&page| page == lpn) {
            self.ghost.remove(at);
            self.ghost.push(lpn);
            self.hits[0] += 1;
        }
        if wanted & !held != 0 {
            self.calls.push(Call::Read { lpn, mask: wanted & !held });
            self.enters(lpn, false);
        }
    }

    fn trim(&mut self, lpn: u32) {
        self.buffer.retain(|page| page.0 != lpn);
        self.ghost.retain(|&page| page != lpn);
        self.calls.push(Call::Trim { first: lpn, pages: 1 });
    }

    fn flush(&mut self) {
        for (lpn, mask) in core::mem::take(&mut self.buffer) {
            let request_bytes = PAGE;
            self.calls.push(Call::Write { first: lpn, masks: vec![mask], request_bytes });
            self.enters(lpn, true);
        }
        self.calls.push(Call::Flush);
    }

    fn end(&mut self) {
        self.requests += 1;
        if !self.requests.is_multiple_of(self.interval) {
            return;
        }
        (0..4).for_each(|at| self.hits_before[at] += self.hits[at]);
        let [buffer_reads, buffer_writes, map_reads, map_writes] = self.hits.map(|n| n as f64);
        let c = self.costs;
        let per = |profit: f64, bytes: u64| if bytes > 0 { profit / bytes as f64 } else { 0.0 };
        let buffer = buffer_reads * c.buffer_read_ns + buffer_writes * c.buffer_write_ns;
        let buffer = per(buffer, self.ghost.len() as u64 * PAGE);
        let map = map_reads * c.map_read_ns + map_writes * c.map_write_ns;
        let map = per(map, self.ghost_of_map.len() as u64 * ENTRY_BYTES);
        let step = |more: f64, less: f64| match less == 0.0 {
            true => self.max_step,
            false => ((more / less).floor() as u64 * UNIT).min(self.max_step),
        };
        if map > buffer {
            self.mapping += step(map, buffer).min(self.rest());
            self.shrink_ghost();
            self.cache.resize(self.mapping);
            self.shrink_buffer();
        } else if buffer > map {
            self.mapping -= step(buffer, map).min(self.mapping);
            self.shrink_ghost();
            let gone = self.cache.resize(self.mapping);
            self.leave(gone);
        }
        self.leave(Vec::new());
        self.hits = [0; 4];
    }
}

#[test]
fn the_boundary_moves_as_in_the_naive_model() {
    let costs = |map_read_ns, map_write_ns, buffer_read_ns, buffer_write_ns| MissCosts {
        map_read_ns,
        map_write_ns,
        buffer_read_ns,
        buffer_write_ns,
    };
    for (interval, step, costs) in [
        (7, "4%", costs(73.0, 330.0, 80.0, 510.0)),
        (3, "2%", costs(100.0, 40.0, 100.0, 600.0)),
        (5, "3%", costs(0.0, 90.0, 25.0, 200.0)),
    ] {
        let mut divided = Divided::new(&format!("adaptive:interval={interval},max_step={step}"));
        *divided.costs.write().unwrap() = costs;
        let mut naive = NaivePartitioner {
            interval,
            max_step: DRAM * step.trim_end_matches('%').parse::<u64>().unwrap() / 100,
            costs,
            requests: 0,
            mapping: DRAM / 2,
            buffer: Vec::new(),
            ghost: Vec::new(),
            cache: Cache::default(),
            ghost_of_map: Vec::new(),
            hits: [0; 4],
            hits_before: [0; 4],
            calls: Vec::new(),
        };
        naive.cache.resize(DRAM / 2);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
        let mut below = |bound: u32| rng.next_u32() % bound;
        let (mut least, mut most) = (DRAM, 0);
        for round in 0..6000 {
            // The workload alternates between writes to few pages and reads of all pages.
            let reads = if round / 500 % 2 == 0 { 4 } else { 14 };
            let lpn = below(if reads == 4 { 10 } else { PAGES });
            let mask = if below(2) == 0 { WHOLE } else { u64::from(1 + below(15)) };
            match below(20) {
                0 if below(10) == 0 => {
                    divided.real.flush();
                    naive.flush();
                }
                1 if below(4) == 0 => {
                    divided.real.trim(lpn, 1);
                    naive.trim(lpn);
                }
                what if what < reads => {
                    divided.real.read(lpn, mask);
                    naive.read(lpn, mask);
                }
                _ => {
                    divided.real.patch(lpn, mask);
                    naive.write(lpn, mask);
                }
            }
            divided.end();
            naive.end();
            let at = format!("interval {interval}, step {round}");
            assert_eq!(divided.calls.read().unwrap()[..], naive.calls[..], "{at}");
            assert_eq!(divided.mapping(), naive.mapping, "{at}");
            assert_eq!(divided.split("ghost_buffer_pages"), naive.ghost.len() as f64, "{at}");
            let entries = naive.ghost_of_map.len() as f64;
            assert_eq!(divided.split("ghost_map_entries"), entries, "{at}");
            divided.calls.write().unwrap().clear();
            naive.calls.clear();
            (least, most) = (least.min(naive.mapping), most.max(naive.mapping));
        }
        let names = ["buffer_read", "buffer_write", "map_read", "map_write"];
        let found = names.map(|name| divided.split(&format!("ghost_{name}_hits")) as u64);
        assert_eq!(found, naive.hits_before);
        assert!(naive.hits_before.iter().all(|&hits| hits > 100), "{:?}", naive.hits_before);
        let moved = divided.split("map_grew").min(divided.split("buffer_grew"));
        assert!(moved > 50.0, "{moved}");
        assert!(most - least > DRAM / 3, "{least} to {most}");
    }
}
