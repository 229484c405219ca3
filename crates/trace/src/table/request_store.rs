//! The requests of a replay, kept so that they need not be parsed again: the first ones in memory,
//! the others in a temporary file.
//!
//! ```text
//! replay ─▶ StoreBuilder ─┬─▶ chunks in memory ─┐
//!                         └─▶ temporary file ───┴─▶ StoreReader ─▶ the same requests
//! ```
//! A request is a record of 24 bytes. A request of 4 GiB or more is two records, the second of
//! which has its length. The requests were checked when they were parsed, so reading them again
//! only unpacks them.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use crate::reader::ReadReport;
use crate::request::Request;
use crate::table::packed::{LONG, PACKED_BYTES, PackedRequest};
use crate::table::request_table::CHUNK;

/// Bytes that are collected before they are written to the temporary file.
const WRITE_BYTES: usize = 256 << 10;

/// The most records that a request takes.
const RECORDS_MAX: usize = 2;

/// The requests of a replay, and what else it read of its trace.
pub struct RequestStore {
    pub(crate) name: String,
    pub(crate) chunks: Vec<Vec<PackedRequest>>,
    /// The records that are not in memory.
    pub(crate) spilt: Option<SpiltRecords>,
    pub(crate) report: ReadReport,
    requests: u64,
}

/// Records in a temporary file, from its beginning on.
pub(crate) struct SpiltRecords {
    pub(crate) file: File,
    pub(crate) count: u64,
}

impl RequestStore {
    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The bytes in the temporary file; 0 if there is none.
    pub fn spilt_bytes(&self) -> u64 {
        self.spilt.as_ref().map_or(0, |spilt| spilt.count * PACKED_BYTES as u64)
    }
}

impl fmt::Debug for RequestStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RequestStore({}, {} requests)", self.name, self.requests)
    }
}

/// Keeps the requests of a replay, in their order.
pub struct StoreBuilder {
    chunks: Vec<Vec<PackedRequest>>,
    spill: Option<BufWriter<File>>,
    spilt: u64,
    requests: u64,
}

impl StoreBuilder {
    /// A builder without requests, which keeps them in memory.
    #[expect(clippy::new_without_default, reason = "an empty builder is of no use by default")]
    pub fn new() -> StoreBuilder {
        StoreBuilder { chunks: Vec::new(), spill: None, spilt: 0, requests: 0 }
    }

    /// The memory that the next request will take, in bytes: that of a new chunk, or none.
    #[inline]
    pub fn next_bytes(&self) -> u64 {
        let has_room = |chunk: &Vec<_>| chunk.capacity() - chunk.len() >= RECORDS_MAX;
        match self.spill.is_some() || self.chunks.last().is_some_and(has_room) {
            true => 0,
            false => (CHUNK * PACKED_BYTES) as u64,
        }
    }

    /// Keeps all further requests in this file, which must be empty.
    pub fn spill_to(&mut self, file: File) {
        self.spill = Some(BufWriter::with_capacity(WRITE_BYTES, file));
    }

    /// Keeps a request.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    #[inline]
    pub fn push(&mut self, request: &Request) -> io::Result<()> {
        if self.next_bytes() > 0 {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.requests += 1;
        let packed = PackedRequest::of(request);
        self.push_record(packed)?;
        match packed.bytes {
            LONG => self.push_record(PackedRequest::of_length(request.bytes)),
            _ => Ok(()),
        }
    }

    #[inline]
    fn push_record(&mut self, record: PackedRequest) -> io::Result<()> {
        match &mut self.spill {
            None => self.chunks.last_mut().expect("a chunk has room").push(record),
            Some(file) => {
                file.write_all(&record.to_bytes())?;
                self.spilt += 1;
            }
        }
        Ok(())
    }

    /// The store of all requests of a replay, with what was read of the trace apart from them.
    ///
    /// # Errors
    /// The temporary file cannot be written.
    pub(crate) fn finish(mut self, name: &str, report: ReadReport) -> io::Result<RequestStore> {
        if let Some(last) = self.chunks.last_mut() {
            last.shrink_to_fit();
        }
        let file = self.spill.map(BufWriter::into_inner).transpose();
        let file = file.map_err(io::IntoInnerError::into_error)?;
        Ok(RequestStore {
            name: name.to_owned(),
            chunks: self.chunks,
            spilt: file.map(|file| SpiltRecords { file, count: self.spilt }),
            report,
            requests: self.requests,
        })
    }
}
