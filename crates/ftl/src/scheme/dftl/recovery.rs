//! Recovery: the map as a mount finds it, and the cache that follows from it.

use nand::{Cause, Lpn, Nand, Ppn};

use super::{BlockContent, Dftl, ENTRY_BYTES, RESERVE};
use crate::contract::{Error, MountConfig, Result};

impl Dftl {
    pub(super) fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = self.map.recover(nand, device, |_| Ok(()))?;
        self.audit_contents(nand).map_err(|violation| Error::Unmountable(violation.0))?;
        if let Some(block) = recovered.endangered {
            let frontier = match self.content_of(nand, block) {
                BlockContent::Data => &mut self.data,
                BlockContent::Entries => &mut self.translation,
            };
            self.map.empty(nand, block, frontier, None, Cause::Meta, |_, _| {})?;
        }
        self.map.commit_recovery(nand, &recovered)?;
        self.load(nand)?;
        self.is_mounting = true;
        while self.map.flat.pool.len() < RESERVE {
            self.collect(nand)?;
        }
        self.is_mounting = false;
        self.shrink_to(nand, self.capacity)
    }

    /// Reads all translation pages. An entry that differs from its current value becomes a dirty
    /// entry of the cache.
    fn load(&mut self, nand: &mut Nand) -> Result<()> {
        let pages = self.map.logical_pages();
        for page in 0..self.translation_pages() {
            let bytes = self.entries_at_mount(nand, page)?;
            let mut known = bytes.chunks_exact(ENTRY_BYTES as usize);
            for lpn in page * self.entries..pages.min((page + 1) * self.entries) {
                let flash = known.next().and_then(|entry| entry.try_into().ok());
                let flash = Ppn(flash.map_or(Ppn::NONE.0, u32::from_le_bytes));
                if flash != self.entry(Lpn(lpn)) {
                    let slot = self.cmt.insert(Lpn(lpn));
                    self.cmt.mark_slot_dirty(slot, flash);
                }
            }
        }
        Ok(())
    }
}
