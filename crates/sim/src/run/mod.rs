//! A run: mount, precondition, warm up, measure, and only then verify.
//!
//! ```text
//! mount ─► fill ─► the trace, `warmup` times ─► its first `measure_after` requests
//!   ─► counters to zero ─► the rest of the trace, measured ─► result ─► read back ─► laws
//! ```
//! With `--until steady`, rounds take the place of the measured pass, and the last window of rounds
//! is measured. Between the passes only counters are reset; the FTL keeps what it has in RAM.
//! Requests come in batches. The FTL prefetches for a whole batch before the first of its requests
//! is served, because cache misses on its maps dominate the cost of a simulated write.
//!
//! * [`pass`]          the loop in which requests are served, and what follows them
//! * [`simulator`]     a device at work, request by request
//! * [`measure`]       observation of the measured pass
//! * [`finish`]        the result of a measured pass
//! * [`write_course`]  whether write amplification still moves
//! * [`until_steady`]  rounds in place of the measured pass
//! * [`rounds`]        the judgement of rounds
//! * `repeated`        a pass that begins again at its end
//! * [`life`]          a load until the flash is worn out
//! * [`life_course`]   moments of a life
//! * [`foresight`]     when pages die, for schemes that are told the future
//! * [`contents`]      the bytes that the host writes, if the chip keeps them
//! * [`operation_log`] every flash operation, one line each
//! * [`filmed`]        what the FTL did, to watch
//! * [`timeline`]      what happened when in a drive, to look at

pub mod contents;
pub mod filmed;
pub mod finish;
pub mod foresight;
pub mod life;
pub mod life_course;
pub mod measure;
pub mod operation_log;
pub mod pass;
mod repeated;
pub mod rounds;
pub mod simulator;
pub mod timeline;
pub mod until_steady;
pub mod write_course;

use core::ops::ControlFlow;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use ftl::contract::page_policy::PolicySource;
use ftl::{Device, Span};
use nand::Nand;
use trace::Op;

use crate::clock::request_queue::RequestQueue;
use crate::config::choices::Precondition;
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::device;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::batch::{Batch, CutRequest};
use crate::input::host::Host;
use crate::memory::MemoryBudget;
use crate::progress::{NoProgress, Progress, Stage};
use crate::result::counts::HostPages;
use crate::result::laws;
use crate::result::run_result::RunResult;
use crate::run::filmed::{FilmOutput, Filmed};
use crate::run::finish::{FinishedRun, Measured, Start};
use crate::run::measure::{MeasuredRequests, Observer, PassCounters, TenantCounters, Unmeasured};
use crate::run::operation_log::OpLog;
use crate::run::pass::Pass;
use crate::run::simulator::Simulator;
use crate::run::timeline::{Timeline, TimelineOutput};

/// Options of a run besides its setup.
pub struct RunOptions<'a> {
    /// An input that was opened for this setup, or for one that differs only in FTL and durability.
    /// Without it the run opens the trace itself.
    pub input: Option<&'a Input>,
    /// Receives progress, and may stop the run.
    pub progress: &'a dyn Progress,
    /// Receives every flash operation of the measured pass, one line each.
    pub operation_log: Option<&'a mut dyn Write>,
    /// Receives a timeline of the measured pass, if time is a drive's.
    pub timeline: Option<TimelineOutput<'a>>,
    /// Receives a film of the measured pass.
    pub film: Option<FilmOutput<'a>>,
    /// The memory that runs may take at a time.
    pub memory: &'a MemoryBudget,
    /// The chip to run on, in place of a factory-fresh one. The run takes it and puts it back when
    /// it ends, with everything durable; it does not come back if the FTL cannot be mounted.
    pub chip: Option<&'a mut Option<Nand>>,
    /// Places the pages instead of the scheme, which must take a policy. The result names it.
    pub policy: Option<Arc<dyn PolicySource>>,
}

static UNLIMITED: MemoryBudget = MemoryBudget::new(None);

impl Default for RunOptions<'_> {
    fn default() -> Self {
        let (progress, memory) = (&NoProgress, &UNLIMITED);
        RunOptions {
            input: None,
            progress,
            operation_log: None,
            timeline: None,
            film: None,
            memory,
            chip: None,
            policy: None,
        }
    }
}

impl<'a> RunOptions<'a> {
    /// The same options for a shorter time: an output that lives shorter can then be added.
    pub fn shortened<'b>(self) -> RunOptions<'b>
    where
        'a: 'b,
    {
        let RunOptions { input, progress, operation_log, timeline, film, memory, chip, policy } =
            self;
        let operation_log = operation_log.map(|out| -> &'b mut dyn Write { out });
        let timeline = timeline.map(TimelineOutput::shortened);
        let film = film.map(FilmOutput::shortened);
        RunOptions { input, progress, operation_log, timeline, film, memory, chip, policy }
    }
}

/// Runs an experiment.
///
/// # Errors
/// The trace cannot be read, the device cannot exist, the FTL gave up or returned wrong data, the
/// operation log or the timeline cannot be written, there is no drive for a timeline, or the run
/// was stopped.
pub fn run(setup: &Setup, options: RunOptions) -> Result<RunResult> {
    if options.timeline.is_some() {
        timeline::needs_drive(setup)?;
    }
    let RunOptions { operation_log, timeline, film, .. } = &options;
    let has_records = operation_log.is_some() || timeline.is_some() || film.is_some();
    if has_records && setup.experiment.until.is_some() {
        return Err(Error::Impossible(String::from(
            "with `--until`, the requests that are measured are known only at the end, so their \
             operations cannot be recorded; use `--warmup` and `--measure-after` instead",
        )));
    }
    match options.input {
        Some(input) => run_on(setup, input, options),
        None => {
            let cache_bytes = options.memory.run_cache_bytes();
            run_on(setup, &Input::open_cached(setup, cache_bytes, options.progress)?, options)
        }
    }
}

fn run_on(setup: &Setup, input: &Input, options: RunOptions) -> Result<RunResult> {
    let RunOptions { progress, operation_log, timeline, film, memory, chip, policy, .. } = options;
    let started = Instant::now();
    let log = operation_log.map(OpLog::new).transpose()?;
    let device = device::of(setup, input.needed_bytes())?;
    let device = match (policy, &setup.experiment.policy) {
        (Some(policy), _) => device.placed_by(policy)?,
        (None, Some(name)) => return Err(Error::no_policy(name)),
        (None, None) => device,
    };
    if setup.experiment.until.is_some() {
        Stages::new(setup, input, &device, progress)?.needs_writes()?;
    }
    let _reservation = memory.reserve(setup, &device, progress)?;
    let device = match device.choice.scheme.needs_future {
        true => foreseen(setup, input, device, progress)?,
        false => device,
    };
    let stages = Stages::new(setup, input, &device, progress)?;
    let outputs = Outputs { log, timeline, film };
    match chip {
        None => stages.result(&mut Simulator::new(&device, &setup.experiment)?, outputs, started),
        Some(lent) => stages.result_on(lent, outputs, started),
    }
}

/// Whether the trace of a setup writes a page. Tells it without a device in memory.
///
/// # Errors
/// The trace cannot be read or does not fit, or the run is stopped.
pub fn writes_a_page(setup: &Setup, input: &Input, progress: &dyn Progress) -> Result<bool> {
    let device = device::of(setup, input.needed_bytes())?;
    Stages::new(setup, input, &device, progress)?.writes_a_page()
}

/// The device of a run, whose scheme is told the future.
fn foreseen(
    setup: &Setup,
    input: &Input,
    device: Device,
    progress: &dyn Progress,
) -> Result<Device> {
    let stages = Stages::new(setup, input, &device, progress)?;
    let future = foresight::of_run(setup, &device, |see| stages.for_each_span(see))?;
    Ok(device.foreseen_by(future))
}

/// What is said when requests come so much faster than they are served that memory runs out.
fn swamped(pass: &Pass) -> String {
    format!(
        "requests come faster than the drive serves them: after {} requests, millions of flash \
         operations wait, so response times depend on the length of the trace. Use `--replay \
         closed`, a lower `--replay open:speed=X`, or a faster FTL or drive",
        pass.delivered
    )
}

/// What a run writes besides its result.
struct Outputs<'out> {
    log: Option<OpLog<'out>>,
    timeline: Option<TimelineOutput<'out>>,
    film: Option<FilmOutput<'out>>,
}

/// The stages of a run, with everything that stays the same through all of them.
struct Stages<'a> {
    setup: &'a Setup,
    input: &'a Input,
    device: &'a Device,
    host: Host<'a>,
    progress: &'a dyn Progress,
}

impl<'a> Stages<'a> {
    fn new(
        setup: &'a Setup,
        input: &'a Input,
        device: &'a Device,
        progress: &'a dyn Progress,
    ) -> Result<Stages<'a>> {
        let (geometry, capacity_bytes) = (device.geometry(), device.capacity_bytes());
        let Experiment { fit, streams, trim, .. } = setup.experiment;
        let host = input.host(fit, streams, geometry, capacity_bytes)?.with_trims(trim);
        Ok(Stages { setup, input, device, host, progress })
    }

    /// Passes the spans of all requests of a pass on, without serving them.
    fn for_each_span(&self, mut see: impl FnMut(Op, &Span) -> Result<()>) -> Result<()> {
        self.for_each_batch(|batch| {
            for CutRequest { request, spans, .. } in batch.iter() {
                spans.iter().try_for_each(|span| see(request.op, span))?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Whether a pass writes a page. Reads the traces up to the first write.
    fn writes_a_page(&self) -> Result<bool> {
        let mut writes = false;
        self.for_each_batch(|batch| {
            writes = batch.iter().any(|it| it.request.op == Op::Write && !it.spans.is_empty());
            Ok(if writes { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(writes)
    }

    /// Passes the cut requests of a pass on, without serving them.
    fn for_each_batch(&self, mut see: impl FnMut(&Batch) -> Result<ControlFlow<()>>) -> Result<()> {
        let mut pass = self.pass(Stage::Survey)?;
        while pass.fill(u64::MAX)? > 0 {
            self.cut(&mut pass)?;
            if see(&pass.batch)?.is_break() {
                break;
            }
            let (position, length) = pass.order.position();
            self.progress.report(Stage::Survey, position, length)?;
        }
        Ok(())
    }

    /// A pass from the first request of each trace.
    fn pass<'out>(&self, stage: Stage) -> Result<Pass<'a, 'out>> {
        let order = self.input.order(self.setup, stage, self.progress)?;
        // The order of a single trace does not depend on the time that its requests take.
        let has_queue = stage == Stage::Measure || self.setup.has_tenants();
        let queue = || RequestQueue::of(self.setup, self.device.geometry());
        Ok(Pass::new(stage, order, if has_queue { queue() } else { None }))
    }

    /// The result of a run on a chip that is lent to it.
    fn result_on(
        &self,
        lent: &mut Option<Nand>,
        outputs: Outputs,
        started: Instant,
    ) -> Result<RunResult> {
        let nand = lent.take().expect("a run on a chip is given one");
        let mut simulator = Simulator::on_chip(self.device, &self.setup.experiment, nand)?;
        let result = self.result(&mut simulator, outputs, started);
        let durable = simulator.make_durable();
        *lent = Some(simulator.into_chip());
        // The first error says more.
        let result = result?;
        durable.map(|()| result)
    }

    /// All stages on a mounted device, and the result.
    fn result(
        &self,
        simulator: &mut Simulator,
        outputs: Outputs,
        started: Instant,
    ) -> Result<RunResult> {
        self.prepare(simulator)?;
        let (measured, notes) = match self.setup.experiment.until {
            None => self.measured(simulator, outputs)?,
            Some(rule) => self.until_steady(simulator, rule)?,
        };
        let wall = self.input.opened_in() + started.elapsed();
        let finished = FinishedRun { setup: self.setup, input: self.input, device: self.device };
        let mut result = finished.result(simulator, &measured, wall);
        result.notes.extend(notes);
        self.verify(simulator)?;
        laws::assert_all(&result);
        Ok(result)
    }

    /// Preconditions and warms up a mounted device, and sets all counters to zero.
    fn prepare(&self, simulator: &mut Simulator) -> Result<()> {
        let experiment = &self.setup.experiment;
        self.progress.report(Stage::Fill, 0, None)?;
        simulator.reset_counters();
        simulator.audit("after mounting")?;
        if experiment.precondition == Precondition::Fill {
            let pages = u64::from(self.device.logical_pages());
            simulator.fill(|done| self.progress.report(Stage::Fill, done, Some(pages)))?;
            simulator.audit("after filling")?;
        }
        for pass in 1..=experiment.warmup {
            let mut pass = self.pass(Stage::WarmUp(pass))?;
            self.serve(simulator, &mut pass, u64::MAX, &mut Unmeasured)?;
            simulator.audit("after a warm-up pass")?;
        }
        simulator.reset_counters();
        Ok(())
    }

    /// The measured pass, and sentences about its timeline.
    fn measured(
        &self,
        simulator: &mut Simulator,
        outputs: Outputs,
    ) -> Result<(Measured, Vec<String>)> {
        let mut pass = self.pass(Stage::Measure)?;
        self.lead_in(simulator, &mut pass)?;
        pass.followers.log = outputs.log;
        pass.followers.timeline = match (outputs.timeline, pass.drive()) {
            (Some(output), Some(queue)) => {
                Some(Timeline::new(output, self.setup, &mut queue.drive)?)
            }
            _ => None,
        };
        let mut measure = self.counters(&pass);
        if let Some(output) = outputs.film {
            let film = Filmed::begin(output, self.setup, self.device, simulator)?;
            pass.followers.film = Some(film);
        }
        if pass.followers.need_bulks() {
            // Those of a lead-in may have been recorded for the drive only.
            simulator.stop_recording();
            simulator.record_operations(pass.drive().is_some(), true);
        }
        let start = Start::now(simulator);
        // A single trace does not ask for each request to which load it belongs.
        match measure.tenants.is_empty() {
            true => self.serve(simulator, &mut pass, u64::MAX, &mut measure.all)?,
            false => self.serve(simulator, &mut pass, u64::MAX, &mut measure)?,
        }
        self.expect_measured(&pass)?;
        let queue = pass.finish_queue(&mut measure);
        let note = pass.followers.finish()?;
        let measured = start.measured(measure, queue);
        simulator.stop_recording();
        let traces = pass.order.end(pass.delivered, self.progress)?;
        Ok((Measured { traces, ..measured }, note.into_iter().collect()))
    }

    /// Counters at zero for the rest of a pass.
    fn counters(&self, pass: &Pass) -> MeasuredRequests {
        let (pages, has_responses) = (self.device.logical_pages(), pass.followers.queue.is_some());
        let tenants = if self.setup.has_tenants() { self.input.loads().len() } else { 0 };
        let tenant = |load| TenantCounters {
            requests: PassCounters::new(pages, true, None, pass.order.delivered(load, 0)),
            pages: HostPages::default(),
        };
        let interval = self.setup.experiment.interval;
        MeasuredRequests {
            all: PassCounters::new(pages, has_responses, interval, pass.delivered),
            tenants: (0..tenants).map(tenant).collect(),
        }
    }

    /// Serves the requests before counting begins.
    fn lead_in(&self, simulator: &mut Simulator, pass: &mut Pass) -> Result<()> {
        let first = self.setup.experiment.measure_after;
        if first == 0 {
            return Ok(());
        }
        self.serve(simulator, pass, first, &mut Unmeasured)?;
        pass.finish_queue(&mut Unmeasured);
        simulator.reset_counters();
        Ok(())
    }

    /// Refuses a lead-in that was the whole trace.
    fn expect_measured(&self, pass: &Pass) -> Result<()> {
        let first = self.setup.experiment.measure_after;
        if first > 0 && pass.delivered <= first {
            return Err(Error::Impossible(format!(
                "measuring after {first} requests leaves nothing to measure: the trace has {}",
                pass.delivered
            )));
        }
        Ok(())
    }

    /// Serves the next requests of a pass, at most `left` of them.
    fn serve(
        &self,
        simulator: &mut Simulator,
        pass: &mut Pass,
        mut left: u64,
        observer: &mut impl Observer,
    ) -> Result<()> {
        if pass.drive().is_some() {
            simulator.record_operations(true, false);
        }
        while left > 0
            && let count @ 1.. = pass.fill(left)?
        {
            self.cut(pass)?;
            pass.serve(simulator, observer)?;
            if pass.is_swamped() {
                return Err(Error::Impossible(swamped(pass)));
            }
            left -= count as u64;
            let (position, length) = pass.order.position();
            self.progress.report(pass.stage, position, length)?;
        }
        Ok(())
    }

    /// Cuts the batch of a pass into runs of pages.
    fn cut(&self, pass: &mut Pass) -> Result<()> {
        pass.batch.cut(&self.host).map_err(|(index, beyond)| Error::BeyondCapacity {
            trace: self.input.loads()[pass.batch.load(index)].name().to_owned(),
            number: pass.number(index),
            end: beyond.end,
            capacity_bytes: self.device.capacity_bytes(),
        })
    }

    /// Audits and reads everything back, if the run is verified.
    fn verify(&self, simulator: &mut Simulator) -> Result<()> {
        simulator.audit("after the measured pass")?;
        let pages = u64::from(self.device.logical_pages());
        simulator.read_back(|page| self.progress.report(Stage::ReadBack, page, Some(pages)))?;
        simulator.audit("after reading everything back")
    }
}
