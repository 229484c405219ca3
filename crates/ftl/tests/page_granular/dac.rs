//! dac: regions counted by hand, all counts against a naive model, and one region against page.

use ftl::{Metric, Run};
use nand::{Data, Lpn, Mode};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, PAGE_BYTES, Real, SEED, step};
use crate::naive_victims::{NaiveVictims, params, settings};

// ---- Counted by hand ----------------------------------------------------------------------------

/// Blocks of four pages; no page is written yet.
fn device(spec: &str, extra: u32) -> Real {
    Real::new(spec, "sequential", 4, extra)
}

fn write(real: &mut Real, first: u32, pages: u32) {
    let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
    real.ftl.write_run(&mut real.nand, &run).unwrap();
    real.ftl.audit(&real.nand).unwrap();
}

fn write_each(real: &mut Real, pages: &[u32]) {
    pages.iter().for_each(|&page| write(real, page, 1));
}

/// Mapped pages of each region.
fn sizes(real: &Real) -> Vec<u64> {
    let figures = real.ftl.report().figures;
    let sizes = figures.into_iter().find(|(name, _)| *name == "region_pages");
    let Some((_, Metric::Counts(sizes))) = sizes else { panic!("no sizes") };
    sizes
}

fn count(real: &Real, name: &str) -> u64 {
    let figures = real.ftl.report().figures;
    match figures.into_iter().find(|(known, _)| *known == name) {
        Some((_, Metric::Count(count))) => count,
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_first_write_goes_to_the_coldest_region() {
    let mut real = device("dac", 8);
    write(&mut real, 0, 10);
    assert_eq!(sizes(&real), [10, 0, 0]);
    real.ftl.trim(&mut real.nand, Lpn(3), 2).unwrap();
    write(&mut real, 3, 1);
    assert_eq!(sizes(&real), [9, 0, 0], "a page trimmed before starts there again");
    assert_eq!(count(&real, "promotions"), 0);
}

#[test]
fn a_young_page_climbs_one_region_per_write_up_to_the_hottest() {
    let mut real = device("dac", 8);
    write_each(&mut real, &[5, 5]);
    assert_eq!(sizes(&real), [0, 1, 0]);
    write_each(&mut real, &[5, 5, 5]);
    assert_eq!(sizes(&real), [0, 0, 1]);
    assert_eq!(count(&real, "promotions"), 2);
}

#[test]
fn young_is_counted_in_host_pages_since_the_last_write() {
    // Two host pages lie between the writes of page 5: fewer than 3, but not fewer than 2.
    for (young, climbs) in [(3, true), (2, false)] {
        let mut real = device(&format!("dac:young={young}"), 8);
        write_each(&mut real, &[5, 0, 1, 5]);
        assert_eq!(count(&real, "promotions") == 1, climbs, "young={young}");
    }
}

#[test]
fn regions_survive_a_power_cycle() {
    let mut real = Real::in_mode("dac:young=3", "sequential", 4, 8, Mode::Stamps);
    let mut write = |pages: &[u32]| {
        for &page in pages {
            let run = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::Stamp(1));
            real.ftl.write_run(&mut real.nand, &run).unwrap();
        }
    };
    write(&[0, 1, 2, 3, 3, 2, 2, 8]);
    assert_eq!(sizes(&real), [3, 1, 1], "3 climbed once, 2 twice");
    real.power_cycle();
    assert_eq!(sizes(&real), [3, 1, 1]);
    let mut write = |page| {
        let run = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::Stamp(2));
        real.ftl.write_run(&mut real.nand, &run).unwrap();
    };
    [3, 9, 9, 9, 1].into_iter().for_each(&mut write);
    assert_eq!(
        sizes(&real),
        [3, 0, 3],
        "all pages are young after the mount, so 3 climbs; 1 is not young any more when rewritten"
    );
}

#[test]
fn a_page_that_is_not_young_stays_in_its_region() {
    let mut real = device("dac:young=2", 8);
    write_each(&mut real, &[5, 5, 0, 1, 5]);
    assert_eq!(
        sizes(&real),
        [2, 1, 0],
        "5 climbed with its second write and stayed with its third"
    );
    write_each(&mut real, &[5]);
    assert_eq!(sizes(&real), [2, 0, 1], "the third write made it young again");
}

#[test]
fn with_promote_always_a_rewritten_page_climbs_whatever_its_age() {
    let others: Vec<u32> = (8..40).collect();
    for (spec, expected) in [("dac:young=4", [33, 0, 0]), ("dac:promote=always", [32, 1, 0])] {
        let mut real = device(spec, 8);
        write_each(&mut real, &[&[5], others.as_slice(), &[5]].concat());
        assert_eq!(sizes(&real), expected, "{spec}");
    }
}

#[test]
fn a_run_is_judged_page_by_page() {
    let mut real = device("dac:young=4", 8);
    write_each(&mut real, &[0, 1]);
    // Pages 0 and 1 climb; pages 2 and 3 are new.
    write(&mut real, 0, 4);
    assert_eq!(sizes(&real), [2, 2, 0]);
    assert_eq!(real.counts().host, 6);
}

#[test]
fn each_region_fills_a_block_of_its_own() {
    let mut real = device("dac:regions=2", 8);
    let free = real.ftl.report().free_blocks;
    write_each(&mut real, &[0, 1, 0, 2, 3]);
    assert_eq!(free - real.ftl.report().free_blocks, 2, "four pages of region 0, one of region 1");
    write_each(&mut real, &[1, 2, 3]);
    assert_eq!(free - real.ftl.report().free_blocks, 2);
    write_each(&mut real, &[4]);
    assert_eq!(free - real.ftl.report().free_blocks, 3);
}

#[test]
fn a_copied_page_sinks_one_region_but_not_below_the_coldest() {
    // The fill takes 12 of 15 blocks. Then region 1 gets the blocks [0 4 8 12] and [0 0 0 0].
    let mut real = device("dac:regions=2,victim=greedy", 3);
    write(&mut real, 0, 48);
    write_each(&mut real, &[0, 4, 8, 12, 0, 0, 0, 0]);
    assert_eq!((real.counts().copies, real.counts().erases), (0, 0));
    // Only the reserve is left, so two victims are collected. In the first, page 0 alone is valid;
    // it sinks to region 0. The second holds pages 1, 2 and 3 of region 0, which stay there.
    write_each(&mut real, &[0]);
    assert_eq!((real.counts().copies, real.counts().erases), (4, 2));
    assert_eq!(count(&real, "demotions"), 1);
    assert_eq!(
        sizes(&real),
        [44, 4],
        "the write of 0 had been assigned to region 1 before the collections"
    );
}

#[test]
fn a_copied_page_has_to_climb_again() {
    // The device has 16 blocks. Pages 0 to 3 climb to region 1, then 0, 1 and 2 climb to region 2.
    let mut real = device("dac:regions=3,victim=greedy", 4);
    write(&mut real, 0, 48);
    write(&mut real, 0, 4);
    write(&mut real, 0, 3);
    assert_eq!(sizes(&real), [44, 1, 3]);
    // Region 1 opens two more blocks. The second one needs a collection: the victim is the block of
    // region 0 that held pages 0 to 3, which is dead by now.
    write_each(&mut real, &[8, 12, 16, 20, 24, 28, 32, 36]);
    assert_eq!((real.counts().copies, real.counts().erases), (0, 1));
    // The next write needs a block. Page 3 is alone in its block and sinks to region 0; then pages
    // 9, 10 and 11 are copied within region 0.
    write_each(&mut real, &[40]);
    assert_eq!((real.counts().copies, real.counts().erases), (4, 3));
    assert_eq!((count(&real, "demotions"), sizes(&real)), (1, vec![36, 9, 3]));
    write_each(&mut real, &[3]);
    assert_eq!(
        sizes(&real),
        [35, 10, 3],
        "3 climbs from the coldest region, where the copy had left it"
    );
}

#[test]
fn the_least_extra_is_the_reserve_and_one_block_per_region() {
    for regions in [1, 3, 15] {
        let spec = format!("dac:regions={regions}");
        let choice = ftl::Choice::from_spec(&spec::Spec::parse(&spec).unwrap()).unwrap();
        let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-last").unwrap()).unwrap();
        choice.check(&chip, 100, regions + 1).unwrap();
        let error = choice.check(&chip, 100, regions).unwrap_err().to_string();
        assert!(error.starts_with(&format!("dac needs at least {} extra", regions + 1)), "{error}");
    }
    let spec = spec::Spec::parse("dac:regions=16").unwrap();
    let choice = ftl::Choice::from_spec(&spec).unwrap();
    let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-last").unwrap()).unwrap();
    let error = choice.check(&chip, 100, 40).unwrap_err().to_string();
    assert_eq!(error, "dac: regions=16; 1 to 15 are possible");
    let spec = spec::Spec::parse("dac:young=9,promote=always").unwrap();
    let choice = ftl::Choice::from_spec(&spec).unwrap();
    let error = choice.check(&chip, 100, 40).unwrap_err().to_string();
    assert_eq!(error, "dac: young=9 has no effect with promote=always; leave one out");
}

#[test]
fn ram_is_the_page_map_and_five_bytes_per_page_for_regions_and_ages() {
    let real = device("dac", 8);
    let pages = u64::from(LOGICAL_BLOCKS) * 4;
    let ram = real.ftl.report().ram;
    assert_eq!(ram.map, 4 * pages);
    let base = device("page", 8).ftl.report().ram.other;
    assert_eq!(ram.other - base, 5 * pages);
    let always = device("dac:promote=always", 8).ftl.report().ram.other;
    assert_eq!(always - base, pages, "no ages");
}

#[test]
fn with_one_region_dac_counts_as_page_does() {
    for setting in settings() {
        let mut dac = device(&format!("dac:regions=1,{setting}"), 3);
        let mut page = device(&format!("page:{setting}"), 3);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        for round in 0..3000 {
            let step = step(&mut rng, 4);
            step.run_on(&mut dac);
            step.run_on(&mut page);
            assert_eq!(dac.counts(), page.counts(), "{setting}, step {round}");
        }
        assert!(dac.counts().copies > 1000);
    }
}

// ---- A naive model ------------------------------------------------------------------------------

#[derive(Default)]
struct Block {
    owners: Vec<usize>,
    region: usize,
}

#[derive(Clone, Copy, Default)]
struct Page {
    at: Option<(usize, usize)>,
    region: usize,
    since: u64,
}

struct NaiveDac {
    np: usize,
    regions: usize,
    young: u64,
    blocks: Vec<Block>,
    free: Vec<usize>,
    open: Vec<Option<usize>>,
    pages: Vec<Page>,
    victims: NaiveVictims,
    clock: u64,
    counts: Counts,
}

impl NaiveDac {
    fn new(spec: &str, np: usize, extra: usize) -> NaiveDac {
        let (params, logical) = (params(spec), LOGICAL_BLOCKS as usize);
        let regions = params.count("regions") as usize;
        NaiveDac {
            np,
            regions,
            young: if params.choice("promote") == "always" {
                u64::MAX
            } else {
                params.count("young")
            },
            blocks: (0..logical + extra).map(|_| Block::default()).collect(),
            free: (0..logical + extra).collect(),
            open: vec![None; regions],
            pages: vec![Page::default(); logical * np],
            victims: NaiveVictims::new(params, np, SEED),
            clock: 0,
            counts: Counts::default(),
        }
    }

    fn has_room(&self, region: usize) -> bool {
        self.open[region].is_some_and(|block| self.blocks[block].owners.len() < self.np)
    }

    fn take(&mut self, region: usize) {
        let block = self.free.remove(0);
        self.victims.open(block);
        self.blocks[block].region = region;
        self.open[region] = Some(block);
    }

    fn append(&mut self, region: usize, lpn: usize) {
        let block = self.open[region].unwrap();
        self.blocks[block].owners.push(lpn);
        self.pages[lpn].at = Some((block, self.blocks[block].owners.len() - 1));
        self.pages[lpn].region = region;
        if self.blocks[block].owners.len() == self.np {
            self.victims.close(block, self.clock);
        }
    }

    fn collect(&mut self) {
        let NaiveDac { victims, blocks, pages, .. } = self;
        let count = |block: usize| valid(blocks, pages, block).len();
        let victim = victims.choose(self.clock, count).unwrap();
        let region = self.blocks[victim].region;
        let target = region.max(1) - 1;
        for lpn in valid(&self.blocks, &self.pages, victim) {
            if !self.has_room(target) {
                self.take(target);
            }
            self.append(target, lpn);
            if target != region {
                self.pages[lpn].since = self.clock;
            }
            self.counts.copies += 1;
        }
        self.blocks[victim].owners.clear();
        for open in self.open.iter_mut().filter(|open| **open == Some(victim)) {
            *open = None;
        }
        self.victims.release(victim);
        self.free.push(victim);
        self.counts.erases += 1;
    }

    fn write(&mut self, lpn: usize, partial: bool) {
        let page = self.pages[lpn];
        let region = match page.at {
            None => 0,
            Some(_) if self.clock - page.since < self.young => {
                (page.region + 1).min(self.regions - 1)
            }
            Some(_) => page.region,
        };
        while !self.has_room(region) {
            if self.free.len() > 1 { self.take(region) } else { self.collect() }
        }
        self.counts.rmw += u64::from(partial && self.pages[lpn].at.is_some());
        self.clock += 1;
        self.append(region, lpn);
        self.pages[lpn].since = self.clock;
        self.counts.host += 1;
    }
}

/// The valid pages of a block.
fn valid(blocks: &[Block], pages: &[Page], block: usize) -> Vec<usize> {
    let owners = blocks[block].owners.iter().enumerate();
    let valid = owners.filter(|&(at, &lpn)| pages[lpn].at == Some((block, at)));
    valid.map(|(_, &lpn)| lpn).collect()
}

#[test]
fn dac_counts_as_the_naive_model_counts() {
    for setting in settings() {
        for (regions, young, np, extra) in
            [(2, 48, 4, 3), (3, 20, 4, 4), (3, 0, 6, 6), (5, 9, 4, 9)]
        {
            let promote = if young == 0 { "always" } else { "young" };
            let spec = format!("dac:regions={regions},promote={promote},young={young},{setting}");
            let mut real = Real::new(&spec, "sequential", np, extra);
            let mut naive = NaiveDac::new(&spec, np, extra as usize);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
            for round in 0..3000 {
                let step = step(&mut rng, np);
                step.run_on(&mut real);
                for at in 0..step.pages {
                    match step.trim {
                        true => naive.pages[step.first + at].at = None,
                        false => naive.write(step.first + at, step.is_partial(at)),
                    }
                }
                assert_eq!(real.counts(), naive.counts, "{spec}, Np {np}, step {round}");
            }
            let mapped = |region: usize| {
                let inside = |page: &&Page| page.at.is_some() && page.region == region;
                naive.pages.iter().filter(inside).count() as u64
            };
            assert_eq!(sizes(&real), (0..regions).map(mapped).collect::<Vec<_>>(), "{spec}");
            assert!(naive.counts.copies > 1000 && naive.counts.rmw > 100, "{:?}", naive.counts);
            assert!(count(&real, "demotions") > 100 && count(&real, "promotions") > 1000);
        }
    }
}
