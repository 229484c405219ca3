//! The sector map of a sector log: a hash map from a logical page to the places of all its sectors
//! in the log (SL §4.2, Fig. 4).
//!
//! ```text
//! bucket 0  ─▶ LPN 8 [ 12 · · 13 ] ─▶ LPN 0 [ 0 4 · · ]     ·: not in the log
//!        1  ─▶ LPN 3 [  · 5 · · ]
//!        2  ─▶ none
//! ```
//! Because sectors are grouped by page, one look-up finds all sectors of a page, which is what
//! reads, merges and removals need. A place is the number of a sector in the log, four bytes. Pages
//! with the same hash value are chained, the latest first.
//!
//! The cost of a look-up is its cache misses. Most look-ups find nothing. For these, one bit per
//! page says that the page is not in the map, and one byte per bucket gives the length of the
//! chain, which is the number of entries that such a look-up would compare. For all others, the
//! first seven pages of a chain are in the bucket itself, in one cache line. Its address follows
//! from the page number, so it can be prefetched long before the look-up. A second cache line says
//! which sectors of the page are in the log, and where. Longer chains are rare and kept apart.
//!
//! Room for the maximum number of entries is reserved when the map is created, so almost nothing is
//! allocated later; memory that is never used is never touched. A controller would need four bytes
//! per bucket and, for each page, eight bytes and four per sector: the page number, the link, and
//! the places. All other data here can be derived from these.

use std::collections::{BTreeMap, VecDeque};

use nand::{Lpn, SectorMask};

use crate::contract::{Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::index::prefetch::prefetch;

/// Number of pages of a chain that are in the bucket itself.
const NEAR: usize = 7;
/// Words at the start of an entry: the mask of sectors that have a place.
const LIVE_WORDS: usize = 2;
const NONE: u32 = u32::MAX;

/// An entry of the map; valid as long as its page is in the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryId(u32);

/// The start of a chain: its latest pages, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct HashBucket {
    lpns: [Lpn; NEAR],
    entries: [u32; NEAR],
    /// Number of pages in the whole chain.
    length: u32,
}

impl HashBucket {
    const EMPTY: HashBucket =
        HashBucket { lpns: [Lpn::NONE; NEAR], entries: [NONE; NEAR], length: 0 };

    fn position(&self, lpn: Lpn) -> Option<usize> {
        self.lpns.iter().position(|&other| other == lpn)
    }

    /// Inserts a page before the others. Returns the page for which the bucket has no room any
    /// more.
    fn push_front(&mut self, link: ChainEntry) -> ChainEntry {
        let pushed_out = (self.lpns[NEAR - 1], self.entries[NEAR - 1]);
        self.lpns.copy_within(..NEAR - 1, 1);
        self.entries.copy_within(..NEAR - 1, 1);
        (self.lpns[0], self.entries[0]) = link;
        self.length += 1;
        pushed_out
    }

    /// Removes a page. The others close up, and `behind` is put after them.
    fn remove(&mut self, at: usize, behind: ChainEntry) {
        self.lpns.copy_within(at + 1.., at);
        self.entries.copy_within(at + 1.., at);
        (self.lpns[NEAR - 1], self.entries[NEAR - 1]) = behind;
        self.length -= 1;
    }
}

/// A page of a chain, and its entry.
type ChainEntry = (Lpn, u32);

/// The sector map.
#[derive(Clone, Debug)]
pub struct SectorMap {
    /// The pages that are in the map.
    is_in: BitSet,
    /// The length of each chain; 255 stands for 255 or more.
    lengths: Vec<u8>,
    buckets: Vec<HashBucket>,
    /// The rest of long chains, by bucket.
    far: BTreeMap<usize, VecDeque<ChainEntry>>,
    /// The entries, of `stride` words each: the mask of sectors that have a place, and the places.
    words: Vec<u32>,
    stride: usize,
    unused: Vec<u32>,
    len: u32,
    /// Number of sectors that have a place.
    sectors: u64,
    sectors_per_page: u32,
    /// Number of look-ups.
    pub look_ups: u64,
    /// Number of entries compared in look-ups, at least one each.
    pub probes: u64,
}

impl SectorMap {
    /// An empty map of `buckets` buckets, a power of two, for at most `entries_max` pages.
    pub fn new(
        buckets: u32,
        logical_pages: u32,
        entries_max: usize,
        sectors_per_page: u32,
    ) -> SectorMap {
        assert!(buckets.is_power_of_two(), "{buckets} buckets are no power of two");
        let stride = LIVE_WORDS + sectors_per_page as usize;
        SectorMap {
            is_in: BitSet::new(logical_pages),
            lengths: vec![0; buckets as usize],
            buckets: vec![HashBucket::EMPTY; buckets as usize],
            far: BTreeMap::new(),
            words: Vec::with_capacity(entries_max * stride),
            stride,
            unused: Vec::with_capacity(entries_max),
            len: 0,
            sectors: 0,
            sectors_per_page,
            look_ups: 0,
            probes: 0,
        }
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Whether no page is in the map.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of pages in the map.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Number of sectors in the map.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Looks up a page, and counts the look-up.
    #[inline]
    pub fn find(&mut self, lpn: Lpn) -> Option<EntryId> {
        self.look_ups += 1;
        if !self.is_in.contains(lpn.0) {
            self.probes += u64::from(self.length(self.bucket(lpn)).max(1));
            return None;
        }
        let (entry, probes) = self.walk(lpn);
        self.probes += probes;
        Some(entry)
    }

    /// Looks up a page without counting.
    pub fn peek(&self, lpn: Lpn) -> Option<EntryId> {
        self.is_in.contains(lpn.0).then(|| self.walk(lpn).0)
    }

    /// Finds a page that is in the map. Returns also the number of entries compared.
    #[inline]
    fn walk(&self, lpn: Lpn) -> (EntryId, u64) {
        let number = self.bucket(lpn);
        let bucket = &self.buckets[number];
        match bucket.position(lpn) {
            Some(at) => (EntryId(bucket.entries[at]), at as u64 + 1),
            None => self.walk_far(number, lpn),
        }
    }

    #[cold]
    fn walk_far(&self, number: usize, lpn: Lpn) -> (EntryId, u64) {
        let far = &self.far[&number];
        let at = far.iter().position(|link| link.0 == lpn).expect("a page that is in the map");
        (EntryId(far[at].1), (NEAR + at) as u64 + 1)
    }

    /// Number of pages in a bucket.
    #[inline]
    fn length(&self, number: usize) -> u32 {
        match self.lengths[number] {
            u8::MAX => self.buckets[number].length,
            length => length.into(),
        }
    }

    /// Multiplicative hashing: the upper bits of the product with 2³² divided by the golden ratio.
    #[inline]
    fn bucket(&self, lpn: Lpn) -> usize {
        let product = u64::from(lpn.0.wrapping_mul(0x9E37_79B9));
        ((product * self.buckets.len() as u64) >> 32) as usize
    }

    /// Prefetches what the look-up of a page needs.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        let number = self.bucket(lpn);
        match lpn.0 < self.is_in.bound() && self.is_in.contains(lpn.0) {
            true => prefetch(&self.buckets, number),
            false => prefetch(&self.lengths, number),
        }
    }

    /// Prefetches what the insertion of a page needs.
    #[inline]
    pub fn prefetch_insertion(&self, lpn: Lpn) {
        prefetch(&self.buckets, self.bucket(lpn));
    }

    /// Prefetches the entry of a page. Its bucket should be in the processor's cache already.
    #[inline]
    pub fn prefetch_entry(&self, lpn: Lpn) {
        let bucket = &self.buckets[self.bucket(lpn)];
        if let Some(at) = bucket.position(lpn) {
            prefetch(&self.words, bucket.entries[at] as usize * self.stride);
        }
    }

    /// The sectors of a page that have a place.
    #[inline]
    pub fn live(&self, entry: EntryId) -> SectorMask {
        let at = entry.0 as usize * self.stride;
        SectorMask::from(self.words[at]) | SectorMask::from(self.words[at + 1]) << 32
    }

    #[inline]
    fn set_live(&mut self, entry: EntryId, live: SectorMask) {
        let at = entry.0 as usize * self.stride;
        (self.words[at], self.words[at + 1]) = (live as u32, (live >> 32) as u32);
    }

    /// The place of a sector; meaningless if it has none.
    #[inline]
    pub fn place(&self, entry: EntryId, index: u32) -> u32 {
        self.words[self.at(entry, index)]
    }

    #[inline]
    fn at(&self, entry: EntryId, index: u32) -> usize {
        debug_assert!(index < self.sectors_per_page);
        entry.0 as usize * self.stride + LIVE_WORDS + index as usize
    }

    /// The pages in the map, in arbitrary order.
    pub fn pages(&self) -> impl Iterator<Item = (Lpn, EntryId)> + '_ {
        (0..self.buckets.len()).flat_map(|number| self.chain(number))
    }

    /// The pages of a bucket, the latest first.
    fn chain(&self, number: usize) -> impl Iterator<Item = (Lpn, EntryId)> + '_ {
        let bucket = &self.buckets[number];
        let near = bucket.lpns.into_iter().zip(bucket.entries).take(bucket.length as usize);
        let far = self.far.get(&number).into_iter().flatten().copied();
        near.chain(far).map(|(lpn, entry)| (lpn, EntryId(entry)))
    }

    /// Bytes that a controller's map would take.
    #[inline]
    pub fn ram_bytes(&self) -> u64 {
        4 * self.buckets.len() as u64 + self.entry_bytes() * u64::from(self.len)
    }

    /// Bytes that one page takes in a controller's map.
    #[inline]
    pub fn entry_bytes(&self) -> u64 {
        8 + 4 * u64::from(self.sectors_per_page)
    }

    // ---- Updates ------------------------------------------------------------------------------

    /// Looks up a page, and makes an entry for it if it has none. The caller must then set a place.
    pub fn find_or_insert(&mut self, lpn: Lpn) -> EntryId {
        if let Some(entry) = self.find(lpn) {
            return entry;
        }
        let entry = self.unused.pop().unwrap_or_else(|| {
            let entries = self.words.len() / self.stride;
            self.words.resize(self.words.len() + self.stride, NONE);
            entries as u32
        });
        self.set_live(EntryId(entry), 0);
        let number = self.bucket(lpn);
        let pushed_out = self.buckets[number].push_front((lpn, entry));
        if pushed_out.0 != Lpn::NONE {
            self.far.entry(number).or_default().push_front(pushed_out);
        }
        self.note_length(number);
        self.is_in.insert(lpn.0);
        self.len += 1;
        EntryId(entry)
    }

    /// Sets the place of a sector, replacing a former place.
    #[inline]
    pub fn set(&mut self, entry: EntryId, index: u32, place: u32) {
        let (at, live) = (self.at(entry, index), self.live(entry));
        self.words[at] = place;
        self.sectors += u64::from(live >> index & 1 == 0);
        self.set_live(entry, live | 1 << index);
    }

    /// Removes the places of some sectors of a page, and its entry if no place is left.
    pub fn drop_sectors(&mut self, lpn: Lpn, entry: EntryId, mask: SectorMask) {
        debug_assert!(self.peek(lpn) == Some(entry), "{entry:?} is not the entry of {lpn:?}");
        let live = self.live(entry);
        self.sectors -= u64::from((live & mask).count_ones());
        self.set_live(entry, live & !mask);
        if live & !mask == 0 {
            let number = self.bucket(lpn);
            self.unlink(number, lpn);
            self.note_length(number);
            self.is_in.remove(lpn.0);
            self.unused.push(entry.0);
            self.len -= 1;
        }
    }

    /// Removes a page.
    pub fn remove(&mut self, lpn: Lpn, entry: EntryId) {
        self.drop_sectors(lpn, entry, SectorMask::MAX);
    }

    fn note_length(&mut self, number: usize) {
        self.lengths[number] = self.buckets[number].length.min(u8::MAX.into()) as u8;
    }

    fn unlink(&mut self, number: usize, lpn: Lpn) {
        let bucket = &mut self.buckets[number];
        if bucket.length as usize <= NEAR {
            let at = bucket.position(lpn).expect("a page that is in the map");
            return bucket.remove(at, (Lpn::NONE, NONE));
        }
        let far = self.far.get_mut(&number).expect("a long chain has far pages");
        match bucket.position(lpn) {
            Some(at) => bucket.remove(at, far.pop_front().expect("a long chain has a far page")),
            None => {
                far.retain(|link| link.0 != lpn);
                bucket.length -= 1;
            }
        }
        if far.is_empty() {
            self.far.remove(&number);
        }
    }

    // ---- Auditing -----------------------------------------------------------------------------

    /// Checks that every page can be found and has a sector, and that counts equal a recount.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> core::result::Result<(), Violation> {
        let (mut len, mut sectors) = (0, 0);
        for (lpn, entry) in self.pages() {
            ensure!(
                self.peek(lpn) == Some(entry),
                "{lpn:?} has an entry that a look-up does not find"
            );
            let live = self.live(entry);
            ensure!(live != 0, "{lpn:?} is in the map, but has no sector in the log");
            len += 1;
            sectors += u64::from(live.count_ones());
        }
        for (number, bucket) in self.buckets.iter().enumerate() {
            let (chained, length) = (self.chain(number).count(), bucket.length);
            let known = self.length(number);
            ensure!(known == length, "a chain of length {length} is recorded with length {known}");
            ensure!(chained == length as usize, "a chain has {chained} pages, counted {length}");
        }
        let far = self.far.values().any(VecDeque::is_empty);
        ensure!(!far, "the rest of a chain is recorded, but empty");
        ensure!(len == self.len, "{len} pages are in the map, counted {}", self.len);
        let entries = self.words.len() / self.stride;
        let used = entries - self.unused.len();
        ensure!(used == len as usize, "{used} entries are used for {len} pages");
        let known = self.sectors;
        ensure!(sectors == known, "{sectors} sectors are in the map, counted {known}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Compares with a plain map of sectors. With one bucket most pages are far.
    #[test]
    fn agrees_with_a_naive_map() {
        [1, 4].into_iter().for_each(agrees_in);
    }

    fn agrees_in(buckets: u32) {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let (mut map, mut naive) = (SectorMap::new(buckets, 20, 20, 3), BTreeMap::new());
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
        assert!(map.words.len() <= 20 * map.stride, "entries are used again");
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

    /// One bucket: pages 1, 2 and 3 are chained, the latest first.
    #[test]
    fn a_probe_is_a_comparison_and_every_look_up_counts_at_least_one() {
        let mut map = SectorMap::new(1, 14, 12, 1);
        assert_eq!(map.find(Lpn(1)), None);
        assert_eq!((map.look_ups, map.probes), (1, 1));
        for lpn in [1, 2, 3].map(Lpn) {
            let entry = map.find_or_insert(lpn);
            map.set(entry, 0, lpn.0);
        }
        // Inserting 1 compares nothing, inserting 2 compares 1, inserting 3 compares 2 and 1.
        assert_eq!((map.look_ups, map.probes), (4, 1 + 1 + 1 + 2));
        assert!(map.find(Lpn(1)).is_some() && map.find(Lpn(3)).is_some());
        assert_eq!((map.look_ups, map.probes), (6, 5 + 3 + 1));
    }

    /// One bucket of twelve pages, of which five are far: 1 to 5.
    #[test]
    fn comparisons_with_far_pages_are_probes_too() {
        let mut map = SectorMap::new(1, 14, 12, 1);
        for lpn in (1..=12).map(Lpn) {
            let entry = map.find_or_insert(lpn);
            map.set(entry, 0, lpn.0);
        }
        let mut probes = |lpn| {
            let before = map.probes;
            let found = map.find(Lpn(lpn)).is_some();
            (found, map.probes - before)
        };
        assert_eq!([12, 6, 5, 1].map(&mut probes), [(true, 1), (true, 7), (true, 8), (true, 12)]);
        assert_eq!(probes(13), (false, 12));
    }

    #[test]
    fn ram_is_what_a_controller_would_need() {
        let mut map = SectorMap::new(8, 10, 10, 8);
        assert_eq!(map.ram_bytes(), 32);
        for lpn in [5, 6, 6, 7].map(Lpn) {
            let entry = map.find_or_insert(lpn);
            map.set(entry, 0, 0);
        }
        assert_eq!(map.ram_bytes(), 32 + 3 * 40);
    }
}
