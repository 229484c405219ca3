//! financial: the transactions of a financial institution, replayed by two papers.
//!
//! ```text
//! space    | journal | hot       | records | tables              | never touched: 96 % |
//! writes     10 % log  74 % spots  5 % spots  11 % runs
//! reads                60 %        12 %       25 % spots, 3 % runs
//! ```
//!
//! The traces of both papers are Financial1 and Financial2 of the UMass repository together. 47.4 %
//! of the requests are reads with a mean of 2.3 KB, the others are writes with a mean of 3.6 KB
//! (adaptive partitioning paper, Table V). So 36 % of the bytes are read, as in the sector log
//! paper (Table 4), and its 25.6 GB are 4.75 M writes and 4.28 M reads.
//!
//! The sector log paper reports (§3.1) that 53 % of the page writes cover only part of a page of 4
//! KiB, but only 11 % of the pages that an LRU buffer of 64 MB evicts are partial, and 70 % of the
//! writes hit that buffer. So most partial writes are repeated soon: they are the entries of a
//! journal, which fill up their pages, and a few hot records. The other writes are runs of whole
//! pages, which pass through the buffer, and a few cold records.
//!
//! The small sizes are those of the 10,000 unmodified requests that are available: sequences of 7
//! sectors in unit 0, and records of 1, 2 and 6 sectors, each at its own address.

use spec::Param;

use crate::generate::streams::{self, Defaults, EVEN, Pattern, Profile, stream};
use crate::generate::workload::Workload;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "financial",
    summary: "financial transactions: a journal, hot records of a few sectors, runs of whole pages",
    source: "sector log paper, §3.1 and Table 4; adaptive partitioning paper, Table V",
    params: &PARAMS,
    placement: |params, device| streams::placement(&PROFILE, params, device),
};

/// The space has 11.7 GiB.
static PARAMS: [Param; 9] =
    Defaults { writes: "4.75M", reads: "47.4%", space: "11980MiB", start: "0" }.params();

const RECORDS: Pattern = Pattern::Spots { grain: 8, tiers: EVEN };
const RECORD_SIZES: &[(u64, u64)] = &[(30, 1), (32, 2), (4, 3), (8, 5), (26, 6)];

static PROFILE: Profile = Profile {
    regions: &[("journal", 40), ("hot", 25), ("records", 40), ("tables", 330)],
    writes: &[
        stream(100, "journal", Pattern::Log { turn: 8 }, &[(80, 7), (20, 3)]),
        stream(475, "hot", Pattern::Spots { grain: 8, tiers: &[(70, 30), (30, 70)] }, RECORD_SIZES),
        stream(270, "hot", Pattern::Spots { grain: 16, tiers: EVEN }, &[(60, 8), (40, 16)]),
        stream(45, "records", RECORDS, RECORD_SIZES),
        stream(
            110,
            "tables",
            Pattern::Runs { requests: 32, turn: 8 },
            &[(50, 8), (25, 16), (25, 40)],
        ),
    ],
    reads: &[
        stream(60, "hot", RECORDS, RECORD_SIZES),
        stream(12, "records", RECORDS, RECORD_SIZES),
        stream(25, "tables", RECORDS, &[(1, 8)]),
        stream(3, "tables", Pattern::Runs { requests: 32, turn: 8 }, &[(1, 16)]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::assert_fingerprint;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 7_427_728_738_317_070_569);
    }
}
