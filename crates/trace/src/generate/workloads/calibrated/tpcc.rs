//! tpcc: TPC-C on a raw device, for the three papers that replay one.
//!
//! ```text
//! space    | database: 75 %                                                 | never touched |
//! writes     pages of 2 KiB in tiers: 4.5 % of them get 51 %, 9 % get 20 %, the others 29 %
//! reads      the same pages in the same tiers
//! ```
//!
//! Two figures of the FASTer paper seem not to fit each other: the load writes to 75 % of the data
//! blocks (§V.B), yet only to 35 % of the pages (§III.A). They do fit, and the model needs no third
//! kind of page, if the database fills 75 % of the space and chance decides. The cold 29 % of 4 M
//! writes, over the 2.7 M pages that are not hot, meet one page in three; with the hot ones that
//! makes 1.45 M pages, or 35 % of the space, in 75 % of its blocks. How much deeper the skew is in
//! the head the paper does not say; the hottest tenth of the hot pages gets the share that it has
//! in a captured PostgreSQL, which makes its pages be written every 130,000 writes, near the hot
//! page of Fig. 3.
//!
//! The sector log paper's trace lies behind sector 63. Its buffer evicts 2.82, 3.47, 3.94 and 4.23
//! sectors of a page of 4, 8, 16, 32 KiB at a time (Table 2, no log). Pages of 2 KiB behind sector
//! 63 give 2.67, 3.20, 3.56 and 3.76, as every second, fourth … of them is cut in two, and the
//! buffer merges a few; aligned ones would give 4 or more. Hence `start=31.5KiB` for that paper.
//! FASTer's database had a raw device, which is the default.
//!
//! Not in it: the redo log (the papers traced the data's device), and changes with the time of day.

use spec::{Param, Params};

use crate::generate::params::{CALIBRATED_READS, SPACE, START};
use crate::generate::params::{FLUSHES, INTERARRIVAL, SEED, WRITES};
use crate::generate::streams::{self, Pattern, Profile, Stream};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload, whole_space};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "tpcc",
    summary: "TPC-C on a raw device: skewed single pages of 2 KiB, mostly read",
    source: "FASTer paper, §III.A and V.B; adaptive partitioning paper, Table V",
    params: &[ALL_WRITES, ALL_READS, DATABASE_SPACE, START, FLUSHES, INTERARRIVAL, SEED],
    touched_share: whole_space,
    place,
};

const ALL_WRITES: Param = Param { default: "4M", ..WRITES };
const ALL_READS: Param = Param { default: "81.4%", ..CALIBRATED_READS };
const DATABASE_SPACE: Param = Param { default: "8GiB", ..SPACE };

const PAGES: Pattern =
    Pattern::Spots { grain: 4, tiers: &[(11, 45), (40, 405), (20, 900), (29, 8650)] };

static PROFILE: Profile = Profile {
    regions: &[("database", 7500)],
    writes: &[Stream {
        weight: 1,
        region: "database",
        pattern: PAGES,
        sizes: &[(988, 4), (10, 16), (2, 32)],
    }],
    reads: &[Stream {
        weight: 1,
        region: "database",
        pattern: PAGES,
        sizes: &[(978, 4), (15, 16), (7, 32)],
    }],
};

fn place(params: &Params, device: &AddressSpace) -> PlacementResult {
    streams::place(&PROFILE, params, device)
}
