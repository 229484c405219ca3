//! The swap of hot and cold blocks (LAST §3.4.3): from time to time, a block whose data the FTL has
//! just erased, and which is worn, changes places with the block whose data have not changed for
//! the longest time.
//!
//! The paper only says that blocks are swapped "periodically". The period here is a number of
//! erases of a die, after which the first worn block is taken; and blocks with nearly the same wear
//! stay where they are.

use spec::{Kind, Param, Params};

use super::policy::{BlockWear, Leveller, ROUNDS, WearPolicy, Work, erases_or_twentieth};

/// Hot and cold blocks change places periodically.
pub(crate) static POLICY: WearPolicy = WearPolicy {
    name: "swap",
    summary: "from time to time, a worn block and the one with the coldest data change places",
    source: "Lee, Shin, Kim, Kim: LAST: locality-aware sector translation for NAND flash \
             memory-based storage systems, SIGOPS OSR 42(6), 2008, §3.4.3",
    params: &[
        Param {
            name: "every",
            kind: Kind::Count,
            default: "8",
            unit: "erases",
            doc: "erases of a die from one swap to the next",
        },
        Param::key(
            "margin",
            Kind::Count,
            "erases",
            "blocks whose erases differ by less stay; by default a twentieth of the endurance",
        ),
        ROUNDS,
    ],
    work: Work::Moves(|params, endurance| Box::new(Swap::new(params, endurance))),
};

#[derive(Debug)]
struct Swap {
    every: u64,
    margin: u32,
    rounds: u64,
}

impl Swap {
    fn new(params: &Params, endurance: u32) -> Swap {
        let margin = erases_or_twentieth(params, "margin", endurance);
        Swap { every: params.count("every"), margin, rounds: params.count("rounds") }
    }
}

impl Leveller for Swap {
    fn margin(&self, erases_since: u64) -> Option<u32> {
        (erases_since >= self.every).then_some(self.margin)
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn rank(&self, wear: BlockWear) -> u64 {
        wear.since
    }
}
