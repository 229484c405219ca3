//! Reads the requests of a store, piece by piece.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::reader::{ReadReport, Reader};
use crate::request::Request;
use crate::table::packed::{LONG, PackedRequest};
use crate::table::request_store::{Piece, RequestStore};

/// A reader of a store. Several may read the same store at a time.
pub(crate) struct StoreReader {
    store: Arc<RequestStore>,
    /// The number of pieces that were begun; the last of them is being read.
    begun: usize,
    /// The records of that piece, if it is in a file.
    of_file: Vec<PackedRequest>,
    /// Records of it that were delivered.
    taken: usize,
    /// Requests delivered.
    delivered: u64,
}

impl StoreReader {
    /// A reader before the first request.
    pub(crate) fn new(store: &Arc<RequestStore>) -> StoreReader {
        let store = Arc::clone(store);
        StoreReader { store, begun: 0, of_file: Vec::new(), taken: 0, delivered: 0 }
    }

    /// The records that are left of the piece that is being read.
    fn rest(&self) -> &[PackedRequest] {
        match self.store.pieces[..self.begun].last() {
            Some(Piece::InMemory(records)) => &records[self.taken..],
            Some(Piece::InFile { .. }) => &self.of_file[self.taken..],
            None => &[],
        }
    }

    /// Goes on to the next piece if the current one has ended. False at the end.
    fn find_records(&mut self) -> Result<bool> {
        while self.rest().is_empty() {
            let Some(piece) = self.store.pieces.get(self.begun) else { return Ok(false) };
            if let Piece::InFile { file, first_byte, records } = piece {
                self.of_file.clear();
                let read = file.read(*first_byte, *records, &mut self.of_file);
                read.map_err(|source| Error::Kept { name: self.store.name.clone(), source })?;
            }
            (self.begun, self.taken) = (self.begun + 1, 0);
        }
        Ok(true)
    }

    /// Delivers the requests that are left of the current piece, at most `max`, up to one
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
