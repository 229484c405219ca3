//! A run: mount, precondition, warm up, measure, and only then look back.
//!
//! ```text
//! mount ─► fill ─► the trace, `warmup` times ─► its first `measure_after` requests
//!   ─► counters to zero ─► the rest of the trace, measured ─► result ─► read back ─► laws
//! ```
//! Between the passes only counters are reset: what an FTL has in RAM stays. Requests come in
//! batches; the FTL hears of a whole batch before the first one is served, because the price of a
//! simulated write is the cache misses on its maps.

pub mod measure;
pub mod operation_log;
pub mod shadow;
pub mod simulator;

use std::io::Write;
use std::time::{Duration, Instant};

use nand::Op;
use trace::replay::Skipped;

use crate::clock::serial::Server;
use crate::config::experiment::{Experiment, Precondition, ReplayMode};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::batch::Batch;
use crate::input::host::Host;
use crate::input::source::Reading;
use crate::progress::{Stage, Watch};
use crate::result::latencies::Latencies;
use crate::result::laws::{self, Evidence};
use crate::result::run_result::{
    Causes, DevicePart, EndurancePart, FtlPart, Histograms, LayersPart, RunPart, RunResult, SCHEMA,
    TimePart, WallPart, WearPart, figures, param_value, ratio,
};
use crate::result::series::Sampler;
use crate::run::measure::{Measure, Observer, Unmeasured};
use crate::run::operation_log::OpLog;
use crate::run::simulator::Machine;

/// Runs an experiment.
///
/// # Errors
/// The experiment is wrong, the trace cannot be read, or the FTL gave up or was caught.
pub fn run(experiment: &Experiment, watch: &dyn Watch) -> Result<RunResult> {
    run_on(experiment, &Input::open(experiment, watch)?, watch)
}

/// Runs an experiment on an input that was opened for it, or for one that differs in its FTL or
/// its durability only.
///
/// # Errors
/// The experiment is wrong, the trace cannot be read, or the FTL gave up or was caught.
pub fn run_on(experiment: &Experiment, input: &Input, watch: &dyn Watch) -> Result<RunResult> {
    run_with_evidence(experiment, input, watch, None).map(|(result, _)| result)
}

/// Runs an experiment and writes every flash operation of what is measured, a line each.
///
/// # Errors
/// As [`run`], and if the log cannot be written.
pub fn run_logged(
    experiment: &Experiment,
    watch: &dyn Watch,
    log: &mut dyn Write,
) -> Result<RunResult> {
    run_on_logged(experiment, &Input::open(experiment, watch)?, watch, log)
}

/// The same for an input that is opened already.
///
/// # Errors
/// As [`run_on`], and if the log cannot be written.
pub fn run_on_logged(
    experiment: &Experiment,
    input: &Input,
    watch: &dyn Watch,
    log: &mut dyn Write,
) -> Result<RunResult> {
    let mut log = OpLog::new(log)?;
    let (result, _) = run_with_evidence(experiment, input, watch, Some(&mut log))?;
    log.finish()?;
    Ok(result)
}

pub(crate) fn run_with_evidence(
    experiment: &Experiment,
    input: &Input,
    watch: &dyn Watch,
    log: Option<&mut OpLog>,
) -> Result<(RunResult, Evidence)> {
    experiment.check()?;
    let started = Instant::now();
    let device = Device::new(experiment, input.needed_bytes())?;
    let host = input.host(experiment, device.geometry(), device.capacity_bytes())?;
    let run = Run { experiment, input, device: &device, host, watch };
    let mut machine = run.prepared()?;
    let measured = run.measured(&mut machine, log)?;
    let (result, evidence) = run.result(&machine, &measured, started);
    run.looked_back(&mut machine)?;
    laws::assert_all(&result, &evidence);
    Ok((result, evidence))
}

/// What stays the same through all stages.
struct Run<'a> {
    experiment: &'a Experiment,
    input: &'a Input,
    device: &'a Device,
    host: Host<'a>,
    watch: &'a dyn Watch,
}

/// One reading of the trace, under way.
struct Pass<'a> {
    stage: Stage,
    reading: Reading<'a>,
    batch: Batch,
    delivered: u64,
}

impl<'a> Pass<'a> {
    fn new(stage: Stage, reading: Reading<'a>) -> Pass<'a> {
        Pass { stage, reading, batch: Batch::default(), delivered: 0 }
    }
}

/// What the measured pass leaves behind.
struct Measured {
    measure: Measure,
    skipped: Skipped,
    delivered: u64,
    free_pages_before: u64,
    seconds: f64,
}

impl<'a> Run<'a> {
    /// A mounted device, preconditioned and warmed up, all counters at zero.
    fn prepared(&self) -> Result<Machine<'a>> {
        self.watch.at(Stage::Fill, 0, None)?;
        let mut machine = Machine::new(self.device, self.experiment)?;
        machine.reset_counters();
        machine.audit("after mounting")?;
        if self.experiment.precondition == Precondition::Fill {
            machine.fill()?;
            machine.audit("after filling")?;
        }
        for pass in 1..=self.experiment.warmup {
            let mut pass = Pass::new(Stage::WarmUp(pass), self.input.source().replay()?);
            self.serve(&mut machine, &mut pass, u64::MAX, &mut Unmeasured::default(), None)?;
            machine.audit("after a warm-up pass")?;
        }
        machine.reset_counters();
        Ok(machine)
    }

    fn measured(&self, machine: &mut Machine, log: Option<&mut OpLog>) -> Result<Measured> {
        let experiment = self.experiment;
        let mut pass = Pass::new(Stage::Measure, self.input.source().replay()?);
        let server = (experiment.replay == ReplayMode::Open).then(Server::default);
        let server = self.lead_in(machine, &mut pass, server)?;
        let free_pages_before = machine.nand().free_pages();
        let (pages, not_measured) = (self.device.logical_pages(), pass.delivered);
        let mut measure = Measure::new(pages, server, experiment.interval, not_measured);
        if log.is_some() {
            machine.log_operations();
        }
        let started = Instant::now();
        self.serve(machine, &mut pass, u64::MAX, &mut measure, log)?;
        let seconds = started.elapsed().as_secs_f64();
        let Pass { reading, delivered, .. } = pass;
        let skipped = reading.skipped().clone();
        Ok(Measured { measure, skipped, delivered, free_pages_before, seconds })
    }

    /// Serves the requests before counting begins. Returns the server as they leave it.
    fn lead_in(
        &self,
        machine: &mut Machine,
        pass: &mut Pass,
        server: Option<Server>,
    ) -> Result<Option<Server>> {
        let first = self.experiment.measure_after;
        if first == 0 {
            return Ok(server);
        }
        let mut unmeasured = Unmeasured { server };
        self.serve(machine, pass, first, &mut unmeasured, None)?;
        if pass.delivered < first {
            return Err(Error::Impossible(format!(
                "measuring after {first} requests leaves nothing: the trace has {}",
                pass.delivered
            )));
        }
        machine.reset_counters();
        Ok(unmeasured.server)
    }

    /// Serves the next requests of a pass, no more than `left`.
    fn serve(
        &self,
        machine: &mut Machine,
        pass: &mut Pass,
        mut left: u64,
        observer: &mut impl Observer,
        mut log: Option<&mut OpLog>,
    ) -> Result<()> {
        let source = self.input.source();
        while left > 0
            && let count @ 1.. = pass.batch.fill(&mut pass.reading, left)?
        {
            pass.batch.cut(&self.host).map_err(|(index, beyond)| Error::BeyondCapacity {
                trace: source.trace().name().to_owned(),
                number: pass.delivered + index as u64 + 1,
                end: beyond.end,
                capacity_bytes: self.device.capacity_bytes(),
            })?;
            let log = log.as_deref_mut().map(|log| (log, pass.delivered));
            serve(&pass.batch, machine, observer, log)?;
            pass.delivered += count as u64;
            left -= count as u64;
            self.watch.at(pass.stage, pass.reading.position(), source.length())?;
        }
        Ok(())
    }

    /// Reads everything back and audits, if this run is verified.
    fn looked_back(&self, machine: &mut Machine) -> Result<()> {
        machine.audit("after the measured pass")?;
        let pages = u64::from(self.device.logical_pages());
        machine.read_back(|page| self.watch.at(Stage::ReadBack, page, Some(pages)))?;
        machine.audit("after reading everything back")
    }

    fn result(
        &self,
        machine: &Machine,
        measured: &Measured,
        started: Instant,
    ) -> (RunResult, Evidence) {
        let (nand, measure) = (machine.nand(), &measured.measure);
        let (tally, report) = (nand.tally(), machine.ftl().report());
        let trace = measure.trace_part(self.input.source().trace(), &measured.skipped);
        let programs = Causes::of(tally, Op::Program);
        let programmed_bytes = programs.total * u64::from(nand.geometry().page_bytes());
        let write_amplification_bytes = ratio(programmed_bytes, trace.written_bytes);
        let host_pages = machine.host_pages();
        let result = RunResult {
            schema: SCHEMA,
            run: self.run_part(),
            ftl: self.ftl_part(),
            device: self.device_part(),
            layers: LayersPart::of(&self.device.layers, &machine.ftl().layers()),
            trace,
            host_pages,
            reads: Causes::of(tally, Op::Read),
            programs,
            erases: Causes::of(tally, Op::Erase),
            copies: Causes::copies(tally),
            spare_reads: Causes::of(tally, Op::SpareRead),
            merges: report.merges.clone().map(Into::into),
            write_amplification: ratio(programs.total, host_pages.written),
            write_amplification_bytes,
            time_us: TimePart::of(tally, &self.device.chip.timing, machine.dram_ns()),
            service_us: measure.service.map(Latencies::summary),
            increment_us: measure.increment.map(Latencies::summary),
            histograms: Histograms {
                service_us: measure.service.map(Latencies::buckets),
                increment_us: measure.increment.map(Latencies::buckets),
                response_us: measure
                    .response
                    .as_ref()
                    .map(|(_, by_op)| by_op.map(Latencies::buckets)),
            },
            response_us: measure.response.as_ref().map(|(_, by_op)| by_op.map(Latencies::summary)),
            series: measure.sampler.as_ref().map(Sampler::series),
            wear: WearPart::of(nand.wear()),
            endurance: self.endurance_part(write_amplification_bytes),
            ram_bytes: machine.ftl().ram().into(),
            scheme: figures(&report.figures, &machine.ftl().gauges()),
            wall: wall_part(measured, self.input.opened_in() + started.elapsed()),
        };
        (result, evidence(machine, measured))
    }

    fn run_part(&self) -> RunPart {
        let experiment = self.experiment;
        RunPart {
            seed: experiment.seed,
            precondition: experiment.precondition.name(),
            warmup: experiment.warmup,
            replay: experiment.replay.name(),
            timing: experiment.timing.name(),
            fit: experiment.fit.name(),
            limit: experiment.limit,
            durability: experiment.durability.name(),
            trace_sha256: self.input.sha256().map(str::to_owned),
            flush: experiment.flush.name(),
            volume: experiment.volume.to_string(),
            measure_after: experiment.measure_after,
            sort: experiment.sort,
        }
    }

    fn ftl_part(&self) -> FtlPart {
        let choice = &self.device.choice;
        let value = |name| choice.params.get(name).map_or(serde_json::Value::Null, param_value);
        let params = choice.scheme.params.iter();
        let params = params.map(|param| (param.name.to_owned(), value(param.name))).collect();
        FtlPart { name: choice.scheme.name, params }
    }

    fn device_part(&self) -> DevicePart {
        let device = self.device;
        DevicePart {
            page_bytes: device.chip.page_bytes,
            pages_per_block: device.chip.pages_per_block,
            logical_blocks: device.logical_blocks,
            extra_blocks: device.extra_blocks,
            sector_log_blocks: device.sector_log_blocks,
            system_blocks: device.system_blocks,
            chip: self.experiment.chip.clone(),
            timing: device.chip.timing.into(),
        }
    }

    fn endurance_part(&self, write_amplification_bytes: Option<f64>) -> EndurancePart {
        let geometry = self.device.geometry();
        let physical_bytes = u64::from(geometry.blocks()) * geometry.block_bytes();
        let capacity_bytes = self.device.capacity_bytes();
        let cycles = self.device.chip.rated_cycles;
        EndurancePart::new(cycles, physical_bytes, capacity_bytes, write_amplification_bytes)
    }
}

/// Serves a batch, after all who want to have looked ahead. What it sets off is logged, if anybody
/// asks for that, under the number of the request; so many were before this batch.
fn serve(
    batch: &Batch,
    machine: &mut Machine,
    observer: &mut impl Observer,
    mut log: Option<(&mut OpLog, u64)>,
) -> Result<()> {
    for (request, spans, _) in batch.iter() {
        machine.prefetch(request, spans);
        observer.comes(request, spans);
    }
    for (request, spans, served) in batch.iter() {
        match served {
            true => {
                let took = machine.serve(request, spans)?;
                observer.served(request, spans, took, machine);
            }
            false => observer.skipped(),
        }
        if let Some((log, number)) = &mut log {
            *number += 1;
            log.write(*number, machine.drain_log())?;
        }
    }
    Ok(())
}

fn evidence(machine: &Machine, measured: &Measured) -> Evidence {
    let nand = machine.nand();
    Evidence {
        requests_read: measured.delivered + measured.skipped.total(),
        free_pages_before: measured.free_pages_before,
        free_pages_after: nand.free_pages(),
        lost_pages: nand.lost_pages(),
        wear_sum: nand.wear().iter().map(|&erases| u64::from(erases)).sum(),
        erases_since_birth: machine.erases_since_birth(),
        asked: machine.asked(),
        dram_ns: machine.dram_ns(),
        service_sum_ns: measured.measure.service.sum_ns(),
        increment_sum_ns: measured.measure.increment.sum_ns(),
    }
}

fn wall_part(measured: &Measured, all: Duration) -> WallPart {
    let seconds = measured.seconds.max(f64::MIN_POSITIVE);
    WallPart {
        seconds: all.as_secs_f64(),
        replay_seconds: measured.seconds,
        requests_per_second: measured.measure.requests_served() as f64 / seconds,
        peak_rss_bytes: peak_rss_bytes(),
        version: env!("CARGO_PKG_VERSION"),
    }
}

/// The most memory that this process ever held, where the system says so.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
