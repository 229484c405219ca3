//! faster: fast with a second chance for valid pages, and an isolation area for cold ones (Lim et
//! al. 2010).
//!
//! ```text
//!   RW          [1 5 9 d] [2 6 1 3] … [7 1 _ _]          victim: the oldest; 5, 9, d valid
//!                5, carried before ─▶ isolation area [8 5 _ _]
//!                9 and d, first visit ─▶ new head [9 d _ _], host writes are appended
//!                the victim is erased; nothing was merged
//!   next write   merges the data block of 8, then goes where it belongs
//! ```
//! fast merges the data block of a page if the host does not rewrite the page within the log
//! window. In skewed workloads many pages miss the window by little. So faster does not merge a
//! valid page of a victim at once, but *carries it over* to the head of the log, once: the page
//! then has a second window (§IV.A). Pages that are still valid on their second visit are cold.
//! They are collected in the *isolation area*, a part of the log (§IV.B), and merged
//! *progressively*: before each page that the host writes, the data blocks of the oldest isolated
//! pages are merged, a few per write. No write waits until all data blocks of a victim are merged,
//! so response times hardly vary.
//!
//! Of E extra blocks, one is SW, one is kept clean, `isolation_blocks` are the isolation area, and
//! the others are RW. The paper does not mention SW. With `sequential=false` there is none: writes
//! at offset 0 go to RW like all others, so none of them merges a data block.
//!
//! A reclaim takes the oldest RW block V, dead or not. A dead block is erased, as in fast.
//! Otherwise:
//!
//! 1. *Last visits.* Valid pages of V that were carried before are isolated, in the order of their
//!    slots. If the area is full, its oldest block is reclaimed first: what is still valid in it is
//!    merged by force. With `isolation=false` the data blocks of last visits are merged at once.
//! 2. *First visits.* The other valid pages are copied to a clean block, the new head, in the order
//!    of their slots. With `second_chance=false` there are none: all visits are last visits.
//! 3. V is erased. If nothing was merged for V, this counts as no merge.
//!
//! With both switches off the scheme equals fast in every count.
//!
//! **The mark** of a carried page belongs to the version: a write of the host clears it. It needs
//! no bit per page. Carried pages are at the start of a head, before all pages that the host writes
//! there, so a count per block is enough. In flash the mark is the kind of the page.
//!
//! **Order.** Last visits come first and go to blocks of the isolation area, which belong to the
//! log already. Forced merges use the clean block and return one. Only then does the new head take
//! the clean block, and V is erased directly after its last copy. So as long as V exists, a block
//! that this reclaim has begun to fill holds only copies with twins in V, and a mount gives it up
//! like an unfinished merge ([`merge`]). An isolation block that holds older pages too is kept; its
//! copies are newer than those in V.
//!
//! **Recovery**: see [`fully_associative`]. A log block with a valid isolated page becomes an
//! isolation block, up to their maximum number. All others become RW blocks. The last marked page
//! of an RW block tells how many of its slots are carried. If RW then has more blocks than its
//! maximum, the oldest are merged as in fast before the log opens another block. Counts of merges
//! per isolation block start at zero.
//!
//! Choices where the paper is silent: progressive merges precede every page of the host, including
//! pages that are written at home or to SW. An empty isolation block is erased when the area needs
//! its room. Isolation blocks are reclaimed in the order of their allocation, even if a younger one
//! is empty. The merge of a data block for an isolated page takes its pages out of other log blocks
//! too, as every full merge does. If such a page was marked, it counts as saved by its second
//! chance.

pub mod isolation_area;

use core::ops::Range;

use nand::{BlockId, ChipModel, Nand};
use spec::{Kind, Param, Params};

use self::isolation_area::IsolationArea;
use crate::contract::{
    Ftl, Metric, MountConfig, Report, Result, Run, Scheme, Span, Violation, base_is,
};
use crate::part::log::fully_associative::{self, FullyAssociative, WriteStep};
use crate::part::log::log_map;
use crate::part::log::log_mount::FoundLog;
use crate::part::log::merge;
use crate::part::log::random_log::RandomBlock;
use crate::part::recovery::page_kind;

/// FASTer.
pub static SCHEME: Scheme = Scheme {
    name: "faster",
    summary: "fast with a second chance for valid pages; cold pages are merged a few at a time",
    source: "Lim, Lee, Moon: FASTer FTL for enterprise-class flash memory SSDs, SNAPI 2010",
    params: PARAMS,
    refuses,
    least_extra,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 32),
    mount,
    ..Scheme::PLAIN
};

static PARAMS: &[Param] = &[
    Param {
        name: "second_chance",
        kind: Kind::Switch,
        default: "true",
        unit: "",
        doc: "whether valid pages of a victim are copied to the head of the log once (§IV.A)",
    },
    Param {
        name: "isolation",
        kind: Kind::Switch,
        default: "true",
        unit: "",
        doc: "whether pages that had their second chance go to an isolation area and are merged a \
              few at a time (§IV.B)",
    },
    Param {
        name: "isolation_blocks",
        kind: Kind::Count,
        default: "1",
        unit: "blocks",
        doc: "the number of log blocks in the isolation area; none with isolation=false",
    },
    Param {
        name: "merges_per_write",
        kind: Kind::Count,
        default: "1",
        unit: "data blocks",
        doc: "the number of data blocks with isolated pages that are merged before each page that \
              the host writes",
    },
    Param {
        name: "sequential",
        kind: Kind::Switch,
        default: "",
        unit: "",
        doc: "whether a log block takes sequential streams, as in fast; the paper mentions none; \
              default: true",
    },
];

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    let none = params.switch("isolation") && params.count("isolation_blocks") == 0;
    none.then(|| "isolation_blocks is 0; without an area say isolation=false".into())
}

fn least_extra(params: &Params, _: &ChipModel, _: u32) -> u32 {
    fully_associative::LEAST_EXTRA.saturating_add(isolation_blocks(params))
}

fn isolation_blocks(params: &Params) -> u32 {
    match params.switch("isolation") {
        true => params.count("isolation_blocks").try_into().unwrap_or(u32::MAX),
        false => 0,
    }
}

/// The FTL: fast's log with a second chance and an isolation area.
#[derive(Debug)]
struct Faster {
    log: FullyAssociative,
    second_chance: bool,
    isolation: Option<IsolationArea>,
    merges_per_write: u64,
    /// The pages of a victim that are about to move; reused to save allocations.
    moving: Vec<nand::Ppn>,
    counts: FasterCounts,
}

/// Counts of host pages since the last reset.
#[derive(Debug, Default)]
struct FasterCounts {
    /// Pages copied to the head on their first visit.
    carried: u64,
    /// Carried pages that were not valid any more on their second visit.
    saved: u64,
    /// Pages copied to the isolation area.
    isolated: u64,
    /// Pages merged from there progressively.
    merged_progressively: u64,
    /// Pages merged from there by force, because the area was full.
    merged_by_force: u64,
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let aside = isolation_blocks(device.params);
    let streams = device.params.opt_switch("sequential").unwrap_or(true);
    let (log, found) = FullyAssociative::mount(nand, device, aside, streams)?;
    let mut ftl = Faster {
        log,
        second_chance: device.params.switch("second_chance"),
        isolation: (aside > 0).then(|| IsolationArea::new(nand, aside)),
        merges_per_write: device.params.count("merges_per_write"),
        moving: Vec::with_capacity(nand.geometry().pages_per_block() as usize),
        counts: FasterCounts::default(),
    };
    found.iter().for_each(|found| ftl.take_over(found));
    Ok(Box::new(ftl))
}

impl Faster {
    /// Adds a log block that a mount found to the isolation area or the random log, according to
    /// the marks of its pages.
    fn take_over(&mut self, found: &FoundLog) {
        let marked = |kind: &u8| matches!(*kind, page_kind::CARRIED | page_kind::ISOLATED);
        let carried = found.kinds.iter().rposition(marked).map_or(0, |last| last as u32 + 1);
        let block = RandomBlock { block: found.block, carried };
        match &mut self.isolation {
            Some(area) if found.kinds.contains(&page_kind::ISOLATED) && !area.has_all_blocks() => {
                area.take_over(block);
            }
            _ => self.log.random.take_over(block),
        }
    }

    /// Merges the data blocks of the oldest isolated pages, as many as precede one write.
    fn merge_progressively(&mut self, nand: &mut Nand) -> Result<()> {
        let Some(area) = self.isolation.as_mut().filter(|area| !area.is_exhausted()) else {
            return Ok(());
        };
        for _ in 0..self.merges_per_write {
            match area.merge_oldest(nand, &mut self.log.map)? {
                0 => break,
                pages => self.counts.merged_progressively += pages,
            }
        }
        Ok(())
    }

    /// Whether isolated pages are left.
    fn has_isolated_pages(&mut self, nand: &Nand) -> bool {
        let map = &self.log.map;
        self.isolation.as_mut().is_some_and(|area| area.oldest(nand, map).is_some())
    }

    // ---- Reclaiming ---------------------------------------------------------------------------

    /// Reclaims the oldest block of the random log.
    #[inline(never)]
    fn reclaim(&mut self, nand: &mut Nand) -> Result<()> {
        let is_over = self.log.is_over_its_maximum();
        let RandomBlock { block: victim, carried } = self.log.random.take_oldest(nand);
        let still_valid = self.log.map.valid_pages(nand, victim, 0..carried).count();
        self.counts.saved += u64::from(carried) - still_valid as u64;
        if is_over || self.log.map.valid(victim) == 0 {
            return self.log.merge_victim(nand, victim);
        }
        let pages_per_block = nand.geometry().pages_per_block();
        let last_visits = if self.second_chance { 0..carried } else { 0..pages_per_block };
        match self.isolation {
            Some(_) => self.isolate(nand, victim, last_visits)?,
            None => self.log.merge_associated(nand, victim, last_visits)?,
        }
        self.carry(nand, victim)?;
        merge::discard(nand, &mut self.log.map, victim)
    }

    /// Moves the valid pages in these slots of the victim to the isolation area. Each round lists
    /// them again, because forced merges may take pages out of the victim too.
    fn isolate(&mut self, nand: &mut Nand, victim: BlockId, slots: Range<u32>) -> Result<()> {
        let area = self.isolation.as_mut().expect("the caller has checked that there is an area");
        let FullyAssociative { map, merges, .. } = &mut self.log;
        loop {
            self.moving.clear();
            self.moving.extend(map.valid_pages(nand, victim, slots.clone()).map(|(_, ppn)| ppn));
            if self.moving.is_empty() {
                return Ok(());
            }
            match area.room() {
                0 if area.has_all_blocks() => {
                    self.counts.merged_by_force += area.reclaim_oldest(nand, map, merges)?;
                }
                0 => area.open(nand, map)?,
                room => {
                    self.moving.truncate(room as usize);
                    area.take_in(nand, map, &self.moving)?;
                    self.counts.isolated += self.moving.len() as u64;
                }
            }
        }
    }

    /// Copies the remaining valid pages of the victim to a new head.
    fn carry(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        let FullyAssociative { map, random, .. } = &mut self.log;
        let slots = 0..nand.geometry().pages_per_block();
        self.moving.clear();
        self.moving.extend(map.valid_pages(nand, victim, slots).map(|(_, ppn)| ppn));
        if self.moving.is_empty() {
            return Ok(());
        }
        random.open(nand, map)?;
        self.counts.carried += self.moving.len() as u64;
        random.take_in(nand, map, &self.moving, page_kind::CARRIED)
    }
}

impl Ftl for Faster {
    base_is!(self.log.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.log.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            self.merge_progressively(nand)?;
            // Pages are written together if nothing must be merged between them.
            let rest = run.pages - index;
            let mut most = if rest > 1 && self.has_isolated_pages(nand) { 1 } else { rest };
            index += loop {
                match self.log.step(nand, run, index, most)? {
                    WriteStep::Wrote(pages) => break pages,
                    WriteStep::MadeRoom => {}
                    WriteStep::MustReclaim => {
                        self.reclaim(nand)?;
                        most = 1;
                    }
                }
            };
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.log.audit(nand, self.isolation.iter().flat_map(IsolationArea::blocks))?;
        self.isolation.as_ref().map_or(Ok(()), |area| area.audit(nand, &self.log.map))
    }

    /// Beside the maps there is one count per log block: carried slots, or merges.
    fn report(&self) -> Report {
        let counts = &self.counts;
        let mut report = self.log.report();
        report.ram.other += 4 * u64::from(self.log.log_blocks());
        let figures = [
            ("second_chances", counts.carried),
            ("second_chances_saved", counts.saved),
            ("isolated_pages", counts.isolated),
            ("merged_progressively_pages", counts.merged_progressively),
            ("merged_by_force_pages", counts.merged_by_force),
        ];
        report.figures.extend(figures.map(|(name, count)| (name, Metric::Count(count))));
        let fill = self.isolation.as_ref().map_or(0.0, |area| area.fill(&self.log.map));
        report.gauges.push(("isolation_fill", fill));
        report
    }

    fn reset_report(&mut self) {
        self.log.reset_report();
        self.counts = FasterCounts::default();
    }
}
