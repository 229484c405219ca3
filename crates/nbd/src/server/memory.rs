//! One budget of memory for the payloads of all connections.
//!
//! Every connection has small buffers of its own, which are not counted. Only what a payload needs
//! beyond them comes from the budget, so small requests never wait.

use std::collections::VecDeque;

/// The budget.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: usize,
    /// Connections that wait for memory, in the order in which they came.
    waiting: VecDeque<u64>,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Budget {
        Budget { limit, used: 0, waiting: VecDeque::new() }
    }

    /// Lets a connection that has `reserved` bytes have `wanted`. If there is no room, the
    /// connection waits for its turn.
    pub fn reserve(&mut self, session: u64, reserved: &mut usize, wanted: usize) -> bool {
        if wanted <= *reserved {
            return true;
        }
        let is_its_turn = self.waiting.front().is_none_or(|first| *first == session);
        let more = wanted - *reserved;
        if is_its_turn && self.used + more <= self.limit {
            self.used += more;
            *reserved = wanted;
            self.waiting.retain(|waiting| *waiting != session);
            return true;
        }
        if !self.waiting.contains(&session) {
            self.waiting.push_back(session);
        }
        false
    }

    /// A connection that had `reserved` bytes needs only `needed`. Returns who may try again.
    pub fn release(&mut self, reserved: &mut usize, needed: usize) -> Option<u64> {
        if *reserved <= needed {
            return None;
        }
        self.used -= *reserved - needed;
        *reserved = needed;
        self.first_waiting()
    }

    /// A connection that had `reserved` bytes ended. Returns who may try again.
    pub fn leave(&mut self, session: u64, reserved: usize) -> Option<u64> {
        self.used -= reserved;
        self.waiting.retain(|waiting| *waiting != session);
        self.first_waiting()
    }

    /// A connection cannot use memory now and waits no longer. It asks again when it can. Returns
    /// who may try instead, if that changes.
    pub fn give_up(&mut self, session: u64) -> Option<u64> {
        let was_first = self.first_waiting() == Some(session);
        self.waiting.retain(|waiting| *waiting != session);
        self.first_waiting().filter(|_| was_first)
    }

    /// Who may try to get memory first.
    pub fn first_waiting(&self) -> Option<u64> {
        self.waiting.front().copied()
    }

    /// Whether there are this many more bytes, and nobody waits for them.
    pub fn has(&self, more: usize) -> bool {
        self.waiting.is_empty() && self.used + more <= self.limit
    }

    /// Whether somebody waits.
    pub fn is_short(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_came_first_gets_the_memory_first() {
        let mut budget = Budget::new(100);
        let (mut one, mut two, mut three) = (0, 0, 0);
        assert!(budget.reserve(1, &mut one, 80));
        assert!(!budget.reserve(2, &mut two, 50));
        assert!(!budget.reserve(3, &mut three, 10), "two came first");
        assert_eq!(budget.release(&mut one, 60), Some(2));
        assert!(!budget.reserve(2, &mut two, 50), "40 bytes are left");
        assert_eq!(budget.leave(1, one), Some(2));
        assert!(budget.reserve(2, &mut two, 50));
        assert!(budget.reserve(3, &mut three, 10));
        assert!(!budget.is_short());
        assert_eq!((two, three), (50, 10));
    }
}
