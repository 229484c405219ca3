//! The configuration as a value: command line, experiment file and Python set the same struct.
//!
//! Values are kept as users write them (`page:victim=fifo`, `7%`); a
//! [`Setup`](crate::config::setup::Setup) has read and checked them.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use spec::Share;

use crate::config::keywords::words;
use crate::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use crate::error::{Error, Result};

/// One run: a trace, a device, an FTL, and how to measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// An existing file, `-` for standard input, or a workload spec; by default the built-in OLTP
    /// workload.
    pub trace: Option<String>,
    /// The file's format as `NAME[:key=value…]`; by default told by its content.
    pub format: Option<String>,
    /// Count malformed lines instead of failing.
    pub skip_bad: bool,
    /// Put the requests in the order of their times.
    pub sort: bool,
    /// Read no more requests than this.
    #[serde(deserialize_with = "count_or_none")]
    pub limit: Option<u64>,
    /// Which device of the trace is replayed.
    pub volume: Volume,
    /// The scheme with its parameters.
    pub ftl: String,
    /// The chip with its parameters.
    pub chip: String,
    /// Exported capacity, rounded up to the block; by default what the trace needs.
    #[serde(rename = "capacity", alias = "capacity_bytes", deserialize_with = "size_or_none")]
    pub capacity_bytes: Option<u64>,
    /// Blocks beyond the capacity; by default 7 % but at least 8 blocks.
    pub extra: Option<Extra>,
    /// Write buffer as `SIZE[,key=value…]`, or `none`.
    #[serde(deserialize_with = "text")]
    pub buffer: String,
    /// Sector log below it as `SIZE[,key=value…]`, or `none`.
    pub sector_log: String,
    /// One budget of DRAM for a write buffer and the map.
    #[serde(rename = "dram", alias = "dram_bytes", deserialize_with = "size_or_none")]
    pub dram_bytes: Option<u64>,
    /// The map's share of it, or `adaptive[:key=value…]`, which it is by default.
    pub split: Option<String>,
    /// Nanoseconds of putting a page into the DRAM of a layer, or of taking it out.
    #[serde(
        rename = "dram_access",
        alias = "dram_access_ns",
        serialize_with = "print_time",
        deserialize_with = "time_ns"
    )]
    pub dram_access_ns: u64,
    /// What the flash holds before the first request.
    pub precondition: Precondition,
    /// How often the trace is replayed, uncounted, before it is measured.
    pub warmup: u32,
    /// So many requests of the measured pass are served but not counted; counting begins with the
    /// one after them. For steady states: a warm-up by the same trace leaves the pages cold that
    /// the trace never touches.
    #[serde(deserialize_with = "count")]
    pub measure_after: u64,
    /// How counts become time.
    pub timing: Timing,
    /// What must survive a power cut.
    pub durability: Durability,
    /// What becomes of addresses beyond the capacity.
    pub fit: Fit,
    /// Whether arrival times count.
    pub replay: ReplayMode,
    /// Whether flushes reach the FTL.
    pub flush: FlushMode,
    /// How often a sample of the series is taken; never by default.
    pub interval: Option<Interval>,
    /// Whether every sector read is compared with a shadow copy.
    pub verify: bool,
    /// Seed of everything drawn at random.
    pub seed: u64,
}

impl Experiment {
    /// The name of the trace, or that of the default workload.
    pub fn trace_name(&self) -> &str {
        self.trace.as_deref().unwrap_or(DEFAULT_TRACE)
    }

    /// Whether the trace is a file, be it there or not.
    pub fn reads_file(&self) -> bool {
        NamedTrace::parse(self.trace_name()).is_ok_and(|trace| trace.is_file())
    }
}

impl Default for Experiment {
    fn default() -> Experiment {
        Experiment {
            trace: None,
            format: None,
            skip_bad: false,
            sort: false,
            limit: None,
            volume: Volume::All,
            ftl: "page".into(),
            chip: "slc-fast2010".into(),
            capacity_bytes: None,
            extra: None,
            buffer: "none".into(),
            sector_log: "none".into(),
            dram_bytes: None,
            split: None,
            dram_access_ns: 0,
            precondition: Precondition::Fill,
            warmup: 1,
            measure_after: 0,
            timing: Timing::Serial,
            durability: Durability::Paper,
            fit: Fit::Error,
            replay: ReplayMode::Closed,
            flush: FlushMode::Honour,
            interval: None,
            verify: false,
            seed: 1,
        }
    }
}

words! {
    /// What the flash holds before the first request.
    Precondition, "precondition":
    /// Nothing.
    None = "none",
    /// Every logical page, written once, in order, by one request.
    Fill = "fill",
}

words! {
    /// How counts become time.
    Timing, "timing":
    /// One operation after the other.
    Serial = "serial",
}

impl Timing {
    /// The timing of that name, with the reason where there is none yet.
    ///
    /// # Errors
    /// `parallel`, or an unknown name.
    pub fn named(name: &str) -> Result<Timing> {
        match name {
            "parallel" => Err(Error::ParallelTiming),
            _ => Ok(name.parse()?),
        }
    }
}

words! {
    /// What must survive a power cut.
    Durability, "durability":
    /// What the papers' schemes write, and not a page more: trims may come back.
    Paper = "paper",
    /// Everything that was flushed, trims too.
    Full = "full",
}

impl From<Durability> for ftl::Durability {
    fn from(durability: Durability) -> ftl::Durability {
        match durability {
            Durability::Paper => ftl::Durability::Paper,
            Durability::Full => ftl::Durability::Full,
        }
    }
}

words! {
    /// What becomes of addresses beyond the capacity.
    Fit, "fit":
    /// They end the run.
    Error = "error",
    /// They start again at 0; a request that straddles the end is cut.
    Wrap = "wrap",
    /// The pages that the trace touches are laid, in the order of their addresses, side by side.
    Compact = "compact",
}

words! {
    /// Whether arrival times count.
    ReplayMode, "replay":
    /// The next request comes when the one before is answered.
    Closed = "closed",
    /// Requests come at their times and wait for each other.
    Open = "open",
}

words! {
    /// Whether flushes reach the FTL.
    FlushMode, "flush":
    /// They do: flush requests, preflushes and forced unit access.
    Honour = "honour",
    /// They are only counted.
    Ignore = "ignore",
}

/// Blocks beyond the capacity, taken as they are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Extra {
    /// A share of the logical blocks, rounded up exactly.
    Share(Share),
    /// So many.
    Blocks(u64),
}

impl Extra {
    /// The share when none is given.
    pub const DEFAULT_SHARE: &'static str = "7%";
    /// The fewest blocks when no share is given.
    pub const DEFAULT_BLOCKS_MIN: u64 = 8;

    /// The extra blocks of a device; `None` is what an experiment has by default.
    pub fn of(extra: Option<Extra>, logical_blocks: u64) -> u64 {
        match extra {
            Some(Extra::Share(share)) => share.ceil_of(logical_blocks),
            Some(Extra::Blocks(blocks)) => blocks,
            None => {
                let share = Share::parse(Self::DEFAULT_SHARE).expect("the default parses");
                share.ceil_of(logical_blocks).max(Self::DEFAULT_BLOCKS_MIN)
            }
        }
    }
}

impl FromStr for Extra {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Extra> {
        match text.strip_suffix("blocks") {
            Some(count) => Ok(Extra::Blocks(spec::parse_count(count)?)),
            None => Share::parse(text).map(Extra::Share).map_err(|_| spec::Error::Malformed {
                text: text.to_owned(),
                form: "a share such as `7%` or a number of blocks such as `20blocks`".into(),
            }),
        }
    }
}

impl fmt::Display for Extra {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extra::Share(share) => share.fmt(out),
            Extra::Blocks(blocks) => write!(out, "{blocks}blocks"),
        }
    }
}

impl TryFrom<String> for Extra {
    type Error = spec::Error;

    fn try_from(text: String) -> spec::Result<Extra> {
        text.parse()
    }
}

impl From<Extra> for String {
    fn from(extra: Extra) -> String {
        extra.to_string()
    }
}

/// Which device of a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrText", into = "String")]
pub enum Volume {
    /// All, laid end to end, each rounded up to a block.
    All,
    /// This one, numbered from 0 in order of first appearance.
    One(u32),
}

impl FromStr for Volume {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Volume> {
        match text {
            "all" => Ok(Volume::All),
            _ => text.parse().map(Volume::One).map_err(|_| spec::Error::Malformed {
                text: text.to_owned(),
                form: "`all` or the number of a device such as `0`".into(),
            }),
        }
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Volume::All => out.write_str("all"),
            Volume::One(device) => device.fmt(out),
        }
    }
}

impl TryFrom<NumberOrText> for Volume {
    type Error = spec::Error;

    fn try_from(written: NumberOrText) -> spec::Result<Volume> {
        match written {
            NumberOrText::Number(device) => device.to_string().parse(),
            NumberOrText::Text(text) => text.parse(),
        }
    }
}

impl From<Volume> for String {
    fn from(volume: Volume) -> String {
        volume.to_string()
    }
}

/// How often a sample of the series is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrText", into = "String")]
pub enum Interval {
    /// Every so many requests.
    Every(u64),
    /// As often as gives 200 to 400 samples, however long the trace; each request of a short one.
    Auto,
}

impl FromStr for Interval {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Interval> {
        match text {
            "auto" => Ok(Interval::Auto),
            _ => spec::parse_count(text).map(Interval::Every),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Interval::Auto => out.write_str("auto"),
            Interval::Every(requests) => requests.fmt(out),
        }
    }
}

impl TryFrom<NumberOrText> for Interval {
    type Error = spec::Error;

    fn try_from(written: NumberOrText) -> spec::Result<Interval> {
        match written {
            NumberOrText::Number(requests) => Ok(Interval::Every(requests)),
            NumberOrText::Text(text) => text.parse(),
        }
    }
}

impl From<Interval> for String {
    fn from(interval: Interval) -> String {
        interval.to_string()
    }
}

/// A value that files give as a number or as users write it, such as `8GiB`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number, or one as text such as `8GiB` or `4M`")]
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl NumberOrText {
    fn read<E: de::Error>(
        self,
        parse: impl Fn(&str) -> spec::Result<u64>,
    ) -> std::result::Result<u64, E> {
        match self {
            NumberOrText::Number(number) => Ok(number),
            NumberOrText::Text(text) => parse(&text).map_err(E::custom),
        }
    }
}

fn size_or_none<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<u64>, D::Error> {
    let written = Option::<NumberOrText>::deserialize(from)?;
    written.map(|written| written.read(spec::parse_size)).transpose()
}

fn count_or_none<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<u64>, D::Error> {
    let written = Option::<NumberOrText>::deserialize(from)?;
    written.map(|written| written.read(spec::parse_count)).transpose()
}

fn text<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<String, D::Error> {
    Ok(match NumberOrText::deserialize(from)? {
        NumberOrText::Number(number) => number.to_string(),
        NumberOrText::Text(text) => text,
    })
}

fn time_ns<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<u64, D::Error> {
    NumberOrText::deserialize(from)?.read(spec::parse_time_ns)
}

fn print_time<S: Serializer>(time_ns: &u64, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(&spec::Value::TimeNs(*time_ns))
}

fn count<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<u64, D::Error> {
    NumberOrText::deserialize(from)?.read(spec::parse_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_survives_its_text_and_defaults_fill_the_rest() {
        let text = r#"{"ftl": "block", "extra": "10.5%", "capacity": "8GiB", "fit": "wrap",
                       "limit": "4M", "measure_after": "2K", "interval": 7, "volume": 3}"#;
        let experiment: Experiment = serde_json::from_str(text).unwrap();
        assert_eq!(experiment.capacity_bytes, Some(8 << 30));
        assert_eq!((experiment.limit, experiment.measure_after), (Some(4_000_000), 2000));
        assert_eq!(
            (experiment.interval, experiment.volume),
            (Some(Interval::Every(7)), Volume::One(3))
        );
        assert_eq!((experiment.warmup, experiment.fit), (1, Fit::Wrap));
        let again = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&again).unwrap(), experiment);
    }

    #[test]
    fn unknown_options_and_words_are_named() {
        let message = |text| serde_json::from_str::<Experiment>(text).unwrap_err().to_string();
        assert!(message(r#"{"fit": "warp"}"#).contains("did you mean `wrap`"));
        assert!(message(r#"{"fitt": "wrap"}"#).contains("unknown field `fitt`"));
        assert!(message(r#"{"extra": "seven"}"#).contains("`20blocks`"));
    }

    #[test]
    fn extra_blocks_are_exact_and_only_the_default_has_a_floor() {
        let of = |text: &str, logical| Extra::of(Some(text.parse().unwrap()), logical);
        assert_eq!([of("7%", 100), of("7%", 101), of("0.03", 10), of("5blocks", 10)], [7, 8, 1, 5]);
        assert_eq!([Extra::of(None, 10), Extra::of(None, 1000)], [8, 70]);
        for text in ["7%", "10.5%", "20blocks"] {
            assert_eq!(text.parse::<Extra>().unwrap().to_string(), text);
        }
    }
}
