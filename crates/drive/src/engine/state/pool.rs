//! Things that come and go, each with a number.

use core::ops::{Index, IndexMut};

/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// Numbered items. The numbers of removed items are given again.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    items: Vec<T>,
    /// What new items are before they are set.
    blank: T,
    free: Vec<u32>,
    /// Whether each item is in use; only debug builds know.
    is_used: Vec<bool>,
}

impl<T: Copy> Pool<T> {
    pub fn new(blank: T) -> Pool<T> {
        Pool { items: Vec::new(), blank, free: Vec::new(), is_used: Vec::new() }
    }

    /// Adds an item. The list grows before the item is written, so the item needs no copy.
    #[inline(always)]
    pub fn insert(&mut self, item: T) -> u32 {
        let number = match self.free.pop() {
            Some(number) => number,
            None => self.grow(),
        };
        self.items[number as usize] = item;
        if cfg!(debug_assertions) {
            self.is_used.resize(self.items.len(), false);
            self.is_used[number as usize] = true;
        }
        number
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let number = self.items.len() as u32;
        assert!(number != NONE, "more than 2^32 things at once");
        self.items.push(self.blank);
        number
    }

    #[inline(always)]
    pub fn remove(&mut self, number: u32) {
        self.assert_used(number);
        if cfg!(debug_assertions) {
            self.is_used[number as usize] = false;
        }
        self.free.push(number);
    }

    /// The number of items in use.
    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Pool<T> {
    #[inline(always)]
    fn assert_used(&self, number: u32) {
        debug_assert!(self.is_used[number as usize], "number {number} is not in use");
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        self.assert_used(number);
        &self.items[number as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        self.assert_used(number);
        &mut self.items[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_again() {
        let mut pool = Pool::new(0);
        assert!(pool.is_empty());
        let [first, second] = [7, 8].map(|item| pool.insert(item));
        assert_eq!((pool.len(), pool[first], pool[second]), (2, 7, 8));
        pool.remove(first);
        assert_eq!((pool.len(), pool.is_empty(), pool.insert(9)), (1, false, first));
    }

    #[test]
    #[should_panic(expected = "number 0 is not in use")]
    fn a_number_that_was_given_back_is_not_used() {
        let mut pool = Pool::new(0);
        let number = pool.insert(7);
        pool.remove(number);
        let _ = pool[number];
    }
}
