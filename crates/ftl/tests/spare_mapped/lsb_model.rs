//! A naive model of lsb. It implements the rules and searches for everything.
//!
//! The scheme keeps bits that say which pages were written after a PT page. The model keeps the
//! actual contents of each PT page instead, and compares them with the places of the pages.

use std::collections::{BTreeMap, BTreeSet};

use nand::Mode;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, Merges, NaiveCache, Real, What, step};

type Place = (usize, usize);

/// The contents of a PT page: its own place, and the places of the pages of its group when it was
/// written.
#[derive(Clone)]
struct Table {
    page: usize,
    place: Place,
    says: BTreeMap<usize, Place>,
}

struct Model {
    np: usize,
    logical: usize,
    groups: usize,
    group_pages: usize,
    superblock: usize,
    blocks: Vec<Vec<usize>>,
    free: Vec<usize>,
    open: BTreeMap<usize, usize>,
    place: BTreeMap<usize, Place>,
    /// For each logical block and group: the page written last, and the PT page.
    carrier: BTreeMap<(usize, usize), usize>,
    table: BTreeMap<(usize, usize), Table>,
    directory: BTreeMap<usize, usize>,
    cache: NaiveCache,
    counts: Counts,
    merges: Merges,
    induced: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum As {
    Host,
    Gc,
    Map,
}

impl Model {
    fn group(&self, page: usize) -> (usize, usize) {
        (page / self.np, page % self.np / self.group_pages)
    }

    fn others(&self, page: usize) -> Vec<usize> {
        let lbn = page / self.np;
        let all = lbn * self.np..(lbn + 1) * self.np;
        all.filter(|&other| self.group(other) == self.group(page) && other != page).collect()
    }

    fn owner(&self, page: usize) -> usize {
        page / self.np / self.superblock
    }

    fn room(&self, superblock: usize) -> usize {
        self.open.get(&superblock).map_or(0, |&block| self.np - self.blocks[block].len())
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let slots = self.blocks[block].iter().enumerate();
        let valid = slots.filter(|&(slot, page)| self.place.get(page) == Some(&(block, slot)));
        let mut pages: Vec<usize> = valid.map(|(_, &page)| page).collect();
        pages.sort_unstable();
        pages
    }

    fn next_block(&mut self, superblock: usize) -> usize {
        if self.room(superblock) == 0 {
            self.open.insert(superblock, self.free.remove(0));
        }
        self.open[&superblock]
    }

    fn append(&mut self, page: usize, how: As) {
        let block = self.next_block(self.owner(page));
        self.blocks[block].push(page);
        self.place.insert(page, (block, self.blocks[block].len() - 1));
        match how {
            As::Host => self.counts.host += 1,
            As::Gc => self.counts.copies += 1,
            As::Map => self.counts.map_copies += 1,
        }
    }

    fn become_table(&mut self, page: usize, but: Option<usize>) {
        let group = self.group(page);
        let known = self.others(page).into_iter().filter(|&other| Some(other) != but);
        let says = known.filter_map(|other| Some((other, *self.place.get(&other)?))).collect();
        let place = self.place[&page];
        self.table.insert(group, Table { page, place, says });
        self.carrier.insert(group, page);
    }

    /// The PT page of a group, if it can still be used while `but` is written.
    fn serving(&self, group: (usize, usize), but: usize) -> Option<&Table> {
        let table = self.table.get(&group)?;
        let serves = self.place.get(&table.page) == Some(&table.place) && table.page != but;
        serves.then_some(table)
    }

    /// The places to which a PMD page refers if it is written alone.
    fn references(&self, page: usize) -> Vec<Place> {
        let (lbn, own) = self.group(page);
        let groups = (0..self.groups).filter(|&group| group != own);
        let carriers = groups.filter_map(|group| self.carrier.get(&(lbn, group)));
        let mut places: Vec<Place> = carriers.map(|carrier| self.place[carrier]).collect();
        for other in self.others(page) {
            let Some(&place) = self.place.get(&other) else { continue };
            let table = self.serving((lbn, own), page);
            let through = table.filter(|t| t.page == other || t.says.get(&other) == Some(&place));
            places.push(through.map_or(place, |table| table.place));
        }
        places
    }

    fn portion(&mut self, pages: &[usize], how: As) {
        let (&last, before) = pages.split_last().unwrap();
        for (at, &page) in before.iter().enumerate() {
            self.append(page, how);
            let next = pages[at + 1];
            if self.group(next) != self.group(page) {
                self.become_table(page, None);
            } else if next == last {
                self.become_table(page, Some(last));
            }
        }
        let alone = before.last().is_none_or(|&page| self.group(page) != self.group(last));
        if alone {
            self.induce(last);
        }
        self.append(last, how);
        self.carrier.insert(self.group(last), last);
        self.directory.insert(last / self.np, last);
    }

    fn induce(&mut self, page: usize) {
        let block = self.next_block(self.owner(page));
        let blocks: BTreeSet<usize> = self.references(page).iter().map(|place| place.0).collect();
        if blocks.iter().filter(|&&other| other != block).count() <= self.groups {
            return;
        }
        let old = self.serving(self.group(page), page).map(|table| table.page);
        let lowest = || self.others(page).into_iter().find(|p| self.place.contains_key(p)).unwrap();
        let table = old.unwrap_or_else(lowest);
        self.induced += 1;
        self.append(table, As::Map);
        self.become_table(table, Some(page));
    }

    /// The number of pages, plus one for each logical block whose last group has only one of these
    /// pages.
    fn needs(&self, pages: &[usize]) -> usize {
        let ends = pages.iter().enumerate().filter(|&(at, page)| {
            let is_last = pages.get(at + 1).is_none_or(|next| next / self.np != page / self.np);
            let is_alone = at == 0 || self.group(pages[at - 1]) != self.group(*page);
            is_last && is_alone && !self.others(*page).is_empty()
        });
        pages.len() + ends.count()
    }

    fn make_room(&mut self, superblock: usize, pages: usize) {
        loop {
            let missing = pages.saturating_sub(self.room(superblock));
            if missing == 0 || self.free.len() >= 2 + missing.div_ceil(self.np) {
                return;
            }
            self.collect();
        }
    }

    fn is_full(&self, block: usize) -> bool {
        let open = self.open.values().any(|&open| open == block);
        !self.blocks[block].is_empty() && (!open || self.blocks[block].len() == self.np)
    }

    fn has(&self, superblock: usize, block: usize) -> bool {
        self.blocks[block].first().is_some_and(|&page| self.owner(page) == superblock)
    }

    fn collect(&mut self) {
        let full: Vec<usize> = (0..self.blocks.len()).filter(|&b| self.is_full(b)).collect();
        let fits = |block: &&usize| {
            let valid = self.valid(**block);
            self.needs(&valid) <= self.room(self.owner(self.blocks[**block][0]))
        };
        let best = full.iter().filter(fits).min_by_key(|&&b| (self.valid(b).len(), b));
        if let Some(&victim) = best {
            self.merges[usize::from(!self.valid(victim).is_empty())] += 1;
            return self.empty(victim);
        }
        let dead = |superblock: usize| -> usize {
            let own = (0..self.blocks.len()).filter(|&b| self.has(superblock, b));
            own.map(|b| self.blocks[b].len() - self.valid(b).len()).sum()
        };
        let last = self.logical.div_ceil(self.superblock);
        let superblock = (0..last).min_by_key(|&s| (usize::MAX - dead(s), s)).unwrap();
        let mut own: Vec<usize> = full.into_iter().filter(|&b| self.has(superblock, b)).collect();
        own.retain(|&b| self.valid(b).len() < self.np);
        own.sort_by_key(|&b| (self.valid(b).len(), b));
        own.truncate(2);
        if own.len() < 2 && self.room(superblock) > 0 {
            own.extend(self.open.remove(&superblock));
        }
        self.merges[2] += 1;
        for (at, victim) in own.into_iter().enumerate() {
            let room = self.room(superblock) + self.free.len() * self.np;
            if at == 0 || self.needs(&self.valid(victim)) <= room {
                self.empty(victim);
            }
        }
    }

    fn empty(&mut self, victim: usize) {
        let (pages, np) = (self.valid(victim), self.np);
        for portion in pages.chunk_by(|a, b| a / np == b / np) {
            self.portion(portion, As::Gc);
        }
        self.blocks[victim].clear();
        self.open.retain(|_, open| *open != victim);
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn mapped(&self, lbn: usize) -> Vec<usize> {
        self.place.range(lbn * self.np..(lbn + 1) * self.np).map(|(&page, _)| page).collect()
    }

    /// Number of distinct PMD and PT pages on the chains of a logical block.
    fn spares(&self, lbn: usize) -> u64 {
        let mut read = BTreeSet::new();
        for page in self.mapped(lbn) {
            let group = self.group(page);
            let carrier = self.carrier[&group];
            read.extend([self.directory[&lbn], carrier]);
            let Some(table) = self.serving(group, usize::MAX) else { continue };
            let through = table.says.get(&page) == self.place.get(&page) && carrier != table.page;
            if through && page != carrier {
                read.insert(table.page);
            }
        }
        read.len() as u64
    }

    fn look_up(&mut self, lbn: usize) {
        if !self.cache.touch(lbn) {
            self.counts.spare_reads += self.spares(lbn);
        }
    }

    fn anchors(&self, lbn: usize, gone: &[usize]) -> Vec<usize> {
        let left = |page: &usize| !gone.contains(page);
        let mut anchors = Vec::new();
        for group in 0..self.groups {
            let pages: Vec<usize> =
                self.mapped(lbn).into_iter().filter(|&p| self.group(p) == (lbn, group)).collect();
            let Some(&lowest) = pages.iter().find(|page| left(page)) else { continue };
            let lost_table = self.serving((lbn, group), usize::MAX).is_some_and(|table| {
                let uses = |page: &usize| table.says.get(page) == self.place.get(page);
                !left(&table.page) && pages.iter().any(|page| left(page) && uses(page))
            });
            if lost_table || !left(&self.carrier[&(lbn, group)]) {
                anchors.push(lowest);
            }
        }
        if anchors.is_empty() && !left(&self.directory[&lbn]) {
            anchors.extend(self.mapped(lbn).into_iter().find(left));
        }
        anchors
    }

    fn trim(&mut self, pages: &[usize]) {
        let lbn = pages[0] / self.np;
        if self.mapped(lbn).is_empty() {
            return;
        }
        self.look_up(lbn);
        let anchors = loop {
            let anchors = self.anchors(lbn, pages);
            let needs = self.needs(&anchors);
            let missing = needs.saturating_sub(self.room(lbn / self.superblock));
            if missing == 0 || self.free.len() >= 2 + missing.div_ceil(self.np) {
                break anchors;
            }
            self.collect();
        };
        pages.iter().for_each(|page| _ = self.place.remove(page));
        let left = self.mapped(lbn);
        self.carrier.retain(|&group, _| {
            group.0 != lbn
                || left.iter().any(|page| (lbn, page % self.np / self.group_pages) == group)
        });
        if !anchors.is_empty() {
            self.portion(&anchors, As::Map);
        }
    }

    fn write(&mut self, pages: &[usize], is_partial: impl Fn(usize) -> bool) {
        self.look_up(pages[0] / self.np);
        self.make_room(self.owner(pages[0]), self.needs(pages));
        let partial = |page: &&usize| is_partial(**page) && self.place.contains_key(page);
        self.counts.rmw += pages.iter().filter(partial).count() as u64;
        self.portion(pages, As::Host);
    }
}

fn agree(blocks: usize, np: usize, groups: usize, sizes: [usize; 3], mode: Mode) -> (Counts, u64) {
    let [logical, extra, cached] = sizes;
    let spec = format!("lsb:blocks={blocks},groups={groups},map_cache={cached}");
    let mut real = Real::new(&spec, np, logical as u32, extra as u32, mode);
    let mut model = Model {
        np,
        logical,
        groups,
        group_pages: np / groups,
        superblock: blocks,
        blocks: vec![Vec::new(); logical + extra],
        free: (0..logical + extra).collect(),
        open: BTreeMap::new(),
        place: BTreeMap::new(),
        carrier: BTreeMap::new(),
        table: BTreeMap::new(),
        directory: BTreeMap::new(),
        cache: NaiveCache::new(cached),
        counts: Counts::default(),
        merges: [0; 3],
        induced: 0,
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(20);
    for round in 0..2500 {
        let step = step(&mut rng, np, logical * np);
        step.run_on(&mut real);
        let pages: Vec<usize> = (step.first..step.first + step.pages).collect();
        for portion in pages.chunk_by(|a, b| a / np == b / np) {
            match step.what {
                What::Trim => model.trim(portion),
                What::Write => model.write(portion, |page| step.is_partial(page - step.first)),
                What::Read if model.mapped(portion[0] / np).is_empty() => {}
                What::Read => model.look_up(portion[0] / np),
            }
        }
        assert_eq!(real.counts(), model.counts, "{spec}, Np {np}, step {round}");
        assert_eq!(real.merges(), model.merges, "{spec}, Np {np}, step {round}");
        assert_eq!(real.figure("miw") as u64, model.induced, "{spec}, Np {np}, step {round}");
    }
    (model.counts, model.induced)
}

#[test]
fn lsb_counts_as_the_naive_model_counts() {
    for (blocks, sizes) in
        [(1, [12, 3, 3]), (2, [12, 3, 4]), (3, [11, 5, 1]), (4, [12, 4, 9]), (512, [12, 4, 6])]
    {
        let (counts, _) = agree(blocks, 4, 2, sizes, Mode::Count);
        assert!(counts.copies > 300 && counts.spare_reads > 300, "{counts:?}");
        assert!(counts.map_copies > 50, "trims should remove PT and PMD pages: {counts:?}");
    }
}

#[test]
fn lsb_counts_as_the_naive_model_counts_with_induced_writes() {
    let mut all = 0;
    for (blocks, np, groups, sizes) in [
        (1, 4, 1, [10, 4, 3]),
        (4, 16, 4, [12, 6, 4]),
        (512, 16, 4, [12, 6, 4]),
        (4, 16, 2, [12, 8, 4]),
        (512, 16, 2, [12, 12, 4]),
        (12, 64, 8, [12, 7, 4]),
    ] {
        let (counts, induced) = agree(blocks, np, groups, sizes, Mode::Count);
        assert!(counts.copies > 300, "{counts:?}");
        all += induced;
    }
    assert!(all > 200, "{all} writes were induced");
}

/// The audit follows all spare areas after every step, and the counts are the same.
#[test]
fn lsb_counts_the_same_with_spare_areas() {
    for (blocks, np, groups, sizes) in [
        (1, 4, 2, [12, 3, 3]),
        (4, 16, 4, [12, 6, 4]),
        (512, 16, 4, [12, 6, 4]),
        (12, 64, 8, [12, 7, 4]),
    ] {
        agree(blocks, np, groups, sizes, Mode::Stamps);
    }
}
