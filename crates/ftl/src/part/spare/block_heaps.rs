//! Many heaps of blocks in one array of links. Each heap finds its block with the lowest number;
//! among equal numbers, the lowest block.
//!
//! ```text
//! heap a   4:1 ─┬─ 9:3 ─── 2:5        block:number; a parent precedes its children
//!               └─ 7:1
//! heap b   3:0
//! ```
//! These are pairing heaps (Fredman, Sedgewick, Sleator and Tarjan 1986). A block is in at most one
//! heap, so one array of links serves all heaps. Finding the first block and lowering a number take
//! a few steps; removing a block takes O(log n) on average.

use nand::BlockId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    number: u32,
    child: u32,
    /// The parent if this is a first child, otherwise the sibling before it; none for a root.
    before: u32,
    after: u32,
    /// The parent; none for a root. A number that falls seldom passes that of its parent, and then
    /// nothing else changes.
    parent: u32,
}

/// The links of a root without children.
const ALONE: Node = Node { number: 0, child: NONE, before: NONE, after: NONE, parent: NONE };

/// A heap, represented by its first block. A copy of this value goes stale when the heap changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap(u32);

impl Heap {
    /// The empty heap.
    pub const EMPTY: Heap = Heap(NONE);
}

/// The links of all heaps.
#[derive(Clone, Debug)]
pub struct BlockHeaps {
    nodes: Vec<Node>,
}

impl BlockHeaps {
    /// Links for `blocks` blocks, none of which is in a heap.
    pub fn new(blocks: u32) -> BlockHeaps {
        BlockHeaps { nodes: vec![ALONE; blocks as usize] }
    }

    /// The block with the lowest number, and that number.
    #[inline]
    pub fn first(&self, heap: Heap) -> Option<(BlockId, u32)> {
        (heap.0 != NONE).then(|| (BlockId(heap.0), self.nodes[heap.0 as usize].number))
    }

    /// Adds a block that is in no heap.
    pub fn push(&mut self, heap: &mut Heap, block: BlockId, number: u32) {
        self.nodes[block.0 as usize] = Node { number, ..ALONE };
        heap.0 = self.meld(heap.0, block.0);
    }

    /// Lowers the number of a block of this heap.
    #[inline(always)]
    pub fn lower(&mut self, heap: &mut Heap, block: BlockId, number: u32) {
        let node = &mut self.nodes[block.0 as usize];
        debug_assert!(number <= node.number, "{block:?} rises from {} to {number}", node.number);
        node.number = number;
        let parent = node.parent;
        if parent != NONE && self.is_before(block.0, parent) {
            self.rise(heap, block);
        }
    }

    /// Moves a block that now precedes its parent to the top.
    #[inline(never)]
    fn rise(&mut self, heap: &mut Heap, block: BlockId) {
        self.cut(block.0);
        heap.0 = self.meld(heap.0, block.0);
    }

    /// Removes a block of this heap.
    pub fn remove(&mut self, heap: &mut Heap, block: BlockId) {
        debug_assert!(*heap != Heap::EMPTY, "{block:?} was removed from an empty heap");
        let children = self.meld_children(block.0);
        if block.0 == heap.0 {
            heap.0 = children;
        } else {
            self.cut(block.0);
            heap.0 = self.meld(heap.0, children);
        }
    }

    #[inline]
    fn is_before(&self, a: u32, b: u32) -> bool {
        (self.nodes[a as usize].number, a) < (self.nodes[b as usize].number, b)
    }

    /// Makes one of two roots the first child of the other; returns the remaining root. Either may
    /// be none.
    fn meld(&mut self, a: u32, b: u32) -> u32 {
        if a == NONE || b == NONE {
            return a.min(b);
        }
        let (root, child) = if self.is_before(a, b) { (a, b) } else { (b, a) };
        let next = core::mem::replace(&mut self.nodes[root as usize].child, child);
        let node = &mut self.nodes[child as usize];
        (node.before, node.after, node.parent) = (root, next, root);
        if next != NONE {
            self.nodes[next as usize].before = child;
        }
        root
    }

    /// Cuts a block that is not a root, with its children, off its heap: it becomes a root.
    fn cut(&mut self, block: u32) {
        let Node { before, after, .. } = self.nodes[block as usize];
        let parent_or_sibling = &mut self.nodes[before as usize];
        match parent_or_sibling.child == block {
            true => parent_or_sibling.child = after,
            false => parent_or_sibling.after = after,
        }
        if after != NONE {
            self.nodes[after as usize].before = before;
        }
        self.orphan(block);
    }

    fn orphan(&mut self, block: u32) {
        let node = &mut self.nodes[block as usize];
        (node.before, node.after, node.parent) = (NONE, NONE, NONE);
    }

    /// Melds the children of a block in pairs, then the pairs into one heap. Returns the root.
    fn meld_children(&mut self, block: u32) -> u32 {
        let mut child = core::mem::replace(&mut self.nodes[block as usize].child, NONE);
        let mut pairs = NONE;
        while child != NONE {
            let second = self.nodes[child as usize].after;
            let rest = if second == NONE { NONE } else { self.nodes[second as usize].after };
            self.orphan(child);
            if second != NONE {
                self.orphan(second);
            }
            let pair = self.meld(child, second);
            self.nodes[pair as usize].after = pairs;
            (pairs, child) = (pair, rest);
        }
        let mut root = NONE;
        while pairs != NONE {
            let rest = self.nodes[pairs as usize].after;
            self.orphan(pairs);
            root = self.meld(root, pairs);
            pairs = rest;
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};

    #[test]
    fn behave_like_lists_with_linear_search() {
        const BLOCKS: u32 = 50;
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(3);
        let mut heaps = BlockHeaps::new(BLOCKS);
        let mut roots = [Heap::EMPTY; 3];
        let mut lists: [Vec<(u32, u32)>; 3] = Default::default();
        for step in 0..50_000 {
            let (block, number) = (rng.next_u32() % BLOCKS, rng.next_u32() % 8);
            let found = lists.iter().position(|list| list.iter().any(|&(_, b)| b == block));
            match found {
                None => {
                    let which = rng.next_u32() as usize % 3;
                    heaps.push(&mut roots[which], BlockId(block), number);
                    lists[which].push((number, block));
                }
                Some(which) if rng.next_u32() % 3 == 0 => {
                    heaps.remove(&mut roots[which], BlockId(block));
                    lists[which].retain(|&(_, b)| b != block);
                }
                Some(which) => {
                    let entry = lists[which].iter_mut().find(|entry| entry.1 == block).unwrap();
                    entry.0 = entry.0.min(number);
                    heaps.lower(&mut roots[which], BlockId(block), entry.0);
                }
            }
            for (root, list) in roots.iter().zip(&lists) {
                let first = list.iter().min().map(|&(number, block)| (BlockId(block), number));
                assert_eq!(heaps.first(*root), first, "step {step}");
            }
        }
    }
}
