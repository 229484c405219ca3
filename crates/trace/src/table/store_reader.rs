//! Reads the requests of a store: those in memory, then those in the temporary file.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::reader::{ReadReport, Reader};
use crate::request::Request;
use crate::table::packed::{LONG, PACKED_BYTES, PackedRequest};
use crate::table::request_store::{RequestStore, SpiltRecords};

/// Records that are read from the file at a time: 96 KiB, which fit into the cache.
const PIECE: usize = 4096;

/// A reader of a store. Several may read the same store at a time.
pub(crate) struct StoreReader {
    store: Arc<RequestStore>,
    /// The chunk that is being read; the number of chunks once the file is read.
    chunk: usize,
    /// The piece of the file that is being read.
    piece: Vec<PackedRequest>,
    /// Records of the file up to the end of that piece.
    file_records: u64,
    /// Records read of the chunk or piece.
    taken: usize,
    /// Requests delivered.
    delivered: u64,
}

impl StoreReader {
    /// A reader before the first request.
    pub(crate) fn new(store: &Arc<RequestStore>) -> StoreReader {
        StoreReader {
            store: Arc::clone(store),
            chunk: 0,
            piece: Vec::new(),
            file_records: 0,
            taken: 0,
            delivered: 0,
        }
    }

    /// The records that are left of the current chunk or piece.
    fn rest(&self) -> &[PackedRequest] {
        let records = self.store.chunks.get(self.chunk).unwrap_or(&self.piece);
        &records[self.taken..]
    }

    /// Goes on to the next chunk or piece if the current one has ended. False at the end.
    fn find_records(&mut self) -> Result<bool> {
        while self.rest().is_empty() {
            self.taken = 0;
            self.chunk = self.store.chunks.len().min(self.chunk + 1);
            if self.chunk == self.store.chunks.len() && !self.read_piece()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the next piece of the file. False at the end.
    fn read_piece(&mut self) -> Result<bool> {
        self.piece.clear();
        let Some(spilt) = &self.store.spilt else { return Ok(false) };
        let count = (spilt.count - self.file_records).min(PIECE as u64);
        let read = unpack(spilt, self.file_records, count as usize, &mut self.piece);
        read.map_err(|source| Error::Kept { name: self.store.name.clone(), source })?;
        self.file_records += count;
        Ok(count > 0)
    }

    /// Delivers the requests that are left of the current chunk or piece, at most `max`, up to one
    /// whose length is in the next record. Returns whether there is such a one.
    fn take_short(&mut self, out: &mut Vec<Request>, max: usize) -> bool {
        let rest = self.rest();
        let wanted = &rest[..rest.len().min(max)];
        let before = out.len();
        out.reserve(wanted.len());
        for record in wanted {
            if record.bytes == LONG {
                break;
            }
            out.push(record.unpacked());
        }
        let count = out.len() - before;
        let is_long = count < wanted.len();
        self.taken += count;
        is_long
    }

    #[cold]
    fn take_long(&mut self, out: &mut Vec<Request>) -> Result<()> {
        let request = self.next_record()?.unpacked();
        let bytes = self.next_record()?.length();
        out.push(Request { bytes, ..request });
        Ok(())
    }

    fn next_record(&mut self) -> Result<PackedRequest> {
        assert!(self.find_records()?, "a store ends with a whole request");
        let record = self.rest()[0];
        self.taken += 1;
        Ok(record)
    }
}

/// Appends records of the file.
fn unpack(
    spilt: &SpiltRecords,
    first: u64,
    count: usize,
    out: &mut Vec<PackedRequest>,
) -> io::Result<()> {
    let mut bytes = vec![0; count * PACKED_BYTES];
    spilt.file.read_exact_at(&mut bytes, first * PACKED_BYTES as u64)?;
    let (records, _) = bytes.as_chunks();
    let damaged =
        || io::Error::new(io::ErrorKind::InvalidData, "it was changed by another program");
    for record in records {
        out.push(PackedRequest::of_bytes(record).ok_or_else(damaged)?);
    }
    Ok(())
}

impl Reader for StoreReader {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let before = out.len();
        while out.len() - before < max && self.find_records()? {
            if self.take_short(out, max - (out.len() - before)) {
                self.take_long(out)?;
            }
        }
        let count = out.len() - before;
        self.delivered += count as u64;
        Ok(count)
    }

    fn position_bytes(&self) -> u64 {
        self.delivered
    }

    fn report(&self) -> ReadReport {
        self.store.report.clone()
    }
}
