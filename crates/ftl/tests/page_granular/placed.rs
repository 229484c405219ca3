//! page under policies from outside: equal counts where the policy does what `page` does, true
//! facts for the policy, and clear errors for nonsense.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ftl::contract::page_policy::{
    Candidates, Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice, PolicySource,
};
use ftl::{Error, Result, Run};
use nand::{Data, Lpn, Mode, Op};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, PAGE_BYTES, Real, Step, step};

/// A rule that chooses victims.
type Rule = fn(&Candidates) -> usize;

/// A closure that a policy calls.
type Called<Facts, Answer> = Arc<Mutex<dyn FnMut(&Facts) -> Answer + Send>>;

/// A policy made of closures. Each test sets those that it is about.
#[derive(Clone)]
struct Tested {
    classes: Class,
    place: Called<HostWrite, Result<Class>>,
    place_copy: Called<MovedPage, Result<Class>>,
    victim: Option<Rule>,
    erased: Called<ErasedBlock, ()>,
}

impl Tested {
    /// One class; the scheme chooses victims.
    fn plain(classes: Class) -> Tested {
        Tested {
            classes,
            place: Arc::new(Mutex::new(|_: &HostWrite| Ok(0))),
            place_copy: Arc::new(Mutex::new(|_: &MovedPage| Ok(0))),
            victim: None,
            erased: Arc::new(Mutex::new(|_: &ErasedBlock| ())),
        }
    }

    fn on(&self, ftl: &str, order: &str, np: usize, extra: u32) -> Result<Real> {
        Real::placed_by(Some(self), ftl, order, np, extra, Mode::Count)
    }
}

impl std::fmt::Debug for Tested {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name())
    }
}

impl PolicySource for Tested {
    fn name(&self) -> &'static str {
        "Tested, written in Rust"
    }

    fn policy(&self, _: &PlacedDevice) -> Result<Box<dyn PagePolicy>> {
        Ok(Box::new(self.clone()))
    }
}

impl PagePolicy for Tested {
    fn classes(&self) -> Class {
        self.classes
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        (self.place.lock().unwrap())(write)
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        (self.place_copy.lock().unwrap())(copy)
    }

    fn chooses_victims(&self) -> bool {
        self.victim.is_some()
    }

    fn victim(&mut self, candidates: &Candidates) -> Result<usize> {
        Ok(self.victim.expect("it is asked only if it chooses")(candidates))
    }

    fn erased(&mut self, block: &ErasedBlock) -> Result<()> {
        (self.erased.lock().unwrap())(block);
        Ok(())
    }
}

/// The fewest valid pages; the lowest block wins a tie.
fn greedy(candidates: &Candidates) -> usize {
    let most = candidates.valid.iter().max().expect("there is a candidate");
    assert!(*most < candidates.pages_per_block, "a candidate has no dead page");
    let all = candidates.valid.iter().enumerate();
    all.min_by_key(|&(_, &valid)| valid).unwrap().0
}

/// The highest age·(Np−v)/2v; the lowest block wins a tie.
fn cost_benefit(candidates: &Candidates) -> usize {
    let np = candidates.pages_per_block;
    let score = |at: usize| {
        let (valid, age) = (candidates.valid[at], candidates.ages[at]);
        (age * u64::from(np - valid)) as f64 / f64::from(2 * valid)
    };
    let dead = candidates.valid.iter().position(|&valid| valid == 0);
    let all = 0..candidates.valid.len();
    let best = |best: usize, at| if score(at) > score(best) { at } else { best };
    dead.unwrap_or_else(|| all.reduce(best).unwrap())
}

/// The counts after the same random steps.
fn counts(mut real: Real, np: usize) -> Counts {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
    for _ in 0..3000 {
        step(&mut rng, np).run_on(&mut real);
    }
    assert!(real.counts().copies > 1000, "garbage collection had little to do");
    real.counts()
}

#[test]
fn one_class_is_page_with_one_frontier() {
    for (order, np, extra) in [("sequential", 8, 3), ("any", 4, 2), ("ascending", 8, 2)] {
        for ftl in ["page", "page:victim=cost_benefit", "page:victim=dchoices"] {
            let placed = Tested::plain(1).on(ftl, order, np, extra).unwrap();
            assert_eq!(counts(placed, np), counts(Real::new(ftl, order, np, extra), np), "{ftl}");
        }
    }
}

#[test]
fn the_rule_of_a_policy_by_hand_is_that_policy() {
    let rules: [(_, Rule); 2] = [("page", greedy), ("page:victim=cost_benefit", cost_benefit)];
    for (ftl, victim) in rules {
        let policy = Tested { victim: Some(victim), ..Tested::plain(1) };
        let placed = policy.on("page", "sequential", 8, 3).unwrap();
        assert_eq!(counts(placed, 8), counts(Real::new(ftl, "sequential", 8, 3), 8), "{ftl}");
    }
}

/// Among the victims with the fewest valid pages, the one with the fewest erases.
fn least_worn(candidates: &Candidates) -> usize {
    let lists = candidates.valid.iter().zip(&candidates.erases).enumerate();
    lists.min_by_key(|&(_, it)| it).unwrap().0
}

/// The erases of a candidate are those that its block was told of, and a rule can level the wear.
#[test]
fn a_policy_knows_how_worn_the_candidates_are() {
    let told = Arc::new(Mutex::new(HashMap::<u32, u32>::new()));
    let count = Arc::clone(&told);
    let erased = move |block: &ErasedBlock| {
        *count.lock().unwrap().entry(block.block.0).or_default() += 1;
    };
    let policy = Tested {
        victim: Some(least_worn),
        erased: Arc::new(Mutex::new(erased)),
        ..Tested::plain(1)
    };
    let spread = |policy: &Tested| {
        let mut real = policy.on("page", "sequential", 8, 3).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        (0..3000).for_each(|_| step(&mut rng, 8).run_on(&mut real));
        let wear = real.nand.array().wear().to_vec();
        (wear.iter().max().unwrap() - wear.iter().min().unwrap(), wear)
    };
    let (levelled, wear) = spread(&policy);
    let greedily = Tested { victim: Some(greedy), ..Tested::plain(1) };
    assert!(levelled < spread(&greedily).0, "{levelled}");
    for (&block, &erases) in told.lock().unwrap().iter() {
        assert_eq!(wear[block as usize], erases, "block {block}");
    }
}

/// Audits after every step, with the fewest extra blocks that a policy may have.
#[test]
fn the_reserve_is_enough_for_any_placement() {
    for (classes, np) in [(2, 4), (3, 8), (5, 4), (7, 8)] {
        let draw = |seed| {
            let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
            move || (draws.next_u32() % u32::from(classes)) as Class
        };
        let (mut one, mut other) = (draw(7), draw(8));
        let place = move |_: &HostWrite| Ok(one());
        let place_copy = move |_: &MovedPage| Ok(other());
        let policy = Tested {
            place: Arc::new(Mutex::new(place)),
            place_copy: Arc::new(Mutex::new(place_copy)),
            ..Tested::plain(classes)
        };
        for ftl in ["page", "page:victim=random", "page:victim=fifo"] {
            counts(policy.on(ftl, "sequential", np, 2 * u32::from(classes)).unwrap(), np);
        }
    }
}

/// What a policy was told, and what follows from it.
#[derive(Default)]
struct Told {
    /// For each page the numbers of its last write and of the one before, and its class.
    pages: HashMap<u32, (u64, u64, Class)>,
    now: u64,
    copied: u64,
    erased: u64,
}

#[test]
fn a_policy_is_told_the_truth() {
    let told = Arc::new(Mutex::new(Told::default()));
    let hot = |lpn: u32| Class::from(lpn < 12);
    let (first, second, third) = (Arc::clone(&told), Arc::clone(&told), Arc::clone(&told));
    let place = move |write: &HostWrite| {
        let mut told = first.lock().unwrap();
        assert_eq!(write.now, told.now, "pages are asked for in the order of the writes");
        told.now += 1;
        let (now, class) = (told.now, hot(write.lpn.0));
        let before = told.pages.get(&write.lpn.0).copied();
        assert_eq!(write.lifespan, before.map(|(last, ..)| now - last), "{write:?}");
        assert_eq!(write.class, before.map(|(.., class)| class), "{write:?}");
        let before = before.map_or(0, |(last, ..)| last);
        told.pages.insert(write.lpn.0, (now, before, class));
        Ok(class)
    };
    let place_copy = move |copy: &MovedPage| {
        let mut told = second.lock().unwrap();
        let (last, before, class) = told.pages[&copy.lpn.0];
        // The next page of the host has been asked for, and is not written yet.
        assert_eq!(copy.now, told.now - 1, "{copy:?}");
        let last = if last > copy.now { before } else { last };
        assert_eq!((copy.age, copy.class), (copy.now - last, class), "{copy:?}");
        told.copied += 1;
        Ok(copy.class)
    };
    let erased = move |block: &ErasedBlock| {
        let mut told = third.lock().unwrap();
        assert!(block.lifespan <= block.now && block.copied < 8, "{block:?}");
        told.erased += 1;
    };
    let policy = Tested {
        place: Arc::new(Mutex::new(place)),
        place_copy: Arc::new(Mutex::new(place_copy)),
        erased: Arc::new(Mutex::new(erased)),
        ..Tested::plain(2)
    };
    let mut real = policy.on("page", "sequential", 8, 4).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    for _ in 0..3000 {
        let step = step(&mut rng, 8);
        step.run_on(&mut real);
        if step.trim {
            let pages = step.first as u32..(step.first + step.pages) as u32;
            told.lock().unwrap().pages.retain(|lpn, _| !pages.contains(lpn));
        }
    }
    let (counts, told) = (real.counts(), told.lock().unwrap());
    assert_eq!((told.now, told.copied, told.erased), (counts.host, counts.copies, counts.erases));
    assert!(told.copied > 1000, "garbage collection had little to do");
}

/// Host pages that are written after the mount of the next test.
const AFTER_MOUNT: u64 = 300;

fn greedy_among_young(candidates: &Candidates) -> usize {
    assert!(candidates.ages.iter().all(|&age| age <= AFTER_MOUNT), "{candidates:?}");
    greedy(candidates)
}

/// No time of a write survives, so every page counts as just written, and every block as just
/// opened and filled. But the clock goes on.
#[test]
fn after_a_mount_the_clock_goes_on_and_all_ages_begin_anew() {
    let mut real =
        Real::placed_by(Some(&Tested::plain(1)), "page", "sequential", 8, 2, Mode::Stamps).unwrap();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut write = |real: &mut Real, stamp| {
        let page = rng.next_u32() % (8 * LOGICAL_BLOCKS);
        let run = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::Stamp(stamp));
        real.ftl.write_run(&mut real.nand, &run).unwrap();
    };
    (1..2000).for_each(|stamp| write(&mut real, stamp));
    let programs = real.nand.tally().total(Op::Program);

    let calls = Arc::new(Mutex::new([0; 3]));
    let [first, second, third] = [(); 3].map(|()| Arc::clone(&calls));
    let place = move |write: &HostWrite| {
        first.lock().unwrap()[0] += 1;
        // The first program has the number 0 or 1.
        assert!(write.now + 1 >= programs, "{write:?} after {programs} programs");
        assert!(write.lifespan.is_none_or(|lifespan| lifespan <= AFTER_MOUNT), "{write:?}");
        Ok(0)
    };
    let place_copy = move |copy: &MovedPage| {
        second.lock().unwrap()[1] += 1;
        assert!(copy.age <= AFTER_MOUNT, "{copy:?}");
        Ok(0)
    };
    let erased = move |block: &ErasedBlock| {
        third.lock().unwrap()[2] += 1;
        assert!(block.lifespan <= AFTER_MOUNT, "{block:?}");
    };
    let policy = Tested {
        place: Arc::new(Mutex::new(place)),
        place_copy: Arc::new(Mutex::new(place_copy)),
        erased: Arc::new(Mutex::new(erased)),
        victim: Some(greedy_among_young),
        ..Tested::plain(1)
    };
    real.power_cycle_under(policy);
    (0..AFTER_MOUNT as u32).for_each(|stamp| write(&mut real, 2000 + stamp));
    let [places, copies, erases] = *calls.lock().unwrap();
    assert!(places == AFTER_MOUNT && copies > 100 && erases > 50, "{places} {copies} {erases}");
}

/// Nine of ten writes go to an eighth of the pages. A block of such pages dies soon.
#[test]
fn separating_hot_pages_saves_copies() {
    const PAGES: u32 = LOGICAL_BLOCKS * 32;
    let place = move |write: &HostWrite| Ok(Class::from(write.lpn.0 < PAGES / 8));
    let place_copy = move |copy: &MovedPage| Ok(Class::from(copy.lpn.0 < PAGES / 8));
    let policy = Tested {
        place: Arc::new(Mutex::new(place)),
        place_copy: Arc::new(Mutex::new(place_copy)),
        ..Tested::plain(2)
    };
    let copies = |mut real: Real| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for write in 0..20_000 {
            let pages = if write % 10 == 0 { PAGES } else { PAGES / 8 };
            let first = rng.next_u32() as usize % pages as usize;
            let step = Step { trim: false, first, pages: 1, head: 0b1111, tail: 0b1111 };
            step.try_on(&mut real).unwrap();
        }
        real.counts().copies
    };
    let apart = copies(policy.on("page", "sequential", 32, 7).unwrap());
    let mixed = copies(Real::new("page", "sequential", 32, 7));
    assert!(apart * 10 < mixed * 7, "{apart} and {mixed}");
}

#[test]
fn nonsense_of_a_policy_is_an_error() {
    let failed = |policy: &Tested| {
        let mut real = policy.on("page", "sequential", 8, 4).unwrap();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut steps = (0..3000).map(|_| step(&mut rng, 8).try_on(&mut real));
        let error = steps.find_map(|done| done.err()).expect("the policy talks nonsense");
        assert!(matches!(error, Error::Policy(_)), "{error:?}");
        error.to_string()
    };
    let place = Arc::new(Mutex::new(|_: &HostWrite| Ok(2)));
    let unknown = failed(&Tested { place, ..Tested::plain(2) });
    assert!(unknown.ends_with("into class 2; it has 2, from 0 to 1"), "{unknown}");
    let place_copy = Arc::new(Mutex::new(|_: &MovedPage| Ok(9)));
    let unknown = failed(&Tested { place_copy, ..Tested::plain(2) });
    assert!(unknown.contains("into class 9"), "{unknown}");
    let victim: Option<fn(&Candidates) -> usize> = Some(|all| all.valid.len());
    let beyond = failed(&Tested { victim, ..Tested::plain(2) });
    assert!(beyond.contains("candidates, which are counted from 0"), "{beyond}");
    let place = Arc::new(Mutex::new(|_: &HostWrite| Err(Error::Policy("no idea".into()))));
    assert_eq!(failed(&Tested { place, ..Tested::plain(1) }), "no idea");
}

#[test]
fn a_device_that_does_not_fit_the_policy_is_refused() {
    let why = |classes, ftl: &str, extra| {
        Tested::plain(classes).on(ftl, "sequential", 8, extra).err().unwrap().to_string()
    };
    let few = why(3, "page", 5);
    assert!(few.ends_with("needs at least 6 extra blocks, this device has 5"), "{few}");
    assert!(why(0, "page", 5).contains("at least one class"));
    assert!(why(1, "page:frontiers=2", 5).contains("`frontiers`"));
}
