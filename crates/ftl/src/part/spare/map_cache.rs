//! Which logical blocks have their map entries in RAM, when these live in spare areas.
//!
//! An entry holds all that the spare areas say of a logical block. The one used longest ago goes;
//! none is ever dirty, because the spare areas are written along with the pages.

use crate::part::index::bit_set::BitSet;
use crate::part::index::recency::Recency;

/// A cache of the maps of logical blocks.
#[derive(Clone, Debug)]
pub struct MapCache {
    cached: BitSet,
    order: Recency,
    entries_max: u32,
    /// Look-ups since the last reset that found their entry, and that did not.
    pub hits: u64,
    /// See [`hits`](Self::hits).
    pub misses: u64,
}

impl MapCache {
    /// An empty cache for so many logical blocks, with room for at least one.
    pub fn new(logical_blocks: u32, entries_max: u32) -> MapCache {
        MapCache {
            cached: BitSet::new(logical_blocks),
            order: Recency::new(logical_blocks),
            entries_max: entries_max.max(1),
            hits: 0,
            misses: 0,
        }
    }

    /// Entries that there is room for.
    pub fn entries_max(&self) -> u32 {
        self.entries_max
    }

    /// Looks a logical block up, which is cached afterwards; says whether it was.
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
        if self.order.len() == self.entries_max {
            let oldest = self.order.first().expect("a full cache has an entry");
            self.order.remove(oldest);
            self.cached.remove(oldest);
        }
        self.order.push(lbn);
        self.cached.insert(lbn);
    }

    /// Share of the look-ups that found their entry; not a number before the first.
    pub fn hit_ratio(&self) -> f64 {
        self.hits as f64 / (self.hits + self.misses) as f64
    }

    /// Forgets the look-ups, not the entries.
    pub fn reset(&mut self) {
        (self.hits, self.misses) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_longest_ago_goes() {
        let mut cache = MapCache::new(9, 2);
        let looked = [3, 4, 3, 5, 4, 3].map(|lbn| cache.touch(lbn));
        // 5 drives out 4, then 4 drives out 3, then 3 drives out 5.
        assert_eq!(looked, [false, false, true, false, false, false]);
        assert_eq!((cache.hits, cache.misses), (1, 5));
        assert!(cache.touch(4) && (cache.hit_ratio() - 2.0 / 7.0).abs() < 1e-12);
    }
}
