//! sysmark: a desktop benchmark, which uses the same few documents and files over and over.
//!
//! ```text
//! space    | journal | metadata  | documents  | files      | programs  | untouched: 71 % |
//! writes     5 % log   43 % spots  26 % spots   26 % runs
//! reads                34 %        55 %                      11 % runs
//! ```
//!
//! Share of reads, mean sizes and working sets are those of the adaptive partitioning paper (Table
//! V, SYSmark). No other trace of the benchmark is available, so regions and sizes follow
//! `desktop`, and the partition starts at sector 63, too. The paper states neither the number of
//! requests nor the size of the space. 250,000 writes mean 20 writes of each page of the working
//! set. A space of 1 GiB keeps tests small; the device may be larger (64 GB in the paper).

use spec::{Param, Params};

use crate::generate::params::{ARRIVALS, CALIBRATED_READS, REQUESTS, SPACE, START};
use crate::generate::params::{FLUSHES, INTERARRIVAL, SEED, WRITES};
use crate::generate::streams::{self, Pattern, Profile, Stream};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload, whole_space};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "sysmark",
    summary: "a desktop benchmark, which uses the same few documents and files over and over",
    source: "adaptive partitioning paper, Table V (SYSmark)",
    params: &[
        ALL_WRITES,
        REQUESTS,
        ALL_READS,
        DISK_SPACE,
        OLD_START,
        FLUSHES,
        INTERARRIVAL,
        ARRIVALS,
        SEED,
    ],
    touched_share: whole_space,
    placement,
};

const ALL_WRITES: Param = Param { default: "250K", ..WRITES };
const ALL_READS: Param = Param { default: "33%", ..CALIBRATED_READS };
const DISK_SPACE: Param = Param { default: "1GiB", ..SPACE };
const OLD_START: Param = Param { default: "31.5KiB", ..START };

const METADATA: Pattern = Pattern::Spots { grain: 8, tiers: &[(60, 5), (40, 95)] };
const DOCUMENTS: Pattern = Pattern::Spots { grain: 128, tiers: &[(60, 20), (40, 80)] };

static PROFILE: Profile = Profile {
    regions: &[
        ("journal", 100),
        ("metadata", 200),
        ("documents", 700),
        ("files", 1400),
        ("programs", 520),
    ],
    writes: &[
        Stream {
            weight: 5,
            region: "journal",
            pattern: Pattern::Log { turn: 2 },
            sizes: &[(1, 8)],
        },
        Stream { weight: 43, region: "metadata", pattern: METADATA, sizes: &[(1, 8)] },
        Stream {
            weight: 26,
            region: "documents",
            pattern: DOCUMENTS,
            sizes: &[(35, 8), (25, 16), (25, 64), (10, 128)],
        },
        Stream {
            weight: 26,
            region: "files",
            pattern: Pattern::Runs { requests: 16, turn: 8 },
            sizes: &[(65, 128), (20, 64), (15, 32)],
        },
    ],
    reads: &[
        Stream { weight: 34, region: "metadata", pattern: METADATA, sizes: &[(1, 8)] },
        Stream {
            weight: 55,
            region: "documents",
            pattern: DOCUMENTS,
            sizes: &[(40, 8), (25, 16), (20, 32), (15, 64)],
        },
        Stream {
            weight: 11,
            region: "programs",
            pattern: Pattern::Runs { requests: 8, turn: 8 },
            sizes: &[(70, 128), (30, 64)],
        },
    ],
};

fn placement(params: &Params, device: &AddressSpace) -> PlacementResult {
    streams::placement(&PROFILE, params, device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::assert_fingerprint;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 8_393_656_301_547_379_977);
    }
}
