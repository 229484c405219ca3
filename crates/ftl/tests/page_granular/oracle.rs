//! The oracle, which knows when pages die, against a naive model.

use ftl::Metric;
use ftl::contract::foresight::{Deaths, Foresight, Lifespans, NEVER};
use ftl::scheme::placement::oracle::windows::{Window, Windows};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, Real, Step, step};

/// The deaths of all pages that some steps write, in the order of the writes.
#[derive(Clone, Debug)]
struct Known {
    lifespans: Lifespans,
    deaths: Vec<u64>,
}

impl Known {
    fn of(steps: &[Step], pages: usize) -> Known {
        let (mut deaths, mut newest) = (Vec::new(), vec![None; pages]);
        for step in steps {
            for newest in &mut newest[step.first..][..step.pages] {
                if let Some(before) = newest.take() {
                    deaths[before] = deaths.len() as u64;
                }
                if !step.trim {
                    *newest = Some(deaths.len());
                    deaths.push(NEVER);
                }
            }
        }
        let mut lifespans = Lifespans::default();
        for (written, &death) in (0..).zip(&deaths) {
            lifespans.add((death != NEVER).then(|| death - written));
        }
        Known { lifespans, deaths }
    }
}

impl Foresight for Known {
    fn lifespans(&self) -> &Lifespans {
        &self.lifespans
    }

    fn deaths(&self) -> ftl::Result<Box<dyn Deaths>> {
        Ok(Box::new(InOrder(self.deaths.clone().into_iter())))
    }
}

struct InOrder(std::vec::IntoIter<u64>);

impl Deaths for InOrder {
    fn next(&mut self) -> ftl::Result<u64> {
        Ok(self.0.next().expect("no more pages are written than were foreseen"))
    }
}

/// A page as it was programmed, and when it dies.
#[derive(Clone, Copy)]
struct Programmed {
    lpn: usize,
    death: u64,
}

struct NaiveOracle {
    np: usize,
    open_max: usize,
    windows: Windows,
    deaths: std::vec::IntoIter<u64>,
    blocks: Vec<Vec<Programmed>>,
    free: Vec<usize>,
    open: Vec<(Window, usize)>,
    l2p: Vec<Option<(usize, usize)>>,
    clock: u64,
    counts: Counts,
    victims: u64,
    misplaced: u64,
    most_open: u64,
}

impl NaiveOracle {
    fn new(known: &Known, open: u32, np: usize, extra: u32) -> NaiveOracle {
        let blocks = (LOGICAL_BLOCKS + extra) as usize;
        NaiveOracle {
            np,
            open_max: open.min(extra) as usize,
            windows: Windows::new(&known.lifespans, open, np as u32),
            deaths: known.deaths.clone().into_iter(),
            blocks: vec![Vec::new(); blocks],
            free: (0..blocks).collect(),
            open: Vec::new(),
            l2p: vec![None; LOGICAL_BLOCKS as usize * np],
            clock: 0,
            counts: Counts::default(),
            victims: 0,
            misplaced: 0,
            most_open: 0,
        }
    }

    fn far(&self) -> u64 {
        self.clock + 2 * self.l2p.len() as u64
    }

    fn valid(&self, block: usize) -> Vec<Programmed> {
        let pages = self.blocks[block].iter().enumerate();
        pages
            .filter(|(at, page)| self.l2p[page.lpn] == Some((block, *at)))
            .map(|it| *it.1)
            .collect()
    }

    /// What it costs to put a page of one window into the block of another.
    fn cost(&self, own: Window, window: Window, block: usize) -> u64 {
        let spare = ((self.blocks.len() - LOGICAL_BLOCKS as usize) * self.np) as u64;
        let (own, end) = (own.end.min(self.far()), window.end.min(self.far()));
        match own < end {
            true => end - own,
            false => (self.blocks[block].len() as u64 * (own - end)).min(spare),
        }
    }

    /// The open windows, the one that ends last first.
    fn last_first(&self) -> Vec<(Window, usize)> {
        let mut open = self.open.clone();
        open.sort_by_key(|&(window, _)| core::cmp::Reverse(window));
        open
    }

    fn later(&self, own: Window) -> Option<Window> {
        self.open.iter().map(|&(window, _)| window).filter(|&window| window > own).min()
    }

    fn nearest(&mut self, own: Window) -> Window {
        let later = self.later(own);
        let open = self.last_first();
        let possible = open.iter().filter(|&&(window, _)| window < own || Some(window) == later);
        let cheapest = possible.min_by_key(|&&(window, block)| self.cost(own, window, block));
        self.misplaced(cheapest.expect("a block is open").0)
    }

    fn misplaced(&mut self, window: Window) -> Window {
        self.misplaced += 1;
        window
    }

    fn is_open(&self, own: Window) -> bool {
        self.open.iter().any(|&(window, _)| window == own)
    }

    /// The window itself if it is open or may be opened, and a near one if too many are open.
    fn open_or_full(&mut self, own: Window, reserve: usize) -> Option<Window> {
        if self.is_open(own) {
            return Some(own);
        }
        if self.open.len() == self.open_max {
            return Some(self.nearest(own));
        }
        if self.free.len() <= reserve {
            return None;
        }
        let block = self.free.remove(0);
        self.open.push((own, block));
        self.most_open = self.most_open.max(self.open.len() as u64);
        Some(own)
    }

    fn host_window(&mut self, own: Window) -> Window {
        loop {
            if let Some(window) = self.open_or_full(own, 1) {
                return window;
            }
            let Some(victim) = self.victim() else { return self.nearest(own) };
            let valid = self.valid(victim).len();
            let later = self.later(own).filter(|it| it.end.saturating_sub(own.end) <= own.width());
            match later {
                _ if valid == self.np => return self.nearest(own),
                Some(later) if valid > 0 => return self.misplaced(later),
                _ => self.collect(victim),
            }
        }
    }

    fn append(&mut self, window: Window, page: Programmed) {
        let at = self.open.iter().position(|&(open, _)| open == window).unwrap();
        let block = self.open[at].1;
        self.l2p[page.lpn] = Some((block, self.blocks[block].len()));
        self.blocks[block].push(page);
        if self.blocks[block].len() == self.np {
            self.open.remove(at);
        }
    }

    /// Closed blocks, and their valid pages.
    fn closed(&self) -> Vec<(usize, usize)> {
        let is_open = |block| self.open.iter().any(|&(_, open)| open == block);
        let closed = |&block: &usize| !is_open(block) && !self.free.contains(&block);
        let blocks = (0..self.blocks.len()).filter(closed);
        blocks.map(|block| (block, self.valid(block).len())).collect()
    }

    fn victim(&self) -> Option<usize> {
        let closed = self.closed();
        let fewest = closed.iter().min_by_key(|&&(_, valid)| valid)?;
        let mut best = (fewest.0, 0.0);
        for &(block, valid) in closed.iter().filter(|_| fewest.1 > 0) {
            let end = self.blocks[block].iter().map(|page| page.death).max().unwrap();
            let left = end.min(self.far()).saturating_sub(self.clock).max(1);
            let benefit = (self.np - valid) as u64 * left;
            let score = benefit as f64 / valid as f64;
            if score > best.1 {
                best = (block, score);
            }
        }
        Some(best.0)
    }

    fn collect(&mut self, victim: usize) {
        self.victims += 1;
        for page in self.valid(victim) {
            let own = self.windows.of(page.death, self.clock);
            let window = match self.open_or_full(own, 0) {
                Some(window) => window,
                None => self.nearest(own),
            };
            self.append(window, page);
            self.counts.copies += 1;
        }
        self.blocks[victim].clear();
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn write(&mut self, lpn: usize, is_partial: bool) {
        let death = self.deaths.next().unwrap();
        self.open.retain(|(window, _)| window.end > self.clock);
        let own = self.windows.of(death, self.clock);
        let window = self.host_window(own);
        self.counts.rmw += u64::from(is_partial && self.l2p[lpn].is_some());
        self.append(window, Programmed { lpn, death });
        self.clock += 1;
        self.counts.host += 1;
    }

    fn figures(&self) -> [(&'static str, Metric); 3] {
        [
            ("gc_victims", Metric::Count(self.victims)),
            ("misplaced_pages", Metric::Count(self.misplaced)),
            ("most_open_blocks", Metric::Count(self.most_open)),
        ]
    }
}

#[test]
fn an_oracle_that_knows_the_future_counts_as_the_naive_model_counts() {
    for (np, extra, open) in [(4, 2, 64), (4, 4, 3), (8, 3, 2), (8, 6, 64), (8, 12, 64)] {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let steps: Vec<Step> = (0..3000).map(|_| step(&mut rng, np)).collect();
        let known = Known::of(&steps, LOGICAL_BLOCKS as usize * np);
        let spec = format!("oracle:open={open}");
        let mut real = Real::foreseeing(&known, &spec, "sequential", np, extra);
        let mut naive = NaiveOracle::new(&known, open, np, extra);
        for (round, step) in steps.iter().enumerate() {
            step.run_on(&mut real);
            for at in 0..step.pages {
                match step.trim {
                    true => naive.l2p[step.first + at] = None,
                    false => naive.write(step.first + at, step.is_partial(at)),
                }
            }
            assert_eq!(real.counts(), naive.counts, "{spec}, Np {np}, {extra} extra, {round}");
            let figures = real.ftl.report().figures;
            for figure in naive.figures() {
                assert!(figures.contains(&figure), "{spec}: {figure:?} is not in {figures:?}");
            }
        }
        assert!(naive.victims > 1000 && naive.misplaced > 1000, "{:?}", naive.figures());
    }
}
