//! guest: an FTL from outside, a shared object with the functions of `include/ftlab.h` or a class
//! in Python. The page *Guests* of the documentation is the guide. ftlab passes it whole pages of
//! its own size, and the chip.
//!
//! ```text
//! run of sectors      [ 3 4 5 6 7 8 9 ]             guest pages of 4 sectors
//! guest pages       [ 0 1 2 3 | 4 5 6 7 | 8 9 10 11 ]
//!                     rmw       whole     rmw        partial ones are read first, then written
//! ```
//! Nothing that a guest answers is believed. An illegal command is an error of the request, also
//! if the guest goes on; so is an answer that does not exist, and a call that makes more flash
//! operations than 64 for each page of the chip plus 10,000. A run without `--verify` does not
//! keep the host's data: they are zero. What the guest programs from buffers of its own is kept.
//!
//! A guest gets the whole chip. There are no system blocks, and no shelter keeps copies of pages
//! that share cells: to survive power cuts is its own affair.

mod kept_pages;
mod lent_chip;
mod open_run;

use core::ops::Range;

use nand::geometry::SECTOR_BYTES;
use nand::{Cause, Data, Lpn, Nand, Ppn, SectorMask, Sink, Stamp};
use spec::{Kind, Param};

use crate::contract::guest::{
    Answer, Declaration, Guest, GuestDevice, GuestFault, GuestFaultKind, GuestSource, Status,
};
use crate::contract::{
    Base, Error, Extent, Ftl, Lecture, Metric, MountConfig, Ram, Report, Result, Run, Scheme, Span,
    Violation, base_is, table_bytes,
};
use lent_chip::ChipSide;

/// Pages of the chip that a guest is asked to write at once.
const PART_PAGES: u32 = 256;
/// The addresses of no buffer.
const NO_BUFFER: Range<*const u8> = core::ptr::null()..core::ptr::null();

/// What guests have in common. It is not in the list of schemes, because it is none by itself.
pub static GUEST: Scheme = Scheme {
    name: "guest",
    summary: "an FTL from outside: a shared object made with include/ftlab.h",
    source: "its author",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    params: &[
        Param::key("lib", Kind::Text, "", "path of the shared object"),
        Param::key("keys", Kind::Rest, "", "all other keys go to the guest"),
    ],
    least_extra: |_, _, _| 1,
    memory: |_, geometry, _| table_bytes(geometry, 64, 64),
    ..Scheme::PLAIN
};

/// Mounts a guest.
///
/// # Errors
/// It cannot be loaded or refuses the device, or the power is lost.
pub fn mount(
    source: &dyn GuestSource,
    nand: &mut Nand,
    config: &MountConfig,
) -> Result<Box<dyn Ftl>> {
    let declaration = source.declaration().clone();
    let units = Units::new(&declaration, nand, config)?;
    let device = GuestDevice {
        is_new: nand.is_factory_new(),
        logical_pages: units.count,
        host_page_bytes: units.sectors * SECTOR_BYTES,
        seed: config.seed,
        parameters: config.params.opt_rest("keys").unwrap_or_default().to_vec(),
    };
    resume(nand)?;
    let mut side = ChipSide::new(nand, &declaration);
    let mounted = side.lend(nand, NO_BUFFER, None, |chip| source.mount(chip, &device));
    let name = &declaration.name;
    let guest = match mounted {
        Ok(guest) => guest,
        Err(answer) => {
            let is_explained = side.has_said() && !device.parameters.is_empty();
            let judged = judge(name, &mut side, "mount", answer);
            judged.map_err(|error| if is_explained { error } else { on_device(error, config) })?;
            let sentence = "answered mount with `ok`, and is not there".to_owned();
            return Err(fault(name, GuestFaultKind::Broken, sentence));
        }
    };
    judge(name, &mut side, "mount", Ok(Status::Ok))?;
    side.end_mount();
    let mut hosted =
        Hosted { guest, side, units, declaration, buffer: Vec::new(), handed: Vec::new() };
    hosted.check_capacity(nand)?;
    Ok(Box::new(hosted))
}

/// The error of a mount. A guest that refuses the device may not know what it was asked for. If it
/// has parameters and says why it refuses, they may be the reason, and not the device.
fn on_device(error: Error, config: &MountConfig) -> Error {
    match error {
        Error::Guest(fault) if fault.kind == GuestFaultKind::Invalid => {
            let (blocks, logical) = (config.blocks.len(), config.logical_blocks);
            let sentence = format!(
                "{}; the device has {blocks} blocks, {} of them extra",
                fault.sentence,
                blocks as u32 - logical
            );
            Error::Guest(GuestFault { sentence, ..fault })
        }
        error => error,
    }
}

/// Continues the order of programs after the newest page. The chip keeps it in headers of its own,
/// which guests do not see.
fn resume(nand: &mut Nand) -> Result<()> {
    if !nand.array().keeps_pages() || nand.is_factory_new() {
        return Ok(());
    }
    let mut newest = 0;
    for ppn in (0..nand.geometry().pages()).map(Ppn) {
        let spare = nand.array().peek_spare(ppn)?;
        newest = spare.map_or(newest, |(spare, _)| newest.max(spare.sequence));
    }
    nand.mounting().resume(newest + 1);
    Ok(())
}

/// The pages of a guest.
#[derive(Clone, Copy, Debug)]
struct Units {
    /// Sectors of a guest's page.
    sectors: u32,
    /// Number of the guest's pages.
    count: u32,
    /// Sectors of a page of the chip.
    per_chip_page: u32,
}

impl Units {
    fn new(declaration: &Declaration, nand: &Nand, config: &MountConfig) -> Result<Units> {
        let geometry = nand.geometry();
        let Declaration { host_page_bytes, name, .. } = declaration;
        let refuse = |sentence| Err(fault(name, GuestFaultKind::Invalid, sentence));
        let per_chip_page = geometry.sectors_per_page();
        let sectors = match host_page_bytes / SECTOR_BYTES {
            0 => per_chip_page,
            sectors => sectors,
        };
        if host_page_bytes % SECTOR_BYTES != 0
            || !sectors.is_multiple_of(per_chip_page) && !per_chip_page.is_multiple_of(sectors)
        {
            return refuse(format!(
                "has pages of {host_page_bytes} bytes; they must be a multiple of {SECTOR_BYTES} \
                 bytes, and fit into the {} bytes of a page of the chip or be made of such pages",
                geometry.page_bytes()
            ));
        }
        let pages = config.logical_blocks * geometry.pages_per_block();
        let all = u64::from(pages) * u64::from(per_chip_page);
        match u32::try_from(all.div_ceil(sectors.into())) {
            Ok(count) => Ok(Units { sectors, count, per_chip_page }),
            Err(_) => refuse(format!(
                "has pages of {host_page_bytes} bytes; {all} sectors have more of them than 32 \
                 bits can count"
            )),
        }
    }

    fn bytes(&self, units: u32) -> usize {
        units as usize * self.sectors as usize * SECTOR_BYTES as usize
    }

    /// The guest pages that these sectors touch.
    fn around(&self, sectors: &Range<u64>) -> Range<u32> {
        let size = u64::from(self.sectors);
        (sectors.start / size) as u32..sectors.end.div_ceil(size) as u32
    }

    /// The sectors of a run, numbered from the first sector of the device.
    fn sectors_of(&self, run: &Run) -> Range<u64> {
        let page = |lpn: Lpn| u64::from(lpn.0) * u64::from(self.per_chip_page);
        let start = page(run.first) + u64::from(run.head.trailing_zeros());
        start..page(run.last()) + u64::from(SectorMask::BITS - run.tail.leading_zeros())
    }
}

/// A guest that is mounted.
struct Hosted {
    guest: Box<dyn Guest>,
    side: ChipSide,
    units: Units,
    declaration: Declaration,
    /// Data on their way. On a chip that only counts they are always zero.
    buffer: Vec<u8>,
    /// The data that a write hands to the guest, which it must leave as they are.
    handed: Vec<u8>,
}

/// The fault of a guest.
fn fault(guest: &str, kind: GuestFaultKind, sentence: String) -> Error {
    Error::Guest(GuestFault { guest: guest.to_owned(), kind, sentence })
}

/// The error of a call, given the guest's answer.
#[inline]
fn judge(guest: &str, side: &mut ChipSide, call: &str, answer: Answer) -> Result<()> {
    match answer {
        Ok(Status::Ok) if side.is_calm() => Ok(()),
        _ => condemn(guest, side, call, answer),
    }
}

#[cold]
#[inline(never)]
fn condemn(guest: &str, side: &mut ChipSide, call: &str, answer: Answer) -> Result<()> {
    let trouble = side.take_trouble();
    let because = trouble.said.map_or(String::new(), |said| format!(": {said}"));
    if let Some((kind, what)) = trouble.fault {
        let sentence = match kind {
            GuestFaultKind::Illegal => format!("gave an illegal command in {call}: it {what}"),
            _ => what,
        };
        return Err(fault(guest, kind, sentence));
    }
    if let Some(failure) = trouble.failure {
        return Err(failure.into());
    }
    if trouble.endless {
        let most = side.operations_max();
        let sentence = format!(
            "does not end: {call} has made {most} flash operations, and on this chip no call may \
             make more"
        );
        return Err(fault(guest, GuestFaultKind::Endless, sentence));
    }
    let status = match answer {
        Ok(Status::Ok) => return Ok(()),
        Ok(status) => status,
        Err(number) => {
            // C sees the number as an int: errors are negative in many firmwares.
            let number = number.cast_signed();
            let sentence = format!("answered {call} with {number}, which is no status");
            return Err(fault(guest, GuestFaultKind::Broken, sentence));
        }
    };
    let kind = match status {
        Status::Unreadable => GuestFaultKind::Unreadable,
        Status::ReadOnly => GuestFaultKind::ReadOnly,
        Status::Invalid => GuestFaultKind::Invalid,
        _ => GuestFaultKind::Refused,
    };
    Err(fault(guest, kind, format!("answered {call} with `{status}`{because}")))
}

/// The error of a request for these guest pages.
#[cold]
fn of_pages(error: Error, first: u32, pages: u32) -> Error {
    match error {
        Error::Guest(fault) if fault.kind == GuestFaultKind::Unreadable => {
            let which = match pages {
                1 => format!("page {first}"),
                _ => format!("one of pages {first} to {}", first + pages - 1),
            };
            let sentence = format!("{} for {which}", fault.sentence);
            Error::Guest(GuestFault { sentence, ..fault })
        }
        error => error,
    }
}

impl Hosted {
    fn check_capacity(&mut self, nand: &Nand) -> Result<()> {
        let Some(capacity) = self.guest.capacity() else { return Ok(()) };
        let Units { sectors, count, per_chip_page } = self.units;
        let most = u64::from(nand.geometry().pages()) * u64::from(per_chip_page);
        let name = &self.declaration.name;
        if u64::from(capacity) * u64::from(sectors) > most {
            let sentence = format!(
                "says that it has {capacity} pages of {} bytes, which is more than the chip has",
                sectors * SECTOR_BYTES
            );
            return Err(fault(name, GuestFaultKind::Broken, sentence));
        }
        if capacity < count {
            let sentence = format!(
                "has {capacity} pages of {} bytes, and the device needs {count}: either it needs \
                 more extra blocks, or its `capacity` is wrong",
                sectors * SECTOR_BYTES
            );
            return Err(fault(name, GuestFaultKind::Invalid, sentence));
        }
        Ok(())
    }

    /// Makes room for this number of guest pages in the buffer.
    fn room(&mut self, units: u32) {
        let bytes = self.units.bytes(units);
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
    }

    /// Reads guest pages into a part of the buffer.
    fn load(
        &mut self,
        nand: &mut Nand,
        first: u32,
        part: Range<usize>,
        host_reads: Option<Cause>,
    ) -> Result<()> {
        let pages = (part.len() / self.units.bytes(1)) as u32;
        let (data, guest) = (&mut self.buffer[part], &mut self.guest);
        let answer = self.side.lend(nand, data.as_ptr_range(), host_reads, |chip| {
            guest.read(chip, first, pages, data)
        });
        let judged = judge(&self.declaration.name, &mut self.side, "read", answer);
        judged.map_err(|error| of_pages(error, first, pages))
    }

    /// Reads the guest pages of which a write covers only a part.
    fn load_partial(
        &mut self,
        nand: &mut Nand,
        sectors: &Range<u64>,
        units: &Range<u32>,
    ) -> Result<()> {
        let size = u64::from(self.units.sectors);
        let (starts, ends) = (sectors.start.is_multiple_of(size), sectors.end.is_multiple_of(size));
        let (count, bytes) = (units.end - units.start, self.units.bytes(1));
        if !starts || count == 1 && !ends {
            self.load(nand, units.start, 0..bytes, Some(Cause::Rmw))?;
        }
        if !ends && count > 1 {
            let last = self.units.bytes(count - 1);
            self.load(nand, units.end - 1, last..last + bytes, Some(Cause::Rmw))?;
        }
        Ok(())
    }

    /// Puts the data of a run into the buffer, which begins with a sector of the device.
    fn fill(&mut self, run: &Run, sectors: &Range<u64>, from: u64) {
        let per_page = self.units.per_chip_page;
        let of_run = u64::from(run.first.0) * u64::from(per_page);
        for sector in sectors.clone() {
            let at = sector_bytes((sector - from) as usize);
            let (lpn, index) = place(sector, per_page);
            let in_run = (sector - of_run) as usize;
            let out = &mut self.buffer[at];
            match run.data {
                Data::None | Data::Lost => out.fill(0),
                Data::Stamp(write) => Stamp::new(lpn, index, per_page, write).write_sector(out),
                Data::Stamps(stamps) => write_stamp(stamps[in_run], out),
                Data::Bytes(bytes) => out.copy_from_slice(&bytes[sector_bytes(in_run)]),
            }
        }
    }

    /// Passes the sectors of a run from the buffer to the sink.
    fn pour(&self, sectors: Range<u64>, from: u64, sink: &mut Sink) {
        let per_page = self.units.per_chip_page;
        for sector in sectors {
            let bytes = &self.buffer[sector_bytes((sector - from) as usize)];
            let in_sink = |first: Lpn| (sector - u64::from(first.0) * u64::from(per_page)) as usize;
            match sink {
                Sink::None => {}
                Sink::Stamps { first, out } => {
                    out[in_sink(*first)] =
                        Stamp::of_sector(bytes).unwrap_or_else(|| foreign(sector));
                }
                Sink::Bytes { first, out } => {
                    out[sector_bytes(in_sink(*first))].copy_from_slice(bytes);
                }
            }
        }
    }

    /// Writes pages of the chip as zero.
    fn write_zeroes(&mut self, nand: &mut Nand, pages: Range<u32>) -> Result<()> {
        if pages.is_empty() {
            return Ok(());
        }
        let page_bytes = nand.geometry().page_bytes();
        let run = Run::whole(Lpn(pages.start), pages.end - pages.start, page_bytes, Data::None);
        self.write_all(nand, &run)
    }

    /// Writes a run in parts that end with a page of the chip and of the guest.
    fn write_all(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        let Units { sectors, per_chip_page, .. } = self.units;
        let of_chip = sectors.div_ceil(per_chip_page);
        let step = (PART_PAGES / of_chip).max(1) * of_chip;
        if run.pages <= step {
            return self.write_part(nand, run);
        }
        let (full, page_bytes) = (nand.geometry().full_mask(), nand.geometry().page_bytes());
        let mut start = 0;
        while start < run.pages {
            let to_end = step - (run.first.0 + start) % of_chip;
            let end = (start + to_end).min(run.pages);
            self.write_part(nand, &run.part(start..end, full, page_bytes))?;
            start = end;
        }
        Ok(())
    }

    fn write_part(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        let sectors = self.units.sectors_of(run);
        let units = self.units.around(&sectors);
        let count = units.end - units.start;
        self.room(count);
        self.load_partial(nand, &sectors, &units)?;
        self.handed.clear();
        if nand.array().keeps_pages() {
            let from = u64::from(units.start) * u64::from(self.units.sectors);
            self.fill(run, &sectors, from);
            self.handed.extend_from_slice(&self.buffer[..self.units.bytes(count)]);
        }
        let (data, guest) = (&self.buffer[..self.units.bytes(count)], &mut self.guest);
        let answer = self.side.lend(nand, data.as_ptr_range(), None, |chip| {
            guest.write(chip, units.start, count, data)
        });
        let judged = judge(&self.declaration.name, &mut self.side, "write", answer);
        judged.map_err(|error| of_pages(error, units.start, count))?;
        match self.buffer.starts_with(&self.handed) {
            true => Ok(()),
            false => {
                let sentence = "changed the host's data in the buffer of a write".to_owned();
                Err(fault(&self.declaration.name, GuestFaultKind::Broken, sentence))
            }
        }
    }
}

fn sector_bytes(index: usize) -> Range<usize> {
    let bytes = SECTOR_BYTES as usize;
    index * bytes..(index + 1) * bytes
}

fn place(sector: u64, per_page: u32) -> (Lpn, u32) {
    let per_page = u64::from(per_page);
    (Lpn((sector / per_page) as u32), (sector % per_page) as u32)
}

fn write_stamp(stamp: Stamp, out: &mut [u8]) {
    match stamp == Stamp::default() {
        true => out.fill(0),
        false => stamp.write_sector(out),
    }
}

/// The stamp of a sector that is neither zero nor whole: no write ever had this number.
fn foreign(sector: u64) -> Stamp {
    Stamp::new(Lpn(sector as u32), 0, 1, u32::MAX)
}

impl Base for Hosted {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        let sectors = self.units.sectors_of(run);
        let units = self.units.around(&sectors);
        let count = units.end - units.start;
        self.room(count);
        self.load(nand, units.start, 0..self.units.bytes(count), None)?;
        let from = u64::from(units.start) * u64::from(self.units.sectors);
        self.pour(sectors, from, sink);
        Ok(())
    }

    /// The guest trims its own whole pages. Other pages are written as zero, and all are if it does
    /// not trim.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        if !self.declaration.trims {
            return self.write_zeroes(nand, first.0..first.0 + pages);
        }
        let Units { sectors, per_chip_page, .. } = self.units;
        let (first, end) = (first.0, first.0 + pages);
        let of_chip = sectors.div_ceil(per_chip_page);
        let (whole_first, whole_end) = (first.next_multiple_of(of_chip), end - end % of_chip);
        if whole_first >= whole_end {
            return self.write_zeroes(nand, first..end);
        }
        self.write_zeroes(nand, first..whole_first)?;
        self.write_zeroes(nand, whole_end..end)?;
        let unit =
            |page: u32| (u64::from(page) * u64::from(per_chip_page) / u64::from(sectors)) as u32;
        let (unit_first, unit_end) = (unit(whole_first), unit(whole_end));
        let guest = &mut self.guest;
        let answer = self.side.lend(nand, NO_BUFFER, None, |chip| {
            guest.trim(chip, unit_first, unit_end - unit_first)
        });
        judge(&self.declaration.name, &mut self.side, "trim", answer)
    }

    fn flush(&mut self, nand: &mut Nand, _only: Option<&Run>) -> Result<()> {
        let guest = &mut self.guest;
        let answer = self.side.lend(nand, NO_BUFFER, None, |chip| guest.flush(chip));
        judge(&self.declaration.name, &mut self.side, "flush", answer)
    }

    fn prefetch(&self, _spans: &[Span], _read_from: Option<&Nand>) {}

    /// Only the guest knows.
    fn place(&self, _nand: &Nand, _lpn: Lpn) -> Option<Ppn> {
        None
    }

    /// Only the guest knows, so all pages count as mapped.
    fn extent(&self, lpns: Range<u32>) -> Extent {
        Extent { is_mapped: true, pages: lpns.end - lpns.start }
    }
}

impl Ftl for Hosted {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _next: &[Span]) -> Result<usize> {
        self.write_all(nand, run)?;
        Ok(0)
    }

    fn audit(&self, _nand: &Nand) -> core::result::Result<(), Violation> {
        match self.guest.audit() {
            None => Ok(()),
            Some(sentence) => {
                let name = &self.declaration.name;
                Err(Violation(format!("guest `{name}` finds in its own audit: {sentence}")))
            }
        }
    }

    fn report(&self) -> Report {
        let Declaration { name, release, .. } = &self.declaration;
        let own = self.guest.figures().into_iter();
        let mut figures: Vec<_> = own.map(|(name, value)| (name, Metric::Real(value))).collect();
        figures.push(("guest", Metric::Text(name.clone())));
        figures.push(("release", Metric::Text(release.clone())));
        let ram = Ram { other: self.guest.ram().unwrap_or(0), ..Ram::default() };
        Report { ram, figures, ..Report::default() }
    }

    fn reset_report(&mut self) {}
}
