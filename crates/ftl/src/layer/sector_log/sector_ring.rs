//! A circular log of flash blocks: pages are appended at its head, and its tail block is cleaned
//! next (SL §4.1).
//!
//! ```text
//! frame     0          1          2          3
//! block     17         40         3          21
//!           [5 6 7 8]  [9 _ _ _]  [        ] [1 2 3 4]
//!                      head       free       tail
//! ```
//! The log has a fixed number of *frames*. Its pages and sectors are numbered frame after frame, so
//! that the numbers stay small. Each time a frame has been cleaned, another block of the flash
//! fills it.

use core::ops::Range;
use std::collections::VecDeque;

use nand::{BlockId, Cause, Geometry, Nand, Ppn};

use crate::contract::{Result, Violation, ensure};
use crate::part::recovery::block_audit;

/// The number of a frame.
pub type Frame = u32;

/// The block in a frame, and whether it is doubtful: a mount cannot tell a half-finished erase from
/// a complete one.
#[derive(Clone, Copy, Debug)]
struct FrameBlock {
    block: BlockId,
    doubtful: bool,
}

/// The frames of a log, in the order in which they are filled.
#[derive(Clone, Debug)]
pub struct SectorRing {
    frames: Vec<FrameBlock>,
    /// Frames with programmed pages: the tail first, the head last.
    used: VecDeque<Frame>,
    /// Erased frames: the next head first.
    free: VecDeque<Frame>,
    /// Number of pages of the head that cannot be programmed any more; all pages if there is no
    /// head.
    filled: u32,
    pages_per_block: u32,
}

impl SectorRing {
    /// A log of erased blocks.
    pub fn of(blocks: &[BlockId], pages_per_block: u32) -> SectorRing {
        let frames = blocks.iter().map(|&block| FrameBlock { block, doubtful: false }).collect();
        let free = (0..blocks.len() as u32).collect();
        let used = VecDeque::with_capacity(blocks.len());
        SectorRing { frames, used, free, filled: pages_per_block, pages_per_block }
    }

    /// The log that a mount found: blocks with pages, the oldest first, and doubtful blocks
    /// without. The head is closed, because its next page may be torn.
    pub fn found(used: &[BlockId], free: &[BlockId], pages_per_block: u32) -> SectorRing {
        let all: Vec<BlockId> = used.iter().chain(free).copied().collect();
        let mut ring = SectorRing::of(&all, pages_per_block);
        ring.used = ring.free.drain(..used.len()).collect();
        ring.free.iter().for_each(|&frame| ring.frames[frame as usize].doubtful = true);
        ring
    }

    /// Whether no page of the log is programmed.
    pub fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u32 {
        self.frames.len() as u32
    }

    /// Number of pages.
    pub fn pages(&self) -> u32 {
        self.frames.len() as u32 * self.pages_per_block
    }

    /// Number of pages that can be programmed before a block must be cleaned.
    #[inline]
    pub fn free_pages(&self) -> u32 {
        self.free.len() as u32 * self.pages_per_block + self.pages_per_block - self.filled
    }

    /// The frame to clean next: the tail.
    pub fn tail(&self) -> Option<Frame> {
        self.used.front().copied()
    }

    /// The frames with programmed pages, the tail first.
    pub fn used(&self) -> impl Iterator<Item = Frame> + '_ {
        self.used.iter().copied()
    }

    /// The pages of a frame, numbered through the log.
    pub fn pages_of(&self, frame: Frame) -> Range<u32> {
        let first = frame * self.pages_per_block;
        first..first + self.pages_per_block
    }

    /// The block in a frame.
    pub fn block(&self, frame: Frame) -> BlockId {
        self.frames[frame as usize].block
    }

    /// The physical page of a page of the log.
    #[inline]
    pub fn ppn(&self, geometry: &Geometry, page: u32) -> Ppn {
        let (frame, offset) = (page / self.pages_per_block, page % self.pages_per_block);
        geometry.page(self.block(frame), offset)
    }

    /// The place of a programmed page in the order of programs: later pages have a larger one.
    pub fn order(&self, page: u32) -> (Option<usize>, u32) {
        let frame = page / self.pages_per_block;
        (self.used.iter().position(|&used| used == frame), page)
    }

    /// Takes the next page at the head, to be programmed at once, and returns its number in the
    /// log. There must be a free page.
    ///
    /// # Errors
    /// The power fails while a doubtful block is erased.
    pub fn append(&mut self, nand: &mut Nand) -> Result<u32> {
        if self.filled == self.pages_per_block {
            let frame = self.free.pop_front().expect("the log has a free page");
            let FrameBlock { block, doubtful } = self.frames[frame as usize];
            if doubtful {
                nand.erase(block, Cause::Meta)?;
            }
            if self.pages_per_block < nand.geometry().pages_per_block() {
                nand.use_as_slc(block);
            }
            self.frames[frame as usize].doubtful = false;
            self.used.push_back(frame);
            self.filled = 0;
        }
        let head = self.used.back().expect("the log has a head with room");
        self.filled += 1;
        Ok(head * self.pages_per_block + self.filled - 1)
    }

    /// Frees the tail, which was just erased. `block` fills its frame from now on.
    pub fn renew_tail(&mut self, block: BlockId) {
        let frame = self.used.pop_front().expect("the log has a tail, which was just erased");
        self.frames[frame as usize] = FrameBlock { block, doubtful: false };
        let frames = || self.frames.iter().filter(|filled| filled.block == block).count();
        debug_assert!(frames() == 1, "{block:?} fills {} frames of the sector log", frames());
        self.free.push_back(frame);
        if self.used.is_empty() {
            self.filled = self.pages_per_block;
        }
    }

    /// Checks that each frame is either used or free, that each block is in one frame, that
    /// free blocks are erased, and that the head is programmed as far as recorded.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let mut listed = vec![false; self.frames.len()];
        for &frame in self.used.iter().chain(&self.free) {
            let twice = core::mem::replace(&mut listed[frame as usize], true);
            ensure!(!twice, "frame {frame} of the sector log is in two lists");
        }
        ensure!(listed.iter().all(|&listed| listed), "a frame of the sector log is in no list");
        let mut blocks: Vec<BlockId> = self.frames.iter().map(|held| held.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let (distinct, frames) = (blocks.len(), self.frames.len());
        ensure!(distinct == frames, "{distinct} blocks are in {frames} frames of the sector log");
        for &frame in &self.free {
            let FrameBlock { block, doubtful } = self.frames[frame as usize];
            if !doubtful {
                block_audit::erased(nand, block)?;
            }
        }
        let Some(&head) = self.used.back() else { return Ok(()) };
        let (filled, most) = (self.filled, self.pages_per_block);
        block_audit::programmed_or_closed(nand, self.block(head), filled, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{Content, Lpn, Mode, Page, ProgramOrder};

    fn program(nand: &mut Nand, ring: &mut SectorRing) -> u32 {
        let page = ring.append(nand).unwrap();
        let ppn = ring.ppn(nand.geometry(), page);
        let (owner, content) = (Lpn::SYSTEM, Content::Pad);
        nand.program(ppn, &Page { owner, kind: 8, extra: &[], content }, Cause::Log).unwrap();
        page
    }

    #[test]
    fn pages_are_reused_in_a_circle_and_blocks_are_exchanged() {
        let geometry = Geometry::new(512, 64, 2, 5, ProgramOrder::Sequential).unwrap();
        let mut nand = Nand::new(geometry, Mode::Count);
        let mut ring = SectorRing::of(&[BlockId(3), BlockId(4)], 2);
        assert_eq!((ring.free_pages(), ring.tail()), (4, None));
        let pages: Vec<u32> = (0..4).map(|_| program(&mut nand, &mut ring)).collect();
        assert_eq!((pages, ring.free_pages(), ring.tail()), (vec![0, 1, 2, 3], 0, Some(0)));
        nand.erase(ring.block(0), Cause::Log).unwrap();
        ring.renew_tail(BlockId(0));
        ring.audit(&nand).unwrap();
        assert_eq!((ring.free_pages(), ring.tail()), (2, Some(1)));
        assert_eq!(program(&mut nand, &mut ring), 0);
        assert_eq!(ring.ppn(&geometry, 0), Ppn(0), "block 0 fills frame 0 now");
        // This tail is not the head: frame 0 still has a free page.
        nand.erase(ring.block(1), Cause::Log).unwrap();
        ring.renew_tail(BlockId(4));
        assert_eq!(ring.free_pages(), 3);
        // A head that is freed half full is not the head any more.
        nand.erase(ring.block(0), Cause::Log).unwrap();
        ring.renew_tail(BlockId(0));
        assert_eq!((ring.free_pages(), ring.is_empty()), (4, true));
        assert_eq!(program(&mut nand, &mut ring), 2);
        ring.audit(&nand).unwrap();
    }
}
