//! The parts of a policy of wear levelling: its entry in the list, and, if it moves data, the rule
//! that says when and which.

use core::fmt::Debug;

use spec::{Kind, Param, Params};

/// A policy of wear levelling as an entry of the list.
#[derive(Debug)]
pub struct WearPolicy {
    /// The name that users write.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    pub(crate) work: Work,
}

/// What a policy does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Nothing,
    /// It chooses among the free blocks.
    Takes,
    /// It moves data, on a chip whose blocks take this number of erases on average.
    Moves(fn(&Params, endurance: u32) -> Box<dyn Leveller>),
}

/// A policy that moves data: when, and which.
pub(crate) trait Leveller: Debug + Send {
    /// The FTL has erased a block, and so many on its die since a worn block went to rest. By how
    /// many erases must two blocks differ to change places now? None: no block moves.
    fn margin(&self, erases_since: u64) -> Option<u32>;

    /// Rounds in which data have stayed in their place if they are cold; in a round, the FTL erases
    /// as many blocks of a die as there are.
    fn rounds(&self) -> u64;

    /// Of data that can move, those with the lowest rank do. The data have been in their place
    /// since the erase of their die with this number.
    fn rank(&self, wear: BlockWear) -> u64;
}

/// What a policy knows of a block with data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockWear {
    /// Erases of the block.
    pub(crate) erases: u32,
    /// The number of the erase on its die that made room for its data.
    pub(crate) since: u64,
}

/// The parameter that says which data are cold.
pub(crate) const ROUNDS: Param = Param {
    name: "rounds",
    kind: Kind::Count,
    default: "4",
    unit: "rounds",
    doc: "data are cold if they have stayed in their place for so long; in a round, as many blocks \
          of a die are erased as there are",
};

/// The erases by which blocks must differ, if nobody says: a twentieth of what a block can take, so
/// that a move costs little of a life.
pub(crate) fn erases_or_twentieth(params: &Params, key: &str, endurance: u32) -> u32 {
    let given = params.opt_count(key).map(|erases| erases as u32);
    given.unwrap_or((endurance / 20).max(1))
}
