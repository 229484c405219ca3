//! The result of a run: the JSON of the command, field by field in this order.
//!
//! Counts are exact integers, times are in microseconds, and a ratio with a denominator of 0 is
//! null. The same inputs and the same seed give the same JSON, byte for byte, except for `wall`.

use ftl::Device;
use ftl::registry::Choice;
use nand::Timing;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::clock::open_rates::OpenRates;
use crate::clock::us;
use crate::result::counts::{Causes, HostPages, MergesPart, TimePart};
use crate::result::drive_part::DrivePart;
use crate::result::evidence::{Evidence, Fifths};
use crate::result::json_values::param_value;
use crate::result::latencies::{ByOp, Summary};
use crate::result::layers_part::LayersPart;
use crate::result::media_part::MediaPart;
use crate::result::record::{Column, Columns, record};
use crate::result::run_part::RunPart;
use crate::result::series::SampledSeries;
use crate::result::trace_part::{TenantPart, TracePart};
use crate::result::wear::{EndurancePart, WearPart};

/// The name and version of this form.
pub const SCHEMA: &str = "ftlab.run/1";
/// The name of the scheme of FTLs from outside, of which less is known.
pub const GUEST: &str = ftl::scheme::guest::GUEST.name;

record! {
    /// The result of one run.
    #[derive(Clone, Debug)]
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
        pub write_amplification_course: CoursePart,
        pub time_us: TimePart,
        pub open_replay: OpenReplayPart,
        pub service_us: ByOp<Summary>,
        /// The part of the service times that the host's own pages did not take (LSB, Fig. 14).
        pub increment_us: ByOp<Summary>,
        pub histograms: Histograms,
        pub response_us: Option<ByOp<Summary>>,
        /// What the drive did, if time is the drive's.
        pub drive: Option<DrivePart>,
        pub series: Option<SampledSeries>,
        /// Each of several loads; null for a single trace.
        pub tenants: Option<Vec<TenantPart>>,
        /// The rounds until a steady state, if the run has rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub steady: Option<SteadyPart>,
        pub wear: WearPart,
        /// What failed, if the media can fail.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub media: Option<MediaPart>,
        pub endurance: EndurancePart,
        pub ram_bytes: RamPart,
        pub scheme: Map<String, Value>,
        /// Sentences that a reader of the figures should know, such as how the trace was read.
        pub notes: Vec<String>,
        pub wall: WallPart,
        /// Counters that only the laws need; not in the JSON.
        #[serde(skip)]
        pub evidence: Evidence,
    }
}

impl RunResult {
    /// Requests per second of serial time; none if they took no time.
    pub fn serial_iops(&self) -> Option<f64> {
        self.per_second(self.trace.served() as f64)
    }

    /// Megabytes (10⁶ bytes) read and written per second of serial time; none if they took no time.
    pub fn serial_mb_per_s(&self) -> Option<f64> {
        let TracePart { read_bytes, written_bytes, .. } = self.trace;
        self.per_second((read_bytes as f64 + written_bytes as f64) / 1e6)
    }

    /// How far write amplification is from sure: the [half range](half_range) over the rounds of
    /// the window, or without rounds over the first and the last fifth of the pages written, and
    /// all. None if the run is too short to tell.
    pub fn spread(&self) -> Option<f64> {
        let CoursePart { first_fifth, last_fifth } = self.write_amplification_course;
        match &self.steady {
            None => half_range([first_fifth?, last_fifth?, self.write_amplification?]),
            Some(steady) => {
                let before = steady.first_measured.saturating_sub(1) as usize;
                half_range(steady.write_amplification.iter().skip(before).copied().flatten())
            }
        }
    }

    fn per_second(&self, amount: f64) -> Option<f64> {
        (self.time_us.total > 0.0).then(|| amount / (self.time_us.total / 1e6))
    }
}

record! {
    /// The scheme with all its parameters.
    #[derive(Clone, Debug)]
    pub struct FtlPart {
        pub name: &'static str,
        pub params: Map<String, Value>,
    }
}

impl FtlPart {
    /// The part for a scheme whose pages a policy with this name places, if one does.
    pub fn of(choice: &Choice, policy: Option<&str>) -> FtlPart {
        let params = choice.params.iter().flat_map(|(name, value)| match value {
            // What a guest gets, as the user wrote it.
            spec::Value::Rest(pairs) => {
                pairs.iter().map(|(key, text)| (key.clone(), text.clone().into())).collect()
            }
            value => vec![(name.to_owned(), param_value(value))],
        });
        let policy = policy.map(|name| ("policy".to_owned(), name.into()));
        FtlPart { name: choice.scheme.name, params: params.chain(policy).collect() }
    }
}

record! {
    /// The device.
    #[derive(Clone, Debug)]
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
}

impl DevicePart {
    /// The part for a device whose chip was named in this way.
    pub fn of(device: &Device, chip: &str) -> DevicePart {
        DevicePart {
            page_bytes: device.chip.page_bytes,
            pages_per_block: device.chip.pages_per_block,
            logical_blocks: device.logical_blocks,
            extra_blocks: device.extra_blocks,
            sector_log_blocks: device.layer_blocks,
            system_blocks: device.system_blocks,
            chip: chip.to_owned(),
            timing: device.chip.timing.into(),
        }
    }

    /// Bytes that the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        let block_bytes = u64::from(self.page_bytes) * u64::from(self.pages_per_block);
        u64::from(self.logical_blocks) * block_bytes
    }
}

record! {
    /// Latencies of the chip, in microseconds.
    #[derive(Clone, Debug)]
    pub struct TimingPart {
        pub read_us: f64,
        pub spare_read_us: f64,
        pub program_us: f64,
        pub erase_us: f64,
    }
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

/// The histograms of times: for each bucket its upper end in µs and its number of requests.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "named after the times that they describe")]
pub struct Histograms {
    pub service_us: ByOp<Vec<(f64, u64)>>,
    pub increment_us: ByOp<Vec<(f64, u64)>>,
    pub response_us: Option<ByOp<Vec<(f64, u64)>>>,
}

/// JSON text.
impl Columns for Histograms {}

/// The rounds of a run that ends in a steady state; only such a run has this part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/results.md documents every field of a result")]
pub struct SteadyPart {
    pub reached: bool,
    pub rounds: u32,
    pub round_pages: u64,
    pub first_measured: u32,
    /// Of each round; null if no page entered the scheme.
    pub write_amplification: Vec<Option<f64>>,
    pub mean: Option<f64>,
    pub range: Option<f64>,
    pub slope: Option<f64>,
    pub rise: Option<f64>,
}

/// Not in rows, whose columns are the same for every run.
impl Columns for SteadyPart {
    fn columns(_: &str, _: &mut Vec<Column>) {}
}

record! {
    /// Write amplification in the first and in the last fifth of the pages written; both are null
    /// if the pass was too short to tell.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct CoursePart {
        pub first_fifth: Option<f64>,
        pub last_fifth: Option<f64>,
    }
}

impl From<Option<Fifths>> for CoursePart {
    fn from(fifths: Option<Fifths>) -> CoursePart {
        let of = |value: fn(&Fifths) -> f64| fifths.as_ref().map(value);
        CoursePart { first_fifth: of(|it| it.first), last_fifth: of(|it| it.last) }
    }
}

record! {
    /// How fast open loads issue requests, and how fast the device serves them; null without them.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct OpenReplayPart {
        pub offered_iops: Option<f64>,
        pub served_iops: Option<f64>,
    }
}

impl From<OpenRates> for OpenReplayPart {
    fn from(rates: OpenRates) -> OpenReplayPart {
        let (offered_iops, served_iops) = (rates.offered_iops(), rates.served_iops());
        OpenReplayPart { offered_iops, served_iops }
    }
}

record! {
    /// The RAM that a controller would need.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct RamPart {
        pub map: u64,
        pub cache: u64,
        pub buffer: u64,
        pub sector_map: u64,
        pub other: u64,
        pub total: u64,
    }
}

impl From<ftl::Ram> for RamPart {
    fn from(ram: ftl::Ram) -> RamPart {
        let ftl::Ram { map, cache, buffer, sector_map, other } = ram;
        let total = map + cache + buffer + sector_map + other;
        RamPart { map, cache, buffer, sector_map, other, total }
    }
}

/// Time and memory that the run itself took. Only this part differs from run to run.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/results.md documents every field of a result")]
pub struct WallPart {
    /// The whole run, opening the trace included.
    pub seconds: f64,
    /// The measured pass.
    pub replay_seconds: f64,
    /// Requests per second of the measured pass.
    pub requests_per_second: f64,
    /// The most memory that this process ever held; null if the system does not tell.
    pub peak_rss_bytes: Option<u64>,
    pub version: &'static str,
}

/// Rows of a sweep have no `wall`, so that the same plan gives the same bytes.
impl Columns for WallPart {
    fn columns(_: &str, _: &mut Vec<Column>) {}
}

/// `a / b`, or nothing if b is 0.
pub fn ratio(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

/// Half of the range of these values, as a share of its middle; none of fewer than two values.
pub fn half_range(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut least, mut most, mut count) = (f64::INFINITY, 0.0_f64, 0);
    for value in values {
        (least, most, count) = (least.min(value), most.max(value), count + 1);
    }
    (count >= 2 && least + most > 0.0).then(|| (most - least) / (most + least))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_range_is_a_share_of_the_middle() {
        assert_eq!(half_range([3.0, 5.0, 4.0]), Some(0.25));
        assert_eq!(half_range([2.0, 2.0]), Some(0.0));
        assert_eq!((half_range([2.0]), half_range([0.0, 0.0])), (None, None));
    }
}
