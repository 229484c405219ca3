//! Decompression on a thread of its own, so that it goes on while lines are parsed.
//!
//! ```text
//! decompressor ─ thread ─▶ [chunk][chunk][chunk][chunk] ─ channel ─▶ ReadAhead ─▶ window
//! ```
//! The thread is at most [`QUEUED`] chunks ahead, and it ends when nobody reads any more. Bytes and
//! errors arrive in their order. An error arrives behind all bytes before it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes in a chunk.
const CHUNK_BYTES: usize = 128 << 10;

/// Chunks that may wait to be read.
const QUEUED: usize = 4;

/// A reader of bytes that another thread produces.
pub(crate) struct ReadAhead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    /// Bytes read of the chunk.
    taken: usize,
    has_ended: bool,
}

impl ReadAhead {
    /// Begins to read from `source` on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn new(source: Box<dyn Read + Send>) -> io::Result<ReadAhead> {
        let (sender, chunks) = sync_channel(QUEUED);
        let work = move || produce(source, &sender);
        thread::Builder::new().name("decompression".into()).spawn(work)?;
        Ok(ReadAhead { chunks, chunk: Vec::new(), taken: 0, has_ended: false })
    }

    /// Waits for the next chunk. An empty one is the end.
    fn next_chunk(&mut self) -> io::Result<()> {
        (self.chunk, self.taken) = (Vec::new(), 0);
        // A thread that panics sends no end, and what it did not send must not be missing silently.
        let lost = |_| Err(io::Error::other("the thread that decompresses it has failed"));
        self.chunk = self.chunks.recv().unwrap_or_else(lost)?;
        self.has_ended = self.chunk.is_empty();
        Ok(())
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() && !self.has_ended && !out.is_empty() {
            self.next_chunk()?;
        }
        let rest = &self.chunk[self.taken..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

/// Sends the bytes of `source` in chunks and then an empty chunk, or its error. Ends early if
/// nobody reads any more.
fn produce(mut source: Box<dyn Read + Send>, chunks: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        let read = fill(&mut source, &mut chunk);
        let has_ended = chunk.is_empty();
        if read.is_ok() || !has_ended {
            let sent = chunks.send(Ok(chunk));
            if sent.is_err() || read.is_ok() && has_ended {
                return;
            }
        }
        if let Err(error) = read {
            // If nobody reads any more, nobody wants to know.
            let _ = chunks.send(Err(error));
            return;
        }
    }
}

/// Reads a chunk, which is shorter only at the end or before an error.
fn fill(source: &mut dyn Read, chunk: &mut Vec<u8>) -> io::Result<()> {
    source.take(CHUNK_BYTES as u64).read_to_end(chunk).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Delivers `left` bytes, a few at a time, and then ends as it is told.
    struct Source {
        left: usize,
        produced: Arc<AtomicUsize>,
        end: fn() -> io::Result<usize>,
    }

    impl Read for Source {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 {
                return (self.end)();
            }
            let count = out.len().min(self.left).min(1000);
            for (byte, number) in out[..count].iter_mut().zip(self.produced()..) {
                *byte = number as u8;
            }
            self.left -= count;
            self.produced.fetch_add(count, Ordering::SeqCst);
            Ok(count)
        }
    }

    impl Source {
        fn produced(&self) -> usize {
            self.produced.load(Ordering::SeqCst)
        }
    }

    fn ahead(left: usize, end: fn() -> io::Result<usize>) -> (ReadAhead, Arc<AtomicUsize>) {
        let produced = Arc::new(AtomicUsize::new(0));
        let source = Source { left, produced: Arc::clone(&produced), end };
        (ReadAhead::new(Box::new(source)).unwrap(), produced)
    }

    #[test]
    fn all_bytes_arrive_in_order() {
        for count in [0, 1, CHUNK_BYTES, 7 * CHUNK_BYTES + 5] {
            let (mut reader, _) = ahead(count, || Ok(0));
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            assert!(bytes.iter().copied().eq((0..count).map(|number| number as u8)));
            assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0, "the end is the end");
        }
    }

    #[test]
    fn an_error_arrives_behind_all_bytes_before_it() {
        for count in [0, 1, 2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 5] {
            let (mut reader, _) = ahead(count, || Err(ErrorKind::UnexpectedEof.into()));
            let mut bytes = Vec::new();
            let error = reader.read_to_end(&mut bytes).unwrap_err();
            assert_eq!((bytes.len(), error.kind()), (count, ErrorKind::UnexpectedEof));
        }
    }

    #[test]
    fn a_thread_that_fails_is_no_end() {
        let (mut reader, _) = ahead(CHUNK_BYTES, || panic!("as a broken decoder does"));
        let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "the thread that decompresses it has failed");
    }

    #[test]
    fn the_thread_ends_when_nobody_reads() {
        let (mut reader, produced) = ahead(usize::MAX, || Ok(0));
        reader.read_exact(&mut [0; 10]).unwrap();
        drop(reader);
        // The source is dropped with the thread, and the counter with it.
        while Arc::strong_count(&produced) > 1 {
            thread::yield_now();
        }
        let chunks = produced.load(Ordering::SeqCst) / CHUNK_BYTES;
        assert!(chunks <= 2 + QUEUED + 1, "{chunks} chunks were read ahead");
    }
}
