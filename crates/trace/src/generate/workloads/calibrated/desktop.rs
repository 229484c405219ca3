//! desktop: a week on a Windows XP desktop, for the four papers that replay one.
//!
//! ```text
//! space    | journal | metadata  | documents  | files     | downloads | untouched: 51 % |
//! writes     8 % log   55 % spots  22 % runs    9 % runs    6 % runs
//! reads                30 %        45 %         25 %
//! ```
//!
//! Mix, mean sizes and working sets are those of the adaptive partitioning paper's PC (Table V);
//! the space is that of the sector log paper's General (Table 4); their number is that of the large
//! superblock paper's WinPC (Table II), whose requests span 10.2 pages of 2 KiB (8.5 here).
//!
//! The shape is that of a DiskMon log of 87,160 requests of such a machine: over half of the
//! requests of 4 KiB, a fifth of 64 KiB (the longest that Windows issued then), and a partition
//! that begins at sector 63, so that 35 % of the page writes cover part of a page although the file
//! system's clusters are whole pages. General lay like that, too: what a buffer evicts in part is
//! 3.79, 7.14, 13.1, 23.2 sectors of a page of 4 to 32 KiB (Table 2), about half a page each time,
//! which are the ends of long unaligned runs.
//!
//! Small writes are the ones that come again (LAST paper, Fig. 5a), as metadata is small and hot
//! and what is long is cold. Not in it: trims and flushes, which the traced systems did not issue
//! or the tracer did not show; `flushes=` adds some.

use spec::{Param, Params};

use crate::generate::params::{CALIBRATED_READS, SPACE, START};
use crate::generate::params::{FLUSHES, INTERARRIVAL, SEED, WRITES};
use crate::generate::streams::{self, Pattern, Profile, Stream};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload, whole_space};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "desktop",
    summary: "a Windows XP desktop: hot metadata, documents, long files in pieces of 64 KiB",
    source: "adaptive partitioning paper, Table V (PC); sector log paper, Table 4 (General)",
    params: &[ALL_WRITES, ALL_READS, DISK_SPACE, OLD_START, FLUSHES, INTERARRIVAL, SEED],
    touched_share: whole_space,
    place,
};

const ALL_WRITES: Param = Param { default: "2.4M", ..WRITES };
const ALL_READS: Param = Param { default: "23.7%", ..CALIBRATED_READS };
/// 18.3 GiB.
const DISK_SPACE: Param = Param { default: "18740MiB", ..SPACE };
const OLD_START: Param = Param { default: "31.5KiB", ..START };

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
        Stream {
            weight: 8,
            region: "journal",
            pattern: Pattern::Log { turn: 2 },
            sizes: &[(1, 8)],
        },
        Stream { weight: 55, region: "metadata", pattern: METADATA, sizes: &[(90, 8), (10, 16)] },
        Stream {
            weight: 22,
            region: "documents",
            pattern: DOCUMENTS,
            sizes: &[(40, 8), (20, 16), (20, 32), (20, 64)],
        },
        Stream { weight: 9, region: "files", pattern: FILES, sizes: FILE_SIZES },
        Stream {
            weight: 6,
            region: "downloads",
            pattern: Pattern::Runs { requests: 64, turn: 8 },
            sizes: FILE_SIZES,
        },
    ],
    reads: &[
        Stream { weight: 30, region: "metadata", pattern: METADATA, sizes: &[(1, 8)] },
        Stream {
            weight: 45,
            region: "documents",
            pattern: DOCUMENTS,
            sizes: &[(45, 8), (15, 16), (20, 32), (20, 64)],
        },
        Stream {
            weight: 25,
            region: "files",
            pattern: FILES,
            sizes: &[(70, 128), (20, 64), (10, 32)],
        },
    ],
};

fn place(params: &Params, device: &AddressSpace) -> PlacementResult {
    streams::place(&PROFILE, params, device)
}
