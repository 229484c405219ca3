//! First come, first served.

/// A queue: a vector of which the first items have been taken. They are dropped when they are half
/// of it, which is cheaper than a ring whose places must be computed.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    items: Vec<T>,
    /// Items that have been taken.
    taken: usize,
}

/// Fewer taken items are not worth moving the others.
const TAKEN_MIN: usize = 128;

impl<T: Copy> Fifo<T> {
    pub const EMPTY: Fifo<T> = Fifo { items: Vec::new(), taken: 0 };

    #[inline(always)]
    pub fn push(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    /// The item that came last, if it waits.
    #[inline(always)]
    pub fn last(&self) -> Option<&T> {
        if self.is_empty() { None } else { self.items.last() }
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.taken += 1;
        if self.taken >= TAKEN_MIN && 2 * self.taken >= self.items.len() {
            self.items.drain(..self.taken);
            self.taken = 0;
        }
        Some(item)
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.items.len() == self.taken
    }

    /// The items that wait, the first one in front.
    #[inline(always)]
    pub fn waiting(&mut self) -> &mut [T] {
        &mut self.items[self.taken..]
    }

    /// Removes the waiting item at this position.
    pub fn remove(&mut self, position: usize) -> T {
        self.items.remove(self.taken + position)
    }
}

impl<T: Copy> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_taken_items_are_given_back() {
        let mut fifo = Fifo::EMPTY;
        (0..3).for_each(|item| fifo.push(item));
        for item in 0..5000 {
            assert_eq!(fifo.pop(), Some(item));
            fifo.push(item + 3);
            assert_eq!((fifo.front(), fifo.last()), (Some(&(item + 1)), Some(&(item + 3))));
            assert!(fifo.items.len() <= 2 * TAKEN_MIN, "{} places", fifo.items.len());
        }
    }
}
