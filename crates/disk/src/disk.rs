//! The disk: bytes in, bytes out.
//!
//! ```text
//! writable ──a change fails──▶ read-only ──it cannot be mounted again──▶ broken
//! ```
//! A page that cannot be read is an error of that request, and the disk goes on. If a change fails,
//! the FTL may have stopped in the middle of it. So the FTL is mounted again, as after a power cut,
//! on a view of the flash that keeps its own changes in memory. From then on the disk can only be
//! read. What was written but not flushed may be gone.

use core::ops::Range;

use ftl::{Device, Extent, Ftl, Run, Span};
use image::ImageStore;
use nand::geometry::SECTOR_BYTES;
use nand::{Data, FlashArray, Lpn, Mode, Nand, Sink};

use crate::error::{Error, Result};
use crate::opening;

/// Bytes of a sector.
const SECTOR: u64 = SECTOR_BYTES as u64;

/// A disk.
pub struct Disk {
    device: Device,
    state: State,
    /// Whole pages around a request that begins or ends within a page.
    bounce: Vec<u8>,
}

/// Consecutive bytes of pages that are all mapped, or all unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteExtent {
    /// Whether the pages are mapped. Unmapped ones read as zero.
    pub is_mapped: bool,
    /// Number of bytes, at least one.
    pub bytes: u64,
}

enum State {
    Writable(Mounted),
    ReadOnly { mounted: Mounted, why: String },
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
        let mounted = Mounted::on(device.new_chip(Mode::Bytes), &device)?;
        Ok(Disk { device, state: State::Writable(mounted), bounce: Vec::new() })
    }

    /// The disk in an image that was made for this device.
    ///
    /// # Errors
    /// A page cannot be read, or the FTL cannot be mounted.
    pub fn on_image(store: ImageStore, device: Device) -> Result<Disk> {
        let mounted = Mounted::on(opening::power_up(store)?, &device)?;
        Ok(Disk { device, state: State::Writable(mounted), bounce: Vec::new() })
    }

    /// The device of the disk.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The chip, unless the disk is broken.
    pub fn nand(&self) -> Option<&Nand> {
        self.mounted().map(|mounted| &mounted.nand)
    }

    /// The FTL, unless the disk is broken.
    pub fn ftl(&self) -> Option<&dyn Ftl> {
        self.mounted().map(|mounted| &*mounted.ftl)
    }

    /// Why the disk cannot be written any more; none if it can.
    pub fn failure(&self) -> Option<&str> {
        match &self.state {
            State::Writable(_) => None,
            State::ReadOnly { why, .. } | State::Broken(why) => Some(why),
        }
    }

    // ---- Requests of the host --------------------------------------------------------------

    /// Reads bytes from `offset` on, which must be whole sectors.
    ///
    /// # Errors
    /// A page cannot be read; then the contents of `bytes` have no meaning.
    pub fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let Some(span) = self.span(offset, bytes.len() as u64)? else { return Ok(()) };
        let (mut bounce, around) = self.around(&span, offset, bytes.len());
        let run = span.run(bytes.len() as u64, Data::None);
        let out: &mut [u8] = if around.len() == bounce.len() { bytes } else { &mut bounce };
        out.fill(0);
        let done = self.perform(is_of_a_read, |Mounted { nand, ftl }| {
            let mut sink = Sink::Bytes { first: run.first, out: &mut *out };
            ftl.read(nand, &run, &mut sink)?;
            ftl.end_request(nand)
        });
        if around.len() != bounce.len() {
            bytes.copy_from_slice(&bounce[around]);
        }
        self.bounce = bounce;
        done
    }

    /// Writes bytes from `offset` on, which must be whole sectors. They survive a power cut after
    /// the next [`flush`](Self::flush), or at once with `force`.
    ///
    /// # Errors
    /// The disk can only be read, or can only be read from now on; or the write covers a part of a
    /// page that cannot be read.
    pub fn write(&mut self, offset: u64, bytes: &[u8], force: bool) -> Result<()> {
        self.expect_writable()?;
        let Some(span) = self.span(offset, bytes.len() as u64)? else { return Ok(()) };
        let (mut bounce, around) = self.around(&span, offset, bytes.len());
        let is_whole = around.len() == bounce.len();
        if !is_whole {
            bounce[around].copy_from_slice(bytes);
        }
        let data = Data::Bytes(if is_whole { bytes } else { &bounce });
        let run = span.run(bytes.len() as u64, data);
        let done = self.change(|Mounted { nand, ftl }| {
            ftl.write(nand, &run)?;
            if force {
                ftl.flush_run(nand, &Run { data: Data::None, ..run })?;
            }
            ftl.end_request(nand)?;
            if force { Ok(nand.sync()?) } else { Ok(()) }
        });
        self.bounce = bounce;
        done
    }

    /// Forgets the whole pages among these bytes. They read as zero from now on; after the next
    /// flush, after a power cut too.
    ///
    /// # Errors
    /// The disk can only be read, or can only be read from now on.
    pub fn trim(&mut self, offset: u64, bytes: u64) -> Result<()> {
        self.expect_writable()?;
        if self.span(offset, bytes)?.is_none() {
            return Ok(());
        }
        let pages = self.whole_pages(offset, bytes);
        self.change(|Mounted { nand, ftl }| {
            // A request without a whole page is a request all the same: layers count them.
            if !pages.is_empty() {
                ftl.trim(nand, Lpn(pages.start), pages.end - pages.start)?;
            }
            ftl.end_request(nand)
        })
    }

    /// Makes all requests that were answered survive a power cut, of the machine too.
    ///
    /// # Errors
    /// The disk can only be read, or can only be read from now on.
    pub fn flush(&mut self) -> Result<()> {
        self.expect_writable()?;
        self.change(|Mounted { nand, ftl }| {
            ftl.flush(nand)?;
            ftl.end_request(nand)?;
            Ok(nand.sync()?)
        })
    }

    /// The mapped and the unmapped parts of a range of bytes, in order. A range that begins or ends
    /// within a page is mapped where the page is. Neighbours are in different states. Counts no
    /// operation of the chip.
    ///
    /// # Errors
    /// The disk is broken, or there are no such bytes.
    pub fn extents(&self, offset: u64, bytes: u64) -> Result<Vec<ByteExtent>> {
        let Some(span) = self.span(offset, bytes)? else { return Ok(Vec::new()) };
        let mounted = match &self.state {
            State::Writable(mounted) | State::ReadOnly { mounted, .. } => mounted,
            State::Broken(why) => return Err(Error::Broken(why.clone())),
        };
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let (mut extents, mut at, end) = (Vec::<ByteExtent>::new(), offset, offset + bytes);
        let (mut lpn, after) = (span.first, span.first + span.pages);
        while lpn < after {
            let Extent { is_mapped, pages } = mounted.ftl.extent(lpn..after);
            lpn += pages;
            let bytes = (u64::from(lpn) * page_bytes).min(end) - at;
            at += bytes;
            match extents.last_mut() {
                Some(last) if last.is_mapped == is_mapped => last.bytes += bytes,
                _ => extents.push(ByteExtent { is_mapped, bytes }),
            }
        }
        Ok(extents)
    }

    /// Flushes, and leaves the image in order.
    ///
    /// # Errors
    /// The disk could only be read, or the storage failed.
    pub fn close(mut self) -> Result<()> {
        self.flush()?;
        match self.state {
            State::Writable(mounted) => opening::close(mounted.nand),
            _ => Ok(()),
        }
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

    /// A buffer for all pages of a span, and the place of the request in it.
    fn around(&mut self, span: &Span, offset: u64, bytes: usize) -> (Vec<u8>, Range<usize>) {
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let before = (offset - u64::from(span.first) * page_bytes) as usize;
        let mut bounce = core::mem::take(&mut self.bounce);
        bounce.resize(span.pages as usize * page_bytes as usize, 0);
        (bounce, before..before + bytes)
    }

    /// The whole pages among these bytes.
    fn whole_pages(&self, offset: u64, bytes: u64) -> Range<u32> {
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let first = offset.div_ceil(page_bytes);
        first as u32..first.max((offset + bytes) / page_bytes) as u32
    }

    // ---- Failures --------------------------------------------------------------------------

    fn mounted(&self) -> Option<&Mounted> {
        match &self.state {
            State::Writable(mounted) | State::ReadOnly { mounted, .. } => Some(mounted),
            State::Broken(_) => None,
        }
    }

    fn expect_writable(&self) -> Result<()> {
        match &self.state {
            State::Writable(_) => Ok(()),
            State::ReadOnly { why, .. } => Err(Error::ReadOnly(why.clone())),
            State::Broken(why) => Err(Error::Broken(why.clone())),
        }
    }

    /// Performs a request that changes something.
    fn change(&mut self, act: impl FnOnce(&mut Mounted) -> ftl::Result<()>) -> Result<()> {
        self.perform(ftl::Error::is_of_request, act)
    }

    /// Performs a request. An error that is not its own makes the disk read-only.
    fn perform(
        &mut self,
        is_its_own: fn(&ftl::Error) -> bool,
        act: impl FnOnce(&mut Mounted) -> ftl::Result<()>,
    ) -> Result<()> {
        let done = match &mut self.state {
            State::Writable(mounted) | State::ReadOnly { mounted, .. } => act(mounted),
            State::Broken(why) => return Err(Error::Broken(why.clone())),
        };
        match done {
            Ok(()) => Ok(()),
            Err(error) => {
                if !is_its_own(&error) {
                    self.fall_back(&error.to_string());
                }
                Err(error.into())
            }
        }
    }

    /// Mounts the FTL on a view of the flash.
    fn fall_back(&mut self, why: &str) {
        let state = core::mem::replace(&mut self.state, State::Broken(why.to_owned()));
        if let State::Writable(Mounted { nand, .. }) = state
            && let Some(mounted) = self.view(nand.into_array())
        {
            self.state = State::ReadOnly { mounted, why: why.to_owned() };
        }
    }

    /// The FTL on a view of the flash; none if it cannot be mounted.
    fn view(&self, flash: FlashArray) -> Option<Mounted> {
        let view = flash.into_store()?.into_view().ok()?;
        let flash = FlashArray::from_store(view).ok()?;
        Mounted::on(Nand::power_up(flash), &self.device).ok()
    }
}

/// Whether an error concerns only the read that met it. The storage may fail for a moment.
fn is_of_a_read(error: &ftl::Error) -> bool {
    error.is_of_request() || matches!(error, ftl::Error::Chip(nand::Error::ReadFailed(_)))
}
