//! The ghost of cached map entries: a bitmap indexed by a hash value (adaptive partitioning,
//! §IV.A).
//!
//! ```text
//! 12 leaves the cache    0 1 0 0 1 0 0 0     its bit is set; there were 7 entries, now 8
//! 9 leaves the cache     0 1 0 0 1 0 0 0     the same bit: 9 entries, 2 bits
//! 12 is missed           0 1 0 0 0 0 0 0     a hit: its bit is reset, also for 9: 8 entries, 1 bit
//! ```
//! A page has one bit, which a multiplicative hash of its number selects. Other pages may have the
//! same bit, so a hit may belong to another page. Entries are counted separately from bits. If
//! there is one entry too many, the count is lowered and a random bit is reset. But collisions
//! leave fewer bits than entries, and every reset removes another one. So if fewer bits are set
//! than 1/α of the entries to be kept, only the count is lowered.
//!
//! The bit to be reset is the first set bit at or after a random place. (A uniform choice would
//! need a list of the set bits, 32 times the size of the bitmap.) The search reads one or two words
//! of the bitmap, unless the ghost is almost empty.

use nand::Lpn;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::contract::{Violation, ensure};
use crate::layer::partitioner::sparse_set::SparseSet;

/// Pages whose entries left the cache of a map. Collisions make them inexact.
#[derive(Clone, Debug)]
pub struct GhostMap {
    bitmap: SparseSet,
    bits_set: u64,
    entries: u64,
    capacity: u64,
    alpha: u64,
    multiplier: u64,
    dice: Xoshiro256PlusPlus,
    /// Number of reads that hit the ghost.
    pub read_hits: u64,
    /// Number of writes that hit the ghost.
    pub write_hits: u64,
}

impl GhostMap {
    /// An empty bitmap of `bits` bits, rounded up to a power of two.
    pub fn new(bits: u64, alpha: u64, seed: u64) -> GhostMap {
        let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
        GhostMap {
            bitmap: SparseSet::new(bits.next_power_of_two().max(2) as u32),
            bits_set: 0,
            entries: 0,
            capacity: 0,
            alpha,
            multiplier: dice.next_u64() | 1,
            dice,
            read_hits: 0,
            write_hits: 0,
        }
    }

    /// Number of bits.
    pub fn bits(&self) -> u64 {
        self.bitmap.bound().into()
    }

    /// Number of bits that are set.
    pub fn bits_set(&self) -> u64 {
        self.bits_set
    }

    /// Number of entries.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Sets the maximum number of entries.
    pub fn set_capacity(&mut self, entries: u64) {
        self.capacity = entries;
        self.shrink();
    }

    /// Adds a page. The cache has just evicted its entry for lack of room.
    pub fn enter(&mut self, lpn: Lpn) {
        if self.capacity == 0 {
            return;
        }
        let bucket = self.bucket(lpn);
        self.bits_set += u64::from(!self.bitmap.contains(bucket));
        self.bitmap.insert(bucket);
        self.entries += 1;
        self.shrink();
    }

    /// Records a read that missed the cache. The page's entry is in the cache from now on.
    pub fn read(&mut self, lpn: Lpn) {
        self.read_hits += u64::from(self.leave(lpn));
    }

    /// Records a write that missed the cache. The page's entry is in the cache from now on.
    pub fn write(&mut self, lpn: Lpn) {
        self.write_hits += u64::from(self.leave(lpn));
    }

    /// Resets the bit of a page. Returns whether it was set.
    fn leave(&mut self, lpn: Lpn) -> bool {
        let bucket = self.bucket(lpn);
        let is_set = self.bitmap.contains(bucket);
        if is_set {
            self.reset(bucket);
            self.entries = self.entries.saturating_sub(1);
        }
        is_set
    }

    fn shrink(&mut self) {
        while self.entries > self.capacity {
            self.entries -= 1;
            if self.bits_set > 0 && self.bits_set * self.alpha >= self.entries {
                let bucket = self.choose_set_bit();
                self.reset(bucket);
            }
        }
    }

    /// Chooses a set bit at random. At least one bit must be set.
    fn choose_set_bit(&mut self) -> u32 {
        let place = (u64::from(self.dice.next_u32()) * self.bits()) >> 32;
        let found = self.bitmap.next(place as u32).or_else(|| self.bitmap.next(0));
        found.expect("a bit is set")
    }

    fn reset(&mut self, bucket: u32) {
        self.bitmap.remove(bucket);
        self.bits_set -= 1;
    }

    fn bucket(&self, lpn: Lpn) -> u32 {
        let hash = u64::from(lpn.0).wrapping_mul(self.multiplier);
        (hash >> (64 - self.bitmap.bound().trailing_zeros())) as u32
    }

    /// Checks that the counts agree with the bitmap and with each other.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        let (found, known) = (self.bitmap.iter().count() as u64, self.bits_set);
        ensure!(found == known, "{found} bits of the ghost are set, but {known} are counted");
        let (entries, most) = (self.entries, self.capacity);
        ensure!(known <= entries, "{known} bits are set for {entries} entries");
        ensure!(entries <= most, "{entries} entries in a ghost for at most {most}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ghost(bits: u64, capacity: u64) -> GhostMap {
        let mut ghost = GhostMap::new(bits, 3, 1);
        ghost.set_capacity(capacity);
        ghost
    }

    /// If `collides`, another page with the same bit as the first of `others`; otherwise a page
    /// that shares its bit with none of them.
    fn page(ghost: &GhostMap, others: &[u32], collides: bool) -> u32 {
        let bucket = |lpn: u32| ghost.bucket(Lpn(lpn));
        let fits = |lpn: &u32| match collides {
            true => *lpn != others[0] && bucket(*lpn) == bucket(others[0]),
            false => others.iter().all(|&other| bucket(other) != bucket(*lpn)),
        };
        (0..).find(fits).unwrap()
    }

    #[test]
    fn a_page_that_left_the_cache_is_hit_once() {
        let mut ghost = ghost(64, 10);
        let other = page(&ghost, &[5], false);
        ghost.enter(Lpn(5));
        ghost.write(Lpn(other));
        ghost.write(Lpn(5));
        ghost.read(Lpn(5));
        assert_eq!((ghost.write_hits, ghost.read_hits, ghost.entries()), (1, 0, 0));
        ghost.audit().unwrap();
    }

    #[test]
    fn colliding_pages_are_two_entries_and_share_one_hit() {
        let mut ghost = ghost(64, 10);
        let twin = page(&ghost, &[5], true);
        [5, twin].into_iter().for_each(|lpn| ghost.enter(Lpn(lpn)));
        assert_eq!((ghost.entries(), ghost.bits_set()), (2, 1));
        ghost.read(Lpn(twin));
        ghost.read(Lpn(5));
        assert_eq!((ghost.read_hits, ghost.entries(), ghost.bits_set()), (1, 1, 0));
        ghost.audit().unwrap();
    }

    #[test]
    fn a_surplus_entry_resets_a_bit_unless_few_bits_are_set() {
        let mut ghost = ghost(256, 3);
        let mut pages = vec![7];
        for _ in 0..3 {
            pages.push(page(&ghost, &pages, false));
        }
        pages.iter().for_each(|&lpn| ghost.enter(Lpn(lpn)));
        assert_eq!((ghost.entries(), ghost.bits_set()), (3, 3), "four bits, one reset");
        // Three more entries with a bit that is set already: the count alone falls while 1 · 3 <
        // entries.
        let (mut alike, twin) = (self::ghost(256, 4), page(&self::ghost(256, 4), &[7], true));
        [7, twin, 7, twin].into_iter().for_each(|lpn| alike.enter(Lpn(lpn)));
        assert_eq!((alike.entries(), alike.bits_set()), (4, 1));
        alike.enter(Lpn(7));
        assert_eq!(
            (alike.entries(), alike.bits_set()),
            (4, 1),
            "1 · 3 < 4: only the count is lowered"
        );
        alike.set_capacity(3);
        assert_eq!(
            (alike.entries(), alike.bits_set()),
            (3, 0),
            "1 · 3 is not below 3: the bit is reset"
        );
        alike.audit().unwrap();
        ghost.audit().unwrap();
    }

    #[test]
    fn every_set_bit_may_be_chosen() {
        let mut drawn = [0; 4];
        for seed in 0..4000 {
            let mut ghost = GhostMap::new(1 << 16, 3, seed);
            ghost.set_capacity(4);
            (0..4).for_each(|lpn| ghost.enter(Lpn(lpn)));
            ghost.set_capacity(3);
            let is_gone = |lpn: &u32| !ghost.bitmap.contains(ghost.bucket(Lpn(*lpn)));
            (0..4).filter(is_gone).for_each(|lpn| drawn[lpn as usize] += 1);
        }
        assert_eq!(drawn.iter().sum::<u32>(), 4000, "one bit is reset each time");
        assert!(drawn.iter().all(|n| (600..1400).contains(n)), "{drawn:?}");
    }

    #[test]
    fn a_ghost_without_room_holds_nothing() {
        let mut ghost = ghost(64, 2);
        [1, 2].into_iter().for_each(|lpn| ghost.enter(Lpn(lpn)));
        ghost.set_capacity(0);
        ghost.enter(Lpn(3));
        assert_eq!((ghost.entries(), ghost.bits_set()), (0, 0));
        ghost.audit().unwrap();
    }

    #[test]
    fn bits_are_a_power_of_two_and_pages_are_spread_over_them() {
        let ghost = ghost(1000, 1);
        assert_eq!(ghost.bits(), 1024);
        let mut hit = vec![false; 1024];
        (0..4096).for_each(|lpn| hit[ghost.bucket(Lpn(lpn)) as usize] = true);
        assert!(hit.iter().filter(|&&hit| hit).count() > 900);
    }
}
