//! A naive model of fast and faster. It searches all blocks for a page, and remembers for each page
//! whether its present version was carried over.

use core::ops::Range;

use ftl::MapEvent;
use nand::Lpn;

use crate::device::{Counts, Model};
use crate::homes::Homes;

/// Where the newest version of a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Nowhere,
    Home,
    /// A slot of a log block. Blocks are numbered in the order of their allocation.
    Log(u64, usize),
}

struct Block {
    number: u64,
    /// Number of pages that were carried to this block.
    carried: usize,
    /// The page that was written to each slot.
    slots: Vec<usize>,
    /// Number of data blocks that were merged because of its pages.
    merged: usize,
}

/// What faster adds to fast.
#[derive(Clone, Copy)]
pub struct Rules {
    pub second_chance: bool,
    pub isolation_blocks: usize,
    pub merges_per_write: usize,
    /// Whether there is an SW block.
    pub sequential: bool,
}

/// fast: everything that faster adds is switched off.
pub const FAST: Rules =
    Rules { second_chance: false, isolation_blocks: 0, merges_per_write: 0, sequential: true };

pub struct NaiveFast {
    rules: Rules,
    np: usize,
    rw_max: usize,
    homes: Homes,
    newest: Vec<At>,
    was_carried: Vec<bool>,
    sw: Option<Block>,
    rw: Vec<Block>,
    isolated: Vec<Block>,
    allocated: u64,
    pub counts: Counts,
    pub rw_associated: Vec<u64>,
    /// Number of pages that were carried or isolated.
    pub moved: u64,
    /// Carried pages that were not valid any more when their block was reclaimed.
    pub saved: u64,
    /// For fast: pages that left the log with a victim, and written pages that were not in the log.
    pub events: Vec<MapEvent>,
    /// For each victim: the numbers of its valid pages and of their data blocks, and the copies,
    /// padding and erases that it caused.
    pub victims: Vec<[u64; 5]>,
}

fn count(histogram: &mut Vec<u64>, n: usize) {
    histogram.resize(histogram.len().max(n + 1), 0);
    histogram[n] += 1;
}

impl NaiveFast {
    pub fn new(rules: Rules, order: &'static str, np: usize, [logical, extra]: [usize; 2]) -> Self {
        NaiveFast {
            rules,
            np,
            rw_max: extra - 1 - usize::from(rules.sequential) - rules.isolation_blocks,
            homes: Homes::new(order, np, logical),
            newest: vec![At::Nowhere; logical * np],
            was_carried: vec![false; logical * np],
            sw: None,
            rw: Vec::new(),
            isolated: Vec::new(),
            allocated: 0,
            counts: Counts::default(),
            rw_associated: Vec::new(),
            moved: 0,
            saved: 0,
            events: Vec::new(),
            victims: Vec::new(),
        }
    }

    /// Sets the maximum number of log blocks, including SW and isolation.
    pub fn set_log_blocks(&mut self, log_blocks: usize) {
        self.rw_max = log_blocks.saturating_sub(1 + self.rules.isolation_blocks).max(1);
        while self.rw.len() > self.rw_max {
            let victim = self.rw.remove(0);
            self.merge_all(&victim);
        }
    }

    fn block(&mut self) -> Block {
        self.allocated += 1;
        Block { number: self.allocated, carried: 0, slots: Vec::new(), merged: 0 }
    }

    fn is_valid(&self, block: &Block, slot: usize) -> bool {
        self.newest[block.slots[slot]] == At::Log(block.number, slot)
    }

    fn valid_pages(&self, block: &Block) -> Vec<usize> {
        let valid = (0..block.slots.len()).filter(|&slot| self.is_valid(block, slot));
        valid.map(|slot| block.slots[slot]).collect()
    }

    // ---- Writing --------------------------------------------------------------------------------

    fn write_page(&mut self, lpn: usize, partial: bool) {
        for _ in 0..self.rules.merges_per_write {
            self.merge_oldest_isolated(self.isolated.len());
        }
        let at = loop {
            if self.homes.take(lpn) {
                self.homes.program(lpn);
                self.counts.in_place += 1;
                break At::Home;
            }
            if let Some(at) = self.log(lpn) {
                break at;
            }
        };
        self.counts.rmw += u64::from(partial && self.newest[lpn] != At::Nowhere);
        if !matches!(self.newest[lpn], At::Log(..)) {
            self.events.push(MapEvent::WriteMissed(Lpn(lpn as u32)));
        }
        self.newest[lpn] = at;
        self.was_carried[lpn] = false;
        self.counts.host += 1;
    }

    /// Takes a place in the log; none if a block had to be merged or opened first.
    fn log(&mut self, lpn: usize) -> Option<At> {
        let np = self.np;
        let is_next = |sw: &&mut Block| sw.slots.len() < np && sw.slots[0] + sw.slots.len() == lpn;
        if let Some(sw) = self.sw.as_mut().filter(is_next) {
            sw.slots.push(lpn);
            return Some(At::Log(sw.number, sw.slots.len() - 1));
        }
        if self.rules.sequential && lpn.is_multiple_of(np) {
            match self.sw.take() {
                Some(sw) => self.merge_sw(&sw),
                None => {
                    let sw = Block { slots: vec![lpn], ..self.block() };
                    let at = At::Log(sw.number, 0);
                    self.sw = Some(sw);
                    return Some(at);
                }
            }
            return None;
        }
        let may_grow = self.rw.len() < self.rw_max;
        match self.rw.last_mut() {
            Some(head) if head.slots.len() < np => {
                head.slots.push(lpn);
                return Some(At::Log(head.number, head.slots.len() - 1));
            }
            _ if may_grow => {
                let head = self.block();
                self.rw.push(head);
            }
            _ => self.reclaim(),
        }
        None
    }

    // ---- Merging --------------------------------------------------------------------------------

    fn renew(&mut self, lbn: usize, held: usize) {
        let base = lbn * self.np;
        let mapped = |offset: &usize| self.newest[base + offset] != At::Nowhere;
        let copied: Vec<usize> = (held..self.np).filter(mapped).collect();
        self.homes.renew(lbn, held, &copied, &mut self.counts);
        for newest in &mut self.newest[base..base + self.np] {
            *newest = if *newest == At::Nowhere { At::Nowhere } else { At::Home };
        }
    }

    fn merge_sw(&mut self, sw: &Block) {
        let (lbn, filled) = (sw.slots[0] / self.np, sw.slots.len());
        let valid = self.valid_pages(sw).len();
        if valid == filled {
            self.renew(lbn, filled);
            let merges = &mut self.counts.merges;
            *if filled == self.np { &mut merges.switch } else { &mut merges.partial } += 1;
            return;
        }
        if valid > 0 {
            self.renew(lbn, 0);
        }
        self.count_merge(usize::from(valid > 0));
        self.counts.erases += 1;
    }

    /// Counts a full merge, or a dead block.
    fn count_merge(&mut self, associated: usize) {
        let merges = &mut self.counts.merges;
        match associated {
            0 => merges.dead += 1,
            _ => {
                merges.full += 1;
                count(&mut merges.associated_blocks, associated);
            }
        }
    }

    /// Reclaims as fast does.
    fn merge_all(&mut self, victim: &Block) {
        let mut lbns: Vec<usize> = Vec::new();
        for lpn in self.valid_pages(victim) {
            if !lbns.contains(&(lpn / self.np)) {
                lbns.push(lpn / self.np);
            }
        }
        let valid = self.valid_pages(victim);
        self.events.extend(valid.iter().map(|&lpn| MapEvent::Left(Lpn(lpn as u32))));
        let before = self.work();
        lbns.iter().for_each(|&lbn| self.renew(lbn, 0));
        let [copies, padding, erases] = self.work();
        self.victims.push([
            valid.len() as u64,
            lbns.len() as u64,
            copies - before[0],
            padding - before[1],
            erases - before[2] + 1,
        ]);
        self.count_merge(lbns.len());
        if !lbns.is_empty() {
            count(&mut self.rw_associated, lbns.len());
        }
        self.counts.erases += 1;
    }

    fn work(&self) -> [u64; 3] {
        [self.counts.copies, self.counts.padding, self.counts.erases]
    }

    // ---- What faster adds -----------------------------------------------------------------------

    fn reclaim(&mut self) {
        let victim = self.rw.remove(0);
        let Rules { second_chance, isolation_blocks, .. } = self.rules;
        let is_lost = |&slot: &usize| !self.is_valid(&victim, slot);
        self.saved += (0..victim.carried).filter(is_lost).count() as u64;
        let is_dead = self.valid_pages(&victim).is_empty();
        if is_dead || !second_chance && isolation_blocks == 0 {
            return self.merge_all(&victim);
        }
        let mut merged = 0;
        for lpn in self.valid_pages(&victim) {
            let is_last_visit = self.was_carried[lpn] || !second_chance;
            if is_last_visit && isolation_blocks > 0 {
                self.isolate(lpn, &victim);
            } else if is_last_visit && self.valid_pages(&victim).contains(&lpn) {
                self.renew(lpn / self.np, 0);
                merged += 1;
            }
        }
        if merged > 0 {
            self.count_merge(merged);
            count(&mut self.rw_associated, merged);
        }
        self.carry(&victim);
        self.counts.erases += 1;
    }

    fn carry(&mut self, victim: &Block) {
        let rest = self.valid_pages(victim);
        if rest.is_empty() {
            return;
        }
        let head = self.block();
        for (slot, &lpn) in rest.iter().enumerate() {
            self.newest[lpn] = At::Log(head.number, slot);
            self.was_carried[lpn] = true;
            self.counts.copies += 1;
            self.moved += 1;
        }
        self.rw.push(Block { carried: rest.len(), slots: rest, ..head });
    }

    fn isolate(&mut self, lpn: usize, victim: &Block) {
        let is_valid = |model: &Self| model.valid_pages(victim).contains(&lpn);
        if !is_valid(self) {
            return;
        }
        let is_full = self.isolated.last().is_none_or(|block| block.slots.len() == self.np);
        if is_full && self.isolated.len() == self.rules.isolation_blocks {
            while self.merge_oldest_isolated(1) {}
            let emptied = self.isolated.remove(0);
            self.count_merge(emptied.merged);
            self.counts.erases += 1;
        }
        if !is_valid(self) {
            return;
        }
        if self.isolated.last().is_none_or(|block| block.slots.len() == self.np) {
            let block = self.block();
            self.isolated.push(block);
        }
        let block = self.isolated.last_mut().unwrap();
        block.slots.push(lpn);
        self.newest[lpn] = At::Log(block.number, block.slots.len() - 1);
        self.counts.copies += 1;
        self.moved += 1;
    }

    /// Merges the data block of the oldest valid page in the first `blocks` isolation blocks.
    /// Returns whether there was one.
    fn merge_oldest_isolated(&mut self, blocks: usize) -> bool {
        let first = |&at: &usize| self.valid_pages(&self.isolated[at]).first().copied();
        let found = (0..blocks).find_map(|at| Some((at, first(&at)?)));
        let Some((at, lpn)) = found else { return false };
        self.isolated[at].merged += 1;
        self.renew(lpn / self.np, 0);
        true
    }
}

impl Model for NaiveFast {
    fn shape(&self) -> (usize, usize) {
        (self.newest.len(), self.np)
    }

    fn write(&mut self, pages: Range<usize>, ends_in_part: bool) {
        for lpn in pages.clone() {
            let at_end = lpn == pages.start || lpn + 1 == pages.end;
            self.write_page(lpn, at_end && ends_in_part);
        }
    }

    fn trim(&mut self, pages: Range<usize>) {
        self.newest[pages].fill(At::Nowhere);
    }
}
