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

/// How the SW block is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sequential {
    Run,
    Offset0,
    Never,
}

/// When isolated pages are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merge {
    Eager,
    Late,
    Paced,
}

/// What faster adds to fast.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub second_chance: bool,
    /// A victim with fewer valid pages is carried whole.
    pub threshold: usize,
    pub mark_in_place: bool,
    /// Whether carried pages have blocks of their own.
    pub own_blocks: bool,
    pub isolation_blocks: usize,
    pub merge: Merge,
    pub merges_per_write: usize,
    pub sequential: Sequential,
}

/// fast: everything that faster adds is switched off.
pub const FAST: Rules = Rules {
    second_chance: false,
    threshold: 0,
    mark_in_place: false,
    own_blocks: false,
    isolation_blocks: 0,
    merge: Merge::Eager,
    merges_per_write: 0,
    sequential: Sequential::Offset0,
};

/// How often each rule made a difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    /// Pages copied to a new SW block before its stream goes on.
    pub stream_copies: u64,
    /// Victims carried whole although some of their pages had their chance.
    pub carried_whole: u64,
    /// Victims marked where they stand.
    pub marked: u64,
    /// Pages after which isolated pages were left for later.
    pub postponed: u64,
    /// Times at which the pace asked for a merge, changes of the interval, and turns without a
    /// merge because nothing was valid in the rest of a block.
    pub paced: u64,
    pub tuned: u64,
    pub passed: u64,
}

/// The firmware's trigger of merges, as it counts.
#[derive(Clone, Copy, Debug, Default)]
struct Trigger {
    pages: usize,
    since_merge: usize,
    interval: usize,
    base: usize,
    was_crowded: bool,
    /// Slots of the isolation area that its turns have looked at, and slots of blocks that have
    /// left the area, since the beginning.
    looked_at: usize,
    gone: usize,
}

pub struct NaiveFast {
    rules: Rules,
    np: usize,
    rw_max: usize,
    homes: Homes,
    newest: Vec<At>,
    was_carried: Vec<bool>,
    sw: Option<Block>,
    rw: Vec<Block>,
    /// The blocks that take pages of the host and carried pages.
    head: u64,
    carried_head: u64,
    /// The page written last, and its position in a run of consecutive pages.
    last: (usize, usize),
    /// Whether a block was reclaimed or the SW block merged for the present page.
    is_busy: bool,
    isolated: Vec<Block>,
    trigger: Trigger,
    allocated: u64,
    pub uses: Uses,
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

fn sw_blocks(rules: Rules) -> usize {
    usize::from(rules.sequential != Sequential::Never)
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
            rw_max: extra - 1 - sw_blocks(rules) - rules.isolation_blocks,
            homes: Homes::new(order, np, logical),
            newest: vec![At::Nowhere; logical * np],
            was_carried: vec![false; logical * np],
            sw: None,
            rw: Vec::new(),
            head: 0,
            carried_head: 0,
            last: (usize::MAX, 0),
            is_busy: false,
            isolated: Vec::new(),
            trigger: Trigger {
                interval: (np / 4).max(1),
                base: (np / 4).max(1),
                ..Trigger::default()
            },
            allocated: 0,
            uses: Uses::default(),
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
        let others = sw_blocks(self.rules) + self.rules.isolation_blocks;
        self.rw_max = log_blocks.saturating_sub(others).max(1);
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
        self.last = match self.last {
            (last, run) if last.wrapping_add(1) == lpn => (lpn, run + 1),
            _ => (lpn, 1),
        };
        self.is_busy = false;
        if self.rules.merge == Merge::Eager {
            self.merge_progressively();
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
        let by_run = self.rules.sequential == Sequential::Run;
        if let Some(sw) = self.sw.take_if(|sw| by_run && sw.slots.len() == self.np) {
            self.merge_sw(&sw);
        }
        match self.rules.merge {
            Merge::Late if !self.is_busy => self.merge_progressively(),
            Merge::Paced if self.rules.isolation_blocks > 0 => self.trigger_merges(at),
            _ => {}
        }
    }

    /// Blocks of the isolation area that are full and not looked at to their end.
    fn full_isolated(&self) -> usize {
        let end = |at: usize| self.trigger.gone + (at + 1) * self.np;
        let is_full = |&(at, block): &(usize, &Block)| {
            block.slots.len() == self.np && self.trigger.looked_at < end(at)
        };
        self.isolated.iter().enumerate().filter(is_full).count()
    }

    fn isolated_slots(&self) -> usize {
        self.trigger.gone + self.isolated.iter().map(|block| block.slots.len()).sum::<usize>()
    }

    fn trigger_merges(&mut self, at: At) {
        let full = self.full_isolated();
        let sw = self.sw.as_ref().map(|sw| sw.number);
        let is_in_sw = matches!(at, At::Log(number, _) if Some(number) == sw);
        let left = self.trigger.looked_at < self.isolated_slots();
        let mut turns = 0;
        if !self.is_busy && left && self.rules.isolation_blocks - full <= 2 {
            self.trigger.was_crowded = true;
            turns = self.rules.merges_per_write;
        } else if !self.is_busy && full >= 2 && !is_in_sw {
            self.trigger.since_merge += 1;
            if self.trigger.since_merge >= 2 * self.trigger.interval {
                self.trigger.since_merge = 0;
                self.uses.paced += 1;
                turns = self.rules.merges_per_write;
            }
        }
        (0..turns).for_each(|_| self.take_turn());
        self.tune();
    }

    /// Looks at isolated pages up to the first valid one, which is merged, or the end of a block.
    fn take_turn(&mut self) {
        while self.trigger.looked_at < self.isolated_slots() {
            let here = self.trigger.looked_at - self.trigger.gone;
            let (at, slot) = (here / self.np, here % self.np);
            self.trigger.looked_at += 1;
            if self.is_valid(&self.isolated[at], slot) {
                self.isolated[at].merged += 1;
                return self.renew(self.isolated[at].slots[slot] / self.np, 0);
            }
            if slot + 1 == self.np {
                self.uses.passed += 1;
                return;
            }
        }
    }

    fn tune(&mut self) {
        self.trigger.pages += 1;
        let (full, log_pages) =
            (self.full_isolated(), (self.rw_max + sw_blocks(self.rules)) * self.np);
        if self.trigger.pages < log_pages / 8 || full == 0 {
            return;
        }
        let before = self.trigger.interval;
        if self.trigger.base < 2 {
            self.trigger.base = (self.np / 4).max(1);
        }
        if full < 2 {
            self.trigger.interval += 1;
        } else if self.trigger.was_crowded {
            self.trigger.base -= usize::from(self.trigger.base > 1);
            self.trigger.interval = self.trigger.base;
            self.trigger.was_crowded = false;
        }
        self.uses.tuned += u64::from(self.trigger.interval != before);
        self.trigger.pages = 0;
    }

    fn merge_progressively(&mut self) {
        for _ in 0..self.rules.merges_per_write {
            if self.is_merge_due() {
                self.merge_oldest_isolated(self.isolated.len());
            }
        }
    }

    fn is_merge_due(&mut self) -> bool {
        let is_empty = |block: &Block| self.valid_pages(block).is_empty();
        let Some(emptied) = self.isolated.iter().position(|block| !is_empty(block)) else {
            return false;
        };
        let has_room = self.isolated.last().is_some_and(|block| block.slots.len() < self.np);
        let unused = self.rules.isolation_blocks - self.isolated.len();
        let due = self.rules.merge != Merge::Late || unused + usize::from(has_room) + emptied <= 2;
        self.uses.postponed += u64::from(!due);
        due
    }

    /// Whether a page that is not next in the SW block opens a new one.
    fn opens_sw(&self, lpn: usize) -> bool {
        let first = lpn / self.np * self.np;
        match self.rules.sequential {
            Sequential::Never => false,
            Sequential::Offset0 => lpn == first,
            Sequential::Run => {
                let is_owner = self.sw.as_ref().is_some_and(|sw| sw.slots[0] == first);
                let are_mapped = (first..lpn).all(|lpn| self.newest[lpn] != At::Nowhere);
                self.last.1 >= 6 && !is_owner && are_mapped
            }
        }
    }

    /// Opens the SW block for a page, after copying the pages before it.
    fn open_sw(&mut self, lpn: usize) -> At {
        let first = lpn / self.np * self.np;
        let sw = Block { slots: (first..=lpn).collect(), ..self.block() };
        for (slot, page) in (first..lpn).enumerate() {
            self.newest[page] = At::Log(sw.number, slot);
            self.was_carried[page] = false;
            self.counts.copies += 1;
            self.uses.stream_copies += 1;
        }
        let at = At::Log(sw.number, lpn - first);
        self.sw = Some(sw);
        at
    }

    /// Takes a place in the log; none if a block had to be merged or opened first.
    fn log(&mut self, lpn: usize) -> Option<At> {
        let np = self.np;
        let is_next = |sw: &&mut Block| sw.slots.len() < np && sw.slots[0] + sw.slots.len() == lpn;
        if let Some(sw) = self.sw.as_mut().filter(is_next) {
            sw.slots.push(lpn);
            return Some(At::Log(sw.number, sw.slots.len() - 1));
        }
        if self.opens_sw(lpn) {
            match self.sw.take() {
                Some(sw) => self.merge_sw(&sw),
                None => return Some(self.open_sw(lpn)),
            }
            return None;
        }
        let (may_grow, number) = (self.rw.len() < self.rw_max, self.head);
        match self.rw.iter_mut().find(|block| block.number == number) {
            Some(head) if head.slots.len() < np => {
                head.slots.push(lpn);
                return Some(At::Log(head.number, head.slots.len() - 1));
            }
            _ if may_grow => {
                let head = self.block();
                self.head = head.number;
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
        self.is_busy = true;
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
        self.is_busy = true;
        let is_open =
            |block: &Block| block.number == self.carried_head && block.slots.len() < self.np;
        let oldest = self.rw.iter().position(|block| !is_open(block)).unwrap();
        let mut victim = self.rw.remove(oldest);
        let Rules { second_chance, isolation_blocks, .. } = self.rules;
        let is_lost = |&slot: &usize| !self.is_valid(&victim, slot);
        self.saved += (0..victim.carried).filter(is_lost).count() as u64;
        let is_dead = self.valid_pages(&victim).is_empty();
        if is_dead || !second_chance && isolation_blocks == 0 {
            return self.merge_all(&victim);
        }
        let valid = self.valid_pages(&victim);
        let had_chance = valid.iter().any(|&lpn| self.was_carried[lpn]);
        if self.rules.mark_in_place && second_chance && valid.len() == self.np && !had_chance {
            valid.iter().for_each(|&lpn| self.was_carried[lpn] = true);
            self.moved += self.np as u64;
            self.uses.marked += 1;
            victim.carried = self.np;
            return self.rw.push(victim);
        }
        let is_whole = second_chance && valid.len() < self.rules.threshold;
        self.uses.carried_whole += u64::from(is_whole && had_chance);
        let mut merged = 0;
        for lpn in valid {
            let is_last_visit = !is_whole && self.was_carried[lpn] || !second_chance;
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
        for lpn in self.valid_pages(victim) {
            let number = if self.rules.own_blocks { self.carried_head } else { self.head };
            let has_room = |block: &Block| block.number == number && block.slots.len() < self.np;
            let at = self.rw.iter().position(has_room).unwrap_or_else(|| {
                let block = self.block();
                *(if self.rules.own_blocks { &mut self.carried_head } else { &mut self.head }) =
                    block.number;
                self.rw.push(block);
                self.rw.len() - 1
            });
            let head = &mut self.rw[at];
            self.newest[lpn] = At::Log(head.number, head.slots.len());
            head.slots.push(lpn);
            head.carried += 1;
            self.was_carried[lpn] = true;
            self.counts.copies += 1;
            self.moved += 1;
        }
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
            self.trigger.gone += self.np;
            self.trigger.looked_at = self.trigger.looked_at.max(self.trigger.gone);
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
