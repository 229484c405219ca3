//! Which blocks change places, so that a die wears evenly.
//!
//! ```text
//!            before                                  after
//! number     hot ─► A worn, just erased              hot ─► Y young, erased
//!           cold ─► B young, with data              cold ─► W worn, with the same data
//! reserve           Y young │ W worn                        A worn │ B young
//! ```
//! Blocks in reserve are the intermediate places. A block that the FTL has just erased goes to the
//! reserve if one there is much younger: it *rests*. Cold data *settle* on the most worn block in
//! reserve if theirs is much younger. One list of moves records both.
//!
//! **Why the reserve.** A number of the FTL never has a block behind it that is not erased, or has
//! pages which do not belong there: all copies go to a block that no FTL can see, and the numbers
//! are exchanged with the last program of the list of moves. So the power may fail at any time. If
//! cold data were copied to the block that the FTL has just erased, a cut would leave pages there
//! that a mount finds twice, with the same version; only `--durability full` knows that they are
//! void.
//!
//! **Cold** are data that have stayed in their place for some rounds; in a round, the FTL erases as
//! many blocks of the die as there are. With a single round, data would move which the FTL is just
//! about to erase, because it takes blocks in turn: then a worn block would come back to the
//! reserve at once, be used again, and wear out alone. When the power comes back, all data are
//! warm.
//!
//! One block in reserve on each die is enough: then a block rests at one erase, and data settle at
//! another. Failures take blocks of the same reserve; when there is none, nothing is levelled.

use alloc::collections::BTreeSet;

use super::policy::{BlockWear, Leveller};
use crate::address::BlockId;
use crate::flash_array::FlashArray;
use crate::geometry::Geometry;

/// A die without cold data that may move is looked at again when one in this number of its blocks
/// has been erased, because a look takes time for each block.
const LOOKS_A_ROUND: u64 = 16;

/// What changes places. Numbers of the reserve stand for the blocks behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The number in reserve whose young block comes into use.
    pub(crate) rest: Option<BlockId>,
    /// The number with cold data, and the one in reserve whose worn block takes them.
    pub(crate) settle: Option<(BlockId, BlockId)>,
}

/// The state of wear levelling. It is in memory only.
#[derive(Debug)]
pub(crate) struct Levelling {
    leveller: Box<dyn Leveller>,
    of_ftl: Geometry,
    /// By die: erases by the FTL.
    erases: Vec<u64>,
    /// By die: the last erase after which a worn block went to rest.
    last_rest: Vec<u64>,
    /// By die: the erase from which on cold data are looked for again.
    next_look: Vec<u64>,
    /// By number: the erase of its die that made room for its data.
    since: Vec<u64>,
    /// Numbers in reserve whose blocks have been erased since the power is on.
    clean: BTreeSet<BlockId>,
}

impl Levelling {
    pub(crate) fn new(leveller: Box<dyn Leveller>, of_ftl: &Geometry) -> Levelling {
        Levelling {
            leveller,
            of_ftl: *of_ftl,
            erases: vec![0; of_ftl.dies() as usize],
            last_rest: vec![0; of_ftl.dies() as usize],
            next_look: vec![0; of_ftl.dies() as usize],
            since: vec![0; of_ftl.blocks() as usize],
            clean: BTreeSet::new(),
        }
    }

    /// The FTL has erased this number. What changes places now, if its die has these numbers in
    /// reserve?
    pub(crate) fn plan(
        &mut self,
        flash: &FlashArray,
        number: BlockId,
        reserve: &[BlockId],
    ) -> Option<Plan> {
        let die = self.of_ftl.die_of(number) as usize;
        self.erases[die] += 1;
        let now = self.erases[die];
        self.since[number.0 as usize] = now;
        let margin = self.leveller.margin(now - self.last_rest[die])?;
        let erases = |number: BlockId| flash.lives().map_or(0, |lives| lives.erases_of(number));
        let is_older = |one, other| erases(one) >= erases(other).saturating_add(margin);
        let youngest = reserve.iter().copied().min_by_key(|&it| erases(it));
        let rest = youngest.filter(|&young| is_older(number, young));
        let others = reserve.iter().copied().filter(|&it| Some(it) != rest);
        let worn = others.max_by_key(|&it| erases(it)).filter(|_| now >= self.next_look[die]);
        let cold = worn.and_then(|worn| self.coldest(flash, number, |it| is_older(worn, it)));
        if worn.is_some() && cold.is_none() {
            self.next_look[die] = now + self.blocks_of_die() / LOOKS_A_ROUND + 1;
        }
        if rest.is_some() {
            self.last_rest[die] = now;
        }
        let plan = Plan { rest, settle: cold.zip(worn) };
        (plan != Plan::default()).then_some(plan)
    }

    /// The data on the die of this number that move first, of those that are cold and that may.
    fn coldest(
        &self,
        flash: &FlashArray,
        erased: BlockId,
        may: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let die = self.of_ftl.die_of(erased);
        let cold_until = self.erases[die as usize]
            .checked_sub(self.blocks_of_die().saturating_mul(self.leveller.rounds()))?;
        let numbers = (die..self.of_ftl.blocks()).step_by(self.of_ftl.dies() as usize).map(BlockId);
        let has_data = |it: BlockId| flash.filled(it) > 0 && !flash.is_half_erased(it);
        let since = |it: BlockId| self.since[it.0 as usize];
        let movable = numbers.filter(|&it| since(it) <= cold_until && may(it) && has_data(it));
        movable.min_by_key(|&it| {
            let erases = flash.lives().map_or(0, |lives| lives.erases_of(it));
            self.leveller.rank(BlockWear { erases, since: since(it) })
        })
    }

    fn blocks_of_die(&self) -> u64 {
        u64::from(self.of_ftl.blocks()).div_ceil(self.of_ftl.dies().into())
    }

    /// Whether the block of a number in reserve is erased. It is not any more when it is used.
    pub(crate) fn take_clean(&mut self, number: BlockId) -> bool {
        self.clean.remove(&number)
    }

    /// The block of a number in reserve is erased.
    pub(crate) fn add_clean(&mut self, number: BlockId) {
        self.clean.insert(number);
    }
}
