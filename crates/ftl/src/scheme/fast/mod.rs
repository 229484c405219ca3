//! fast: fully associative sector translation (Lee et al. 2007). A log block takes pages of any
//! data block; one more log block takes a sequential stream.
//!
//! ```text
//!   data [0 1 2 3] [4 5 6 7] [8 9 a b] [c d e f]
//!   SW   [4 5 6 _]                      a stream: appended while it continues, then switched
//!   RW   [1 9 d 1] [2 9 e _]            all other writes, in the order of their arrival
//! ```
//! bast merges a log block, full or not, whenever another data block needs one. Here the random log
//! (RW) is *fully associative*: its blocks are filled to the last slot, whatever is written. Then
//! they are reclaimed in the order of their allocation. Pages of the victim that the host has
//! rewritten since are stale and cost nothing. All others must be merged: each associated data
//! block, Na of them, costs a full merge. In the picture the first RW block is associated with LBN
//! 0 (its last slot) and LBN 3 (its third slot); its 9 is stale. A full merge gathers the newest
//! pages of a data block from wherever they are, so it makes pages stale in later RW blocks as
//! well, and even in SW.
//!
//! A write at offset 0 is taken for the start of a sequential stream. It opens a new SW block. The
//! old SW block is merged in its present state: by a switch or partial merge if its stream was in
//! order. If a stream goes back or skips a page, its further pages go to the random log, and the SW
//! block waits.
//!
//! `sequential=run` opens the SW block by the sixth consecutive page instead, as the firmware of
//! FASTer's author does, and `sequential=false` never; see
//! [`fully_associative`](crate::part::log::fully_associative).
//!
//! Of E extra blocks, one is SW, E − 2 are RW, and one is kept clean. Nothing is merged before the
//! room is needed: a full SW block waits for the next write at offset 0, and a dead RW block for
//! its turn. The map of the log can shrink and grow at run time (adaptive partitioning, §III.E): a
//! budget pays for `min(E − 1, bytes / 4 B per page)` log blocks, including SW, and never fewer
//! than two.
//!
//! **Uniform random writes.** Let there be B data blocks and L pages in the log. After a data block
//! was merged, B writes pass on average until one of its pages enters the log; L writes later that
//! page reaches the end of the log and the data block is merged again. So the Np pages of a victim
//! belong to Np / (1 + L/B) data blocks on average. (SW blocks are merged too. These merges are few
//! as long as L is small compared with B·Np.)
//!
//! **Recovery**: see [`fully_associative`](crate::part::log::fully_associative). All log blocks
//! that a mount finds are closed and become RW blocks, in the order of their last programs.
//!
//! Choices: the RW victim is taken in turn, as the papers about fast's successors describe it. A
//! page that is next in order goes to the SW block even if earlier pages there are stale. The paper
//! merges the SW block when its owner is written out of order; here it waits. The paper keeps its
//! maps in flash; here they are in RAM, and a mount scans the spare areas.

pub mod log_account;

use nand::{Cause, Nand, Timing};

use self::log_account::LogAccount;
use crate::contract::{
    Act, BlockRole, Facet, FacetKind, Ftl, Lecture, MapBudget, MapEvent, MissCosts, MountConfig,
    Report, ResizableMap, Result, Run, Scheme, Span, Violation, base_is,
};
use crate::part::log::fully_associative::{
    FullyAssociative, LEAST_EXTRA, PAGE_ENTRY_BYTES, Streams, WriteStep, entry_bytes,
};
use crate::part::log::log_map;
use crate::part::log::random_log::RandomBlock;

/// Fully associative sector translation.
pub static SCHEME: Scheme = Scheme {
    name: "fast",
    summary: "log blocks shared by all data blocks, the oldest reclaimed first; one more for \
              sequential streams",
    source: "Lee, Park, Chung, Lee, Park, Song: A log buffer-based flash translation layer using \
             fully-associative sector translation, ACM TECS 6(3), 2007; as FASTer §II.B, LAST \
             §2.3 and adaptive partitioning §II.C describe it",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[Act {
        cause: Cause::Merge,
        from: "log",
        to: "data",
        name: "full merge",
        says: "The oldest log block is reclaimed. Its valid pages belong to several \
               logical blocks, and each of these is merged: its newest pages are gathered \
               from the data block and from all log blocks in a clean block. So one victim \
               can cost many merges.",
    }],
    params: &[Streams::param(
        "how the log block for a sequential stream is opened: run, by the sixth consecutive page; \
         offset0, by a write at offset 0; false, never; default: offset0",
    )],
    map_budget: Some(MapBudget {
        replaces: "",
        unit_bytes: |geometry| entry_bytes(geometry.pages_per_block()),
        entry_bytes: PAGE_ENTRY_BYTES,
        interval: 10_000,
    }),
    least_extra: |_, _, _| LEAST_EXTRA,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 32),
    mount,
    ..Scheme::PLAIN
};

/// The FTL: its log, and the account of it for a layer that may resize its map.
#[derive(Debug)]
struct Fast {
    log: FullyAssociative,
    account: Option<LogAccount>,
    timing: Timing,
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let streams = Streams::given(device.params).unwrap_or(Streams::AtOffset0);
    let (mut log, found) = FullyAssociative::mount(nand, device, |_| 0, streams)?;
    for found in found {
        log.random.take_over(RandomBlock { block: found.block, carried: 0 });
    }
    Ok(Box::new(Fast { log, account: None, timing: device.timing }))
}

impl Fast {
    /// Merges the block of the random log that was allocated first.
    #[inline(never)]
    fn reclaim(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.log.random.take_oldest(nand).block;
        if let Some(account) = &mut self.account {
            account.takes(nand, &mut self.log, victim);
        }
        let padded_before = self.log.map.padded_pages;
        self.log.merge_victim(nand, victim)?;
        if let Some(account) = &mut self.account {
            account.padded(self.log.map.padded_pages - padded_before);
        }
        Ok(())
    }
}

impl Ftl for Fast {
    base_is!(self.log.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.log.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            // An account records of each page whether the log held an older copy.
            let (most, missed) = match &self.account {
                None => (run.pages - index, false),
                Some(_) => (1, !self.log.map.is_away(run.first.plus(index))),
            };
            match self.log.step(nand, run, index, most)? {
                WriteStep::Wrote(pages) => {
                    if let Some(account) = self.account.as_mut().filter(|_| missed) {
                        account.missed(run.first.plus(index));
                    }
                    index += pages;
                }
                WriteStep::MadeRoom => {}
                WriteStep::MustReclaim => self.reclaim(nand)?,
            }
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.log.audit(nand, core::iter::empty())
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        self.log.roles(roles);
    }

    fn report(&self) -> Report {
        self.log.report()
    }

    fn reset_report(&mut self) {
        self.log.reset_report();
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Map => Some(Facet::Map(self)),
            _ => self.base_mut().facet(kind),
        }
    }
}

impl ResizableMap for Fast {
    fn resize(&mut self, nand: &mut Nand, bytes: u64) -> Result<u64> {
        self.log.set_budget(bytes);
        while self.log.is_over_its_maximum() {
            self.reclaim(nand)?;
        }
        Ok(self.log.log_map_bytes())
    }

    fn watch(&mut self) {
        self.account = Some(LogAccount::new(self.timing, self.log.map.pages_per_block()));
    }

    fn take_events(&mut self, events: &mut Vec<MapEvent>) {
        if let Some(account) = &mut self.account {
            account.take_events(events);
        }
    }

    fn miss_costs(&mut self) -> MissCosts {
        self.account.as_mut().map_or(MissCosts::default(), LogAccount::miss_costs)
    }
}
