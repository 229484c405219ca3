//! A naive model of superblock. It implements the rules and searches for everything.

use std::collections::BTreeMap;

use nand::Mode;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, Merges, NaiveCache, Real, What, step};

struct Model {
    np: usize,
    group_pages: usize,
    logical: usize,
    superblock: usize,
    physical: usize,
    open_victims: bool,
    blocks: Vec<Vec<usize>>,
    free: Vec<usize>,
    open: BTreeMap<usize, usize>,
    place: BTreeMap<usize, (usize, usize)>,
    /// For each page, the time of its last program.
    age: BTreeMap<usize, u64>,
    programs: u64,
    cache: NaiveCache,
    counts: Counts,
    merges: Merges,
}

impl Model {
    fn owner(&self, page: usize) -> usize {
        page / self.np / self.superblock
    }

    fn room(&self, superblock: usize) -> usize {
        self.open.get(&superblock).map_or(0, |&block| self.np - self.blocks[block].len())
    }

    fn own(&self, superblock: usize) -> Vec<usize> {
        let is_own = |&block: &usize| {
            self.blocks[block].first().is_some_and(|&page| self.owner(page) == superblock)
        };
        (0..self.blocks.len()).filter(is_own).collect()
    }

    fn is_full(&self, block: usize) -> bool {
        let open = self.open.values().any(|&open| open == block);
        !self.blocks[block].is_empty() && (!open || self.blocks[block].len() == self.np)
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let slots = self.blocks[block].iter().enumerate();
        let valid = slots.filter(|&(slot, page)| self.place.get(page) == Some(&(block, slot)));
        valid.map(|(_, &page)| page).collect()
    }

    fn dead(&self, block: usize) -> usize {
        self.blocks[block].len() - self.valid(block).len()
    }

    fn append(&mut self, page: usize) {
        let superblock = self.owner(page);
        if self.room(superblock) == 0 {
            self.open.insert(superblock, self.free.remove(0));
        }
        let block = self.open[&superblock];
        self.blocks[block].push(page);
        self.place.insert(page, (block, self.blocks[block].len() - 1));
        self.programs += 1;
        self.age.insert(page, self.programs);
    }

    fn empty(&mut self, victim: usize) {
        self.merges[usize::from(!self.valid(victim).is_empty())] += 1;
        self.move_out(victim);
    }

    fn move_out(&mut self, victim: usize) {
        for page in self.valid(victim) {
            self.append(page);
            self.counts.copies += 1;
        }
        self.blocks[victim].clear();
        self.open.retain(|_, open| *open != victim);
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn fewest(&self, superblock: usize) -> Option<(usize, usize)> {
        let full = self.own(superblock).into_iter().filter(|&block| self.is_full(block));
        full.map(|block| (self.valid(block).len(), block)).min()
    }

    fn make_room(&mut self, superblock: usize, pages: usize) {
        loop {
            let (has, room) = (self.own(superblock).len(), self.room(superblock));
            let fewest = self.fewest(superblock).map(|(valid, _)| valid);
            let at_limit = has == self.physical;
            let tight = fewest.is_some_and(|valid| valid < self.np && room <= valid);
            let may_open = !at_limit && self.free.len() > 1;
            let first = superblock * self.superblock;
            let logical = self.superblock.min(self.logical - first);
            if at_limit && tight {
                self.inside(superblock);
            } else if room + if may_open { self.np } else { 0 } >= pages {
                return;
            } else if has > logical {
                self.inside(superblock);
            } else {
                self.over_the_device();
            }
        }
    }

    fn inside(&mut self, superblock: usize) {
        match self.fewest(superblock) {
            Some((0, _)) => {
                while let Some((0, block)) = self.fewest(superblock) {
                    self.empty(block);
                }
            }
            Some((valid, block)) if valid <= self.room(superblock) => self.empty(block),
            _ => self.merge_fully(superblock),
        }
    }

    fn over_the_device(&mut self) {
        let candidate = |&block: &usize| -> bool {
            let Some(&page) = self.blocks[block].first() else { return false };
            let dead_open = self.open_victims && self.valid(block).is_empty();
            let fits = self.valid(block).len() <= self.room(self.owner(page));
            if self.is_full(block) { fits } else { dead_open }
        };
        let blocks = (0..self.blocks.len()).filter(candidate);
        if let Some(victim) = blocks.min_by_key(|&block| (self.valid(block).len(), block)) {
            let superblock = self.owner(self.blocks[victim][0]);
            if self.open.get(&superblock) == Some(&victim) {
                self.open.remove(&superblock);
            }
            return self.empty(victim);
        }
        let last = self.logical.div_ceil(self.superblock);
        let dead = |superblock: usize| -> usize {
            self.own(superblock).into_iter().map(|block| self.dead(block)).sum()
        };
        let superblock = (0..last).min_by_key(|&s| (usize::MAX - dead(s), s)).unwrap();
        if self.open_victims && self.room(superblock) > 0 {
            let open = self.open[&superblock];
            let mut full = self.own(superblock);
            full.retain(|&block| self.is_full(block));
            full.sort_by_key(|&block| (self.valid(block).len(), block));
            if self.dead(open) > full.get(1).map_or(0, |&block| self.dead(block)) {
                self.open.remove(&superblock);
            }
        }
        self.merge_fully(superblock);
    }

    fn merge_fully(&mut self, superblock: usize) {
        let mut own = self.own(superblock);
        own.retain(|&block| self.is_full(block) && self.valid(block).len() < self.np);
        own.sort_by_key(|&block| (self.valid(block).len(), block));
        own.truncate(2);
        if own.len() < 2 && self.room(superblock) > 0 {
            own.extend(self.open.remove(&superblock));
        }
        self.merges[2] += 1;
        own.into_iter().for_each(|block| self.move_out(block));
    }

    fn mapped(&self, lbn: usize) -> Vec<usize> {
        self.place.range(lbn * self.np..(lbn + 1) * self.np).map(|(&page, _)| page).collect()
    }

    fn group(&self, page: usize) -> usize {
        page % self.np / self.group_pages
    }

    /// A miss reads a spare area for each group that has pages.
    fn look_up(&mut self, lbn: usize) {
        let mut groups: Vec<usize> = self.mapped(lbn).iter().map(|&p| self.group(p)).collect();
        groups.dedup();
        if !self.cache.touch(lbn) {
            self.counts.spare_reads += groups.len() as u64;
        }
    }

    fn newest(&self, pages: &[usize]) -> Option<usize> {
        pages.iter().copied().max_by_key(|page| self.age[page])
    }

    fn anchors(&self, lbn: usize, gone: &[usize]) -> Vec<usize> {
        let all = self.mapped(lbn);
        let mut anchors = Vec::new();
        for pages in all.chunk_by(|&a, &b| self.group(a) == self.group(b)) {
            let lost = self.newest(pages).is_some_and(|page| gone.contains(&page));
            let left = pages.iter().copied().find(|page| !gone.contains(page));
            anchors.extend(left.filter(|_| lost));
        }
        let lost = self.newest(&all).is_some_and(|page| gone.contains(&page));
        if anchors.is_empty() && lost {
            anchors.extend(all.into_iter().find(|page| !gone.contains(page)));
        }
        anchors
    }

    fn trim(&mut self, pages: &[usize]) {
        let lbn = pages[0] / self.np;
        if self.mapped(lbn).is_empty() {
            return;
        }
        self.look_up(lbn);
        if !self.anchors(lbn, pages).is_empty() {
            self.make_room(self.owner(pages[0]), 2);
        }
        for page in self.anchors(lbn, pages) {
            self.append(page);
            self.counts.map_copies += 1;
        }
        pages.iter().for_each(|page| _ = self.place.remove(page));
    }

    fn write(&mut self, page: usize, partial: bool) {
        self.make_room(self.owner(page), 1);
        self.counts.rmw += u64::from(partial && self.place.contains_key(&page));
        self.append(page);
        self.counts.host += 1;
    }
}

fn agree(params: &str, np: usize, [n, m, logical, extra, cached]: [usize; 5], mode: Mode) -> Model {
    let spec = format!("superblock:blocks={n},physical={},map_cache={cached}{params}", n + m);
    let mut real = Real::new(&spec, np, logical as u32, extra as u32, mode);
    let mut model = Model {
        np,
        group_pages: np.div_ceil(4),
        logical,
        superblock: n,
        physical: n + m,
        open_victims: params.contains("true"),
        blocks: vec![Vec::new(); logical + extra],
        free: (0..logical + extra).collect(),
        open: BTreeMap::new(),
        place: BTreeMap::new(),
        age: BTreeMap::new(),
        programs: 0,
        cache: NaiveCache::new(cached),
        counts: Counts::default(),
        merges: [0; 3],
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(30);
    for round in 0..2500 {
        let step = step(&mut rng, np, logical * np);
        step.run_on(&mut real);
        let pages: Vec<usize> = (step.first..step.first + step.pages).collect();
        for portion in pages.chunk_by(|a, b| a / np == b / np) {
            let lbn = portion[0] / np;
            match step.what {
                What::Trim => model.trim(portion),
                What::Read if model.mapped(lbn).is_empty() => {}
                What::Read => model.look_up(lbn),
                What::Write => {
                    model.look_up(lbn);
                    for &page in portion {
                        model.write(page, step.is_partial(page - step.first));
                    }
                }
            }
        }
        assert_eq!(real.counts(), model.counts, "{spec}, Np {np}, step {round}");
        assert_eq!(real.merges(), model.merges, "{spec}, Np {np}, step {round}");
    }
    model
}

#[test]
fn superblock_counts_as_the_naive_model_counts() {
    for (params, np, sizes) in [
        ("", 4, [4, 4, 12, 2, 4]),
        ("", 4, [4, 4, 12, 8, 9]),
        ("", 4, [2, 1, 12, 12, 3]),
        ("", 4, [1, 7, 12, 5, 1]),
        ("", 4, [7, 1, 14, 6, 3]),
        ("", 6, [3, 5, 11, 3, 4]),
        ("", 16, [4, 4, 12, 3, 4]),
        (",open_victims=true", 4, [4, 4, 12, 3, 4]),
        (",open_victims=true", 4, [2, 6, 12, 2, 4]),
    ] {
        let model = agree(params, np, sizes, Mode::Count);
        let counts = model.counts;
        assert!(counts.copies > 300 && counts.spare_reads > 100, "{sizes:?}: {counts:?}");
        assert!(counts.map_copies > 20, "trims should remove newest pages: {counts:?}");
    }
}

/// The audit follows all spare areas after every step, and the counts are the same.
#[test]
fn superblock_counts_the_same_with_spare_areas() {
    for (np, sizes) in [(4, [4, 4, 12, 2, 4]), (4, [2, 1, 12, 12, 3]), (64, [4, 4, 12, 4, 4])] {
        agree("", np, sizes, Mode::Stamps);
    }
}
