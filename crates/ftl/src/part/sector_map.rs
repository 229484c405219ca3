//! Where the sectors of logical pages stand in a log: a hash map from a page to the places of all
//! its sectors (SL §4.2, Fig. 4).
//!
//! ```text
//! bucket 0  ─▶ LPN 8 [ 12 · · 13 ] ─▶ LPN 0 [ 0 4 · · ]     ·: not in the log
//!        1  ─▶ LPN 3 [  · 5 · · ]
//!        2  ─▶ none
//! ```
//! Grouped by page, one look-up finds all sectors of a page, which is what reading, merging and
//! dropping it ask for. A place is the number of a sector in the log, four bytes. Pages that
//! collide are chained, the latest first.
//!
//! Most look-ups find nothing, and would walk a chain for it: a miss of the processor's cache for
//! each entry. So it is known of every logical page, in a bit, whether it is in the map, and of
//! every bucket how long its chain is, which is how many entries such a look-up compares.
//!
//! The map itself lies in three arrays. Room for the most entries that can ever be is reserved when
//! the map is made, so that nothing is allocated later; what is never used is never touched.
//!
//! A controller spends four bytes a bucket and, for each page, eight and four a sector: its number,
//! the link, the places. Masks, bits and lengths of chains stand beside them here and follow from
//! them.

use nand::{Lpn, SectorMask};

use super::bits::Bits;
use super::prefetch::prefetch;
use crate::contract::Violation;
use crate::ensure;

const NONE: u32 = u32::MAX;

/// An entry of the map, as long as its page is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(u32);

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// The first entry.
    head: u32,
    /// How many are chained.
    length: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    lpn: Lpn,
    /// The next in the chain, or in the list of unused entries.
    next: u32,
    /// Sectors that have a place.
    live: SectorMask,
}

/// The map.
#[derive(Clone, Debug)]
pub struct SectorMap {
    buckets: Vec<Bucket>,
    /// Pages that are in the map.
    is_in: Bits,
    entries: Vec<Entry>,
    /// As many as a page has sectors for each entry.
    places: Vec<u32>,
    unused: u32,
    len: u32,
    /// Sectors that have a place.
    sectors: u64,
    sectors_per_page: u32,
    /// Look-ups, and entries compared in them, at least one each.
    pub look_ups: u64,
    /// See `look_ups`.
    pub probes: u64,
}

impl SectorMap {
    /// An empty map of so many buckets, a power of two, that will hold at most `entries_max` of the
    /// logical pages.
    pub fn new(
        buckets: u32,
        logical_pages: u32,
        entries_max: usize,
        sectors_per_page: u32,
    ) -> SectorMap {
        assert!(buckets.is_power_of_two(), "{buckets} buckets are no power of two");
        SectorMap {
            buckets: vec![Bucket { head: NONE, length: 0 }; buckets as usize],
            is_in: Bits::new(logical_pages),
            entries: Vec::with_capacity(entries_max),
            places: Vec::with_capacity(entries_max * sectors_per_page as usize),
            unused: NONE,
            len: 0,
            sectors: 0,
            sectors_per_page,
            look_ups: 0,
            probes: 0,
        }
    }

    // ---- Looking ------------------------------------------------------------------------------

    /// Whether no page is in the map.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Pages in the map.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Sectors in the map.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Looks a page up.
    #[inline]
    pub fn find(&mut self, lpn: Lpn) -> Option<EntryId> {
        self.look_ups += 1;
        if !self.is_in.contains(lpn.0) {
            self.probes += u64::from(self.buckets[self.bucket(lpn)].length.max(1));
            return None;
        }
        let (entry, probes) = self.walk(lpn);
        self.probes += probes;
        Some(entry)
    }

    /// Looks a page up, and nobody counts it.
    pub fn peek(&self, lpn: Lpn) -> Option<EntryId> {
        self.is_in.contains(lpn.0).then(|| self.walk(lpn).0)
    }

    /// Finds a page that is in the map, and how many entries are compared for it.
    fn walk(&self, lpn: Lpn) -> (EntryId, u64) {
        let (mut at, mut probes) = (self.buckets[self.bucket(lpn)].head, 1);
        while self.entries[at as usize].lpn != lpn {
            at = self.entries[at as usize].next;
            probes += 1;
        }
        (EntryId(at), probes)
    }

    /// Multiplicative hashing: the upper bits of a product with 2³² over the golden ratio.
    #[inline]
    fn bucket(&self, lpn: Lpn) -> usize {
        let product = u64::from(lpn.0.wrapping_mul(0x9E37_79B9));
        ((product * self.buckets.len() as u64) >> 32) as usize
    }

    /// A hint that a page is looked up soon.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        let bucket = self.bucket(lpn);
        // Bits are small, entries are not; to them the bucket leads.
        match lpn.0 < self.is_in.bound() && self.is_in.contains(lpn.0) {
            true => prefetch(&self.entries, self.buckets[bucket].head as usize),
            false => prefetch(&self.buckets, bucket),
        }
    }

    /// The sectors of a page that have a place.
    #[inline]
    pub fn live(&self, entry: EntryId) -> SectorMask {
        self.entries[entry.0 as usize].live
    }

    /// The place of a sector; without meaning if it has none.
    #[inline]
    pub fn place(&self, entry: EntryId, index: u32) -> u32 {
        self.places[self.at(entry, index)]
    }

    #[inline]
    fn at(&self, entry: EntryId, index: u32) -> usize {
        debug_assert!(index < self.sectors_per_page);
        entry.0 as usize * self.sectors_per_page as usize + index as usize
    }

    /// The pages in the map, in no order that means anything.
    pub fn pages(&self) -> impl Iterator<Item = (Lpn, EntryId)> + '_ {
        let entries = self.entries.iter().zip((0..).map(EntryId));
        entries.filter(|(entry, _)| entry.live != 0).map(|(entry, id)| (entry.lpn, id))
    }

    /// Bytes of a controller's map.
    #[inline]
    pub fn ram_bytes(&self) -> u64 {
        4 * self.buckets.len() as u64 + self.entry_bytes() * u64::from(self.len)
    }

    /// Bytes that one page takes.
    #[inline]
    pub fn entry_bytes(&self) -> u64 {
        8 + 4 * u64::from(self.sectors_per_page)
    }

    // ---- Changing -----------------------------------------------------------------------------

    /// Looks a page up, and makes an entry for it if it has none. The caller then sets a place.
    pub fn find_or_insert(&mut self, lpn: Lpn) -> EntryId {
        if let Some(entry) = self.find(lpn) {
            return entry;
        }
        let bucket = self.bucket(lpn);
        let fresh = Entry { lpn, next: self.buckets[bucket].head, live: 0 };
        let at = match self.unused {
            NONE => {
                self.entries.push(fresh);
                let places = self.places.len() + self.sectors_per_page as usize;
                self.places.resize(places, NONE);
                self.entries.len() as u32 - 1
            }
            unused => {
                let entry = &mut self.entries[unused as usize];
                self.unused = core::mem::replace(entry, fresh).next;
                unused
            }
        };
        self.buckets[bucket].head = at;
        self.buckets[bucket].length += 1;
        self.is_in.insert(lpn.0);
        self.len += 1;
        EntryId(at)
    }

    /// Gives a sector a place, in the stead of the one that it may have had.
    #[inline]
    pub fn set(&mut self, entry: EntryId, index: u32, place: u32) {
        let at = self.at(entry, index);
        self.places[at] = place;
        let live = &mut self.entries[entry.0 as usize].live;
        self.sectors += u64::from(*live >> index & 1 == 0);
        *live |= 1 << index;
    }

    /// Takes the places of some sectors of a page away, and its entry if none is left.
    pub fn drop_sectors(&mut self, lpn: Lpn, entry: EntryId, mask: SectorMask) {
        let live = &mut self.entries[entry.0 as usize].live;
        self.sectors -= u64::from((*live & mask).count_ones());
        *live &= !mask;
        if *live == 0 {
            self.unlink(lpn);
        }
    }

    /// Takes a page out.
    pub fn remove(&mut self, lpn: Lpn, entry: EntryId) {
        self.drop_sectors(lpn, entry, SectorMask::MAX);
    }

    fn unlink(&mut self, lpn: Lpn) {
        let bucket = self.bucket(lpn);
        let (mut before, mut at) = (NONE, self.buckets[bucket].head);
        while self.entries[at as usize].lpn != lpn {
            (before, at) = (at, self.entries[at as usize].next);
        }
        let next = core::mem::replace(&mut self.entries[at as usize].next, self.unused);
        match before {
            NONE => self.buckets[bucket].head = next,
            _ => self.entries[before as usize].next = next,
        }
        self.unused = at;
        self.buckets[bucket].length -= 1;
        self.is_in.remove(lpn.0);
        self.len -= 1;
    }

    // ---- Auditing -----------------------------------------------------------------------------

    /// Every page can be found and has a sector; counts equal a recount.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> core::result::Result<(), Violation> {
        let (mut len, mut sectors) = (0, 0);
        for (lpn, entry) in self.pages() {
            ensure!(self.peek(lpn) == Some(entry), "{lpn:?} has an entry that nobody finds");
            len += 1;
            sectors += u64::from(self.live(entry).count_ones());
        }
        for &Bucket { head, length } in &self.buckets {
            let chained = self.chain_length(head);
            ensure!(chained == length, "{chained} pages are in a chain, counted {length}");
        }
        let chained: u32 = self.buckets.iter().map(|bucket| bucket.length).sum();
        ensure!(len == chained, "{len} pages have sectors in the log, {chained} are chained");
        ensure!(len == self.len, "{len} pages are in the map, counted {}", self.len);
        let known = self.sectors;
        ensure!(sectors == known, "{sectors} sectors are in the map, counted {known}");
        Ok(())
    }

    fn chain_length(&self, head: u32) -> u32 {
        let next = |&at: &u32| Some(self.entries[at as usize].next).filter(|&next| next != NONE);
        core::iter::successors(Some(head).filter(|&head| head != NONE), next).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::collections::BTreeMap;

    /// The same by a map of sectors.
    #[test]
    fn agrees_with_a_naive_map() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut map, mut naive) = (SectorMap::new(4, 20, 20, 3), BTreeMap::new());
        for place in 0..5000 {
            let lpn = Lpn(rng.next_u32() % 20);
            let index = rng.next_u32() % 3;
            match rng.next_u32() % 8 {
                0 => {
                    if let Some(entry) = map.find(lpn) {
                        map.remove(lpn, entry);
                    }
                    naive.retain(|&(page, _), _| page != lpn.0);
                }
                1 => {
                    if let Some(entry) = map.find(lpn) {
                        map.drop_sectors(lpn, entry, 1 << index);
                    }
                    naive.remove(&(lpn.0, index));
                }
                _ => {
                    let entry = map.find_or_insert(lpn);
                    map.set(entry, index, place);
                    naive.insert((lpn.0, index), place);
                }
            }
            map.audit().unwrap();
            assert_eq!(found(&map), naive);
        }
        assert_eq!(map.entries.len(), 20, "entries are used again");
    }

    fn found(map: &SectorMap) -> BTreeMap<(u32, u32), u32> {
        let mut found = BTreeMap::new();
        for (lpn, entry) in map.pages() {
            for index in (0..3).filter(|index| map.live(entry) >> index & 1 == 1) {
                found.insert((lpn.0, index), map.place(entry, index));
            }
        }
        found
    }

    /// One bucket: pages 1, 2, 3 are chained, the latest first.
    #[test]
    fn a_probe_is_an_entry_compared_and_a_look_up_takes_one_at_least() {
        let mut map = SectorMap::new(1, 4, 3, 1);
        assert_eq!(map.find(Lpn(1)), None);
        assert_eq!((map.look_ups, map.probes), (1, 1));
        for lpn in [1, 2, 3].map(Lpn) {
            let entry = map.find_or_insert(lpn);
            map.set(entry, 0, lpn.0);
        }
        // 1 finds nothing to compare with, 2 compares 1, 3 compares 2 and 1.
        assert_eq!((map.look_ups, map.probes), (4, 1 + 1 + 1 + 2));
        assert!(map.find(Lpn(1)).is_some() && map.find(Lpn(3)).is_some());
        assert_eq!((map.look_ups, map.probes), (6, 5 + 3 + 1));
    }

    #[test]
    fn ram_is_counted_as_a_controller_would_spend_it() {
        let mut map = SectorMap::new(8, 10, 10, 8);
        assert_eq!(map.ram_bytes(), 32);
        for lpn in [5, 6, 6, 7].map(Lpn) {
            let entry = map.find_or_insert(lpn);
            map.set(entry, 0, 0);
        }
        assert_eq!(map.ram_bytes(), 32 + 3 * 40);
    }
}
