//! How often flash fails: `perfect`, or `real` with figures.

use core::fmt;

use spec::{Kind, Param, Share, Spec};

/// How flash fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MediaModel {
    /// The share of blocks that come bad from the factory.
    pub factory_bad: Share,
    /// The mean number of erases that a block can take.
    pub endurance: u32,
    /// The standard deviation of that number, as a share of the mean: the numbers are normal.
    pub spread: Share,
    /// The share of programs that fail.
    pub program_fail: Share,
    /// The share of erases that fail although the block is not worn out.
    pub erase_fail: Share,
    /// The share of programs whose page cannot be read afterwards.
    pub unreadable: Share,
    /// The share of reads that have to be made again.
    pub read_fail: Share,
}

static PARAMS: &[Param] = &[
    Param {
        name: "factory_bad",
        kind: Kind::Share,
        default: "0.5%",
        unit: "of the blocks",
        doc: "blocks that come bad from the factory",
    },
    Param::key(
        "endurance",
        Kind::Count,
        "erases",
        "erases that a block can take, on average; by default those for which the chip is rated",
    ),
    Param {
        name: "spread",
        kind: Kind::Share,
        default: "10%",
        unit: "of the endurance",
        doc: "standard deviation of the erases that a block can take",
    },
    Param {
        name: "program_fail",
        kind: Kind::Share,
        default: "0%",
        unit: "of the programs",
        doc: "programs that fail",
    },
    Param {
        name: "erase_fail",
        kind: Kind::Share,
        default: "0%",
        unit: "of the erases",
        doc: "erases that fail before the block is worn out",
    },
    Param {
        name: "unreadable",
        kind: Kind::Share,
        default: "0%",
        unit: "of the programs",
        doc: "programs whose page cannot be read afterwards",
    },
    Param {
        name: "read_fail",
        kind: Kind::Share,
        default: "0%",
        unit: "of the reads",
        doc: "reads that have to be made again",
    },
];

/// The names: flash that never fails, and flash that does.
pub const NAMES: &[&str] = &["perfect", "real"];

impl MediaModel {
    /// Whether reads fail, for good or once: then a chip must keep its pages.
    pub fn reads_fail(&self) -> bool {
        self.unreadable.as_f64() + self.read_fail.as_f64() > 0.0
    }

    /// The model that a spec names, of a chip whose blocks are rated for this number of erases;
    /// none if it is `perfect`.
    ///
    /// # Errors
    /// The text is malformed, a key is unknown, or a figure is impossible.
    pub fn parse(text: &str, rated_cycles: u32) -> spec::Result<Option<MediaModel>> {
        let Spec { name, pairs } = Spec::parse(text)?;
        if !NAMES.contains(&name.as_str()) {
            return Err(spec::unknown("media", &name, NAMES));
        }
        let params = spec::resolve(
            &format!("media {name}"),
            &pairs,
            if name == "real" { PARAMS } else { &[] },
        )?;
        if name == "perfect" {
            return Ok(None);
        }
        let share = |key: &str| match params.share(key) {
            share if share.as_f64() <= 1.0 => Ok(share),
            share => Err(malformed(share, &format!("a share of at most 100% for `{key}`"))),
        };
        let given = params.opt_count("endurance").unwrap_or(rated_cycles.into());
        let endurance = u32::try_from(given).ok().filter(|&cycles| cycles > 0);
        Ok(Some(MediaModel {
            factory_bad: share("factory_bad")?,
            endurance: endurance
                .ok_or_else(|| malformed(given, "at least one erase, and fewer than 2^32"))?,
            spread: share("spread")?,
            program_fail: share("program_fail")?,
            erase_fail: share("erase_fail")?,
            unreadable: share("unreadable")?,
            read_fail: share("read_fail")?,
        }))
    }
}

impl fmt::Display for MediaModel {
    /// The spec with all figures, as [`parse`](Self::parse) reads it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MediaModel { factory_bad, endurance, spread, .. } = self;
        let MediaModel { program_fail, erase_fail, unreadable, read_fail, .. } = self;
        write!(out, "real:factory_bad={factory_bad},endurance={endurance},spread={spread},")?;
        write!(out, "program_fail={program_fail},erase_fail={erase_fail}")?;
        // An image that was made before there were these figures has the same text as now.
        match (unreadable.as_f64(), read_fail.as_f64()) {
            (0.0, 0.0) => Ok(()),
            _ => write!(out, ",unreadable={unreadable},read_fail={read_fail}"),
        }
    }
}

fn malformed(value: impl fmt::Display, form: &str) -> spec::Error {
    spec::Error::Malformed { text: value.to_string(), form: form.to_owned() }
}
