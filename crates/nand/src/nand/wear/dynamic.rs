//! Dynamic levelling: the FTL takes the least worn of its free blocks. It costs no operation, and
//! it levels only blocks that become free: those with data that never change stay young.

use super::policy::{WearPolicy, Work};

/// The least worn free block is taken first.
pub(crate) static POLICY: WearPolicy = WearPolicy {
    name: "dynamic",
    summary: "the least worn free block is taken first",
    source: "Gal, Toledo: Algorithms and data structures for flash memories, ACM Computing Surveys \
             37(2), 2005",
    params: &[],
    work: Work::Takes,
};
