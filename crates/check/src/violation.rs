//! What can be wrong, by name. The kinds of damage are those that Zheng et al. found in real SSDs
//! (FAST '13), and what only a checker inside the device can see.

use std::fmt;

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Zero where data must be.
    Lost,
    /// Older than the contract allows.
    Stale,
    /// Part of a page new, part older than the contract allows.
    Shorn,
    /// The data of another sector.
    Misplaced,
    /// A value that the sector never had.
    Foreign,
    /// Data where a trim must have left zero.
    Resurrected,
    /// Right at first, and gone once what the cut left unstable had decayed.
    Decayed,
    /// A mapped page that cannot be read.
    Unreadable,
    /// The scheme's own audit found a contradiction.
    MapBroken,
    /// The mount refused what a cut can leave.
    Unmountable,
    /// A mount took more operations than its bound.
    Unbounded,
    /// An operation that never ends.
    Endless,
    /// Counts that break a law.
    Miscounted,
    /// Versions that are not in the order of the host's writes.
    Misordered,
    /// An operation failed that had to succeed.
    Refused,
    /// A rule of flash was broken, or an assertion of the scheme.
    Panic,
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Kind::Lost => "lost",
            Kind::Stale => "stale",
            Kind::Shorn => "shorn",
            Kind::Misplaced => "misplaced",
            Kind::Foreign => "foreign",
            Kind::Resurrected => "resurrected trim",
            Kind::Decayed => "unstable decayed",
            Kind::Unreadable => "unreadable",
            Kind::MapBroken => "map broken",
            Kind::Unmountable => "unmountable",
            Kind::Unbounded => "unbounded mount",
            Kind::Endless => "endless",
            Kind::Miscounted => "miscounted",
            Kind::Misordered => "misordered",
            Kind::Refused => "refused",
            Kind::Panic => "panic",
        })
    }
}

/// Something wrong, with its sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {sentence}")]
pub struct Violation {
    /// The kind of damage.
    pub kind: Kind,
    /// What was found, where, and what should have been.
    pub sentence: String,
}

impl Violation {
    /// A violation of that kind.
    pub fn new(kind: Kind, sentence: impl Into<String>) -> Violation {
        Violation { kind, sentence: sentence.into() }
    }
}
