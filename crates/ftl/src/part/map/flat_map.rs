//! The flat map: an array that holds the place of the newest version of each logical page; with the
//! free blocks and the log of trims.
//!
//! ```text
//! LPN     0  1  2  3  4  5 …
//! newest  7  3  ·  9  2  · …      a PPN, or · if the page was never written, or trimmed
//! ```
//! The simulator keeps this array for every scheme that maps by page, whatever map a real
//! controller would keep. Counts of valid pages and rules of reclaiming belong to the maps that are
//! built on it: [`page_map`](crate::part::page::page_map), [`log_map`](crate::part::log::log_map)
//! and [`spare_mapped`](crate::part::spare::spare_mapped).

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, Ppn, Sink};

use crate::contract::{
    Extent, Facet, FacetKind, MountConfig, Result, Run, Span, Violation, ensure,
};
use crate::part::index::prefetch::prefetch;
use crate::part::map::block_pool::BlockPool;
use crate::part::map::rmw;
use crate::part::recovery::spare_scan::{PageCopy, Suspects};

/// Pages of a run that are prefetched. A processor handles no more cache misses at a time.
const HINTS: u32 = 16;

/// The places of the newest versions, the free blocks and the trims.
#[derive(Clone, Debug)]
pub struct FlatMap {
    newest: Vec<Ppn>,
    /// The free blocks and the trims.
    pub pool: BlockPool,
}

impl FlatMap {
    /// The map of an empty device. After the host's pages it has `own_pages` pages of the scheme.
    pub fn format(nand: &Nand, device: &MountConfig, own_pages: u32) -> FlatMap {
        let pages = device.logical_blocks * nand.geometry().pages_per_block() + own_pages;
        FlatMap::new(pages, BlockPool::format(nand, device))
    }

    /// The map of an empty device with `pages` pages.
    pub fn new(pages: u32, pool: BlockPool) -> FlatMap {
        FlatMap { newest: vec![Ppn::NONE; pages as usize], pool }
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// Number of logical pages.
    pub fn pages(&self) -> u32 {
        self.newest.len() as u32
    }

    /// The place of the newest version of a page; none if the page is unmapped.
    #[inline]
    pub fn newest(&self, lpn: Lpn) -> Option<Ppn> {
        Some(self.newest[lpn.0 as usize]).filter(|&ppn| ppn != Ppn::NONE)
    }

    /// The places of consecutive pages; [`Ppn::NONE`] for unmapped ones.
    #[inline]
    pub fn entries(&self, lpns: Range<u32>) -> &[Ppn] {
        &self.newest[lpns.start as usize..lpns.end as usize]
    }

    /// The place of a page; [`Ppn::NONE`] if it is unmapped.
    #[inline]
    pub fn entry(&self, lpn: u32) -> Ppn {
        self.newest[lpn as usize]
    }

    /// Whether the page at `ppn` is the newest version of logical page `owner`. Padding and erased
    /// pages have owners that are in no map, so the answer for them is no.
    #[inline]
    pub fn is_newest(&self, owner: u32, ppn: Ppn) -> bool {
        self.newest.get(owner as usize) == Some(&ppn)
    }

    /// Prefetches the entry of an owner.
    #[inline]
    pub fn prefetch_entry(&self, owner: u32) {
        prefetch(&self.newest, owner as usize);
    }

    /// The first range of consecutive mapped pages within `lpns`.
    pub fn mapped_run(&self, lpns: Range<u32>) -> Option<Range<u32>> {
        let entries = self.entries(lpns.clone());
        let skipped = entries.iter().position(|&ppn| ppn != Ppn::NONE)?;
        let start = lpns.start + skipped as u32;
        Some(start..start + mapped_pages(&entries[skipped..]))
    }

    /// As [`Base::extent`](crate::contract::Base::extent).
    pub fn extent(&self, lpns: Range<u32>) -> Extent {
        Extent::first_of(lpns.clone(), self.mapped_run(lpns))
    }

    /// Lists the valid pages of a block, in physical order.
    #[inline]
    pub fn gather<T: Copy>(
        &self,
        nand: &Nand,
        block: BlockId,
        valid: &mut Vec<T>,
        item: impl Fn(Lpn, Ppn) -> T,
    ) {
        let owners = nand.owners(block);
        owners.iter().for_each(|&owner| self.prefetch_entry(owner));
        // No branch on validity: the processor could not predict it.
        valid.resize(owners.len(), item(Lpn::NONE, Ppn::NONE));
        let (slots, mut found) = (&mut valid[..], 0);
        for (&owner, ppn) in owners.iter().zip(nand.geometry().first_page(block).0..) {
            slots[found] = item(Lpn(owner), Ppn(ppn));
            found += usize::from(self.is_newest(owner, Ppn(ppn)));
        }
        valid.truncate(found);
    }

    // ---- Updates ------------------------------------------------------------------------------

    /// Points the entry of a page to another place. Returns the old place.
    #[inline]
    pub fn point(&mut self, lpn: Lpn, to: Ppn) -> Ppn {
        let old = core::mem::replace(&mut self.newest[lpn.0 as usize], to);
        debug_assert!(old != to || to == Ppn::NONE, "{lpn:?} was moved to {to:?}, where it is");
        old
    }

    /// Points the entries of consecutive pages to consecutive places, from `to` on.
    pub fn point_run(&mut self, lpns: Range<u32>, to: Ppn) {
        let entries = &mut self.newest[lpns.start as usize..lpns.end as usize];
        entries.iter_mut().enumerate().for_each(|(n, entry)| *entry = to.plus(n as u32));
    }

    /// Checks that the missing sectors of a run's partial pages can be read, before a write of the
    /// run changes anything.
    ///
    /// # Errors
    /// Such a page cannot be read.
    #[inline]
    pub fn check_bases(&self, nand: &mut Nand, run: &Run) -> Result<()> {
        rmw::check_bases(nand, run, |lpn| self.newest(lpn))
    }

    /// Notes that the host wrote a page: older trims of it no longer count.
    #[inline]
    pub fn note_written(&mut self, lpn: Lpn) {
        debug_assert!(self.newest(lpn).is_some(), "{lpn:?} was written, but is unmapped");
        if let Some(trims) = &mut self.pool.trims {
            trims.written(lpn);
        }
    }

    /// Notes that consecutive mapped pages were trimmed.
    ///
    /// # Errors
    /// The power fails.
    pub fn note_trimmed(&mut self, nand: &mut Nand, lpns: Range<u32>) -> Result<()> {
        debug_assert_eq!(self.mapped_run(lpns.clone()), None, "{lpns:?} were trimmed, but not all");
        self.pool.trims.as_mut().map_or(Ok(()), |trims| trims.trim(nand, lpns))
    }

    /// Commits the recovery of a mount that found these suspect pages.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn commit_recovery(&mut self, nand: &mut Nand, suspects: &Suspects) -> Result<()> {
        let doubtful = self.pool.doubtful();
        let Some(trims) = &mut self.pool.trims else { return Ok(()) };
        let mapped = |lpn: Lpn| self.newest[lpn.0 as usize] != Ppn::NONE;
        let has_left =
            |copy: &PageCopy| self.newest.get(copy.spare.owner.0 as usize) != Some(&copy.ppn);
        let left = suspects.valid(has_left);
        trims.commit(nand, mapped, &left, &doubtful)
    }

    /// Gives up a block whose pages a mount does not believe: erases it now, or lets it become void
    /// with all other free blocks when the mount commits.
    ///
    /// # Errors
    /// The power fails.
    pub fn give_up(&self, nand: &mut Nand, block: BlockId) -> Result<()> {
        match self.pool.trims {
            Some(_) => Ok(()),
            None => Ok(nand.erase(block, Cause::Meta)?),
        }
    }

    // ---- Answers common to all schemes with a flat map ----------------------------------------

    /// Reads a run.
    ///
    /// # Errors
    /// A page cannot be read.
    pub fn read(&self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let full = nand.geometry().full_mask();
        for index in 0..run.pages {
            let lpn = run.first.plus(index);
            if let Some(ppn) = self.newest(lpn) {
                nand.read(ppn, lpn, run.mask(index, full), sink, Cause::Host)?;
            }
        }
        Ok(())
    }

    /// Writes all waiting trims to flash. Nothing else waits in RAM.
    ///
    /// # Errors
    /// The power fails.
    pub fn flush(&mut self, nand: &mut Nand, _only: Option<&Run>) -> Result<()> {
        self.pool.flush(nand)
    }

    /// As [`Base::place`](crate::contract::Base::place).
    pub fn place(&self, _: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.newest(lpn)
    }

    /// As [`Base::facet`](crate::contract::Base::facet).
    pub fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Lender => Some(Facet::Lender(&mut self.pool)),
            _ => None,
        }
    }

    /// As [`Base::prefetch`](crate::contract::Base::prefetch).
    pub fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        for span in spans {
            self.prefetch_entry(span.first);
            (1..span.pages.min(HINTS)).for_each(|page| self.prefetch_entry(span.first + page));
        }
        if let Some(nand) = read_from {
            self.prefetch_places(nand, spans);
        }
    }

    /// Prefetches what the chip keeps about the places of these pages.
    fn prefetch_places(&self, nand: &Nand, spans: &[Span]) {
        let owners = nand.array().owners_of_run(Ppn(0), nand.geometry().pages());
        let hint = |lpn: u32| {
            if let Some(&ppn) = self.newest.get(lpn as usize) {
                prefetch(owners, ppn.0 as usize);
            }
        };
        for span in spans {
            hint(span.first);
            (1..span.pages.min(HINTS)).for_each(|page| hint(span.first + page));
        }
    }

    /// Compares each entry, the free blocks and the trims with the chip. Returns the number of
    /// valid pages in each block.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self, nand: &Nand) -> core::result::Result<Vec<u32>, Violation> {
        self.pool.audit(nand)?;
        let geometry = nand.geometry();
        let mut valid = vec![0; geometry.blocks() as usize];
        for lpn in (0..self.pages()).map(Lpn) {
            let Some(ppn) = self.newest(lpn) else { continue };
            // Each physical page has one owner, so no two entries can share a place.
            let owner = nand.owner(ppn);
            ensure!(owner == lpn, "{lpn:?} maps to {ppn:?}, which holds {owner:?}");
            valid[geometry.block_of(ppn).0 as usize] += 1;
        }
        Ok(valid)
    }
}

/// The calls of [`Base`](crate::contract::Base) that a map leaves to its flat map, by name:
/// `answered_by_flat!([map.flat] place extent);`.
macro_rules! answered_by_flat {
    ($flat:tt $($call:ident)+) => {
        $( $crate::part::map::flat_map::answered_by_flat!(@$call $flat); )+
    };
    (@read [$($flat:tt)+]) => {
        fn read(
            &mut self,
            nand: &mut nand::Nand,
            run: &$crate::contract::Run,
            sink: &mut nand::Sink,
        ) -> $crate::contract::Result<()> {
            self.$($flat)+.read(nand, run, sink)
        }
    };
    (@flush [$($flat:tt)+]) => {
        fn flush(
            &mut self,
            nand: &mut nand::Nand,
            only: Option<&$crate::contract::Run>,
        ) -> $crate::contract::Result<()> {
            self.$($flat)+.flush(nand, only)
        }
    };
    (@prefetch [$($flat:tt)+]) => {
        fn prefetch(&self, spans: &[$crate::contract::Span], read_from: Option<&nand::Nand>) {
            self.$($flat)+.prefetch(spans, read_from);
        }
    };
    (@place [$($flat:tt)+]) => {
        fn place(&self, nand: &nand::Nand, lpn: nand::Lpn) -> Option<nand::Ppn> {
            self.$($flat)+.place(nand, lpn)
        }
    };
    (@extent [$($flat:tt)+]) => {
        fn extent(&self, lpns: core::ops::Range<u32>) -> $crate::contract::Extent {
            self.$($flat)+.extent(lpns)
        }
    };
    (@facet [$($flat:tt)+]) => {
        fn facet(
            &mut self,
            kind: $crate::contract::FacetKind,
        ) -> Option<$crate::contract::Facet<'_>> {
            self.$($flat)+.facet(kind)
        }
    };
}
pub(crate) use answered_by_flat;

/// Number of mapped pages at the start of `entries`. They are compared in groups without a branch
/// per page, so that the compiler can vectorise the comparisons.
fn mapped_pages(entries: &[Ppn]) -> u32 {
    const GROUP: usize = 16;
    let are_mapped = |group: &&[Ppn]| group.iter().fold(true, |all, &ppn| all & (ppn != Ppn::NONE));
    let groups = entries.chunks_exact(GROUP).take_while(are_mapped).count();
    let rest = &entries[groups * GROUP..];
    let pages = rest.iter().position(|&ppn| ppn == Ppn::NONE).unwrap_or(rest.len());
    (groups * GROUP + pages) as u32
}

#[cfg(test)]
mod tests {
    use nand::{Content, Geometry, Mode, Page, ProgramOrder, Timing};
    use spec::Params;

    use super::*;
    use crate::contract::{Durability, MountConfig};
    use crate::part::recovery::survey;

    #[test]
    fn a_range_of_mapped_pages_ends_at_a_gap_or_at_the_end_of_the_span() {
        let mut map = FlatMap::new(8, BlockPool::default());
        for lpn in [1, 2, 3, 6] {
            assert_eq!(map.point(Lpn(lpn), Ppn(40 + lpn)), Ppn::NONE);
        }
        assert_eq!(map.mapped_run(0..8), Some(1..4));
        assert_eq!(map.mapped_run(2..3), Some(2..3));
        assert_eq!(map.mapped_run(4..8), Some(6..7));
        assert_eq!(map.mapped_run(4..6), None);
        assert_eq!(map.mapped_run(7..7), None);
    }

    #[test]
    fn a_page_that_moves_is_no_longer_at_its_old_place() {
        let mut map = FlatMap::new(2, BlockPool::default());
        map.point(Lpn(1), Ppn(5));
        assert!(map.is_newest(1, Ppn(5)) && !map.is_newest(0, Ppn(5)));
        assert_eq!(map.point(Lpn(1), Ppn(9)), Ppn(5));
        assert_eq!((map.newest(Lpn(0)), map.newest(Lpn(1))), (None, Some(Ppn(9))));
        assert!(!map.is_newest(u32::MAX, Ppn::NONE), "an erased page has no owner");
    }

    /// A mount that cannot move the block of the suspect page leaves it where it is.
    #[test]
    fn a_suspect_page_that_stays_in_use_does_not_become_void() {
        let geometry = Geometry::new(512, 64, 4, 13, ProgramOrder::Sequential).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
        let blocks: Vec<BlockId> = (0..13).map(BlockId).collect();
        let device = MountConfig {
            params: &Params::default(),
            logical_blocks: 8,
            blocks: &blocks,
            durability: Durability::Full,
            seed: 0,
            timing: Timing::default(),
            policy: None,
            foresight: None,
        };
        let page = Page { owner: Lpn(5), kind: 1, extra: &[], content: Content::Pad };
        nand.program(Ppn(0), &page, Cause::Host).unwrap();
        for (place, counts) in [(Ppn(0), true), (Ppn(8), false)] {
            let mut again = Nand::power_up(nand.array().try_clone().unwrap());
            let mut map = FlatMap::format(&again, &device, 0);
            let survey = survey::read(&mut again, &device, &mut map.pool.trims).unwrap();
            map.pool.drain();
            map.point(Lpn(5), place);
            map.commit_recovery(&mut again, &survey.suspects).unwrap();
            again.power().cycle();
            let mut pool = BlockPool::format(&again, &device);
            let survey = survey::read(&mut again, &device, &mut pool.trims).unwrap();
            let found = survey.scan.host_copies().next();
            assert_eq!(found.is_some(), counts, "the page was mapped to {place:?}");
        }
    }
}
