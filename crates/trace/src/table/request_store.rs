//! The requests of a replay, kept so that they need not be parsed again: the first ones in memory,
//! the others in a temporary file.
//!
//! ```text
//! replay ─▶ StoreBuilder ─┬─▶ pieces in memory ────────────┐
//!                         └─▶ pieces in a temporary file ──┴─▶ StoreReader ─▶ the same requests
//! ```
//! Pieces grow with the store. So thousands of stores can be built at the same time, one for each
//! volume of a trace, and they share one temporary file.
//!
//! A request is a record of 24 bytes. A request of 4 GiB or more is two records, the second of
//! which has its length. The requests were checked when they were parsed, so reading them again
//! only unpacks them.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reader::ReadReport;
use crate::request::Request;
use crate::table::packed::{LONG, PACKED_BYTES, PackedRequest};
use crate::table::request_table::CHUNK;

/// Records of the first piece of a store.
const PIECE_MIN: usize = 64;

/// Records of the largest piece in a file: 96 KiB, which fit into the cache when they are read.
const FILE_PIECE_MAX: usize = 4096;

/// The most records that a request takes.
const RECORDS_MAX: usize = 2;

/// The requests of a replay, and what else it read of its trace.
pub struct RequestStore {
    pub(crate) name: String,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) report: ReadReport,
    requests: u64,
}

/// Records that follow each other.
pub(crate) enum Piece {
    InMemory(Vec<PackedRequest>),
    InFile { file: Arc<SpillFile>, first_byte: u64, records: usize },
}

/// A temporary file for the pieces of one or several stores.
pub struct SpillFile {
    file: File,
    /// The end of the last piece.
    end_bytes: AtomicU64,
}

impl SpillFile {
    /// An empty file without a name, of which nothing remains however the process ends.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create() -> io::Result<Arc<SpillFile>> {
        Ok(Arc::new(SpillFile { file: tempfile::tempfile()?, end_bytes: AtomicU64::new(0) }))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Writes a piece behind all others.
    fn append(self: &Arc<SpillFile>, records: &[PackedRequest]) -> io::Result<Piece> {
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
        let first_byte = self.end_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.file.write_all_at(&bytes, first_byte)?;
        Ok(Piece::InFile { file: Arc::clone(self), first_byte, records: records.len() })
    }

    /// Appends the records of a piece to `out`.
    pub(crate) fn read(
        &self,
        first_byte: u64,
        records: usize,
        out: &mut Vec<PackedRequest>,
    ) -> io::Result<()> {
        let mut bytes = vec![0; records * PACKED_BYTES];
        self.file.read_exact_at(&mut bytes, first_byte)?;
        let (records, _) = bytes.as_chunks();
        let damaged =
            || io::Error::new(io::ErrorKind::InvalidData, "it was changed by another program");
        for record in records {
            out.push(PackedRequest::of_bytes(record).ok_or_else(damaged)?);
        }
        Ok(())
    }
}

impl RequestStore {
    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The bytes in the temporary file; 0 if there is none.
    pub fn spilt_bytes(&self) -> u64 {
        let spilt = |piece: &Piece| match piece {
            Piece::InMemory(_) => 0,
            Piece::InFile { records, .. } => (records * PACKED_BYTES) as u64,
        };
        self.pieces.iter().map(spilt).sum()
    }
}

impl fmt::Debug for RequestStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RequestStore({}, {} requests)", self.name, self.requests)
    }
}

/// Keeps the requests of a replay, in their order.
#[derive(Default)]
pub struct StoreBuilder {
    /// The pieces that are full.
    pieces: Vec<Piece>,
    /// The piece that is being filled.
    open: Vec<PackedRequest>,
    spill: Option<Arc<SpillFile>>,
    requests: u64,
}

impl StoreBuilder {
    /// The number of requests that it keeps.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The memory that the next request will take, in bytes: that of a new piece, or none.
    #[inline]
    pub fn next_bytes(&self) -> u64 {
        match self.spill.is_some() || self.has_room() {
            true => 0,
            false => (self.next_records() * PACKED_BYTES) as u64,
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.open.capacity() - self.open.len() >= RECORDS_MAX
    }

    /// Records of the next piece.
    fn next_records(&self) -> usize {
        let most = if self.spill.is_some() { FILE_PIECE_MAX } else { CHUNK };
        (self.requests as usize).clamp(PIECE_MIN, most)
    }

    /// Keeps all further requests in this file.
    pub fn spill_to(&mut self, file: &Arc<SpillFile>) {
        if self.spill.is_none() && !self.open.is_empty() {
            self.pieces.push(Piece::InMemory(core::mem::take(&mut self.open)));
        }
        self.spill = Some(Arc::clone(file));
    }

    /// Keeps a request.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, request: &Request) -> io::Result<()> {
        if !self.has_room() {
            self.begin_piece()?;
        }
        self.requests += 1;
        let packed = PackedRequest::of(request);
        self.open.push(packed);
        if packed.bytes == LONG {
            self.open.push(PackedRequest::of_length(request.bytes));
        }
        Ok(())
    }

    #[cold]
    fn begin_piece(&mut self) -> io::Result<()> {
        let records = self.next_records();
        match &self.spill {
            // The memory of a piece is used again when it has been written.
            Some(file) if self.open.capacity() >= records => {
                self.pieces.push(file.append(&self.open)?);
                self.open.clear();
            }
            _ => {
                self.end_piece()?;
                self.open = Vec::with_capacity(records);
            }
        }
        Ok(())
    }

    fn end_piece(&mut self) -> io::Result<()> {
        let records = core::mem::take(&mut self.open);
        if !records.is_empty() {
            self.pieces.push(match &self.spill {
                Some(file) => file.append(&records)?,
                None => Piece::InMemory(records),
            });
        }
        Ok(())
    }

    /// The store of all requests of a replay, with what was read of the trace apart from them.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub(crate) fn finish(mut self, name: &str, report: ReadReport) -> io::Result<RequestStore> {
        self.open.shrink_to_fit();
        self.end_piece()?;
        let (name, requests) = (name.to_owned(), self.requests);
        Ok(RequestStore { name, pieces: self.pieces, report, requests })
    }
}
