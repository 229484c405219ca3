//! The common part of schemes that keep their map in spare areas: a PGD in RAM, superblocks, a map
//! cache, and the ways to reclaim a block (LSB §II.C, §III).
//!
//! ```text
//! RAM          PGD   per logical block: its newest PMD page
//! spare area   PMD   per group: its carrier
//!              PT    per page of the group: where the page is
//! ```
//! Each scheme decides which pages carry which entries, when it writes them and in
//! [`SpareMapped::move_out`]. The simulation also keeps all entries in a [flat
//! map](crate::part::map::flat_map). Audits follow the spare areas and compare them with it; a
//! mount has the spare areas only.
//!
//! A block is reclaimed in one of three ways:
//!
//! * *Dead*: it holds no valid page and is erased.
//! * *Partial merge*: its valid pages are copied to free pages of its superblock.
//! * *Full merge*, if no superblock has enough free pages for that: the two full blocks of one
//!   superblock with the most dead pages are emptied one after the other, into its open block and
//!   then into a free one. If fewer than two full blocks have a dead page, the open block is
//!   closed, which loses its free pages, and emptied last.

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, Sink};

use crate::contract::{Base, Error, Result, Run, Span};
use crate::part::map::flat_map::answered_by_flat;
use crate::part::spare::spare_map::{Lbn, SpareMap};
use crate::part::spare::superblocks::Sbn;

/// A scheme that keeps its map in spare areas.
pub trait SpareMapped: Send {
    /// Its map.
    fn map(&self) -> &SpareMap;

    /// Its map, mutable.
    fn map_mut(&mut self) -> &mut SpareMap;

    /// Looks up the map of a logical block in the map cache. A miss reads the spare areas that hold
    /// it.
    ///
    /// # Errors
    /// The power fails.
    fn look_up(&mut self, nand: &mut Nand, lbn: Lbn) -> Result<()>;

    /// Trims pages of one logical block, which has a PMD page.
    ///
    /// # Errors
    /// The power fails, or no room can be made for pages that must be copied.
    fn trim_portion(&mut self, nand: &mut Nand, lbn: Lbn, pages: Range<u32>) -> Result<()>;

    /// Prefetches what the scheme itself keeps about this page.
    fn prefetch_own(&self, lpn: Lpn);

    /// Copies the valid pages of a block into its superblock's open block, then into free blocks.
    ///
    /// # Errors
    /// The power fails.
    fn move_out(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()>;

    /// The maximum number of programs that moving a block's valid pages can take.
    fn needs(&mut self, _nand: &Nand, block: BlockId) -> u32 {
        self.map().blocks.valid(block)
    }

    /// Copies the valid pages of a full block, if it has any, to free pages of its superblock, and
    /// erases it.
    ///
    /// # Errors
    /// The power fails.
    fn reclaim(&mut self, nand: &mut Nand, victim: BlockId) -> Result<()> {
        match self.map().blocks.valid(victim) {
            0 => self.map_mut().counts.dead += 1,
            _ => self.map_mut().counts.partial += 1,
        }
        self.move_out(nand, victim, Cause::Gc)?;
        self.map_mut().erase(nand, victim, Cause::Gc)
    }

    /// Empties the two full blocks of a superblock that have the most dead pages. If fewer than two
    /// have any, the open block is emptied last. The second block stays as it is if the free blocks
    /// might not have room for its pages.
    ///
    /// # Errors
    /// The power fails; or the free blocks might not have room for the pages of the first block,
    /// and then nothing was done.
    fn merge_fully(&mut self, nand: &mut Nand, superblock: Sbn) -> Result<()> {
        let [first, mut second] = self.map_mut().blocks.two_emptiest(superblock);
        self.check_room_for_merge(nand, superblock, [first, second])?;
        if second.is_none() {
            second = self.map_mut().blocks.close(nand.geometry(), superblock);
        }
        self.map_mut().counts.full += 1;
        for (at, victim) in [first, second].into_iter().flatten().enumerate() {
            if at == 0 || self.needs(nand, victim) <= self.map().room(superblock) {
                self.move_out(nand, victim, Cause::Gc)?;
                self.map_mut().erase(nand, victim, Cause::Gc)?;
            }
        }
        Ok(())
    }

    /// Checks that there is room for the first victim of a full merge. The merge closes the open
    /// block if there is no second victim.
    ///
    /// # Errors
    /// There is not enough room.
    fn check_room_for_merge(
        &mut self,
        nand: &Nand,
        superblock: Sbn,
        [first, second]: [Option<BlockId>; 2],
    ) -> Result<()> {
        let map = self.map();
        let open = map.blocks.open_block(nand.geometry(), superblock);
        let lost = if second.is_none() { map.blocks.room(superblock) } else { 0 };
        let room = map.room(superblock) - lost;
        let needs = first.or(open).map_or(0, |victim| self.needs(nand, victim));
        if needs > room {
            return Err(Error::NoRoom { needs, room });
        }
        Ok(())
    }
}

impl<S: SpareMapped> Base for S {
    answered_by_flat!([map().flat] place extent);
    answered_by_flat!([map_mut().flat] flush facet);

    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        for (first, _) in self.map().portions(run.first, run.pages) {
            let lbn = self.map().lbn_of(first);
            if self.map().directory(lbn).is_some() {
                self.look_up(nand, lbn)?;
            }
        }
        self.map().flat.read(nand, run, sink)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        for (first, pages) in self.map().portions(first, pages) {
            let lbn = self.map().lbn_of(first);
            if self.map().directory(lbn).is_some() {
                self.trim_portion(nand, lbn, first.0..first.0 + pages)?;
            }
        }
        Ok(())
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        let map = self.map();
        map.flat.prefetch(spans, read_from);
        for lpn in spans.iter().map(|span| Lpn(span.first)) {
            map.blocks.prefetch(map.superblock_of_page(lpn));
            self.prefetch_own(lpn);
        }
    }
}
