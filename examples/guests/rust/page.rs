//! Page mapping in Rust; `../page.c` is the same in C and has the lecture.
//!
//!     rustc -O --edition 2024 --crate-type cdylib -o page_rs.so page.rs
//!     ftlab check --ftl guest:lib=./page_rs.so

#[allow(dead_code)]
mod ftlab;

use std::collections::{HashSet, VecDeque};
use std::ffi::CStr;

use ftlab::{Cause, Chip, Device, Ftl, INVALID, READ_ONLY, Status, UNREADABLE};

/// Erased blocks that only garbage collection opens.
const RESERVE: usize = 1;
const NONE: u32 = u32::MAX;

/// The spare area of a page.
#[derive(Clone, Copy)]
struct Spare {
    lpn: u32,
    /// Place of the host's write in the order of programs; copies keep it.
    version: u64,
    /// Place of the program.
    sequence: u64,
}

impl Spare {
    fn encoded(self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..4].copy_from_slice(&self.lpn.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.version.to_le_bytes());
        bytes[12..].copy_from_slice(&self.sequence.to_le_bytes());
        bytes
    }

    fn decoded(bytes: [u8; 20]) -> Spare {
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let lpn = u32::from_le_bytes(bytes[..4].try_into().expect("4 bytes"));
        Spare { lpn, version: number(4), sequence: number(12) }
    }

    fn rank(self) -> (u64, u64) {
        (self.version, self.sequence)
    }
}

struct Page {
    chip: Chip,
    /// The place and the version of each logical page.
    l2p: Vec<(u32, u64)>,
    p2l: Vec<u32>,
    valid: Vec<u32>,
    full: Vec<bool>,
    /// Free blocks in the order in which they were freed.
    free: VecDeque<u32>,
    /// Free blocks that must be erased before they are used.
    doubtful: HashSet<u32>,
    frontier: u32,
    room: u32,
    sequence: u64,
}

impl Page {
    fn per_block(&self) -> u32 {
        self.chip.sizes().pages_per_block
    }

    fn open_block(&mut self) -> Result<(), Status> {
        let block = *self.free.front().ok_or(READ_ONLY)?;
        if self.doubtful.contains(&block) {
            self.chip.erase(block, Cause::Meta)?;
            self.doubtful.remove(&block);
        }
        self.free.pop_front();
        (self.frontier, self.room) = (block * self.per_block(), self.per_block());
        Ok(())
    }

    /// The logical page is now where the frontier is.
    fn point(&mut self, lpn: u32, version: u64) {
        let per_block = self.per_block();
        let (old, _) = self.l2p[lpn as usize];
        if old != NONE {
            self.valid[(old / per_block) as usize] -= 1;
        }
        let block = (self.frontier / per_block) as usize;
        self.l2p[lpn as usize] = (self.frontier, version);
        self.p2l[self.frontier as usize] = lpn;
        self.valid[block] += 1;
        (self.frontier, self.room) = (self.frontier + 1, self.room - 1);
        self.sequence += 1;
        self.full[block] = self.room == 0;
    }

    fn collect(&mut self) -> Result<(), Status> {
        let blocks = 0..self.chip.sizes().blocks;
        let full = blocks.filter(|&block| self.full[block as usize]);
        let victim = full.min_by_key(|&block| (self.valid[block as usize], block));
        let has_dead = |block: &u32| self.valid[*block as usize] < self.per_block();
        let victim = victim.filter(has_dead).ok_or(READ_ONLY)?;
        for page in victim * self.per_block()..(victim + 1) * self.per_block() {
            let lpn = self.p2l[page as usize];
            if lpn == NONE || self.l2p[lpn as usize].0 != page {
                continue;
            }
            if self.room == 0 {
                self.open_block()?;
            }
            let version = self.l2p[lpn as usize].1;
            let spare = Spare { lpn, version, sequence: self.sequence };
            self.chip.copy(page, self.frontier, &spare.encoded(), Cause::Gc)?;
            self.point(lpn, version);
        }
        self.chip.erase(victim, Cause::Gc)?;
        let pages =
            (victim * self.per_block()) as usize..((victim + 1) * self.per_block()) as usize;
        self.p2l[pages].fill(NONE);
        self.full[victim as usize] = false;
        self.free.push_back(victim);
        Ok(())
    }

    /// Maps the newest copies outside of one block. Blocks without any are free.
    fn map_newest(&mut self, found: &[(u32, Spare)], without: u32) {
        let per_block = self.per_block();
        self.l2p.fill((NONE, 0));
        let mut ranks = vec![(0, 0); self.l2p.len()];
        for &(page, spare) in found.iter().filter(|(page, _)| page / per_block != without) {
            if spare.rank() > ranks[spare.lpn as usize] {
                ranks[spare.lpn as usize] = spare.rank();
                self.l2p[spare.lpn as usize] = (page, spare.version);
            }
        }
        self.p2l.fill(NONE);
        self.valid.fill(0);
        for (lpn, &(page, _)) in self.l2p.iter().enumerate().filter(|(_, (page, _))| *page != NONE)
        {
            self.p2l[page as usize] = lpn as u32;
            self.valid[(page / per_block) as usize] += 1;
        }
        self.full = self.valid.iter().map(|&valid| valid > 0).collect();
        self.free = (0..).zip(&self.full).filter(|(_, full)| !**full).map(|(n, _)| n).collect();
        self.doubtful = self.free.iter().copied().collect();
    }

    fn recover(&mut self) -> Result<(), Status> {
        let mut found = Vec::new();
        for page in 0..self.p2l.len() as u32 {
            match self.chip.read_spare(page).map(|spare| spare.map(Spare::decoded)) {
                Ok(Some(spare)) if (spare.lpn as usize) < self.l2p.len() => {
                    found.push((page, spare))
                }
                Ok(_) | Err(UNREADABLE) => {}
                Err(status) => return Err(status),
            }
        }
        self.map_newest(&found, NONE);
        if let Some(&(last, spare)) = found.iter().max_by_key(|(_, spare)| spare.sequence) {
            self.sequence = spare.sequence + 1;
            if self.free.is_empty() {
                self.map_newest(&found, last / self.per_block());
            }
        }
        Ok(())
    }
}

impl Ftl for Page {
    const NAME: &'static CStr = c"page.rs";
    /// Every write.
    const DURABILITY: u32 = 1;
    /// Torn, looks erased, half erased, misdirected.
    const CUTS: u32 = 1 | 1 << 1 | 1 << 3 | 1 << 6;
    const SPARE_BYTES: u32 = 20;

    fn mount(chip: Chip, device: &Device) -> Result<Page, Status> {
        if device.parameters > 0 {
            chip.say("page.rs has no parameters");
            return Err(INVALID);
        }
        let blocks = chip.sizes().blocks;
        let mut ftl = Page {
            chip,
            l2p: vec![(NONE, 0); device.logical_pages as usize],
            p2l: vec![NONE; (blocks * chip.sizes().pages_per_block) as usize],
            valid: vec![0; blocks as usize],
            full: vec![false; blocks as usize],
            free: (0..blocks).collect(),
            doubtful: HashSet::new(),
            frontier: 0,
            room: 0,
            sequence: 1,
        };
        if device.is_new == 0 {
            ftl.recover()?;
        }
        Ok(ftl)
    }

    fn read(&mut self, first: u32, data: &mut [u8]) -> Result<(), Status> {
        let bytes = self.chip.sizes().page_bytes as usize;
        for (lpn, out) in (first as usize..).zip(data.chunks_exact_mut(bytes)) {
            match self.l2p[lpn] {
                (NONE, _) => out.fill(0),
                (page, _) => self.chip.read(page, out, Cause::Host)?,
            }
        }
        Ok(())
    }

    fn write(&mut self, first: u32, data: &[u8]) -> Result<(), Status> {
        let bytes = self.chip.sizes().page_bytes as usize;
        for (lpn, page) in (first..).zip(data.chunks_exact(bytes)) {
            while self.room == 0 {
                if self.free.len() > RESERVE { self.open_block()? } else { self.collect()? }
            }
            let spare = Spare { lpn, version: self.sequence, sequence: self.sequence };
            self.chip.program(self.frontier, page, &spare.encoded(), Cause::Host)?;
            self.point(lpn, spare.version);
        }
        Ok(())
    }

    fn ram(&self) -> u64 {
        4 * (self.l2p.len() + self.valid.len()) as u64
    }
}

export!(Page);
