//! Things that come and go, each with a number.

use core::fmt;
use core::ops::{Index, IndexMut};

use slab::Slab;

/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// A slab whose numbers have 32 bits, because operations keep many of them.
pub(crate) struct Pool<T>(Slab<T>);

impl<T> Pool<T> {
    pub fn new() -> Pool<T> {
        Pool(Slab::new())
    }

    #[inline(always)]
    pub fn insert(&mut self, item: T) -> u32 {
        let number = u32::try_from(self.0.insert(item)).unwrap_or(NONE);
        assert!(number != NONE, "more than 2^32 things at once");
        number
    }

    #[inline(always)]
    pub fn remove(&mut self, number: u32) -> T {
        self.0.remove(number as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, item)| item)
    }
}

impl<T> Index<u32> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.0[number as usize]
    }
}

impl<T> IndexMut<u32> for Pool<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize]
    }
}

impl<T: fmt::Debug> fmt::Debug for Pool<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
