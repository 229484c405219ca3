//! The bare loop: page mapping with L2P, P2L, valid counts and greedy garbage collection, and
//! nothing else. It has no chip, no rules of flash, no causes and no statistics, so no page-mapping
//! simulation can do less work.

const NONE: u32 = u32::MAX;
/// Pages per block. It is a constant, so that the bare loop divides by shifting.
pub const PAGES_PER_BLOCK: u32 = 64;

/// A page-mapped device made of plain arrays.
pub struct BareLoop {
    l2p: Vec<u32>,
    p2l: Vec<u32>,
    valid: Vec<u32>,
    /// For each valid count, the first block of a doubly linked list of full blocks.
    heads: Vec<u32>,
    next: Vec<u32>,
    prev: Vec<u32>,
    free: Vec<u32>,
    frontier: u32,
    filled: u32,
    /// Number of pages programmed.
    pub programs: u64,
    /// Number of pages read for copies, plus number of blocks erased.
    pub reads_and_erases: u64,
}

impl BareLoop {
    /// A device whose logical pages are all written once, in order.
    pub fn filled(logical_pages: u32, blocks: u32) -> BareLoop {
        let mut bare = BareLoop {
            l2p: vec![NONE; logical_pages as usize],
            p2l: vec![NONE; (blocks * PAGES_PER_BLOCK) as usize],
            valid: vec![0; blocks as usize],
            heads: vec![NONE; PAGES_PER_BLOCK as usize + 1],
            next: vec![NONE; blocks as usize],
            prev: vec![NONE; blocks as usize],
            free: (1..blocks).rev().collect(),
            frontier: 0,
            filled: 0,
            programs: 0,
            reads_and_erases: 0,
        };
        (0..logical_pages).for_each(|lpn| bare.write(lpn));
        bare
    }

    /// Writes one logical page.
    #[inline]
    pub fn write(&mut self, lpn: u32) {
        while self.filled == PAGES_PER_BLOCK {
            if self.free.len() > 1 { self.open() } else { self.collect() }
        }
        let old = self.l2p[lpn as usize];
        if old != NONE {
            self.supersede(old / PAGES_PER_BLOCK);
        }
        self.append(lpn);
    }

    fn append(&mut self, lpn: u32) {
        let ppn = self.frontier * PAGES_PER_BLOCK + self.filled;
        self.l2p[lpn as usize] = ppn;
        self.p2l[ppn as usize] = lpn;
        self.valid[self.frontier as usize] += 1;
        self.filled += 1;
        self.programs += 1;
        if self.filled == PAGES_PER_BLOCK {
            self.link(self.frontier);
        }
    }

    fn supersede(&mut self, block: u32) {
        let open = block == self.frontier && self.filled < PAGES_PER_BLOCK;
        if !open {
            self.unlink(block);
        }
        self.valid[block as usize] -= 1;
        if !open {
            self.link(block);
        }
    }

    fn open(&mut self) {
        self.frontier = self.free.pop().expect("the caller checked that a block is free");
        self.filled = 0;
    }

    fn collect(&mut self) {
        let victim = *self.heads.iter().find(|&&head| head != NONE).expect("some block is full");
        self.unlink(victim);
        let first = victim * PAGES_PER_BLOCK;
        for ppn in first..first + PAGES_PER_BLOCK {
            let lpn = self.p2l[ppn as usize];
            if self.l2p[lpn as usize] == ppn {
                if self.filled == PAGES_PER_BLOCK {
                    self.open();
                }
                self.append(lpn);
                self.reads_and_erases += 1;
            }
        }
        self.reads_and_erases += 1;
        self.valid[victim as usize] = 0;
        self.free.push(victim);
    }

    fn link(&mut self, block: u32) {
        let head = &mut self.heads[self.valid[block as usize] as usize];
        self.next[block as usize] = *head;
        self.prev[block as usize] = NONE;
        if *head != NONE {
            self.prev[*head as usize] = block;
        }
        *head = block;
    }

    fn unlink(&mut self, block: u32) {
        let (next, prev) = (self.next[block as usize], self.prev[block as usize]);
        match prev {
            NONE => self.heads[self.valid[block as usize] as usize] = next,
            _ => self.next[prev as usize] = next,
        }
        if next != NONE {
            self.prev[next as usize] = prev;
        }
    }
}
