//! A table that finds a small number, such as the slot of a cached entry, by a logical page.
//!
//! ```text
//! home of a page: a hash of its number      [ . 7 . 3 12 . . 5 ]
//! 3 and 12 have the same home; 12 took the next free place
//! ```
//! An array over all logical pages would be much larger than a table of a few. At most half of the
//! places are taken, so a search looks at one or two of them. When a page leaves, the pages behind
//! it move up, so no marks of former pages are left.

use nand::Lpn;

use crate::part::index::prefetch::prefetch;

#[derive(Clone, Copy, Debug)]
struct Place {
    lpn: Lpn,
    slot: u32,
}

const FREE: Place = Place { lpn: Lpn::NONE, slot: 0 };

/// The slots of some logical pages.
#[derive(Clone, Debug)]
pub struct SlotTable {
    /// A power of two of places.
    places: Vec<Place>,
    /// 64 less its logarithm.
    shift: u32,
    taken: u32,
}

impl SlotTable {
    /// An empty table.
    pub fn new() -> SlotTable {
        SlotTable { places: vec![FREE; 2], shift: 63, taken: 0 }
    }

    /// How many pages have a slot.
    pub fn len(&self) -> u32 {
        self.taken
    }

    /// The slot of a page, if it has one.
    #[inline]
    pub fn get(&self, lpn: Lpn) -> Option<u32> {
        let place = self.places[self.search(lpn)];
        (place.lpn == lpn).then_some(place.slot)
    }

    /// Adds a page that is not in the table.
    pub fn insert(&mut self, lpn: Lpn, slot: u32) {
        self.taken += 1;
        if 2 * self.taken as usize > self.places.len() {
            self.grow();
        }
        let at = self.search(lpn);
        debug_assert!(self.places[at].lpn == Lpn::NONE, "{lpn:?} has two slots");
        self.places[at] = Place { lpn, slot };
    }

    /// Removes a page that is in the table. Returns its slot.
    pub fn remove(&mut self, lpn: Lpn) -> u32 {
        let mut free = self.search(lpn);
        let Place { lpn: found, slot } = self.places[free];
        assert!(found == lpn, "{lpn:?} is removed, but has no slot");
        let mut at = self.after(free);
        while self.places[at].lpn != Lpn::NONE {
            // A page moves up unless that would put it before its home.
            let home = self.home(self.places[at].lpn);
            if self.distance(home, at) >= self.distance(free, at) {
                self.places[free] = self.places[at];
                free = at;
            }
            at = self.after(at);
        }
        self.places[free] = FREE;
        self.taken -= 1;
        slot
    }

    /// Memory that a table with this number of pages takes at most, in bytes, together with `each`
    /// bytes that its owner keeps for each page. That is now, or when the table grew for the last
    /// time: then the places before and after existed, but there were fewer pages.
    pub fn memory_bytes(pages: u64, each: u64) -> u64 {
        let places = (2 * pages).next_power_of_two();
        let bytes = places * size_of::<Place>() as u64;
        let (now, grown) = (bytes + each * pages, bytes + bytes / 2 + each * (places / 4));
        now.max(grown)
    }

    /// Prefetches the place of a page.
    #[inline]
    pub fn prefetch(&self, lpn: Lpn) {
        prefetch(&self.places, self.home(lpn));
    }

    /// Where a page is or, if it is not in the table, would be.
    #[inline]
    fn search(&self, lpn: Lpn) -> usize {
        let mut at = self.home(lpn);
        while self.places[at].lpn != lpn && self.places[at].lpn != Lpn::NONE {
            at = self.after(at);
        }
        at
    }

    #[inline]
    fn home(&self, lpn: Lpn) -> usize {
        // Fibonacci hashing: the highest bits of the product depend on all bits of the number.
        let product = u64::from(lpn.0).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (product >> self.shift) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.places.len() - 1)
    }

    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.places.len() - 1)
    }

    fn grow(&mut self) {
        let twice = vec![FREE; 2 * self.places.len()];
        self.shift -= 1;
        let places = core::mem::replace(&mut self.places, twice);
        for place in places.into_iter().filter(|place| place.lpn != Lpn::NONE) {
            let at = self.search(place.lpn);
            self.places[at] = place;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn behaves_like_a_map() {
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut table, mut map) = (SlotTable::new(), HashMap::new());
        for step in 0..20_000 {
            let lpn = Lpn(rng.next_u32() % 200);
            match map.remove(&lpn) {
                Some(slot) => assert_eq!(table.remove(lpn), slot, "step {step}"),
                None => {
                    table.insert(lpn, step);
                    map.insert(lpn, step);
                }
            }
            let other = Lpn(rng.next_u32() % 200);
            assert_eq!(table.get(other), map.get(&other).copied(), "step {step}");
            assert_eq!(table.len() as usize, map.len());
        }
        assert!((0..200).map(Lpn).all(|lpn| table.get(lpn) == map.get(&lpn).copied()));
    }
}
