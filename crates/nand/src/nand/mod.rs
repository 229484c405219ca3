//! The chip: a flash array that counts its operations and can lose its power.
//!
//! An FTL borrows the chip and never owns it, so dropping an FTL and mounting another on the same
//! chip is exactly a power cycle. The rules of flash are those of the [flash array](FlashArray).
//!
//! Its operations are in `operations`, a mount's accounts in `mounting`, its power in `power`.
//! Blocks that fail are in `media`, what the chip does about them in `on_media` and `media_mount`,
//! and failures on command in `media_commands`. Policies of wear levelling are in `wear`, what the
//! chip does for them in `level`.

mod guard;
mod level;
pub mod media;
mod media_commands;
mod media_mount;
pub mod mounting;
mod on_media;
mod operations;
pub mod power;
mod seen_pages;
pub mod wear;

use core::any::Any;

use crate::address::{BlockId, Lpn, Ppn};
use crate::error::Result;
use crate::flash_array::FlashArray;
use crate::geometry::Geometry;
use crate::op::Tally;
use crate::op_sink::{Ledger, OpSink};
use crate::payload::Mode;
use crate::power_cut::TestPower;
use media::Media;
use seen_pages::SeenPages;

/// Work of an FTL before programs. It sees all of them, whoever starts them, except its own.
pub trait ProgramGuard: Send {
    /// The chip is about to program these pages, which are consecutive and in one block.
    ///
    /// # Errors
    /// The power fails.
    fn before_program(&mut self, nand: &mut Nand, first: Ppn, pages: u32) -> Result<()>;

    /// From now on, the FTL relies on all pages that have been programmed.
    fn barrier(&mut self);
}

/// Who looks at programs before they happen. Without anybody, one test is all that it costs.
#[derive(Default)]
struct Guards {
    /// The FTL, until the power fails.
    ftl: Option<Box<dyn ProgramGuard>>,
    /// The media, if they can fail.
    media: Option<Media>,
}

/// A single-plane NAND chip, which is lent to an FTL for each call.
///
/// The caller obeys the rules of flash: it programs a page once between two erases of its block, in
/// the chip's program order, reads and copies only programmed pages, and names the owner of each
/// page that it reads. Breaking a rule is a bug of the FTL and panics. A chip that was powered up
/// must be mounted first: until the mount is [complete](mounting::Mounting::finish), the caller may
/// only use what it has read.
///
/// The chip performs each operation, or the part of it that the power allows, and counts it under
/// the cause that the caller names. What has been programmed or erased when a call returns survives
/// a power cut; after a [sync](Nand::sync) it also survives the process. Misfortune is an error:
/// lost power, pages that cannot be read, a storage that fails. All that a caller may know without
/// an operation is free and changes no count.
///
/// An FTL needs the operations, [`owners`](Nand::owners) and [`geometry`](Nand::geometry), and
/// [`mounting`](Nand::mounting) to come back. Audits look at the [array](Nand::array). Tests and
/// whoever plays the power supply use [`power`](Nand::power).
pub struct Nand {
    array: FlashArray,
    ledger: Ledger,
    /// The sequence of the next program. None from power-on until the mount has found it.
    sequence: Option<u64>,
    /// Whether programs are tentative: a mount is running that has not committed.
    tentative: bool,
    /// The pages that a mount knows. None unless a mount is running.
    seen: Option<SeenPages>,
    /// Works before programs, if there is anything.
    guards: Option<Box<Guards>>,
    /// Present while a cut is armed, snapshots are recorded or the power is off.
    power: Option<Box<TestPower>>,
    /// Whether an FTL is to take the least worn of its free blocks.
    takes_least_worn: bool,
}

impl Nand {
    /// A factory-fresh chip: all blocks erased.
    pub fn new(geometry: Geometry, mode: Mode) -> Nand {
        Nand::fresh(FlashArray::new(geometry, mode))
    }

    fn fresh(array: FlashArray) -> Nand {
        Nand { sequence: Some(1), seen: None, ..Nand::power_up(array) }
    }

    /// A chip that was just powered up, with this flash: it must be mounted. Its counters are zero,
    /// and nothing is attached or armed.
    pub fn power_up(mut array: FlashArray) -> Nand {
        array.thaw();
        array.end_stand_ins();
        array.forget_slc();
        array.forget_lost_pages();
        array.forget_moves();
        Nand {
            ledger: Ledger::default(),
            sequence: None,
            tentative: false,
            guards: None,
            seen: Some(SeenPages::none(array.of_ftl())),
            power: None,
            takes_least_worn: false,
            array,
        }
    }

    /// The flash of the chip, for audits and for whoever needs no operation. A mount may look only
    /// at spare areas that it has read, and at nothing else that its flash has not told it.
    #[inline]
    pub fn array(&self) -> &FlashArray {
        &self.array
    }

    /// Returns the flash and drops the rest of the chip.
    pub fn into_array(self) -> FlashArray {
        self.array
    }

    // ---- Knowledge that costs no operation -------------------------------------------------

    /// Pages, blocks and program order.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        self.array.of_ftl()
    }

    /// The true owners of a block's pages, [`Lpn::NONE`] where erased. They stand for the P2L table
    /// that a controller keeps in RAM.
    ///
    /// # Panics
    /// A mount is running that has neither read the spare areas of these pages nor programmed them:
    /// it cannot know their owners yet.
    #[inline]
    pub fn owners(&self, block: BlockId) -> &[u32] {
        if let Some(seen) = &self.seen {
            seen.expect(self.geometry().span(block));
        }
        self.array.owners(block)
    }

    /// The owner of a page, as in [`owners`](Self::owners).
    ///
    /// # Panics
    /// As for `owners`.
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> Lpn {
        if let Some(seen) = &self.seen {
            seen.expect(ppn.0 as usize..ppn.0 as usize + 1);
        }
        self.array.owner(ppn)
    }

    /// Whether the chip comes from the factory: it was never off, and nothing was erased.
    pub fn is_factory_new(&self) -> bool {
        let untouched = self.sequence == Some(1) && self.seen.is_none();
        untouched && self.array.wear().iter().all(|&erases| erases == 0)
    }

    // ---- Order of programs -----------------------------------------------------------------

    /// Takes the next place in the order of programs, for something that is not a program: the
    /// version of a tombstone.
    ///
    /// # Panics
    /// A mount has not [resumed](mounting::Mounting::resume) the order yet. So do programs and
    /// copies.
    pub fn take_sequence(&mut self) -> u64 {
        self.take_sequences(1)
    }

    /// Takes several places, and returns the first.
    #[inline]
    fn take_sequences(&mut self, places: u32) -> u64 {
        let next =
            self.sequence.as_mut().expect("programmed before the mount resumed the sequence");
        let first = *next;
        *next += u64::from(places);
        first
    }

    // ---- Counters --------------------------------------------------------------------------

    /// Operations since the last reset.
    #[inline]
    pub fn tally(&self) -> &Tally {
        &self.ledger.tally
    }

    /// Sets all counters to zero, and that of [lost pages](FlashArray::lost_pages). The flash and
    /// its wear stay as they are.
    pub fn reset_tally(&mut self) {
        self.ledger.tally = Tally::default();
        self.array.forget_lost_pages();
    }

    /// Passes every operation from now on to the sink, or to none. Returns the sink before it.
    pub fn attach(&mut self, sink: Option<Box<dyn OpSink>>) -> Option<Box<dyn OpSink>> {
        core::mem::replace(&mut self.ledger.sink, sink)
    }

    /// The attached sink, if it is an `S`.
    pub fn sink_mut<S: OpSink>(&mut self) -> Option<&mut S> {
        let sink: &mut dyn Any = &mut **self.ledger.sink.as_mut()?;
        sink.downcast_mut()
    }
}
