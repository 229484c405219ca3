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

struct ByStream {
    streams: usize,
    copies_meet: bool,
}

impl Rule for ByStream {
    fn classes(&self) -> usize {
        self.streams + usize::from(self.copies_meet)
    }
    fn copy_classes(&self) -> usize {
        if self.copies_meet { 1 } else { self.streams }
    }
    fn of_write(&mut self, page: &Moved) -> usize {
        match page.stream {
            0 => 0,
            stream => (usize::from(stream) - 1) % self.streams,
        }
    }
    fn of_copy(&mut self, page: &Moved) -> usize {
        if self.copies_meet { self.streams } else { page.class.unwrap() }
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
    victims: NaiveVictims,
    clock: u64,
    counts: Counts,
    /// Pages that the host wrote to each class, and pages copied to it.
    class_writes: Vec<u64>,
    class_copies: Vec<u64>,
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
            victims: NaiveVictims::new(params(spec), np, SEED),
            clock: 0,
            counts: Counts::default(),
            class_writes: vec![0; rule.classes()],
            class_copies: vec![0; rule.classes()],
            rule,
        }
    }

    fn has_room(&self, class: usize) -> bool {
        self.open[class].is_some_and(|block| self.blocks[block].len() < self.np)
    }

    fn take(&mut self, class: usize) {
        let block = self.free.remove(0);
        self.victims.open(block);
        (self.class_of[block], self.opened[block]) = (class, self.clock);
        self.open[class] = Some(block);
    }

    fn append(&mut self, class: usize, lpn: usize) {
        let block = self.open[class].unwrap();
        self.l2p[lpn] = Some((block, self.blocks[block].len()));
        self.blocks[block].push(lpn);
        if self.blocks[block].len() == self.np {
            self.victims.close(block, self.clock);
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
        let counts: Vec<usize> = (0..self.blocks.len()).map(|b| self.valid(b).len()).collect();
        let victim = self.victims.choose(self.clock, |block| counts[block]).unwrap();
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
        self.victims.release(victim);
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
    for figure in naive.figures() {
        assert!(figures.contains(&figure), "{spec}: {figure:?} is not in {figures:?}");
    }
    assert!(naive.counts.copies > 500 && naive.counts.rmw > 100, "{:?}", naive.counts);
}

#[test]
fn placement_counts_as_the_naive_model_counts() {
    for setting in settings() {
        agrees(&format!("sepgc:{setting}"), Box::new(HostAndCopies), 4, 3);
        for (streams, isolation, extra) in [(3, "persistent", 6), (3, "initial", 5)] {
            let spec = format!("streams:streams={streams},isolation={isolation},{setting}");
            let rule = ByStream { streams, copies_meet: isolation == "initial" };
            agrees(&spec, Box::new(rule), 6, extra);
        }
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
    for spec in ["sepgc", "sepbit", "streams", "streams:isolation=initial", "warcip"] {
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
    let least = [("sepgc", 3), ("sepbit", 10), ("streams:streams=3", 6), ("warcip:clusters=4", 6)];
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
