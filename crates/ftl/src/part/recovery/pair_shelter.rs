//! The shelter: copies of pages that an interrupted program of another page could destroy.
//!
//! On chips with several bits per cell, a power cut in the program of an upper page can destroy the
//! lower pages of the same cells, which may have been programmed and answered long ago. So before
//! an upper page is programmed, its lower pages are copied to the *shelter*, a ring of blocks that
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
//!
//! **Number of blocks.** The lower pages of a run are copied before its first page is programmed,
//! so all its copies must be on flash at the same time. A run that begins at page s of a block
//! needs a copy for each pair of a lower page below s and an upper page from s on. Let c be the
//! largest number of such pairs for any s. With b bits per cell, distance d and p pages per block
//! it is ⌊b/2⌋·⌈b/2⌉·d if p is a multiple of b·d. When the run begins, the block that is being
//! filled may have no room left, and each further block takes ⌊p/b⌋ copies. So 1 + ⌈c/⌊p/b⌋⌉ blocks
//! suffice: the ring erases no copy of a run that is not complete. With two bits per cell, and on
//! all chips of the list, these are two blocks.

use nand::{BlockId, Cause, Copies, Geometry, Nand, Pairing, Ppn, ProgramGuard, Spare};

use super::spare_scan::{PageCopy, SpareScan};
use crate::contract::{Durability, MountConfig, Result};

/// Bytes behind the scheme bytes of a copy: the page's place (4), and its sequence (5).
const EXTRA_BYTES: usize = 9;

/// Number of blocks of a device's shelter; none if no program can destroy a page that must be kept.
/// They are the last ones of its blocks.
pub fn blocks(pages_per_block: u32, pairing: Pairing, durability: Durability) -> u32 {
    match copies_max(pages_per_block, pairing) {
        0 => 0,
        _ if durability == Durability::Paper => 0,
        copies => 1 + copies.div_ceil(pages_per_block / pairing.bits),
    }
}

/// Bytes of each spare area that must be left for copies in the shelter.
pub fn spare_bytes(geometry: &Geometry, durability: Durability) -> u32 {
    match blocks(geometry.pages_per_block(), geometry.pairing(), durability) {
        0 => 0,
        _ => EXTRA_BYTES as u32,
    }
}

/// The largest number of copies that one run can need.
fn copies_max(pages_per_block: u32, pairing: Pairing) -> u32 {
    // Of page s: the pairs with lower page s - 1, less those with upper page s - 1.
    let mut change = vec![0; pages_per_block as usize + 1];
    for upper in 0..pages_per_block {
        for lower in pairing.lower_pages(upper) {
            change[lower as usize + 1] += 1;
            change[upper as usize + 1] -= 1;
        }
    }
    let pairs = change.iter().scan(0, |pairs, change| {
        *pairs += change;
        Some(*pairs)
    });
    pairs.max().map_or(0, i32::unsigned_abs)
}

/// Lets the shelter guard all programs, if the chip and the durability need it.
pub fn attach(nand: &mut Nand, device: &MountConfig) {
    let blocks = blocks_of(nand.geometry(), device);
    if let Some(last) = blocks.len().checked_sub(1) {
        let fresh = vec![Fresh::default(); nand.geometry().blocks() as usize];
        let filled = nand.geometry().slc_pages();
        let shelter =
            PairShelter { blocks: blocks.into(), current: last, filled, barriers: 1, fresh };
        nand.mounting().attach_guard(Box::new(shelter));
    }
}

/// The blocks of a device's shelter; none if it needs none.
pub fn blocks_of<'a>(geometry: &Geometry, device: &MountConfig<'a>) -> &'a [BlockId] {
    let count = blocks(geometry.pages_per_block(), geometry.pairing(), device.durability) as usize;
    &device.blocks[device.blocks.len() - count..]
}

/// The pages of a block that the FTL does not rely on yet.
#[derive(Clone, Copy, Default)]
struct Fresh {
    /// The number of barriers when they were programmed.
    barriers: u32,
    /// Offset of the first one.
    first: u32,
    /// Offset behind the last one.
    end: u32,
}

struct PairShelter {
    blocks: Box<[BlockId]>,
    /// The block that is being filled.
    current: usize,
    /// Its programmed pages.
    filled: u32,
    /// Number of barriers so far, from 1.
    barriers: u32,
    /// For each block, the pages that were programmed last, without a gap and since the last
    /// barrier. A chip may allow any order, so pages beyond a gap may be older.
    fresh: Vec<Fresh>,
}

impl ProgramGuard for PairShelter {
    fn before_program(&mut self, nand: &mut Nand, first: Ppn, pages: u32) -> nand::Result<()> {
        let (block, offset) = (nand.geometry().block_of(first), nand.geometry().offset_of(first));
        let fresh = &mut self.fresh[block.0 as usize];
        if fresh.barriers != self.barriers || fresh.end != offset {
            *fresh = Fresh { barriers: self.barriers, first: offset, end: offset };
        }
        fresh.end += pages;
        let start = nand.geometry().first_page(block);
        let fresh = start.plus(fresh.first)..start.plus(fresh.end);
        // What a mount programs before its commit is programmed again after a cut.
        if nand.mounting().is_tentative() {
            return Ok(());
        }
        let mut has_copied = false;
        for upper in (0..pages).map(|page| first.plus(page)) {
            for lower in nand.array().lower_pages(upper).filter(|lower| !fresh.contains(lower)) {
                if nand.owner(lower).is_host() {
                    self.shelter(nand, lower)?;
                    has_copied = true;
                }
            }
        }
        if has_copied {
            // The copies must be complete before the upper pages begin.
            nand.wait();
        }
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
            self.current = (self.current + 1) % self.blocks.len();
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
/// copies out of the scan. Pages behind the `mark` are dropped, so nothing stands in for them.
/// Returns the pages that have a stand-in.
///
/// # Errors
/// The storage failed.
pub fn restore(
    nand: &mut Nand,
    device: &MountConfig,
    scan: &mut SpareScan,
    mark: u64,
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
        // The sector log scans before the scheme does.
        let has_stand_in = nand.mounting().has_stand_in(page);
        let is_destroyed = has_stand_in || scan.is_unreadable(page);
        let is_there = !scan.was_erased_since(page, spare.sequence);
        if is_latest && is_destroyed && spare.sequence <= mark && is_there {
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
    use nand::{
        Content, Cut, Data, Lpn, Mode, Op, Outcome, Page, Pages, Pairing, ProgramOrder, Timing,
    };
    use spec::Params;

    const ALL: [BlockId; 6] =
        [BlockId(0), BlockId(1), BlockId(2), BlockId(3), BlockId(4), BlockId(5)];

    const PAIRED: Pairing = Pairing { bits: 2, distance: 2 };

    /// Six blocks of eight pages. The pages 2, 3, 6 and 7 of a block are upper pages.
    fn guarded_chip() -> Nand {
        guarded_dies(1, 8, PAIRED, ProgramOrder::Sequential)
    }

    /// A chip of six blocks, of which the last ones are the shelter.
    fn guarded(pages_per_block: u32, bits: u32, distance: u32, order: ProgramOrder) -> Nand {
        guarded_dies(1, pages_per_block, Pairing { bits, distance }, order)
    }

    fn guarded_dies(
        dies: u32,
        pages_per_block: u32,
        pairing: Pairing,
        order: ProgramOrder,
    ) -> Nand {
        let geometry = Geometry::new(512, 64, pages_per_block, 6, order).unwrap();
        let geometry = geometry.with_dies(dies).and_then(|it| it.with_pairing(pairing)).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
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
        restore(nand, &device(&params), &mut scan, u64::MAX).unwrap()
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
        let mut nand = guarded(9, 3, 1, ProgramOrder::Sequential);
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

    /// The copy is on another die than the upper page, so either can be complete without the other.
    #[test]
    fn an_upper_page_waits_for_the_copies_of_its_lower_pages() {
        let mut destroyed = 0;
        for draw in 0..200 {
            let mut nand = guarded_dies(2, 8, PAIRED, ProgramOrder::Sequential);
            program(&mut nand, 8..10);
            nand.barrier();
            nand.wait();
            // The shelter erases block 4 and copies page 8.
            nand.power().draw_dies(draw);
            nand.power().cut_after(Cut { after: 2, outcome: Outcome::Reordered });
            program_one(&mut nand, 10).unwrap_err();
            nand.power().decay().unwrap();
            let restored = restored(&mut nand);
            let is_held = nand.array().peek_spare(Ppn(8)).unwrap().is_some();
            assert!(is_held, "page 8 is lost with draw {draw}");
            destroyed += u32::from(restored.iter().any(|copy| copy.ppn == Ppn(8)));
        }
        assert!(destroyed > 10, "page 8 was destroyed {destroyed} times");
    }

    /// Page 9 is copied before page 10 and again before page 11. When the power fails, page 10 and
    /// the second copy are in flight on two dies, so the second copy may decay during the mount.
    #[test]
    fn an_earlier_copy_stands_in_when_the_mount_starts_again_without_the_last_one() {
        let mut replaced = 0;
        for draw in (0..400).step_by(2) {
            let pairing = Pairing { bits: 3, distance: 1 };
            let mut nand = guarded_dies(2, 9, pairing, ProgramOrder::Sequential);
            program(&mut nand, 9..10);
            nand.barrier();
            nand.wait();
            // The shelter erases its block and copies page 9; page 10; copies of both pages.
            nand.power().draw_dies(draw);
            nand.power().cut_after(Cut { after: 4, outcome: Outcome::BrownedOut });
            program(&mut nand, 10..11);
            nand.barrier();
            program_one(&mut nand, 11).unwrap_err();
            let by = |nand: &Nand| nand.array().peek_spare(Ppn(9)).unwrap().map(|it| it.0.sequence);
            restored(&mut nand);
            let found = by(&nand);
            nand.power().decay().unwrap();
            if !nand.is_readable(Ppn(9), Lpn(9)).unwrap() {
                nand.mounting().start_again();
                let params = Params::default();
                let mut scan = SpareScan::read(&mut nand, &ALL).unwrap();
                restore(&mut nand, &device(&params), &mut scan, u64::MAX).unwrap();
                replaced += 1;
            }
            assert_eq!(by(&nand), found, "draw {draw}");
            assert!(nand.is_readable(Ppn(9), Lpn(9)).unwrap(), "page 9 is lost with draw {draw}");
        }
        assert!(replaced > 5, "a copy decayed {replaced} times");
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

    /// Programs pages 0 to `start`, relies on them, and programs the rest of the block as one run.
    fn program_in_two_runs(nand: &mut Nand, start: u32) -> nand::Result<()> {
        program(nand, 0..start);
        nand.barrier();
        let pages = nand.geometry().pages_per_block() - start;
        let rest = Pages::Run { first: Lpn(start), pages, kind: 1, data: Data::Stamp(7) };
        nand.program(Ppn(start), rest, Cause::Host)
    }

    /// The first program of the run meets a shelter without room in its current block.
    #[test]
    fn no_copy_of_a_run_is_erased_before_the_run_is_complete() {
        let shapes =
            [(9, 3, 3), (16, 4, 2), (4, 4, 1), (5, 3, 2), (7, 2, 4), (24, 4, 6), (16, 4, 1)];
        for (pages, bits, distance) in shapes {
            let fresh = || guarded(pages, bits, distance, ProgramOrder::Sequential);
            for start in 1..pages {
                let mut nand = fresh();
                program_in_two_runs(&mut nand, start).unwrap();
                let before = nand.tally().total(Op::Program) + nand.tally().total(Op::Erase)
                    - u64::from(pages - start);
                for upper in start..pages {
                    let lower = nand.array().lower_pages(Ppn(upper));
                    let mut lower: Vec<u32> = lower.map(|page| page.0).collect();
                    if lower.is_empty() {
                        continue;
                    }
                    lower.retain(|&page| page < start);
                    lower.sort_unstable();
                    let mut nand = fresh();
                    let after = before + u64::from(upper - start);
                    nand.power().cut_after(Cut { after, outcome: Outcome::Paired });
                    program_in_two_runs(&mut nand, start).unwrap_err();
                    let mut found: Vec<u32> =
                        restored(&mut nand).iter().map(|it| it.ppn.0).collect();
                    found.sort_unstable();
                    assert_eq!(found, lower, "{bits} bits, {distance} apart: {start} to {upper}");
                }
            }
        }
    }

    #[test]
    fn the_shelter_has_two_blocks_unless_a_run_needs_more_copies() {
        let blocks =
            |pages, bits, distance| blocks(pages, Pairing { bits, distance }, Durability::Full);
        let of_presets = [blocks(128, 2, 4), blocks(768, 3, 1), blocks(2304, 4, 1)];
        assert_eq!(of_presets, [2; 3]);
        assert_eq!(blocks(64, 1, 1), 0);
        assert_eq!(blocks(4, 2, 8), 0, "no page is that far from another");
        assert_eq!([blocks(9, 3, 3), blocks(16, 4, 2), blocks(4, 4, 1)], [3, 3, 5]);
        for distance in 1..=4 {
            assert_eq!(copies_max(16 * distance, Pairing { bits: 4, distance }), 4 * distance);
            assert_eq!(copies_max(6 * distance, Pairing { bits: 3, distance }), 2 * distance);
        }
        let pairing = Pairing { bits: 4, distance: 2 };
        assert_eq!(super::blocks(16, pairing, Durability::Paper), 0);
    }

    /// On a chip that allows any order, pages may be relied on although they lie behind one that
    /// was programmed since the barrier, or between two of them.
    #[test]
    fn only_pages_next_to_each_other_are_known_to_be_fresh() {
        let mut nand = guarded(8, 2, 2, ProgramOrder::Any);
        program(&mut nand, 5..6);
        nand.barrier();
        for page in [4, 1, 7] {
            program(&mut nand, page..page + 1);
        }
        assert_eq!(copies(&nand), 1, "page 5");
        program(&mut nand, 12..14);
        nand.barrier();
        program(&mut nand, 9..10);
        program(&mut nand, 14..15);
        assert_eq!(copies(&nand), 2, "page 12");
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
        assert_eq!(restore(&mut nand, &device(&params), &mut scan, u64::MAX), Ok(first));
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
