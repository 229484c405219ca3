//! The disk, and those who take down what is done to it.

use std::ops::Range;

use disk::{Disk, Result};
use film::HostOp;
use nand::page_store::SyncJob;

use crate::device::bytes;
use crate::device::recorder::Recorder;
use crate::device::watch::{Filmed, Watch};

/// A disk addressed by bytes, whose operations are recorded.
pub struct Store {
    /// The disk. What is done to it directly is not recorded.
    pub disk: Disk,
    /// Records what is done.
    pub recorder: Recorder,
    /// Films what is done, if somebody watches.
    pub watch: Watch,
}

impl Store {
    /// Reads a range. The sectors at both ends may be read in part.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let sectors = bytes::outward(offset, bytes.len() as u64);
        if sectors == (offset..offset + bytes.len() as u64) {
            return self.read_sectors(offset, bytes);
        }
        let mut around = vec![0; (sectors.end - sectors.start) as usize];
        self.read_sectors(sectors.start, &mut around)?;
        let from = (offset - sectors.start) as usize;
        bytes.copy_from_slice(&around[from..from + bytes.len()]);
        Ok(())
    }

    /// Writes a range. The disk knows only whole sectors, so those at both ends of a range that
    /// begins or ends within one are read, changed and written.
    ///
    /// # Errors
    /// Those of the disk. An error of a read leaves the range as it was.
    pub fn write(&mut self, offset: u64, bytes: &[u8], force: bool) -> Result<()> {
        let end = offset + bytes.len() as u64;
        let sectors = bytes::outward(offset, bytes.len() as u64);
        if sectors == (offset..end) {
            return self.write_sectors(offset, bytes, force);
        }
        const SECTOR: usize = bytes::SECTOR as usize;
        let mut around = vec![0; (sectors.end - sectors.start) as usize];
        let last = around.len() - SECTOR;
        if offset > sectors.start {
            self.read_sectors(sectors.start, &mut around[..SECTOR])?;
        }
        if end < sectors.end && (last > 0 || offset == sectors.start) {
            self.read_sectors(sectors.end - bytes::SECTOR, &mut around[last..])?;
        }
        let from = (offset - sectors.start) as usize;
        around[from..from + bytes.len()].copy_from_slice(bytes);
        self.write_sectors(sectors.start, &around, force)
    }

    fn read_sectors(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.disk.read(offset, bytes)?;
        self.recorder.read(offset, bytes.len() as u64);
        self.watch.performed(&mut self.disk, HostOp::Read, offset, bytes.len() as u64);
        Ok(())
    }

    fn write_sectors(&mut self, offset: u64, bytes: &[u8], force: bool) -> Result<()> {
        self.disk.write(offset, bytes, force)?;
        self.recorder.wrote(offset, bytes, force);
        self.watch.performed(&mut self.disk, HostOp::Write, offset, bytes.len() as u64);
        Ok(())
    }

    /// Trims whole pages.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn trim(&mut self, pages: Range<u64>) -> Result<()> {
        self.disk.trim(pages.start, pages.end - pages.start, false)?;
        self.recorder.trimmed(pages.clone());
        self.watch.performed(&mut self.disk, HostOp::Trim, pages.start, pages.end - pages.start);
        Ok(())
    }

    /// Begins a [film](Watch::begin) of what is done.
    ///
    /// # Errors
    /// Why the disk cannot be filmed.
    pub fn begin_film(&mut self) -> std::result::Result<(), String> {
        self.watch.begin(&mut self.disk)
    }

    /// Ends the film. None if none was begun.
    pub fn end_film(&mut self) -> Option<Filmed> {
        self.watch.end(&mut self.disk)
    }

    /// Flushes the FTL. Returns the sync of the file that must follow, if there is one.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn begin_flush(&mut self) -> Result<Option<SyncJob>> {
        let job = self.disk.begin_flush()?;
        self.recorder.flushed();
        self.watch.performed(&mut self.disk, HostOp::Flush, 0, 0);
        Ok(self.began(job))
    }

    /// Begins a sync of the file. Returns what is left to do, if anything is.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn begin_sync(&mut self) -> Result<Option<SyncJob>> {
        let job = self.disk.begin_sync()?;
        Ok(self.began(job))
    }

    fn began(&mut self, job: Option<SyncJob>) -> Option<SyncJob> {
        self.recorder.sync_began();
        if job.is_none() {
            self.recorder.synced();
        }
        job
    }

    /// Ends a sync of the file.
    ///
    /// # Errors
    /// The sync has failed.
    pub fn end_sync(&mut self, done: nand::Result<()>) -> Result<()> {
        self.disk.end_sync(done)?;
        self.recorder.synced();
        Ok(())
    }
}
