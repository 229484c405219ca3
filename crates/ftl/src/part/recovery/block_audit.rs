//! The audit of what a part records of one block: its own count against the chip.
//!
//! ```text
//! chip      [5 1 x _ _ _]    recorded as programmed: 3    right
//!           [5 1 x _ _ _]                            2    the next program would hit page x
//!           [5 1 x _ _ _]                            4    a page that can be programmed is lost
//! ```
//! Every part that counts programmed pages or keeps a list of free blocks is audited here, block by
//! block. A comparison of sums would miss two counts that are wrong in opposite directions.

use nand::{BlockId, Lpn, Nand};

use crate::contract::{Violation, ensure};
use crate::part::index::bit_set::BitSet;

/// Compares the number of pages that were appended to a block with the chip: those pages are
/// programmed, and no others.
///
/// # Errors
/// The first contradiction.
pub fn programmed(nand: &Nand, block: BlockId, recorded: u32) -> Result<(), Violation> {
    let mut appended = nand.owners(block).iter().take(recorded as usize);
    let hole = appended.position(|&owner| owner == Lpn::NONE.0);
    ensure!(hole.is_none(), "{block:?}: page {hole:?} is erased, below {recorded} appended pages");
    programmed_up_to(nand, block, recorded)
}

/// Compares the number of pages up to the last programmed one with the chip. Pages below may have
/// been skipped.
///
/// # Errors
/// The two differ.
pub fn programmed_up_to(nand: &Nand, block: BlockId, recorded: u32) -> Result<(), Violation> {
    let level = nand.array().fill_level(block).map_err(|error| Violation(error.to_string()))?;
    ensure!(
        level == recorded,
        "{block:?} is programmed up to page {level}, recorded as up to {recorded}"
    );
    Ok(())
}

/// As [`programmed`], for a block that may also be closed: a mount trusts none of its erased pages,
/// so it records all `most` pages as programmed.
///
/// # Errors
/// The two differ, and the block is not closed.
pub fn programmed_or_closed(
    nand: &Nand,
    block: BlockId,
    recorded: u32,
    most: u32,
) -> Result<(), Violation> {
    if recorded == most { Ok(()) } else { programmed(nand, block, recorded) }
}

/// Compares the set of pages that are recorded as programmed in a block with the chip. The pages of
/// the block are the numbers from `first` on. If all are in the set, the block may be closed.
///
/// # Errors
/// A page is programmed and not in the set, or the reverse, and the block is not closed.
pub fn each_page(nand: &Nand, block: BlockId, set: &BitSet, first: u32) -> Result<(), Violation> {
    let pages = || (first..).zip(nand.owners(block));
    if pages().all(|(page, _)| set.contains(page)) {
        return Ok(());
    }
    let mut wrong = pages().filter(|&(page, &owner)| set.contains(page) != (owner != Lpn::NONE.0));
    let wrong = wrong.next().map(|(page, _)| page - first);
    ensure!(wrong.is_none(), "{block:?}: whether page {wrong:?} is programmed is recorded wrong");
    Ok(())
}

/// Checks that no page of a block is programmed.
///
/// # Errors
/// A page is programmed.
pub fn erased(nand: &Nand, block: BlockId) -> Result<(), Violation> {
    let owner = nand.owners(block).iter().find(|&&owner| owner != Lpn::NONE.0);
    ensure!(owner.is_none(), "{block:?} is recorded as erased, but holds {owner:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use nand::{Cause, Content, Cut, Geometry, Mode, Outcome, Page, Ppn, ProgramOrder};

    use super::*;

    /// Block 0 of four pages holds two, of which the second is what a power cut left. Block 1 is
    /// erased.
    fn chip(outcome: Outcome) -> Nand {
        let geometry = Geometry::new(512, 64, 4, 2, ProgramOrder::Any).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
        nand.power().cut_after(Cut { after: 1, outcome });
        let page = Page { owner: Lpn(5), kind: 1, extra: &[], content: Content::Pad };
        nand.program(Ppn(0), &page, Cause::Host).unwrap();
        nand.program(Ppn(1), &page, Cause::Host).unwrap_err();
        nand.power().cycle();
        nand.mounting().finish();
        nand
    }

    #[test]
    fn a_torn_page_is_programmed_and_one_that_looks_erased_is_not() {
        for (outcome, level) in [(Outcome::Torn, 2), (Outcome::LooksErased, 1)] {
            let nand = chip(outcome);
            for recorded in 0..4 {
                let audit = programmed(&nand, BlockId(0), recorded);
                assert_eq!(audit.is_ok(), recorded == level, "{outcome:?}, {recorded} pages");
            }
        }
    }

    #[test]
    fn a_page_may_be_skipped_but_not_appended_to() {
        let mut nand = chip(Outcome::Torn);
        nand.mounting().resume(9);
        let page = Page { owner: Lpn(6), kind: 1, extra: &[], content: Content::Pad };
        nand.program(Ppn(3), &page, Cause::Host).unwrap();
        assert_eq!(programmed_up_to(&nand, BlockId(0), 4), Ok(()));
        assert!(programmed(&nand, BlockId(0), 4).is_err(), "page 2 is erased");
    }

    #[test]
    fn all_pages_of_a_closed_block_count_as_programmed() {
        let nand = chip(Outcome::Torn);
        let audit = |recorded| programmed_or_closed(&nand, BlockId(0), recorded, 4).is_ok();
        assert_eq!([1, 2, 3, 4].map(audit), [false, true, false, true]);
    }

    #[test]
    fn each_page_of_an_open_block_is_compared() {
        let nand = chip(Outcome::Torn);
        let audit = |pages: &[u32]| {
            let mut set = BitSet::new(12);
            pages.iter().for_each(|&page| set.insert(page));
            each_page(&nand, BlockId(0), &set, 8).is_ok()
        };
        assert!(audit(&[8, 9]) && audit(&[8, 9, 10, 11]), "two pages, and a closed block");
        assert!(!audit(&[8]) && !audit(&[8, 9, 10]) && !audit(&[8, 10]));
    }

    #[test]
    fn a_block_with_a_page_is_not_erased() {
        let nand = chip(Outcome::LooksErased);
        assert!(erased(&nand, BlockId(0)).is_err());
        assert_eq!(erased(&nand, BlockId(1)), Ok(()));
    }
}
