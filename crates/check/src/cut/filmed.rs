//! A film of a case: its workload, what each power cut left on flash, and the mounts after it.
//!
//! A guest may not survive its case, so it is filmed in a process of its own, which passes the film
//! back: a line that says what the film leaves out, then its bytes; or `!` and why there is none.

use film::scene::Naming;
use film::{About, Film, Footage, HostOp, Moment, Plan, Recorder, Request};
use ftl::Span;
use guest::isolation::Isolated;
use guest::supervisor::{Death, patience_of_check};

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
pub fn film(case: &Case, cuts: &[PowerCut]) -> Result<Film, String> {
    assert!(case.storage == Storage::Memory, "only a chip in memory is filmed");
    if !case.needs_process() {
        return footage(case, cuts).map(only);
    }
    let begun = Isolated::begin(|| match footage(case, cuts) {
        Ok(footage) => written(&only(footage)),
        Err(why) => format!("!{why}").into_bytes(),
    });
    let begun = begun.map_err(|error| format!("no further process can be started: {error}"))?;
    let (ended, _) = begun.end(patience_of_check());
    let bytes = ended.map_err(|death| {
        let (Death::Crashed(how) | Death::Hung(how)) = death;
        format!("there is no film, because the guest {how}")
    })?;
    parsed(&bytes, about(case, cuts))
}

fn only(footage: Footage) -> Film {
    film::films(vec![footage], film::BYTES_MAX).remove(0)
}

fn written(film: &Film) -> Vec<u8> {
    [film.left_out.as_bytes(), b"\n", &film.bytes].concat()
}

fn parsed(bytes: &[u8], about: About) -> Result<Film, String> {
    if let Some(why) = bytes.strip_prefix(b"!") {
        return Err(String::from_utf8_lossy(why).into_owned());
    }
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let end = end.ok_or("the process that filmed the guest left no film")?;
    Ok(Film {
        bytes: bytes[end + 1..].into(),
        about,
        kinds: Naming::Causes.kinds(),
        kinds_seen: Naming::Causes.kinds(),
        gauges: Vec::new(),
        left_out: String::from_utf8_lossy(&bytes[..end]).into_owned(),
    })
}

fn about(case: &Case, cuts: &[PowerCut]) -> About {
    let (subject, run) = (&case.subject, replay_line(case, cuts, &[]));
    let about = About::new(subject.choice.scheme, subject.name(), run, case.dimensions().pages);
    if case.guest().is_some() { about.of_guest() } else { about }
}

fn footage(case: &Case, cuts: &[PowerCut]) -> Result<Footage, String> {
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
    /// The device after an action.
    fn moment<'d>(&self, device: &'d PoweredDevice, answered: bool) -> Moment<'d> {
        let (nand, ftl) = (device.nand(), device.ftl().filter(|_| answered));
        let entered = if answered { device.pages_entered() } else { 0 };
        Moment { nand, ftl, entered, has_places: self.case.guest().is_none() }
    }
}

impl Watch for Camera<'_> {
    fn step(&mut self, step: Step) {
        let (Step::Cut(_, _, flash), Some(recorder)) = (step, &mut self.recorder) else { return };
        self.number += 1;
        self.failed = self.failed.take().or(recorder.cut(flash, self.number).err());
    }

    fn powered(&mut self, device: &mut PoweredDevice) {
        device.record_operations();
    }

    fn performed(&mut self, action: Action, answered: bool, device: &mut PoweredDevice) {
        let operations = device.take_operations();
        let now = self.moment(device, answered);
        let Some(recorder) = &mut self.recorder else {
            // The first mount has formatted the chip.
            let scheme = self.case.subject.choice.scheme;
            let about = about(self.case, self.cuts);
            let plan = Plan { about, acts: scheme.acts, is_even: false };
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
