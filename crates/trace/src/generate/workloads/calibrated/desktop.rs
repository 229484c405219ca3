//! desktop: a week on a Windows XP desktop, replayed by four papers.
//!
//! ```text
//! space    | journal | metadata  | documents  | files     | downloads | untouched: 51 % |
//! writes     8 % log   55 % spots  22 % runs    9 % runs    6 % runs
//! reads                30 %        45 %         25 %
//! ```
//!
//! Share of reads, mean sizes and working sets are those of PC in the adaptive partitioning paper
//! (Table V). The space is that of General in the sector log paper (Table 4). The number of
//! requests is that of WinPC in the large superblock paper (Table II); those requests span 10.2
//! pages of 2 KiB (8.5 here).
//!
//! The distributions are those of a DiskMon log with 87,160 requests of such a machine. Over half
//! of the requests have 4 KiB, a fifth have 64 KiB (the longest that Windows issued then). The
//! partition starts at sector 63, so 35 % of the page writes cover only part of a page although the
//! clusters of the file system are whole pages. The partition of General started there, too: its
//! buffer evicts partial pages with 3.79, 7.14, 13.1 and 23.2 sectors for pages of 4 to 32 KiB
//! (Table 2). That is about half a page each time, as for the ends of long unaligned runs.
//!
//! Small writes are the ones that are repeated (LAST paper, Fig. 5a), since metadata is small and
//! hot and long files are cold. Not modelled: trims and flushes, which the traced systems did not
//! issue or the tracer did not record; `flushes=` adds flushes.

use spec::Param;

use crate::generate::streams::{self, Defaults, Pattern, Profile, stream};
use crate::generate::workload::Workload;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "desktop",
    summary: "a Windows XP desktop: hot metadata, documents, long files in requests of 64 KiB",
    source: "adaptive partitioning paper, Table V (PC); sector log paper, Table 4 (General)",
    params: &PARAMS,
    placement: |params, device| streams::placement(&PROFILE, params, device),
};

/// The space has 18.3 GiB.
static PARAMS: [Param; 9] =
    Defaults { writes: "2.4M", reads: "23.7%", space: "18740MiB", start: "31.5KiB" }.params();

const METADATA: Pattern = Pattern::Spots { grain: 8, tiers: &[(70, 10), (30, 90)] };
const DOCUMENTS: Pattern = Pattern::Runs { requests: 12, turn: 6 };
const FILES: Pattern = Pattern::Runs { requests: 16, turn: 8 };
const FILE_SIZES: &[(u64, u64)] = &[(70, 128), (15, 64), (15, 32)];

static PROFILE: Profile = Profile {
    regions: &[
        ("journal", 35),
        ("metadata", 20),
        ("documents", 900),
        ("files", 2500),
        ("downloads", 1450),
    ],
    writes: &[
        stream(8, "journal", Pattern::Log { turn: 2 }, &[(1, 8)]),
        stream(55, "metadata", METADATA, &[(90, 8), (10, 16)]),
        stream(22, "documents", DOCUMENTS, &[(40, 8), (20, 16), (20, 32), (20, 64)]),
        stream(9, "files", FILES, FILE_SIZES),
        stream(6, "downloads", Pattern::Runs { requests: 64, turn: 8 }, FILE_SIZES),
    ],
    reads: &[
        stream(30, "metadata", METADATA, &[(1, 8)]),
        stream(45, "documents", DOCUMENTS, &[(45, 8), (15, 16), (20, 32), (20, 64)]),
        stream(25, "files", FILES, &[(70, 128), (20, 64), (10, 32)]),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::assert_fingerprint;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 16_918_954_938_622_753_331);
    }
}
