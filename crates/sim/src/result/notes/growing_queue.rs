//! A note on an open replay whose queue grew to the end of the trace.

use crate::result::run_result::{OpenReplayPart, RunResult};

/// How the sentence begins.
pub(super) const START: &str = "Requests came faster";

/// A sentence about requests that came faster than they were answered.
pub fn note(result: &RunResult) -> Option<String> {
    let OpenReplayPart { offered_iops, served_iops } = result.open_replay;
    let rate =
        |iops: Option<f64>| iops.map_or("all at once".into(), |it| format!("{it:.0} a second"));
    result.evidence.open_rates.grow_a_queue().then(|| {
        format!(
            "{START} ({}) than they were answered ({} up to the last answer), so the queue grew \
             to the end and response times depend on the length of the trace. Use \
             `--replay closed` or a lower `--replay open:speed=X`.",
            rate(offered_iops),
            rate(served_iops)
        )
    })
}
