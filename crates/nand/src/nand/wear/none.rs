//! No levelling: every block is used as the FTL asks.

use super::policy::{WearPolicy, Work};

/// The default.
pub(crate) static POLICY: WearPolicy = WearPolicy {
    name: "none",
    summary: "blocks wear as the FTL uses them",
    source: "none",
    params: &[],
    work: Work::Nothing,
};
