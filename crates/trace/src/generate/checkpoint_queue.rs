//! The dirty pages of a buffer, written back in the order in which they became dirty.
//!
//! ```text
//! changes 5 3 5 9        queue   5 3 9 ──▶ written back: 5        the second change of 5 is free
//! ```
//!
//! Databases work like this: a checkpoint has to follow the log, so the page with the oldest change
//! is written first. A page that is changed all the time is therefore written once each time the
//! queue has moved on by its whole length.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

/// Dirty pages by age.
pub(crate) struct CheckpointQueue {
    oldest_first: VecDeque<u64>,
    dirty: FxHashSet<u64>,
    pages_max: u64,
}

impl CheckpointQueue {
    /// An empty queue that lets up to `pages_max` pages wait.
    pub(crate) fn new(pages_max: u64) -> CheckpointQueue {
        let (oldest_first, dirty) = (VecDeque::new(), FxHashSet::default());
        CheckpointQueue { oldest_first, dirty, pages_max }
    }

    /// Notes the change of a page.
    #[inline]
    pub(crate) fn change(&mut self, page: u64) {
        if self.dirty.insert(page) {
            self.oldest_first.push_back(page);
        }
    }

    /// The page to be written back next, once more pages wait than may.
    #[inline]
    pub(crate) fn write_back(&mut self) -> Option<u64> {
        if self.oldest_first.len() as u64 <= self.pages_max {
            return None;
        }
        let page = self.oldest_first.pop_front()?;
        self.dirty.remove(&page);
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_leave_in_the_order_of_their_first_change() {
        let mut queue = CheckpointQueue::new(2);
        [5, 3, 5, 9].into_iter().for_each(|page| queue.change(page));
        assert_eq!(queue.write_back(), Some(5));
        assert_eq!(queue.write_back(), None, "two pages may wait");
        [5, 3].into_iter().for_each(|page| queue.change(page));
        assert_eq!(queue.write_back(), Some(3), "a page that waits keeps its place");
        [3, 9].into_iter().for_each(|page| queue.change(page));
        assert_eq!((queue.write_back(), queue.write_back()), (Some(9), None));
    }

    #[test]
    fn without_a_buffer_every_change_is_written() {
        let mut queue = CheckpointQueue::new(0);
        for page in [7, 7, 1] {
            queue.change(page);
            assert_eq!((queue.write_back(), queue.write_back()), (Some(page), None));
        }
    }
}
