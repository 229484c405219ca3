//! Recovery of a sector log. The log mounts before the FTL below it. It recognises its blocks by
//! the kind of their pages and passes all others to the FTL.
//!
//! ```text
//! block 0  [LPN 4][LPN 9] …     another kind: belongs to the FTL
//!       1  [0.1 4.2 …]          belongs to the log: LPN 0 sector 1, LPN 4 sector 2
//!       2  torn or erased       could belong to either: each side gets as many as it lacks
//! ```
//! Log and FTL exchange only erased blocks. So no block holds pages of both, and neither side has
//! more blocks with readable pages than it owns. Pages that do not count are not readable for this
//! purpose. Blocks that hold such pages go to the FTL first, because the FTL makes them void when
//! it commits. The log erases its blocks through the FTL, so its pages are void before an erase,
//! too.
//!
//! **What is live.** The version of a log page is its place in the order of programs. Of two copies
//! of a sector in the log, the later one is newer. The FTL's page is newer than a sector in the log
//! exactly if its version, which copies keep, is higher. One rule guarantees this: whenever the FTL
//! gets a page, whole or by cleaning, all sectors of that page are removed from the log and from
//! the page buffer before the next log page is programmed. A trim record in the log kills older
//! copies in the log. It also kills older copies in the FTL, because the FTL may not have recorded
//! the trim yet. The record is erased only after the FTL has recorded the trim.
//!
//! **The last page of the log may become unreadable.** The log recovers after the FTL below has
//! committed, so this page may be weak even if a checkpoint was programmed after it. Its live
//! sectors, with all other sectors of the same logical pages, are written to the FTL; this needs no
//! free page in the log. If the page is a trim record, each trimmed page with any copy in the log
//! is written to the FTL as zeroes. After that nothing depends on the record. All blocks are
//! closed, and blocks without pages are erased again before their first program.

use std::collections::BTreeSet;

use nand::{BlockId, Lpn, Nand, SectorMask};

use super::log::SectorLog;
use super::mask::bits;
use super::sector_map::EntryId;
use super::sector_pages::{FoundBlocks, FoundPage, FoundPages, Sector, TrimmedRange};
use super::sector_ring::SectorRing;
use super::size::SectorLogSize;
use crate::contract::{Durability, Error, Ftl, MountConfig, Result};
use crate::layer::definition::MountBelow;
use crate::part::map::lost_data::unless_lost;
use crate::part::recovery::survey::{self, Survey};
use crate::part::recovery::tombstones::Tombstones;
use crate::part::recovery::trim_log::{self, TrimLog};

/// Mounts a log, and below it an FTL on the blocks that do not belong to the log. A factory-new
/// chip is formatted; the log gets the last blocks before the system blocks.
///
/// # Errors
/// The power is lost again, or the flash is in a state that no log can have left.
pub fn mount(
    nand: &mut Nand,
    device: &MountConfig,
    layout: SectorLogSize,
    mount_below: MountBelow,
) -> Result<Box<dyn Ftl>> {
    let system = trim_log::system_blocks_of(nand, device);
    let (data, system) = device.blocks.split_at(device.blocks.len() - system);
    let below_count = data.len() - layout.blocks as usize;
    let per_block = nand.geometry().pages_per_block();
    // A cut must not destroy pages of the log that were programmed long ago.
    let usable = match device.durability {
        Durability::Full => nand.geometry().slc_pages(),
        Durability::Paper => per_block,
    };
    if nand.is_factory_new() || layout.blocks == 0 {
        let (of_ftl, of_log) = data.split_at(below_count);
        let ftl = mount_on(nand, device, of_ftl, system, mount_below)?;
        let ring = SectorRing::of(of_log, usable);
        return Ok(Box::new(SectorLog::new(ftl, nand, device, ring, layout)));
    }
    let (of_ftl, ring, found) = find(nand, device, data, below_count, usable)?;
    let ftl = mount_on(nand, device, &of_ftl, system, mount_below)?;
    let mut log = SectorLog::new(ftl, nand, device, ring, layout);
    log.recover(nand, found, device.logical_blocks * per_block)?;
    Ok(Box::new(log))
}

/// Finds the log in the blocks `data`. Returns the other blocks, the log's ring of blocks, and what
/// they hold.
fn find(
    nand: &mut Nand,
    device: &MountConfig,
    data: &[BlockId],
    below_count: usize,
    usable: u32,
) -> Result<(Vec<BlockId>, SectorRing, FoundPages)> {
    let (_, mut trims) = TrimLog::split(nand, device);
    let Survey { scan, .. } = survey::read(nand, device, &mut trims)?;
    let blocks = FoundBlocks::of(data, &scan);
    let (of_ftl, free) = share_out(&blocks, below_count)?;
    let ring = SectorRing::found(&blocks.used, &free, usable);
    let logical_pages = device.logical_blocks * nand.geometry().pages_per_block();
    let found = FoundPages::read(nand, &scan, &ring, logical_pages)?;
    Ok((of_ftl, ring, found))
}

fn mount_on(
    nand: &mut Nand,
    device: &MountConfig,
    data: &[BlockId],
    system: &[BlockId],
    mount: MountBelow,
) -> Result<Box<dyn Ftl>> {
    let blocks = [data, system].concat();
    mount(nand, &MountConfig { blocks: &blocks, ..*device })
}

/// Distributes the blocks without readable pages. Returns all blocks of the FTL, ascending, and the
/// log's blocks without pages.
fn share_out(found: &FoundBlocks, below_count: usize) -> Result<(Vec<BlockId>, Vec<BlockId>)> {
    let FoundBlocks { used, blank, foreign, .. } = found;
    let log_count = used.len() + blank.len() + foreign.len() - below_count;
    let strange = |owner: &str, has: usize, may: usize| {
        let why = format!("{has} blocks hold pages of the {owner}, which has only {may}");
        Err(Error::Unmountable(why))
    };
    if used.len() > log_count {
        return strange("sector log", used.len(), log_count);
    }
    if foreign.len() > below_count {
        return strange("scheme below the sector log", foreign.len(), below_count);
    }
    let (more, free) = blank.split_at(below_count - foreign.len());
    let mut of_ftl = [foreign, more].concat();
    of_ftl.sort_unstable();
    Ok((of_ftl, free.to_vec()))
}

impl SectorLog {
    fn recover(&mut self, nand: &mut Nand, found: FoundPages, logical_pages: u32) -> Result<()> {
        self.held = found.held;
        let trimmed = trimmed(&found.pages, logical_pages);
        let versions = self.take_over(&found.pages, &trimmed);
        self.drop_superseded(nand, &versions)?;
        let last = found.pages.last();
        if let Some(last) = last {
            self.write_trimmed_pages(nand, last)?;
        }
        // This comes before any sub-page write to the FTL, because such a write must not read
        // trimmed data.
        self.trim_below(nand, &trimmed)?;
        last.map_or(Ok(()), |last| self.send_down(nand, last))?;
        // What the FTL got is shown from now on. So it records the trims, and no later program may
        // destroy the pages.
        self.below.ftl.flush(nand, None)
    }

    /// The places of a page of the log that hold sectors, and these sectors.
    fn sectors_of(&self, page: u32) -> Vec<(u32, Sector)> {
        let places = page * self.sectors_per_page..(page + 1) * self.sectors_per_page;
        let sectors = places.map(|place| (place, self.held[place as usize]));
        sectors.filter(|&(_, sector)| sector != Sector::NONE).collect()
    }

    /// Enters the newest copy of each sector in the log into the map, unless the sector was trimmed
    /// since. Returns the version of each page of the log.
    fn take_over(&mut self, pages: &[FoundPage], trimmed: &Tombstones) -> Vec<u64> {
        let mut versions = vec![0; self.ring.pages() as usize];
        for &FoundPage { number, version, .. } in pages {
            versions[number as usize] = version;
            for (place, sector) in self.sectors_of(number) {
                if let Some(copies) = &mut self.copies {
                    copies[sector.lpn.0 as usize] += 1;
                }
                if version > trimmed.of(sector.lpn) {
                    let entry = self.map.find_or_insert(sector.lpn);
                    self.map.set(entry, sector.index.into(), place);
                }
            }
        }
        versions
    }

    /// Removes sectors that are older than the FTL's copy of their page.
    fn drop_superseded(&mut self, nand: &mut Nand, versions: &[u64]) -> Result<()> {
        let pages: Vec<(Lpn, EntryId)> = self.map.pages().collect();
        for (lpn, entry) in pages {
            let Some(below) = self.below.ftl.version(nand, lpn)? else { continue };
            let is_older = |index: &u32| {
                let page = self.map.place(entry, *index) / self.sectors_per_page;
                versions[page as usize] < below
            };
            let older = bits(self.map.live(entry)).filter(is_older);
            let older = older.fold(0, |mask: SectorMask, index| mask | 1 << index);
            if older != 0 {
                self.map.drop_sectors(lpn, entry, older);
            }
        }
        Ok(())
    }

    /// Writes the live sectors of the last page to the FTL.
    fn send_down(&mut self, nand: &mut Nand, last: &FoundPage) -> Result<()> {
        for (_, sector) in self.sectors_of(last.number) {
            let Some(entry) = self.map.peek(sector.lpn) else { continue };
            let index = u32::from(sector.index);
            let page = self.map.place(entry, index) / self.sectors_per_page;
            let is_live = self.map.live(entry) >> index & 1 == 1;
            if is_live && self.ring.ppn(nand.geometry(), page) == last.ppn {
                self.evict(nand, sector.lpn, entry)?;
            }
        }
        Ok(())
    }

    /// If the last page of the log records a trim: writes each trimmed page with any copy in the
    /// log to the FTL.
    fn write_trimmed_pages(&mut self, nand: &mut Nand, last: &FoundPage) -> Result<()> {
        let Some(TrimmedRange { first, pages }) = last.trim else { return Ok(()) };
        let copied = self.held.iter().map(|sector| sector.lpn);
        let copied = copied.filter(|lpn| (first..first + pages).contains(&lpn.0));
        for lpn in copied.collect::<BTreeSet<Lpn>>() {
            let below = self.below.ftl.version(nand, lpn)?;
            if below.is_none_or(|below| below < last.version) {
                self.write_trimmed_page(nand, lpn)?;
            }
        }
        Ok(())
    }

    /// Writes a trimmed page to the FTL: zeroes, except for sectors that were written since.
    fn write_trimmed_page(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<()> {
        let entry = self.map.peek(lpn);
        let live = self.live(entry);
        let read = entry.map_or(Ok(()), |entry| self.read_log(nand, entry, live, true));
        if unless_lost(nand, read)?.is_some() {
            if let Some(payload) = &mut self.payload {
                payload.merge_zeroes(self.full & !live);
            }
            self.write_merged(nand, lpn, self.full)?;
        } else {
            self.write_lost(nand, lpn, self.full)?;
        }
        self.forget(lpn, entry);
        Ok(())
    }

    /// Passes trims to the FTL, for pages that were not written since.
    fn trim_below(&mut self, nand: &mut Nand, trimmed: &Tombstones) -> Result<()> {
        for (lpn, version) in trimmed.iter() {
            if self.below.ftl.version(nand, lpn)?.is_some_and(|below| below < version) {
                self.below.trim(nand, lpn, 1)?;
            }
        }
        Ok(())
    }
}

/// The trims in the log.
fn trimmed(pages: &[FoundPage], logical_pages: u32) -> Tombstones {
    let mut trimmed = Tombstones::new(logical_pages);
    for page in pages {
        if let Some(TrimmedRange { first, pages }) = page.trim {
            let known = trimmed.add(first..first + pages, page.version);
            known.expect("trims beyond the capacity are refused");
        }
    }
    trimmed
}
