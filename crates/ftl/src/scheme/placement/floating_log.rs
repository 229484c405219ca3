//! Tests of the policies alone, on a log whose space floats: the numbers of SepBIT's simulator.
//!
//! ```text
//! writes ─▶ open segment of the class ─▶ sealed ─▶ collected as soon as more than 15 % of all that
//!                                                  is stored is garbage in sealed segments
//! ```
//! That simulator (`fallfish/sepbit`, `trace_replay/`) has no device, so its space has no limit.
//! The log here follows its rules: after each write at most one segment is collected, the one with
//! the most garbage, if at least 15 % of it is garbage. So the decisions of a policy can be
//! compared with its authors' without the influence of blocks that are open or erased. The expected
//! numbers were measured with the authors' code on the same stream of writes.

use nand::{BlockId, Lpn};

use crate::contract::Result;
use crate::contract::page_policy::{
    Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice,
};
use crate::scheme::placement::sepbit::SepBit;
use crate::scheme::placement::sepgc::SepGc;

const PAGES: usize = 131_072;
const SEGMENT_PAGES: usize = 1024;
const GARBAGE_MAX: f64 = 0.15;

/// The stream S(a): every page once in order, then ten times as many single pages, of which the
/// page of rank i is drawn with probability proportional to 1/i^a.
fn stream(a: f64) -> Vec<u32> {
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let mut cdf = Vec::with_capacity(PAGES);
    let mut total = 0.0;
    for rank in 1..=PAGES {
        total += 1.0 / (rank as f64).powf(a);
        cdf.push(total);
    }
    let mut permutation: Vec<u32> = (0..PAGES as u32).collect();
    for at in (1..PAGES).rev() {
        permutation.swap(at, (splitmix64(&mut state) % (at as u64 + 1)) as usize);
    }
    let drawn = (0..10 * PAGES).map(|_| {
        let u = (splitmix64(&mut state) >> 11) as f64 * (-53.0_f64).exp2() * total;
        permutation[cdf.partition_point(|&sum| sum < u).min(PAGES - 1)]
    });
    (0..PAGES as u32).chain(drawn).collect()
}

fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[derive(Default)]
struct Segment {
    pages: Vec<u32>,
    valid: usize,
    class: Class,
    opened: u64,
}

impl Segment {
    fn garbage(&self) -> usize {
        self.pages.len() - self.valid
    }
}

/// A log without a limit of its space.
struct FloatingLog<'p> {
    policy: &'p mut dyn PagePolicy,
    segments: Vec<Option<Segment>>,
    open: Vec<usize>,
    /// Segment and position of each page.
    places: Vec<Option<(usize, usize)>>,
    written_at: Vec<u64>,
    written: u64,
    copied: u64,
    stored: usize,
    /// Garbage in sealed segments.
    garbage: usize,
}

impl<'p> FloatingLog<'p> {
    fn new(policy: &'p mut dyn PagePolicy) -> FloatingLog<'p> {
        let mut log = FloatingLog {
            segments: Vec::new(),
            open: Vec::new(),
            places: vec![None; PAGES],
            written_at: vec![0; PAGES],
            written: 0,
            copied: 0,
            stored: 0,
            garbage: 0,
            policy,
        };
        for class in 0..log.policy.classes() {
            let segment = log.opened(class);
            log.open.push(segment);
        }
        log
    }

    fn opened(&mut self, class: Class) -> usize {
        self.segments.push(Some(Segment { class, opened: self.written, ..Segment::default() }));
        self.segments.len() - 1
    }

    fn segment(&mut self, at: usize) -> &mut Segment {
        self.segments[at].as_mut().expect("a segment that is in use")
    }

    fn is_open(&self, at: usize) -> bool {
        self.open.contains(&at)
    }

    fn write(&mut self, lpn: u32) -> Result<()> {
        let now = self.written;
        let old = self.places[lpn as usize];
        let class = old.map(|(segment, _)| self.segment(segment).class);
        let lifespan = old.map(|_| now - self.written_at[lpn as usize]);
        if let Some((segment, _)) = old {
            self.segment(segment).valid -= 1;
            self.garbage += usize::from(!self.is_open(segment));
        }
        let (request_bytes, stream) = (4096, 0);
        let write = HostWrite { lpn: Lpn(lpn), now, lifespan, class, request_bytes, stream };
        let class = self.policy.place(&write)?;
        self.written_at[lpn as usize] = now;
        self.written += 1;
        self.append(lpn, class);
        if self.garbage as f64 / self.stored as f64 > GARBAGE_MAX { self.collect() } else { Ok(()) }
    }

    fn append(&mut self, lpn: u32, class: Class) {
        let at = self.open[usize::from(class)];
        let segment = self.segment(at);
        segment.pages.push(lpn);
        segment.valid += 1;
        let (pages, garbage) = (segment.pages.len(), segment.garbage());
        self.places[lpn as usize] = Some((at, pages - 1));
        self.stored += 1;
        if pages == SEGMENT_PAGES {
            self.garbage += garbage;
            self.open[usize::from(class)] = self.opened(class);
        }
    }

    fn collect(&mut self) -> Result<()> {
        let sealed = (0..self.segments.len()).filter(|&at| !self.is_open(at));
        let garbage = |at: usize| self.segments[at].as_ref().map_or(0, Segment::garbage);
        let most = sealed.reduce(|best, at| if garbage(at) > garbage(best) { at } else { best });
        let Some(victim) =
            most.filter(|&at| garbage(at) as f64 >= GARBAGE_MAX * SEGMENT_PAGES as f64)
        else {
            return Ok(());
        };
        let segment = self.segments[victim].take().expect("it has garbage");
        let (now, class) = (self.written, segment.class);
        let (lifespan, copied) = (now - segment.opened, segment.valid as u32);
        let block = BlockId(victim as u32);
        self.policy.erased(&ErasedBlock { block, class, lifespan, copied, now })?;
        for (at, &lpn) in segment.pages.iter().enumerate() {
            if self.places[lpn as usize] == Some((victim, at)) {
                let age = now - self.written_at[lpn as usize];
                let copy = MovedPage { lpn: Lpn(lpn), now, age, class };
                let class = self.policy.place_copy(&copy)?;
                self.append(lpn, class);
                self.copied += 1;
            }
        }
        self.stored -= segment.pages.len();
        self.garbage -= segment.garbage();
        Ok(())
    }
}

fn write_amplification(policy: &mut dyn PagePolicy, a: f64) -> f64 {
    let mut log = FloatingLog::new(policy);
    stream(a).into_iter().try_for_each(|lpn| log.write(lpn)).unwrap();
    1.0 + log.copied as f64 / log.written as f64
}

/// One class for everything.
struct NoSeparation;

impl PagePolicy for NoSeparation {
    fn classes(&self) -> Class {
        1
    }

    fn place(&mut self, _: &HostWrite) -> Result<Class> {
        Ok(0)
    }

    fn place_copy(&mut self, _: &MovedPage) -> Result<Class> {
        Ok(0)
    }
}

/// Every rewritten page moves one class up, every copy one down: dac as SepBIT's code has it.
struct EveryAge {
    classes: Class,
    of_page: Vec<Option<Class>>,
}

impl PagePolicy for EveryAge {
    fn classes(&self) -> Class {
        self.classes
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        let class = &mut self.of_page[write.lpn.0 as usize];
        *class = Some(class.map_or(0, |class| (class + 1).min(self.classes - 1)));
        Ok(class.unwrap())
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        let class = &mut self.of_page[copy.lpn.0 as usize];
        *class = class.map(|class| class.saturating_sub(1));
        Ok(class.unwrap())
    }
}

/// Knows the future: the class is the remaining lifespan in segments (FK of the paper).
struct FutureKnowledge {
    /// The death of each page written, and how many have been written.
    deaths: Vec<u64>,
    written: usize,
    dies_at: Vec<u64>,
}

impl FutureKnowledge {
    fn of(writes: &[u32]) -> FutureKnowledge {
        let (mut deaths, mut next) = (vec![u64::MAX; writes.len()], vec![u64::MAX; PAGES]);
        for (at, &lpn) in writes.iter().enumerate().rev() {
            deaths[at] = core::mem::replace(&mut next[lpn as usize], at as u64);
        }
        FutureKnowledge { deaths, written: 0, dies_at: vec![0; PAGES] }
    }

    fn class_at(&self, lpn: Lpn, now: u64) -> Class {
        let left = self.dies_at[lpn.0 as usize] - now;
        (left / SEGMENT_PAGES as u64).min(5) as Class
    }
}

impl PagePolicy for FutureKnowledge {
    fn classes(&self) -> Class {
        6
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        self.dies_at[write.lpn.0 as usize] = self.deaths[self.written];
        self.written += 1;
        Ok(self.class_at(write.lpn, write.now))
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        Ok(self.class_at(copy.lpn, copy.now))
    }
}

fn device() -> PlacedDevice {
    PlacedDevice {
        page_bytes: 4096,
        pages_per_block: SEGMENT_PAGES as u32,
        logical_pages: PAGES as u32,
        extra_blocks: 0,
    }
}

fn sepbit(has_queue: bool) -> SepBit {
    SepBit::new(has_queue, &device())
}

#[test]
fn write_amplification_is_what_the_authors_code_measures() {
    let dac = || EveryAge { classes: 6, of_page: vec![None; PAGES] };
    let fk = |a: f64| write_amplification(&mut FutureKnowledge::of(&stream(a)), a);
    let measured: [(&str, f64, f64, f64); 9] = [
        ("none", 0.0, write_amplification(&mut NoSeparation, 0.0), 3.269),
        ("none", 0.6, write_amplification(&mut NoSeparation, 0.6), 3.568),
        ("sepgc", 0.0, write_amplification(&mut SepGc, 0.0), 3.269),
        ("sepgc", 0.6, write_amplification(&mut SepGc, 0.6), 3.407),
        ("dac", 0.6, write_amplification(&mut dac(), 0.6), 3.157),
        ("sepbit", 0.0, write_amplification(&mut sepbit(true), 0.0), 3.256),
        ("sepbit", 0.6, write_amplification(&mut sepbit(true), 0.6), 3.301),
        ("fk", 0.0, fk(0.0), 2.735),
        ("fk", 0.6, fk(0.6), 2.743),
    ];
    for (name, a, found, expected) in measured {
        let off = (found / expected - 1.0).abs();
        assert!(off < 0.002, "{name} at a = {a}: {found:.3}, but the authors' code has {expected}");
    }
}
