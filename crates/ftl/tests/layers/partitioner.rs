//! One DRAM budget for buffer and map, cases counted by hand: the share of each side, and when and
//! how far the boundary moves.

use std::sync::{Arc, RwLock};

use ftl::layer::{Layers, Stack, partitioner};
use ftl::{MissCosts, MountConfig};
use nand::{Cause, Mode, Nand, Op};

use crate::common::{choice, config};
use crate::device::{LOGICAL_BLOCKS, PAGE_BYTES, Real, chip, mount_under, written_pages};
use crate::elastic::{ENTRY_BYTES, Elastic, SCHEME};
use crate::recorder::{Calls, WHOLE};

/// A budget of twelve pages or 24 entries.
pub const DRAM: u64 = 12 * PAGE_BYTES as u64;

/// A budget divided above an elastic FTL.
pub struct Divided {
    pub real: Real,
    pub calls: Calls,
    pub costs: Arc<RwLock<MissCosts>>,
    pub budgets: Arc<RwLock<Vec<u64>>>,
}

impl Divided {
    pub fn new(split: &str) -> Divided {
        let ftl = Elastic::default();
        let (calls, costs, budgets) = (ftl.calls(), ftl.costs.clone(), ftl.budgets.clone());
        let mut nand = Nand::new(chip().geometry(LOGICAL_BLOCKS).unwrap(), Mode::Stamps);
        let choice = choice("page");
        let device = config(&choice, LOGICAL_BLOCKS, &[], chip().timing);
        let layers = budget(split);
        let params = &layers.iter().next().unwrap().params;
        let stack = Stack { layers: &layers, scheme: &SCHEME, given: &[] };
        let mut ftl = Some(ftl);
        let mut below = |_: &mut Nand, _: &MountConfig| -> ftl::Result<Box<dyn ftl::Ftl>> {
            Ok(Box::new(ftl.take().expect("mounted once")))
        };
        let ftl = (partitioner::LAYER.mount)(params, &stack, &mut nand, &device, &mut below);
        let real = Real { nand, ftl: ftl.unwrap(), writes: 0 };
        Divided { real, calls, costs, budgets }
    }

    /// Writes these pages, one request per page.
    fn write_each(&mut self, pages: &[u32]) {
        for &page in pages {
            self.real.write(page, 1);
            self.end();
        }
    }

    fn read_each(&mut self, pages: &[u32]) {
        for &page in pages {
            self.real.read(page, WHOLE);
            self.end();
        }
    }

    pub fn end(&mut self) {
        self.real.ftl.end_request(&mut self.real.nand).unwrap();
        self.real.ftl.audit(&self.real.nand).unwrap();
    }

    /// The last size that the map was given.
    pub fn mapping(&self) -> u64 {
        *self.budgets.read().unwrap().last().unwrap()
    }

    pub fn split(&self, name: &str) -> f64 {
        self.real.figure_of("split", name)
    }
}

fn costs(
    map_read_ns: f64,
    map_write_ns: f64,
    buffer_read_ns: f64,
    buffer_write_ns: f64,
) -> MissCosts {
    MissCosts { map_read_ns, map_write_ns, buffer_read_ns, buffer_write_ns }
}

#[test]
fn a_fixed_share_divides_the_budget_permanently() {
    let mut divided = Divided::new("25%");
    assert_eq!((divided.mapping(), divided.real.figure("pages_max")), (DRAM / 4, 9.0));
    divided.write_each(&(0..30).collect::<Vec<_>>());
    assert_eq!((divided.budgets.read().unwrap().len(), divided.real.figure("waiting")), (1, 9.0));
    assert_eq!(divided.split("map_share"), 0.25);
}

#[test]
fn extreme_shares_give_everything_to_one_side() {
    let mut all_map = Divided::new("100%");
    all_map.write_each(&[3, 3, 4]);
    assert_eq!(written_pages(&all_map.calls), [[3], [3], [4]], "writes pass the buffer");
    assert_eq!((all_map.mapping(), all_map.real.figure("waiting")), (DRAM, 0.0));
    let mut all_buffer = Divided::new("0%");
    all_buffer.write_each(&(0..13).collect::<Vec<_>>());
    assert_eq!(written_pages(&all_buffer.calls), [[0]]);
    assert_eq!(all_buffer.mapping(), 0);
}

#[test]
fn the_boundary_starts_in_the_middle_and_stays_while_no_ghost_is_hit() {
    let mut divided = Divided::new("adaptive:interval=2");
    *divided.costs.write().unwrap() = costs(1.0, 1.0, 1.0, 1.0);
    assert_eq!((divided.mapping(), divided.real.figure("pages_max")), (DRAM / 2, 6.0));
    divided.write_each(&(0..6).collect::<Vec<_>>());
    assert_eq!((divided.split("tunings"), divided.split("map_share")), (3.0, 0.5));
    assert_eq!(divided.budgets.read().unwrap().len(), 1);
}

#[test]
fn a_write_that_hits_the_ghost_of_the_buffer_enlarges_the_buffer() {
    let mut divided = Divided::new("adaptive:interval=8,max_step=10%");
    *divided.costs.write().unwrap() = costs(0.0, 0.0, 0.0, 1.0);
    // Page 6 evicts 0. Page 0 hits the ghost and evicts 1. Nothing hits the ghost of the map.
    divided.write_each(&[0, 1, 2, 3, 4, 5, 6, 0]);
    assert_eq!(divided.mapping(), DRAM / 2 - DRAM / 10);
    assert_eq!(
        (divided.split("buffer_grew"), divided.split("ghost_buffer_write_hits")),
        (1.0, 1.0)
    );
    assert_eq!(divided.split("ghost_buffer_pages"), 1.0, "0 left the ghost, and 1 entered it");
    assert_eq!(
        divided.split("mean_map_share"),
        0.5,
        "the mean is over the share during the interval"
    );
}

#[test]
fn a_read_hit_in_the_ghost_of_the_buffer_makes_the_page_recent_there() {
    let mut divided = Divided::new("adaptive:interval=100");
    divided.write_each(&[0, 1, 2, 3, 4, 5, 6, 7]);
    divided.read_each(&[0, 0]);
    divided.write_each(&[0]);
    // The write of 0 evicts 2. Then the ghost holds 1 and 2.
    divided.read_each(&[1]);
    divided.real.ftl.reset_report();
    assert_eq!(divided.split("ghost_buffer_pages"), 2.0);
    // The ghost has room for six pages. It holds 2 and 1. The writes of 8 to 12 evict 3 to 6 and
    // one more page, so 2 is dropped.
    divided.write_each(&[8, 9, 10, 11, 12]);
    assert_eq!(divided.split("ghost_buffer_pages"), 6.0);
    let mut tuned = Divided::new("adaptive:interval=16,max_step=10%");
    *tuned.costs.write().unwrap() = costs(0.0, 0.0, 1.0, 0.0);
    tuned.write_each(&[0, 1, 2, 3, 4, 5, 6, 7]);
    tuned.read_each(&[0, 1]);
    tuned.write_each(&[8, 9, 10, 11, 12]);
    // Page 0 was dropped: it was read before 1, after both had been evicted.
    tuned.write_each(&[1]);
    assert_eq!(tuned.split("ghost_buffer_read_hits"), 2.0);
    assert_eq!(tuned.split("ghost_buffer_write_hits"), 1.0);
}

#[test]
fn a_hit_in_the_ghost_of_the_map_enlarges_the_map() {
    let mut divided = Divided::new("adaptive:interval=4,max_step=10%");
    *divided.costs.write().unwrap() = costs(1.0, 0.0, 0.0, 0.0);
    // There is room for twelve entries. Reads of 0 to 12 evict 0; then 0 is missed.
    divided.read_each(&(0..13).collect::<Vec<_>>());
    assert_eq!(divided.mapping(), DRAM / 2);
    divided.read_each(&[0, 12, 12]);
    assert_eq!(divided.mapping(), DRAM / 2 + DRAM / 10);
    assert_eq!((divided.split("ghost_map_read_hits"), divided.split("map_grew")), (1.0, 1.0));
    assert_eq!(divided.split("ghost_map_entries"), 1.0, "the entry of 1 was evicted for that of 0");
}

#[test]
fn the_boundary_moves_by_units_times_the_ratio_of_profits() {
    let mut divided = Divided::new("adaptive:interval=16,max_step=50%");
    // The ghost of the buffer has one page and one hit, that of the map one entry and one hit.
    let (page, entry) = (f64::from(PAGE_BYTES), ENTRY_BYTES as f64);
    *divided.costs.write().unwrap() = costs(3.9 * entry, 0.0, 0.0, page);
    divided.read_each(&(20..32).collect::<Vec<_>>());
    // Twelve entries are cached. Seven writes enter the buffer, which evicts 0; its write below
    // evicts the entry of 20. A second write of 0 evicts 1, and thereby the entry of 21.
    for page in 0..7 {
        divided.real.write(page, 1);
    }
    divided.end();
    divided.write_each(&[0]);
    divided.read_each(&[20]);
    divided.end();
    // Ghosts: page 1, with a hit of 0; entries 21 and 22, with a hit of 20. So the profits are
    // 3.9/2 and 1.
    assert_eq!(divided.split("tunings"), 1.0);
    assert_eq!(divided.mapping(), DRAM / 2 + 512);
    // This takes the sixth page from the buffer: 2 is evicted, which evicts the entry of 23.
    assert_eq!(written_pages(&divided.calls), [[0], [1], [2]]);
    assert_eq!(divided.split("ghost_map_entries"), 3.0);
}

#[test]
fn hits_count_in_their_own_interval_only() {
    let mut divided = Divided::new("adaptive:interval=8,max_step=10%");
    *divided.costs.write().unwrap() = costs(0.0, 0.0, 0.0, 1.0);
    divided.write_each(&[0, 1, 2, 3, 4, 5, 6, 0]);
    let after = divided.mapping();
    divided.write_each(&[0; 8]);
    assert_eq!((divided.mapping(), divided.split("tunings")), (after, 2.0));
}

#[test]
fn a_buffer_that_must_shrink_evicts_pages_at_once() {
    let mut divided = Divided::new("adaptive:interval=16,max_step=20%");
    *divided.costs.write().unwrap() = costs(1.0, 0.0, 0.0, 0.0);
    divided.write_each(&[0, 1, 2, 3, 4, 5]);
    divided.read_each(&(16..25).collect::<Vec<_>>());
    // Nine entries are cached. Four more evict 16, which is missed by the sixteenth request.
    for page in 25..29 {
        divided.real.read(page, WHOLE);
    }
    assert!(written_pages(&divided.calls).is_empty());
    divided.read_each(&[16]);
    // 20 % are 4915 bytes: 3.6 of six pages are left.
    assert_eq!(divided.mapping(), DRAM / 2 + DRAM / 5);
    assert_eq!(written_pages(&divided.calls), [[0], [1], [2]]);
    assert_eq!(divided.real.figure("pages_max"), 3.0);
}

#[test]
fn only_evictions_fill_the_ghosts() {
    let mut divided = Divided::new("adaptive");
    divided.write_each(&[0, 1, 2]);
    divided.real.flush();
    assert_eq!(divided.split("ghost_buffer_pages"), 0.0);
    divided.write_each(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(divided.split("ghost_buffer_pages"), 2.0);
    divided.real.trim(0, 1);
    assert_eq!(divided.split("ghost_buffer_pages"), 1.0);
}

#[test]
fn a_request_of_many_pages_counts_once() {
    let mut divided = Divided::new("adaptive:interval=2");
    divided.real.write(0, 12);
    divided.end();
    assert_eq!(divided.split("tunings"), 0.0);
    divided.end();
    assert_eq!(divided.split("tunings"), 1.0);
    let paper = Divided::new("adaptive");
    assert_eq!(paper.real.ftl.report().gauges.last(), Some(&("map_share", 0.5)));
}

#[test]
fn ram_beyond_the_budget_is_reported_as_other() {
    let ram = Divided::new("25%").real.ftl.report().ram;
    assert_eq!((ram.cache, ram.buffer, ram.map), (6 * 1024, 9 * 2048, 0));
    assert_eq!(ram.other, 100 + 9 * 13);
    // Half of the budget: at most six pages in the ghost of the buffer, and one bit per eight
    // bytes.
    let ram = Divided::new("adaptive").real.ftl.report().ram;
    assert_eq!(ram.other, 100 + 6 * 13 + 6 * 12 + 4096 / 8);
}

// ---- Above real schemes -------------------------------------------------------------------------

fn budget(split: &str) -> Layers {
    Layers::from_texts(&[("dram", &DRAM.to_string()), ("split", split)]).unwrap()
}

fn divided(ftl: &str, split: &str) -> Real {
    let mut nand = Nand::new(chip().geometry(LOGICAL_BLOCKS + 8).unwrap(), Mode::Count);
    let ftl = mount_under(ftl, &budget(split), &mut nand).unwrap();
    Real { nand, ftl, writes: 0 }
}

#[test]
fn dftl_gets_at_least_one_cache_entry() {
    for (split, entries, pages) in [("0%", 1, 12), ("50%", 1536, 6), ("100%", 3072, 0)] {
        let ram = divided("dftl", split).ftl.report().ram;
        assert_eq!((ram.cache, ram.buffer), (8 * entries, 2048 * pages), "{split}");
        assert_eq!(ram.map, 0, "the directory is reported as other");
    }
}

#[test]
fn fast_gets_at_least_two_log_blocks_and_at_most_all() {
    // Four pages per block: 16 bytes per log block. Of eight extra blocks seven are log blocks.
    for (split, log_blocks) in [("0%", 2), ("0.2%", 3), ("0.4%", 6), ("50%", 7)] {
        let real = divided("fast", split);
        assert_eq!(real.ftl.report().ram.map, 16 * log_blocks, "{split}");
        assert!(real.ftl.report().gauges.contains(&("log_blocks", log_blocks as f64)), "{split}");
    }
}

#[test]
fn without_a_buffer_dftl_counts_as_without_a_partitioner() {
    let mut under = divided("dftl", "100%");
    let mut alone = Real::new("dftl:cmt=24KiB", "none", Mode::Count);
    let alone_blocks = alone.nand.geometry().blocks();
    assert_eq!(under.nand.geometry().blocks(), alone_blocks + 2);
    for real in [&mut under, &mut alone] {
        (0..200).for_each(|round| real.write(round * 7 % 32, 1));
    }
    let host = |real: &Real| real.nand.tally().count(Op::Program, Cause::Host);
    assert_eq!(host(&under), host(&alone));
    assert_eq!(under.ftl.report().figures[2], alone.ftl.report().figures[2], "write hits");
}

#[test]
fn impossible_divisions_are_refused_with_the_reason() {
    let refused = |texts: &[(&str, &str)], ftl: &str| {
        let choice = choice(ftl);
        let layers = Layers::from_texts(texts);
        let checked = layers.and_then(|layers| layers.check(choice.scheme, &choice.given, &chip()));
        checked.unwrap_err().to_string()
    };
    let of = |split, ftl| refused(&[("dram", "24KiB"), ("split", split)], ftl);
    let both = refused(&[("buffer", "4KiB"), ("dram", "24KiB")], "dftl");
    assert!(both.contains("leave `--buffer` out"));
    assert!(refused(&[("split", "30%")], "dftl").contains("`--dram` is missing"));
    assert!(refused(&[("dram", "2047")], "dftl").contains("are less than a page of 2048"));
    assert!(refused(&[("dram", "17GiB")], "dftl").contains("bytes of DRAM are more than"));
    assert!(of("adaptive", "page").contains("the map of page has a fixed size"));
    assert!(of("30%", "faster").contains("the map of faster"));
    assert!(of("30%", "dftl:cmt=8KiB").contains("`cmt` of dftl follows from"));
    assert!(of("101%", "dftl").contains("above 100%"));
    assert!(of("adaptve", "dftl").contains("split, key `share`"), "{}", of("adaptve", "dftl"));
    assert!(of("adaptive:max_step=0%", "dftl").contains("would never move"));
    assert!(of("adaptive:alpha=0", "fast").contains("alpha=0"));
    assert!(of("adaptive:maxstep=1%", "fast").contains("did you mean `max_step`?"));
    assert!(of("adaptive:share=1%,share=2%", "fast").contains("given twice"));
    let layers = Layers::from_texts(&[("dram", "24576")]).unwrap();
    assert_eq!(layers.to_string(), " --dram 24KiB");
    assert!(!layers.is_empty());
}
