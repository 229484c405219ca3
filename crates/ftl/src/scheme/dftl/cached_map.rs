//! The cached mapping table of dftl: cached entries in the order of their last use, and which of
//! them are not in flash yet.
//!
//! ```text
//! least recently used ◀── 7 ── 12* ── 3 ── 14* ── 13* ──▶ most recently     *: dirty
//! dirty in translation page 1 (LPN 12 to 15):   12, 14, 13          one program cleans them
//! ```
//! All operations take constant time. Entries are found through a hash table, and
//! are kept in linked lists by last use and by translation page.

use nand::{Lpn, Ppn};

use super::slot_table::SlotTable;
use crate::contract::{Violation, ensure};
use crate::part::index::recency::Recency;

const NONE: u32 = u32::MAX;

/// A cached entry.
#[derive(Clone, Copy, Debug)]
struct CachedEntry {
    lpn: Lpn,
    dirty: bool,
    /// For a dirty entry: the place of the page according to the flash.
    flash: Ppn,
    /// Neighbours in the list of dirty entries of its translation page.
    before: u32,
    after: u32,
}

/// A cache of map entries. The caller keeps it to its size.
#[derive(Clone, Debug)]
pub struct CachedMap {
    slot_of: SlotTable,
    slots: Vec<CachedEntry>,
    free: Vec<u32>,
    recency: Recency,
    /// The first dirty entry of each translation page.
    dirty: Vec<u32>,
    entries_per_page: u32,
}

impl CachedMap {
    /// An empty cache for the entries of `logical_pages` pages.
    pub fn new(logical_pages: u32, entries_per_page: u32) -> CachedMap {
        CachedMap {
            slot_of: SlotTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            recency: Recency::new(0),
            dirty: vec![NONE; logical_pages.div_ceil(entries_per_page) as usize],
            entries_per_page,
        }
    }

    /// Memory of a cache that never holds more than this number of entries, in bytes, without what
    /// it keeps for each translation page.
    pub fn memory_bytes(entries: u64) -> u64 {
        let each = size_of::<CachedEntry>() as u64 + Recency::BYTES_A_NUMBER;
        SlotTable::memory_bytes(entries, each)
    }

    /// Number of cached entries.
    pub fn entries(&self) -> u32 {
        self.recency.len()
    }

    /// Whether the entry of a page is cached.
    #[inline]
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.slot_of.get(lpn).is_some()
    }

    /// Makes the entry of a page the most recently used one, if it is cached. Returns its slot.
    #[inline]
    pub fn touch(&mut self, lpn: Lpn) -> Option<u32> {
        let slot = self.slot_of.get(lpn)?;
        self.recency.touch(slot);
        Some(slot)
    }

    /// Adds the entry of a page, which must not be cached yet, as clean and most recently used.
    /// Returns its slot.
    pub fn insert(&mut self, lpn: Lpn) -> u32 {
        debug_assert!(!self.contains(lpn), "the entry of {lpn:?} was cached twice");
        let entry = CachedEntry { lpn, dirty: false, flash: Ppn::NONE, before: NONE, after: NONE };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(entry);
                self.recency.grow();
                self.slots.len() as u32 - 1
            }
        };
        self.slots[slot as usize] = entry;
        self.slot_of.insert(lpn, slot);
        self.recency.push(slot);
        slot
    }

    /// The least recently used entry, and whether it is dirty.
    pub fn least_recent(&self) -> Option<(Lpn, bool)> {
        let slot = self.recency.first()?;
        let CachedEntry { lpn, dirty, .. } = self.slots[slot as usize];
        Some((lpn, dirty))
    }

    /// Drops the clean entry of a page.
    pub fn remove(&mut self, lpn: Lpn) {
        debug_assert!(self.contains(lpn), "the entry of {lpn:?} was dropped, but is not cached");
        let slot = self.slot_of.remove(lpn);
        assert!(!self.slots[slot as usize].dirty, "the entry of {lpn:?} is dropped, but is dirty");
        self.recency.remove(slot);
        self.free.push(slot);
    }

    /// Notes that the entry of a page changes, if it is cached. `flash` is its old value, which is
    /// also its value in flash unless the entry was dirty already. Returns whether it is cached.
    pub fn mark_dirty(&mut self, lpn: Lpn, flash: Ppn) -> bool {
        let Some(slot) = self.slot_of.get(lpn) else { return false };
        self.mark_slot_dirty(slot, flash);
        true
    }

    /// The same, for the entry in a slot.
    #[inline]
    pub fn mark_slot_dirty(&mut self, slot: u32, flash: Ppn) {
        if !self.slots[slot as usize].dirty {
            self.add_dirty(slot, flash);
        }
    }

    /// Adds an entry to the dirty ones of its translation page.
    fn add_dirty(&mut self, slot: u32, flash: Ppn) {
        let lpn = self.slots[slot as usize].lpn;
        let head = &mut self.dirty[(lpn.0 / self.entries_per_page) as usize];
        let after = core::mem::replace(head, slot);
        let entry = &mut self.slots[slot as usize];
        (entry.dirty, entry.flash) = (true, flash);
        (entry.before, entry.after) = (NONE, after);
        if after != NONE {
            self.slots[after as usize].before = slot;
        }
    }

    /// The dirty entries of a translation page, each with its value in flash.
    pub fn dirty_in(&self, translation_page: u32) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        let slot = |at: u32| self.slots.get(at as usize);
        let first = slot(self.dirty[translation_page as usize]);
        let all = core::iter::successors(first, move |entry| slot(entry.after));
        all.map(|entry| (entry.lpn, entry.flash))
    }

    /// Notes that all entries of a translation page are now in flash. Returns how many were dirty.
    pub fn clean(&mut self, translation_page: u32) -> u32 {
        let mut cleaned = 0;
        let mut at = core::mem::replace(&mut self.dirty[translation_page as usize], NONE);
        while let Some(entry) = self.slots.get_mut(at as usize) {
            entry.dirty = false;
            at = entry.after;
            cleaned += 1;
        }
        cleaned
    }

    /// All cached entries and whether they are dirty, from least to most recently used.
    pub fn iter(&self) -> impl Iterator<Item = (Lpn, bool)> + '_ {
        let entry = |slot: u32| self.slots[slot as usize];
        self.recency.iter().map(move |slot| (entry(slot).lpn, entry(slot).dirty))
    }

    /// Prefetches the entry of a page.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        self.slot_of.prefetch(lpn);
    }

    /// Checks that the index, the order of use and the lists of dirty entries agree.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        let (found, used) = (self.slot_of.len(), self.recency.len());
        let spare = self.free.len() as u32;
        ensure!(found == used, "{found} entries are indexed, {used} are in order of use");
        let slots = self.slots.len() as u32;
        ensure!(used + spare == slots, "{used} slots are used, {spare} free, of {slots}");
        let astray = self.iter().find(|&(lpn, _)| !self.contains(lpn));
        ensure!(astray.is_none(), "{astray:?} is in order of use, but not indexed");
        let mut listed = 0;
        for page in 0..self.dirty.len() as u32 {
            for (lpn, _) in self.dirty_in(page) {
                let own = lpn.0 / self.entries_per_page;
                ensure!(own == page, "{lpn:?} of translation page {own} is dirty in page {page}");
                listed += 1;
            }
        }
        let dirty = self.iter().filter(|(_, dirty)| *dirty).count();
        ensure!(listed == dirty, "{dirty} entries are dirty, {listed} are listed");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_leave_in_the_order_of_their_last_use() {
        let mut cache = CachedMap::new(8, 4);
        let _ = [3, 5, 7].map(|lpn| cache.insert(Lpn(lpn)));
        assert!(cache.touch(Lpn(3)).is_some() && cache.touch(Lpn(4)).is_none());
        assert_eq!(cache.least_recent(), Some((Lpn(5), false)));
        cache.remove(Lpn(5));
        cache.insert(Lpn(0));
        let order: Vec<u32> = cache.iter().map(|(lpn, _)| lpn.0).collect();
        assert_eq!(order, [7, 3, 0]);
        assert!(!cache.contains(Lpn(5)));
        cache.audit().unwrap();
    }

    #[test]
    fn dirty_entries_are_cleaned_by_translation_page_and_keep_their_order() {
        let mut cache = CachedMap::new(8, 4);
        let _ = [1, 6, 2, 3].map(|lpn| cache.insert(Lpn(lpn)));
        cache.mark_dirty(Lpn(1), Ppn(10));
        cache.mark_dirty(Lpn(3), Ppn::NONE);
        cache.mark_dirty(Lpn(6), Ppn(11));
        cache.mark_dirty(Lpn(1), Ppn(99));
        let dirty: Vec<_> = cache.dirty_in(0).collect();
        assert_eq!(
            dirty,
            [(Lpn(3), Ppn::NONE), (Lpn(1), Ppn(10))],
            "the value in flash, not a later one"
        );
        cache.audit().unwrap();
        assert_eq!((cache.clean(0), cache.clean(0)), (2, 0));
        assert_eq!(cache.least_recent(), Some((Lpn(1), false)));
        assert_eq!(cache.dirty_in(1).count(), 1);
        cache.mark_dirty(Lpn(3), Ppn(12));
        assert_eq!(cache.dirty_in(0).collect::<Vec<_>>(), [(Lpn(3), Ppn(12))]);
        cache.audit().unwrap();
    }

    #[test]
    #[should_panic(expected = "is dropped, but is dirty")]
    fn a_dirty_entry_is_not_dropped() {
        let mut cache = CachedMap::new(8, 4);
        cache.insert(Lpn(1));
        cache.mark_dirty(Lpn(1), Ppn(4));
        cache.remove(Lpn(1));
    }
}
