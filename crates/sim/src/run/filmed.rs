//! A film of the measured pass: what it is of, and how it follows the requests.

use film::recorder::PAGES_MAX;
use film::{About, Footage, HostOp, Plan, Recorder};
use ftl::{Device, Span};
use nand::OpRecord;
use trace::Op;

use crate::config::setup::Setup;
use crate::error::{Error, Result};
use crate::run::simulator::Simulator;

/// Where a film goes, and how its scenes are chosen.
pub struct FilmOutput<'a> {
    /// Receives the takes.
    pub out: &'a mut Option<Footage>,
    /// Whether takes are chosen evenly, so that films of several FTLs show the same requests.
    pub is_even: bool,
}

impl<'a> FilmOutput<'a> {
    /// The same output for a shorter time.
    pub fn shortened<'b>(self) -> FilmOutput<'b>
    where
        'a: 'b,
    {
        FilmOutput { out: self.out, is_even: self.is_even }
    }
}

/// A film that is being made.
pub struct Filmed<'a> {
    out: &'a mut Option<Footage>,
    recorder: Recorder,
}

impl<'a> Filmed<'a> {
    /// A film that begins now.
    ///
    /// # Errors
    /// The device has too many pages.
    pub fn begin(
        output: FilmOutput<'a>,
        setup: &Setup,
        device: &Device,
        simulator: &mut Simulator,
    ) -> Result<Filmed<'a>> {
        let pages = device.geometry().pages();
        if pages > PAGES_MAX {
            return Err(Error::Impossible(format!(
                "a film shows each page, at most {PAGES_MAX} of them, and this chip has {pages}; \
                 give a smaller `--capacity` with `--fit compact` or `--fit wrap`"
            )));
        }
        let plan = Plan {
            about: about(setup, device),
            acts: device.choice.scheme.acts,
            is_even: output.is_even,
        };
        let recorder = Recorder::begin(plan, &simulator.moment());
        Ok(Filmed { out: output.out, recorder })
    }

    /// Takes a request that was served, with its operations.
    pub fn served(
        &mut self,
        number: u64,
        op: Op,
        spans: &[Span],
        operations: &OpRecord,
        simulator: &mut Simulator,
    ) {
        let op = match op {
            Op::Read => HostOp::Read,
            Op::Write => HostOp::Write,
            Op::Trim => HostOp::Trim,
            Op::Flush => HostOp::Flush,
        };
        let request = film::Request { number, op, spans };
        self.recorder.request(&request, operations, &simulator.moment());
    }

    /// Ends the film.
    pub fn finish(self) {
        *self.out = Some(self.recorder.finish());
    }
}

fn about(setup: &Setup, device: &Device) -> About {
    let (geometry, names) = (device.geometry(), setup.experiment.trace_names().join(" + "));
    let run = format!(
        "{names} on {}: {} blocks of {} pages of {} bytes, {} of them extra",
        setup.experiment.chip,
        geometry.blocks(),
        geometry.pages_per_block(),
        geometry.page_bytes(),
        device.extra_blocks,
    );
    let (scheme, pages) = (device.choice.scheme, device.logical_pages());
    let about = About::new(scheme, setup.experiment.ftl.clone(), run, pages);
    if device.choice.guest.is_some() { about.of_guest() } else { about }
}
