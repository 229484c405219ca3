//! The bytes of a disk in memory. Copies share the blocks that neither has changed.

use std::ops::Range;
use std::sync::Arc;

/// Bytes of a block.
pub(super) const BLOCK: usize = 4096;

/// A row of bytes that is cheap to copy. A block that was never written is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedBytes {
    length: usize,
    blocks: Vec<Option<Arc<[u8; BLOCK]>>>,
}

impl SharedBytes {
    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.length];
        self.read(&mut bytes, 0);
        bytes
    }

    /// Extends the row with zeroes, or truncates it.
    pub fn resize(&mut self, length: usize) {
        self.blocks.resize(length.div_ceil(BLOCK), None);
        if !length.is_multiple_of(BLOCK)
            && let Some(Some(last)) = self.blocks.last_mut()
        {
            Arc::make_mut(last)[length % BLOCK..].fill(0);
        }
        self.length = length;
    }

    /// Fills `bytes` from `offset` on. They must exist.
    pub fn read(&self, bytes: &mut [u8], offset: usize) {
        for (block, inside, part) in parts(offset, bytes.len()) {
            match &self.blocks[block] {
                Some(block) => bytes[part].copy_from_slice(&block[inside]),
                None => bytes[part].fill(0),
            }
        }
    }

    /// Writes `bytes` at `offset`. The place must exist.
    pub fn write(&mut self, bytes: &[u8], offset: usize) {
        for (block, inside, part) in parts(offset, bytes.len()) {
            let block = self.blocks[block].get_or_insert_with(|| Arc::new([0; BLOCK]));
            Arc::make_mut(block)[inside].copy_from_slice(&bytes[part]);
        }
    }

    /// Whether these bytes are at `offset`.
    pub fn has(&self, bytes: &[u8], offset: usize) -> bool {
        parts(offset, bytes.len()).all(|(block, inside, part)| match &self.blocks[block] {
            Some(block) => block[inside] == bytes[part],
            None => bytes[part].iter().all(|byte| *byte == 0),
        })
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> SharedBytes {
        let mut shared = SharedBytes::default();
        shared.resize(bytes.len());
        shared.write(&bytes, 0);
        shared
    }
}

/// The blocks that a range touches, with the range inside of each and its part of the whole.
pub(super) fn parts(
    offset: usize,
    bytes: usize,
) -> impl Iterator<Item = (usize, Range<usize>, Range<usize>)> {
    let end = offset + bytes;
    let blocks = if bytes > 0 { offset / BLOCK..end.div_ceil(BLOCK) } else { 0..0 };
    blocks.map(move |block| {
        let (from, to) = (offset.max(block * BLOCK), end.min((block + 1) * BLOCK));
        (block, from - block * BLOCK..to - block * BLOCK, from - offset..to - offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bytes_are_in_no_block() {
        let mut bytes = SharedBytes::from(vec![7; BLOCK - 9]);
        bytes.write(&[], 5 * BLOCK + 1);
        bytes.read(&mut [], BLOCK - 9);
        assert_eq!(bytes.to_vec(), vec![7; BLOCK - 9]);
    }

    #[test]
    fn copies_share_nothing_that_was_changed() {
        let mut one = SharedBytes::from(vec![7; 3 * BLOCK - 9]);
        let other = one.clone();
        one.write(&[1; BLOCK], BLOCK / 2);
        assert_eq!(other.to_vec(), [7; 3 * BLOCK - 9]);
        assert!(one.has(&[1; BLOCK], BLOCK / 2));
        assert!(one.has(&[7; 2], 0) && one.has(&[7, 7], 2 * BLOCK));
        one.resize(BLOCK + 1);
        one.resize(2 * BLOCK);
        assert!(one.has(&[1, 0, 0], BLOCK));
        assert_eq!(one.to_vec()[BLOCK + 1..], [0; BLOCK - 1]);
    }

    #[test]
    fn a_row_has_bytes_or_none() {
        assert!(SharedBytes::default().is_empty());
        assert!(!SharedBytes::from(vec![0]).is_empty());
        let mut longer = SharedBytes::from(vec![7; 2 * BLOCK]);
        longer.resize(BLOCK + 9);
        assert_eq!(longer.to_vec(), [7; BLOCK + 9]);
    }
}
