//! Trims and zeroes. A range may be gigabytes long, so it is done piece by piece, and other
//! requests are served in between.

use std::collections::VecDeque;
use std::ops::Range;

use disk::Result;

use crate::device::bytes;
use crate::device::store::Store;

/// Bytes that are written at once.
const WRITTEN_AT_ONCE: u64 = 1 << 20;
/// Bytes that are trimmed at once.
const TRIMMED_AT_ONCE: u64 = 256 << 20;

/// What is done to a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Its pages are forgotten. They are whole.
    Trim,
    /// Zeroes are written.
    Write,
}

/// A piece that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What was done.
    pub deed: Deed,
    /// The bytes.
    pub range: Range<u64>,
}

/// What is left to do for a request.
#[derive(Debug)]
pub struct LongWork<W> {
    /// Who waits for it.
    pub waiter: W,
    /// Whether it must be durable.
    pub force: bool,
    pieces: VecDeque<Piece>,
}

impl<W> LongWork<W> {
    /// Trims the whole pages in a range.
    pub fn trim(waiter: W, force: bool, range: Range<u64>, page_bytes: u64) -> LongWork<W> {
        let pages = bytes::inward(range.start, range.end - range.start, page_bytes);
        LongWork { waiter, force, pieces: pieces([(Deed::Trim, pages)]) }
    }

    /// Zeroes a range: its whole pages are forgotten, and zeroes are written to the others.
    pub fn zero(waiter: W, force: bool, range: Range<u64>, page_bytes: u64) -> LongWork<W> {
        let pages = bytes::inward(range.start, range.end - range.start, page_bytes);
        let all = if pages.is_empty() {
            pieces([(Deed::Write, range)])
        } else {
            pieces([
                (Deed::Write, range.start..pages.start),
                (Deed::Trim, pages.clone()),
                (Deed::Write, pages.end..range.end),
            ])
        };
        LongWork { waiter, force, pieces: all }
    }

    /// Writes zeroes to a range.
    pub fn allocate(waiter: W, force: bool, range: Range<u64>) -> LongWork<W> {
        LongWork { waiter, force, pieces: pieces([(Deed::Write, range)]) }
    }

    /// Whether zeroes must be written.
    pub fn writes(&self) -> bool {
        self.pieces.iter().any(|piece| piece.deed == Deed::Write)
    }

    /// Does a part of the work. Returns what was done; none if nothing is left.
    ///
    /// # Errors
    /// Those of the disk. Earlier pieces stay done.
    pub fn step(&mut self, store: &mut Store) -> Result<Option<Piece>> {
        let Some(Piece { deed, range }) = self.pieces.pop_front() else { return Ok(None) };
        let at_once = match deed {
            Deed::Trim => TRIMMED_AT_ONCE,
            Deed::Write => WRITTEN_AT_ONCE,
        };
        let end = range.end.min((range.start / at_once + 1) * at_once);
        if end < range.end {
            self.pieces.push_front(Piece { deed, range: end..range.end });
        }
        let piece = Piece { deed, range: range.start..end };
        match deed {
            Deed::Trim => store.trim(range.start..end)?,
            Deed::Write => {
                let zeroes = vec![0; (end - range.start) as usize];
                store.write(range.start, &zeroes, false)?;
            }
        }
        Ok(Some(piece))
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.pieces.is_empty()
    }
}

fn pieces<const N: usize>(all: [(Deed, Range<u64>); N]) -> VecDeque<Piece> {
    let some = all.into_iter().filter(|(_, range)| !range.is_empty());
    some.map(|(deed, range)| Piece { deed, range }).collect()
}
