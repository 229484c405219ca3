//! A counter of distinct blocks that needs no search, and nothing to be cleared.
//!
//! Each block has the number of the count that met it last.

use nand::BlockId;

/// Counts distinct blocks.
#[derive(Clone, Debug)]
pub struct BlockCounter {
    met: Vec<u16>,
    count: u16,
}

impl BlockCounter {
    /// A counter for the blocks below this number.
    pub fn new(blocks: u32) -> BlockCounter {
        BlockCounter { met: vec![0; blocks as usize], count: 0 }
    }

    /// Number of distinct blocks among these, without `but`.
    #[inline]
    pub fn count_but(&mut self, but: BlockId, blocks: impl Iterator<Item = BlockId>) -> u32 {
        let count = self.next_count();
        let met = &mut self.met[..];
        met[but.0 as usize] = count;
        blocks.fold(0, |distinct, block| {
            let before = core::mem::replace(&mut met[block.0 as usize], count);
            distinct + u32::from(before != count)
        })
    }

    #[inline]
    fn next_count(&mut self) -> u16 {
        self.count = self.count.wrapping_add(1);
        if self.count == 0 {
            self.met.fill(0);
            self.count = 1;
        }
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_starts_anew() {
        let mut counter = BlockCounter::new(5);
        let mut count = |but, blocks: [u32; 4]| {
            counter.count_but(BlockId(but), blocks.into_iter().map(BlockId))
        };
        for number in 0..200_000 {
            assert_eq!(count(3, [number % 3, 4, 3, 4]), 2, "count {number}");
        }
        assert_eq!(count(4, [0, 1, 2, 3]), 4);
        assert_eq!(count(4, [4; 4]), 0);
    }
}
