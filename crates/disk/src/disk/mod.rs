//! The disk: bytes in, bytes out.
//!
//! ```text
//! off ◀──the power fails── writable ──a change fails──▶ read-only ──it cannot be mounted──▶ broken
//!  └──────power on──────────▶
//! ```
//! A page that cannot be read is an error of that request, and the disk goes on. If a change fails,
//! the FTL may have stopped in the middle of it. So the FTL is mounted again, as after a power cut,
//! on a view of the flash that keeps its own changes in memory. From then on the disk can only be
//! read. What was written but not flushed may be gone.
//!
//! A sync of the file takes long, so it can be split: a job for another thread between its begin
//! and its end. The power of the chip is in `power`, and where bytes are is in `places`.

mod flash_failure;
pub mod places;
mod power;
mod room;

use core::ops::Range;

use ftl::{Device, Ftl, Run, Span};
use image::ImageStore;
use nand::geometry::SECTOR_BYTES;
use nand::page_store::SyncJob;
use nand::{Data, FlashArray, Lpn, Mode, Nand, Sink, Tally};

use self::room::Room;
use crate::error::{Error, Result};
use crate::opening;
use crate::recipe;

pub use self::flash_failure::FlashFailure;
pub use self::room::MemoryLimit;

/// Bytes of a buffer that is kept for the next request.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// Bytes of a sector.
const SECTOR: u64 = SECTOR_BYTES as u64;

/// A disk.
pub struct Disk {
    device: Device,
    state: State,
    /// Whole pages around a request that begins or ends within a page.
    bounce: Vec<u8>,
    /// Operations of the chip before a failure, after which a view of the flash counts anew.
    past: Tally,
    /// Memory for its pages, if they are in memory.
    room: Room,
    /// How the guest died that was the FTL, or what it broke, until somebody asks.
    death: Option<String>,
    /// The stream of writes.
    stream: u8,
}

enum State {
    Writable(Mounted),
    /// The power of the chip is off. What the FTL had in memory is gone.
    Off(Nand),
    ReadOnly {
        mounted: Mounted,
        why: String,
    },
    Broken(String),
}

/// An FTL on its chip.
struct Mounted {
    nand: Nand,
    ftl: Box<dyn Ftl>,
}

impl Mounted {
    fn on(mut nand: Nand, device: &Device) -> Result<Mounted> {
        let ftl = device.mount(&mut nand)?;
        Ok(Mounted { nand, ftl })
    }
}

impl Disk {
    /// A new disk in memory.
    ///
    /// # Errors
    /// The scheme refuses the device.
    pub fn in_memory(device: Device) -> Result<Disk> {
        recipe::check(&device)?;
        let mounted = Mounted::on(device.new_chip(Mode::Bytes), &device)?;
        Ok(Disk::with(device, mounted))
    }

    /// The disk in an image that was made for this device.
    ///
    /// # Errors
    /// A page cannot be read, or the FTL cannot be mounted.
    pub fn on_image(store: ImageStore, device: Device) -> Result<Disk> {
        let mounted = Mounted::on(opening::power_up(store, &device)?, &device)?;
        Ok(Disk::with(device, mounted))
    }

    fn with(device: Device, mounted: Mounted) -> Disk {
        Disk {
            device,
            state: State::Writable(mounted),
            bounce: Vec::new(),
            past: Tally::default(),
            room: Room::default(),
            death: None,
            stream: 0,
        }
    }

    /// From now on, writes are refused while the process takes more memory than this. For a disk in
    /// memory; one in an image needs none for its pages.
    pub fn limit_memory(&mut self, limit: MemoryLimit) {
        self.room = Room::below(limit);
    }

    /// How the guest died that was the FTL, if one did since the last call.
    pub fn take_death(&mut self) -> Option<String> {
        self.death.take()
    }

    /// The device of the disk.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The chip, unless the disk is broken.
    pub fn nand(&self) -> Option<&Nand> {
        match &self.state {
            State::Writable(Mounted { nand, .. })
            | State::ReadOnly { mounted: Mounted { nand, .. }, .. }
            | State::Off(nand) => Some(nand),
            State::Broken(_) => None,
        }
    }

    /// The chip, unless the disk is broken; for those who watch its operations.
    pub fn nand_mut(&mut self) -> Option<&mut Nand> {
        match &mut self.state {
            State::Writable(Mounted { nand, .. })
            | State::ReadOnly { mounted: Mounted { nand, .. }, .. }
            | State::Off(nand) => Some(nand),
            State::Broken(_) => None,
        }
    }

    /// Operations of the flash since the disk was opened, mounts included, also those before a
    /// failure.
    pub fn tally(&self) -> Tally {
        let mut tally = self.past.clone();
        if let Some(nand) = self.nand() {
            tally += nand.tally();
        }
        tally
    }

    /// The FTL, unless the disk is off or broken.
    pub fn ftl(&self) -> Option<&dyn Ftl> {
        self.mounted().ok().map(|mounted| &*mounted.ftl)
    }

    /// Why the disk can never be written any more; none if it can, or could with its power on.
    pub fn failure(&self) -> Option<&str> {
        match &self.state {
            State::Writable(_) | State::Off(_) => None,
            State::ReadOnly { why, .. } | State::Broken(why) => Some(why),
        }
    }

    // ---- Requests of the host --------------------------------------------------------------

    /// Reads bytes from `offset` on, which must be whole sectors.
    ///
    /// # Errors
    /// The power is off or fails, or a page cannot be read; then the contents of `bytes` have no
    /// meaning.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let Some(span) = self.span(offset, bytes.len() as u64)? else { return Ok(()) };
        let run = span.run(bytes.len() as u64, Data::None);
        let Some((mut bounce, around)) = self.around(&span, offset, bytes.len()) else {
            return self.read_run(&run, bytes);
        };
        let done = self.read_run(&run, &mut bounce);
        bytes.copy_from_slice(&bounce[around]);
        self.keep(bounce);
        done
    }

    /// Reads whole pages.
    fn read_run(&mut self, run: &Run, out: &mut [u8]) -> Result<()> {
        out.fill(0);
        self.perform(is_of_a_read, |Mounted { nand, ftl }| {
            ftl.read(nand, run, &mut Sink::Bytes { first: run.first, out })?;
            ftl.end_request(nand)
        })
    }

    /// Writes bytes from `offset` on, which must be whole sectors. They survive a power cut of the
    /// chip after the next [`flush`](Self::flush), or at once with `force`. A forced write survives
    /// a crash of the machine only after the next [`sync`](Self::sync) or flush.
    ///
    /// # Errors
    /// The power is off or fails, the disk can only be read, or can only be read from now on; or
    /// the write covers a part of a page that cannot be read; or there is no memory for it.
    pub fn write(&mut self, offset: u64, bytes: &[u8], force: bool) -> Result<()> {
        self.expect_changes()?;
        if let State::Writable(Mounted { nand, .. }) = &self.state {
            self.room.expect(nand)?;
        }
        let Some(span) = self.span(offset, bytes.len() as u64)? else { return Ok(()) };
        let bytes_long = bytes.len() as u64;
        let Some((mut bounce, around)) = self.around(&span, offset, bytes.len()) else {
            return self.write_run(&span.run(bytes_long, Data::Bytes(bytes)), force);
        };
        bounce[around].copy_from_slice(bytes);
        let done = self.write_run(&span.run(bytes_long, Data::Bytes(&bounce)), force);
        self.keep(bounce);
        done
    }

    /// The stream of writes; 0 for none.
    pub fn stream(&self) -> u8 {
        self.stream
    }

    /// Sets the stream of the writes that follow, from 1; 0 if they have none.
    pub fn set_stream(&mut self, stream: u8) {
        self.stream = stream;
    }

    /// Writes the sectors of a run.
    fn write_run(&mut self, run: &Run, force: bool) -> Result<()> {
        let stream = self.stream;
        self.change(|Mounted { nand, ftl }| {
            ftl.write_run(nand, &Run { stream, ..*run })?;
            if force {
                ftl.flush(nand, Some(&Run { data: Data::None, ..*run }))?;
            }
            ftl.end_request(nand)
        })
    }

    /// Forgets the whole pages among these bytes. They read as zero from now on; after the next
    /// flush, after a power cut too. With `force` everything is made to survive a power cut of the
    /// chip, as [`write`](Self::write) says.
    ///
    /// # Errors
    /// The power is off or fails, the disk can only be read, or can only be read from now on.
    pub fn trim(&mut self, offset: u64, bytes: u64, force: bool) -> Result<()> {
        self.expect_changes()?;
        if self.span(offset, bytes)?.is_none() {
            return Ok(());
        }
        let pages = self.whole_pages(offset, bytes);
        self.change(|Mounted { nand, ftl }| {
            // A request without a whole page is a request all the same: layers count them.
            if !pages.is_empty() {
                ftl.trim(nand, Lpn(pages.start), pages.end - pages.start)?;
            }
            if force {
                ftl.flush(nand, None)?;
            }
            ftl.end_request(nand)
        })
    }

    // ---- Durability ------------------------------------------------------------------------

    /// Makes all requests that were answered survive a power cut of the chip, and a crash of the
    /// machine.
    ///
    /// # Errors
    /// The power is off or fails, the disk can only be read, or can only be read from now on.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_chip()?;
        self.sync()
    }

    /// Begins a [flush](Self::flush). All requests that were answered survive a power cut of the
    /// chip; they survive a crash of the machine after [`end_sync`](Self::end_sync).
    ///
    /// # Errors
    /// As for `flush`.
    ///
    /// # Panics
    /// As for [`begin_sync`](Self::begin_sync).
    pub fn begin_flush(&mut self) -> Result<Option<SyncJob>> {
        self.flush_chip()?;
        self.begin_sync()
    }

    /// Makes what survives a power cut of the chip survive a crash of the machine too.
    ///
    /// # Errors
    /// As for [`flush`](Self::flush).
    pub fn sync(&mut self) -> Result<()> {
        self.expect_writable()?;
        self.change(|Mounted { nand, .. }| Ok(nand.sync()?))
    }

    /// Begins a [sync](Self::sync). The job is for another thread; its result goes to
    /// [`end_sync`](Self::end_sync). The disk can be used as ever meanwhile: what is written after
    /// this call needs another sync. Without a job, the sync has ended already.
    ///
    /// # Errors
    /// As for [`flush`](Self::flush).
    ///
    /// # Panics
    /// Another sync has begun that has not ended.
    pub fn begin_sync(&mut self) -> Result<Option<SyncJob>> {
        self.expect_writable()?;
        self.change(|Mounted { nand, .. }| Ok(nand.begin_sync()?))
    }

    /// Ends a sync with the result of its job. It may end after a power cut that it began before.
    ///
    /// # Errors
    /// The sync failed, so the disk can only be read from now on, or as soon as its power is on. Or
    /// it could only be read before.
    ///
    /// # Panics
    /// No sync has begun.
    pub fn end_sync(&mut self, done: nand::Result<()>) -> Result<()> {
        if let State::Off(nand) = &mut self.state {
            return Ok(nand.end_sync(done)?);
        }
        self.expect_writable()?;
        self.change(|Mounted { nand, .. }| Ok(nand.end_sync(done)?))
    }

    fn flush_chip(&mut self) -> Result<()> {
        self.expect_writable()?;
        self.change(|Mounted { nand, ftl }| {
            ftl.flush(nand, None)?;
            ftl.end_request(nand)
        })
    }

    /// Flushes, and leaves the image in order. If the power is off, there is nothing to flush.
    ///
    /// # Errors
    /// The disk could only be read, or the storage failed, or no block was left for what was
    /// written.
    pub fn close(mut self) -> Result<()> {
        let flushed = if self.is_off() { Ok(()) } else { self.flush() };
        match self.state {
            State::Writable(Mounted { nand, .. }) | State::Off(nand) => opening::close(nand)?,
            _ => {}
        }
        flushed
    }

    // ---- Addresses -------------------------------------------------------------------------

    /// The pages of a request; none if it has no bytes.
    fn span(&self, offset: u64, bytes: u64) -> Result<Option<Span>> {
        if !offset.is_multiple_of(SECTOR) || !bytes.is_multiple_of(SECTOR) {
            return Err(Error::Unaligned { offset, bytes });
        }
        let capacity_bytes = self.device.capacity_bytes();
        if offset.checked_add(bytes).is_none_or(|end| end > capacity_bytes) {
            return Err(Error::Beyond { offset, bytes, capacity_bytes });
        }
        let (geometry, sectors) =
            (self.device.geometry(), offset / SECTOR..(offset + bytes) / SECTOR);
        let per_page = geometry.sectors_per_page().into();
        Ok((bytes > 0).then(|| Span::of_sectors(sectors, per_page, geometry.full_mask())))
    }

    /// A buffer for all pages of a span, and the place of the request in it; none if the request
    /// covers these pages whole.
    fn around(
        &mut self,
        span: &Span,
        offset: u64,
        bytes: usize,
    ) -> Option<(Vec<u8>, Range<usize>)> {
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let all = span.pages as usize * page_bytes as usize;
        let before = (offset - u64::from(span.first) * page_bytes) as usize;
        if all == bytes {
            return None;
        }
        let mut bounce = core::mem::take(&mut self.bounce);
        bounce.resize(all, 0);
        Some((bounce, before..before + bytes))
    }

    /// Keeps a buffer for the next request, unless it is large.
    fn keep(&mut self, bounce: Vec<u8>) {
        if bounce.capacity() <= KEPT_BYTES_MAX {
            self.bounce = bounce;
        }
    }

    /// The whole pages among these bytes.
    fn whole_pages(&self, offset: u64, bytes: u64) -> Range<u32> {
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let first = offset.div_ceil(page_bytes);
        first as u32..first.max((offset + bytes) / page_bytes) as u32
    }

    // ---- Failures --------------------------------------------------------------------------

    /// The FTL on its chip.
    ///
    /// # Errors
    /// The power is off, or the disk is broken.
    fn mounted(&self) -> Result<&Mounted> {
        match &self.state {
            State::Writable(mounted) | State::ReadOnly { mounted, .. } => Ok(mounted),
            State::Off(_) => Err(Error::PowerLost),
            State::Broken(why) => Err(Error::Broken(why.clone())),
        }
    }

    fn expect_writable(&self) -> Result<()> {
        match &self.state {
            State::Writable(_) => Ok(()),
            State::Off(_) => Err(Error::PowerLost),
            State::ReadOnly { why, .. } => Err(Error::ReadOnly(why.clone())),
            State::Broken(why) => Err(Error::Broken(why.clone())),
        }
    }

    /// Refuses writes and trims also where flushes are still possible.
    fn expect_changes(&self) -> Result<()> {
        self.expect_writable()?;
        Ok(self.nand().map_or(Ok(()), Nand::expect_writable)?)
    }

    /// Performs a request that changes something.
    fn change<T>(&mut self, act: impl FnOnce(&mut Mounted) -> ftl::Result<T>) -> Result<T> {
        self.perform(ftl::Error::is_of_request, act)
    }

    /// Performs a request. An error that is not its own ends the use of the FTL.
    fn perform<T>(
        &mut self,
        is_its_own: fn(&ftl::Error) -> bool,
        act: impl FnOnce(&mut Mounted) -> ftl::Result<T>,
    ) -> Result<T> {
        let (done, is_on) = match &mut self.state {
            State::Writable(mounted) | State::ReadOnly { mounted, .. } => {
                (act(mounted), mounted.nand.power().is_on())
            }
            State::Off(_) => return Err(Error::PowerLost),
            State::Broken(why) => return Err(Error::Broken(why.clone())),
        };
        match done {
            Ok(answer) => Ok(answer),
            Err(_) if !is_on => {
                self.cut_now();
                Err(Error::PowerLost)
            }
            Err(error) if error.is_death() => {
                // Nothing of the FTL counts but what it wrote, as after a power cut.
                self.cut_now();
                self.death = Some(error.to_string());
                Err(error.into())
            }
            Err(error) => {
                if !is_its_own(&error) {
                    self.give_up(&error.to_string());
                }
                Err(error.into())
            }
        }
    }

    /// Leaves the FTL, which may have stopped in the middle of a change.
    fn give_up(&mut self, why: &str) {
        let state = core::mem::replace(&mut self.state, State::Broken(why.to_owned()));
        if let State::Writable(Mounted { nand, .. }) = state {
            self.fall_back(nand, why);
        }
    }

    /// Mounts the FTL on a view of the flash. If that is impossible, the disk is broken.
    fn fall_back(&mut self, nand: Nand, why: &str) {
        let why = why.to_owned();
        self.past += nand.tally();
        self.state = match self.view(nand.into_array()) {
            Some(mounted) => State::ReadOnly { mounted, why },
            None => State::Broken(why),
        };
    }

    /// The FTL on a view of the flash; none if it cannot be mounted.
    fn view(&self, flash: FlashArray) -> Option<Mounted> {
        let view = opening::into_view(flash.into_store()?).ok()?;
        let flash = self.device.flash(view).ok()?;
        Mounted::on(Nand::power_up(flash), &self.device).ok()
    }
}

/// Whether an error concerns only the read that met it. The storage may fail for a moment.
fn is_of_a_read(error: &ftl::Error) -> bool {
    error.is_of_request() || matches!(error, ftl::Error::Chip(nand::Error::ReadFailed(_)))
}
