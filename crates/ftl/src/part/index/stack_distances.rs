//! Stack distances: how many other pages were used since a page was used last (Mattson et al.
//! 1970).
//!
//! ```text
//! used, in order       3  9  7  9  5  3
//! place of last use          7  9  5  3         a place is vacated when its page is used again
//! distance of 3                       3         9, 7 and 5 lie behind its former place
//! ```
//! A cache that keeps the most recently used pages serves a use exactly if it has room for more
//! pages than the distance. So one pass tells the misses of every size of the cache.
//!
//! A tree of counts (Fenwick 1994) finds the number of pages behind a place in logarithmic time.
//! There are twice as many places as pages. When the last one is taken, the pages move together.
//!
//! **Writes that dirty an entry anew.** A cache of map entries writes an entry to flash when the
//! entry leaves it dirty. So a write costs nothing if its entry is still dirty, that is, if the
//! entry stayed in the cache since the last *write* of its page. Reads in between may have kept it
//! there. The cache needs room for more pages than the greatest distance of all uses since then.

use nand::Lpn;

use crate::contract::{Violation, ensure};
use crate::part::index::slot_table::SlotTable;

/// Distances of the most recently used pages.
#[derive(Clone, Debug)]
pub struct StackDistances {
    place_of: SlotTable,
    places: Vec<Place>,
    /// Fenwick tree over the places: how many are taken.
    taken: Vec<u32>,
    /// The first place that is still free. All places behind it are free.
    next: u32,
    /// No place before this one is taken.
    oldest: u32,
    pages_max: u32,
}

/// A page at the place of its last use.
#[derive(Clone, Copy, Debug)]
struct Place {
    lpn: Lpn,
    /// The greatest distance since its last write.
    since_write: u32,
}

const FREE: Place = Place { lpn: Lpn::NONE, since_write: 0 };

/// How far a use lies behind earlier ones, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distance {
    /// Other pages used since the last use.
    pub use_: u32,
    /// The greatest distance of this use and of all others since the last write.
    pub since_write: u32,
}

impl StackDistances {
    /// No page was used yet. At most `pages_max` pages are remembered, those used last.
    pub fn new(pages_max: u32) -> StackDistances {
        let places = 2 * pages_max.max(1) as usize;
        StackDistances {
            place_of: SlotTable::new(),
            places: vec![FREE; places],
            taken: vec![0; places],
            next: 0,
            oldest: 0,
            pages_max,
        }
    }

    /// The distance of a use of this page now; none if the page is not remembered.
    pub fn distance(&self, lpn: Lpn) -> Option<Distance> {
        let place = self.place_of.get(lpn)?;
        let use_ = self.place_of.len() - self.taken_up_to(place);
        let since_write = self.places[place as usize].since_write.max(use_);
        Some(Distance { use_, since_write })
    }

    /// Records a read. Returns its distance.
    pub fn read(&mut self, lpn: Lpn) -> Option<Distance> {
        let distance = self.distance(lpn);
        // A page that is not remembered is like one that was written very long ago.
        self.put_last(lpn, distance.map_or(u32::MAX, |distance| distance.since_write));
        distance
    }

    /// Records a write. Returns its distance.
    pub fn write(&mut self, lpn: Lpn) -> Option<Distance> {
        let distance = self.distance(lpn);
        self.put_last(lpn, 0);
        distance
    }

    /// Forgets a page.
    pub fn forget(&mut self, lpn: Lpn) {
        if let Some(place) = self.place_of.get(lpn) {
            self.place_of.remove(lpn);
            self.vacate(place);
        }
    }

    /// Forgets all pages.
    pub fn clear(&mut self) {
        *self = StackDistances::new(self.pages_max);
    }

    fn put_last(&mut self, lpn: Lpn, since_write: u32) {
        if self.next as usize == self.places.len() {
            self.move_together();
        }
        match self.place_of.get(lpn) {
            Some(place) => {
                self.vacate(place);
                self.place_of.change(lpn, self.next);
            }
            None => self.place_of.insert(lpn, self.next),
        }
        self.places[self.next as usize] = Place { lpn, since_write };
        self.add(self.next, 1);
        self.next += 1;
        if self.place_of.len() > self.pages_max {
            self.forget_oldest();
        }
    }

    fn vacate(&mut self, place: u32) {
        self.places[place as usize] = FREE;
        self.add(place, -1);
    }

    fn forget_oldest(&mut self) {
        while self.places[self.oldest as usize].lpn == Lpn::NONE {
            self.oldest += 1;
        }
        self.forget(self.places[self.oldest as usize].lpn);
    }

    /// Moves all pages to the first places, in order.
    fn move_together(&mut self) {
        let mut next = 0;
        for from in 0..self.places.len() {
            let place = core::mem::replace(&mut self.places[from], FREE);
            if place.lpn != Lpn::NONE {
                self.place_of.change(place.lpn, next);
                self.places[next as usize] = place;
                next += 1;
            }
        }
        (self.next, self.oldest) = (next, 0);
        self.taken.fill(0);
        (0..next).for_each(|place| self.add(place, 1));
    }

    // ---- The tree of counts -------------------------------------------------------------------

    fn add(&mut self, place: u32, change: i32) {
        let mut at = place as usize;
        while let Some(count) = self.taken.get_mut(at) {
            *count = count.wrapping_add_signed(change);
            at |= at + 1;
        }
    }

    /// Number of taken places up to this one, which is included.
    fn taken_up_to(&self, place: u32) -> u32 {
        let (mut sum, mut end) = (0, place as usize + 1);
        while end > 0 {
            sum += self.taken[end - 1];
            end &= end - 1;
        }
        sum
    }

    /// Bytes of RAM.
    pub fn bytes(&self) -> u64 {
        let places = size_of_val(self.places.as_slice()) + size_of_val(self.taken.as_slice());
        places as u64 + self.place_of.bytes()
    }

    /// Checks that places, tree and table agree.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        let mut found = 0;
        for (place, Place { lpn, .. }) in (0..).zip(&self.places) {
            if *lpn != Lpn::NONE {
                found += 1;
                let known = self.place_of.get(*lpn);
                ensure!(known == Some(place), "{lpn:?} is at place {place}, not at {known:?}");
            }
            let counted = self.taken_up_to(place);
            ensure!(counted == found, "{found} places up to {place} are taken, not {counted}");
        }
        let (known, most) = (self.place_of.len(), self.pages_max);
        ensure!(known == found, "{found} pages have a place, but {known} are in the table");
        ensure!(found <= most, "{found} pages are remembered, at most {most}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn use_of(distances: &mut StackDistances, lpn: u32) -> Option<u32> {
        distances.read(Lpn(lpn)).map(|distance| distance.use_)
    }

    #[test]
    fn the_distance_is_the_number_of_other_pages_used_since() {
        let mut distances = StackDistances::new(8);
        let found = [3, 9, 7, 9, 5, 3, 3].map(|lpn| use_of(&mut distances, lpn));
        assert_eq!(found, [None, None, None, Some(1), None, Some(3), Some(0)]);
    }

    #[test]
    fn a_loop_over_n_pages_misses_every_cache_of_fewer() {
        let mut distances = StackDistances::new(10);
        (0..7).for_each(|lpn| assert_eq!(use_of(&mut distances, lpn), None));
        for round in 0..20 {
            (0..7).for_each(|lpn| assert_eq!(use_of(&mut distances, lpn), Some(6), "{round}"));
        }
        distances.audit().unwrap();
    }

    #[test]
    fn a_write_looks_back_to_the_last_write() {
        let mut distances = StackDistances::new(8);
        distances.write(Lpn(1));
        [2, 3, 4].into_iter().for_each(|lpn| assert_eq!(distances.read(Lpn(lpn)), None));
        assert_eq!(distances.read(Lpn(1)), Some(Distance { use_: 3, since_write: 3 }));
        assert_eq!(distances.write(Lpn(1)), Some(Distance { use_: 0, since_write: 3 }));
        assert_eq!(distances.write(Lpn(1)), Some(Distance { use_: 0, since_write: 0 }));
        // A page that was only read is clean in a cache of any size.
        assert_eq!(distances.write(Lpn(2)), Some(Distance { use_: 3, since_write: u32::MAX }));
    }

    /// The stack as a list of pages, the last used one at the end, each with its depth.
    #[derive(Default)]
    struct Naive(Vec<(u32, u32)>);

    impl Naive {
        fn touch(&mut self, lpn: u32, writes: bool, most: usize) -> Option<Distance> {
            let at = self.0.iter().position(|page| page.0 == lpn);
            let found = at.map(|at| {
                let use_ = (self.0.len() - 1 - at) as u32;
                Distance { use_, since_write: self.0.remove(at).1.max(use_) }
            });
            let since = found.map_or(u32::MAX, |found| found.since_write);
            self.0.push((lpn, if writes { 0 } else { since }));
            let surplus = self.0.len().saturating_sub(most);
            self.0.drain(..surplus);
            found
        }
    }

    #[test]
    fn distances_are_those_of_a_list() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for most in [0, 1, 2, 13, 40] {
            let (mut distances, mut naive) = (StackDistances::new(most), Naive::default());
            for step in 0..4000 {
                let (lpn, what) = (rng.next_u32() % 30, rng.next_u32() % 32);
                let (found, expected) = match what {
                    0 => {
                        distances.forget(Lpn(lpn));
                        naive.0.retain(|page| page.0 != lpn);
                        (None, None)
                    }
                    1 if step % 10 == 0 => {
                        distances.clear();
                        naive.0.clear();
                        (None, None)
                    }
                    2..12 => (distances.write(Lpn(lpn)), naive.touch(lpn, true, most as usize)),
                    _ => (distances.read(Lpn(lpn)), naive.touch(lpn, false, most as usize)),
                };
                assert_eq!(found, expected, "at most {most} pages, step {step}");
            }
            distances.audit().unwrap();
        }
    }
}
