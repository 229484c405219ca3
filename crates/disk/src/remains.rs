//! What can be read of an image without its FTL.
//!
//! If an FTL cannot be mounted on a damaged image, the spare areas still say which logical page
//! each page holds, and which version is the newest. Trims are forgotten, and so is what layers
//! keep in pages of their own.

use image::ImageStore;
use nand::page_store::{Extent, Health, PageRecord, PageStore, load_spare};
use nand::{Cells, Mode, PageState, Ppn};

use crate::error::{Error, Result};

/// The newest readable version of each logical page.
pub struct Remains {
    store: ImageStore,
    /// The place of each logical page.
    newest: Vec<Option<Place>>,
    page: PageRecord,
}

/// The versions are compared first, then the order of programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    version: u64,
    sequence: u64,
    ppn: Ppn,
}

impl Remains {
    /// Reads all spare areas of an image whose disk has `logical_pages`.
    pub fn of(store: ImageStore, logical_pages: u32) -> Remains {
        let mut newest = vec![None; logical_pages as usize];
        for ppn in (0..store.layout().geometry.pages()).map(Ppn) {
            let state = load_spare(&store, ppn).map(|spare| spare.state());
            if let Ok(PageState::Programmed(spare)) = state
                && let Some(place) = newest.get_mut(spare.owner.0 as usize)
            {
                let found = Place { version: spare.version, sequence: spare.sequence, ppn };
                *place = (*place).max(Some(found));
            }
        }
        Remains { store, newest, page: PageRecord::new(Mode::Bytes) }
    }

    /// Reads a logical page. Without a readable version it is zero.
    ///
    /// # Errors
    /// The data of its newest version cannot be read.
    pub fn read(&mut self, lpn: u32, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(0);
        let Some(Place { ppn, .. }) = self.newest[lpn as usize] else { return Ok(()) };
        self.store.load(ppn, &mut self.page, Extent::Whole)?;
        match (&self.page.cells, self.page.health) {
            (Cells::Bytes(data), Health::Good | Health::Unstable) => {
                bytes.copy_from_slice(data);
                Ok(())
            }
            _ => Err(Error::from(nand::Error::Unreadable(ppn))),
        }
    }
}
