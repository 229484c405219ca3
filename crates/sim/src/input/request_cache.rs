//! The requests of a trace file, kept in memory.
//!
//! Sweeps use this: their rows read the same trace again and again. A kept request takes 24 bytes.
//! All that a sweep keeps shares one [`CacheBudget`]; a trace that does not fit is read from its
//! file every time. Both ways deliver the same requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trace::replay::Skipped;
use trace::{Flags, Op, Request, Trace};

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

/// Requests in a chunk of memory.
const CHUNK: usize = 1 << 16;
const CHUNK_BYTES: u64 = (CHUNK * size_of::<PackedRequest>()) as u64;

/// A request in the form in which it is kept.
#[derive(Clone, Copy)]
struct PackedRequest {
    time_ns: u64,
    offset: u64,
    bytes: u32,
    device: u16,
    op: Op,
    flags: Flags,
}

const _: () = assert!(size_of::<PackedRequest>() == 24, "the documentation says 24 bytes");

impl PackedRequest {
    /// Packs a request; `None` if it is too long or its device has too large a number.
    fn of(request: &Request) -> Option<PackedRequest> {
        let Request { time_ns, offset, bytes, device, op, flags } = *request;
        let (bytes, device) = (bytes.try_into().ok()?, device.try_into().ok()?);
        Some(PackedRequest { time_ns, offset, bytes, device, op, flags })
    }

    fn unpacked(&self) -> Request {
        let PackedRequest { time_ns, offset, bytes, device, op, flags } = *self;
        Request { time_ns, offset, bytes: bytes.into(), device: device.into(), op, flags }
    }
}

/// All requests of a trace. They are stored in chunks, so that growing never copies.
pub struct CachedRequests {
    chunks: Vec<Vec<PackedRequest>>,
    count: u64,
    skipped: Skipped,
    notes: Vec<String>,
    budget: Arc<CacheBudget>,
}

impl CachedRequests {
    /// Reads a whole trace; `None` if the budget is too small or a request cannot be packed.
    ///
    /// # Errors
    /// The trace cannot be read, or the run is stopped.
    pub fn read(
        trace: &Trace,
        budget: &Arc<CacheBudget>,
        progress: &dyn Progress,
    ) -> Result<Option<CachedRequests>> {
        let (mut replay, mut batch) = (trace.replay()?, Vec::with_capacity(CHUNK));
        let mut cached = CachedRequests {
            chunks: Vec::new(),
            count: 0,
            skipped: Skipped::default(),
            notes: Vec::new(),
            budget: budget.clone(),
        };
        while replay.prepare()? {
            progress.report(Stage::Survey, 0, None)?;
        }
        while replay.next_batch(&mut batch, CHUNK)? > 0 {
            for request in batch.drain(..) {
                if !cached.push(&request) {
                    return Ok(None);
                }
            }
            progress.report(Stage::Survey, replay.position_bytes(), trace.size_hint_bytes())?;
        }
        cached.skipped = replay.skipped().clone();
        cached.notes = replay.notes();
        Ok(Some(cached))
    }

    fn push(&mut self, request: &Request) -> bool {
        let Some(packed) = PackedRequest::of(request) else { return false };
        if self.count.is_multiple_of(CHUNK as u64) {
            if !self.budget.take(CHUNK_BYTES) {
                return false;
            }
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks.last_mut().expect("pushed above").push(packed);
        self.count += 1;
        true
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The lines and requests that were skipped when the trace was read.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Sentences about the trace as it was read.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Appends up to `max` requests to `out`, from the request number `position` on. Returns how
    /// many were appended.
    pub fn deliver(&self, position: u64, out: &mut Vec<Request>, max: usize) -> usize {
        let (chunk, offset) = (position as usize / CHUNK, position as usize % CHUNK);
        let Some(chunk) = self.chunks.get(chunk) else { return 0 };
        let count = max.min(chunk.len() - offset);
        out.extend(chunk[offset..offset + count].iter().map(PackedRequest::unpacked));
        count
    }
}

impl Drop for CachedRequests {
    fn drop(&mut self) {
        self.budget.give_back(CHUNK_BYTES * self.chunks.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::NoProgress;
    use std::io::Write;
    use trace::ReadOptions;

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

    #[test]
    fn cached_requests_equal_those_of_the_file() {
        let (_file, trace) = file(CHUNK as u64 + 10, 4096);
        let (mut replay, mut stored) = (trace.replay().unwrap(), Vec::new());
        while replay.next_batch(&mut stored, 1000).unwrap() > 0 {}
        let budget = CacheBudget::new(2 * CHUNK_BYTES);
        let cached = CachedRequests::read(&trace, &budget, &NoProgress).unwrap().unwrap();
        let mut delivered = Vec::new();
        while cached.deliver(delivered.len() as u64, &mut delivered, 1000) > 0 {}
        assert!(delivered == stored);
        assert_eq!((cached.count(), cached.skipped().get("zero-length")), (CHUNK as u64 + 10, 1));
        drop(cached);
        assert!(budget.take(2 * CHUNK_BYTES), "dropping gives the memory back");
    }

    #[test]
    fn traces_that_do_not_fit_are_not_cached() {
        for (requests, bytes, chunks) in [(CHUNK as u64 + 1, 512, 1), (1, 1 << 33, 1)] {
            let (_file, trace) = file(requests, bytes);
            let budget = CacheBudget::new(chunks * CHUNK_BYTES);
            assert!(CachedRequests::read(&trace, &budget, &NoProgress).unwrap().is_none());
            assert!(budget.take(chunks * CHUNK_BYTES), "the memory is given back");
        }
    }
}
