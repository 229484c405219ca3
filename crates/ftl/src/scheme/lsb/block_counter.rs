//! A counter of distinct blocks that needs no search, and nothing to be cleared.
//!
//! Each block has the number of the count that met it last.

use nand::BlockId;

/// Counts distinct blocks.
#[derive(Clone, Debug)]
pub struct BlockCounter {
    /// For each block, and for [`nowhere`](Self::nowhere).
    met: Vec<u16>,
    number: u16,
}

/// A count that is going on.
#[derive(Debug)]
pub struct BlockCount<'a> {
    met: &'a mut [u16],
    number: u16,
    distinct: u32,
}

impl BlockCounter {
    /// A counter for the blocks below this number.
    pub fn new(blocks: u32) -> BlockCounter {
        BlockCounter { met: vec![0; blocks as usize + 1], number: 0 }
    }

    /// Stands for no block: it is never counted.
    pub fn nowhere(&self) -> BlockId {
        BlockId(self.met.len() as u32 - 1)
    }

    /// A new count, which leaves out `but`.
    #[inline]
    pub fn without(&mut self, but: BlockId) -> BlockCount<'_> {
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.met.fill(0);
            self.number = 1;
        }
        let (met, number) = (&mut self.met[..], self.number);
        if let Some(nowhere) = met.last_mut() {
            *nowhere = number;
        }
        met[but.0 as usize] = number;
        BlockCount { met, number, distinct: 0 }
    }
}

impl BlockCount<'_> {
    /// Adds a block.
    #[inline]
    pub fn add(&mut self, block: BlockId) {
        let before = core::mem::replace(&mut self.met[block.0 as usize], self.number);
        self.distinct += u32::from(before != self.number);
    }

    /// Number of distinct blocks so far.
    #[inline]
    pub fn distinct(&self) -> u32 {
        self.distinct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_count_starts_anew() {
        let mut counter = BlockCounter::new(5);
        let mut count = |but, blocks: [u32; 4]| {
            let mut count = counter.without(BlockId(but));
            blocks.into_iter().for_each(|block| count.add(BlockId(block)));
            count.distinct()
        };
        for number in 0..200_000 {
            assert_eq!(count(3, [number % 3, 4, 3, 4]), 2, "count {number}");
        }
        assert_eq!(count(4, [0, 1, 2, 3]), 4);
        assert_eq!(count(4, [4; 4]), 0);
        assert_eq!(count(4, [0, 5, 5, 1]), 2, "5 is no block");
    }
}
