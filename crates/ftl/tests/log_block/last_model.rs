//! A naive model of last. It keeps no index: it searches for victims, and examines every page to
//! find the contents of a block.

use core::ops::Range;

use crate::device::{Counts, Model};

/// A form of last, and the device on which it is tested.
#[derive(Clone, Copy)]
pub struct Form {
    pub spec: &'static str,
    pub extra: u32,
    pub np: u32,
    /// Number of log blocks, and how many of them are sequential at first.
    pub log: u32,
    pub sequential: u32,
    pub threshold_pages: usize,
    pub adapt: bool,
    pub adaptive: bool,
    pub streams: bool,
}

/// Where the newest version of a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    Nowhere,
    Home,
    /// In the sequential log block of its logical block.
    Sequential,
    /// In a slot of the random log block with this number.
    Random(u64, usize),
}

struct NaiveSequential {
    lbn: usize,
    /// For each offset, whether its page was written or copied; otherwise it was skipped.
    given: Vec<bool>,
    written: u64,
}

struct NaiveRandom {
    number: u64,
    hot: bool,
    /// The page in each slot, and when it was written.
    slots: Vec<(usize, u64)>,
}

pub struct Naive {
    form: Form,
    order: &'static str,
    np: usize,
    /// Which pages of each data block are programmed.
    homes: Vec<Option<Vec<bool>>>,
    newest: Vec<At>,
    /// The random log blocks, in the order of their allocation.
    sequential: Vec<NaiveSequential>,
    random: Vec<NaiveRandom>,
    pub sequential_most: usize,
    log_most: usize,
    pub k: u64,
    pub hot_most: usize,
    /// Counters: pages written to the random log, host pages, and blocks opened in the random log.
    clock: u64,
    writes: u64,
    opened: u64,
    due: u64,
    /// State at the end of the last interval: the number of dead hot blocks; then, for the hot and
    /// the cold partition, the numbers of valid pages and of all pages.
    before: (usize, [(u64, u64); 2]),
    /// The ends of streams, and the number of pages in each.
    ends: Vec<(usize, usize)>,
    until_resize: usize,
    ghosts: Vec<(usize, usize)>,
    hits: [i64; 16],
    last_victim: Vec<usize>,
    saved: i64,
    pub counts: Counts,
    pub figures: OwnFigures,
}

/// Counts that only last has.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
pub struct OwnFigures {
    /// Pages written to the sequential log, and to the hot and the cold partition.
    pub localities: [u64; 3],
    /// Dead hot, old hot and cold victims.
    pub victims: [u64; 3],
    pub filled_in: u64,
    /// Merges of sequential blocks: switch, partial, full and dead.
    pub sequential_merges: [u64; 4],
    /// Merges of random blocks: full and dead.
    pub random_merges: [u64; 2],
    /// Full merges of random victims, by number of associated data blocks.
    pub by_degree: Vec<u64>,
}

impl Naive {
    pub fn new(form: Form, order: &'static str, logical: usize) -> Naive {
        let np = form.np as usize;
        let random = (form.log - form.sequential) as usize;
        Naive {
            form,
            order,
            np,
            homes: vec![None; logical],
            newest: vec![At::Nowhere; logical * np],
            sequential: Vec::new(),
            random: Vec::new(),
            sequential_most: form.sequential as usize,
            log_most: form.log as usize,
            k: (random * np / 2) as u64,
            hot_most: random / 2,
            clock: 0,
            writes: 0,
            opened: 0,
            due: (random * np) as u64,
            before: (0, [(0, 0); 2]),
            ends: Vec::new(),
            until_resize: form.log as usize * np,
            ghosts: Vec::new(),
            hits: [0; 16],
            last_victim: Vec::new(),
            saved: 0,
            counts: Counts::default(),
            figures: OwnFigures::default(),
        }
    }

    fn random_most(&self) -> usize {
        self.log_most - self.sequential_most
    }

    // ---- Writing --------------------------------------------------------------------------------

    fn is_sequential(&mut self, pages: Range<usize>) -> bool {
        let large = pages.len() > self.form.threshold_pages && pages.len() > 1;
        if !self.form.streams {
            return large;
        }
        let continued = self.ends.iter().position(|&(next, _)| next == pages.start);
        let before = continued.map(|at| self.ends.remove(at).1);
        self.ends.retain(|&(next, _)| next != pages.end);
        self.ends.push((pages.end, before.unwrap_or(0) + pages.len()));
        large || before.is_some_and(|before| before + pages.len() > self.form.threshold_pages)
    }

    fn goes_home(&self, lbn: usize, offset: usize) -> bool {
        let empty = vec![false; self.np];
        let programmed = self.homes[lbn].as_ref().unwrap_or(&empty);
        match self.order {
            "any" => !programmed[offset],
            "ascending" => !programmed[offset..].contains(&true),
            _ => programmed.iter().position(|&is| !is) == Some(offset),
        }
    }

    fn is_hot(&self, lpn: usize) -> bool {
        let At::Random(number, slot) = self.newest[lpn] else { return false };
        let block = self.random.iter().find(|block| block.number == number).unwrap();
        block.hot || self.clock + 1 - block.slots[slot].1 < self.k
    }

    fn write_page(&mut self, lpn: usize, partial: bool, sequential: bool) {
        let (lbn, offset) = (lpn / self.np, lpn % self.np);
        let hot = self.is_hot(lpn);
        self.writes += 1;
        let at = loop {
            if self.goes_home(lbn, offset) {
                let np = self.np;
                self.homes[lbn].get_or_insert_with(|| vec![false; np])[offset] = true;
                self.counts.in_place += 1;
                break At::Home;
            }
            let at = match sequential {
                true => self.try_sequential(lbn, offset),
                false => self.try_random(lpn, hot),
            };
            if let Some(at) = at {
                break at;
            }
        };
        self.counts.rmw += u64::from(partial && self.newest[lpn] != At::Nowhere);
        self.newest[lpn] = at;
        self.counts.host += 1;
        if matches!(at, At::Random(..)) && self.clock == self.due {
            self.regulate();
        }
        if at != At::Home && self.form.adaptive {
            self.resize();
        }
    }

    fn try_sequential(&mut self, lbn: usize, offset: usize) -> Option<At> {
        let own = self.sequential.iter().position(|block| block.lbn == lbn);
        match own {
            Some(own) if self.sequential[own].given.len() <= offset => {
                self.fill_in(own, offset);
                self.sequential[own].given.push(true);
                self.sequential[own].written = self.writes;
                self.figures.localities[0] += 1;
                return Some(At::Sequential);
            }
            Some(own) => drop(self.merge_sequential(own)),
            None if self.sequential.len() >= self.sequential_most => self.spare_sequential(),
            None if self.sequential.len() + self.random.len() == self.log_most => {
                let victim = self.victim_of_both();
                self.merge_random(victim);
            }
            None => {
                if let Some(at) = self.ghosts.iter().position(|ghost| ghost.0 == lbn) {
                    let (_, end) = self.ghosts.remove(at);
                    self.hits[at] += i64::from(end <= offset);
                }
                let written = self.writes;
                self.sequential.push(NaiveSequential { lbn, given: Vec::new(), written });
            }
        }
        None
    }

    fn fill_in(&mut self, own: usize, offset: usize) {
        let NaiveSequential { lbn, given, .. } = &mut self.sequential[own];
        for missing in given.len()..offset {
            let newest = &mut self.newest[*lbn * self.np + missing];
            let holds = *newest != At::Nowhere;
            given.push(holds);
            if holds {
                *newest = At::Sequential;
                self.counts.copies += 1;
                self.figures.filled_in += 1;
            } else if self.order == "sequential" {
                self.counts.padding += 1;
            }
        }
    }

    fn try_random(&mut self, lpn: usize, hot: bool) -> Option<At> {
        let is_open = |block: &NaiveRandom| block.hot == hot && block.slots.len() < self.np;
        if let Some(open) = self.random.iter().position(is_open) {
            self.clock += 1;
            self.random[open].slots.push((lpn, self.clock));
            self.figures.localities[if hot { 1 } else { 2 }] += 1;
            return Some(At::Random(self.random[open].number, self.random[open].slots.len() - 1));
        }
        let blocks = self.random.iter().filter(|block| block.hot == hot).count();
        let most = if hot { self.hot_most } else { self.random_most() - 1 };
        if blocks >= most {
            let victim =
                if hot { self.dead_hot().or(self.oldest_hot()) } else { self.cheap_cold() };
            self.merge_random(victim.unwrap());
        } else if self.random.len() >= self.random_most() {
            let victim = self.victim_of_both();
            self.merge_random(victim);
        } else if self.sequential.len() + self.random.len() == self.log_most {
            self.spare_sequential();
        } else {
            self.opened += 1;
            self.random.push(NaiveRandom { number: self.opened, hot, slots: Vec::new() });
        }
        None
    }

    // ---- Victims --------------------------------------------------------------------------------

    fn valid(&self, block: &NaiveRandom) -> Vec<usize> {
        let is_valid =
            |&slot: &usize| self.newest[block.slots[slot].0] == At::Random(block.number, slot);
        let slots = (0..block.slots.len()).filter(is_valid);
        let mut pages: Vec<usize> = slots.map(|slot| block.slots[slot].0).collect();
        pages.sort_unstable();
        pages
    }

    fn degree(&self, block: &NaiveRandom) -> usize {
        let mut lbns: Vec<usize> = self.valid(block).iter().map(|lpn| lpn / self.np).collect();
        lbns.dedup();
        lbns.len()
    }

    fn full(&self, hot: bool) -> impl Iterator<Item = usize> + '_ {
        let is_full = move |block: &NaiveRandom| block.hot == hot && block.slots.len() == self.np;
        (0..self.random.len()).filter(move |&n| is_full(&self.random[n]))
    }

    fn dead_hot(&self) -> Option<usize> {
        self.full(true).find(|&n| self.degree(&self.random[n]) == 0)
    }

    fn oldest_hot(&self) -> Option<usize> {
        self.full(true).min_by_key(|&n| self.random[n].slots[self.np - 1].1)
    }

    fn cheap_cold(&self) -> Option<usize> {
        self.full(false).min_by_key(|&n| self.degree(&self.random[n]))
    }

    fn victim_of_both(&self) -> usize {
        let old = 4 * (self.random_most() * self.np) as u64;
        let is_old = |&n: &usize| self.clock - self.random[n].slots[self.np - 1].1 > old;
        let hot = self.dead_hot().or(self.oldest_hot().filter(is_old));
        hot.or(self.cheap_cold()).or(self.oldest_hot()).unwrap()
    }

    // ---- Merging --------------------------------------------------------------------------------

    fn spare_sequential(&mut self) {
        let is_whole = |block: &NaiveSequential| {
            let pages = block.lbn * self.np..(block.lbn + 1) * self.np;
            self.newest[pages].iter().all(|&at| at == At::Sequential)
        };
        let whole = self.sequential.iter().position(is_whole);
        let oldest = || (0..self.sequential.len()).min_by_key(|&n| self.sequential[n].written);
        let victim = whole.or_else(oldest).unwrap();
        let (lbn, end) = (self.sequential[victim].lbn, self.sequential[victim].given.len());
        if self.merge_sequential(victim) == "partial" {
            self.ghosts.insert(0, (lbn, end));
            self.ghosts.truncate(16);
        }
    }

    fn merge_sequential(&mut self, victim: usize) -> &'static str {
        let NaiveSequential { lbn, given, .. } = self.sequential.remove(victim);
        let base = lbn * self.np;
        let at = |offset: usize| self.newest[base + offset];
        let is_valid = |offset: &usize| at(*offset) == At::Sequential;
        let is_broken = |offset: &usize| match given[*offset] {
            true => at(*offset) != At::Sequential,
            false => at(*offset) == At::Home,
        };
        let kind = match (0..given.len()).any(|offset| is_valid(&offset)) {
            false => "dead",
            true if (0..given.len()).any(|offset| is_broken(&offset)) => "full",
            true if given.len() == self.np => "switch",
            true => "partial",
        };
        let at = ["switch", "partial", "full", "dead"].iter().position(|&name| name == kind);
        self.figures.sequential_merges[at.unwrap()] += 1;
        let merges = &mut self.counts.merges;
        match kind {
            "dead" => {
                merges.dead += 1;
                self.counts.erases += 1;
            }
            "full" => {
                merges.full += 1;
                self.note_degree(1);
                self.counts.erases += 1;
                self.gather(lbn, Vec::new());
            }
            "switch" => {
                merges.switch += 1;
                self.gather(lbn, given);
            }
            _ => {
                merges.partial += 1;
                self.gather(lbn, given);
            }
        }
        kind
    }

    fn merge_random(&mut self, victim: usize) {
        let block = self.random.remove(victim);
        let pages = self.valid(&block);
        let mut lbns: Vec<usize> = pages.iter().map(|lpn| lpn / self.np).collect();
        lbns.dedup();
        let kind = if block.hot { usize::from(!pages.is_empty()) } else { 2 };
        self.figures.victims[kind] += 1;
        self.judge_last_victim(pages);
        self.counts.erases += 1;
        if lbns.is_empty() {
            self.counts.merges.dead += 1;
            self.figures.random_merges[1] += 1;
            return;
        }
        lbns.iter().for_each(|&lbn| self.gather(lbn, Vec::new()));
        self.counts.merges.full += 1;
        self.figures.random_merges[0] += 1;
        self.note_degree(lbns.len());
        let degrees = &mut self.figures.by_degree;
        degrees.resize(degrees.len().max(lbns.len() + 1), 0);
        degrees[lbns.len()] += 1;
    }

    fn note_degree(&mut self, degree: usize) {
        let degrees = &mut self.counts.merges.associated_blocks;
        degrees.resize(degrees.len().max(degree + 1), 0);
        degrees[degree] += 1;
    }

    /// Copies the remaining pages of a logical block into its new data block.
    fn gather(&mut self, lbn: usize, given: Vec<bool>) {
        let base = lbn * self.np;
        let is_sequential_chip = self.order == "sequential";
        let mut fresh: Vec<bool> = given.iter().map(|&given| given || is_sequential_chip).collect();
        let from = fresh.len();
        fresh.resize(self.np, false);
        let mut filled = from;
        for offset in from..self.np {
            if self.newest[base + offset] != At::Nowhere {
                if is_sequential_chip {
                    self.counts.padding += (offset - filled) as u64;
                    fresh[filled..offset].fill(true);
                }
                fresh[offset] = true;
                filled = offset + 1;
                self.counts.copies += 1;
                self.newest[base + offset] = At::Home;
            }
        }
        for at in &mut self.newest[base..base + from] {
            *at = if *at == At::Sequential { At::Home } else { *at };
        }
        self.counts.erases += u64::from(self.homes[lbn].is_some());
        self.homes[lbn] = Some(fresh);
    }

    // ---- Adaptation -----------------------------------------------------------------------------

    fn use_of(&self, hot: bool) -> (u64, u64) {
        let side = || self.random.iter().filter(|block| block.hot == hot);
        let valid: usize = side().map(|block| self.valid(block).len()).sum();
        (valid as u64, (side().count() * self.np) as u64)
    }

    fn regulate(&mut self) {
        let dead = self.full(true).filter(|&n| self.degree(&self.random[n]) == 0).count();
        let now = (dead, [self.use_of(true), self.use_of(false)]);
        let before = core::mem::replace(&mut self.before, now);
        self.due += (self.random_most() * self.np) as u64;
        if !self.form.adapt {
            return;
        }
        let ratio =
            |(valid, pages): (u64, u64)| if pages == 0 { 0.0 } else { valid as f64 / pages as f64 };
        let np = self.np as u64;
        let k_most = self.random_most() as u64 * np;
        if dead > before.0 {
            self.hot_most = (self.hot_most - 1).max(1);
        } else if dead < before.0 && ratio(now.1[0]) > ratio(before.1[0]) {
            self.hot_most = (self.hot_most + 1).min(self.random_most() - 1);
        } else if dead < before.0 {
            self.k = self.k.saturating_sub(np).max(1);
        }
        if ratio(now.1[1]) < ratio(before.1[1]) {
            self.k = (self.k + np).min(k_most);
        }
    }

    fn judge_last_victim(&mut self, pages: Vec<usize>) {
        let mut lbns: Vec<usize> = self.last_victim.iter().map(|lpn| lpn / self.np).collect();
        lbns.dedup();
        let went = |lbn: &&usize| {
            let pages = self.last_victim.iter().filter(|&lpn| lpn / self.np == **lbn);
            pages.clone().all(|&lpn| self.newest[lpn] != At::Home)
        };
        self.saved += lbns.iter().filter(went).count() as i64;
        self.last_victim = pages;
    }

    fn resize(&mut self) {
        self.until_resize -= 1;
        if self.until_resize > 0 {
            return;
        }
        self.until_resize = self.log_most * self.np;
        let earned = |blocks: usize| self.hits[..blocks].iter().sum::<i64>() as f64 / blocks as f64;
        let best = (1..=16).map(earned).fold(0.0, f64::max);
        if best > self.saved as f64 {
            self.sequential_most = (self.sequential_most + 1).min(self.log_most - 2);
        } else if best < self.saved as f64 {
            self.sequential_most = (self.sequential_most - 1).max(1);
        }
        (self.hits, self.saved) = ([0; 16], 0);
        self.hot_most = self.hot_most.min(self.random_most() - 1);
        self.k = self.k.min((self.random_most() * self.np) as u64);
    }
}

impl Model for Naive {
    fn shape(&self) -> (usize, usize) {
        (self.newest.len(), self.np)
    }

    fn write(&mut self, pages: Range<usize>, ends_in_part: bool) {
        let sequential = self.is_sequential(pages.clone());
        for lpn in pages.clone() {
            let at_end = lpn == pages.start || lpn + 1 == pages.end;
            self.write_page(lpn, at_end && ends_in_part, sequential);
        }
    }

    fn trim(&mut self, pages: Range<usize>) {
        self.newest[pages].fill(At::Nowhere);
    }
}
