//! Reading translation pages, also those that cannot be read any more.
//!
//! Nothing is lost with a translation page: every data page names its logical page in its spare
//! area. So the entries are looked for where a mount finds them, and the translation page is
//! written anew when one of its entries is evicted.

use nand::{Cause, Lpn, Nand, Ppn, Sink};

use super::Dftl;
use crate::contract::Result;
use crate::part::map::lost_data::unless_lost;

impl Dftl {
    /// Reads a translation page that is in flash. Returns whether it could be read.
    pub(super) fn read_page(&self, nand: &mut Nand, page: u32) -> Result<bool> {
        let owner = self.owner_of(page);
        let ppn = self.map.flat.newest(owner).expect("an entry that is not cached is in flash");
        self.read_entries(nand, ppn, owner)
    }

    /// Reads the translation page at `ppn`, if necessary from the spare areas of all pages. Returns
    /// whether the page itself could be read.
    pub(super) fn read_entries(&self, nand: &mut Nand, ppn: Ppn, owner: Lpn) -> Result<bool> {
        let full = nand.geometry().full_mask();
        match nand.read(ppn, owner, full, &mut Sink::None, Cause::Map) {
            Err(nand::Error::Unreadable(_)) => {}
            done => return Ok(done.map(|()| true)?),
        }
        for page in (0..nand.geometry().pages()).map(Ppn) {
            nand.book_spare_reads([page], Cause::Map)?;
        }
        Ok(false)
    }

    /// The entries of a translation page as a mount finds them; none if their page is lost or was
    /// never written.
    pub(super) fn entries_at_mount(&self, nand: &mut Nand, page: u32) -> Result<Vec<u8>> {
        let Some(ppn) = self.map.flat.newest(self.owner_of(page)) else { return Ok(Vec::new()) };
        let read = nand.read_meta(ppn, Cause::Meta).map(<[u8]>::to_vec);
        Ok(unless_lost(nand, read.map_err(Into::into))?.unwrap_or_default())
    }
}
