//! The places of a queue: each request takes the lowest one that is free.

use core::cmp::Reverse;
use std::collections::BinaryHeap;

/// Places, numbered from 0.
#[derive(Debug, Default)]
pub struct Slots {
    /// Those that were taken and are free again.
    free: BinaryHeap<Reverse<u32>>,
    /// The lowest one that was never taken.
    next: u32,
}

impl Slots {
    /// Takes the lowest free place.
    pub fn take(&mut self) -> u32 {
        match self.free.pop() {
            Some(Reverse(slot)) => slot,
            None => {
                self.next += 1;
                self.next - 1
            }
        }
    }

    /// Gives a place back.
    pub fn give_back(&mut self, slot: u32) {
        self.free.push(Reverse(slot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_place_is_taken() {
        let mut slots = Slots::default();
        assert_eq!([(); 3].map(|()| slots.take()), [0, 1, 2]);
        slots.give_back(1);
        slots.give_back(0);
        assert_eq!([(); 3].map(|()| slots.take()), [0, 1, 3]);
    }
}
