//! The rules of faster that can be read in more than one way, and three readings as presets.

use spec::{Kind, Param, Params, Share, Value};

use crate::part::log::fully_associative::Streams;
use crate::part::log::random_log::CarriedTo;

/// The parameters. Those without a default take their values from the reading.
pub static PARAMS: &[Param] = &[
    Param {
        name: "as",
        kind: Kind::Choice(&["table2", "paper", "firmware"]),
        default: "table2",
        unit: "",
        doc: "the reading that gives the other rules their defaults: table2, the rules that \
              reproduce Table II of the paper; paper, its text alone; firmware, its author's \
              firmware of 2011",
    },
    Param {
        name: "second_chance",
        kind: Kind::Switch,
        default: "true",
        unit: "",
        doc: "whether valid pages of a victim are copied to the head of the log once (§IV.A)",
    },
    Param::key(
        "threshold",
        Kind::Share,
        "",
        "a victim with fewer valid pages than this share of its pages is carried over whole, also \
         pages that had their second chance; default: 50%, as=paper: 0%",
    ),
    Param::key(
        "mark_in_place",
        Kind::Switch,
        "",
        "whether a victim of valid pages that the host wrote is not copied, but marked and passed \
         over once; default: false, as=firmware: true",
    ),
    Param::key(
        "carried",
        Kind::Choice(&["shared", "own"]),
        "",
        "where carried pages go: shared, to the block in which the host writes on; own, to blocks \
         of their own; default: shared",
    ),
    Param {
        name: "isolation",
        kind: Kind::Switch,
        default: "true",
        unit: "",
        doc: "whether pages that had their second chance go to an isolation area and are merged a \
              few at a time (§IV.B)",
    },
    Param::key(
        "isolation_blocks",
        Kind::CountOrShare,
        "blocks",
        "the number of log blocks in the isolation area, or their share of the log, rounded up; \
         none with isolation=false; default: 8%, as=paper: 1, as=firmware: 20%",
    ),
    Param::key(
        "merge",
        Kind::Choice(&["late", "eager", "paced"]),
        "",
        "when isolated pages are merged: late, after a page of the host that neither reclaimed a \
         block nor ended a stream, while at most two blocks of the area are not full; eager, \
         before every page of the host; paced, like late, and besides at a steady pace that tunes \
         itself, while at least two blocks of the area are full; default: late, as=paper: eager, \
         as=firmware: paced",
    ),
    Param {
        name: "merges_per_write",
        kind: Kind::Count,
        default: "1",
        unit: "data blocks",
        doc: "the number of data blocks with isolated pages that are merged at each page that the \
              host writes, if `merge` allows it",
    },
    Streams::param(
        "how a log block for a sequential stream is opened: run, by the sixth consecutive page; \
         offset0, by a write at offset 0, as in fast; false, never; default: run, as=paper: \
         offset0",
    ),
];

/// When isolated pages are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeTime {
    /// After a page of the host, as long as the area is nearly full.
    Late,
    /// Before each page of the host.
    Eager,
    /// Like late, and besides at a steady pace that tunes itself.
    Paced,
}

/// The size of the isolation area.
#[derive(Clone, Copy, Debug)]
enum AreaSize {
    Blocks(u64),
    /// A share of the log blocks, rounded up.
    OfLog(Share),
}

/// The rules of a device.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether pages are carried over once.
    pub second_chance: bool,
    /// The share of valid pages below which a victim is carried over whole.
    pub threshold: Share,
    /// Whether a wholly valid victim is marked where it stands.
    pub mark_in_place: bool,
    /// Where carried pages go.
    pub carried: CarriedTo,
    area: Option<AreaSize>,
    /// When isolated pages are merged.
    pub merge: MergeTime,
    /// Number of data blocks that are merged at each page of the host.
    pub merges_per_write: u64,
    /// How a sequential stream is recognised.
    pub streams: Streams,
}

impl Rules {
    /// The rules of a reading, with those parameters that were given.
    pub fn of(params: &Params) -> Rules {
        let reading = params.choice("as");
        let (is_paper, is_firmware) = (reading == "paper", reading == "firmware");
        let percent = |text| Share::parse(text).expect("a preset is a share");
        let area = match params.get("isolation_blocks") {
            Some(Value::Count(blocks)) => AreaSize::Blocks(*blocks),
            Some(Value::Share(share)) => AreaSize::OfLog(*share),
            _ if is_paper => AreaSize::Blocks(1),
            _ => AreaSize::OfLog(percent(if is_firmware { "20%" } else { "8%" })),
        };
        let merge = match params.opt_choice("merge") {
            Some("eager") => MergeTime::Eager,
            Some("paced") => MergeTime::Paced,
            Some(_) => MergeTime::Late,
            None if is_paper => MergeTime::Eager,
            None if is_firmware => MergeTime::Paced,
            None => MergeTime::Late,
        };
        let streams = if is_paper { Streams::AtOffset0 } else { Streams::ByRun };
        Rules {
            second_chance: params.switch("second_chance"),
            threshold: params
                .opt_share("threshold")
                .unwrap_or_else(|| if is_paper { Share::NONE } else { percent("50%") }),
            mark_in_place: params.opt_switch("mark_in_place").unwrap_or(is_firmware),
            carried: match params.opt_choice("carried") {
                Some("own") => CarriedTo::OwnBlocks,
                _ => CarriedTo::Head,
            },
            area: params.switch("isolation").then_some(area),
            merge,
            merges_per_write: params.count("merges_per_write"),
            streams: Streams::given(params).unwrap_or(streams),
        }
    }

    /// Why the rules cannot be kept, if they cannot.
    pub fn refused(self) -> Option<String> {
        if self.threshold.exceeds_whole() {
            return Some(format!("threshold={}; 0% to 100% are possible", self.threshold));
        }
        match self.area? {
            AreaSize::OfLog(share) if share.floor_of(100) >= 100 => Some(format!(
                "isolation_blocks={share}; the log needs other blocks too, so the share must be \
                 below 100%"
            )),
            size if size.of(1) == 0 => {
                Some("isolation_blocks is 0; without an area say isolation=false".into())
            }
            _ => None,
        }
    }

    /// Number of blocks of the isolation area in a log of `log_blocks`.
    pub fn isolation_blocks(self, log_blocks: u32) -> u32 {
        self.area.map_or(0, |size| size.of(log_blocks))
    }

    /// The minimum number of log blocks: the isolation area, and two others. If carried pages have
    /// blocks of their own, one more, because the block that takes them is never a victim.
    pub fn least_log_blocks(self) -> u32 {
        let others = 2 + u32::from(self.carried == CarriedTo::OwnBlocks);
        match self.area {
            None => others,
            Some(AreaSize::Blocks(blocks)) => saturated(blocks).saturating_add(others),
            Some(AreaSize::OfLog(share)) => {
                // The least n with n − ⌈share·n⌉ ≥ others.
                let (part, whole) = (share.numerator(), share.denominator());
                let rest = u128::from(whole - part);
                saturated(u128::from(others).saturating_mul(whole.into()).div_ceil(rest))
            }
        }
    }
}

impl AreaSize {
    fn of(self, log_blocks: u32) -> u32 {
        match self {
            AreaSize::Blocks(blocks) => saturated(blocks),
            AreaSize::OfLog(share) => saturated(share.ceil_of(log_blocks.into())),
        }
    }
}

fn saturated(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}
