//! The bytes of a fuzzer, read as numbers and pieces. Behind the end there are zeroes.

/// The bytes that are still to be read.
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `length` bytes, or all that are left.
    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        piece
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn number(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }
}

/// Puts as much of `piece` at `at` as fits.
pub fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    let there = bytes.iter_mut().skip(at);
    there.zip(piece).for_each(|(byte, new)| *byte = *new);
}
