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

use spec::Param;

use crate::generate::streams::{self, Defaults, Pattern, Profile, stream};
use crate::generate::workload::Workload;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "sysmark",
    summary: "a desktop benchmark, which uses the same few documents and files over and over",
    source: "adaptive partitioning paper, Table V (SYSmark)",
    params: &PARAMS,
    placement: |params, device| streams::placement(&PROFILE, params, device),
};

static PARAMS: [Param; 9] =
    Defaults { writes: "250K", reads: "33%", space: "1GiB", start: "31.5KiB" }.params();

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
        stream(5, "journal", Pattern::Log { turn: 2 }, &[(1, 8)]),
        stream(43, "metadata", METADATA, &[(1, 8)]),
        stream(26, "documents", DOCUMENTS, &[(35, 8), (25, 16), (25, 64), (10, 128)]),
        stream(
            26,
            "files",
            Pattern::Runs { requests: 16, turn: 8 },
            &[(65, 128), (20, 64), (15, 32)],
        ),
    ],
    reads: &[
        stream(34, "metadata", METADATA, &[(1, 8)]),
        stream(55, "documents", DOCUMENTS, &[(40, 8), (25, 16), (20, 32), (15, 64)]),
        stream(11, "programs", Pattern::Runs { requests: 8, turn: 8 }, &[(70, 128), (30, 64)]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::assert_fingerprint;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 8_393_656_301_547_379_977);
    }
}
