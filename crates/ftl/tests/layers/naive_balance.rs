//! A naive model of the balanced rule: it looks at each share by itself, and everything is a list.

use ftl::{MissCosts, SHARES};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::PAGE_BYTES;
use crate::elastic::ENTRY_BYTES;
use crate::partitioner::{DRAM, Divided};
use crate::recorder::WHOLE;

const PAGES: u32 = 22;
const STEPS: u64 = SHARES as u64 - 1;

struct NaiveBalance {
    interval: u64,
    max_step: u64,
    prices: MissCosts,
    requests: u64,
    mapping: u64,
    /// Pages in the order of their last use, by the buffer and by the map.
    buffered: Vec<u32>,
    mapped: Vec<u32>,
    costs: [f64; SHARES],
}

fn depth(list: &[u32], lpn: u32) -> u64 {
    let at = list.iter().rev().position(|&page| page == lpn);
    at.map_or(u64::MAX, |at| at as u64)
}

fn to_the_end(list: &mut Vec<u32>, lpn: u32) {
    list.retain(|&page| page != lpn);
    list.push(lpn);
}

impl NaiveBalance {
    /// Adds a cost at the shares where something is missed, unless it is missed at all.
    fn add(&mut self, ns: f64, missed: impl Fn(u64) -> bool) {
        if !(0..=STEPS).all(&missed) {
            (0..=STEPS).filter(|&share| missed(share)).for_each(|n| self.costs[n as usize] += ns);
        }
    }

    /// Adds what a use of a page costs: a page where the buffer has no room for it, and there an
    /// entry where the map has none.
    fn miss(&mut self, lpn: u32, page_ns: f64, entry_ns: f64) {
        let (in_buffer, in_map) = (depth(&self.buffered, lpn), depth(&self.mapped, lpn));
        let page_missed =
            |share: u64| (DRAM - DRAM * share / STEPS) / u64::from(PAGE_BYTES) <= in_buffer;
        let entry_missed = |share: u64| DRAM * share / STEPS / ENTRY_BYTES <= in_map;
        self.add(page_ns, page_missed);
        self.add(entry_ns, |share| page_missed(share) && entry_missed(share));
        to_the_end(&mut self.mapped, lpn);
    }

    fn request(&mut self, lpn: u32, is_write: bool) {
        let MissCosts { map_read_ns, map_write_ns, buffer_read_ns, buffer_write_ns } = self.prices;
        let in_buffer = depth(&self.buffered, lpn);
        match is_write {
            true => self.miss(lpn, buffer_write_ns, map_write_ns),
            false => self.miss(lpn, buffer_read_ns, map_read_ns),
        }
        let room = (DRAM - self.mapping) / u64::from(PAGE_BYTES);
        if is_write || in_buffer < room {
            to_the_end(&mut self.buffered, lpn);
            let surplus =
                self.buffered.len().saturating_sub((DRAM / u64::from(PAGE_BYTES)) as usize);
            self.buffered.drain(..surplus);
        }
    }

    /// A page that waits is programmed only where the buffer has no room for it.
    fn trim(&mut self, lpn: u32) {
        self.miss(lpn, self.prices.buffer_write_ns, self.prices.map_write_ns);
        self.buffered.retain(|&page| page != lpn);
    }

    fn end(&mut self) {
        self.requests += 1;
        if !self.requests.is_multiple_of(self.interval) {
            return;
        }
        let cost = |bytes: u64| {
            let place = (bytes * STEPS) as f64 / DRAM as f64;
            let (below, above) = (place.floor() as usize, place.ceil() as usize);
            self.costs[below] + place.fract() * (self.costs[above] - self.costs[below])
        };
        let shares = (0..=STEPS).map(|share| DRAM * share / STEPS);
        let cheapest = shares.min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap();
        if cost(self.mapping) - cost(cheapest) > 0.01 * cost(self.mapping) {
            let distance = cheapest.abs_diff(self.mapping).min(self.max_step);
            match cheapest > self.mapping {
                true => self.mapping += distance,
                false => self.mapping -= distance,
            }
        }
        let fading = DRAM as f64 / (DRAM + self.max_step) as f64;
        self.costs.iter_mut().for_each(|cost| *cost *= fading);
    }
}

#[test]
fn the_boundary_moves_to_the_share_of_least_cost() {
    for (interval, step, prices) in [(7, 4, [70.0, 300.0]), (3, 10, [9.0, 40.0])] {
        let split = format!("adaptive:rule=balanced,interval={interval},max_step={step}%");
        let mut divided = Divided::new(&split);
        let prices = MissCosts {
            map_read_ns: prices[0],
            map_write_ns: prices[1],
            buffer_read_ns: 100.0,
            buffer_write_ns: 310.0,
        };
        *divided.costs.write().unwrap() = prices;
        let mut naive = NaiveBalance {
            interval,
            max_step: DRAM * step / 100,
            prices,
            requests: 0,
            mapping: DRAM / 2,
            buffered: Vec::new(),
            mapped: Vec::new(),
            costs: [0.0; SHARES],
        };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(21);
        let mut below = |bound: u32| rng.next_u32() % bound;
        let (mut least, mut most) = (DRAM, 0);
        for round in 0..6000 {
            // The workload alternates between writes to few pages and reads of all pages.
            let reads = if round / 1000 % 2 == 0 { 4 } else { 16 };
            let lpn = below(if reads == 4 { 10 } else { PAGES });
            match below(20) {
                0 if below(20) == 0 => {
                    divided.real.flush();
                    naive.buffered.clear();
                }
                1 => {
                    divided.real.trim(lpn, 1);
                    naive.trim(lpn);
                }
                what if what < reads => {
                    divided.real.read(lpn, WHOLE);
                    naive.request(lpn, false);
                }
                _ => {
                    divided.real.write(lpn, 1);
                    naive.request(lpn, true);
                }
            }
            divided.end();
            naive.end();
            assert_eq!(divided.mapping(), naive.mapping, "interval {interval}, step {round}");
            (least, most) = (least.min(naive.mapping), most.max(naive.mapping));
        }
        assert!(most - least > DRAM / 3, "{least} to {most}");
        let moved = divided.split("map_grew").min(divided.split("buffer_grew"));
        assert!(moved > 20.0, "{moved}");
    }
}
