//! The map cache: which logical blocks have their map entries in RAM, for schemes that keep their
//! map in spare areas.
//!
//! One entry holds everything that spare areas say about a logical block. The least recently used
//! entry is evicted. No entry is ever dirty, because spare areas are written together with the
//! pages.

use crate::part::index::bit_set::BitSet;
use crate::part::index::recency::Recency;

/// An LRU cache of the maps of logical blocks.
#[derive(Clone, Debug)]
pub struct MapCache {
    cached: BitSet,
    order: Recency,
    entries_max: u32,
    /// Look-ups since the last reset that found their entry.
    pub hits: u64,
    /// Look-ups since the last reset that did not find their entry.
    pub misses: u64,
}

impl MapCache {
    /// An empty cache of at most `entries_max` entries, but at least one.
    pub fn new(logical_blocks: u32, entries_max: u32) -> MapCache {
        MapCache {
            cached: BitSet::new(logical_blocks),
            order: Recency::new(logical_blocks),
            entries_max: entries_max.max(1),
            hits: 0,
            misses: 0,
        }
    }

    /// Maximum number of entries.
    pub fn entries_max(&self) -> u32 {
        self.entries_max
    }

    /// Looks up a logical block, and caches it if necessary. Returns whether it was cached before.
    pub fn touch(&mut self, lbn: u32) -> bool {
        let hit = self.cached.contains(lbn);
        if hit {
            self.order.touch(lbn);
            self.hits += 1;
        } else {
            self.insert(lbn);
            self.misses += 1;
        }
        hit
    }

    fn insert(&mut self, lbn: u32) {
        debug_assert!(!self.cached.contains(lbn), "LBN {lbn} was cached twice");
        if self.order.len() == self.entries_max {
            let oldest = self.order.first().expect("a full cache has an entry");
            debug_assert!(self.cached.contains(oldest), "LBN {oldest} was evicted, not cached");
            self.order.remove(oldest);
            self.cached.remove(oldest);
        }
        self.order.push(lbn);
        self.cached.insert(lbn);
    }

    /// Share of look-ups that found their entry; NaN before the first look-up.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses) as f64
    }

    /// Resets the counts of look-ups, but keeps the entries.
    pub fn reset(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_is_evicted() {
        let mut cache = MapCache::new(9, 2);
        let looked = [3, 4, 3, 5, 4, 3].map(|lbn| cache.touch(lbn));
        // 5 evicts 4, then 4 evicts 3, then 3 evicts 5.
        assert_eq!(looked, [false, false, true, false, false, false]);
        assert_eq!((cache.hits, cache.misses), (1, 5));
        assert!(cache.touch(4) && (cache.hit_ratio() - 2.0 / 7.0).abs() < 1e-12);
    }
}
