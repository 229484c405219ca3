//! The requests of a trace file, cached when the file is parsed for the first time.
//!
//! All later passes read the cache: warm-up, measurement, other FTLs, other rows of a sweep. A
//! cached request takes 24 bytes. All that a command caches in memory shares one [`CacheBudget`].
//! What does not fit goes to a temporary file without a name, of which nothing remains however the
//! process ends. If there is no room for that either, the trace is parsed in every pass. All three
//! ways deliver the same requests.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trace::replay::BATCH;
use trace::{Replay, Request, RequestStore, StoreBuilder, Trace};

use crate::error::Result;
use crate::progress::{Progress, Stage};

/// The most memory for the requests of a single run. A temporary file is nearly as fast, so more
/// would gain little.
pub const RUN_CACHE_BYTES: u64 = 64 << 20;

/// Disk space that temporary files leave to other programs.
const LEFT_FREE_BYTES: u64 = 1 << 30;

/// Requests between two looks at the free space.
const SPACE_INTERVAL: u64 = 1 << 16;

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

/// All requests of a trace.
pub struct CachedRequests {
    store: Arc<RequestStore>,
    _taken: Taken,
}

impl CachedRequests {
    /// Reads a whole trace, shows each request to `see`, and caches it. `None` if the cache has no
    /// room, neither in memory nor on disk; the trace is then read to its end all the same.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn read(
        trace: &Trace,
        budget: &Arc<CacheBudget>,
        progress: &dyn Progress,
        mut see: impl FnMut(&Request),
    ) -> Result<Option<CachedRequests>> {
        let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
        let mut cache = Some(GrowingCache::new(budget));
        while replay.prepare()? {
            progress.report(Stage::Survey, 0, None)?;
        }
        while replay.next_batch(&mut batch, BATCH)? > 0 {
            batch.iter().for_each(&mut see);
            cache = cache.and_then(|cache| cache.with(&batch).ok());
            batch.clear();
            progress.report(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
        }
        Ok(cache.and_then(|cache| cache.finish(trace.name(), &replay).ok()))
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.store.requests()
    }

    /// Starts reading from the first request. All that was skipped in the whole file is reported
    /// from the start.
    pub fn replay(&self) -> Replay {
        Replay::of_store(&self.store)
    }
}

/// The requests that were read so far. An error says that there is no room for more.
struct GrowingCache {
    builder: StoreBuilder,
    taken: Taken,
    /// Requests that may be spilt before the free space is looked at again.
    until_look: u64,
    /// The temporary file, once there is one.
    spill: Option<File>,
}

impl GrowingCache {
    fn new(budget: &Arc<CacheBudget>) -> GrowingCache {
        let taken = Taken { budget: budget.clone(), bytes: 0 };
        GrowingCache { builder: StoreBuilder::new(), taken, until_look: 0, spill: None }
    }

    fn with(mut self, requests: &[Request]) -> io::Result<GrowingCache> {
        for request in requests {
            let bytes = self.builder.next_bytes();
            if bytes > 0 && !self.taken.grow(bytes) {
                self.begin_spill()?;
            }
            self.builder.push(request)?;
        }
        self.look_for_space(requests.len() as u64)?;
        Ok(self)
    }

    fn begin_spill(&mut self) -> io::Result<()> {
        let file = tempfile::tempfile()?;
        self.builder.spill_to(file.try_clone()?);
        self.spill = Some(file);
        Ok(())
    }

    /// Fails if the disk of the temporary file is nearly full; `more` requests went there.
    fn look_for_space(&mut self, more: u64) -> io::Result<()> {
        let Some(file) = &self.spill else { return Ok(()) };
        if self.until_look > more {
            self.until_look -= more;
            return Ok(());
        }
        self.until_look = SPACE_INTERVAL;
        let disk = rustix::fs::fstatvfs(file)?;
        match disk.f_bavail.saturating_mul(disk.f_frsize) < LEFT_FREE_BYTES {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn finish(self, name: &str, replay: &Replay) -> io::Result<CachedRequests> {
        let store = Arc::new(replay.finish_store(name, self.builder)?);
        Ok(CachedRequests { store, _taken: self.taken })
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

    fn read(trace: &Trace, budget: &Arc<CacheBudget>) -> Option<CachedRequests> {
        CachedRequests::read(trace, budget, &NoProgress, |_| ()).unwrap()
    }

    fn cached(cached: &CachedRequests) -> Vec<Request> {
        let (mut replay, mut requests) = (cached.replay(), Vec::new());
        while replay.next_batch(&mut requests, BATCH).unwrap() > 0 {}
        requests
    }

    #[test]
    fn cached_requests_equal_those_of_the_file_in_memory_or_not() {
        let (_file, trace) = file(2 * CHUNK + 10, 4096);
        let expected = all(&trace);
        for chunks in 0..5 {
            let budget = CacheBudget::new(chunks * CHUNK_BYTES);
            let found = read(&trace, &budget).unwrap();
            assert!(cached(&found) == expected, "{chunks} chunks");
            let skipped = found.replay().report().skipped.get("zero-length");
            assert_eq!((found.count(), skipped), (2 * CHUNK + 10, 1));
            let kept = found.store.spilt_bytes() + 24 * CHUNK * chunks.min(2);
            assert!(kept >= 24 * found.count() || chunks >= 3, "the rest is in a file");
            assert_eq!(found.store.spilt_bytes() > 0, chunks < 3);
            let taken = chunks.min(3) * CHUNK_BYTES;
            assert_eq!(budget.left_bytes.load(Ordering::Relaxed), chunks * CHUNK_BYTES - taken);
            drop(found);
            assert!(budget.take(chunks * CHUNK_BYTES), "dropping gives the memory back");
        }
    }

    #[test]
    fn every_request_is_seen_once() {
        let (_file, trace) = file(5, 512);
        let mut seen = Vec::new();
        let budget = CacheBudget::new(0);
        let see = |request: &Request| seen.push(*request);
        CachedRequests::read(&trace, &budget, &NoProgress, see).unwrap().unwrap();
        assert_eq!(seen, all(&trace));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_an_error() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"0,0,512,W,0.0\n0,0,512,W,1.0\n0,what,512,W,2.0\n").unwrap();
        let trace = Trace::open(file.path().to_str().unwrap(), &ReadOptions::default()).unwrap();
        let read = CachedRequests::read(&trace, &CacheBudget::new(0), &NoProgress, |_| ());
        let message = read.err().unwrap().to_string();
        assert!(message.contains(":3: "), "{message}");
    }

    #[test]
    fn requests_of_any_length_are_cached() {
        let (_file, trace) = file(3, 1 << 33);
        for bytes in [0, CHUNK_BYTES] {
            let found = read(&trace, &CacheBudget::new(bytes)).unwrap();
            assert_eq!(cached(&found), all(&trace));
        }
        assert_eq!(all(&trace)[2].bytes, 1 << 33);
    }
}
