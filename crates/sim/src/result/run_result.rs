//! What a run says: the JSON of the command, field by field in this order.
//!
//! Counts are exact integers, times microseconds, ratios null where their denominator is zero. All
//! but `wall` is the same, byte for byte, for the same inputs and seed.

use ftl::layer::{Layer, Setting, partitioner, sector_log, write_buffer};
use nand::{Cause, Op, Tally, Timing};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::result::latencies::{ByOp, Summary, us};
use crate::result::series::Series;
use crate::run::simulator::HostPages;

/// The name and version of this form.
pub const SCHEMA: &str = "ftlab.run/1";

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct RunResult {
    pub schema: &'static str,
    pub run: RunPart,
    pub ftl: FtlPart,
    pub device: DevicePart,
    pub layers: LayersPart,
    pub trace: TracePart,
    pub host_pages: HostPages,
    pub reads: Causes,
    pub programs: Causes,
    pub erases: Causes,
    pub copies: Causes,
    pub spare_reads: Causes,
    pub merges: Option<MergesPart>,
    pub write_amplification: Option<f64>,
    pub write_amplification_bytes: Option<f64>,
    pub time_us: TimePart,
    pub service_us: ByOp<Summary>,
    /// What service times are above the host's own pages (LSB, Fig. 14).
    pub increment_us: ByOp<Summary>,
    pub histograms: Histograms,
    pub response_us: Option<ByOp<Summary>>,
    pub series: Option<Series>,
    pub wear: WearPart,
    pub endurance: EndurancePart,
    pub ram_bytes: RamPart,
    pub scheme: Map<String, Value>,
    pub wall: WallPart,
}

/// How it was measured.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct RunPart {
    pub seed: u64,
    pub precondition: &'static str,
    pub warmup: u32,
    pub replay: &'static str,
    pub timing: &'static str,
    pub fit: &'static str,
    pub limit: Option<u64>,
    pub durability: &'static str,
    pub trace_sha256: Option<String>,
    pub flush: &'static str,
    pub volume: String,
    pub measure_after: u64,
    pub sort: bool,
}

/// The scheme, with all its parameters.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct FtlPart {
    pub name: &'static str,
    pub params: Map<String, Value>,
}

/// The device.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct DevicePart {
    pub page_bytes: u32,
    pub pages_per_block: u32,
    pub logical_blocks: u32,
    pub extra_blocks: u32,
    pub sector_log_blocks: u32,
    pub system_blocks: u32,
    pub chip: String,
    pub timing: TimingPart,
}

/// Latencies of the chip, in microseconds.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct TimingPart {
    pub read_us: f64,
    pub spare_read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
}

impl From<Timing> for TimingPart {
    fn from(timing: Timing) -> TimingPart {
        TimingPart {
            read_us: us(timing.read_ns),
            spare_read_us: us(timing.spare_read_ns),
            program_us: us(timing.program_ns),
            erase_us: us(timing.erase_ns),
        }
    }
}

/// Layers above the scheme: parameters and figures of each, null where it is not there.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct LayersPart {
    pub buffer: Option<Map<String, Value>>,
    pub sector_log: Option<Map<String, Value>>,
    pub split: Option<Map<String, Value>>,
}

/// What the trace asked for in the measured pass.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct TracePart {
    pub name: String,
    pub format: String,
    /// Requests read from the trace: those served and those skipped.
    pub requests: u64,
    pub reads: u64,
    pub writes: u64,
    pub trims: u64,
    /// Flushes that are requests of their own.
    pub flushes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// Distinct logical pages that reads and writes touched.
    pub footprint_pages: u64,
    pub skipped: Map<String, Value>,
    pub trimmed_bytes: u64,
    /// Trims that cover no whole page: served, with nothing to do.
    pub trims_of_no_page: u64,
    /// Requests that asked for a flush first, those that are nothing but a flush included.
    pub preflushes: u64,
    /// Writes that asked to be durable when answered.
    pub fua: u64,
    /// Requests whose time was before that of an earlier one.
    pub backward_times: u64,
}

/// Operations of one kind by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct Causes {
    pub host: u64,
    pub rmw: u64,
    pub gc: u64,
    pub merge: u64,
    pub map: u64,
    pub log: u64,
    pub wear: u64,
    pub meta: u64,
    pub total: u64,
}

impl Causes {
    /// The counts that `count` gives for each cause, and `total` beside them.
    pub fn new(count: impl Fn(Cause) -> u64, total: u64) -> Causes {
        Causes {
            host: count(Cause::Host),
            rmw: count(Cause::Rmw),
            gc: count(Cause::Gc),
            merge: count(Cause::Merge),
            map: count(Cause::Map),
            log: count(Cause::Log),
            wear: count(Cause::Wear),
            meta: count(Cause::Meta),
            total,
        }
    }

    /// The operations of one kind in a tally.
    pub fn of(tally: &Tally, op: Op) -> Causes {
        Causes::new(|cause| tally.count(op, cause), tally.total(op))
    }

    /// The copies in a tally.
    pub fn copies(tally: &Tally) -> Causes {
        Causes::new(|cause| tally.copies(cause), tally.copies_total())
    }

    /// The count under one cause.
    pub fn get(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Host => self.host,
            Cause::Rmw => self.rmw,
            Cause::Gc => self.gc,
            Cause::Merge => self.merge,
            Cause::Map => self.map,
            Cause::Log => self.log,
            Cause::Wear => self.wear,
            Cause::Meta => self.meta,
        }
    }

    /// The counts by name, in the order of the causes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Cause::ALL.into_iter().map(|cause| (cause.name(), self.get(cause)))
    }
}

/// Merges of a log-block scheme.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct MergesPart {
    pub switch: u64,
    pub partial: u64,
    pub full: u64,
    pub dead: u64,
    pub associated_blocks: Vec<u64>,
}

impl LayersPart {
    /// What stands above the scheme, and what it reports.
    pub fn of(layers: &ftl::Layers, reports: &[ftl::LayerReport]) -> LayersPart {
        let part = |layer: &Layer, setting: Option<&Setting>| {
            let report = reports.iter().find(|report| report.layer == layer.name)?;
            let params = setting.into_iter().flat_map(|setting| setting.params.iter());
            let params = params.map(|(name, value)| (name.to_owned(), param_value(value)));
            Some(params.chain(figures(&report.figures, &[])).collect())
        };
        LayersPart {
            buffer: part(&write_buffer::LAYER, layers.buffer.as_ref()),
            sector_log: part(&sector_log::LAYER, layers.sector_log.as_ref()),
            split: part(&partitioner::LAYER, layers.split.as_ref()),
        }
    }
}

impl From<ftl::Merges> for MergesPart {
    fn from(merges: ftl::Merges) -> MergesPart {
        let ftl::Merges { switch, partial, full, dead, associated_blocks } = merges;
        MergesPart { switch, partial, full, dead, associated_blocks }
    }
}

/// Serial time by cause.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct TimePart {
    pub total: f64,
    pub dram: f64,
    pub host: f64,
    pub rmw: f64,
    pub gc: f64,
    pub merge: f64,
    pub map: f64,
    pub log: f64,
    pub wear: f64,
    pub meta: f64,
}

impl TimePart {
    /// Σ count × latency for each cause, and over all, with the time of the layers' DRAM.
    pub fn of(tally: &Tally, timing: &Timing, dram_ns: u64) -> TimePart {
        let spent = |cause| us(timing.serial_ns_under(cause, tally));
        TimePart {
            total: us(timing.serial_ns(tally) + dram_ns),
            dram: us(dram_ns),
            host: spent(Cause::Host),
            rmw: spent(Cause::Rmw),
            gc: spent(Cause::Gc),
            merge: spent(Cause::Merge),
            map: spent(Cause::Map),
            log: spent(Cause::Log),
            wear: spent(Cause::Wear),
            meta: spent(Cause::Meta),
        }
    }

    /// The fields beside the total, by name.
    pub fn fields(&self) -> [(&'static str, f64); 9] {
        [
            ("dram", self.dram),
            ("host", self.host),
            ("rmw", self.rmw),
            ("gc", self.gc),
            ("merge", self.merge),
            ("map", self.map),
            ("log", self.log),
            ("wear", self.wear),
            ("meta", self.meta),
        ]
    }
}

/// The recorded buckets: (upper end in µs, requests).
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named as the summaries that they belong to")]
pub struct Histograms {
    pub service_us: ByOp<Vec<(f64, u64)>>,
    pub increment_us: ByOp<Vec<(f64, u64)>>,
    pub response_us: Option<ByOp<Vec<(f64, u64)>>>,
}

/// Erases of the blocks since birth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct WearPart {
    pub min: u32,
    pub max: u32,
    pub mean: f64,
    pub stddev: f64,
    pub map: WearMap,
}

/// Erases of the blocks in the order of their numbers, neighbours taken together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct WearMap {
    pub blocks: u64,
    /// Blocks that a cell stands for; the last may stand for fewer.
    pub blocks_per_cell: u64,
    /// The sum of each cell.
    pub erases: Vec<u64>,
}

impl WearMap {
    /// The most cells of a map: results stay small however large the device.
    const CELLS_MAX: usize = 512;

    fn of(wear: &[u32]) -> WearMap {
        let blocks_per_cell = wear.len().div_ceil(Self::CELLS_MAX);
        let sum = |cell: &[u32]| cell.iter().map(|&erases| u64::from(erases)).sum();
        WearMap {
            blocks: wear.len() as u64,
            blocks_per_cell: blocks_per_cell as u64,
            erases: wear.chunks(blocks_per_cell).map(sum).collect(),
        }
    }
}

impl WearPart {
    /// Over the blocks of a chip, of which there is at least one.
    pub fn of(wear: &[u32]) -> WearPart {
        let count = wear.len() as f64;
        let sum: u64 = wear.iter().map(|&erases| u64::from(erases)).sum();
        let mean = sum as f64 / count;
        let squares: f64 = wear.iter().map(|&erases| (f64::from(erases) - mean).powi(2)).sum();
        let (min, max) = wear.iter().fold((u32::MAX, 0), |(min, max), &n| (min.min(n), max.max(n)));
        let (stddev, map) = ((squares / count).sqrt(), WearMap::of(wear));
        WearPart { min, max, mean, stddev, map }
    }
}

/// How long the flash would last under this load, were the wear even.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EndurancePart {
    /// Erases that a block is rated for.
    pub cycles: u32,
    /// cycles × bytes of all physical blocks ÷ `write_amplification_bytes`; null without writes.
    pub host_bytes_until_worn: Option<u64>,
    /// That many times the capacity.
    pub drive_writes: Option<f64>,
}

impl EndurancePart {
    /// From the rated cycles, what is physically there, and what a host byte costs.
    pub fn new(
        cycles: u32,
        physical_bytes: u64,
        capacity_bytes: u64,
        write_amplification_bytes: Option<f64>,
    ) -> EndurancePart {
        let flash_bytes = f64::from(cycles) * physical_bytes as f64;
        let host_bytes = write_amplification_bytes.filter(|&cost| cost > 0.0);
        let host_bytes = host_bytes.map(|cost| (flash_bytes / cost) as u64);
        let drive_writes = host_bytes.map(|bytes| bytes as f64 / capacity_bytes as f64);
        EndurancePart { cycles, host_bytes_until_worn: host_bytes, drive_writes }
    }
}

/// What a controller would hold in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct RamPart {
    pub map: u64,
    pub cache: u64,
    pub buffer: u64,
    pub sector_map: u64,
    pub other: u64,
    pub total: u64,
}

impl From<ftl::Ram> for RamPart {
    fn from(ram: ftl::Ram) -> RamPart {
        let ftl::Ram { map, cache, buffer, sector_map, other } = ram;
        let total = map + cache + buffer + sector_map + other;
        RamPart { map, cache, buffer, sector_map, other, total }
    }
}

/// What the run itself took: the one part that differs from run to run.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct WallPart {
    /// All of it, opening the trace included.
    pub seconds: f64,
    /// The measured pass.
    pub replay_seconds: f64,
    /// Of the measured pass.
    pub requests_per_second: f64,
    /// The most memory that this process ever held; null where the system does not say.
    pub peak_rss_bytes: Option<u64>,
    pub version: &'static str,
}

/// `a / b`, or nothing where b is zero.
pub fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// A parameter's value: a number where it is one, else as a user would write it.
pub fn param_value(value: &spec::Value) -> Value {
    match value {
        spec::Value::Size(number) | spec::Value::Count(number) => (*number).into(),
        spec::Value::Switch(on) => (*on).into(),
        spec::Value::Real(number) => (*number).into(),
        other => other.to_string().into(),
    }
}

/// The scheme's own figures, and its gauges as they stand at the end; a ratio of nothing is null,
/// and what is both is as the figures have it, exact.
pub fn figures(
    figures: &[(&'static str, ftl::Figure)],
    gauges: &[(&str, f64)],
) -> Map<String, Value> {
    let value = |figure: &ftl::Figure| match figure {
        ftl::Figure::Count(count) => Value::from(*count),
        ftl::Figure::Real(real) => Value::from(*real),
        ftl::Figure::Counts(counts) => Value::from(counts.clone()),
        other => Value::from(format!("{other:?}")),
    };
    let figures = figures.iter().map(|(name, figure)| ((*name).to_owned(), value(figure)));
    let mut all: Map<String, Value> = figures.collect();
    for &(name, value) in gauges {
        all.entry(name).or_insert(value.into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endurance_is_cycles_times_flash_over_the_cost_of_a_byte() {
        let part = EndurancePart::new(1000, 2_000_000, 1_000_000, Some(4.0));
        assert_eq!(part.host_bytes_until_worn, Some(500_000_000));
        assert_eq!(part.drive_writes, Some(500.0));
        assert_eq!(EndurancePart::new(1, 1, 1, Some(0.0)).host_bytes_until_worn, None);
        assert_eq!(EndurancePart::new(1, 1, 1, None).drive_writes, None);
    }

    #[test]
    fn wear_is_described_by_its_spread() {
        let wear = WearPart::of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((wear.min, wear.max, wear.mean, wear.stddev), (2, 9, 5.0, 2.0));
        assert_eq!((wear.map.blocks_per_cell, wear.map.erases.len()), (1, 8));
    }

    #[test]
    fn a_large_device_has_as_many_cells_as_fit_and_no_erase_is_lost() {
        let erases: Vec<u32> = (0..1300).collect();
        let map = WearMap::of(&erases);
        assert_eq!((map.blocks, map.blocks_per_cell, map.erases.len()), (1300, 3, 434));
        assert_eq!((map.erases[1], map.erases[433]), (3 + 4 + 5, 1299));
        assert_eq!(map.erases.iter().sum::<u64>(), 1300 * 1299 / 2);
    }

    #[test]
    fn parameters_are_numbers_where_they_can_be() {
        assert_eq!(param_value(&spec::Value::Count(2)), 2);
        assert_eq!(param_value(&spec::Value::Choice("greedy")), "greedy");
        assert_eq!(param_value(&spec::Value::Ratio(70, 30)), "70/30");
    }

    #[test]
    fn figures_of_nothing_are_null_and_counts_stay_exact() {
        let of_nothing = ftl::Figure::Real(f64::NAN);
        let of_run = [("hits", ftl::Figure::Count(3)), ("ratio", of_nothing)];
        let figures = figures(&of_run, &[("k", 0.5), ("hits", 3.0)]);
        assert_eq!((&figures["hits"], &figures["ratio"]), (&Value::from(3), &Value::Null));
        assert_eq!(figures["k"], 0.5);
    }
}
