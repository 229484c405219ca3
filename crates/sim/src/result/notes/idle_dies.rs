//! A note on a drive most of whose dies moved no data.

use crate::result::run_result::RunResult;

/// How the sentence begins.
pub(super) const START: &str = "Only ";

/// Fewer requests may be too few for all dies.
const REQUESTS_MIN: u64 = 256;

/// A sentence about blocks that are too small to reach all dies.
pub fn note(result: &RunResult) -> Option<String> {
    let dies = &result.evidence.drive.as_ref()?.dies;
    // An erase of a block occupies all dies of its stripe, written or not.
    let busy = dies.iter().filter(|die| die.moving_ns > 0).count();
    let has_many = result.trace.served() >= REQUESTS_MIN;
    // Where transfers take no time, no die is seen moving data.
    (has_many && (1..dies.len()).contains(&(2 * busy))).then(|| {
        format!(
            "{START}{busy} of {} dies moved data, so times are those of a much smaller drive: a \
             block of this chip is too small to be striped over all of them. Take a chip with \
             larger blocks, such as `--chip tlc-3d:page=4KiB,pages_per_block=3072`.",
            dies.len()
        )
    })
}
