//! nftl: a primary block, a replacement block, and no map of pages (Ban 1995 and 1999; M-Systems).
//!
//! ```text
//!            primary      replacement
//! LBN 0 ─▶   [0 1 2 _]    [1 0 1 _]     write 3: goes to the primary block, its place is erased
//!                                       write 2: goes to the replacement block
//!                                       read 0:  two spare areas say where it is, those of 1 and 0
//!     1 ─▶   [4 5 6 7]    none          read 5:  no spare area has to be read
//! ```
//! NFTL keeps two block numbers for each logical block and nothing for single pages. A page is
//! written in place, at its own offset of the primary block, while that place is still erased.
//! Later writes go to the replacement block, one after the other, whatever their offsets. When the
//! replacement block is full and more has to be written, both blocks are *folded*: the newest pages
//! are copied to a new primary block, and the two old blocks are erased. A logical block without a
//! replacement block gets one; if all are in use, another logical block is folded first. There are
//! no switch and no partial merges: sequential rewrites are copied like any others.
//!
//! **Looking a page up.** Each page carries its logical page number in its spare area. The spare
//! areas of the replacement block are read backwards from the last page programmed, until one names
//! the wanted page. If none does, the page is in the primary block. A look-up costs at least one
//! spare read, and at most one for each page of the replacement block, cause map. It costs nothing
//! if there is no replacement block. Each mapped page that the host reads is looked up separately,
//! and so is each mapped page that the host writes in part, because its other sectors are needed.
//! As in all schemes, no operation is counted for finding out that a page is unmapped, or which
//! pages a fold must copy.
//!
//! One of the extra blocks is kept clean for folding; the others can be replacement blocks.
//!
//! Invariant: a copy in the replacement block is newer than a copy of the same page in the primary
//! block. So a page is not written in place if the replacement block may hold a copy of it. Two
//! cases need care, because the home of such a page may be erased: sequential chips, on which pages
//! of the primary block can only be written in order; and a mount that found a replacement block
//! without a primary block.
//!
//! **Recovery**: see [`log_mount`](crate::part::log::log_mount). A mount closes the replacement
//! blocks that it finds. They are folded when they are in the way.
//!
//! Sources: the rules are those of a public simulator that follows the papers of Chang, Hsieh and
//! Kuo (`NFTL.c` in the repository RonShih/WiscKey_GC-1), in its variant for chips that program a
//! page once. Linux has a driver for an older form (`drivers/mtd/nftlcore.c`), which chains
//! replacement blocks and keeps each page at its own offset.
//!
//! Departures: the victim of the simulator is the next logical block in turn that has more dead
//! pages than valid ones; here it is the logical block whose replacement block was written least
//! recently. The simulator also reads the spare area of a page in the primary block; here that
//! comes with the page. If all pages of a replacement block were trimmed, it is erased, not folded.

use std::collections::BTreeMap;

use nand::{Cause, Lpn, Nand, Ppn, ProgramOrder, Sink};

use crate::contract::{
    Act, Base, BlockRole, Ftl, Lecture, Merges, Metric, MountConfig, Report, Result, Run, Scheme,
    Span, Violation, base_is, ensure,
};
use crate::part::log::log_map::{self, Lbn, LogMap, WriteTarget};
use crate::part::log::merge::{self, LogBlock};
use crate::part::log::tied_logs::{LEAST_EXTRA, TiedLogs};
use crate::part::map::flat_map::answered_by_flat;

/// NAND flash translation layer with replacement blocks.
pub static SCHEME: Scheme = Scheme {
    name: "nftl",
    summary: "a replacement block for each updated data block, searched through spare areas",
    source: "Ban: Flash file system, US patent 5,404,485, 1995, and Flash file system optimized \
             for page-mode flash technologies, US patent 5,937,425, 1999 (M-Systems); as in \
             Chang, Hsieh, Kuo: Endurance enhancement of flash-memory storage systems, DAC 2007",
    lecture: Lecture::of(file!(), include_str!("nftl.rs")),
    acts: &[Act {
        cause: Cause::Merge,
        from: "replacement",
        to: "data",
        name: "fold",
        says: "The replacement block of this logical block is full, or another logical \
               block needs one. The newest pages are folded into a clean block; the data \
               block and its replacement block are erased.",
    }],
    least_extra: |_, _, _| LEAST_EXTRA,
    memory: |_, geometry, _| log_map::memory_bytes(geometry, 48),
    mount,
    ..Scheme::PLAIN
};

/// RAM of each replacement block: the number of its next page, and its neighbours in the order of
/// writing.
const REPLACEMENT_BYTES: u64 = 2 + 2 * 4;

/// The FTL.
#[derive(Debug)]
struct Nftl {
    map: LogMap,
    replacements: TiedLogs,
    counts: Counts,
}

/// Counts since the last reset.
#[derive(Debug, Default)]
struct Counts {
    folds: Merges,
    /// Pages programmed in the replacement blocks that were folded.
    folded_pages: u64,
    /// Mapped pages looked up.
    look_ups: u64,
    /// Those found in the replacement block.
    replacement_hits: u64,
    /// Spare areas read for look-ups.
    spare_reads: u64,
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let (map, replacements) = TiedLogs::mount(nand, device)?;
    Ok(Box::new(Nftl { map, replacements, counts: Counts::default() }))
}

impl Nftl {
    // ---- Writing ------------------------------------------------------------------------------

    /// Writes the pages of the run from page `index` on that go to the same place. Returns the
    /// number of pages written.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<u32> {
        let lpn = run.first.plus(index);
        let lbn = self.map.lbn_of(lpn);
        loop {
            match self.target(nand, lpn, run.pages - index) {
                WriteTarget::Home(pages) => return self.map.write_home(nand, run, index, pages),
                WriteTarget::Log(pages) => match self.replacements.room(lbn) {
                    0 => self.make_room(nand, lbn)?,
                    _ => return self.append(nand, run, index, pages),
                },
            }
        }
    }

    /// Decides where a page is written now, and how many of the `most` pages from it on go there
    /// too.
    fn target(&self, nand: &Nand, lpn: Lpn, most: u32) -> WriteTarget {
        let (order, lbn) = (nand.geometry().program_order(), self.map.lbn_of(lpn));
        let has_replacement = self.replacements.of(lbn).is_some();
        let may_be_in_it = order == ProgramOrder::Sequential || self.map.data_block(lbn).is_none();
        match self.map.place(order, lpn, most) {
            WriteTarget::Home(pages) if has_replacement && may_be_in_it => WriteTarget::Log(pages),
            target => target,
        }
    }

    /// Writes pages of the run to the next pages of the replacement block.
    fn append(&mut self, nand: &mut Nand, run: &Run, index: u32, most: u32) -> Result<u32> {
        let lpn = run.first.plus(index);
        if run.whole_pages_from(index, nand.geometry().full_mask()) == 0 {
            self.look_up(nand, lpn)?;
        }
        let done = self.replacements.append(nand, &mut self.map, run, index, most)?;
        self.replacements.put_off(self.map.lbn_of(lpn));
        Ok(done)
    }

    /// Folds the full replacement block of a logical block, or gives it one if it has none.
    fn make_room(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        if self.replacements.of(lbn).is_some() {
            return self.fold(nand, lbn);
        }
        if let Some(victim) = self.replacements.victim() {
            self.fold(nand, victim)?;
        }
        self.replacements.open(lbn, self.map.flat.pool.take(nand)?);
        Ok(())
    }

    /// Copies the newest pages of a logical block to a new primary block; erases the old one and
    /// the replacement block.
    fn fold(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()> {
        let old = self.replacements.close(lbn);
        self.counts.folded_pages += u64::from(old.filled);
        match self.map.valid(old.block) {
            0 => merge::dead(nand, &mut self.map, &mut self.counts.folds, old.block),
            _ => merge::full(nand, &mut self.map, &mut self.counts.folds, &[lbn], old.block),
        }
    }

    // ---- Reading ------------------------------------------------------------------------------

    /// Finds the newest copy of a page as a controller without a map of pages does.
    fn look_up(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<()> {
        let Some(newest) = self.map.flat.newest(lpn) else { return Ok(()) };
        self.counts.look_ups += 1;
        let Some(log) = self.replacements.of(self.map.lbn_of(lpn)) else { return Ok(()) };
        for slot in (0..log.filled).rev() {
            let ppn = nand.geometry().page(log.block, slot);
            nand.book_spare_reads([ppn], Cause::Map)?;
            self.counts.spare_reads += 1;
            if ppn == newest {
                self.counts.replacement_hits += 1;
                break;
            }
        }
        Ok(())
    }

    /// Checks that each look-up finds the newest copy, or one of the same version: a fold that was
    /// cut may leave its sources behind.
    fn audit_look_ups(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        for (lbn, log) in self.replacements.iter() {
            for (lpn, found) in self.last_copies(nand, log) {
                let newest = self.map.flat.newest(lpn).unwrap_or(found);
                let is_newest = newest == found || version(nand, newest) == version(nand, found);
                ensure!(
                    is_newest,
                    "LBN {lbn}: the last copy of {lpn:?} is {found:?}, not {newest:?}"
                );
            }
        }
        Ok(())
    }

    /// The copies that look-ups find in a replacement block: the last one of each page that can be
    /// read and is not void.
    fn last_copies(&self, nand: &Nand, log: LogBlock) -> BTreeMap<Lpn, Ppn> {
        let trims = self.map.flat.pool.trims.as_ref();
        let is_void = |ppn| trims.is_some_and(|trims| trims.is_void(nand, ppn));
        let can_be_read = |ppn| !nand.array().keeps_pages() || version(nand, ppn).is_some();
        let pages = (0..log.filled).map(|slot| nand.geometry().page(log.block, slot));
        let pages = pages.filter(|&ppn| can_be_read(ppn) && !is_void(ppn));
        let copies = pages.map(|ppn| (nand.owner(ppn), ppn));
        copies.filter(|(lpn, _)| lpn.is_host()).collect()
    }
}

/// The version that a spare area names, where the chip keeps spare areas.
fn version(nand: &Nand, ppn: Ppn) -> Option<u64> {
    nand.array().peek_spare(ppn).ok().flatten().map(|(spare, _)| spare.version)
}

impl Base for Nftl {
    answered_by_flat!([map.flat] flush prefetch place extent facet);

    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let (full, page_bytes) = (nand.geometry().full_mask(), nand.geometry().page_bytes());
        for index in 0..run.pages {
            self.look_up(nand, run.first.plus(index))?;
            self.map.flat.read(nand, &run.part(index..index + 1, full, page_bytes), sink)?;
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.map.trim(nand, first, pages)
    }
}

impl Ftl for Nftl {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index)?;
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.replacements.audit(nand, &self.map)?;
        self.audit_look_ups(nand)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(self.map.data_roles());
        let chained = self.replacements.iter();
        roles.extend(chained.map(|(lbn, log)| BlockRole::of(log.block, "replacement", lbn)));
    }

    /// The block map has two entries a block.
    fn report(&self) -> Report {
        let Counts { look_ups, spare_reads, .. } = self.counts;
        let mut report = self.map.report();
        report.ram.map *= 2;
        report.ram.other += REPLACEMENT_BYTES * u64::from(self.replacements.most());
        report.merges = Some(self.counts.folds.clone());
        report.figures.extend([
            ("merged_log_pages", Metric::Count(self.counts.folded_pages)),
            ("look_ups", Metric::Count(look_ups)),
            ("replacement_hits", Metric::Count(self.counts.replacement_hits)),
            ("spare_reads_per_look_up", Metric::Real(spare_reads as f64 / look_ups as f64)),
        ]);
        report.gauges = vec![("replacement_blocks", f64::from(self.replacements.count()))];
        report
    }

    fn reset_report(&mut self) {
        self.map.reset_report();
        self.counts = Counts::default();
    }
}
