//! Bytes on their way in or out of a connection.
//!
//! A buffer grows to hold one large unit of the protocol, and stays large until it is shrunk. So a
//! stream of large units needs no new memory for each, and no zeroes in it.

/// Bytes that a buffer may keep without asking for memory.
pub const SMALL: usize = 64 << 10;

/// Bytes that came and were not taken yet, or that were put and were not sent yet.
#[derive(Debug, Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    /// The bytes in it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Drops bytes from the front: they were understood, or sent.
    pub fn take(&mut self, bytes: usize) {
        self.start += bytes;
        debug_assert!(self.start <= self.end, "only bytes that are there can be taken");
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Leaves the first `bytes` bytes.
    pub fn truncate(&mut self, bytes: usize) {
        self.end = self.end.min(self.start + bytes);
        self.take(0);
    }

    /// Gives memory back if it is more than `kept` bytes and nothing is in it.
    pub fn shrink(&mut self, kept: usize) {
        if self.end == 0 && self.bytes.len() > kept.max(SMALL) {
            self.bytes = Vec::new();
        }
    }

    /// Room for further bytes, so that a unit of `needed` bytes fits. Fewer have come.
    pub fn room(&mut self, needed: usize) -> &mut [u8] {
        let length = needed.max(SMALL);
        if self.bytes.len() - self.start < length {
            self.move_to_front(length);
        }
        self.rest_of_room()
    }

    /// The room that is left.
    pub fn rest_of_room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.end..]
    }

    /// Notes that bytes came into the room.
    pub fn came(&mut self, bytes: usize) {
        self.end += bytes;
        debug_assert!(self.end <= self.bytes.len(), "more bytes than there was room for");
    }

    /// Appends bytes.
    pub fn put(&mut self, bytes: &[u8]) {
        self.append(bytes.len()).copy_from_slice(bytes);
    }

    /// Appends `bytes` bytes of any contents, to be replaced.
    pub fn append(&mut self, bytes: usize) -> &mut [u8] {
        if self.bytes.len() - self.end < bytes {
            self.move_to_front(self.memory_with(bytes));
        }
        let start = self.end;
        self.end += bytes;
        &mut self.bytes[start..self.end]
    }

    /// Moves the bytes to the front of at least `length` bytes.
    fn move_to_front(&mut self, length: usize) {
        let held = self.bytes().len();
        if self.bytes.len() < length {
            // Zeroed memory that is never touched takes none.
            let mut grown = vec![0; length];
            grown[..held].copy_from_slice(self.bytes());
            self.bytes = grown;
        } else {
            self.bytes.copy_within(self.start..self.end, 0);
        }
        (self.start, self.end) = (0, held);
    }

    /// The memory beyond a small buffer if there is [room](Self::room) for `needed` bytes.
    pub fn extra_bytes(&self, needed: usize) -> usize {
        needed.max(self.bytes.len()).saturating_sub(SMALL)
    }

    /// The memory once `more` bytes are appended.
    pub fn memory_with(&self, more: usize) -> usize {
        let needed = self.bytes().len() + more;
        match needed > self.bytes.len() {
            true => needed + SMALL.min(needed / 2),
            false => self.bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_as_they_came() {
        let mut input = Buffer::default();
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

    #[test]
    fn bytes_are_sent_as_they_were_put() {
        let mut output = Buffer::default();
        let (mut put, mut sent) = (0_u32, 0_u32);
        for round in 0..3000_usize {
            let bytes = if round % 97 == 0 { 3 * SMALL } else { 1 + round * 37 % 9000 };
            let before = output.bytes().len();
            let memory = output.memory_with(bytes);
            for byte in output.append(bytes) {
                *byte = put as u8;
                put += 1;
            }
            assert_eq!(output.memory_with(0), memory, "{bytes} after {before}");
            if round % 5 == 0 {
                output.put(&[1, 2, 3]);
                output.truncate(before + bytes);
            }
            let goes = output.bytes().len().min(round * 53 % 9500 + round % 97 * 100);
            for byte in &output.bytes()[..goes] {
                assert_eq!(*byte, sent as u8);
                sent += 1;
            }
            output.take(goes);
            output.shrink(if round % 2 == 0 { 0 } else { usize::MAX });
        }
        assert!(sent > 1_000_000);
    }
}
