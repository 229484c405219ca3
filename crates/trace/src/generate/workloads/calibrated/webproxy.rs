//! webproxy: the cache disk of a web proxy, replayed by the large superblock paper.
//!
//! ```text
//! space    | journal | metadata | cache: 32 %                          | never touched |
//! writes     6 % log   3 % spots  91 %: object after object, over and over
//! reads                           objects by popularity: 5 % of the grains get half of the reads
//! ```
//!
//! The paper states two figures of its trace (Table II): 885,632 requests, and 34.3 pages of 2 KiB
//! per request. All other properties are those of a captured squid proxy: the share of reads;
//! sequential writes, because an object is written once and a full cache wraps around; a footprint
//! of 27 % of the space (31 % here), where the space is the paper's device of 80 GB; and the
//! distribution of sizes, mostly small. The squid's requests are four times smaller, because they
//! were captured before the kernel merged them, so each size here is about four times the captured
//! one.

use spec::Param;

use crate::generate::streams::{self, Defaults, Pattern, Profile, stream};
use crate::generate::workload::Workload;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "webproxy",
    summary: "a web proxy: objects are written once and sequentially; popular ones are read more \
              often",
    source: "large superblock paper, Table II (Wproxy); distributions of a captured squid proxy",
    params: &PARAMS,
    placement: |params, device| streams::placement(&PROFILE, params, device),
};

static PARAMS: [Param; 9] =
    Defaults { writes: "368423", reads: "58.4%", space: "80GiB", start: "0" }.params();

static PROFILE: Profile = Profile {
    regions: &[("journal", 8), ("metadata", 8), ("cache", 3200)],
    writes: &[
        stream(6, "journal", Pattern::Log { turn: 8 }, &[(1, 8)]),
        stream(3, "metadata", Pattern::Spots { grain: 8, tiers: &[(80, 20), (20, 80)] }, &[(1, 8)]),
        stream(
            91,
            "cache",
            Pattern::Log { turn: 32 },
            &[
                (400, 32),
                (190, 64),
                (110, 96),
                (70, 128),
                (100, 192),
                (20, 256),
                (60, 384),
                (30, 768),
                (7, 1536),
                (8, 3072),
            ],
        ),
    ],
    reads: &[stream(
        1,
        "cache",
        Pattern::Spots { grain: 128, tiers: &[(50, 5), (30, 20), (20, 75)] },
        &[
            (265, 40),
            (210, 72),
            (127, 112),
            (289, 144),
            (42, 232),
            (32, 448),
            (25, 584),
            (6, 1344),
            (2, 4096),
        ],
    )],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::assert_fingerprint;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 7_382_278_536_778_114_739);
    }
}
