//! An immutable table of requests.

use std::fmt;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::reader::ReadReport;
use crate::request::Request;
use crate::table::packed::{LONG, PACKED_BYTES, PackedRequest};

/// Requests in a chunk of memory.
pub(crate) const CHUNK: usize = 1 << 16;

/// The name of requests for which the caller gives no name.
pub const DEFAULT_NAME: &str = "requests";

/// Requests in memory, each row as it was given. It takes 24 bytes a row, and 16 bytes more for a
/// request of 4 GiB or more. Rows are stored in chunks, so that growing never copies.
#[derive(Default)]
pub struct RequestTable {
    pub(crate) name: String,
    pub(crate) chunks: Vec<Vec<PackedRequest>>,
    /// Row and length of each request whose length is not in its row, in the order of rows.
    pub(crate) long: Vec<(u64, u64)>,
    /// The time that is delivered as 0.
    pub(crate) first_ns: u64,
    pub(crate) report: ReadReport,
    pub(crate) sha256: OnceLock<String>,
}

impl RequestTable {
    /// A table without rows.
    pub(crate) fn empty(name: &str) -> RequestTable {
        RequestTable { name: name.to_owned(), ..RequestTable::default() }
    }

    /// The name that results show.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of rows.
    pub fn rows(&self) -> u64 {
        let (full, last) = match self.chunks.split_last() {
            Some((last, full)) => (full.len(), last.len()),
            None => (0, 0),
        };
        (full * CHUNK + last) as u64
    }

    /// The memory that the rows take, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        let rows: usize = self.chunks.iter().map(Vec::capacity).sum();
        (rows * PACKED_BYTES + self.long.capacity() * size_of::<(u64, u64)>()) as u64
    }

    /// Whether a row has a stream.
    pub fn has_streams(&self) -> bool {
        self.chunks.iter().flatten().any(|packed| packed.stream() > 0)
    }

    /// The names of the devices. Also what was skipped and noted when the requests were read from a
    /// trace; nothing if they were columns.
    pub fn report(&self) -> &ReadReport {
        &self.report
    }

    /// Appends up to `max` rows to `out`, from the row number `from` on. Returns their number; 0 at
    /// the end, if `max` is not 0. Rows are as they were given: their times are those of the
    /// caller, and their length may be 0.
    pub fn copy_rows(&self, from: u64, out: &mut Vec<Request>, max: usize) -> usize {
        let rows = self.rows_from(from);
        let count = rows.len().min(max);
        let numbered = (from..).zip(&rows[..count]);
        out.extend(numbered.map(|(row, packed)| self.unpacked(row, packed)));
        count
    }

    /// The rows from the one with this number to the end of its chunk; none at the end.
    pub(crate) fn rows_from(&self, row: u64) -> &[PackedRequest] {
        let (chunk, start) = (row as usize / CHUNK, row as usize % CHUNK);
        self.chunks.get(chunk).map_or(&[], |chunk| &chunk[start.min(chunk.len())..])
    }

    /// The request in a row.
    #[inline]
    pub(crate) fn unpacked(&self, row: u64, packed: &PackedRequest) -> Request {
        let request = packed.unpacked();
        match packed.bytes {
            LONG => Request { bytes: self.long_bytes(row), ..request },
            _ => request,
        }
    }

    #[cold]
    fn long_bytes(&self, row: u64) -> u64 {
        let found = self.long.binary_search_by_key(&row, |&(row, _)| row);
        self.long[found.expect("the length of a long request was kept")].1
    }

    /// The SHA-256 of all rows, in hexadecimal. It is computed once.
    ///
    /// The bytes of a row are `time_ns` and `offset` (8 bytes each), `bytes` (4), `device` (2),
    /// `op` with the stream in its upper six bits, and `flags` (1 each), all little endian. `bytes`
    /// is 4294967295 if the request is that long or longer; for each such request, its row and its
    /// length (8 bytes each) follow after all rows.
    pub fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| {
            let (mut hasher, mut bytes) = (Sha256::new(), Vec::with_capacity(1024 * PACKED_BYTES));
            for rows in self.chunks.iter().flat_map(|chunk| chunk.chunks(1024)) {
                bytes.clear();
                rows.iter().for_each(|row| bytes.extend_from_slice(&row.to_bytes()));
                hasher.update(&bytes);
            }
            for number in self.long.iter().flat_map(|&(row, bytes)| [row, bytes]) {
                hasher.update(number.to_le_bytes());
            }
            hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
        })
    }
}

impl fmt::Debug for RequestTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "RequestTable({}, {} rows)", self.name, self.rows())
    }
}
