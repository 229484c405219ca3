//! The scan of spare areas with which a mount begins, and the copies of pages that it finds.
//!
//! This scan is the only source from which a mount learns what is on the flash. The readable page
//! with the highest sequence was programmed last. If the power failed during its program, it may
//! read well now and be unreadable later. All other pages were complete before that program began.

use nand::{BlockId, Cause, Nand, PageState, Ppn, Spare};

use crate::contract::{Error, Result};

/// The spare areas of some blocks.
#[derive(Debug)]
pub struct SpareScan {
    pages: Vec<(Ppn, PageState)>,
}

/// A readable copy of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCopy {
    /// Its physical page.
    pub ppn: Ppn,
    /// The header of its spare area.
    pub spare: Spare,
}

impl SpareScan {
    /// Reads every spare area of `blocks`, cause meta.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn read(nand: &mut Nand, blocks: &[BlockId]) -> Result<SpareScan> {
        let pages_per_block = nand.geometry().pages_per_block();
        let mut pages = Vec::with_capacity(blocks.len() * pages_per_block as usize);
        for &block in blocks {
            for offset in 0..pages_per_block {
                let ppn = nand.geometry().page(block, offset);
                pages.push((ppn, nand.read_spare(ppn, Cause::Meta)?));
            }
        }
        Ok(SpareScan { pages })
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
