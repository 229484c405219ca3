//! A film of a case: its workload, what each power cut left on flash, and the mounts after it.

use film::{About, Footage, HostOp, Moment, Plan, Recorder, Request};
use ftl::Span;

use crate::case::Case;
use crate::cut::power_loss::{Step, Watch, replay};
use crate::device::action::Action;
use crate::device::power_cut::PowerCut;
use crate::device::powered_device::PoweredDevice;
use crate::failed_case::replay_line;
use crate::flash::Storage;
use crate::workload::host_operation::{Extent, HostOperation};

/// Films a case with these power cuts, until it ends or something is found.
///
/// # Errors
/// Why it cannot be filmed.
pub fn film(case: &Case, cuts: &[PowerCut]) -> Result<Footage, String> {
    if case.storage == Storage::Image || case.guest().is_some() {
        let why = "`--film` films a scheme on a chip in memory, and neither an image nor a guest; \
                   leave `--on image` out, or film a guest with `ftlab run`";
        return Err(why.to_owned());
    }
    let mut camera = Camera { case, cuts, recorder: None, number: 0, failed: None };
    // What is found is known; the film ends there.
    let found = replay(case, cuts, &mut camera).err();
    match (camera.recorder, camera.failed) {
        (_, Some(error)) => Err(error.to_string()),
        (Some(recorder), None) => Ok(recorder.finish()),
        (None, None) => Err(format!("nothing was mounted: {found:?}")),
    }
}

/// Records a replay.
struct Camera<'a> {
    case: &'a Case,
    cuts: &'a [PowerCut],
    /// None before the first mount.
    recorder: Option<Recorder>,
    /// Requests so far.
    number: u64,
    failed: Option<nand::Error>,
}

impl Camera<'_> {
    fn about(&self) -> About {
        let (subject, run) = (&self.case.subject, replay_line(self.case, self.cuts, &[]));
        About::new(subject.choice.scheme, subject.name(), run, self.case.dimensions().pages)
    }

    /// The device after an action.
    fn moment<'d>(device: &'d PoweredDevice, answered: bool) -> Moment<'d> {
        let (nand, ftl) = (device.nand(), device.ftl().filter(|_| answered));
        let entered = if answered { device.pages_entered() } else { 0 };
        Moment { nand, ftl, entered, has_places: true }
    }
}

impl Watch for Camera<'_> {
    fn step(&mut self, step: Step) {
        let (Step::Cut(_, flash), Some(recorder)) = (step, &mut self.recorder) else { return };
        self.number += 1;
        self.failed = self.failed.take().or(recorder.cut(flash, self.number).err());
    }

    fn powered(&mut self, device: &mut PoweredDevice) {
        device.record_operations();
    }

    fn performed(&mut self, action: Action, answered: bool, device: &mut PoweredDevice) {
        let operations = device.take_operations();
        let now = Camera::moment(device, answered);
        let Some(recorder) = &mut self.recorder else {
            // The first mount has formatted the chip.
            let scheme = self.case.subject.choice.scheme;
            let plan = Plan { about: self.about(), acts: scheme.acts, is_even: false };
            self.recorder = now.ftl.is_some().then(|| Recorder::begin(plan, &now));
            return;
        };
        self.number += 1;
        let (op, span) = asked(action);
        let request = Request { number: self.number, op, spans: span.as_slice() };
        recorder.request(&request, &operations, &now);
    }
}

/// An action as a request.
fn asked(action: Action) -> (HostOp, Option<Span>) {
    let span =
        |Extent { first, pages, head, tail }| Some(Span { first, pages, head, tail, stream: 0 });
    match action {
        Action::Mount | Action::Remount => (HostOp::Mount, None),
        Action::Check | Action::Decay => (HostOp::Check, None),
        Action::Do(HostOperation::Write(extent) | HostOperation::Force(extent)) => {
            (HostOp::Write, span(extent))
        }
        Action::Do(HostOperation::Read(extent)) => (HostOp::Read, span(extent)),
        Action::Do(HostOperation::Trim { first, pages }) => {
            (HostOp::Trim, span(Extent { first, pages, head: 0, tail: 0 }))
        }
        Action::Do(HostOperation::Flush) => (HostOp::Flush, None),
    }
}
