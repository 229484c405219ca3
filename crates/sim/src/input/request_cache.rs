//! The requests of a trace file, kept in memory.
//!
//! Sweeps use this: their rows read the same trace again and again. A kept request takes 24 bytes.
//! All that a sweep keeps shares one [`CacheBudget`]; a trace that does not fit is read from its
//! file every time. Both ways deliver the same requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trace::{TableBuilder, Trace};

use crate::error::Result;
use crate::progress::{Progress, Stage};

/// Memory for requests, shared by all traces that are kept.
#[derive(Debug)]
pub struct CacheBudget {
    left_bytes: AtomicU64,
}

impl CacheBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Arc<CacheBudget> {
        Arc::new(CacheBudget { left_bytes: AtomicU64::new(bytes) })
    }

    fn take(&self, bytes: u64) -> bool {
        let left = |left: u64| left.checked_sub(bytes);
        self.left_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.left_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Memory that was taken from a budget, which gets it back in the end.
struct Taken {
    budget: Arc<CacheBudget>,
    bytes: u64,
}

impl Taken {
    /// Takes `bytes` more, if the budget has them.
    fn grow(&mut self, bytes: u64) -> bool {
        let is_taken = bytes == 0 || self.budget.take(bytes);
        if is_taken {
            self.bytes += bytes;
        }
        is_taken
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// Requests read from a trace at a time.
const BATCH: usize = 1 << 14;

/// All requests of a trace.
pub struct CachedRequests {
    trace: Trace,
    count: u64,
    _taken: Taken,
}

impl CachedRequests {
    /// Reads a whole trace; `None` if the budget is too small.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn read(
        trace: &Trace,
        budget: &Arc<CacheBudget>,
        progress: &dyn Progress,
    ) -> Result<Option<CachedRequests>> {
        let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
        let mut builder = TableBuilder::new(trace.name());
        let mut taken = Taken { budget: budget.clone(), bytes: 0 };
        while replay.prepare()? {
            progress.report(Stage::Survey, 0, None)?;
        }
        while replay.next_batch(&mut batch, BATCH)? > 0 {
            for request in batch.drain(..) {
                if !taken.grow(builder.next_bytes()) {
                    return Ok(None);
                }
                builder.push(&request);
            }
            progress.report(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
        }
        let table = Arc::new(replay.finish_table(builder));
        let (trace, count) = (Trace::of_table(&table), table.rows());
        Ok(Some(CachedRequests { trace, count, _taken: taken }))
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The requests as a trace. It reports all that was skipped in the whole file from the start.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use std::io::Write;
    use trace::{ReadOptions, Request};

    /// Requests and bytes of a chunk of a table.
    const CHUNK: u64 = 1 << 16;
    const CHUNK_BYTES: u64 = 24 * CHUNK;

    /// A trace file with one empty request, then `requests` requests of `bytes` each.
    fn file(requests: u64, bytes: u64) -> (tempfile::NamedTempFile, Trace) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "0,0,0,W,0.0").unwrap();
        for n in 0..requests {
            writeln!(file, "{},{},{bytes},{},{n}.5", n % 3, n * 8, ["R", "W"][n as usize % 2])
                .unwrap();
        }
        let trace = Trace::open(file.path().to_str().unwrap(), &ReadOptions::default()).unwrap();
        (file, trace)
    }

    fn all(trace: &Trace) -> Vec<Request> {
        trace.requests().unwrap()
    }

    #[test]
    fn cached_requests_equal_those_of_the_file() {
        let (_file, trace) = file(CHUNK + 10, 4096);
        let budget = CacheBudget::new(2 * CHUNK_BYTES);
        let cached = CachedRequests::read(&trace, &budget, &NoProgress).unwrap().unwrap();
        assert!(all(cached.trace()) == all(&trace));
        let skipped = cached.trace().replay().unwrap().skipped().get("zero-length");
        assert_eq!((cached.count(), skipped), (CHUNK + 10, 1));
        assert!(!budget.take(1), "both chunks are taken");
        drop(cached);
        assert!(budget.take(2 * CHUNK_BYTES), "dropping gives the memory back");
    }

    #[test]
    fn requests_of_any_length_are_cached() {
        let (_file, trace) = file(3, 1 << 33);
        let budget = CacheBudget::new(CHUNK_BYTES);
        let cached = CachedRequests::read(&trace, &budget, &NoProgress).unwrap().unwrap();
        assert_eq!(all(cached.trace()), all(&trace));
        assert_eq!(all(&trace)[2].bytes, 1 << 33);
    }

    #[test]
    fn traces_that_do_not_fit_are_not_cached() {
        let (_file, trace) = file(CHUNK + 1, 512);
        let budget = CacheBudget::new(CHUNK_BYTES);
        assert!(CachedRequests::read(&trace, &budget, &NoProgress).unwrap().is_none());
        assert!(budget.take(CHUNK_BYTES), "the memory is given back");
    }
}
