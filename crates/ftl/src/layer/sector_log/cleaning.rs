//! Cleaning of a sector log: the live sectors of its tail block go to the FTL, and the block is
//! exchanged for a free one.

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, SectorMask};

use super::log::SectorLog;
use super::mask::sectors;
use super::payload::Payload;
use super::sector_map::EntryId;
use super::sector_pages::Sector;
use super::size::SECTOR_BYTES;
use crate::contract::{Result, Run, Span};
use crate::part::map::lost_data::unless_lost;

impl SectorLog {
    /// Cleans the tail block: writes its live sectors to the FTL, erases it, and exchanges it.
    pub(super) fn clean(&mut self, nand: &mut Nand) -> Result<()> {
        let frame = self.ring.tail().expect("a full log has a tail");
        self.counts.cleanings += 1;
        self.counts.early_cleanings += u64::from(self.ring.free_pages() > 0);
        self.cleanings += 1;
        let pages = self.ring.pages_of(frame);
        let places = pages.start * self.sectors_per_page..pages.end * self.sectors_per_page;
        self.prefetch_cleaning(places.clone());
        for place in places {
            let Sector { lpn, index } = self.held[place as usize];
            if lpn == Lpn::NONE {
                continue;
            }
            self.evict_live(nand, lpn, index.into(), place)?;
            self.held[place as usize] = Sector::NONE;
            if let Some(copies) = &mut self.copies {
                copies[lpn.0 as usize] -= 1;
            }
        }
        self.exchange(nand, self.ring.block(frame))
    }

    /// Prefetches all data that cleaning these places needs, so that cache misses overlap.
    pub(super) fn prefetch_cleaning(&self, places: Range<u32>) {
        let held = &self.held[places.start as usize..places.end as usize];
        held.iter().for_each(|sector| self.map.prefetch(sector.lpn));
        let lpns = held.chunk_by(|one, next| one.lpn == next.lpn).map(|same| same[0].lpn);
        for lpn in lpns.filter(|&lpn| lpn != Lpn::NONE) {
            self.map.prefetch_entry(lpn);
            let page = Span { first: lpn.0, pages: 1, head: self.full, tail: self.full, stream: 0 };
            self.below.ftl.base().prefetch(&[page], None);
        }
    }

    /// Writes a page to the FTL if this place of the log holds a live sector of it.
    pub(super) fn evict_live(
        &mut self,
        nand: &mut Nand,
        lpn: Lpn,
        index: u32,
        place: u32,
    ) -> Result<()> {
        let entry = if self.map.is_empty() { None } else { self.map.find(lpn) };
        let Some(entry) = entry else { return Ok(()) };
        let is_live = self.map.live(entry) >> index & 1 == 1;
        match is_live && self.map.place(entry, index) == place {
            true => self.evict(nand, lpn, entry),
            false => Ok(()),
        }
    }

    /// Erases a block of the log, and exchanges it with the FTL's next free one, if the FTL lends
    /// blocks and has one.
    fn exchange(&mut self, nand: &mut Nand, block: BlockId) -> Result<()> {
        let Some(lender) = self.below.ftl.block_lender() else {
            nand.erase(block, Cause::Log)?;
            self.ring.renew_tail(block);
            return Ok(());
        };
        lender.erase(nand, block, Cause::Log)?;
        let lent = lender.lend(nand)?;
        if lent.is_some() {
            lender.give_back(block);
        }
        self.counts.exchanges += u64::from(lent.is_some());
        self.ring.renew_tail(lent.unwrap_or(block));
        Ok(())
    }

    /// Writes all live and waiting sectors of a page to the FTL.
    pub(super) fn evict(&mut self, nand: &mut Nand, lpn: Lpn, entry: EntryId) -> Result<()> {
        let (live, waiting) = (self.map.live(entry), self.buffer.mask(lpn));
        let mask = live | waiting;
        let read = self.read_log(nand, entry, live, true);
        if unless_lost(nand, read)?.is_some() {
            if let Some(payload) = &mut self.payload {
                payload.merge_waiting(&self.buffer, lpn, waiting);
            }
            self.write_merged(nand, lpn, mask)?;
        } else {
            self.write_lost(nand, lpn, mask)?;
        }
        self.counts.evicts += 1;
        self.counts.evicted_sectors += sectors(mask);
        self.forget(lpn, Some(entry));
        let is_left = || self.map.peek(lpn).is_some() || self.buffer.mask(lpn) != 0;
        debug_assert!(!is_left(), "sectors of {lpn:?} are left in the log after its eviction");
        Ok(())
    }

    pub(super) fn write_merged(
        &mut self,
        nand: &mut Nand,
        lpn: Lpn,
        mask: SectorMask,
    ) -> Result<()> {
        let data = self.payload.as_ref().map_or(nand::Data::None, Payload::merged);
        let request_bytes = sectors(mask) * SECTOR_BYTES;
        let page = Run::whole(lpn, 1, self.page_bytes, data);
        let run = Run { head: mask, tail: mask, request_bytes, ..page };
        self.lost = self.below.write_leaving(nand, &run)?.or(self.lost);
        Ok(())
    }

    /// Writes a page of which these sectors in the log cannot be read.
    pub(super) fn write_lost(&mut self, nand: &mut Nand, lpn: Lpn, mask: SectorMask) -> Result<()> {
        let request_bytes = sectors(mask) * SECTOR_BYTES;
        let page = Run::whole(lpn, 1, self.page_bytes, nand::Data::Lost);
        self.lost = Some(lpn);
        self.below.write(nand, &Run { request_bytes, ..page })
    }
}
