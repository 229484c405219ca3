//! The result of a measured pass: counters of the chip, figures of the FTL and observed times,
//! brought into the form of a [`RunResult`].

use std::time::{Duration, Instant};

use ftl::Device;
use ftl::part::page::reclaim_units;
use nand::{Media, Op};

use crate::config::setup::Setup;
use crate::input::source::ReadTrace;
use crate::input::{Input, InputLoad};
use crate::memory;
use crate::result::counts::{Causes, TimePart};
use crate::result::drive_part::DrivePart;
use crate::result::evidence::Evidence;
use crate::result::json_values::metrics_json;
use crate::result::latencies::Latencies;
use crate::result::layers_part::LayersPart;
use crate::result::media_part::MediaPart;
use crate::result::notes;
use crate::result::run_part::RunPart;
use crate::result::run_result::{
    DevicePart, FtlPart, Histograms, RunResult, SCHEMA, SteadyPart, WallPart, ratio,
};
use crate::result::series::Sampler;
use crate::result::trace_part::TenantPart;
use crate::result::wear::{EndurancePart, WearPart};
use crate::run::measure::MeasuredRequests;
use crate::run::pass::QueueRecord;
use crate::run::simulator::Simulator;

/// Setup, trace and device of a run.
pub struct FinishedRun<'a> {
    /// The setup.
    pub setup: &'a Setup,
    /// The trace.
    pub input: &'a Input,
    /// The device.
    pub device: &'a Device,
}

/// Observations of the measured pass.
pub struct Measured {
    /// Times and counts of the requests.
    pub measure: MeasuredRequests,
    /// What was read of each trace.
    pub traces: Vec<ReadTrace>,
    /// What the queue did, if requests have to wait.
    pub queue: QueueRecord,
    /// The rounds, if there were any.
    pub steady: Option<SteadyPart>,
    /// The beginning of the pass.
    pub start: Start,
    /// The duration of the pass.
    pub seconds: f64,
}

/// The beginning of a measured pass.
pub struct Start {
    at: Instant,
    /// Pages that could be programmed.
    free_pages: u64,
    /// Free blocks of the FTL.
    free_blocks: u32,
}

impl Start {
    /// A pass begins now.
    pub fn now(simulator: &Simulator) -> Start {
        let free_pages = simulator.nand().array().free_pages();
        Start { at: Instant::now(), free_pages, free_blocks: simulator.ftl().report().free_blocks }
    }

    /// The observations of a pass that ends now, its traces and rounds left out.
    pub fn measured(self, measure: MeasuredRequests, queue: QueueRecord) -> Measured {
        let seconds = self.at.elapsed().as_secs_f64();
        Measured { measure, traces: Vec::new(), queue, steady: None, start: self, seconds }
    }
}

impl FinishedRun<'_> {
    /// The result, taken from a simulator that has served the measured pass; `wall` is the time
    /// that the whole run took.
    pub fn result(&self, simulator: &Simulator, measured: &Measured, wall: Duration) -> RunResult {
        let (nand, measure) = (simulator.nand(), &measured.measure.all);
        let (tally, mut report) = (nand.tally(), simulator.ftl().report());
        let statistics = reclaim_units::statistics(&report, tally, nand.geometry());
        report.figures.extend(statistics.into_iter().flatten());
        let read = self.read(measured);
        let trace = measure.trace_part(self.input.names(), self.formats(), &read);
        let trace_bytes = (trace.read_bytes, trace.written_bytes);
        let programs = Causes::of(tally, Op::Program);
        let programmed_bytes = programs.total * u64::from(nand.geometry().page_bytes());
        let write_amplification_bytes = ratio(programmed_bytes, trace.written_bytes);
        let host_pages = simulator.entered(&report);
        let response = measure.response.as_ref();
        let mut result = RunResult {
            schema: SCHEMA,
            run: RunPart::of(&self.setup.experiment, self.trace_sha256()),
            ftl: FtlPart::of(&self.setup.ftl, self.device.policy().map(|policy| policy.name())),
            device: DevicePart::of(self.device, &self.setup.experiment.chip),
            layers: LayersPart::of(&self.device.layers, &report.layers),
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
            write_amplification_course: measure.course.fifths().into(),
            time_us: TimePart::of(tally, &self.device.chip.timing, simulator.dram_ns()),
            open_replay: measured.queue.rates.into(),
            service_us: measure.service.map(Latencies::summary),
            increment_us: measure.increment.map(Latencies::summary),
            histograms: Histograms {
                service_us: measure.service.map(Latencies::buckets),
                increment_us: measure.increment.map(Latencies::buckets),
                response_us: response.map(|by_op| by_op.map(Latencies::buckets)),
            },
            response_us: response.map(|by_op| by_op.map(Latencies::summary)),
            drive: self.drive_part(measured, &trace_bytes),
            series: measure.sampler.as_ref().map(Sampler::series),
            tenants: self.tenants(measured),
            steady: measured.steady.clone(),
            wear: WearPart::of(nand.array().wear_of_blocks()),
            media: nand.media().map(|it| MediaPart::of(it, simulator.failed_requests())),
            endurance: self.endurance_part(programs.total, write_amplification_bytes),
            ram_bytes: report.ram.into(),
            scheme: metrics_json(&report.figures, &report.gauges),
            notes: read.notes.clone(),
            wall: wall_part(measured, wall),
            evidence: evidence(simulator, measured, &read),
        };
        result.notes.extend(self.volumes_note(&read));
        result.notes.extend(self.policy_note());
        result.notes.extend(self.setup.converted_drive());
        result.notes.extend(notes::of(&result, self.setup));
        result
    }

    fn drive_part(&self, measured: &Measured, bytes: &(u64, u64)) -> Option<DrivePart> {
        let (profile, did) = (self.setup.drive.as_ref()?, measured.queue.drive.as_ref()?);
        let bytes = bytes.0.saturating_add(bytes.1);
        Some(DrivePart::of(profile, &did.usage, &did.times, bytes))
    }

    /// What was read of the trace, or of all loads together.
    fn read(&self, measured: &Measured) -> ReadTrace {
        match self.setup.has_tenants() {
            false => measured.traces[0].clone(),
            true => {
                let names = self.input.loads().iter().map(InputLoad::name);
                ReadTrace::together(names.zip(&measured.traces))
            }
        }
    }

    fn formats(&self) -> String {
        self.input.joined(|load| load.source().trace().format())
    }

    /// The hash of a single trace; loads have theirs among the tenants.
    fn trace_sha256(&self) -> Option<&str> {
        match self.setup.has_tenants() {
            false => self.input.loads()[0].sha256(),
            true => None,
        }
    }

    /// The part of each load, if there are loads.
    fn tenants(&self, measured: &Measured) -> Option<Vec<TenantPart>> {
        let tenant = |load: usize| {
            let (counters, input) = (&measured.measure.tenants[load], &self.input.loads()[load]);
            let (requests, trace) = (&counters.requests, input.source().trace());
            let name = (trace.name().to_owned(), trace.format().to_owned());
            let responses = requests.response.as_ref().expect("loads queue");
            let bytes = &input.place().bytes;
            TenantPart {
                trace: requests.trace_part(name.0, name.1, &measured.traces[load]),
                trace_sha256: input.sha256().map(str::to_owned),
                replay: self.setup.traces[load].replay.to_string(),
                first_byte: bytes.start,
                bytes: bytes.end - bytes.start,
                host_pages: counters.pages,
                time_us: requests.service.sum_ns() as f64 / 1000.0,
                service_us: requests.service.map(Latencies::summary),
                increment_us: requests.increment.map(Latencies::summary),
                response_us: responses.map(Latencies::summary),
            }
        };
        let loads = 0..self.input.loads().len();
        self.setup.has_tenants().then(|| loads.map(tenant).collect())
    }

    /// A sentence about the places of the volumes of a trace, if it has several.
    fn volumes_note(&self, read: &ReadTrace) -> Option<String> {
        (read.devices > 1 && !self.setup.has_tenants()).then(|| {
            format!(
                "The trace has {} volumes, which are laid end to end. `--volume NAME` replays a \
                 single one; `ftlab trace info` lists their names.",
                read.devices
            )
        })
    }

    /// A sentence about the policy that placed the pages, if one did.
    fn policy_note(&self) -> Option<String> {
        let (policy, scheme) = (self.device.policy()?, self.device.choice.scheme.name);
        Some(format!("the pages were not placed by {scheme}, but by a policy: {}", policy.name()))
    }

    /// Before the extra blocks are full once, write amplification does not show what collection
    /// costs, so no endurance follows from it.
    fn endurance_part(&self, programs: u64, cost: Option<f64>) -> EndurancePart {
        let geometry = self.device.geometry();
        let block_pages = u64::from(self.device.chip.pages_per_block);
        let extra_pages = u64::from(self.device.extra_blocks) * block_pages;
        let cost = cost.filter(|_| programs >= extra_pages);
        let physical_bytes = u64::from(geometry.blocks()) * geometry.block_bytes();
        let capacity_bytes = self.device.capacity_bytes();
        // Media say what their own blocks bear.
        let rated = self.device.chip.rated_cycles;
        let cycles = self.device.media().map_or(rated, |(media, _)| media.endurance);
        EndurancePart::new(cycles, physical_bytes, capacity_bytes, cost)
    }
}

fn evidence(simulator: &Simulator, measured: &Measured, read: &ReadTrace) -> Evidence {
    let (nand, requests) = (simulator.nand(), &measured.measure.all);
    let report = simulator.ftl().report();
    let handed_down = report.layers.iter().map(|report| (report.layer, report.went_down.into()));
    Evidence {
        requests_read: read.requests(),
        free_pages_before: measured.start.free_pages,
        free_pages_after: nand.array().free_pages(),
        free_blocks_before: measured.start.free_blocks,
        free_blocks_after: report.free_blocks,
        lost_pages: nand.array().lost_pages(),
        wear_sum: nand.array().wear().iter().map(|&erases| u64::from(erases)).sum::<u64>()
            + nand.media().map_or(0, Media::other_erases),
        erases_since_birth: simulator.erases_since_birth(),
        asked: simulator.asked(),
        handed_down: handed_down.collect(),
        dram_ns: simulator.dram_ns(),
        drive: measured.queue.drive.as_ref().map(|did| did.usage.clone()),
        open_rates: measured.queue.rates,
        fifths: requests.course.fifths(),
        trace_notes: read.notes.clone(),
        service_sum_ns: requests.service.sum_ns(),
        increment_sum_ns: requests.increment.sum_ns(),
    }
}

fn wall_part(measured: &Measured, wall: Duration) -> WallPart {
    let seconds = measured.seconds.max(f64::MIN_POSITIVE);
    WallPart {
        seconds: wall.as_secs_f64(),
        replay_seconds: measured.seconds,
        requests_per_second: measured.measure.all.requests_served() as f64 / seconds,
        peak_rss_bytes: memory::peak_rss_bytes(),
        version: env!("CARGO_PKG_VERSION"),
    }
}
