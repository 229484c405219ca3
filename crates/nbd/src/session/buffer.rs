//! Bytes on their way in and out of a connection.

/// Bytes that a buffer may keep without asking for memory.
pub const SMALL: usize = 64 << 10;

/// Bytes that came and were not taken yet. The buffer grows to hold one unit of the protocol, and
/// stays large until it is [shrunk](Input::shrink), so that a stream of large units needs no new
/// memory for each.
#[derive(Debug)]
pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    pub(super) fn new() -> Input {
        Input { bytes: Vec::new(), start: 0, end: 0 }
    }

    /// The bytes that came.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes bytes from the front.
    pub(super) fn take(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end, "only bytes that came can be taken");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Gives large memory back if nothing is in it.
    pub fn shrink(&mut self) {
        if self.end == 0 && self.bytes.len() > SMALL {
            self.bytes = Vec::new();
        }
    }

    /// The memory of the buffer beyond a small one that would hold `needed` bytes.
    pub fn extra_bytes(&self, needed: usize) -> usize {
        needed.max(self.bytes.len()).saturating_sub(SMALL)
    }

    /// Room for further bytes, so that a unit of `needed` bytes fits. Fewer have come.
    pub fn room(&mut self, needed: usize) -> &mut [u8] {
        let length = needed.max(SMALL);
        if self.bytes.len() < length {
            // Zeroed memory that is never touched takes none.
            let mut bytes = vec![0; length];
            bytes[..self.end - self.start].copy_from_slice(self.bytes());
            self.bytes = bytes;
        } else if self.start > 0 && self.bytes.len() - self.start < length {
            self.bytes.copy_within(self.start..self.end, 0);
        } else {
            return &mut self.bytes[self.end..];
        }
        (self.start, self.end) = (0, self.end - self.start);
        &mut self.bytes[self.end..]
    }

    /// Notes that bytes came into the room.
    pub fn came(&mut self, bytes: usize) {
        self.end += bytes;
        debug_assert!(self.end <= self.bytes.len(), "more bytes than there was room for");
    }
}

/// Bytes to be sent.
#[derive(Debug, Default)]
pub struct Output {
    /// All bytes since the buffer was last empty.
    pub bytes: Vec<u8>,
    sent: usize,
}

impl Output {
    /// The bytes that were not sent yet.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// Notes that bytes were sent.
    pub fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
        let unsent = self.bytes.len() - self.sent;
        if unsent == 0 {
            self.sent = 0;
            self.bytes.clear();
            if self.bytes.capacity() > 2 * SMALL {
                self.bytes = Vec::new();
            }
        } else if self.sent > SMALL.max(unsent) {
            // At least as much was sent as is moved now.
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_as_they_came() {
        let mut input = Input::new();
        let (mut sent, mut taken) = (0_u32, 0_u32);
        for round in 0..2000_usize {
            let unit = if round % 97 == 0 { 3 * SMALL } else { 28 };
            let needed = unit.max(input.bytes().len() + 1);
            let room = input.room(needed);
            let bytes = room.len().min(1 + round * 37 % 9000);
            assert!(bytes > 0, "a unit of {needed} bytes has no room");
            for byte in &mut room[..bytes] {
                *byte = sent as u8;
                sent += 1;
            }
            input.came(bytes);
            let take = input.bytes().len().min(round * 53 % 9500);
            for byte in &input.bytes()[..take] {
                assert_eq!(*byte, taken as u8);
                taken += 1;
            }
            input.take(take);
        }
        assert!(sent > 1_000_000);
    }
}
