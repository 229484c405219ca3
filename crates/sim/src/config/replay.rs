//! When requests are issued: `closed[:depth=N]` or `open[:speed=X]`.

use core::fmt;
use core::str::FromStr;

use spec::{Kind, Param, Spec};

use crate::config::option_text::OptionValue;

/// When the requests of a trace are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replay {
    /// This number of requests is outstanding: a completion issues the next one.
    Closed {
        /// The number, at least 1.
        depth: u32,
    },
    /// Every request is issued at its own time and may have to wait for earlier ones.
    Open {
        /// How much faster than the trace.
        speed: Speed,
    },
}

/// The largest depth: what a queue of an NVMe drive can hold.
const DEPTH_MAX: u64 = 1 << 16;

static CLOSED_PARAMS: &[Param] = &[Param {
    name: "depth",
    kind: Kind::Count,
    default: "1",
    unit: "requests",
    doc: "number of outstanding requests",
}];

static OPEN_PARAMS: &[Param] = &[Param {
    name: "speed",
    kind: Kind::Real,
    default: "1",
    unit: "",
    doc: "times are divided by it",
}];

impl Replay {
    /// One request at a time.
    pub const CLOSED: Replay = Replay::Closed { depth: 1 };
    /// At the trace's own times.
    pub const OPEN: Replay = Replay::Open { speed: Speed::ONE };
    /// The names of the two kinds.
    pub const NAMES: &'static [&'static str] = &["closed", "open"];

    /// Whether requests are issued at their own times.
    pub fn is_open(self) -> bool {
        matches!(self, Replay::Open { .. })
    }
}

impl OptionValue for Replay {
    const KEYWORDS: &'static [&'static str] = Replay::NAMES;
}

impl FromStr for Replay {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Replay> {
        let Spec { name, pairs } = Spec::parse(text)?;
        let params = |params| spec::resolve(&format!("replay {name}"), &pairs, params);
        match name.as_str() {
            "closed" => {
                let depth = params(CLOSED_PARAMS)?.count("depth");
                match depth {
                    1..=DEPTH_MAX => Ok(Replay::Closed { depth: depth as u32 }),
                    _ => Err(malformed(depth, "a depth from 1 to 65536")),
                }
            }
            "open" => Ok(Replay::Open { speed: Speed::of(params(OPEN_PARAMS)?.real("speed"))? }),
            _ => Err(spec::unknown("replay", &name, Replay::NAMES)),
        }
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Replay::Closed { depth: 1 } => out.write_str("closed"),
            Replay::Closed { depth } => write!(out, "closed:depth={depth}"),
            Replay::Open { speed: Speed::ONE } => out.write_str("open"),
            Replay::Open { speed } => write!(out, "open:speed={speed}"),
        }
    }
}

/// How much faster than its own times a trace is replayed, in thousandths. A whole number keeps
/// times exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Speed {
    thousandths: u64,
}

impl Speed {
    /// The trace's own times.
    pub const ONE: Speed = Speed { thousandths: 1000 };

    fn of(real: f64) -> spec::Result<Speed> {
        let thousandths = real * 1000.0;
        let is_whole = (thousandths - thousandths.round()).abs() < 1e-6;
        match is_whole && (1.0..=1e9).contains(&thousandths.round()) {
            true => Ok(Speed { thousandths: thousandths.round() as u64 }),
            false => {
                Err(malformed(real, "a speed from 0.001 to 1000000 with at most three decimals"))
            }
        }
    }

    /// The time at which a request of this time is issued.
    #[inline]
    pub fn issue_ns(self, time_ns: u64) -> u64 {
        if self == Speed::ONE {
            return time_ns;
        }
        let scaled = u128::from(time_ns) * 1000 / u128::from(self.thousandths);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.thousandths as f64 / 1000.0)
    }
}

fn malformed(value: impl fmt::Display, form: &str) -> spec::Error {
    spec::Error::Malformed { text: value.to_string(), form: form.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_replay_is_written_as_it_is_read() {
        for text in ["closed", "closed:depth=32", "open", "open:speed=2", "open:speed=0.125"] {
            assert_eq!(text.parse::<Replay>().unwrap().to_string(), text);
        }
        assert_eq!("closed:depth=1".parse(), Ok(Replay::CLOSED));
        assert_eq!("open:speed=1.000".parse(), Ok(Replay::OPEN));
    }

    #[test]
    fn times_are_divided_by_the_speed() {
        let issue_ns = |text: &str, time_ns| match text.parse().unwrap() {
            Replay::Open { speed } => speed.issue_ns(time_ns),
            closed => panic!("{closed}"),
        };
        assert_eq!([issue_ns("open", 7), issue_ns("open:speed=2", 7)], [7, 3]);
        assert_eq!(issue_ns("open:speed=0.1", 7), 70);
        assert_eq!(issue_ns("open:speed=0.001", u64::MAX), u64::MAX);
    }

    #[test]
    fn impossible_replays_are_refused() {
        for (text, hint) in [
            ("opne", "did you mean `open`"),
            ("closed:speed=2", "depth"),
            ("closed:depth=0", "a depth from 1 to 65536"),
            ("closed:depth=65537", "a depth from 1 to 65536"),
            ("open:speed=0", "a speed from 0.001"),
            ("open:speed=-1", "a speed from 0.001"),
            ("open:speed=0.0005", "three decimals"),
            ("open:speed=fast", "fast"),
        ] {
            let message = text.parse::<Replay>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}
