//! faster: fast with a second chance for valid pages, and an isolation area for cold ones (Lim et
//! al. 2010).
//!
//! ```text
//!   RW          [1 5 9 d] [2 6 1 3] … [7 1 _ _]          victim: the oldest; 5, 9, d valid
//!                5, carried before ─▶ isolation area [8 5 _ _]
//!                9 and d, first visit ─▶ new head [9 d _ _], host writes are appended
//!                the victim is erased; nothing was merged
//!   later        the data block of 8 is merged, then the data block of 5
//! ```
//! fast merges the data block of a page if the host does not rewrite the page within the log
//! window. In skewed workloads many pages miss the window by little. So faster does not merge a
//! valid page of a victim at once, but *carries it over* to the head of the log: the page then has
//! a second window (§IV.A). Pages that had their chance are cold. They are collected in the
//! *isolation area*, a part of the log (§IV.B), and merged *progressively*, a few per write of the
//! host. No write waits until all data blocks of a victim are merged, so response times hardly
//! vary.
//!
//! Of E extra blocks, one is SW, one is kept clean, `isolation_blocks` are the isolation area, and
//! the others are RW. With `sequential=false` there is no SW, and RW has one block more.
//!
//! A reclaim takes the oldest RW block V, dead or not. A dead block is erased, as in fast.
//! Otherwise:
//!
//! 1. *Last visits.* Valid pages of V that were carried before are isolated, in the order of their
//!    slots. If the area is full, its oldest block is reclaimed first: what is still valid in it is
//!    merged by force. With `isolation=false` the data blocks of last visits are merged at once. If
//!    V has fewer valid pages than `threshold`, no visit is the last one.
//! 2. *Other visits.* The other valid pages are copied, in the order of their slots, and get the
//!    mark. With `second_chance=false` there are none: all visits are last visits.
//! 3. V is erased. If nothing was merged for V, this counts as no merge.
//!
//! With `as=paper` and both switches off the scheme equals fast in every count.
//!
//! # Rules beyond the text
//! The paper leaves rules open that decide its figures. There are two more sources. The paper's
//! first author published firmware for a real board in 2011, whose behaviour is known. And Table
//! II gives the mean and the deviation of response times. From these two follows `E[Na²]/E[Na]`, Na
//! being the number of data blocks that are merged at once. The parameter `as` chooses a reading;
//! each rule can also be set by itself.
//!
//! | parameter | `paper` | `table2` | `firmware` |
//! |---|---|---|---|
//! | `threshold` | 0% | 50% | 50% |
//! | `merge` | eager | late | paced |
//! | `isolation_blocks` | 1 | 8% | 20% |
//! | `sequential` | offset0 | run | run |
//! | `mark_in_place` | false | false | true |
//! | `carried` | shared | shared | shared |
//!
//! * **`threshold`**: a victim with fewer valid pages is carried over whole, again and again. It
//!   keeps a nearly empty victim from costing a merge for each page; carrying its pages costs less
//!   and fills only part of a block. §IV.A isolates each page that had its chance, yet cold pages
//!   "will continue to be carried over". In the firmware the threshold is half of a block. In Table
//!   II, `E[Na²]/E[Na]` of faster without isolation is about half a block at each size of the log,
//!   so a victim was merged only if about half of its pages were valid.
//! * **`merge`**: late merging follows the page of the host, but not in a write that reclaimed a
//!   victim or merged SW, and only while at most two blocks of the area are not full. It leaves
//!   isolated pages time to be rewritten, or to be merged together with others of their data block.
//!   With eager merging the area is always nearly empty, and a larger one only takes blocks away
//!   from RW. §IV.B merges "whenever a new write request arrives". The firmware merges late, and
//!   [at a pace](pace) too: while at least two blocks of the area are full, after every so many
//!   pages that do not go to SW. It passes a block in which it finds no valid page any more, and
//!   merges nothing then. The pace keeps the area emptier, so the firmware merges more than late
//!   merging alone would.
//! * **`isolation_blocks`**: "part of a log area" (§IV.A), 20 % of the log and at least 8 blocks in
//!   the firmware. Under late merging the means of Table II hardly depend on it, from 2 blocks on.
//! * **`sequential`**: the paper does not mention SW. In the firmware the sixth consecutive page
//!   opens it. So single writes at offset 0, which random writes contain, cost no merge. Table II
//!   agrees: fast fits with a block that is opened at offset 0, faster fits without.
//! * **`mark_in_place`**: if all pages of a victim are valid and the host wrote all of them, they
//!   are marked where they stand, and the next block is the victim. A copy would gain no room. A
//!   rule of the firmware.
//! * **`carried`**: "a newly allocated log block" (§IV.A); in the firmware host writes go on in it.
//!   With `own`, a victim holds either carried pages or pages of the host. In Table II without
//!   isolation, only this gives the published deviations.
//!
//! `table2` was chosen with Table II in view. Rules of the firmware that are not expressed: it
//! keeps two blocks clean; the last page of each log block lists the others; first writes go to the
//! log; a merge also copies pages that were never written.
//!
//! # Marks, order, recovery
//! **The mark** of a carried page belongs to the version: a write of the host clears it. It needs
//! no bit per page. Carried pages are at the start of a block, before all pages that the host
//! writes there, so a count per block is enough. In flash the mark is the kind of the page.
//!
//! **Order.** Last visits come first and go to blocks of the isolation area, which belong to the
//! log already. Forced merges use the clean block and return one. Only then may the other pages
//! take the clean block, and V is erased directly after its last copy. So as long as V exists, a
//! block that this reclaim has begun to fill holds only copies with twins in V, and a mount gives
//! it up like an unfinished merge ([`merge`]). A block that holds older pages too, of the area or
//! with `carried=own`, is kept; its copies are newer than those in V. With `carried=own` the block
//! that takes carried pages is never a victim while it has room: otherwise a reclaim could move the
//! same pages again and again.
//!
//! **Recovery**: see [`fully_associative`](crate::part::log::fully_associative). A log block with a
//! valid isolated page becomes an isolation block, up to their maximum number. All others become RW
//! blocks. The last marked page of an RW block tells how many of its slots are carried. If RW then
//! has more blocks than its maximum, the oldest are merged as in fast before the log opens another
//! block. Counts of merges per isolation block start at zero. The rules add four cases:
//! * A block marked in place is unmarked on flash, and the order of the log is that of the last
//!   programs. So after a mount it is visited once more as if it had not been marked: its pages
//!   gain a chance and lose nothing.
//! * Copies in an SW block that the power failure left without a page of the stream all have twins,
//!   and the mount gives the block up. With such a page it is a log block, as any former SW block.
//! * All isolation blocks that a mount finds are closed. If the area was nearly full, it is full
//!   now: merges are due at once, and a victim that comes first merges a block by force.
//! * The pace of merges is in RAM only. After a mount it begins where it began on the new device.
//!
//! Choices where all sources are silent: progressive merges also accompany pages that are written
//! at home or to SW. An empty isolation block is erased when the area needs its room. Isolation
//! blocks are reclaimed in the order of their allocation, even if a younger one is empty. The merge
//! of a data block for an isolated page takes its pages out of other log blocks too, as every full
//! merge does. If such a page was marked, it counts as saved by its second chance. A block that was
//! marked in place is visited again after all others.

pub mod isolation_area;
pub mod pace;
pub mod rules;

use core::ops::Range;

use nand::{BlockId, Cause, ChipModel, Lpn, Nand};
use spec::Params;

use self::isolation_area::IsolationArea;
use self::pace::Pace;
use self::rules::{MergeTime, Rules};
use crate::contract::{
    Act, BlockRole, Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme, Span,
    Violation, base_is,
};
use crate::part::log::fully_associative::{FullyAssociative, WriteStep};
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
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[
        Act {
            cause: Cause::Merge,
            from: "log",
            to: "log",
            name: "second chance",
            says: "The oldest log block must make room. To merge each valid page would cost a \
               block of copies. Instead they are carried over to a new log block, in front of \
               what the host will write there, and stay in the log a second time; those that \
               the host rewrites meanwhile need no merge. A page gets this chance once. But of \
               a block with few valid pages, fewer than `threshold` says (as a rule half of all), \
               all are carried, also those that were carried before.",
        },
        Act {
            cause: Cause::Merge,
            from: "log",
            to: "isolation",
            name: "isolation",
            says: "The oldest log block must make room. These of its pages are still valid after \
               their second time in the log, so they are taken to be cold. They are collected \
               in the isolation area, a part of the log. Their merges come later, a few at a \
               time: if all were made now, this write would have to wait for them.",
        },
        Act {
            cause: Cause::Merge,
            from: "isolation",
            to: "data",
            name: "progressive merge",
            says: "The merge of an isolated page, put off until now: the newest pages of its \
               logical block are gathered in a clean block, from the old data block and from \
               the whole log. Only a few such merges go with a write: one, unless \
               `merges_per_write` says otherwise. With `merge=late` they are made while the \
               isolation area is nearly full, with `merge=paced` at a steady pace before that \
               too, but not by a write that had to reclaim a log block. So no write waits for \
               many of them.",
        },
        Act {
            cause: Cause::Merge,
            from: "log",
            to: "data",
            name: "full merge",
            says: "The newest pages of a logical block are gathered from its data block and \
               from the log in a clean block.",
        },
    ],
    params: rules::PARAMS,
    corners: &[
        "as=table2,isolation_blocks=4",
        "as=table2,isolation=false,carried=own",
        "as=firmware,isolation_blocks=3,merges_per_write=2",
        "threshold=100%,carried=own,isolation_blocks=2",
    ],
    refuses,
    least_extra,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 32),
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    Rules::of(params).refused()
}

/// The log, and a clean block for merging.
fn least_extra(params: &Params, _: &ChipModel, _: u32) -> u32 {
    Rules::of(params).least_log_blocks().saturating_add(1)
}

/// The FTL: fast's log with a second chance and an isolation area.
#[derive(Debug)]
struct Faster {
    rules: Rules,
    log: FullyAssociative,
    isolation: Option<IsolationArea>,
    pace: Pace,
    /// Number of valid pages from which on a victim is not carried over whole.
    threshold_pages: u32,
    /// The pages of a victim that are about to move; reused to save allocations.
    moving: Vec<nand::Ppn>,
    counts: FasterCounts,
}

/// Counts of host pages since the last reset.
#[derive(Debug, Default)]
struct FasterCounts {
    /// Pages carried over, or marked where they stand.
    carried: u64,
    /// Pages that were not valid any more on the first visit after that.
    saved: u64,
    /// Pages copied to the isolation area.
    isolated: u64,
    /// Pages merged from there progressively.
    merged_progressively: u64,
    /// Pages merged from there by force, because the area was full.
    merged_by_force: u64,
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let rules = Rules::of(device.params);
    let aside = |log_blocks| rules.isolation_blocks(log_blocks);
    let (log, found) = FullyAssociative::mount(nand, device, aside, rules.streams)?;
    let (area, pages) = (aside(log.log_blocks()), nand.geometry().pages_per_block());
    let paced_pages = u64::from(log.log_blocks() - area) * u64::from(pages);
    let mut ftl = Faster {
        rules,
        log,
        pace: Pace::new(pages, paced_pages),
        isolation: (area > 0).then(|| IsolationArea::new(nand, area)),
        threshold_pages: rules.threshold.ceil_of(pages.into()) as u32,
        moving: Vec::with_capacity(pages as usize),
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

    /// Whether data blocks with isolated pages must be merged now. At a pace, this is decided after
    /// each page.
    #[inline]
    fn must_merge(&mut self, nand: &Nand) -> bool {
        let Some(area) = self.isolation.as_mut().filter(|area| !area.is_exhausted()) else {
            return false;
        };
        match self.rules.merge {
            MergeTime::Eager => area.oldest(nand, &self.log.map).is_some(),
            MergeTime::Late => area.is_nearly_full(nand, &self.log.map),
            MergeTime::Paced => true,
        }
    }

    /// Merges the data blocks of the oldest isolated pages, as many as belong to one write.
    fn merge_progressively(&mut self, nand: &mut Nand) -> Result<()> {
        for _ in 0..self.rules.merges_per_write {
            if !self.must_merge(nand) {
                break;
            }
            let area = self.isolation.as_mut().expect("pages of the area must be merged");
            self.counts.merged_progressively += area.merge_oldest(nand, &mut self.log.map)?;
        }
        Ok(())
    }

    /// With `merge=paced`, what follows pages of the host, of which `last` is the last one.
    fn keep_pace(&mut self, nand: &mut Nand, last: Lpn, pages: u32, is_busy: bool) -> Result<()> {
        let Some(area) = &mut self.isolation else { return Ok(()) };
        if !is_busy {
            let is_crowded = area.is_crowded();
            if is_crowded {
                self.pace.note_crowded();
            }
            let is_paced = || area.full() >= 2 && !self.log.is_in_stream(nand, last);
            if is_crowded || is_paced() && self.pace.is_due() {
                for _ in 0..self.rules.merges_per_write {
                    let pages = area.merge_or_pass(nand, &mut self.log.map)?;
                    self.counts.merged_progressively += pages;
                }
            }
        }
        self.pace.tune(pages, area.full());
        Ok(())
    }

    // ---- Reclaiming ---------------------------------------------------------------------------

    /// Reclaims the oldest block of the random log.
    #[inline(never)]
    fn reclaim(&mut self, nand: &mut Nand) -> Result<()> {
        let is_over = self.log.is_over_its_maximum();
        let log = self.log.random.take_oldest(nand);
        let RandomBlock { block: victim, carried } = log;
        let still_valid = self.log.map.valid_pages(nand, victim, 0..carried).count();
        self.counts.saved += u64::from(carried) - still_valid as u64;
        let (valid, pages) = (self.log.map.valid(victim), nand.geometry().pages_per_block());
        if is_over || valid == 0 {
            return self.log.merge_victim(nand, victim);
        }
        if self.rules.mark_in_place && self.rules.second_chance && carried == 0 && valid == pages {
            self.counts.carried += u64::from(pages);
            self.log.random.mark_all(nand, log);
            return Ok(());
        }
        let last_visits = match self.rules.second_chance {
            true if valid < self.threshold_pages => 0..0,
            true => 0..carried,
            false => 0..pages,
        };
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

    /// Carries the remaining valid pages of the victim over.
    fn carry(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        let FullyAssociative { map, random, .. } = &mut self.log;
        let slots = 0..nand.geometry().pages_per_block();
        self.moving.clear();
        self.moving.extend(map.valid_pages(nand, victim, slots).map(|(_, ppn)| ppn));
        self.counts.carried += self.moving.len() as u64;
        random.carry(nand, map, self.rules.carried, &self.moving)
    }

    /// Writes pages of a run from page `index` on, up to the first one at which isolated pages must
    /// be merged. Returns their number, and whether a block was reclaimed or a stream merged.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<(u32, bool)> {
        let rest = run.pages - index;
        let (mut most, mut has_reclaimed) = (rest, false);
        if rest > 1 && self.must_merge(nand) {
            most = 1;
        }
        loop {
            match self.log.step(nand, run, index, most)? {
                WriteStep::Wrote(pages) => {
                    return Ok((pages, self.log.take_merged_stream() || has_reclaimed));
                }
                WriteStep::MadeRoom => {}
                WriteStep::MustReclaim => {
                    self.reclaim(nand)?;
                    (most, has_reclaimed) = (1, true);
                }
            }
        }
    }
}

impl Ftl for Faster {
    base_is!(self.log.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.log.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            if self.rules.merge == MergeTime::Eager {
                self.merge_progressively(nand)?;
            }
            let (pages, is_busy) = self.write_some(nand, run, index)?;
            index += pages;
            let last = run.first.plus(index - 1);
            match self.rules.merge {
                MergeTime::Late if !is_busy => self.merge_progressively(nand)?,
                MergeTime::Paced => self.keep_pace(nand, last, pages, is_busy)?,
                MergeTime::Late | MergeTime::Eager => {}
            }
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.log.audit(nand, self.isolation.iter().flat_map(IsolationArea::blocks))?;
        self.isolation.as_ref().map_or(Ok(()), |area| area.audit(nand, &self.log.map))
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        self.log.roles(roles);
        let isolation = self.isolation.iter().flat_map(IsolationArea::blocks);
        roles.extend(isolation.map(|block| BlockRole::plain(block, "isolation")));
    }

    /// Beside the maps there is one count per log block: carried slots, or merges. A pace is kept
    /// too, if there is one.
    fn report(&self) -> Report {
        let counts = &self.counts;
        let mut report = self.log.report();
        report.ram.other += 4 * u64::from(self.log.log_blocks());
        if self.rules.merge == MergeTime::Paced {
            report.ram.other += size_of::<Pace>() as u64;
        }
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
