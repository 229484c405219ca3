//! The end of a run: `steady[:rounds=N][,round=SHARE][,range=SHARE][,slope=SHARE]`.
//!
//! The rule is that of SNIA's Solid State Storage Performance Test Specification 2.0.2 (October
//! 2020), section 2.1.24. A device is in a steady state if, within a window of rounds,
//!
//! * the largest and the smallest value differ by at most 20 % of the mean ("range"), and
//! * the largest and the smallest value of the straight line that fits best differ by at most 10 %
//!   of the mean ("slope").
//!
//! Some readings are stricter: no value may be off the mean by more than 10 %. `range=10%` implies
//! that.

use core::fmt;
use core::str::FromStr;

use spec::{Kind, Param, Share, Spec};

use crate::config::option_text::OptionValue;

/// The rule by which rounds end in a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SteadyRule {
    /// The most rounds, at least [`ROUNDS_MIN`].
    pub rounds: u32,
    /// Pages that the host writes in a round, as a share of the logical pages.
    pub round: Share,
    /// The most by which the values of a window differ, as a share of their mean.
    pub range: Share,
    /// The most by which their best line rises or falls, as a share of their mean.
    pub slope: Share,
}

/// Rounds in a window.
pub const WINDOW: usize = 5;
/// The least number of rounds: one in which the extra blocks fill, and those of a window.
pub const ROUNDS_MIN: u32 = WINDOW as u32 + 1;

static PARAMS: &[Param] = &[
    Param {
        name: "rounds",
        kind: Kind::Count,
        default: "25",
        unit: "rounds",
        doc: "the most rounds; then the run ends without a steady state",
    },
    Param {
        name: "round",
        kind: Kind::Share,
        default: "100%",
        unit: "of the logical pages",
        doc: "the pages that the host writes in a round",
    },
    Param {
        name: "range",
        kind: Kind::Share,
        default: "20%",
        unit: "of the mean",
        doc: "the most by which the largest and the smallest value may differ",
    },
    Param {
        name: "slope",
        kind: Kind::Share,
        default: "10%",
        unit: "of the mean",
        doc: "the most by which the line through the values may rise or fall",
    },
];

const NAMES: &[&str] = &["steady"];

impl SteadyRule {
    /// The pages that the host writes in a round.
    pub fn round_pages(&self, logical_pages: u32) -> u64 {
        self.round.ceil_of(logical_pages.into())
    }

    /// The keys and their values as texts.
    fn texts(&self) -> [String; 4] {
        let SteadyRule { rounds, round, range, slope } = self;
        [rounds.to_string(), round.to_string(), range.to_string(), slope.to_string()]
    }
}

impl OptionValue for SteadyRule {
    const KEYWORDS: &'static [&'static str] = NAMES;
}

impl FromStr for SteadyRule {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<SteadyRule> {
        let Spec { name, pairs } = Spec::parse(text)?;
        if name != NAMES[0] {
            return Err(spec::unknown("end", &name, NAMES));
        }
        let params = spec::resolve("until steady", &pairs, PARAMS)?;
        let share = |key| match params.share(key) {
            share if share.numerator() > 0 => Ok(share),
            share => Err(malformed(share, &format!("a share above 0% for `{key}`"))),
        };
        let rounds = params.count("rounds");
        let rounds = u32::try_from(rounds).ok().filter(|&rounds| rounds >= ROUNDS_MIN);
        Ok(SteadyRule {
            rounds: rounds.ok_or_else(|| {
                malformed(params.count("rounds"), "at least 6 rounds: one, and the 5 of a window")
            })?,
            round: share("round")?,
            range: share("range")?,
            slope: share("slope")?,
        })
    }
}

impl fmt::Display for SteadyRule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(NAMES[0])?;
        let given = PARAMS.iter().zip(self.texts());
        let given = given.filter(|(param, text)| *text != param.default);
        for (number, (param, text)) in given.enumerate() {
            let separator = if number == 0 { ':' } else { ',' };
            write!(out, "{separator}{}={text}", param.name)?;
        }
        Ok(())
    }
}

fn malformed(value: impl fmt::Display, form: &str) -> spec::Error {
    spec::Error::Malformed { text: value.to_string(), form: form.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_written_as_it_is_read() {
        for text in ["steady", "steady:rounds=40", "steady:round=50%,range=10%,slope=2.5%"] {
            assert_eq!(text.parse::<SteadyRule>().unwrap().to_string(), text);
        }
        let explicit = "steady:rounds=25,round=100%,range=20%,slope=10%";
        assert_eq!(explicit.parse::<SteadyRule>(), "steady".parse());
    }

    #[test]
    fn a_round_has_a_share_of_the_logical_pages() {
        let pages = |text: &str| text.parse::<SteadyRule>().unwrap().round_pages(1001);
        assert_eq!([pages("steady"), pages("steady:round=50%")], [1001, 501]);
        assert_eq!(pages("steady:round=250%"), 2503);
    }

    #[test]
    fn impossible_rules_are_refused() {
        for (text, hint) in [
            ("stedy", "did you mean `steady`"),
            ("steady:rounds=5", "at least 6 rounds"),
            ("steady:rounds=5G", "at least 6 rounds"),
            ("steady:round=0%", "above 0% for `round`"),
            ("steady:slope=0", "above 0% for `slope`"),
            ("steady:window=5", "window"),
        ] {
            let message = text.parse::<SteadyRule>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}
