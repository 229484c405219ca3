//! The choice of volumes as papers make it: `working_set>=10GiB,written>=2x`.
//!
//! A condition compares a [figure](VolumeFigures) of a volume with a limit; a volume is chosen if
//! it meets all of them.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

use nand::geometry::SECTOR_BYTES;
use spec::Share;

use crate::config::option_text::OptionValue;
use trace::analysis::volume_figures::VolumeFigures;

/// Conditions that a volume must meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VolumeChoice(Vec<Condition>);

/// A figure, a comparison and a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Condition {
    figure: &'static str,
    comparison: &'static str,
    limit: Limit,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    Count(u64),
    Bytes(u64),
    Share(Share),
    /// A multiple of the working set, as the bits of a floating-point number.
    Times(u64),
}

/// The figures that conditions name, with the notation of their limits.
pub const FIGURES: [(&str, &str); 7] = [
    ("requests", "a count such as `1M`"),
    ("reads", "a count such as `1M`"),
    ("writes", "a count such as `1M`"),
    ("write_share", "a share of reads and writes such as `50%`"),
    ("written", "bytes such as `20GiB`, or a multiple of the working set such as `2x`"),
    ("working_set", "bytes of distinct written pages such as `10GiB`"),
    ("rewrites", "a share of page writes such as `50%`"),
];

/// Longer signs first, because `>` begins `>=`.
const COMPARISONS: [&str; 4] = [">=", "<=", ">", "<"];

impl VolumeChoice {
    /// Whether a volume with these figures is chosen.
    pub fn holds(&self, of: &VolumeFigures) -> bool {
        self.0.iter().all(|condition| condition.holds(of))
    }
}

impl Condition {
    /// A volume that writes nothing has written no multiple of its working set.
    fn holds(&self, of: &VolumeFigures) -> bool {
        if matches!(self.limit, Limit::Times(_)) && of.working_set_bytes() == 0 {
            return false;
        }
        let found = match self.figure {
            "requests" => of.requests as f64,
            "reads" => of.reads as f64,
            "writes" => of.writes as f64,
            "write_share" => of.write_share(),
            "written" => of.written_bytes as f64,
            "working_set" => of.working_set_bytes() as f64,
            _ => of.rewrites(),
        };
        let limit = match self.limit {
            Limit::Count(number) | Limit::Bytes(number) => number as f64,
            Limit::Share(share) => share.as_f64(),
            Limit::Times(times) => of.working_set_bytes() as f64 * f64::from_bits(times),
        };
        match self.comparison {
            ">=" => found >= limit,
            "<=" => found <= limit,
            ">" => found.total_cmp(&limit) == Ordering::Greater,
            _ => found.total_cmp(&limit) == Ordering::Less,
        }
    }
}

impl OptionValue for VolumeChoice {}

impl FromStr for VolumeChoice {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<VolumeChoice> {
        text.split(',').map(condition).collect::<spec::Result<_>>().map(VolumeChoice)
    }
}

fn condition(text: &str) -> spec::Result<Condition> {
    let malformed = |form: &str| spec::Error::Malformed { text: text.into(), form: form.into() };
    let parts = COMPARISONS.iter().find_map(|sign| Some((sign, text.split_once(sign)?)));
    let form = "a figure, one of `>=` `<=` `>` `<`, and a limit, such as `written>=2x`";
    let (comparison, (name, limit)) = parts.ok_or_else(|| malformed(form))?;
    let names = || FIGURES.iter().map(|(name, _)| *name);
    let unknown = || spec::Error::Unknown {
        what: "figure of a volume".into(),
        word: name.to_owned(),
        nearest: spec::nearest(name, names()).map(str::to_owned),
        known: names().map(str::to_owned).collect(),
    };
    let known = FIGURES.iter().find(|(known, _)| *known == name.trim());
    let (figure, notation) = known.ok_or_else(unknown)?;
    let limit = read_limit(figure, limit.trim())
        .ok_or_else(|| malformed(&format!("`{figure}` compared with {notation}")))?;
    Ok(Condition { figure, comparison, limit })
}

fn read_limit(figure: &str, text: &str) -> Option<Limit> {
    let times = text.strip_suffix('x').filter(|_| figure == "written");
    match (figure, times) {
        (_, Some(times)) => multiple(times),
        ("requests" | "reads" | "writes", _) => spec::parse_count(text).ok().map(Limit::Count),
        // Fewer bytes than a sector, as in `written>=2`, are a multiple without its `x`.
        ("written" | "working_set", _) => {
            let bytes = spec::parse_size(text).ok();
            bytes.filter(|&bytes| bytes == 0 || bytes >= u64::from(SECTOR_BYTES)).map(Limit::Bytes)
        }
        _ => Share::parse(text).ok().map(Limit::Share),
    }
}

fn multiple(text: &str) -> Option<Limit> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(Limit::Times(number.to_bits()))
}

impl fmt::Display for VolumeChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conditions: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        out.write_str(&conditions.join(","))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.figure, self.comparison)?;
        match self.limit {
            Limit::Count(count) => count.fmt(out),
            Limit::Bytes(bytes) => out.write_str(&spec::print_size(bytes)),
            Limit::Share(share) => share.fmt(out),
            Limit::Times(times) => write!(out, "{}x", f64::from_bits(times)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 pages written, 6 of them again, of 8 reads and 10 writes.
    fn figures() -> VolumeFigures {
        VolumeFigures {
            requests: 20,
            reads: 8,
            writes: 10,
            written_bytes: 40_960,
            page_writes: 16,
            written_pages: 10,
            ..VolumeFigures::default()
        }
    }

    #[test]
    fn conditions_compare_figures_with_limits() {
        for (text, holds) in [
            ("requests>=20", true),
            ("requests>20", false),
            ("reads<=8,writes<10", false),
            ("write_share>55%", true),
            ("working_set>=40KiB", true),
            ("working_set<40KiB", false),
            ("written>=1x", true),
            ("written>0", true),
            ("written>=512", true),
            ("written>=1.5x", false),
            ("written>1x", false),
            ("rewrites>=37.5%,rewrites<38%", true),
        ] {
            let choice: VolumeChoice = text.parse().unwrap();
            assert_eq!(choice.holds(&figures()), holds, "{text}");
            assert_eq!(choice.to_string().parse(), Ok(choice), "{text}");
        }
        // A volume that writes nothing meets no lower limit, and no multiple of nothing.
        let idle = VolumeFigures::default();
        for text in ["rewrites>0%", "written>=2x", "written<=2x"] {
            assert!(!text.parse::<VolumeChoice>().unwrap().holds(&idle), "{text}");
        }
    }

    #[test]
    fn a_condition_that_is_none_says_what_is_known() {
        let why = |text: &str| text.parse::<VolumeChoice>().unwrap_err().to_string();
        assert!(why("writtn>=2x").contains("did you mean `written`"), "{}", why("writtn>=2x"));
        assert!(why("written").contains("such as `written>=2x`"));
        assert!(why("written=2x").contains("such as `written>=2x`"));
        assert!(why("written>=2").contains("a multiple of the working set such as `2x`"));
        assert!(why("rewrites>=2x").contains("a share of page writes such as `50%`"));
        assert!(why("writes>=10%").contains("a count such as `1M`"));
        assert!(why("").contains("such as `written>=2x`"));
    }
}
