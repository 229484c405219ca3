//! Static levelling by a threshold: as soon as the erases of a worn block and those of a block with
//! cold data differ by the threshold, the data move. Of all cold data, those on the least worn
//! block move first.

use spec::{Kind, Param, Params};

use super::policy::{BlockWear, Leveller, ROUNDS, WearPolicy, Work, erases_or_twentieth};

/// Cold data go to worn blocks when erases differ too much.
pub(crate) static POLICY: WearPolicy = WearPolicy {
    name: "static",
    summary: "data on the least worn block move to a worn one when their erases differ too much",
    source: "UBI of Linux (drivers/mtd/ubi/wl.c, UBI_WL_THRESHOLD)",
    params: &[
        Param::key(
            "threshold",
            Kind::Count,
            "erases",
            "the difference at which data move; by default a twentieth of the endurance",
        ),
        ROUNDS,
    ],
    work: Work::Moves(|params, endurance| Box::new(StaticThreshold::new(params, endurance))),
};

#[derive(Debug)]
struct StaticThreshold {
    threshold: u32,
    rounds: u64,
}

impl StaticThreshold {
    fn new(params: &Params, endurance: u32) -> StaticThreshold {
        let threshold = erases_or_twentieth(params, "threshold", endurance);
        StaticThreshold { threshold, rounds: params.count("rounds") }
    }
}

impl Leveller for StaticThreshold {
    fn margin(&self, _: u64) -> Option<u32> {
        Some(self.threshold)
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn rank(&self, wear: BlockWear) -> u64 {
        wear.erases.into()
    }
}
