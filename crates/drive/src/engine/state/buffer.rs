//! The drive's buffer for writes.

use std::collections::VecDeque;

/// Room for pages, and the requests that wait for it.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Pages that fit.
    room: u64,
    used: u64,
    /// Pages in the buffer whose programs wait for the rest of their row.
    pub in_open_rows: u64,
    /// Requests that need room, in the order of issue. They get it in this order, although they
    /// may enter in another one: pages of a block are programmed in the order of issue, and would
    /// wait for each other for ever.
    waiting: VecDeque<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: u32,
    pages: u64,
    has_entered: bool,
}

impl Buffer {
    pub fn new(room: u64) -> Buffer {
        Buffer { room: room.max(1), used: 0, in_open_rows: 0, waiting: VecDeque::new() }
    }

    /// A request will need room for its pages when it has entered.
    pub fn expect(&mut self, request: u32, pages: u64) {
        self.waiting.push_back(Waiting { request, pages, has_entered: false });
    }

    /// A request has entered and needs its room.
    pub fn enter(&mut self, request: u32) {
        let mut latest_first = self.waiting.iter_mut().rev();
        let waiting = latest_first.find(|waiting| waiting.request == request);
        waiting.expect("a request is expected before it enters").has_entered = true;
    }

    /// The next request that finds room now. A request that is larger than the buffer finds room
    /// when the buffer is empty.
    pub fn admit(&mut self) -> Option<u32> {
        let &Waiting { request, pages, has_entered } = self.waiting.front()?;
        if !has_entered || (self.used > 0 && self.used + pages > self.room) {
            return None;
        }
        self.waiting.pop_front();
        self.used += pages;
        Some(request)
    }

    /// A page has been programmed.
    pub fn leave(&mut self) {
        self.used -= 1;
    }

    /// The pages in the buffer.
    pub fn pages(&self) -> u64 {
        self.used
    }

    /// Whether requests wait for pages that leave only when open rows are programmed.
    pub fn is_stuck(&self) -> bool {
        let waits = self.waiting.front().is_some_and(|first| first.has_entered);
        waits && self.in_open_rows == self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_admitted_in_order_while_their_pages_fit() {
        let mut buffer = Buffer::new(5);
        for (request, pages) in [(1, 2), (2, 3), (3, 1), (4, 9)] {
            buffer.expect(request, pages);
        }
        assert_eq!(buffer.admit(), None, "none has entered");
        (1..=4).for_each(|request| buffer.enter(request));
        assert_eq!((buffer.admit(), buffer.admit(), buffer.pages()), (Some(1), Some(2), 5));
        assert_eq!(buffer.admit(), None, "it is full");
        buffer.leave();
        assert_eq!((buffer.admit(), buffer.admit()), (Some(3), None));
        (0..5).for_each(|_| buffer.leave());
        assert_eq!((buffer.admit(), buffer.pages()), (Some(4), 9), "an empty one takes any");
    }
}
