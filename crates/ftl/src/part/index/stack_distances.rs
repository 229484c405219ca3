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
//! **Ages.** Each use is marked with a time. So it is known when the oldest page in a cache of any
//! size was used last: whatever was used before that has left.

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
    /// The time that uses are marked with. The caller advances it, in steps of any length.
    pub now: u32,
}

/// A page at the place of its last use.
#[derive(Clone, Copy, Debug)]
struct Place {
    lpn: Lpn,
    /// The time of its last use.
    used: u32,
}

const FREE: Place = Place { lpn: Lpn::NONE, used: 0 };

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
            now: 1,
        }
    }

    /// The distance of a use of this page now: how many others were used since its last use. None
    /// if the page is not remembered.
    pub fn distance(&self, lpn: Lpn) -> Option<u32> {
        let place = self.place_of.get(lpn)?;
        Some(self.place_of.len() - self.taken_up_to(place))
    }

    /// Records a use. Returns its distance.
    pub fn touch(&mut self, lpn: Lpn) -> Option<u32> {
        let distance = self.distance(lpn);
        self.put_last(lpn);
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
        let now = self.now;
        *self = StackDistances { now, ..StackDistances::new(self.pages_max) };
    }

    /// The last use of the page that was used longest ago in a cache of `cached` pages; 0 if the
    /// cache is not full.
    pub fn oldest_use(&self, cached: u32) -> u32 {
        match self.place_of.len().checked_sub(cached) {
            Some(0) | None => 0,
            Some(_) if cached == 0 => self.now,
            Some(others) => self.places[self.place_behind(others) as usize].used,
        }
    }

    fn put_last(&mut self, lpn: Lpn) {
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
        self.places[self.next as usize] = Place { lpn, used: self.now };
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

    /// The first taken place behind `others` other taken places.
    fn place_behind(&self, others: u32) -> u32 {
        let (mut end, mut left) = (0, others);
        let mut step = self.taken.len().next_power_of_two();
        while step > 0 {
            let next = end + step;
            if next <= self.taken.len() && self.taken[next - 1] <= left {
                left -= self.taken[next - 1];
                end = next;
            }
            step /= 2;
        }
        end as u32
    }

    /// Memory for at most `pages_max` of `logical_pages` pages.
    pub fn memory_bytes(pages_max: u64, logical_pages: u64) -> u64 {
        let places = 2 * pages_max.max(1) * (size_of::<Place>() + size_of::<u32>()) as u64;
        places + SlotTable::memory_bytes(pages_max.min(logical_pages), 0)
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

    #[test]
    fn the_distance_is_the_number_of_other_pages_used_since() {
        let mut distances = StackDistances::new(8);
        let found = [3, 9, 7, 9, 5, 3, 3].map(|lpn| distances.touch(Lpn(lpn)));
        assert_eq!(found, [None, None, None, Some(1), None, Some(3), Some(0)]);
    }

    #[test]
    fn a_loop_over_n_pages_misses_every_cache_of_fewer() {
        let mut distances = StackDistances::new(10);
        (0..7).for_each(|lpn| assert_eq!(distances.touch(Lpn(lpn)), None));
        for round in 0..20 {
            (0..7).for_each(|lpn| assert_eq!(distances.touch(Lpn(lpn)), Some(6), "{round}"));
        }
        distances.audit().unwrap();
    }

    #[test]
    fn the_oldest_use_in_a_cache_tells_what_has_left_it() {
        let mut distances = StackDistances::new(8);
        for lpn in [3, 9, 7, 9, 5] {
            distances.now += 10;
            distances.touch(Lpn(lpn));
        }
        // 3 was used at 11, 7 at 31, 9 at 41 and 5 at 51.
        let found = [0, 1, 2, 3, 4, 5].map(|cached| distances.oldest_use(cached));
        assert_eq!(found, [51, 51, 41, 31, 0, 0], "4 pages need no more room");
    }

    /// The stack as a list of pages with the times of their last use, the last used one at the end.
    #[derive(Default)]
    struct Naive(Vec<(u32, u32)>);

    impl Naive {
        fn touch(&mut self, lpn: u32, now: u32, most: usize) -> Option<u32> {
            let at = self.0.iter().position(|page| page.0 == lpn);
            let found = at.map(|at| (self.0.len() - 1 - at) as u32);
            at.map(|at| self.0.remove(at));
            self.0.push((lpn, now));
            let surplus = self.0.len().saturating_sub(most);
            self.0.drain(..surplus);
            found
        }

        fn oldest_use(&self, cached: usize) -> u32 {
            match self.0.len() {
                len if len <= cached => 0,
                len => self.0[len - cached].1,
            }
        }
    }

    #[test]
    fn distances_and_ages_are_those_of_a_list() {
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
                    _ => {
                        (distances.touch(Lpn(lpn)), naive.touch(lpn, distances.now, most as usize))
                    }
                };
                assert_eq!(found, expected, "at most {most} pages, step {step}");
                let cached = 1 + rng.next_u32() % 30;
                let ages = (distances.oldest_use(cached), naive.oldest_use(cached as usize));
                assert_eq!(ages.0, ages.1, "{cached} of at most {most} pages, step {step}");
                distances.now += rng.next_u32() % 2;
            }
            distances.audit().unwrap();
        }
    }
}
