//! Power cuts: when they strike and what they leave on flash.
//!
//! A cut interrupts one program or erase. The flash is then in one of several states, the
//! [`Outcome`]s of that operation. Real flash shows all of them, so tests try all of them.
//!
//! On a chip with several dies a cut interrupts one operation of each die. All operations since the
//! last [wait](crate::Nand::wait) are *in flight*, and every die may be as far as it likes:
//!
//! ```text
//! wait   die 0   p1 ✓   p3 ✓   p4 torn
//!        die 1   p2 torn   p5 not begun
//! ```

use core::fmt;

use spec::named_enum;

use crate::address::{BlockId, Lpn, Ppn};
use crate::error::{Error, Result};
use crate::flash_array::{FlashArray, scatter};
use crate::page_store::Health;

named_enum! {
    /// What an interrupted operation leaves on flash.
    pub enum Outcome: "outcome" {
        /// Program or erase: no change.
        Untouched = "untouched",
        /// Program: some of the cells are written; error correction fails.
        Torn = "torn",
        /// Program: the page is written so weakly that it still reads as erased, but it is not.
        LooksErased = "looks-erased",
        /// Program: the page can be read until it decays, which may be many mounts later.
        Unstable = "unstable",
        /// Erase: the block reads as erased, but it must be erased again before it is programmed.
        Half = "half",
        /// Program or erase: the operation completed, but it was never acknowledged.
        Complete = "complete",
        /// Program: a bit of the spare area is wrong, and error correction did not notice.
        Flipped = "flipped",
        /// Program: the page has the spare area of the page that was programmed before it.
        Stale = "stale",
        /// Program: an erased page of another block was programmed instead.
        Misdirected = "misdirected",
        /// Program of an upper page: it is torn, and its lower pages are destroyed.
        Paired = "paired",
        /// Erase: all pages still read as before, until they decay; the block must be erased again
        /// before it is programmed.
        Intact = "intact",
        /// Erase: some pages still read as before, some of them until they decay; others are torn
        /// or look erased. The block must be erased again before it is programmed.
        Mixed = "mixed",
        /// Program or erase on a chip with several dies: each die has completed some of its
        /// operations in flight, and was interrupted in the next one.
        Reordered = "reordered",
        /// The same after a time of low supply: completed pages can be read until they decay.
        BrownedOut = "browned-out",
    }
}

impl Outcome {
    /// The outcomes of a program of an upper page.
    pub const OF_UPPER_PROGRAM: &'static [Outcome] = &[
        Outcome::Untouched,
        Outcome::Torn,
        Outcome::LooksErased,
        Outcome::Unstable,
        Outcome::Complete,
        Outcome::Flipped,
        Outcome::Stale,
        Outcome::Misdirected,
        Outcome::Paired,
    ];
    /// The outcomes of any other program: all but the last one.
    pub const OF_PROGRAM: &'static [Outcome] = Self::OF_UPPER_PROGRAM.split_at(8).0;
    /// The outcomes of an erase.
    pub const OF_ERASE: &'static [Outcome] =
        &[Outcome::Untouched, Outcome::Half, Outcome::Complete, Outcome::Intact, Outcome::Mixed];

    /// Whether it concerns all operations in flight, and not only the last one.
    pub fn is_of_all_dies(self) -> bool {
        matches!(self, Outcome::Reordered | Outcome::BrownedOut)
    }

    /// Whether the flash in this state follows from the flash before the operation, not after it.
    fn starts_from_before(self) -> bool {
        matches!(self, Outcome::Untouched | Outcome::Intact | Outcome::Mixed)
    }
}

/// How a cut finds the dies that it interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DieDraw {
    /// Draws how far each die is, and what is left of the operation that is interrupted on it.
    pub number: u64,
    /// What may be left of it besides nothing: bit n stands for the n-th [`Outcome`].
    pub may_leave: u32,
}

impl From<u64> for DieDraw {
    /// Everything may be left.
    fn from(number: u64) -> DieDraw {
        DieDraw { number, may_leave: u32::MAX }
    }
}

/// An operation that a power cut can interrupt. Reads leave nothing on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptible {
    /// The program of a page.
    Program(Ppn),
    /// The erase of a block.
    Erase(BlockId),
}

impl fmt::Display for Interruptible {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Interruptible::Program(ppn) => write!(out, "program of page {}", ppn.0),
            Interruptible::Erase(block) => write!(out, "erase of block {}", block.0),
        }
    }
}

impl Interruptible {
    /// The die that works.
    fn die(self, flash: &FlashArray) -> u32 {
        let geometry = flash.geometry();
        geometry.die_of(match self {
            Interruptible::Program(ppn) => geometry.block_of(ppn),
            Interruptible::Erase(block) => block,
        })
    }

    /// Does to this flash what the operation did to the one that it left.
    fn repeat(self, flash: &mut FlashArray, left: &FlashArray) -> Result<()> {
        match self {
            Interruptible::Program(ppn) => flash.program_as_in(left, ppn),
            Interruptible::Erase(block) => {
                flash.erase(block)?;
                // It may have failed.
                if left.is_half_erased(block) { flash.half_erase(block) } else { Ok(()) }
            }
        }
    }

    /// What remains of this operation where other dies were interrupted too.
    fn outcomes_on_its_die(
        self,
        flash: &FlashArray,
        draw: DieDraw,
    ) -> impl Iterator<Item = Outcome> {
        let is_possible = move |outcome: &Outcome| {
            let has_wrong_spare =
                matches!(outcome, Outcome::Flipped | Outcome::Stale | Outcome::Misdirected);
            let may_be_left =
                *outcome == Outcome::Untouched || draw.may_leave >> *outcome as u32 & 1 == 1;
            !has_wrong_spare && *outcome != Outcome::Complete && may_be_left
        };
        self.outcomes(flash).iter().copied().filter(is_possible)
    }

    /// What a cut during this operation can leave on flash.
    fn outcomes(self, flash: &FlashArray) -> &'static [Outcome] {
        match self {
            Interruptible::Program(ppn) if flash.lower_pages(ppn).next().is_some() => {
                Outcome::OF_UPPER_PROGRAM
            }
            Interruptible::Program(_) => Outcome::OF_PROGRAM,
            Interruptible::Erase(_) => Outcome::OF_ERASE,
        }
    }
}

/// What a cut has left of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The operation.
    pub operation: Interruptible,
    /// What is left of it; none if it had not begun.
    pub outcome: Option<Outcome>,
}

impl fmt::Display for Left {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let outcome = self.outcome.map_or("not begun", Outcome::name);
        write!(out, "{} {outcome}", self.operation)
    }
}

/// A cut to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Programs and erases that still succeed before it.
    pub after: u64,
    /// What it leaves; [`Outcome::Untouched`] if the interrupted operation has no such outcome.
    pub outcome: Outcome,
}

/// The flash after one program or erase.
pub struct Snapshot {
    /// The operation.
    pub operation: Interruptible,
    /// The flash after it.
    pub after: FlashArray,
    /// How many of the operations before it were in flight when it began.
    pub in_flight: usize,
}

impl Snapshot {
    /// What a cut during the operation can leave on flash.
    pub fn outcomes(&self) -> &'static [Outcome] {
        self.operation.outcomes(&self.after)
    }

    /// The flash as a cut during this operation leaves it; `before` is the flash before it.
    ///
    /// # Errors
    /// The storage failed.
    pub fn interrupted(&self, before: &FlashArray, outcome: Outcome) -> Result<FlashArray> {
        let flash = if outcome.starts_from_before() { before } else { &self.after };
        let mut flash = flash.try_clone()?;
        flash.number_as(&self.after);
        interrupt(&mut flash, self.operation, outcome)?;
        Ok(flash)
    }
}

/// The flash as a cut leaves it while these operations are in flight, the last one included. Each
/// die has completed some of its operations, and the next one is interrupted; `draw` tells how
/// many, and how. `idle` is the flash before them. If the supply was too low for some time
/// ([`Outcome::BrownedOut`]), completed pages are weak: all of them if `draw` is even, else some.
///
/// # Errors
/// The storage failed.
///
/// # Panics
/// The flash keeps no pages.
pub fn reordered(
    idle: &FlashArray,
    in_flight: &[Snapshot],
    outcome: Outcome,
    draw: impl Into<DieDraw>,
) -> Result<FlashArray> {
    let (mut flash, draw) = (idle.try_clone()?, draw.into());
    if let Some(first) = in_flight.first() {
        flash.number_as(&first.after);
    }
    let DieDraw { number, .. } = draw;
    let is_weak = |ppn| number.is_multiple_of(2) || scatter(ppn, number).is_multiple_of(2);
    let left = left_on_dies(idle, in_flight, draw);
    for (Left { operation, outcome: left }, Snapshot { after, .. }) in left.iter().zip(in_flight) {
        let Some(left) = *left else { continue };
        if !left.starts_from_before() {
            operation.repeat(&mut flash, after)?;
        }
        interrupt(&mut flash, *operation, left)?;
        // What comes later on this die may still destroy or erase the page.
        if let (Interruptible::Program(ppn), Outcome::Complete) = (*operation, left)
            && outcome == Outcome::BrownedOut
            && is_weak(ppn)
        {
            flash.tear(ppn, Health::Unstable)?;
        }
    }
    Ok(flash)
}

/// What is left of each of these operations in flight, in their order. Of the operations of one
/// die, some are complete, the next one was interrupted, and the others had not begun.
fn left_on_dies(idle: &FlashArray, in_flight: &[Snapshot], draw: DieDraw) -> Vec<Left> {
    let mut dies = DieAtCut::all(idle, in_flight, draw.number);
    let left = |&Snapshot { operation, ref after, .. }: &Snapshot| {
        let die = &mut dies[operation.die(idle) as usize];
        let outcome = match die.next() {
            Progress::Complete => Some(Outcome::Complete),
            Progress::Interrupted => {
                let outcomes: Vec<Outcome> = operation.outcomes_on_its_die(after, draw).collect();
                Some(outcomes[die.below(outcomes.len())])
            }
            Progress::NotBegun => None,
        };
        Left { operation, outcome }
    };
    in_flight.iter().map(left).collect()
}

/// How far a die is with one of its operations.
enum Progress {
    Complete,
    Interrupted,
    NotBegun,
}

/// A die at a cut that finds each somewhere else.
struct DieAtCut {
    number: u32,
    draws: u64,
    /// How many operations come before the one that is interrupted; none if that has passed.
    left: Option<usize>,
}

impl DieAtCut {
    /// All dies of a chip with these operations in flight.
    fn all(flash: &FlashArray, in_flight: &[Snapshot], draw: u64) -> Vec<DieAtCut> {
        let at_cut = |number| {
            let draws = scatter(Ppn(number), draw);
            let mut die = DieAtCut { number, draws, left: None };
            let own = in_flight.iter().filter(|it| it.operation.die(flash) == number);
            die.left = Some(die.below(own.count() + 1));
            die
        };
        (0..flash.geometry().dies()).map(at_cut).collect()
    }

    /// The next number drawn, below `count`.
    fn below(&mut self, count: usize) -> usize {
        let drawn = self.draws % count as u64;
        self.draws = scatter(Ppn(self.number), self.draws);
        drawn as usize
    }

    /// How far it is with its next operation.
    fn next(&mut self) -> Progress {
        let Some(left) = self.left else { return Progress::NotBegun };
        self.left = left.checked_sub(1);
        if left > 0 { Progress::Complete } else { Progress::Interrupted }
    }
}

/// Turns the state after an operation, or before it, into the state that a cut during it leaves.
/// Pages that an earlier cut left unstable stay so.
fn interrupt(flash: &mut FlashArray, operation: Interruptible, outcome: Outcome) -> Result<()> {
    match (operation, outcome) {
        (Interruptible::Program(ppn), Outcome::Torn) => flash.tear(ppn, Health::Torn),
        (Interruptible::Program(ppn), Outcome::LooksErased) => flash.tear(ppn, Health::LooksErased),
        (Interruptible::Program(ppn), Outcome::Unstable) => flash.tear(ppn, Health::Unstable),
        (Interruptible::Program(ppn), Outcome::Paired) => {
            for page in flash.lower_pages(ppn).chain([ppn]) {
                if flash.owner(page) != Lpn::NONE {
                    flash.tear(page, Health::Torn)?;
                }
            }
            Ok(())
        }
        (Interruptible::Program(ppn), Outcome::Flipped) => flash.flip_bit(ppn),
        (Interruptible::Program(ppn), Outcome::Stale) => flash.repeat_header(ppn),
        (Interruptible::Program(ppn), Outcome::Misdirected) => flash.misdirect(ppn),
        (Interruptible::Erase(block), Outcome::Half) => flash.half_erase(block),
        (Interruptible::Erase(block), Outcome::Intact) => flash.weaken_block(block),
        (Interruptible::Erase(block), Outcome::Mixed) => flash.mix_block(block),
        _ => Ok(()),
    }
}

/// The power of a chip under test: it can be cut, and every state that a cut could hit can be
/// recorded.
#[derive(Default)]
pub(crate) struct TestPower {
    cut: Option<Cut>,
    /// How a cut finds the dies if it reorders operations.
    draw: Option<DieDraw>,
    /// Operations, reads included, after which all unstable pages decay.
    decay_after: Option<u64>,
    recording: Option<Vec<Snapshot>>,
    /// How many operations are in flight.
    in_flight: usize,
    /// What a cut needs that reorders them: the flash before them, and they themselves.
    kept: Option<(FlashArray, Vec<Snapshot>)>,
    off: bool,
    /// The outcome of the cut that has struck.
    struck: Option<Outcome>,
    /// What it left of the operations in flight, the one that it struck last; empty if that was in
    /// memory only.
    left: Vec<Left>,
}

impl TestPower {
    pub(crate) fn cut_after(&mut self, cut: Cut) {
        self.cut = Some(cut);
    }

    pub(crate) fn draw_dies(&mut self, draw: DieDraw) {
        self.draw = Some(draw);
    }

    pub(crate) fn decay_after(&mut self, operations: u64) {
        self.decay_after = Some(operations);
    }

    /// All dies are idle: nothing is in flight any more.
    pub(crate) fn all_idle(&mut self) {
        self.in_flight = 0;
        self.kept = None;
    }

    /// Lets an operation pass: unstable pages decay before it if their time has come.
    pub(crate) fn pass(&mut self, flash: &mut FlashArray) -> Result<()> {
        match &mut self.decay_after {
            Some(0) => {
                self.decay_after = None;
                flash.decay()
            }
            Some(operations) => {
                *operations -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub(crate) fn record(&mut self) {
        self.recording = Some(Vec::new());
    }

    pub(crate) fn take_snapshots(&mut self) -> Vec<Snapshot> {
        self.recording.as_mut().map(core::mem::take).unwrap_or_default()
    }

    pub(crate) fn is_on(&self) -> bool {
        !self.off
    }

    pub(crate) fn struck(&self) -> Option<Outcome> {
        self.struck
    }

    pub(crate) fn left(&self) -> &[Left] {
        &self.left
    }

    /// Starts an operation. Returns what the cut leaves on flash if it strikes this one; the
    /// operation is then [completed](Self::end) all the same, unless it leaves no change.
    pub(crate) fn begin(
        &mut self,
        flash: &mut FlashArray,
        operation: Interruptible,
    ) -> Result<Option<Outcome>> {
        self.pass(flash)?;
        let reorders = self.reorders(flash);
        if reorders && self.kept.is_none() {
            self.kept = Some((flash.try_clone()?, Vec::new()));
        }
        match self.cut {
            _ if self.off => Err(Error::PowerLost),
            Some(cut) if cut.after == 0 => {
                let possible = operation.outcomes(flash).contains(&cut.outcome);
                let outcome = match possible || reorders {
                    true => cut.outcome,
                    false => Outcome::Untouched,
                };
                if !outcome.starts_from_before() {
                    return Ok(Some(outcome));
                }
                self.fail(flash, operation, outcome)
            }
            _ => Ok(None),
        }
    }

    /// Lets an operation pass that happens in memory only. A cut leaves the flash as it was.
    pub(crate) fn pass_in_memory(&mut self, flash: &mut FlashArray) -> Result<()> {
        self.pass(flash)?;
        match &mut self.cut {
            _ if self.off => Err(Error::PowerLost),
            Some(Cut { after: 0, .. }) => {
                let struck = Some(Outcome::Untouched);
                *self = TestPower { off: true, struck, ..TestPower::default() };
                Err(Error::PowerLost)
            }
            Some(cut) => {
                cut.after -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn reorders(&self, flash: &FlashArray) -> bool {
        self.cut.is_some_and(|cut| cut.outcome.is_of_all_dies()) && flash.can_reorder()
    }

    /// Ends an operation that took place. Only these count: a copy whose source has decayed does
    /// not begin.
    pub(crate) fn end(
        &mut self,
        flash: &mut FlashArray,
        operation: Interruptible,
        cut: Option<Outcome>,
    ) -> Result<()> {
        let in_flight = self.in_flight;
        self.in_flight += usize::from(flash.geometry().dies() > 1);
        if let Some((_, kept)) = &mut self.kept {
            kept.push(Snapshot { operation, after: flash.try_clone()?, in_flight });
        }
        if let Some(outcome) = cut {
            return self.fail(flash, operation, outcome);
        }
        if let Some(cut) = &mut self.cut {
            cut.after -= 1;
        }
        if let Some(recording) = &mut self.recording {
            recording.push(Snapshot { operation, after: flash.try_clone()?, in_flight });
        }
        Ok(())
    }

    /// Cuts the power; whatever was armed or recorded is gone with it.
    fn fail<T>(
        &mut self,
        flash: &mut FlashArray,
        operation: Interruptible,
        outcome: Outcome,
    ) -> Result<T> {
        let left = match &self.kept {
            Some((idle, kept)) => {
                let dies = self.draw.unwrap_or_else(|| 0.into());
                *flash = reordered(idle, kept, outcome, dies)?;
                left_on_dies(idle, kept, dies)
            }
            None => {
                interrupt(flash, operation, outcome)?;
                vec![Left { operation, outcome: Some(outcome) }]
            }
        };
        *self = TestPower { off: true, struck: Some(outcome), left, ..TestPower::default() };
        Err(Error::PowerLost)
    }
}
