//! The memory that the command may take ([`MemoryLimit`]).
//!
//! A device that would take more is refused before it is built ([`sim::memory`]). Memory that grows
//! with a trace (for touched pages, statistics and figures) is not known beforehand. So a thread
//! measures the memory of the process, and ends the process when it takes far more than the limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sim::memory::{PROGRAM_BYTES, limit};

use crate::process::signals;

/// The interval at which the memory of the process is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// The exit code if the limit is exceeded, as for a device that would exceed it.
const EXCEEDED: u8 = 2;

/// Whether the process may be ended.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// From now on the process belongs to the command, which may end it.
pub fn watch_process() {
    IS_OURS.store(true, Ordering::Relaxed);
}

/// Ends the process, if it belongs to the command, when it takes a quarter more than its limit. The
/// quarter is the accuracy of the estimate by which devices are accepted. What the program takes
/// now may be more than the estimate has for it, and this is no fault of a run.
pub fn watch(limit_bytes: Option<u64>) {
    let is_ours = IS_OURS.load(Ordering::Relaxed);
    let Some(limit_bytes) = limit_bytes.filter(|_| is_ours) else { return };
    limit::give_back_what_is_freed();
    let most_bytes = most_bytes(limit_bytes, limit::used_bytes().unwrap_or(0));
    // Without the thread, only the estimate protects the system.
    let _ = std::thread::Builder::new().name("memory".into()).spawn(move || {
        while let Some(bytes) = limit::used_bytes() {
            if bytes > most_bytes {
                exceeded(bytes, limit_bytes);
            }
            std::thread::sleep(INTERVAL);
        }
    });
}

/// The memory at which a process is ended that takes this much when it begins.
fn most_bytes(limit_bytes: u64, program_bytes: u64) -> u64 {
    let planned = limit_bytes.max(PROGRAM_BYTES);
    let beyond = program_bytes.saturating_sub(PROGRAM_BYTES);
    planned.saturating_add(planned / 4).saturating_add(beyond)
}

fn exceeded(bytes: u64, limit_bytes: u64) -> ! {
    let message = format!(
        "stopped, because it took {} of memory; the limit is {}. Reading a compressed trace \
         takes up to 128 MiB. Decompress such a trace, take fewer requests (`--limit`) or a \
         smaller device, or allow more: `--memory-limit SIZE` or `unlimited`",
        spec::round_size(bytes),
        spec::round_size(limit_bytes)
    );
    signals::end(EXCEEDED, &message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_takes_beyond_its_estimate_is_no_fault_of_a_run() {
        const MIB: u64 = 1 << 20;
        assert_eq!(most_bytes(40 * MIB, 5 * MIB), 50 * MIB);
        assert_eq!(most_bytes(40 * MIB, PROGRAM_BYTES + 9 * MIB), 59 * MIB);
        for (limit, program) in [(1, 7 * MIB), (9 * MIB, 17 * MIB), (0, 30 * MIB)] {
            assert!(most_bytes(limit, program) > program + MIB, "{limit} {program}");
        }
        assert_eq!(most_bytes(u64::MAX, 17 * MIB), u64::MAX);
    }
}
