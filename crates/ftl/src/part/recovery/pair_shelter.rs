//! The shelter: copies of pages that an interrupted program of another page could destroy.
//!
//! On chips with several bits per cell, a power cut in the program of an upper page can destroy the
//! lower pages of the same cells, which may have been programmed and answered long ago. So before
//! an upper page is programmed, its lower pages are copied to the *shelter*, two system blocks that
//! are used with one bit per cell:
//!
//! ```text
//! block     [a b c d _ _ _ _]      page 4 is the upper page of page 0
//! shelter   [a' …]                 1. copy a, with its place     2. program page 4
//! ```
//! A copy is of use only until the upper page is complete. A mount looks at the copies that nothing
//! but pages of the same block followed. If such a page has become unreadable, its copy stands in
//! for it until the mount has moved the block.
//!
//! Pages that the FTL does not rely on yet need no copy. These are pages that were programmed since
//! the last *barrier*: a flush, a forced write, or a page of the trim log, which comes before each
//! erase. If they are lost, the state before them is still on flash. So merges and large writes
//! cost nothing.

use nand::{BlockId, Cause, Copies, Geometry, Nand, Ppn, ProgramGuard, Spare};

use super::spare_scan::{PageCopy, SpareScan};
use crate::contract::{Durability, MountConfig, Result};

/// Blocks of the shelter: one holds the latest copies while the other is erased.
const BLOCKS: usize = 2;
/// Bytes behind the scheme bytes of a copy: the page's place (4), and its sequence (5).
pub const EXTRA_BYTES: usize = 9;

/// Number of blocks of a device's shelter, if its chip has `cell_bits` bits per cell. They are the
/// last ones of its blocks.
pub fn blocks(cell_bits: u32, durability: Durability) -> u32 {
    if is_needed(cell_bits, durability) { BLOCKS as u32 } else { 0 }
}

/// Whether programs can destroy other pages, and must not.
pub fn is_needed(cell_bits: u32, durability: Durability) -> bool {
    cell_bits > 1 && durability == Durability::Full
}

/// Lets the shelter guard all programs, if the chip and the durability need it.
pub fn attach(nand: &mut Nand, device: &MountConfig) {
    let blocks = blocks_of(nand.geometry(), device);
    if let &[one, other] = blocks {
        let opened = vec![(0, 0); nand.geometry().blocks() as usize];
        let filled = nand.geometry().slc_pages();
        let shelter = PairShelter { blocks: [one, other], current: 1, filled, barriers: 1, opened };
        nand.mounting().attach_guard(Box::new(shelter));
    }
}

/// The blocks of a device's shelter; none if it needs none.
pub fn blocks_of<'a>(geometry: &Geometry, device: &MountConfig<'a>) -> &'a [BlockId] {
    let count = blocks(geometry.pairing().bits, device.durability) as usize;
    &device.blocks[device.blocks.len() - count..]
}

struct PairShelter {
    blocks: [BlockId; BLOCKS],
    /// The block that is being filled.
    current: usize,
    /// Its programmed pages.
    filled: u32,
    /// Number of barriers so far, from 1.
    barriers: u32,
    /// For each block, the number of barriers when it was programmed last, and the offset of the
    /// first page that was programmed since that barrier.
    opened: Vec<(u32, u32)>,
}

impl ProgramGuard for PairShelter {
    fn before_program(&mut self, nand: &mut Nand, first: Ppn, pages: u32) -> nand::Result<()> {
        let (block, offset) = (nand.geometry().block_of(first), nand.geometry().offset_of(first));
        let (barriers, since) = &mut self.opened[block.0 as usize];
        if *barriers != self.barriers {
            (*barriers, *since) = (self.barriers, offset);
        }
        let relied_on = nand.geometry().page(block, *since);
        // What a mount programs before its commit is programmed again after a cut.
        if nand.mounting().is_tentative() {
            return Ok(());
        }
        for upper in (0..pages).map(|page| first.plus(page)) {
            for lower in nand.array().lower_pages(upper).filter(|&lower| lower < relied_on) {
                if nand.owner(lower).is_host() {
                    self.shelter(nand, lower)?;
                }
            }
        }
        // Its copies must be complete before the upper pages begin.
        nand.wait();
        Ok(())
    }

    fn barrier(&mut self) {
        self.barriers += 1;
    }
}

impl PairShelter {
    /// Copies a page to the shelter.
    fn shelter(&mut self, nand: &mut Nand, page: Ppn) -> nand::Result<()> {
        if self.filled == nand.geometry().slc_pages() {
            self.current = (self.current + 1) % BLOCKS;
            nand.erase(self.blocks[self.current], Cause::Meta)?;
            nand.use_as_slc(self.blocks[self.current]);
            self.filled = 0;
        }
        let to = nand.geometry().page(self.blocks[self.current], self.filled);
        self.filled += 1;
        let found =
            nand.array().peek_spare(page)?.map(|(spare, extra)| (spare, extra.into_owned()));
        let Some((spare, mut extra)) = found else {
            return nand.copy(to, Copies::of(&[page]), Cause::Meta);
        };
        if extra.len() + EXTRA_BYTES > nand.geometry().scheme_bytes() as usize {
            // Only damaged contents under a right checksum are so long.
            return Err(nand::Error::WrongOwner(page));
        }
        extra.extend(page.0.to_le_bytes());
        extra.extend(&spare.sequence.to_le_bytes()[..5]);
        nand.copy(
            to,
            Copies::of(&[page]).with_kind(Some(spare.kind)).with_extra(&extra),
            Cause::Meta,
        )
    }
}

/// Lets copies in the shelter stand in for pages that the last cut has destroyed, and takes all
/// copies out of the scan. Returns the pages that have a stand-in.
///
/// # Errors
/// The storage failed.
pub fn restore(
    nand: &mut Nand,
    device: &MountConfig,
    scan: &mut SpareScan,
) -> Result<Vec<PageCopy>> {
    let geometry = *nand.geometry();
    let shelter = blocks_of(&geometry, device);
    if shelter.is_empty() {
        return Ok(Vec::new());
    }
    let is_copy = |copy: &PageCopy| shelter.contains(&geometry.block_of(copy.ppn));
    let mut copies: Vec<PageCopy> = scan.copies().filter(is_copy).collect();
    copies.sort_by_key(|copy| u64::MAX - copy.spare.sequence);
    scan.hide(is_copy);
    let mut restored: Vec<PageCopy> = Vec::new();
    for copy in copies {
        let Some((page, spare, extra)) = original(nand, copy)? else { continue };
        let block = geometry.block_of(page);
        let is_latest = {
            let mut later = scan.copies().filter(|it| it.spare.sequence > copy.spare.sequence);
            later.all(|it| geometry.block_of(it.ppn) == block)
        };
        if restored.iter().any(|other| other.ppn == page) {
            continue;
        }
        // The sector log scans before the scheme does, and a mount may start again.
        let has_stand_in = nand.mounting().has_stand_in(page);
        let is_destroyed = has_stand_in || scan.is_unreadable(page);
        if is_latest && is_destroyed {
            if !has_stand_in {
                nand.mounting().stand_in(page, copy.ppn, spare, &extra);
            }
            scan.restore(page, spare);
            restored.push(PageCopy { ppn: page, spare });
        }
    }
    Ok(restored)
}

/// The place, the header and the scheme bytes of the page of which this is a copy.
fn original(nand: &Nand, copy: PageCopy) -> Result<Option<(Ppn, Spare, Vec<u8>)>> {
    let Some((_, bytes)) = nand.array().peek_spare(copy.ppn)? else { return Ok(None) };
    let Some(at) = bytes.len().checked_sub(EXTRA_BYTES) else { return Ok(None) };
    let (extra, place) = bytes.split_at(at);
    let mut wide = [0; 8];
    wide[..5].copy_from_slice(&place[4..]);
    let page = Ppn(u32::from_le_bytes([place[0], place[1], place[2], place[3]]));
    let spare = Spare { sequence: u64::from_le_bytes(wide), ..copy.spare };
    Ok((page.0 < nand.geometry().pages()).then(|| (page, spare, extra.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{Content, Cut, Lpn, Mode, Op, Outcome, Page, Pairing, ProgramOrder, Timing};
    use spec::Params;

    const ALL: [BlockId; 6] =
        [BlockId(0), BlockId(1), BlockId(2), BlockId(3), BlockId(4), BlockId(5)];

    /// Six blocks of eight pages. The pages 2, 3, 6 and 7 of a block are upper pages.
    fn guarded_chip() -> Nand {
        let geometry = Geometry::new(512, 64, 8, 6, ProgramOrder::Sequential).unwrap();
        let pairing = Pairing { bits: 2, distance: 2 };
        let mut nand = Nand::new(geometry.with_pairing(pairing).unwrap(), Mode::Stamps);
        attach(&mut nand, &device(&Params::default()));
        nand
    }

    fn device(params: &Params) -> MountConfig<'_> {
        MountConfig {
            params,
            logical_blocks: 1,
            blocks: &ALL,
            durability: Durability::Full,
            seed: 0,
            timing: Timing::default(),
            policy: None,
            foresight: None,
        }
    }

    fn program(nand: &mut Nand, pages: core::ops::Range<u32>) {
        pages.for_each(|page| program_one(nand, page).unwrap());
    }

    fn program_one(nand: &mut Nand, page: u32) -> nand::Result<()> {
        let (owner, content) = (Lpn(page), Content::Pad);
        nand.program(Ppn(page), &Page { owner, kind: 1, extra: &[], content }, Cause::Host)
    }

    fn copies(nand: &Nand) -> u64 {
        nand.tally().count(Op::Program, Cause::Meta)
    }

    #[test]
    fn only_pages_before_the_last_barrier_are_copied() {
        let mut nand = guarded_chip();
        program(&mut nand, 0..5);
        assert_eq!(copies(&nand), 0, "nothing is relied on");
        nand.barrier();
        program(&mut nand, 5..8);
        assert_eq!(copies(&nand), 1, "page 4, but not page 5");
        nand.barrier();
        program(&mut nand, 8..10);
        nand.barrier();
        program(&mut nand, 10..16);
        assert_eq!(copies(&nand), 3, "pages 8 and 9");
    }

    fn restored(nand: &mut Nand) -> Vec<PageCopy> {
        nand.power().cycle();
        let params = Params::default();
        let mut scan = SpareScan::read(nand, &ALL).unwrap();
        restore(nand, &device(&params), &mut scan).unwrap()
    }

    #[test]
    fn a_copy_stands_in_for_its_page_with_the_sequence_of_that_page() {
        let mut nand = guarded_chip();
        program(&mut nand, 0..2);
        nand.barrier();
        // The shelter erases its block and copies page 0.
        nand.power().cut_after(Cut { after: 2, outcome: Outcome::Paired });
        program_one(&mut nand, 2).unwrap_err();
        let restored = restored(&mut nand);
        let found: Vec<_> = restored.iter().map(|copy| (copy.ppn.0, copy.spare.sequence)).collect();
        assert_eq!(found, [(0, 1)]);
    }

    /// With three bits per cell a page may be copied twice. The later copy counts.
    #[test]
    fn the_last_copy_of_a_page_stands_in_for_it() {
        let geometry = Geometry::new(512, 64, 9, 6, ProgramOrder::Sequential).unwrap();
        let pairing = Pairing { bits: 3, distance: 1 };
        let mut nand = Nand::new(geometry.with_pairing(pairing).unwrap(), Mode::Stamps);
        attach(&mut nand, &device(&Params::default()));
        program(&mut nand, 0..1);
        nand.barrier();
        program(&mut nand, 1..2);
        nand.barrier();
        // Copies of page 1 and page 0.
        nand.power().cut_after(Cut { after: 2, outcome: Outcome::Paired });
        program_one(&mut nand, 2).unwrap_err();
        assert_eq!(copies(&nand), 3);
        let mut pages: Vec<u32> = restored(&mut nand).iter().map(|copy| copy.ppn.0).collect();
        pages.sort_unstable();
        assert_eq!(pages, [0, 1]);
        let by =
            [Ppn(0), Ppn(1)].map(|page| nand.array().peek_spare(page).unwrap().unwrap().0.version);
        assert_eq!(by, [1, 3], "versions of the pages, not of their copies");
    }

    #[test]
    fn the_two_blocks_of_the_shelter_take_turns() {
        let mut nand = guarded_chip();
        for block in 0..4 {
            for page in 0..8 {
                nand.barrier();
                program(&mut nand, 8 * block + page..8 * block + page + 1);
            }
        }
        // Each block has four upper pages, and a block of the shelter has room for four copies.
        assert_eq!(copies(&nand), 16);
        assert_eq!(nand.array().wear()[4..], [2, 2]);
    }

    #[test]
    fn a_second_scan_finds_the_same_destroyed_pages() {
        let mut nand = guarded_chip();
        program(&mut nand, 0..2);
        nand.barrier();
        nand.power().cut_after(Cut { after: 2, outcome: Outcome::Paired });
        program_one(&mut nand, 2).unwrap_err();
        let first = restored(&mut nand);
        assert_eq!(first.len(), 1);
        let params = Params::default();
        let mut scan = SpareScan::read(&mut nand, &ALL).unwrap();
        assert_eq!(restore(&mut nand, &device(&params), &mut scan), Ok(first));
        assert!(scan.copy(Ppn(0)).is_some(), "it counts again");
    }

    #[test]
    fn a_copy_does_not_stand_in_once_pages_elsewhere_have_followed_it() {
        let mut nand = guarded_chip();
        program(&mut nand, 0..2);
        nand.barrier();
        program(&mut nand, 2..3);
        program(&mut nand, 8..9);
        nand.erase(BlockId(0), Cause::Gc).unwrap();
        nand.power().cut_after(Cut { after: 0, outcome: Outcome::Torn });
        program_one(&mut nand, 0).unwrap_err();
        assert_eq!(restored(&mut nand), []);
    }

    #[test]
    fn no_copy_can_destroy_another_one() {
        let mut nand = guarded_chip();
        program(&mut nand, 0..2);
        nand.barrier();
        program(&mut nand, 2..4);
        let upper = nand.geometry().page(BlockId(4), 2);
        assert_eq!(copies(&nand), 2);
        assert_eq!(nand.array().lower_pages(upper).count(), 0);
    }
}
