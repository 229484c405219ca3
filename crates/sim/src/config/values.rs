//! Options with a notation of their own: extra blocks, volumes, intervals.

use core::fmt;
use core::str::FromStr;

use spec::Share;

/// The largest latency: sums over realistic counts must fit into 64 bits of nanoseconds.
pub const LATENCY_NS_MAX: u64 = 10_000_000_000;

/// Blocks beyond the capacity. A given number is taken as it is, without a minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extra {
    /// A share of the logical blocks, rounded up exactly.
    Share(Share),
    /// A number of blocks.
    Blocks(u64),
}

impl Extra {
    /// The share by default.
    pub const DEFAULT_SHARE: &'static str = "7%";
    /// The least number of blocks by default.
    pub const DEFAULT_BLOCKS_MIN: u64 = 8;

    /// The number of extra blocks of a device; `None` stands for the default.
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

/// The volumes of a trace that are replayed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Volume {
    /// All of them, laid end to end, each rounded up to a block.
    All,
    /// The one that the trace calls so.
    Named(String),
}

impl Volume {
    /// The name, if it is a single volume.
    pub fn name(&self) -> Option<&str> {
        match self {
            Volume::All => None,
            Volume::Named(name) => Some(name),
        }
    }
}

impl FromStr for Volume {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Volume> {
        match text {
            "all" => Ok(Volume::All),
            "" => Err(spec::Error::Malformed {
                text: text.to_owned(),
                form: "`all` or the name that a volume has in the trace".into(),
            }),
            name => Ok(Volume::Named(name.to_owned())),
        }
    }
}

impl fmt::Display for Volume {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Volume::All => out.write_str("all"),
            Volume::Named(name) => out.write_str(name),
        }
    }
}

/// The interval between two samples of the series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interval {
    /// This number of requests.
    Every(u64),
    /// The interval that gives 200 to 400 samples, however long the trace is. A short trace is
    /// sampled after every request.
    Auto,
}

impl FromStr for Interval {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Interval> {
        match text {
            "auto" => Ok(Interval::Auto),
            _ if spec::nearest(text, ["auto"]).is_some() => {
                Err(spec::unknown("interval", text, &["auto", "a number of requests"]))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_blocks_are_exact_and_only_the_default_has_a_minimum() {
        let of = |text: &str, logical| Extra::of(Some(text.parse().unwrap()), logical);
        assert_eq!([of("7%", 100), of("7%", 101), of("0.03", 10), of("5blocks", 10)], [7, 8, 1, 5]);
        assert_eq!([Extra::of(None, 10), Extra::of(None, 1000)], [8, 70]);
    }

    #[test]
    fn every_value_is_written_as_it_is_read() {
        for text in ["7%", "10.5%", "20blocks"] {
            assert_eq!(text.parse::<Extra>().unwrap().to_string(), text);
        }
        for text in ["all", "3", "usr,1"] {
            assert_eq!(text.parse::<Volume>().unwrap().to_string(), text);
        }
        for text in ["auto", "4000"] {
            assert_eq!(text.parse::<Interval>().unwrap().to_string(), text);
        }
        let why = |text: &str| text.parse::<Interval>().unwrap_err().to_string();
        assert!(why("aut").contains("did you mean `auto`?"));
        assert!(why("4 000").contains("is not a count"));
    }
}
