//! The schemes that place pages, against a naive model; and what they have in common with `page`.

use std::collections::HashMap;

use ftl::{Metric, Run};
use nand::{Data, Lpn};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, PAGE_BYTES, Real, SEED, Step, step};
use crate::naive_victims::{NaiveVictims, params, settings};

/// A page that is written or copied.
struct Moved {
    lpn: usize,
    /// The class that it leaves; none if it holds nothing.
    class: Option<usize>,
    /// Host pages written since its last write.
    age: u64,
    stream: u8,
}

/// The decisions of a scheme, written down once more.
trait Rule {
    fn classes(&self) -> usize;
    fn copy_classes(&self) -> usize;
    fn of_write(&mut self, page: &Moved) -> usize;
    fn of_copy(&mut self, page: &Moved) -> usize;
    fn erased(&mut self, _class: usize, _lifespan: u64) {}
    /// Blocks that are collected together.
    fn unit(&self) -> usize {
        1
    }
    /// What the scheme reports of itself.
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        Vec::new()
    }
}

struct HostAndCopies;

impl Rule for HostAndCopies {
    fn classes(&self) -> usize {
        2
    }
    fn copy_classes(&self) -> usize {
        1
    }
    fn of_write(&mut self, _: &Moved) -> usize {
        0
    }
    fn of_copy(&mut self, _: &Moved) -> usize {
        1
    }
}

/// Handles 0, 1, … of group 0, then those of group 1, …; then a class for copies for each group, if
/// copies of different handles meet.
struct ByStream {
    streams: usize,
    groups: usize,
    /// Whether the copies of each handle meet those of others.
    copies_meet: Vec<bool>,
    beyond_to_first: bool,
    beyond: u64,
    unit: usize,
}

impl ByStream {
    fn new(streams: usize, groups: usize, persistent: usize, unit: usize) -> ByStream {
        let copies_meet = (0..streams).map(|handle| handle >= persistent).collect();
        ByStream { streams, groups, copies_meet, beyond_to_first: false, beyond: 0, unit }
    }
    fn meet(&self) -> bool {
        self.copies_meet.contains(&true)
    }
}

impl Rule for ByStream {
    fn classes(&self) -> usize {
        self.groups * (self.streams + usize::from(self.meet()))
    }
    fn copy_classes(&self) -> usize {
        let apart = self.copies_meet.iter().filter(|meet| !**meet).count();
        self.groups * (apart + usize::from(self.meet()))
    }
    fn of_write(&mut self, page: &Moved) -> usize {
        let (stream, all) = (usize::from(page.stream), self.groups * self.streams);
        if stream > all {
            self.beyond += 1;
        }
        match stream {
            0 => 0,
            stream if stream > all && self.beyond_to_first => 0,
            stream => (stream - 1) % all,
        }
    }
    fn of_copy(&mut self, page: &Moved) -> usize {
        let (from, all) = (page.class.unwrap(), self.groups * self.streams);
        match from < all && self.copies_meet[from % self.streams] {
            true => all + from / self.streams,
            false => from,
        }
    }
    fn unit(&self) -> usize {
        self.unit
    }
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("beyond_pages", Metric::Count(self.beyond))]
    }
}

/// Classes 1 to 6 of the paper are 0 to 5 here.
#[derive(Default)]
struct ByLifespan {
    /// Lifespans of blocks of class 1 that were collected.
    lifespans: Vec<u64>,
    /// With a queue, the pages in it, oldest first.
    queue: Option<Vec<usize>>,
}

impl ByLifespan {
    fn limit(&self) -> f64 {
        let known = self.lifespans.len() / 16 * 16;
        let last = &self.lifespans[known.saturating_sub(16)..known];
        if known == 0 { f64::INFINITY } else { last.iter().sum::<u64>() as f64 / 16.0 }
    }
}

impl Rule for ByLifespan {
    fn classes(&self) -> usize {
        6
    }
    fn copy_classes(&self) -> usize {
        4
    }
    fn of_write(&mut self, page: &Moved) -> usize {
        let limit = self.limit();
        let mut is_known = page.class.is_some();
        if let Some(queue) = &mut self.queue {
            is_known &= queue.contains(&page.lpn);
            queue.push(page.lpn);
            let pages = 12 * 4;
            if queue.len() > pages || queue.len() as f64 > limit {
                queue.remove(0);
                if queue.len() as f64 > limit {
                    queue.remove(0);
                }
            }
        }
        usize::from(!(is_known && (page.age as f64) < limit))
    }
    fn of_copy(&mut self, page: &Moved) -> usize {
        match (page.class, page.age as f64 / self.limit()) {
            (Some(0), _) => 2,
            (_, age) if age < 4.0 => 3,
            (_, age) if age < 16.0 => 4,
            _ => 5,
        }
    }
    fn erased(&mut self, class: usize, lifespan: u64) {
        if class == 0 {
            self.lifespans.push(lifespan);
        }
    }
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("lifespan_limit", Metric::Real(self.limit()))]
    }
}

/// A cluster of pages that are rewritten at similar intervals.
#[derive(Clone, Default)]
struct Cluster {
    is_closed: bool,
    /// Whether it is closed when its block is full.
    closes_next: bool,
    centre: f64,
    /// Intervals of the pages in the block that is being filled.
    intervals: Vec<u64>,
}

impl Cluster {
    fn distance(&self, interval: u64) -> f64 {
        (self.centre - interval as f64).abs()
    }
}

struct ByInterval {
    np: usize,
    clusters: Vec<Cluster>,
    penalties: HashMap<usize, u64>,
    /// The clusters of all pages since the last review, and the blocks that they have filled.
    written: Vec<usize>,
    filled: u64,
    splits: u64,
    merges: u64,
}

impl ByInterval {
    fn new(clusters: usize, np: usize) -> ByInterval {
        ByInterval {
            np,
            clusters: vec![Cluster::default(); clusters],
            penalties: HashMap::new(),
            written: Vec::new(),
            filled: 0,
            splits: 0,
            merges: 0,
        }
    }

    fn open(&self) -> Vec<usize> {
        (0..self.clusters.len()).filter(|&at| !self.clusters[at].is_closed).collect()
    }

    fn close(&mut self, at: usize) {
        self.clusters[at].closes_next = false;
        if self.open().len() > 1 {
            self.clusters[at].is_closed = true;
            self.merges += 1;
        }
    }

    fn review(&mut self) {
        let written = core::mem::take(&mut self.written);
        let pages = |at: usize| written.iter().filter(|&&to| to == at).count();
        for at in self.open() {
            self.clusters[at].closes_next = pages(at) < self.np;
            if self.clusters[at].closes_next && self.clusters[at].intervals.is_empty() {
                self.close(at);
            }
        }
        let large = self.open().into_iter().find(|&at| 2 * pages(at) > written.len());
        let free = self.clusters.iter().position(|cluster| cluster.is_closed);
        let (Some(large), Some(free)) = (large, free) else { return };
        let own = self.clusters[large].centre;
        let mut centres: Vec<f64> =
            self.open().into_iter().map(|at| self.clusters[at].centre).collect();
        centres.sort_by(f64::total_cmp);
        let below = centres.iter().rfind(|&&centre| centre < own).unwrap_or(&0.0);
        let above = centres.iter().find(|&&centre| centre > own);
        let centre = above.map_or(own + (own - below) / 2.0, |above| (own + above) / 2.0);
        self.clusters[free] = Cluster { centre, ..Cluster::default() };
        self.splits += 1;
    }
}

impl Rule for ByInterval {
    fn classes(&self) -> usize {
        self.clusters.len() + 1
    }
    fn copy_classes(&self) -> usize {
        1
    }
    fn of_write(&mut self, page: &Moved) -> usize {
        let penalty = self.penalties.remove(&page.lpn).unwrap_or(0);
        let interval = page.class.map_or(0, |_| page.age + penalty);
        let distance = |at: usize| self.clusters[at].distance(interval);
        let nearer = |&one: &usize, &other: &usize| distance(one).total_cmp(&distance(other));
        let at = self.open().into_iter().min_by(nearer).unwrap();
        self.written.push(at);
        let Cluster { intervals, centre, .. } = &mut self.clusters[at];
        intervals.push(interval);
        *centre = intervals.iter().sum::<u64>() as f64 / intervals.len() as f64;
        if intervals.len() == self.np {
            intervals.clear();
            self.filled += 1;
            if self.filled.is_multiple_of(128) {
                self.review();
            }
            if self.clusters[at].closes_next {
                self.close(at);
            }
        }
        at
    }
    fn of_copy(&mut self, page: &Moved) -> usize {
        self.penalties.insert(page.lpn, page.age);
        self.clusters.len()
    }
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("splits", Metric::Count(self.splits)), ("merges", Metric::Count(self.merges))]
    }
}

struct NaivePlaced {
    np: usize,
    rule: Box<dyn Rule>,
    blocks: Vec<Vec<usize>>,
    class_of: Vec<usize>,
    opened: Vec<u64>,
    free: Vec<usize>,
    l2p: Vec<Option<(usize, usize)>>,
    written: Vec<u64>,
    open: Vec<Option<usize>>,
    /// The blocks of the open unit of each class, and the unit of each block by its first one.
    units: Vec<Vec<usize>>,
    unit_of: HashMap<usize, Vec<usize>>,
    /// The blocks of the last victim that are left.
    left: Vec<usize>,
    victims: NaiveVictims,
    clock: u64,
    counts: Counts,
    /// Pages that the host wrote to each class, and pages copied to it.
    class_writes: Vec<u64>,
    class_copies: Vec<u64>,
    units_opened: Vec<u64>,
    units_collected: u64,
}

impl NaivePlaced {
    fn new(spec: &str, rule: Box<dyn Rule>, np: usize, blocks: usize) -> NaivePlaced {
        NaivePlaced {
            np,
            blocks: vec![Vec::new(); blocks],
            class_of: vec![0; blocks],
            opened: vec![0; blocks],
            free: (0..blocks).collect(),
            l2p: vec![None; LOGICAL_BLOCKS as usize * np],
            written: vec![0; LOGICAL_BLOCKS as usize * np],
            open: vec![None; rule.classes()],
            units: vec![Vec::new(); rule.classes()],
            unit_of: HashMap::new(),
            left: Vec::new(),
            victims: NaiveVictims::new(params(spec), np * rule.unit(), SEED),
            clock: 0,
            counts: Counts::default(),
            class_writes: vec![0; rule.classes()],
            class_copies: vec![0; rule.classes()],
            units_opened: vec![0; rule.classes()],
            units_collected: 0,
            rule,
        }
    }

    fn has_room(&self, class: usize) -> bool {
        self.open[class].is_some_and(|block| self.blocks[block].len() < self.np)
    }

    fn take(&mut self, class: usize) {
        let block = self.free.remove(0);
        if self.units[class].is_empty() {
            self.victims.open(block);
            self.units_opened[class] += 1;
        }
        self.units[class].push(block);
        (self.class_of[block], self.opened[block]) = (class, self.clock);
        self.open[class] = Some(block);
    }

    fn append(&mut self, class: usize, lpn: usize) {
        let block = self.open[class].unwrap();
        self.l2p[lpn] = Some((block, self.blocks[block].len()));
        self.blocks[block].push(lpn);
        if self.blocks[block].len() == self.np && self.units[class].len() == self.rule.unit() {
            let unit = core::mem::take(&mut self.units[class]);
            self.victims.close(unit[0], self.clock);
            self.unit_of.insert(unit[0], unit);
        }
    }

    fn copy(&mut self, class: usize, lpn: usize) {
        self.append(class, lpn);
        self.counts.copies += 1;
        self.class_copies[class] += 1;
    }

    fn valid(&self, block: usize) -> Vec<usize> {
        let pages = self.blocks[block].iter().enumerate();
        pages.filter(|&(at, &lpn)| self.l2p[lpn] == Some((block, at))).map(|it| *it.1).collect()
    }

    fn collect(&mut self) {
        if self.left.is_empty() {
            let counts: Vec<usize> = (0..self.blocks.len()).map(|b| self.valid(b).len()).collect();
            let valid = |first| self.unit_of[&first].iter().map(|&block| counts[block]).sum();
            let first = self.victims.choose(self.clock, valid).unwrap();
            // A unit of one block is a candidate until it is erased: copies may close others.
            if self.rule.unit() > 1 {
                self.victims.release(first);
            }
            self.left = self.unit_of.remove(&first).unwrap();
            self.units_collected += 1;
        }
        let victim = self.left.remove(0);
        let class = self.class_of[victim];
        let mut parts = vec![Vec::new(); self.rule.classes()];
        for lpn in self.valid(victim) {
            let age = self.clock - self.written[lpn];
            let to = self.rule.of_copy(&Moved { lpn, class: Some(class), age, stream: 0 });
            parts[to].push(lpn);
        }
        // Room in open blocks is used up before a block is opened.
        for (to, part) in parts.iter_mut().enumerate() {
            while !part.is_empty() && self.has_room(to) {
                self.copy(to, part.remove(0));
            }
        }
        for (to, part) in parts.into_iter().enumerate() {
            for lpn in part {
                if !self.has_room(to) {
                    self.take(to);
                }
                self.copy(to, lpn);
            }
        }
        self.rule.erased(class, self.clock - self.opened[victim]);
        self.blocks[victim].clear();
        for open in self.open.iter_mut().filter(|open| **open == Some(victim)) {
            *open = None;
        }
        if self.rule.unit() == 1 {
            self.victims.release(victim);
        }
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn write(&mut self, lpn: usize, stream: u8, partial: bool) {
        let class = self.l2p[lpn].map(|(block, _)| self.class_of[block]);
        let age = self.clock + 1 - self.written[lpn];
        let class = self.rule.of_write(&Moved { lpn, class, age, stream });
        let reserve = self.rule.copy_classes();
        while !self.has_room(class) || self.free.len() < reserve {
            if self.free.len() > reserve { self.take(class) } else { self.collect() }
        }
        self.counts.rmw += u64::from(partial && self.l2p[lpn].is_some());
        self.clock += 1;
        self.written[lpn] = self.clock;
        self.append(class, lpn);
        self.counts.host += 1;
        self.class_writes[class] += 1;
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        let mut figures = self.rule.figures();
        figures.push(("class_writes", Metric::Counts(self.class_writes.clone())));
        figures.push(("class_copies", Metric::Counts(self.class_copies.clone())));
        figures
    }

    /// What a scheme with reclaim units reports of them.
    fn units(&self, has_some: bool) -> Vec<(&'static str, Metric)> {
        let room = |(open, unit): (&Option<usize>, &Vec<usize>)| {
            let used = if unit.is_empty() { 0 } else { self.blocks[open.unwrap()].len() };
            (self.np * (self.rule.unit() - unit.len().saturating_sub(1)) - used) as u64
        };
        let room = self.open.iter().zip(&self.units).map(room).collect();
        let units = vec![
            ("unit_room", Metric::Counts(room)),
            ("units_opened", Metric::Counts(self.units_opened.clone())),
            ("units_collected", Metric::Count(self.units_collected)),
        ];
        units.into_iter().filter(|_| has_some).collect()
    }
}

fn agrees(spec: &str, rule: Box<dyn Rule>, np: usize, extra: u32) {
    let mut real = Real::new(spec, "sequential", np, extra);
    let mut naive = NaivePlaced::new(spec, rule, np, (LOGICAL_BLOCKS + extra) as usize);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for round in 0..3000 {
        let step = step(&mut rng, np);
        step.run_on(&mut real);
        for at in 0..step.pages {
            match step.trim {
                true => naive.l2p[step.first + at] = None,
                false => naive.write(step.first + at, step.stream(), step.is_partial(at)),
            }
        }
        assert_eq!(real.counts(), naive.counts, "{spec}, Np {np}, step {round}");
    }
    let figures = real.ftl.report().figures;
    let is_fdp = figures.iter().any(|(name, _)| *name == "unit_room");
    assert_eq!(is_fdp, spec.starts_with("streams"), "{spec}");
    for figure in naive.figures().into_iter().chain(naive.units(is_fdp)) {
        assert!(figures.contains(&figure), "{spec}: {figure:?} is not in {figures:?}");
    }
    assert!(naive.counts.copies > 500 && naive.counts.rmw > 100, "{:?}", naive.counts);
}

#[test]
fn placement_counts_as_the_naive_model_counts() {
    for setting in settings() {
        agrees(&format!("sepgc:{setting}"), Box::new(HostAndCopies), 4, 3);
        for (isolation, persistent, extra) in [("persistent", 3, 6), ("initial", 0, 5)] {
            let spec = format!("streams:streams=3,isolation={isolation},{setting}");
            agrees(&spec, Box::new(ByStream::new(3, 1, persistent, 1)), 6, extra);
        }
        let spec = format!("streams:streams=2,isolation=initial,persistent=1,groups=2,{setting}");
        agrees(&spec, Box::new(ByStream::new(2, 2, 1, 1)), 6, 10);
        let spec = format!("streams:streams=2,unit=2,beyond=first,{setting}");
        let rule = ByStream { beyond_to_first: true, ..ByStream::new(2, 1, 2, 2) };
        agrees(&spec, Box::new(rule), 4, 6);
        let spec = format!("streams:streams=2,isolation=initial,unit=3,{setting}");
        agrees(&spec, Box::new(ByStream::new(2, 1, 0, 3)), 4, 10);
        let exact = ByLifespan::default();
        agrees(&format!("sepbit:{setting}"), Box::new(exact), 4, 10);
        let queue = ByLifespan { queue: Some(Vec::new()), ..ByLifespan::default() };
        agrees(&format!("sepbit:times=queue,{setting}"), Box::new(queue), 4, 10);
        let clusters = Box::new(ByInterval::new(4, 4));
        agrees(&format!("warcip:clusters=4,{setting}"), clusters, 4, 7);
    }
}

/// The counts of a scheme after the same random steps.
fn counts(spec: &str, extra: u32) -> Counts {
    let mut real = Real::new(spec, "sequential", 8, extra);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
    let steps: Vec<Step> = (0..3000).map(|_| step(&mut rng, 8)).collect();
    steps.iter().for_each(|step| step.run_on(&mut real));
    assert!(real.counts().copies > 500, "{spec}: {:?}", real.counts());
    real.counts()
}

#[test]
fn schemes_with_one_class_for_the_host_count_as_page_does() {
    for setting in settings() {
        let page = counts(&format!("page:frontiers=2,{setting}"), 3);
        for spec in ["sepgc:", "streams:streams=1,isolation=initial,", "warcip:clusters=1,"] {
            assert_eq!(counts(&format!("{spec}{setting}"), 3), page, "{spec}{setting}");
        }
        let one = counts(&format!("page:{setting}"), 2);
        assert_eq!(counts(&format!("streams:streams=1,{setting}"), 2), one, "{setting}");
    }
    assert_eq!(counts("oracle", 3), counts("page", 3), "an oracle that knows nothing");
}

#[test]
fn classes_survive_a_power_cycle() {
    let streams = "streams:streams=2,isolation=initial,persistent=1,groups=2,unit=2";
    for spec in ["sepgc", "sepbit", "streams", "streams:isolation=initial", streams, "warcip"] {
        let mut real = Real::in_mode(spec, "sequential", 4, 18, nand::Mode::Stamps);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(6);
        for round in 1..400 {
            let page = rng.next_u32() % (4 * LOGICAL_BLOCKS);
            let whole = Run::whole(Lpn(page / (1 + page % 3)), 1, PAGE_BYTES, Data::Stamp(round));
            let run = Run { stream: (page % 5) as u8, ..whole };
            real.ftl.write_run(&mut real.nand, &run).unwrap();
            if round % 40 == 0 {
                real.power_cycle();
            }
        }
        real.ftl.audit(&real.nand).unwrap();
    }
}

#[test]
fn the_least_extra_is_a_block_per_class_and_one_per_class_of_copies() {
    let least = [
        ("sepgc", 3),
        ("sepbit", 10),
        ("streams:streams=3", 6),
        ("streams:streams=3,unit=4", 15),
        ("streams:streams=3,isolation=initial,persistent=1,groups=2", 12),
        ("warcip:clusters=4", 6),
    ];
    for (spec, least) in least {
        let spec = spec::Spec::parse(spec).unwrap();
        let choice = ftl::Choice::from_spec(&spec).unwrap();
        let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-lsb").unwrap()).unwrap();
        assert!(choice.check(&chip, LOGICAL_BLOCKS, least).is_ok(), "{spec:?}");
        let error = choice.check(&chip, LOGICAL_BLOCKS, least - 1).unwrap_err().to_string();
        assert!(error.contains(&format!("at least {least} extra blocks")), "{error}");
    }
}

/// The class of a page is in four bits of its spare area.
#[test]
fn no_scheme_has_more_classes_than_survive_a_power_cut() {
    let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-lsb").unwrap()).unwrap();
    for form in ["streams:streams", "streams:isolation=initial,streams", "warcip:clusters"] {
        let check = |classes: u32| {
            let spec = spec::Spec::parse(&format!("{form}={classes}")).unwrap();
            ftl::Choice::from_spec(&spec).unwrap().check(&chip, LOGICAL_BLOCKS, 40)
        };
        assert!(check(15).is_ok(), "{form}=15");
        for classes in [0, 16] {
            let error = check(classes).unwrap_err().to_string();
            assert!(error.contains("1 to 15 are possible"), "{form}={classes}: {error}");
        }
    }
}

#[test]
fn impossible_streams_are_refused() {
    let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-lsb").unwrap()).unwrap();
    for (text, why) in [
        ("groups=0", "1 to 16 are possible"),
        ("groups=200,streams=15", "make 3000 classes"),
        ("groups=4,isolation=initial", "make 20 classes"),
        ("persistent=1", "it is for isolation=initial"),
        ("isolation=initial,persistent=4", "give isolation=persistent"),
        ("unit=0", "1 to 65536 blocks"),
    ] {
        let spec = spec::Spec::parse(&format!("streams:{text}")).unwrap();
        let choice = ftl::Choice::from_spec(&spec);
        let refused = choice.and_then(|choice| choice.check(&chip, LOGICAL_BLOCKS, 400));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}
