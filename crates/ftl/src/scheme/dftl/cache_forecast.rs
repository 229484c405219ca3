//! A forecast for dftl's cache: what requests would cost with caches of other sizes.
//!
//! A read costs a translation page if its entry would not be cached: if at least as many other
//! pages were used since its last use as the cache has entries. A write costs its part of a batch,
//! unless the entry would still be dirty: unless the page stayed in the cache since its last write.
//! The [distances](crate::part::index::stack_distances) of a sample of the pages tell both for all
//! sizes. The forecast counts a page that waits in a buffer as used, because its entry is used when
//! the page is evicted.
//!
//! A batch is written long after the writes that dirtied its entries, so its price must not follow
//! every phase of the load. F_b is the mean over the entries of one cache as large as the budget.

use nand::Lpn;

use crate::contract::{SHARES, ShareCosts, Shares};
use crate::part::index::sample::Sample;
use crate::part::index::stack_distances::StackDistances;

/// Pages in the sample at most. With so many, the error of a curve of misses is below 1 % (SHARDS).
const PAGES_MAX: u64 = 8192;

/// Distances between uses of the pages of a sample.
#[derive(Clone, Debug)]
pub struct CacheForecast {
    /// Entries of the cache, by share.
    entries: Shares<u32>,
    sample: Sample,
    distances: StackDistances,
    /// Faded numbers of batches, and of the entries that they cleaned.
    batches: f64,
    cleaned: f64,
}

impl CacheForecast {
    /// Nothing was used yet. The cache has these numbers of entries.
    pub fn new(entries: Shares<u32>) -> CacheForecast {
        let most = u64::from(entries[SHARES - 1]);
        let sample = Sample::new(most, PAGES_MAX);
        let pages = (most / sample.weight()) as u32;
        let distances = StackDistances::new(pages);
        CacheForecast { entries, sample, distances, batches: 1.0, cleaned: 1.0 }
    }

    /// Records a batch.
    pub fn count_batch(&mut self, cleaned: u64) {
        let cache = self.entries[SHARES - 1];
        let kept = (1.0 - cleaned as f64 / f64::from(cache)).max(0.0);
        self.batches = kept * self.batches + 1.0;
        self.cleaned = kept * self.cleaned + cleaned as f64;
    }

    /// Adds the cost of a write that reaches the map at shares from `first` on, if a batch costs
    /// so much.
    pub fn write(&mut self, lpn: Lpn, first: usize, batch_ns: f64, costs: &mut ShareCosts) {
        if self.sample.contains(lpn.0) {
            let distance = self.distances.write(lpn).map(|distance| distance.since_write);
            self.add(first, distance, batch_ns * self.batches / self.cleaned, costs);
        }
    }

    /// Adds the cost of a read, if a translation page costs so much.
    pub fn read(&mut self, lpn: Lpn, first: usize, read_ns: f64, costs: &mut ShareCosts) {
        if self.sample.contains(lpn.0) {
            let distance = self.distances.read(lpn).map(|distance| distance.use_);
            self.add(first, distance, read_ns, costs);
        }
    }

    /// Adds the cost of a miss at all shares from `first` on whose cache is too small.
    fn add(&mut self, first: usize, distance: Option<u32>, ns: f64, costs: &mut ShareCosts) {
        let weight = self.sample.weight();
        let distance = distance.map_or(u64::MAX, |it| u64::from(it).saturating_mul(weight));
        let hit = self.entries.partition_point(|&entries| u64::from(entries) <= distance);
        costs.add(first..hit, weight as f64 * ns);
    }

    /// Bytes of RAM.
    pub fn bytes(&self) -> u64 {
        self.distances.bytes()
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// An LRU cache of entries; the most recently used is the last.
    #[derive(Clone, Default)]
    struct NaiveCache(Vec<(u32, bool)>);

    impl NaiveCache {
        /// Uses an entry. Returns whether it was cached, and whether it was dirty.
        fn touch(&mut self, lpn: u32, writes: bool, most: usize) -> (bool, bool) {
            let at = self.0.iter().position(|entry| entry.0 == lpn);
            let dirty = at.map(|at| self.0.remove(at).1);
            self.0.push((lpn, writes || dirty == Some(true)));
            let surplus = self.0.len().saturating_sub(most);
            self.0.drain(..surplus);
            (dirty.is_some(), dirty == Some(true))
        }
    }

    #[test]
    fn costs_are_those_of_a_cache_of_each_size() {
        let entries: Shares<u32> = core::array::from_fn(|share| share as u32 + 1);
        let mut forecast = CacheForecast::new(entries);
        let mut caches = vec![NaiveCache::default(); SHARES];
        let (mut costs, mut expected) = (ShareCosts::ZERO, ShareCosts::ZERO);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        for step in 0..5000 {
            let below = if rng.next_u32() % 3 == 0 { 8 } else { 60 };
            let (lpn, writes) = (rng.next_u32() % below, rng.next_u32() % 3 == 0);
            let missed = caches.iter_mut().zip(entries).map(|(cache, most)| {
                let (cached, dirty) = cache.touch(lpn, writes, most as usize);
                if writes { !dirty } else { !cached }
            });
            // A larger cache has all entries that a smaller one has.
            let missed = missed.filter(|&missed| missed).count();
            expected.add(0..missed, if writes { 100.0 } else { 7.0 });
            match writes {
                true => forecast.write(Lpn(lpn), 0, 100.0, &mut costs),
                false => forecast.read(Lpn(lpn), 0, 7.0, &mut costs),
            }
            assert_eq!(costs.by_share(), expected.by_share(), "step {step}");
        }
        assert!(costs.by_share()[4] > costs.by_share()[31] && costs.by_share()[31] > 0.0);
    }

    #[test]
    fn a_write_costs_its_part_of_a_batch() {
        let mut forecast = CacheForecast::new(core::array::from_fn(|share| share as u32));
        let mut costs = ShareCosts::ZERO;
        (0..1000).for_each(|batch| forecast.count_batch(if batch % 2 == 0 { 3 } else { 5 }));
        [1, 2, 3, 1].into_iter().for_each(|lpn| forecast.write(Lpn(lpn), 0, 100.0, &mut costs));
        let found = costs.by_share().map(|ns| ns.round() as u64);
        assert!((23..=27).contains(&found[2]), "about 4 entries a batch: {found:?}");
        assert_eq!((found[3], found[32]), (0, 0), "room for the 2 entries between");
    }
}
