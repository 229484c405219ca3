//! The memory that the command may take ([`MemoryLimit`]).
//!
//! A device that would take more is refused before it is built ([`sim::memory`]). Memory that grows
//! with a trace (for touched pages, statistics and figures) is not known beforehand. So a thread
//! measures the memory of the process, and ends the process when it takes far more than the limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sim::memory::limit;

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
/// quarter is the accuracy of the estimate by which devices are accepted.
pub fn watch(limit_bytes: Option<u64>) {
    let is_ours = IS_OURS.load(Ordering::Relaxed);
    let Some(limit_bytes) = limit_bytes.filter(|_| is_ours) else { return };
    let most_bytes = limit_bytes.saturating_add(limit_bytes / 4);
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

fn exceeded(bytes: u64, limit_bytes: u64) -> ! {
    let message = format!(
        "stopped, because it took {} of memory; the limit is {}. Take fewer requests (`--limit`) \
         or a smaller device, or allow more: `--memory-limit SIZE` or `unlimited`",
        spec::round_size(bytes),
        spec::round_size(limit_bytes)
    );
    signals::end(EXCEEDED, &message)
}
