//! What a run says: the JSON of the command, field by field in this order.
//!
//! Counts are exact integers, times microseconds, ratios null where their denominator is zero. All
//! but `wall` is the same, byte for byte, for the same inputs and seed.

use ftl::LAYERS;
use ftl::layer::Layer;
use nand::Timing;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::result::counts::{Causes, HostPages, MergesPart, TimePart};
use crate::result::evidence::Evidence;
use crate::result::latencies::{ByOp, Summary, us};
use crate::result::series::Series;
use crate::result::wear::{EndurancePart, WearPart};

/// The name and version of this form.
pub const SCHEMA: &str = "ftlab.run/1";

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the fields are the contract of the command, named there")]
pub struct RunResult {
    pub schema: &'static str,
    pub run: Map<String, Value>,
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
    /// What the laws need besides the other fields; not in the JSON.
    #[serde(skip)]
    pub evidence: Evidence,
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

/// Layers above the scheme: parameters and metrics of each, by its key; null where it is not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct LayersPart(Map<String, Value>);

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

impl LayersPart {
    /// What stands above the scheme, and what it reports.
    pub fn of(layers: &ftl::Layers, reports: &[ftl::LayerReport]) -> LayersPart {
        let part = |layer: &Layer| {
            let report = reports.iter().find(|report| report.layer == layer.name)?;
            // The buffer of a divided budget reports, but has no options of its own.
            let setting = layers.named(layer.name).into_iter();
            let params = setting.flat_map(|setting| setting.params.iter());
            let params = params.map(|(name, value)| (name.to_owned(), param_value(value)));
            Some(Value::Object(params.chain(figures(&report.figures, &[])).collect()))
        };
        let parts = LAYERS.iter().map(|layer| (layer.key(), part(layer).unwrap_or_default()));
        LayersPart(parts.collect())
    }

    /// The part of a layer that is there, by its key.
    pub fn get(&self, key: &str) -> Option<&Map<String, Value>> {
        self.0.get(key)?.as_object()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Map<String, Value>> {
        self.0.get_mut(key)?.as_object_mut()
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
    figures: &[(&'static str, ftl::Metric)],
    gauges: &[(&str, f64)],
) -> Map<String, Value> {
    let value = |figure: &ftl::Metric| match figure {
        ftl::Metric::Count(count) => Value::from(*count),
        ftl::Metric::Real(real) => Value::from(*real),
        ftl::Metric::Counts(counts) => Value::from(counts.clone()),
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
    fn parameters_are_numbers_where_they_can_be() {
        assert_eq!(param_value(&spec::Value::Count(2)), 2);
        assert_eq!(param_value(&spec::Value::Choice("greedy")), "greedy");
        assert_eq!(param_value(&spec::Value::Ratio(70, 30)), "70/30");
    }

    #[test]
    fn figures_of_nothing_are_null_and_counts_stay_exact() {
        let of_nothing = ftl::Metric::Real(f64::NAN);
        let of_run = [("hits", ftl::Metric::Count(3)), ("ratio", of_nothing)];
        let figures = figures(&of_run, &[("k", 0.5), ("hits", 3.0)]);
        assert_eq!((&figures["hits"], &figures["ratio"]), (&Value::from(3), &Value::Null));
        assert_eq!(figures["k"], 0.5);
    }
}
