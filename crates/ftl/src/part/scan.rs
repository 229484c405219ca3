//! What a mount reads: every spare area once, and the copies of each page that it finds there.
//!
//! A mount knows nothing but this. Three rules of `nand::spare` turn it into a map: the highest
//! version wins, at a tie the highest sequence, and a tombstone beats every older version.
//!
//! One page is *suspect*: the readable one with the highest sequence. If the power failed during
//! its program it may read well now and badly later. All others were complete before it began.

use nand::{BlockId, Cause, Lpn, Nand, PageState, Ppn, Spare};

use crate::contract::{Error, Result};

/// The spare areas of some blocks.
#[derive(Debug)]
pub struct Scan {
    pages: Vec<(Ppn, PageState)>,
    pages_per_block: usize,
}

/// A readable copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where it is.
    pub ppn: Ppn,
    /// Its header.
    pub spare: Spare,
}

impl Scan {
    /// Reads every spare area of `blocks`, cause meta.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn read(nand: &mut Nand, blocks: &[BlockId]) -> Result<Scan> {
        let pages_per_block = nand.geometry().pages_per_block();
        let mut pages = Vec::with_capacity(blocks.len() * pages_per_block as usize);
        for &block in blocks {
            for offset in 0..pages_per_block {
                let ppn = nand.geometry().page(block, offset);
                pages.push((ppn, nand.read_spare(ppn, Cause::Meta)?));
            }
        }
        Ok(Scan { pages, pages_per_block: pages_per_block as usize })
    }

    /// Every readable page, in the order of the blocks.
    pub fn copies(&self) -> impl Iterator<Item = Copy> + '_ {
        self.pages.iter().filter_map(|&(ppn, state)| match state {
            PageState::Programmed(spare) => Some(Copy { ppn, spare }),
            _ => None,
        })
    }

    /// The readable pages of the host's.
    ///
    /// # Errors
    /// A page that belongs beyond the capacity: this flash was written as a larger device.
    pub fn host_copies(&self, logical_pages: u32) -> Result<Vec<Copy>> {
        let copies: Vec<Copy> = self.copies().filter(|copy| copy.spare.owner.is_host()).collect();
        let beyond = copies.iter().find(|copy| copy.spare.owner.0 >= logical_pages);
        match beyond {
            None => Ok(copies),
            Some(copy) => Err(Error::Unmountable(format!(
                "page {} belongs to logical page {}, beyond the capacity of {logical_pages} pages",
                copy.ppn.0, copy.spare.owner.0
            ))),
        }
    }

    /// The pages of each block as they were found.
    pub fn blocks(&self) -> impl Iterator<Item = &[(Ppn, PageState)]> {
        self.pages.chunks(self.pages_per_block)
    }

    /// The readable page with the highest sequence.
    pub fn last(&self) -> Option<Copy> {
        self.copies().max_by_key(|copy| copy.spare.sequence)
    }
}

/// The version of the page that stands at `ppn`, cause meta; none if it cannot be read.
///
/// # Errors
/// The power is lost again.
pub fn version(nand: &mut Nand, ppn: Ppn) -> Result<Option<u64>> {
    Ok(match nand.read_spare(ppn, Cause::Meta)? {
        PageState::Programmed(spare) => Some(spare.version),
        _ => None,
    })
}

/// The newest copy of each logical page, [`Ppn::NONE`] where there is none.
///
/// A suspect page gives way to an equal copy elsewhere: what it holds is then there for good.
pub fn elect(
    copies: &[Copy],
    logical_pages: u32,
    suspect: Option<Ppn>,
    tombstone: impl Fn(Lpn) -> u64,
) -> Vec<Option<Copy>> {
    let mut newest: Vec<Option<Copy>> = vec![None; logical_pages as usize];
    let rank = |copy: &Copy| {
        let certain = Some(copy.ppn) != suspect;
        (copy.spare.version, certain, copy.spare.sequence)
    };
    for copy in copies.iter().filter(|copy| copy.spare.version > tombstone(copy.spare.owner)) {
        let slot = &mut newest[copy.spare.owner.0 as usize];
        if slot.as_ref().is_none_or(|best| rank(copy) > rank(best)) {
            *slot = Some(*copy);
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(ppn: u32, owner: u32, version: u64, sequence: u64) -> Copy {
        Copy { ppn: Ppn(ppn), spare: Spare { owner: Lpn(owner), version, sequence, kind: 1 } }
    }

    #[test]
    fn version_beats_sequence_and_sequence_breaks_ties() {
        let copies = [copy(0, 0, 5, 9), copy(1, 0, 6, 6), copy(2, 1, 3, 3), copy(3, 1, 3, 8)];
        let newest = elect(&copies, 3, None, |_| 0);
        let at = |lpn: usize| newest[lpn].map(|copy| copy.ppn.0);
        assert_eq!([at(0), at(1), at(2)], [Some(1), Some(3), None]);
    }

    #[test]
    fn a_suspect_gives_way_to_its_equal_only() {
        let copies = [copy(2, 1, 3, 3), copy(3, 1, 3, 8), copy(4, 0, 2, 2), copy(5, 0, 9, 9)];
        let suspect = |ppn| {
            let newest = elect(&copies, 2, Some(Ppn(ppn)), |_| 0);
            [newest[0].unwrap().ppn.0, newest[1].unwrap().ppn.0]
        };
        assert_eq!(suspect(3), [5, 2]);
        assert_eq!(suspect(5), [5, 3]);
    }

    #[test]
    fn tombstones_beat_older_versions_only() {
        let copies = [copy(0, 0, 5, 5), copy(1, 1, 8, 8)];
        let newest = elect(&copies, 2, None, |_| 7);
        assert_eq!(newest[0], None);
        assert_eq!(newest[1].unwrap().ppn, Ppn(1));
    }
}
