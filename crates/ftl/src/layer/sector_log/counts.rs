//! The counts of a sector log.

use nand::SectorMask;

use super::mask::sectors;

/// Counts since the last reset.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SectorLogCounts {
    /// Pages that arrived whole, and pages that arrived in part.
    pub(super) whole: u64,
    pub(super) parts: u64,
    /// Sectors of sub-page writes.
    pub(super) part_sectors: u64,
    /// Sectors of sub-page writes that found an older copy.
    pub(super) hits: u64,
    /// Sub-page writes with at least one sector that found an older copy.
    pub(super) hits_any: u64,
    /// Sectors that were overwritten while they waited.
    pub(super) replaced: u64,
    /// Sectors that were removed while they waited.
    pub(super) taken: u64,
    /// Pages programmed to the log, and the sectors, padding and address sectors in them.
    pub(super) programs: u64,
    pub(super) programmed_sectors: u64,
    pub(super) padding_sectors: u64,
    pub(super) address_sectors: u64,
    /// Pages that cleaning wrote to the FTL, and their sectors.
    pub(super) evicts: u64,
    pub(super) evicted_sectors: u64,
    /// Distinct sectors that left the log: cleaned out, overwritten by whole pages, trimmed.
    pub(super) left: u64,
    /// Blocks cleaned.
    pub(super) cleanings: u64,
    /// Blocks cleaned early, for lack of DRAM.
    pub(super) early_cleanings: u64,
    /// Cleaned blocks exchanged with the FTL.
    pub(super) exchanges: u64,
    /// Log pages read by cleaning.
    pub(super) cleaning_reads: u64,
    /// Log pages read by cleaning, where a page that is read repeatedly while one block is cleaned
    /// counts once.
    pub(super) cleaning_reads_once: u64,
    /// Log pages read for the host.
    pub(super) host_reads: u64,
    /// Pages that record trims.
    pub(super) trim_pages: u64,
    pub(super) dram_accesses: u64,
    /// At the last reset: the number of waiting sectors, and of distinct sectors in page buffer and
    /// log.
    pub(super) waiting_before: u64,
    pub(super) distinct_before: u64,
}

impl SectorLogCounts {
    /// Starts counting, with these numbers of sectors in page buffer and log.
    pub(super) fn from_here(waiting_before: u64, distinct_before: u64) -> SectorLogCounts {
        SectorLogCounts { waiting_before, distinct_before, ..SectorLogCounts::default() }
    }

    /// Counts a program of a log page with `used` sectors.
    pub(super) fn programs(&mut self, used: u32, room: u32, sectors_per_page: u32) {
        self.programs += 1;
        self.programmed_sectors += u64::from(used);
        self.padding_sectors += u64::from(room - used);
        self.address_sectors += u64::from(sectors_per_page - room);
        self.dram_accesses += 1;
    }

    /// Counts a read of a log page. `read_in` is the number of the cleaning that read it last.
    pub(super) fn reads(&mut self, read_in: &mut u64, cleaning: u64, is_cleaning: bool) {
        if !is_cleaning {
            self.host_reads += 1;
            return;
        }
        self.cleaning_reads += 1;
        self.cleaning_reads_once += u64::from(*read_in != cleaning);
        *read_in = cleaning;
    }

    /// Counts pages that pass through a log without blocks. `parts` are the masks of the sub-page
    /// writes among them.
    pub(super) fn pass(&mut self, pages: u32, parts: &[SectorMask]) {
        let in_part = parts.len() as u64;
        let of_parts: u64 = parts.iter().map(|&mask| sectors(mask)).sum();
        self.whole += u64::from(pages) - in_part;
        self.parts += in_part;
        self.evicts += in_part;
        for count in
            [&mut self.part_sectors, &mut self.evicted_sectors, &mut self.left, &mut self.taken]
        {
            *count += of_parts;
        }
    }
}
