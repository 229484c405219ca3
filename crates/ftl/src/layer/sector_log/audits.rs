//! Audits of a sector log: its map and its page buffer against what its pages hold.

use nand::{Lpn, Nand};

use super::log::SectorLog;
use super::mask::bits;
use super::sector_pages::Sector;
use crate::contract::{Violation, ensure};

impl SectorLog {
    pub(super) fn audit_places(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        for (lpn, entry) in self.map.pages() {
            for index in bits(self.map.live(entry)) {
                let place = self.map.place(entry, index);
                let sector = Sector { lpn, index: index as u8 };
                let held = self.held[place as usize];
                ensure!(held == sector, "{sector:?} is at place {place}, which holds {held:?}");
                let ppn = self.ring.ppn(nand.geometry(), place / self.sectors_per_page);
                let owner = nand.owner(ppn);
                ensure!(
                    owner == Lpn::SYSTEM,
                    "{sector:?} is in {ppn:?}, which belongs to {owner:?}"
                );
            }
        }
        Ok(())
    }

    pub(super) fn audit_buffer(&self) -> core::result::Result<(), Violation> {
        let (waiting, room) = (self.buffer.len(), self.room);
        ensure!(waiting < room.max(1), "{waiting} sectors wait in a page buffer of {room}");
        let mut seen: Vec<_> = self.buffer.iter().map(|it| (it.lpn, it.index)).collect();
        seen.sort_unstable();
        seen.dedup();
        ensure!(seen.len() as u32 == waiting, "a sector waits twice in the page buffer");
        Ok(())
    }

    pub(super) fn audit_copies(&self) -> core::result::Result<(), Violation> {
        let Some(copies) = &self.copies else { return Ok(()) };
        let mut recount = vec![0; copies.len()];
        let held = self.held.iter().filter(|sector| sector.lpn != Lpn::NONE);
        held.for_each(|sector| recount[sector.lpn.0 as usize] += 1);
        let wrong = (0..copies.len()).find(|&lpn| copies[lpn] != recount[lpn]);
        ensure!(wrong.is_none(), "copies of page {wrong:?} in the sector log are miscounted");
        Ok(())
    }
}
