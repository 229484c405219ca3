//! A forecast for dftl's cache: what requests would cost with caches of other sizes.
//!
//! **Reads.** A read costs a translation page if its entry would not be cached: if at least as many
//! other pages were used since its last use as the cache has entries. The
//! [distances](crate::part::index::stack_distances) of a sample of the pages tell it for all sizes.
//!
//! **Writes.** A write dirties an entry. When a dirty entry leaves the cache, its translation page
//! is rewritten with all its dirty entries (a batch). The larger the cache, the later this happens,
//! and the more entries share the cost.
//!
//! ```text
//! entries of a translation page,        3w   9r   7w   4w   8w
//! by time of last use            ────────────│──────────────────▶ now      w: dirty
//! the oldest use in a cache                  └─ 3 has left a cache of this size: a batch has
//!                                               cleaned 3, 7, 4 and 8
//! ```
//! For a sample of the translation pages the forecast remembers when each entry was used and
//! written last, and for each size up to when writes were cleaned. The distances tell when the
//! oldest entry of a cache of each size was used last. If a dirty entry is older than this, there
//! was a batch. Times are numbers of short epochs.
//!
//! Choices: a batch is noticed at the next use of its translation page, or when the page is
//! forgotten. A page that waits in a buffer counts as used, because its entry is used when the page
//! is evicted.

use nand::{Lpn, Timing};

use super::{CACHED_BYTES, Dftl};
use crate::contract::shares::{Presence, members, shares_from};
use crate::contract::{
    ForecastableMap, MapForecast, PageCosts, SHARES, ShareCosts, Shares, Violation,
};
use crate::part::index::observed::Observed;
use crate::part::index::sample::Sample;
use crate::part::index::stack_distances::StackDistances;

/// Pages in the sample at most. The error of a curve of misses is below 1 % then (SHARDS).
const PAGES_MAX: u64 = 8192;
/// Entries of the translation pages in their sample at most; but at least 16 pages.
const ENTRIES_MAX: u32 = 1 << 16;
const TRANSLATION_PAGES_MIN: u32 = 16;
/// How many epochs pass at least until the largest cache is filled.
const EPOCHS_A_CACHE: u32 = 128;

/// The distances between uses of a sample of the pages, and the entries of a sample of the
/// translation pages.
#[derive(Clone, Debug)]
pub struct CacheForecast {
    ages: Ages,
    entries_per_page: u32,
    pages: Observed<TranslationPage>,
}

/// Uses of a sample of the pages.
#[derive(Clone, Debug)]
struct Ages {
    /// Entries of the cache, by share.
    entries: Shares<u32>,
    sample: Sample,
    distances: StackDistances,
    /// Uses in this epoch, and in each epoch.
    uses: u32,
    epoch_uses: u32,
    /// In which epoch the oldest entry of the cache was used last; 0 while the cache is not full.
    oldest: Shares<u32>,
}

/// A translation page of the sample. Times are epochs; 0 is never.
#[derive(Clone, Debug)]
struct TranslationPage {
    entries: Box<[Entry]>,
    /// Writes up to this time are in flash.
    cleaned: Shares<u32>,
    /// When batches of all shares were looked for. In the same epoch there are no others.
    checked: u32,
}

/// When an entry was used and written last.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    used: u32,
    written: u32,
}

impl CacheForecast {
    /// Nothing was used yet. The cache has these numbers of entries.
    pub fn new(entries: Shares<u32>, entries_per_page: u32) -> CacheForecast {
        let most = (ENTRIES_MAX / entries_per_page).max(TRANSLATION_PAGES_MIN);
        let pages = Observed::new(most as usize);
        CacheForecast { ages: Ages::new(entries), entries_per_page, pages }
    }

    /// The entry of a page, which is used now, if its translation page belongs to the sample.
    /// Adds the cost of the batch since the last use, at the shares from `first` on where there was
    /// one.
    fn entry(
        &mut self,
        lpn: Lpn,
        first: usize,
        batch_ns: f64,
        costs: &mut ShareCosts,
    ) -> Option<&mut Entry> {
        let (page, at) = (lpn.0 / self.entries_per_page, lpn.0 % self.entries_per_page);
        let (oldest, now) = (&self.ages.oldest, self.ages.distances.now);
        let (ns, entries) = (self.pages.weight() * batch_ns, self.entries_per_page);
        let new = || TranslationPage::new(entries);
        let observed = self.pages.observe(page, new, |page| {
            let Presence { stays, left } = page.presence(oldest);
            if stays == 0 {
                costs.add_at(left, ns);
            }
            stays != 0
        })?;
        if observed.checked != now {
            let batch = observed.presence(oldest).left & shares_from(first);
            costs.add_at(batch, ns);
            members(batch).for_each(|share| observed.cleaned[share] = now - 1);
            observed.checked = if first == 0 { now } else { 0 };
        }
        let entry = &mut observed.entries[at as usize];
        entry.used = now;
        Some(entry)
    }
}

impl MapForecast for CacheForecast {
    /// Adds the costs of the batches that a write reveals.
    fn write(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts) {
        if let Some(entry) = self.entry(lpn, first, page.map_write_ns, costs) {
            entry.written = entry.used;
        }
        if self.ages.sample.contains(lpn.0) {
            self.ages.distances.touch(lpn);
            self.ages.count_use();
        }
    }

    /// A trim writes an entry, if the page is mapped.
    fn trim(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts) {
        if first > 0 || page.is_mapped {
            self.write(lpn, first, page, costs);
        }
    }

    /// Adds the costs of the batches that a read reveals, and of a translation page where its entry
    /// is not cached.
    fn read(&mut self, lpn: Lpn, first: usize, page: &PageCosts, costs: &mut ShareCosts) {
        self.entry(lpn, first, page.map_write_ns, costs);
        if self.ages.sample.contains(lpn.0) {
            let distance = self.ages.distances.touch(lpn);
            let (hit, weight) = (self.ages.first_hit(distance), self.ages.sample.weight() as f64);
            costs.add(first..hit, weight * page.map_read_ns);
            self.ages.count_use();
        }
    }

    fn bytes(&self) -> u64 {
        let entries = self.entries_per_page as usize * size_of::<Entry>();
        self.ages.distances.bytes() + self.pages.bytes(entries)
    }

    fn audit(&self) -> Result<(), Violation> {
        self.ages.distances.audit()?;
        self.pages.audit()
    }
}

impl ForecastableMap for Dftl {
    fn forecast(&self, sizes: &Shares<u64>) -> Box<dyn MapForecast> {
        let pages = u64::from(self.map.logical_pages());
        let entries = sizes.map(|bytes| (bytes / CACHED_BYTES).clamp(1, pages) as u32);
        Box::new(CacheForecast::new(entries, self.entries))
    }

    fn page_costs(&self, lpn: Lpn) -> PageCosts {
        let (account, is_mapped) = (&self.account, self.map.flat.newest(lpn).is_some());
        let Timing { read_ns, program_ns, .. } = account.timing;
        PageCosts {
            is_mapped,
            read_ns: read_ns as f64,
            write_ns: program_ns as f64 + account.host_overhead_ns(),
            map_read_ns: read_ns as f64,
            map_write_ns: (read_ns + program_ns) as f64 + account.translation_overhead_ns(),
        }
    }
}

impl Ages {
    fn new(entries: Shares<u32>) -> Ages {
        let most = u64::from(entries[SHARES - 1]);
        let sample = Sample::new(most, PAGES_MAX);
        let pages = (most / sample.weight()) as u32;
        Ages {
            entries,
            sample,
            // One more than the largest cache has, so that it is known when it is full.
            distances: StackDistances::new(pages + 1),
            uses: 0,
            epoch_uses: (pages / EPOCHS_A_CACHE).max(1),
            oldest: [0; SHARES],
        }
    }

    /// The smallest share at which an entry is cached that was used at this distance.
    fn first_hit(&self, distance: Option<u32>) -> usize {
        let weight = self.sample.weight();
        let distance = distance.map_or(u64::MAX, |it| u64::from(it).saturating_mul(weight));
        self.entries.partition_point(|&entries| u64::from(entries) <= distance)
    }

    fn count_use(&mut self) {
        self.uses += 1;
        if self.uses == self.epoch_uses {
            self.uses = 0;
            let weight = self.sample.weight() as u32;
            self.oldest = self.entries.map(|entries| self.distances.oldest_use(entries / weight));
            self.distances.now += 1;
        }
    }
}

impl TranslationPage {
    /// No entry was used yet.
    fn new(entries: u32) -> TranslationPage {
        let entries = vec![Entry::default(); entries as usize].into();
        TranslationPage { entries, cleaned: [0; SHARES], checked: 0 }
    }

    /// Where the cache has dirty entries, if its oldest entries were used last at these times. If
    /// one of them has left, there was a batch.
    fn presence(&self, oldest: &Shares<u32>) -> Presence {
        let dirty = |since| self.entries.iter().filter(move |entry| entry.written > since);
        let first_used = |since| dirty(since).map(|entry| entry.used).min();
        Presence::new(&self.cleaned, first_used, |used, share| used < oldest[share])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::contract::shares::ShareSet;

    const MAP: PageCosts = PageCosts { map_read_ns: 7.0, map_write_ns: 100.0, ..PageCosts::ZERO };

    /// An LRU cache of entries that is simulated entry by entry.
    #[derive(Clone, Default)]
    struct NaiveCache {
        /// The pages by time of last use, and whether the entry is dirty.
        entries: BTreeMap<u64, (u32, bool)>,
        time_of: HashMap<u32, u64>,
        time: u64,
    }

    impl NaiveCache {
        /// Uses an entry. Returns whether it was cached, and the translation page that is rewritten
        /// to make room.
        fn touch(
            &mut self,
            lpn: u32,
            writes: bool,
            most: usize,
            per_page: u32,
        ) -> (bool, Option<u32>) {
            self.time += 1;
            let before = self.time_of.insert(lpn, self.time);
            let before = before.and_then(|time| self.entries.remove(&time));
            let dirty = writes || before.is_some_and(|(_, dirty)| dirty);
            self.entries.insert(self.time, (lpn, dirty));
            let mut batch = None;
            if self.entries.len() > most {
                let (_, (oldest, dirty)) = self.entries.pop_first().unwrap();
                self.time_of.remove(&oldest);
                batch = dirty.then_some(oldest / per_page);
            }
            if let Some(page) = batch {
                for lpn in page * per_page..(page + 1) * per_page {
                    if let Some(time) = self.time_of.get(&lpn) {
                        self.entries.get_mut(time).unwrap().1 = false;
                    }
                }
            }
            (before.is_some(), batch)
        }
    }

    #[test]
    fn costs_are_those_of_a_cache_of_each_size() {
        const PER_PAGE: u32 = 4;
        let entries: Shares<u32> = core::array::from_fn(|share| share as u32 + 1);
        let mut forecast = CacheForecast::new(entries, PER_PAGE);
        let mut caches = vec![NaiveCache::default(); SHARES];
        let (mut costs, mut expected) = (ShareCosts::ZERO, ShareCosts::ZERO);
        // Batches that were not noticed yet, by translation page.
        let mut owed: HashMap<u32, ShareSet> = HashMap::new();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        for step in 0..20_000 {
            let below = if rng.next_u32() % 3 == 0 { 8 } else { 60 };
            let (lpn, writes) = (rng.next_u32() % below, rng.next_u32() % 3 == 0);
            expected.add_at(owed.remove(&(lpn / PER_PAGE)).unwrap_or(0), MAP.map_write_ns);
            for (share, cache) in caches.iter_mut().enumerate() {
                let most = entries[share] as usize;
                let (cached, batch) = cache.touch(lpn, writes, most, PER_PAGE);
                if !writes && !cached {
                    expected.add_at(1 << share, MAP.map_read_ns);
                }
                batch.into_iter().for_each(|page| *owed.entry(page).or_default() |= 1 << share);
            }
            match writes {
                true => forecast.write(Lpn(lpn), 0, &MAP, &mut costs),
                false => forecast.read(Lpn(lpn), 0, &MAP, &mut costs),
            }
            // A miss at all shares is left out of the forecast.
            let missed_by_all = expected.by_share()[32] - costs.by_share()[32];
            let found = costs.by_share().map(|ns| ns + missed_by_all);
            assert_eq!(found, expected.by_share(), "step {step}");
        }
        let costs = costs.by_share();
        assert!(costs[4] > costs[16] && costs[16] > costs[31] && costs[31] > 0.0, "{costs:?}");
        forecast.audit().unwrap();
    }

    #[test]
    fn a_batch_cleans_all_entries_of_its_page() {
        // Caches of 0 to 32 entries; four entries a page.
        let mut forecast = CacheForecast::new(core::array::from_fn(|share| share as u32), 4);
        let mut costs = ShareCosts::ZERO;
        // 0 to 3 are written, and 8 others are read: no cache of up to 8 has an entry of them.
        (0..4).for_each(|lpn| forecast.write(Lpn(lpn), 0, &MAP, &mut costs));
        (8..16).for_each(|lpn| {
            forecast.read(Lpn(lpn), 0, &PageCosts { map_read_ns: 0.0, ..MAP }, &mut costs)
        });
        forecast.write(Lpn(1), 0, &MAP, &mut costs);
        let found = costs.by_share();
        assert_eq!((found[4], found[11], found[12]), (100.0, 100.0, 0.0), "all 12 have room in 12");
        // The entry of 1 is the only dirty one now, and there is room for it.
        forecast.write(Lpn(2), 0, &MAP, &mut costs);
        assert_eq!(costs.by_share(), found);
    }

    #[test]
    fn where_the_buffer_absorbs_a_write_there_is_no_batch() {
        let mut forecast = CacheForecast::new(core::array::from_fn(|share| share as u32), 4);
        let mut costs = ShareCosts::ZERO;
        (0..20).for_each(|page| forecast.write(Lpn(4 * page), 0, &MAP, &mut costs));
        forecast.write(Lpn(0), 5, &MAP, &mut costs);
        let found = costs.by_share();
        assert_eq!((found[4], found[5], found[19], found[20]), (0.0, 100.0, 100.0, 0.0));
        forecast.write(Lpn(0), 0, &MAP, &mut costs);
        assert_eq!(costs.by_share(), found, "the entry was used just now at all shares");
    }

    #[test]
    fn samples_of_many_pages_cost_as_much_as_all_of_them() {
        const PER_PAGE: u32 = 64;
        let sizes: Shares<u32> = core::array::from_fn(|share| 1 + 1024 * share as u32);
        let mut forecast = CacheForecast::new(sizes, PER_PAGE);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let mut costs = ShareCosts::ZERO;
        let shares = [4, 12, 24];
        let mut naive = shares.map(|_| (NaiveCache::default(), 0.0));
        for _ in 0..400_000 {
            // Every eighth page has more than half of the uses.
            let lpn = rng.next_u32() % 260_000;
            let lpn = if rng.next_u32() % 2 == 0 { lpn / 8 * 8 } else { lpn };
            let writes = rng.next_u32() % 4 > 0;
            for ((cache, ns), share) in naive.iter_mut().zip(shares) {
                let most = sizes[share] as usize;
                let (cached, batch) = cache.touch(lpn, writes, most, PER_PAGE);
                *ns += if writes || cached { 0.0 } else { MAP.map_read_ns };
                *ns += if batch.is_some() { MAP.map_write_ns } else { 0.0 };
            }
            match writes {
                true => forecast.write(Lpn(lpn), 0, &MAP, &mut costs),
                false => forecast.read(Lpn(lpn), 0, &MAP, &mut costs),
            }
        }
        assert!(forecast.pages.weight() > 2.0 && forecast.ages.sample.weight() > 2);
        // Costs at all shares are left out, so differences are compared.
        let found = costs.by_share();
        for pair in [(0, 1), (1, 2)] {
            let expected = naive[pair.0].1 - naive[pair.1].1;
            let found = found[shares[pair.0]] - found[shares[pair.1]];
            let ratio = found / expected;
            assert!((0.9..1.1).contains(&ratio), "{pair:?}: {found} of {expected}, {ratio}");
        }
        forecast.audit().unwrap();
    }
}
