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
    waiting: VecDeque<(u32, u64)>,
}

impl Buffer {
    pub fn new(room: u64) -> Buffer {
        Buffer { room: room.max(1), used: 0, in_open_rows: 0, waiting: VecDeque::new() }
    }

    /// Lets a request wait for room for its pages.
    pub fn wait(&mut self, request: u32, pages: u64) {
        self.waiting.push_back((request, pages));
    }

    /// The next request that finds room now. A request that is larger than the buffer finds room
    /// when the buffer is empty.
    pub fn admit(&mut self) -> Option<u32> {
        let &(request, pages) = self.waiting.front()?;
        if self.used > 0 && self.used + pages > self.room {
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
        !self.waiting.is_empty() && self.in_open_rows == self.used
    }
}
