//! The scan of spare areas with which a mount begins, and the copies of pages that it finds.
//!
//! This scan is the only source from which a mount learns what is on the flash. Some pages can be
//! read but do not count: the [trim log](super::trim_log) tells which, and the mount treats them as
//! unreadable. Of the pages that count, the one with the highest sequence was programmed last. If
//! the power failed during its program, it may read well now and be unreadable at any later time,
//! even during this mount. All others that count were complete before that program began.

use nand::spare::SEQUENCE_MAX;
use nand::{BlockId, Cause, Nand, PageState, Ppn, ProgramOrder, Spare};

use crate::contract::{Error, Result};

/// The spare areas of some blocks.
#[derive(Debug)]
pub struct SpareScan {
    pages: Vec<(Ppn, PageState)>,
    /// Hidden pages of a mount that was never completed.
    ignored: Vec<Ppn>,
}

/// A readable copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// Its physical page.
    pub ppn: Ppn,
    /// The header of its spare area.
    pub spare: Spare,
}

/// The pages that a mount must copy before anything else, if they are valid.
#[derive(Clone, Debug, Default)]
pub struct Suspects {
    /// The page programmed last, of those that count, because it may become unreadable. If the last
    /// cut has destroyed other pages, these pages instead: then that page is complete.
    pub pages: Vec<PageCopy>,
    /// Whether the pages are destroyed: others stand in for them, and they cannot get lost.
    pub are_destroyed: bool,
}

impl Suspects {
    /// The suspect pages for which `is_valid` holds.
    pub fn valid(&self, is_valid: impl Fn(&PageCopy) -> bool) -> Suspects {
        let pages = self.pages.iter().filter(|page| is_valid(page)).copied().collect();
        Suspects { pages, ..*self }
    }

    /// The page that may become unreadable.
    pub fn endangered(&self) -> Option<PageCopy> {
        self.pages.first().filter(|_| !self.are_destroyed).copied()
    }
}

impl SpareScan {
    /// Reads every spare area of `blocks`, cause meta.
    ///
    /// # Errors
    /// The power is lost again, or no chip can have programmed such pages.
    pub fn read(nand: &mut Nand, blocks: &[BlockId]) -> Result<SpareScan> {
        let pages_per_block = nand.geometry().pages_per_block();
        let mut pages = Vec::with_capacity(blocks.len() * pages_per_block as usize);
        for &block in blocks {
            let mut before = 0;
            for offset in 0..pages_per_block {
                let ppn = nand.geometry().page(block, offset);
                let state = nand.read_spare(ppn, Cause::Meta)?;
                if let PageState::Programmed(spare) = state {
                    check_order(nand, ppn, spare, before)?;
                    before = spare.sequence;
                }
                pages.push((ppn, state));
            }
        }
        Ok(SpareScan { pages, ignored: Vec::new() })
    }

    /// The state of every page, block by block in the order of the scan.
    pub fn pages(&self) -> impl Iterator<Item = (Ppn, PageState)> + '_ {
        self.pages.iter().copied()
    }

    /// The state of a page; none if it was not scanned.
    pub fn state(&self, ppn: Ppn) -> Option<PageState> {
        self.pages.iter().find(|(scanned, _)| *scanned == ppn).map(|&(_, state)| state)
    }

    /// Treats a page as readable, with this spare area.
    pub fn restore(&mut self, ppn: Ppn, spare: Spare) {
        let page = self.pages.iter_mut().find(|(scanned, _)| *scanned == ppn);
        page.expect("only scanned pages are restored").1 = PageState::Programmed(spare);
    }

    /// As [`hide`](Self::hide), for pages of a mount that was never completed.
    pub fn ignore(&mut self, is_ignored: impl Fn(&PageCopy) -> bool) -> Vec<Ppn> {
        let ignored = self.hide(is_ignored);
        self.ignored.extend(&ignored);
        ignored
    }

    /// The pages of a mount that was never completed.
    pub fn ignored(&self) -> &[Ppn] {
        &self.ignored
    }

    /// Treats the pages for which `is_hidden` holds as unreadable. Returns them.
    pub fn hide(&mut self, is_hidden: impl Fn(&PageCopy) -> bool) -> Vec<Ppn> {
        let mut hidden = Vec::new();
        for (ppn, state) in &mut self.pages {
            let PageState::Programmed(spare) = *state else { continue };
            if is_hidden(&PageCopy { ppn: *ppn, spare }) {
                *state = PageState::Unreadable;
                hidden.push(*ppn);
            }
        }
        hidden
    }

    /// Every readable page, block by block in the order of the scan.
    pub fn copies(&self) -> impl Iterator<Item = PageCopy> + '_ {
        self.pages.iter().filter_map(|&(ppn, state)| match state {
            PageState::Programmed(spare) => Some(PageCopy { ppn, spare }),
            _ => None,
        })
    }

    /// Every readable page that holds host data.
    ///
    /// # Errors
    /// A page belongs to a logical page beyond the capacity: this flash was written as a larger
    /// device.
    pub fn host_copies(&self, logical_pages: u32) -> Result<Vec<PageCopy>> {
        let copies: Vec<PageCopy> =
            self.copies().filter(|copy| copy.spare.owner.is_host()).collect();
        let beyond = copies.iter().find(|copy| copy.spare.owner.0 >= logical_pages);
        match beyond {
            None => Ok(copies),
            Some(copy) => Err(Error::Unmountable(format!(
                "page {} belongs to logical page {}, beyond the capacity of {logical_pages} pages",
                copy.ppn.0, copy.spare.owner.0
            ))),
        }
    }

    /// The readable page with the highest sequence.
    pub fn last(&self) -> Option<PageCopy> {
        self.copies().max_by_key(|copy| copy.spare.sequence)
    }
}

/// Checks that a chip can have programmed such a page behind one with the sequence `before`.
/// Damaged contents under a right checksum could otherwise break rules on which mounts rely.
fn check_order(nand: &Nand, ppn: Ppn, spare: Spare, before: u64) -> Result<()> {
    let strange = |what: &str| {
        let page = ppn.0;
        Err(Error::Unmountable(format!("page {page} {what}")))
    };
    if spare.sequence > SEQUENCE_MAX / 2 {
        return strange("has a sequence number that no chip lives to reach");
    }
    if spare.version == 0 || spare.version > spare.sequence {
        return strange("has a version that no program has");
    }
    match nand.geometry().program_order() {
        ProgramOrder::Any => Ok(()),
        _ if before < spare.sequence => Ok(()),
        _ => strange("was programmed before a page that precedes it in its block"),
    }
}

/// Reads the version of the page at `ppn`, cause meta. None if the page cannot be read.
///
/// # Errors
/// The power is lost again.
pub fn version(nand: &mut Nand, ppn: Ppn) -> Result<Option<u64>> {
    Ok(match nand.read_spare(ppn, Cause::Meta)? {
        PageState::Programmed(spare) => Some(spare.version),
        _ => None,
    })
}
