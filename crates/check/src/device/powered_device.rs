//! A device between power-on and power-off: chip, FTL and the oracle that knows what it must hold.
//!
//! ```text
//! Mount · Check · Decay · write · flush · trim · … · Remount · Check
//! ```
//! Everything that happens to the device is an [`Action`], so a run can be printed, recorded and
//! replayed. Recording keeps the state of the chip after each program and erase of an action, and
//! the state of the oracle during the action. This is enough to cut the power at any of them.

mod lost_pages;

use ftl::contract::guest::{GuestFaultKind, Promise};
use ftl::{Durability, Error, Ftl, Run};
use image::LossyDisk;
use image::medium::lossy_disk::Event;
use image::medium::shared_bytes::SharedBytes;
use nand::power_cut::{DieDraw, Snapshot};
use nand::{
    Cause, Cut, Data, FlashArray, Lpn, Media, Mode, Nand, Op, OpRecord, OpSink, Outcome, Stamp,
};

use crate::case::Case;
use crate::device::action::Action;
use crate::device::background_sync::BackgroundSync;
use crate::device::host_buffer::HostBuffer;
use crate::device::power_cut::{Decay, PowerCut};
use crate::finding::{Defect, Finding, Verdict};
use crate::flash::Storage;
use crate::flash::image_chip::{self, Contents, Opened};
use crate::oracle::{Expect, Oracle};
use crate::panics;
use crate::workload::host_operation::{Extent, HostOperation};

/// How an action ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was completed and answered.
    Answered,
    /// The power failed during it.
    PowerLost,
}

/// Why an action was not completed.
enum Stop {
    /// The power failed during it.
    PowerLost,
    /// It found a defect.
    Found(Finding),
}

impl From<Finding> for Stop {
    fn from(finding: Finding) -> Stop {
        Stop::Found(finding)
    }
}

/// A device whose power is on.
pub struct PoweredDevice<'a> {
    case: &'a Case,
    nand: Nand,
    ftl: Option<Box<dyn Ftl>>,
    oracle: Oracle,
    recording: bool,
    /// Whether a cut is armed. If not, a distant cut ends actions that would never end.
    armed: bool,
    /// The chip after each program and erase of the last action, if recording is on.
    pub snapshots: Vec<Snapshot>,
    /// The oracle as it was during the last recorded action.
    pub oracle_during_action: Oracle,
    /// Pages written by the host since power-on.
    pages_written: u64,
    /// Pages of writes that were refused. Some of them may have been written.
    pages_refused: u64,
    /// Pages that entered the scheme between power-on and the last mount.
    entered_before: u64,
    /// Flash operations of the last mount.
    mounted_in: u64,
    /// What was read last.
    buffer: HostBuffer,
    /// The disk below the image, if it can be watched.
    disk: Option<LossyDisk>,
    /// Syncs of the image beside the actions.
    background: BackgroundSync,
    /// The last operation of the image at power-on.
    operation_at_power_on: u64,
    /// Pages that were free at power-on, and the erases of all blocks.
    at_power_on: Option<[u64; 2]>,
    /// The oracle before a mount that left the flash as it is. What such a mount finds may not be
    /// there for the next one: it cannot save pages that are weak.
    oracle_of_flash: Option<Oracle>,
    /// The pages that the media have lost since power-on and that the oracle knows.
    losses_noted: usize,
}

/// A device whose chip is on an image, directly after power-on.
pub struct OnDisk<'a> {
    /// The device.
    pub device: PoweredDevice<'a>,
    /// What its chip holds.
    pub contents: Contents,
}

type Result<T, E = Finding> = std::result::Result<T, E>;

/// Writes name these streams in turn, 0 for no stream.
const STREAMS: u32 = 5;

impl<'a> PoweredDevice<'a> {
    /// A device with this chip. The oracle knows what was done to it before.
    fn new(case: &'a Case, nand: Nand, oracle: Oracle) -> PoweredDevice<'a> {
        PoweredDevice {
            case,
            at_power_on: None,
            oracle_of_flash: None,
            losses_noted: 0,
            nand,
            ftl: None,
            oracle_during_action: oracle.clone(),
            oracle,
            recording: false,
            armed: false,
            snapshots: Vec::new(),
            pages_written: 0,
            pages_refused: 0,
            entered_before: 0,
            mounted_in: 0,
            buffer: HostBuffer::new(case.storage, case.dimensions()),
            disk: None,
            background: BackgroundSync::new(case.seed),
            operation_at_power_on: 0,
        }
    }

    /// A device that was powered on after a cut. Its weak pages decay at this time; after the mount
    /// the action [`Action::Decay`] lets them decay. An image was opened anew.
    ///
    /// # Errors
    /// The image has not kept what the cut left.
    pub fn after_cut(
        case: &'a Case,
        flash: FlashArray,
        oracle: Oracle,
        decay: Decay,
    ) -> Result<PoweredDevice<'a>> {
        let flash = match case.storage {
            Storage::Memory => flash,
            Storage::Image => panics::caught(|| image_chip::reopen(flash, case.device()))?.flash,
        };
        let mut nand = Nand::power_up(flash);
        if let Decay::AtOperation(operations) = decay {
            nand.power().decay_after(operations);
        }
        Ok(PoweredDevice::new(case, nand, oracle))
    }

    /// A device whose chip is on the image on this disk.
    ///
    /// # Errors
    /// The image is refused.
    pub fn on_disk(case: &'a Case, disk: LossyDisk, oracle: Oracle) -> Result<OnDisk<'a>> {
        let medium = Box::new(disk.clone());
        let Opened { flash, contents } =
            panics::caught(|| image_chip::open(medium, case.device()))?;
        let mut device = PoweredDevice::new(case, Nand::power_up(flash), oracle);
        device.disk = Some(disk);
        device.operation_at_power_on = contents.operation;
        Ok(OnDisk { device, contents })
    }

    /// A new device: its chip is erased everywhere.
    ///
    /// # Errors
    /// The blank image is refused.
    pub fn brand_new(case: &'a Case) -> Result<PoweredDevice<'a>> {
        let dimensions = case.dimensions();
        let oracle = Oracle::new(dimensions.pages, dimensions.sectors_per_page);
        let promise = case.guest().map(|guest| guest.promise);
        let oracle = match (promise, case.durability) {
            (Some(Promise::Snapshot), _) => oracle.restoring_flushes(),
            (Some(_), _) => oracle,
            (None, Durability::Full) => oracle,
            (None, Durability::Paper) => oracle.undoing_trims(),
        };
        match case.storage {
            Storage::Memory => Ok(PoweredDevice::new(case, case.new_chip(), oracle)),
            Storage::Image => Ok(PoweredDevice::on_disk(case, case.blank_disk(), oracle)?.device),
        }
    }

    /// Starts to record the chip after each program and erase in `snapshots`.
    pub fn record(&mut self) {
        self.recording = true;
        self.nand.power().record_snapshots();
    }

    /// The case.
    pub fn case(&self) -> &'a Case {
        self.case
    }

    /// Whether the FTL is a guest.
    pub fn has_guest(&self) -> bool {
        self.case.guest().is_some()
    }

    /// The FTL, if it is mounted.
    pub fn ftl(&self) -> Option<&dyn Ftl> {
        self.ftl.as_deref()
    }

    /// The same, if it is a guest.
    pub fn guest(&self) -> Option<&dyn Ftl> {
        self.ftl().filter(|_| self.has_guest())
    }

    /// Starts to record every flash operation.
    pub fn record_operations(&mut self) {
        self.attach(Box::new(OpRecord::default()));
    }

    /// Passes every flash operation to this sink.
    pub fn attach(&mut self, sink: Box<dyn OpSink>) {
        self.nand.attach(Some(sink));
    }

    /// The operations since the last call.
    pub fn take_operations(&mut self) -> OpRecord {
        self.nand.sink_mut::<OpRecord>().map(core::mem::take).unwrap_or_default()
    }

    /// The chip.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Whether the flash stays as it is, and what changes is in memory.
    pub fn is_frozen(&self) -> bool {
        self.nand.media().is_some_and(Media::is_frozen)
    }

    /// Number of programs and erases so far.
    pub fn programs_and_erases(&self) -> u64 {
        operations(&self.nand)[1]
    }

    /// Number of flash operations of the last mount.
    pub fn mounted_in(&self) -> u64 {
        self.mounted_in
    }

    /// Arms a power cut, which finds the dies like this.
    pub fn arm(&mut self, cut: PowerCut, dies: DieDraw) {
        self.armed = true;
        self.nand.power().cut_after(cut.armed());
        self.nand.power().draw_dies(dies);
    }

    /// The chip and the oracle, which survive the power cut.
    pub fn into_parts(self) -> (Nand, Oracle) {
        (self.nand, self.oracle)
    }

    /// Performs one action. After a finding or a power cut, the device can only be dropped or taken
    /// apart.
    ///
    /// # Errors
    /// The defect that the action found. Panics are caught and count as findings.
    pub fn perform(&mut self, action: Action) -> Result<End> {
        self.arm_watchdog();
        let end = panics::caught(|| {
            self.sync_in_background()?;
            match self.act(action) {
                Ok(()) => Ok(End::Answered),
                Err(Stop::PowerLost) => Ok(End::PowerLost),
                Err(Stop::Found(finding)) => Err(finding),
            }
        })?;
        match end == End::PowerLost && !self.armed {
            true => Err(Finding::new(
                Defect::Endless,
                format!("not finished after {} programs and erases", self.operations_max()),
            )),
            false => Ok(end),
        }
    }

    fn act(&mut self, action: Action) -> Result<(), Stop> {
        match action {
            Action::Mount => self.mount(),
            Action::Remount => {
                self.power_cycle()?;
                self.arm_watchdog();
                self.mount()
            }
            Action::Check => self.check(),
            Action::Decay => {
                self.nand.power().decay().map_err(Finding::of_storage)?;
                self.check().map_err(decayed)
            }
            Action::Do(operation) => self.operate(operation),
        }
    }

    /// Lets a sync in the background of an image go on. It promises nothing to the host, but the
    /// image must keep what it covers.
    fn sync_in_background(&mut self) -> Result<()> {
        if self.case.storage == Storage::Memory {
            return Ok(());
        }
        let operation = self.operation();
        let ended = self.background.step(&mut self.nand, operation).map_err(Finding::of_storage)?;
        if let (Some(disk), Some(operation)) = (&self.disk, ended) {
            disk.with(|disk| disk.events.push(Event::Durable(operation)));
        }
        Ok(())
    }

    /// Garbage collection that frees nothing would never end. A distant power cut stops it.
    fn arm_watchdog(&mut self) {
        if !self.armed {
            let after = self.operations_max();
            self.nand.power().cut_after(Cut { after, outcome: Outcome::Untouched });
        }
    }

    /// More programs and erases than any action takes, even with random victims: enough to move the
    /// whole device 16 times for each logical page.
    fn operations_max(&self) -> u64 {
        let pages = self.case.physical_pages();
        1000 + 16 * pages * u64::from(self.case.dimensions().pages)
    }

    // ---- Actions ------------------------------------------------------------------------------

    /// Switches the power off and on. An image is opened anew, and the chip counts from zero.
    fn power_cycle(&mut self) -> Result<()> {
        self.entered_before = self.pages_entered();
        self.ftl = None;
        let was_frozen = self.is_frozen();
        self.nand.power().cycle();
        if was_frozen {
            // What was counted did not happen on the flash.
            self.nand.reset_tally();
            self.at_power_on = None;
            (self.entered_before, self.pages_written) = (0, 0);
            self.oracle = self.oracle_of_flash.take().unwrap_or_else(|| self.oracle.clone());
        }
        if self.case.storage == Storage::Memory {
            return Ok(());
        }
        self.background.forget();
        let none = Nand::new(*self.nand.geometry(), Mode::Count);
        let flash = std::mem::replace(&mut self.nand, none).into_array();
        let Opened { flash, contents } = image_chip::reopen(flash, self.case.device())?;
        self.nand = Nand::power_up(flash);
        self.operation_at_power_on = contents.operation;
        self.at_power_on = None;
        (self.entered_before, self.pages_written) = (0, 0);
        Ok(())
    }

    fn mount(&mut self) -> Result<(), Stop> {
        let mounted = self.case.mount_media(&mut self.nand);
        unless_stopped(mounted, Defect::Unmountable)?;
        self.losses_noted = 0;
        self.at_power_on.get_or_insert_with(|| free_and_erased(&self.nand));
        let before = operations_of_ftl(&self.nand);
        let mounted = self.case.mount(&mut self.nand);
        self.note_losses();
        let ftl = unless_stopped(mounted, Defect::Unmountable)?;
        self.check_mount_bound(before)?;
        self.ftl = Some(ftl);
        let noted_by_mount = self.losses_noted;
        let lost = self.read_all(Expect::Survivor)?;
        self.oracle.judge(0, self.buffer.stamps(), Expect::Survivor)?;
        self.check_occupancy()?;
        self.keep_snapshots();
        if self.is_frozen() {
            self.oracle_of_flash.get_or_insert_with(|| self.oracle.clone());
        }
        self.oracle.adopt(self.buffer.stamps());
        // Whatever copy was found, it stays lost. So does one that moved after it had been read.
        lost.into_iter().for_each(|page| self.oracle.lose(page));
        self.losses_noted = noted_by_mount;
        self.note_losses();
        Ok(self.audit()?)
    }

    fn check(&mut self) -> Result<(), Stop> {
        self.read_all(Expect::Newest)?;
        self.keep_snapshots();
        self.oracle.judge(0, self.buffer.stamps(), Expect::Newest)?;
        Ok(self.audit()?)
    }

    fn operate(&mut self, operation: HostOperation) -> Result<(), Stop> {
        if let HostOperation::Read(extent) = operation {
            return self.read_back(&extent);
        }
        let is_trim = matches!(operation, HostOperation::Trim { .. });
        if is_trim && self.case.guest().is_some_and(|guest| !guest.trims) {
            self.keep_snapshots();
            return Ok(());
        }
        if operation.changed(self.case.dimensions().full()).is_some()
            && self.nand.expect_writable().is_err()
        {
            // Refused: nothing has changed, and all stays readable.
            self.keep_snapshots();
            return Ok(());
        }
        if operation.makes_durable() {
            self.oracle.begin_flush();
        }
        let full = self.case.dimensions().full();
        let may_be_refused = self.case.model.media.lost_page > 0 || self.has_raw_media();
        let before = may_be_refused.then(|| self.oracle.clone());
        let done = self.request(operation);
        self.note_losses();
        let in_part =
            before.as_ref().map_or(Vec::new(), |before| self.lost_in_part(operation, before));
        if let Err(Error::Guest(fault)) = &done
            && fault.kind == GuestFaultKind::Unreadable
        {
            // What the host asks for needs no old data.
            return Err(Finding::new(Defect::Refused, fault.to_string()).into());
        }
        if let Err(Error::Chip(nand::Error::WornOut { .. })) = &done {
            // It has happened, and is not durable.
            let written = operation.changed(full).filter(|_| operation.makes_durable());
            self.pages_written += written.map_or(0, |extent| u64::from(extent.pages));
            self.keep_snapshots();
            return Ok(());
        }
        // A layer may find later that it has only a part of them.
        in_part.iter().for_each(|&page| self.oracle.lose(page));
        if let (Err(error), Some(before)) = (&done, before)
            && (self.is_for_loss(error, &in_part) || self.is_at_its_end(error))
        {
            let settled = self.settle(operation, error, &before);
            self.keep_snapshots();
            return settled;
        }
        unless_stopped(done, Defect::Refused).map_err(|stop| self.with_bad_blocks(stop))?;
        self.keep_snapshots();
        self.answered(operation);
        Ok(())
    }

    /// Tells the oracle of an operation that changes something or flushes, and asks the FTL for it.
    fn request(&mut self, operation: HostOperation) -> ftl::Result<()> {
        let full = self.case.dimensions().full();
        let (nand, ftl) = (&mut self.nand, self.ftl.as_mut().expect("the device is mounted"));
        let done = match operation {
            HostOperation::Write(extent) | HostOperation::Force(extent) => {
                let number = self.oracle.write(&extent, full);
                let data = self.buffer.fill(&extent, number);
                let stream = (number % STREAMS) as u8;
                let run = Run { stream, ..run(&extent, data, self.case) };
                let written = ftl.write_run(nand, &run);
                match operation {
                    HostOperation::Force(_) => written.and_then(|()| ftl.flush(nand, Some(&run))),
                    _ => written,
                }
            }
            HostOperation::Trim { first, pages } => {
                self.oracle.trim(first, pages);
                ftl.trim(nand, Lpn(first), pages)
            }
            _ => ftl.flush(nand, None),
        };
        let done = done.and_then(|()| ftl.end_request(nand));
        match operation.makes_durable() {
            true => done.and_then(|()| Ok(nand.sync()?)),
            false => done,
        }
    }

    /// Tells the oracle that the operation was answered.
    fn answered(&mut self, operation: HostOperation) {
        if let Some(disk) = self.disk.as_ref().filter(|_| operation.makes_durable()) {
            let synced = Event::Answered(self.operation());
            disk.with(|disk| disk.events.push(synced));
        }
        let full = self.case.dimensions().full();
        // An image makes durable what is flushed, whatever the guest on it promises.
        let is_durable = self.case.storage == Storage::Memory
            && !self.is_frozen()
            && self.case.guest().is_some_and(|guest| guest.promise == Promise::Write);
        if let (true, Some(extent)) = (is_durable, operation.changed(full)) {
            self.oracle.force(&extent, full);
        }
        match operation {
            HostOperation::Flush => self.oracle.flush(),
            HostOperation::Write(extent) => self.pages_written += u64::from(extent.pages),
            HostOperation::Force(extent) => {
                self.pages_written += u64::from(extent.pages);
                self.oracle.force(&extent, full);
            }
            _ => {}
        }
    }

    fn read_back(&mut self, extent: &Extent) -> Result<(), Stop> {
        self.read(extent, Expect::Newest)?;
        self.keep_snapshots();
        let full = self.case.dimensions().full();
        Ok(self.oracle.judge_extent(extent, full, self.buffer.stamps())?)
    }

    // ---- Parts of actions ---------------------------------------------------------------------

    fn keep_snapshots(&mut self) {
        if self.recording {
            self.snapshots = self.nand.power().take_snapshots();
            self.oracle_during_action.clone_from(&self.oracle);
        }
    }

    fn read_all(&mut self, expect: Expect) -> Result<Vec<u32>, Stop> {
        let dimensions = self.case.dimensions();
        self.read(&Extent::whole(0, dimensions.pages, dimensions.full()), expect)
    }

    /// Reads these sectors into the buffer. Returns the pages with sectors that are lost; these
    /// sectors look as if they had their newest values.
    fn read(&mut self, extent: &Extent, expect: Expect) -> Result<Vec<u32>, Stop> {
        match self.read_at_once(extent) {
            Err(error) if error.is_of_request() && self.oracle.knows_losses() => {
                self.read_by_page(extent, expect)
            }
            done => {
                unless_stopped(done, Defect::Unreadable)?;
                self.buffer.take(extent)?;
                Ok(Vec::new())
            }
        }
    }

    fn read_at_once(&mut self, extent: &Extent) -> ftl::Result<()> {
        let ftl = self.ftl.as_mut().expect("the device is mounted");
        let run = run(extent, Data::None, self.case);
        let done = ftl.read(&mut self.nand, &run, &mut self.buffer.sink(extent));
        // To look a page up may write pages of the map, and move others.
        self.note_losses();
        done
    }

    fn audit(&self) -> Result<()> {
        let ftl = self.ftl.as_ref().expect("the device is mounted");
        ftl.audit(&self.nand).map_err(|finding| Finding::new(Defect::MapBroken, finding.0))
    }

    /// The pages that hold data must fit into the blocks that the FTL does not take for free. Only
    /// directly after a mount, when no page waits in a buffer.
    fn check_occupancy(&self) -> Result<()> {
        let ftl = self.ftl.as_ref().expect("the device is mounted");
        let free = ftl.report().free_blocks;
        let geometry = self.nand.geometry();
        let used = self.buffer.stamps().chunks(self.case.dimensions().sectors_per_page as usize);
        let used = used.filter(|page| page.iter().any(|stamp| *stamp != Stamp::default())).count();
        let blocks = geometry.blocks();
        let room = u64::from(blocks.saturating_sub(free)) * u64::from(geometry.pages_per_block());
        if free <= blocks && used as u64 <= room {
            return Ok(());
        }
        Err(Finding::new(
            Defect::Miscounted,
            format!("{free} of {blocks} blocks are free, but {used} pages hold data"),
        ))
    }

    /// A mount may read every spare area twice, because the sector log scans them too, and every
    /// page once, and a few more. It may do so twice, because it starts again if a page decays. It
    /// may program and erase twice as often as the chip has pages.
    fn check_mount_bound(&mut self, before: [u64; 2]) -> Result<()> {
        let [reads, writes] = operations_of_ftl(&self.nand);
        let (reads, writes) = (reads - before[0], writes - before[1]);
        self.mounted_in = reads + writes;
        if self.has_guest() {
            // How a guest mounts is its own affair, as long as it ends.
            return Ok(());
        }
        let pages = self.case.physical_pages();
        let (reads_max, writes_max) = (6 * pages + 128, 2 * pages);
        if reads <= reads_max && writes <= writes_max {
            return Ok(());
        }
        Err(Finding::new(
            Defect::Unbounded,
            format!(
                "a mount of {pages} pages took {reads} reads (at most {reads_max}) and {writes} \
                 programs and erases (at most {writes_max})"
            ),
        ))
    }

    /// The version of each page; `None` if it is unmapped. Only directly after a mount.
    ///
    /// # Errors
    /// The scheme returned an error.
    pub fn versions(&mut self) -> Result<Vec<Option<u64>>> {
        let ftl = self.ftl.as_ref().expect("the device is mounted");
        let version = |lpn| {
            let version = ftl.version(&mut self.nand, Lpn(lpn));
            version.map_err(|error| Finding::new(Defect::Refused, error.to_string()))
        };
        (0..self.case.dimensions().pages).map(version).collect()
    }

    /// Number of pages written into the scheme since power-on. Without a layer, these are the pages
    /// written by the host.
    pub fn pages_entered(&self) -> u64 {
        let entered = self.ftl.as_ref().and_then(|ftl| ftl.report().entered());
        let now = entered.map(|entered| self.entered_before + entered.written);
        now.unwrap_or(self.pages_written)
    }

    /// Pages of writes that were refused, since the device was new. Some of them may have entered
    /// the scheme.
    pub fn pages_refused(&self) -> u64 {
        self.pages_refused
    }

    /// Pages that were free when the power was switched on, and the erases of all blocks.
    pub fn at_power_on(&self) -> [u64; 2] {
        self.at_power_on.expect("the device is mounted")
    }

    /// The last operation of the image. Failures are operations of their own, which only the image
    /// counts.
    pub fn operation(&self) -> u64 {
        let of_image = self.nand.media().and_then(|_| image_chip::operation(self.nand.array()));
        of_image.unwrap_or(self.operation_at_power_on + self.programs_and_erases())
    }

    /// The bytes of the disk below the image.
    ///
    /// # Panics
    /// The chip is not on a disk that can be watched.
    pub fn disk_bytes(&self) -> SharedBytes {
        self.disk.as_ref().expect("the device is on a disk").bytes()
    }

    /// What happened to the disk since the last call.
    pub fn take_events(&self) -> Vec<Event> {
        self.disk.as_ref().map_or_else(Vec::new, LossyDisk::take_events)
    }

    /// The oracle.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }
}

fn run<'d>(extent: &Extent, data: Data<'d>, case: &Case) -> Run<'d> {
    let page_bytes = u64::from(case.model.page_bytes);
    Run {
        first: extent.first_lpn(),
        pages: extent.pages,
        head: extent.head,
        tail: extent.tail,
        request_bytes: u64::from(extent.pages) * page_bytes,
        stream: 0,
        data,
    }
}

/// Free pages, and the erases of all blocks since the chip was made.
fn free_and_erased(nand: &Nand) -> [u64; 2] {
    [nand.array().free_pages(), nand.array().wear().iter().map(|&erases| u64::from(erases)).sum()]
}

/// Number of flash operations so far: reads, and programs and erases.
fn operations(nand: &Nand) -> [u64; 2] {
    let total = |op| nand.tally().total(op);
    [total(Op::Read) + total(Op::SpareRead), total(Op::Program) + total(Op::Erase)]
}

/// The same without those of the media and of wear levelling.
fn operations_of_ftl(nand: &Nand) -> [u64; 2] {
    let tally = nand.tally();
    let beside = |op| tally.count(op, Cause::Media) + tally.count(op, Cause::Wear);
    let [reads, writes] = operations(nand);
    [
        reads - beside(Op::Read) - beside(Op::SpareRead),
        writes - beside(Op::Program) - beside(Op::Erase),
    ]
}

/// The answer. Every error but lost power is a finding.
fn unless_stopped<T>(done: ftl::Result<T>, defect: Defect) -> Result<T, Stop> {
    done.map_err(|error| {
        let defect = match &error {
            Error::Chip(nand::Error::PowerLost) => return Stop::PowerLost,
            Error::Chip(nand::Error::Unreadable(_) | nand::Error::Immovable(_)) => {
                Defect::Unreadable
            }
            Error::Guest(fault) => match fault.kind {
                GuestFaultKind::Illegal => Defect::Illegal,
                GuestFaultKind::Endless => Defect::Endless,
                // A mount must find something that it can read.
                GuestFaultKind::Unreadable if defect == Defect::Unmountable => defect,
                GuestFaultKind::Unreadable => Defect::Unreadable,
                GuestFaultKind::Broken => Defect::Broken,
                GuestFaultKind::Died => Defect::Crash,
                GuestFaultKind::Refused | GuestFaultKind::ReadOnly | GuestFaultKind::Invalid => {
                    defect
                }
            },
            // The chip is whole here, so nothing but the map can be wrong.
            Error::Chip(nand::Error::WrongOwner(_)) => Defect::MapBroken,
            _ => defect,
        };
        Stop::Found(Finding::new(defect, error.to_string()))
    })
}

/// Attributes a finding to the decay, unless it shows a mistake in the scheme itself.
fn decayed(stop: Stop) -> Stop {
    match stop {
        Stop::Found(found) if found.defect.verdict() == Verdict::Lost => {
            Stop::Found(Finding { defect: Defect::Decayed, ..found })
        }
        _ => stop,
    }
}

#[cfg(test)]
mod tests;
