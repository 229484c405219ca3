//! The ghost of a write buffer: the numbers of the pages that it evicted last (adaptive
//! partitioning, §III.B).
//!
//! ```text
//! buffer 3 ── 9 ── 7 ──▶ evicts 3            ghost 1 ── 4 ── 3    least recently used first
//! write 4: a miss, and a hit of the ghost    ghost 1 ── 3         4 is in the buffer again
//! read 1: a miss, and a hit of the ghost     ghost 3 ── 1         reads fill no buffer page
//! ```
//! A request that hits the ghost would have hit a buffer that is larger by the size of the ghost.
//! Only evictions add pages to the ghost. It holds no page that the buffer holds.

use nand::Lpn;

use crate::contract::{Violation, ensure};
use crate::part::index::bit_set::BitSet;
use crate::part::index::recency::Recency;

/// Numbers of pages, the least recently used first.
#[derive(Clone, Debug)]
pub struct GhostBuffer {
    order: Recency,
    members: BitSet,
    capacity: u32,
    /// Number of reads that hit the ghost.
    pub read_hits: u64,
    /// Number of writes that hit the ghost.
    pub write_hits: u64,
}

impl GhostBuffer {
    /// The empty ghost of a device with this number of logical pages.
    pub fn new(logical_pages: u32) -> GhostBuffer {
        GhostBuffer {
            order: Recency::new(logical_pages),
            members: BitSet::new(logical_pages),
            capacity: 0,
            read_hits: 0,
            write_hits: 0,
        }
    }

    /// Memory that the ghost takes on a device with this number of logical pages.
    pub fn memory_bytes(logical_pages: u32) -> u64 {
        u64::from(logical_pages) * Recency::BYTES_A_NUMBER + u64::from(logical_pages.div_ceil(8))
    }

    /// Number of pages.
    pub fn len(&self) -> u32 {
        self.order.len()
    }

    /// Whether it holds no page.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether it holds a page.
    pub fn contains(&self, lpn: Lpn) -> bool {
        self.members.contains(lpn.0)
    }

    /// Sets the maximum number of pages. Surplus pages are dropped, the least recently used first.
    pub fn set_capacity(&mut self, pages: u32) {
        self.capacity = pages;
        self.shrink();
    }

    /// Adds a page, which it must not hold yet. The buffer has just evicted it for lack of room.
    pub fn enter(&mut self, lpn: Lpn) {
        self.order.push(lpn.0);
        self.members.insert(lpn.0);
        self.shrink();
    }

    /// Records a read that missed the buffer.
    pub fn read(&mut self, lpn: Lpn) {
        if self.contains(lpn) {
            self.read_hits += 1;
            self.order.touch(lpn.0);
        }
    }

    /// Records a write that missed the buffer. The page is in the buffer from now on.
    pub fn write(&mut self, lpn: Lpn) {
        if self.contains(lpn) {
            self.write_hits += 1;
            self.forget(lpn);
        }
    }

    /// Removes a page that was trimmed or is in the buffer again.
    pub fn forget(&mut self, lpn: Lpn) {
        if self.contains(lpn) {
            self.order.remove(lpn.0);
            self.members.remove(lpn.0);
        }
    }

    fn shrink(&mut self) {
        while self.order.len() > self.capacity {
            let oldest = self.order.first().expect("a ghost with too many pages is not empty");
            self.forget(Lpn(oldest));
        }
    }

    /// Checks that order and members agree.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        let members = self.members.runs(0..self.members.bound()).map(|run| run.len() as u32);
        let (members, pages) = (members.sum::<u32>(), self.len());
        ensure!(members == pages, "{pages} pages are in the ghost's order, {members} are members");
        ensure!(pages <= self.capacity, "{pages} pages in a ghost for {}", self.capacity);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(ghost: &GhostBuffer) -> Vec<u32> {
        ghost.order.iter().collect()
    }

    #[test]
    fn reads_keep_a_page_in_the_ghost_and_writes_remove_it() {
        let mut ghost = GhostBuffer::new(10);
        ghost.set_capacity(3);
        [8, 1, 4, 3].into_iter().for_each(|lpn| ghost.enter(Lpn(lpn)));
        assert_eq!(pages(&ghost), [1, 4, 3]);
        ghost.write(Lpn(4));
        ghost.write(Lpn(4));
        ghost.read(Lpn(1));
        ghost.read(Lpn(9));
        assert_eq!(pages(&ghost), [3, 1]);
        assert_eq!((ghost.read_hits, ghost.write_hits), (1, 1));
        ghost.audit().unwrap();
    }

    #[test]
    fn the_ghost_shrinks_at_once_and_may_have_no_room() {
        let mut ghost = GhostBuffer::new(10);
        ghost.enter(Lpn(1));
        assert!(ghost.is_empty());
        ghost.set_capacity(4);
        (0..4).for_each(|lpn| ghost.enter(Lpn(lpn)));
        ghost.set_capacity(2);
        assert_eq!(pages(&ghost), [2, 3]);
        ghost.forget(Lpn(2));
        ghost.forget(Lpn(2));
        assert_eq!((ghost.len(), ghost.contains(Lpn(3))), (1, true));
        ghost.audit().unwrap();
    }
}
