//! Power cuts: when they strike and what they leave behind.
//!
//! A cut strikes one program or erase. What the chip holds afterwards is one of its [`Outcome`]s;
//! a real chip shows all of them, so tests try all of them.

use crate::address::{BlockId, Ppn};
use crate::nand::Nand;
use crate::op::Logged;

/// What the operation that the power left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Program or erase: it never started.
    Untouched,
    /// Program: part of the cells; error correction gives up.
    Torn,
    /// Program: so little that the page still reads as erased, though it is not.
    LooksErased,
    /// Program: it reads well now and badly later.
    Unstable,
    /// Erase: half done; the block reads as erased, but a program would fail.
    Half,
    /// Program or erase: done, but nobody was told.
    Complete,
}

impl Outcome {
    /// All that a program can leave.
    pub const OF_PROGRAM: [Outcome; 5] = [
        Outcome::Untouched,
        Outcome::Torn,
        Outcome::LooksErased,
        Outcome::Unstable,
        Outcome::Complete,
    ];
    /// All that an erase can leave.
    pub const OF_ERASE: [Outcome; 3] = [Outcome::Untouched, Outcome::Half, Outcome::Complete];
    /// The names that users write, in the order of the variants.
    pub const NAMES: &'static [&'static str] =
        &["untouched", "torn", "looks-erased", "unstable", "half", "complete"];
    const ALL: [Outcome; 6] = [
        Outcome::Untouched,
        Outcome::Torn,
        Outcome::LooksErased,
        Outcome::Unstable,
        Outcome::Half,
        Outcome::Complete,
    ];

    /// The outcome of that name.
    pub fn named(name: &str) -> Option<Outcome> {
        Some(Self::ALL[Self::NAMES.iter().position(|known| *known == name)?])
    }

    /// The name that users write.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The operation that a cut strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptible {
    /// Programming this page.
    Program(Ppn),
    /// Erasing this block.
    Erase(BlockId),
}

impl Interruptible {
    /// What this operation can leave.
    pub fn outcomes(self) -> &'static [Outcome] {
        match self {
            Interruptible::Program(_) => &Outcome::OF_PROGRAM,
            Interruptible::Erase(_) => &Outcome::OF_ERASE,
        }
    }
}

/// A cut to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Programs and erases that still succeed before it strikes.
    pub after: u64,
    /// What it leaves; one that the struck operation cannot show counts as [`Outcome::Untouched`].
    pub outcome: Outcome,
}

/// What makes operations take the careful path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) cut: Option<Cut>,
    pub(crate) recording: Option<Vec<Snapshot>>,
    pub(crate) log: Option<Vec<Logged>>,
    pub(crate) off: bool,
}

/// The chip as it stood after one program or erase.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The operation.
    pub operation: Interruptible,
    /// The chip after it.
    pub after: Nand,
}

impl Snapshot {
    /// The chip as a cut during this operation leaves it; `before` is the chip before it.
    pub fn interrupted(&self, before: &Nand, outcome: Outcome) -> Nand {
        let mut nand = match outcome {
            Outcome::Untouched => before.clone(),
            _ => self.after.clone(),
        };
        nand.interrupt(self.operation, outcome);
        nand
    }
}
