//! A film of what a disk does now, for whoever watches it.
//!
//! ```text
//! a viewer asks ─▶ begin ─▶ up to 64 requests, with their operations ─▶ end ─▶ a film
//! power fails while somebody watches ─▶ what it left on flash, kept for the next who asks
//!                                       within a minute
//! ```
//! Between two films a disk pays for a count of its requests only. A film says how long the disk
//! was busy with it, so that viewers can leave the disk alone for as long as they must.

use std::time::{Duration, Instant};

use disk::{Disk, recipe};
use drive::recorded::OperationSink;
use film::recorder::PAGES_MAX;
use film::{About, Footage, HostOp, Moment, Plan, Request};
use ftl::Span;
use nand::{Nand, OpRecord};

/// Requests of a film.
const REQUESTS_MAX: usize = 64;
/// Whoever asked for a film within this time is watching.
const ATTENTION: Duration = Duration::from_secs(3);

/// How long a film of a power cut waits for somebody who fetches it. Later it would pass for what
/// the disk does now.
const KEPT: Duration = Duration::from_secs(60);

/// Makes films of a disk.
#[derive(Default)]
pub struct Watch {
    /// Requests since serving began.
    requests: u64,
    /// Pages of writes since then.
    written_pages: u64,
    camera: Option<Camera>,
    asked_at: Option<Instant>,
}

/// A film that is being made.
struct Camera {
    recorder: film::Recorder,
    requests: usize,
    /// Whether it takes further requests.
    runs: bool,
    spent: Duration,
    /// When the power failed, after which nothing more was taken.
    cut_at: Option<Instant>,
}

/// A film that has ended.
pub struct Filmed {
    /// What was taken.
    pub footage: Footage,
    /// Whether there was anything to take.
    pub has_requests: bool,
    /// How long the disk was busy with it.
    pub spent: Duration,
}

impl Watch {
    /// Begins a film, unless one runs or waits to be fetched.
    ///
    /// # Errors
    /// Why this disk cannot be filmed.
    pub fn begin(&mut self, disk: &mut Disk) -> Result<(), String> {
        let began = Instant::now();
        self.asked_at = Some(began);
        self.forget_old_cut();
        if self.camera.is_some() {
            return Ok(());
        }
        let now = self.moment(disk).ok_or("the disk is broken; the server has said why")?;
        let pages = now.nand.geometry().pages();
        if pages > PAGES_MAX {
            return Err(format!(
                "a film shows each page, at most {PAGES_MAX} of them, and this disk has {pages}"
            ));
        }
        let acts = disk.device().choice.scheme.acts;
        let plan = Plan { about: about(disk), acts, is_even: false };
        let recorder = film::Recorder::begin(plan, &now);
        if let Some(nand) = disk.nand_mut() {
            sink_of(nand).log = Some(OpRecord::default());
        }
        let spent = began.elapsed();
        self.camera = Some(Camera { recorder, requests: 0, runs: true, spent, cut_at: None });
        Ok(())
    }

    /// Forgets a film of a power cut for which nobody came.
    fn forget_old_cut(&mut self) {
        let cut_at = self.camera.as_ref().and_then(|camera| camera.cut_at);
        if cut_at.is_some_and(|at| at.elapsed() >= KEPT) {
            self.camera = None;
        }
    }

    /// Ends the film. None if none was begun.
    pub fn end(&mut self, disk: &mut Disk) -> Option<Filmed> {
        let began = Instant::now();
        let mut camera = self.camera.take()?;
        stop_recording(disk);
        let has_requests = camera.requests > 0;
        if let (false, Some(now)) = (has_requests, self.moment(disk)) {
            let rest = Request { number: self.requests + 1, op: HostOp::Idle, spans: &[] };
            camera.recorder.request(&rest, &OpRecord::default(), &now);
        }
        let footage = camera.recorder.finish();
        Some(Filmed { footage, has_requests, spent: camera.spent + began.elapsed() })
    }

    /// A request was performed, on these bytes.
    pub fn performed(&mut self, disk: &mut Disk, op: HostOp, offset: u64, bytes: u64) {
        let page_bytes = u64::from(disk.device().geometry().page_bytes());
        let first = offset / page_bytes;
        let pages = if bytes == 0 { 0 } else { (offset + bytes).div_ceil(page_bytes) - first };
        self.requests += 1;
        self.forget_old_cut();
        self.written_pages += if op == HostOp::Write { pages } else { 0 };
        if self.camera.as_ref().is_some_and(|camera| camera.runs) {
            let (first, pages) = (first as u32, pages as u32);
            let span = Span { first, pages, head: 0, tail: 0, stream: disk.stream() };
            let spans = if pages == 0 { &[][..] } else { core::slice::from_ref(&span) };
            self.take(disk, op, spans);
        }
    }

    /// The power has failed. Whoever watches shall see what it left.
    pub fn power_failed(&mut self, disk: &mut Disk) {
        let is_watched = self.asked_at.is_some_and(|at| at.elapsed() < ATTENTION);
        if is_watched && self.camera.is_none() {
            // A disk that cannot be filmed is refused when somebody asks for the next film.
            let _ = self.begin(disk);
        }
        let Some(mut camera) = self.camera.take() else { return };
        let began = Instant::now();
        self.requests += 1;
        stop_recording(disk);
        let cut = disk.nand().map(|nand| camera.recorder.cut(nand.array(), self.requests));
        if let Some(Ok(())) = cut {
            camera.requests += 1;
            camera.spent += began.elapsed();
            // What follows belongs to the next film: until the mount nobody knows the gauges.
            camera.runs = false;
            camera.cut_at = Some(began);
            self.camera = Some(camera);
        }
    }

    #[cold]
    fn take(&mut self, disk: &mut Disk, op: HostOp, spans: &[Span]) {
        let began = Instant::now();
        let operations = disk.nand_mut().and_then(|nand| sink_of(nand).log.as_mut());
        let operations = operations.map(core::mem::take).unwrap_or_default();
        let Some(mut camera) = self.camera.take() else { return };
        if let Some(now) = self.moment(disk) {
            let request = Request { number: self.requests, op, spans };
            camera.recorder.request(&request, &operations, &now);
        }
        camera.requests += 1;
        if camera.requests == REQUESTS_MAX {
            camera.runs = false;
            stop_recording(disk);
        }
        camera.spent += began.elapsed();
        self.camera = Some(camera);
    }

    /// The disk now; none if it is broken.
    fn moment<'a>(&self, disk: &'a Disk) -> Option<Moment<'a>> {
        let ftl = disk.ftl();
        let entered = ftl.and_then(|ftl| ftl.report().entered());
        let entered = entered.map_or(self.written_pages, |entered| entered.written);
        let has_places = disk.device().choice.guest.is_none();
        Some(Moment { nand: disk.nand()?, ftl, entered, has_places })
    }
}

/// What records the operations of a chip; it is attached if there is none.
pub fn sink_of(nand: &mut Nand) -> &mut OperationSink {
    if nand.sink_mut::<OperationSink>().is_none() {
        nand.attach(Some(Box::new(OperationSink::default())));
    }
    nand.sink_mut().expect("it is attached")
}

/// Operations are recorded for a film no longer.
fn stop_recording(disk: &mut Disk) {
    let Some(nand) = disk.nand_mut() else { return };
    let sink = sink_of(nand);
    sink.log = None;
    if sink.drive.is_none() {
        nand.attach(None);
    }
}

fn about(disk: &Disk) -> About {
    let (device, geometry) = (disk.device(), disk.device().geometry());
    let run = format!(
        "A disk at work: {} blocks of {} pages of {} bytes, {} of them extra",
        geometry.blocks(),
        geometry.pages_per_block(),
        geometry.page_bytes(),
        device.extra_blocks,
    );
    let (scheme, pages) = (device.choice.scheme, device.logical_pages());
    let about = About::new(scheme, recipe::scheme_spec(&device.choice), run, pages);
    if device.choice.guest.is_some() { about.of_guest() } else { about }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftl::device::Size;
    use ftl::{Choice, Device, Durability, Layers};
    use nand::ChipModel;
    use spec::Spec;

    fn disk() -> Disk {
        let chip = ChipModel::from_spec(&Spec::parse("slc-fast2010").unwrap()).unwrap();
        let choice = Choice::from_spec(&Spec::parse("page").unwrap()).unwrap();
        let size = Size { logical_blocks: 8, extra_blocks: 10 };
        let device = Device::new(chip, choice, Layers::default(), size, Durability::Full, 1);
        Disk::in_memory(device.unwrap()).unwrap()
    }

    /// A disk whose power failed while somebody watched.
    fn cut_while_watched() -> (Disk, Watch) {
        let (mut disk, mut watch) = (disk(), Watch::default());
        watch.begin(&mut disk).unwrap();
        disk.cut_now();
        watch.power_failed(&mut disk);
        (disk, watch)
    }

    /// Whether the film of a cut is still shown this long after it.
    fn is_kept_for(seconds: u64) -> bool {
        let (mut disk, mut watch) = cut_while_watched();
        let cut_at = &mut watch.camera.as_mut().expect("it was watched").cut_at;
        *cut_at = Instant::now().checked_sub(Duration::from_secs(seconds));
        watch.begin(&mut disk).unwrap();
        watch.end(&mut disk).unwrap().has_requests
    }

    #[test]
    fn a_film_of_a_cut_waits_a_minute_for_its_viewer() {
        assert!(is_kept_for(59));
        assert!(!is_kept_for(61));
    }

    #[test]
    fn what_follows_a_cut_is_not_in_its_film() {
        let (mut disk, mut watch) = cut_while_watched();
        watch.performed(&mut disk, HostOp::Flush, 0, 0);
        let filmed = watch.end(&mut disk).unwrap();
        let takes = filmed.footage.cutting.takes();
        let all: Vec<HostOp> =
            takes.iter().flat_map(|take| &take.requests).map(|request| request.op).collect();
        assert_eq!(all, [HostOp::Cut]);
    }

    #[test]
    fn a_disk_at_work_gives_the_memory_of_an_old_film_back() {
        let (mut disk, mut watch) = cut_while_watched();
        watch.performed(&mut disk, HostOp::Flush, 0, 0);
        assert!(watch.camera.is_some());
        watch.camera.as_mut().unwrap().cut_at = Instant::now().checked_sub(KEPT);
        watch.performed(&mut disk, HostOp::Flush, 0, 0);
        assert!(watch.camera.is_none());
    }
}
