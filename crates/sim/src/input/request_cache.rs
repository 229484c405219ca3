//! The requests of a trace file, cached when the file is parsed for the first time.
//!
//! All later passes read the cache: warm-up, measurement, other FTLs, other rows of a sweep. A
//! cached request takes 24 bytes. All that a command caches in memory shares one [`CacheBudget`].
//! What does not fit goes to a temporary file without a name, of which nothing remains however the
//! process ends. If there is no room for that either, the trace is parsed in every pass. All three
//! ways deliver the same requests.

use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trace::replay::BATCH;
use trace::{Replay, Request, RequestStore, SpillFile, StoreBuilder, Trace};

use crate::error::Result;
use crate::progress::{Progress, Stage};

/// The most memory for the requests of a single run. A temporary file is nearly as fast, so more
/// would gain little.
pub const RUN_CACHE_BYTES: u64 = 64 << 20;

/// Memory for the requests of a plain trace, per byte of its file. A request has 24 bytes, and the
/// pieces of a cache are at most half empty; so lines may have 24 bytes on average.
const BYTES_PER_STORED: u64 = 2;

/// The same for a compressed file.
const BYTES_PER_COMPRESSED: u64 = 16;

/// The endings of the names of compressed files.
const COMPRESSED: [&str; 6] = ["gz", "tgz", "zst", "tzst", "xz", "txz"];

/// Disk space that temporary files leave to other programs.
const LEFT_FREE_BYTES: u64 = 1 << 30;

/// Requests between two looks at the free space.
const SPACE_INTERVAL: u64 = 1 << 16;

/// The memory that the requests of these traces, each a file or a folder, will about take; as much
/// as there is if nothing tells, as for standard input. Only the sizes of files are looked at, so
/// it is the same for each process that asks. Requests that need more go to a temporary file.
pub fn needed_bytes<'a>(traces: impl IntoIterator<Item = &'a str>) -> u64 {
    let needed_by_trace = |name: &str| match trace::stored_files(name) {
        files if files.is_empty() => u64::MAX,
        files => files.iter().map(|file| needed_by(file)).fold(0, u64::saturating_add),
    };
    traces.into_iter().map(needed_by_trace).fold(0, u64::saturating_add)
}

fn needed_by(file: &Path) -> u64 {
    let Some(stored) = file.metadata().ok().filter(Metadata::is_file) else { return u64::MAX };
    let ending = file.extension().and_then(|ending| ending.to_str());
    let is_compressed = ending.is_some_and(|ending| COMPRESSED.contains(&ending));
    let factor = if is_compressed { BYTES_PER_COMPRESSED } else { BYTES_PER_STORED };
    stored.len().saturating_mul(factor)
}

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

/// All requests of a trace, or of one of its volumes.
pub struct CachedRequests {
    store: Arc<RequestStore>,
    _taken: Taken,
}

/// The names of the volumes of a trace, and the requests of each if they are cached.
pub type CachedVolumes = (Vec<String>, Option<Vec<CachedRequests>>);

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
        see: impl FnMut(&Request),
    ) -> Result<Option<CachedRequests>> {
        let whole = GrowingCache::new(budget, false);
        let (replay, cache) = read(trace, Some(whole), progress, see)?;
        Ok(cache.and_then(|cache| cache.finish(trace.name(), &replay).ok()))
    }

    /// The same for each volume by itself. Without a budget nothing is cached.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn read_volumes(
        trace: &Trace,
        budget: Option<&Arc<CacheBudget>>,
        progress: &dyn Progress,
        see: impl FnMut(&Request),
    ) -> Result<CachedVolumes> {
        let split = budget.map(|budget| GrowingCache::new(budget, true));
        let (replay, cache) = read(trace, split, progress, see)?;
        let cached = cache.and_then(|cache| cache.finish_volumes(trace.name(), &replay).ok());
        Ok((replay.report().devices, cached))
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

/// Reads a whole trace, shows each request to `see`, and lets the cache grow while it has room.
fn read(
    trace: &Trace,
    mut cache: Option<GrowingCache>,
    progress: &dyn Progress,
    mut see: impl FnMut(&Request),
) -> Result<(Replay, Option<GrowingCache>)> {
    let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(BATCH));
    while replay.prepare()? {
        progress.report(Stage::Survey, 0, None)?;
    }
    while replay.next_batch(&mut batch, BATCH)? > 0 {
        batch.iter().for_each(&mut see);
        cache = cache.and_then(|cache| cache.with(&batch).ok());
        batch.clear();
        progress.report(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
    }
    Ok((replay, cache))
}

/// The requests that were read so far. An error says that there is no room for more.
struct GrowingCache {
    budget: Arc<CacheBudget>,
    by_volume: bool,
    /// One for all requests, or one for each volume.
    parts: Vec<GrowingPart>,
    /// Requests that may be spilt before the free space is looked at again.
    until_look: u64,
    /// The temporary file, once there is one.
    spill: Option<Arc<SpillFile>>,
}

/// The requests of one volume, or all.
struct GrowingPart {
    builder: StoreBuilder,
    taken: Taken,
}

impl GrowingCache {
    fn new(budget: &Arc<CacheBudget>, by_volume: bool) -> GrowingCache {
        let budget = Arc::clone(budget);
        let cache =
            GrowingCache { budget, by_volume, parts: Vec::new(), until_look: 0, spill: None };
        cache.with_parts(if by_volume { 0 } else { 1 })
    }

    fn with_parts(mut self, count: usize) -> GrowingCache {
        let part = || {
            let taken = Taken { budget: Arc::clone(&self.budget), bytes: 0 };
            GrowingPart { builder: StoreBuilder::default(), taken }
        };
        self.parts.resize_with(count.max(self.parts.len()), part);
        self
    }

    fn with(mut self, requests: &[Request]) -> io::Result<GrowingCache> {
        if self.by_volume {
            let volumes = requests.iter().map(|request| request.device as usize + 1).max();
            self = self.with_parts(volumes.unwrap_or(0));
        }
        for request in requests {
            let part = if self.by_volume { request.device as usize } else { 0 };
            let GrowingPart { builder, taken } = &mut self.parts[part];
            let bytes = builder.next_bytes();
            if bytes > 0 && !taken.grow(bytes) {
                builder.spill_to(spill_file(&mut self.spill)?);
            }
            match self.by_volume {
                true => builder.push(&Request { device: 0, ..*request })?,
                false => builder.push(request)?,
            }
        }
        self.look_for_space(requests.len() as u64)?;
        Ok(self)
    }

    /// Fails if the disk of the temporary file is nearly full; `more` requests went there.
    fn look_for_space(&mut self, more: u64) -> io::Result<()> {
        let Some(file) = &self.spill else { return Ok(()) };
        if self.until_look > more {
            self.until_look -= more;
            return Ok(());
        }
        self.until_look = SPACE_INTERVAL;
        let disk = rustix::fs::fstatvfs(file.file())?;
        match disk.f_bavail.saturating_mul(disk.f_frsize) < LEFT_FREE_BYTES {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }

    fn finish(mut self, name: &str, replay: &Replay) -> io::Result<CachedRequests> {
        let GrowingPart { builder, taken } = self.parts.remove(0);
        let store = Arc::new(replay.finish_store(name, builder)?);
        Ok(CachedRequests { store, _taken: taken })
    }

    fn finish_volumes(self, name: &str, replay: &Replay) -> io::Result<Vec<CachedRequests>> {
        let parts = self.parts.into_iter().map(|part| (part.builder, part.taken));
        let (builders, taken): (Vec<_>, Vec<_>) = parts.unzip();
        let stores = replay.finish_volumes(name, builders)?.into_iter().zip(taken);
        let cached = |(store, taken)| CachedRequests { store: Arc::new(store), _taken: taken };
        Ok(stores.map(cached).collect())
    }
}

/// The temporary file, which is created when it is first needed.
fn spill_file(spill: &mut Option<Arc<SpillFile>>) -> io::Result<&Arc<SpillFile>> {
    match spill {
        Some(file) => Ok(file),
        None => Ok(spill.insert(SpillFile::create()?)),
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
    fn the_memory_that_traces_need_follows_from_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("a.csv"), [b'0'; 1000]).unwrap();
        std::fs::write(at("b.csv.zst"), [b'0'; 100]).unwrap();
        let needed = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| at(name)).collect();
            needed_bytes(names.iter().map(String::as_str))
        };
        assert_eq!([needed(&[]), needed(&["a.csv"]), needed(&["b.csv.zst"])], [0, 2000, 1600]);
        assert_eq!([needed(&["a.csv", "b.csv.zst"]), needed(&[""])], [3600, 3600]);
        assert_eq!([needed(&["a.csv", "missing"]), needed_bytes(["-"])], [u64::MAX; 2]);
    }

    #[test]
    fn cached_requests_equal_those_of_the_file_in_memory_or_not() {
        let (_file, trace) = file(2 * CHUNK + 10, 4096);
        let expected = all(&trace);
        let all_bytes = 24 * expected.len() as u64;
        for bytes in [0, 1536, all_bytes / 2, all_bytes, 2 * all_bytes] {
            let budget = CacheBudget::new(bytes);
            let found = read(&trace, &budget).unwrap();
            assert!(cached(&found) == expected, "{bytes} bytes");
            let skipped = found.replay().report().skipped.get("zero-length");
            assert_eq!((found.count(), skipped), (2 * CHUNK + 10, 1));
            let (left, spilt) =
                (budget.left_bytes.load(Ordering::Relaxed), found.store.spilt_bytes());
            assert!(spilt + (bytes - left) >= all_bytes, "the rest is in a file");
            assert_eq!(spilt == 0, bytes == 2 * all_bytes, "pieces grow with the store");
            assert_eq!(spilt == all_bytes, bytes == 0);
            drop(found);
            assert!(budget.take(bytes), "dropping gives the memory back");
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
