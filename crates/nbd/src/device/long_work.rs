//! Trims and zeroes. A range may be gigabytes long, so it is done piece by piece, and other
//! requests are served in between.

use std::collections::VecDeque;
use std::ops::Range;

use disk::Result;

use crate::device::bytes;
use crate::device::store::Store;

/// Bytes that are written at once. Others wait for a piece: this takes a few tenths of a
/// millisecond.
const WRITTEN_AT_ONCE: u64 = 256 << 10;
/// Bytes that are trimmed at once, in about the same time.
const TRIMMED_AT_ONCE: u64 = 8 << 20;

/// What is done to a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// Its pages are forgotten. They are whole.
    Trim,
    /// Zeroes are written.
    Write,
}

/// A range of bytes, and what is done to it.
#[derive(Debug)]
struct Piece {
    action: Action,
    range: Range<u64>,
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
        LongWork { waiter, force, pieces: pieces([(Action::Trim, pages)]) }
    }

    /// Zeroes a range: its whole pages are forgotten, and zeroes are written to the others.
    pub fn zero(waiter: W, force: bool, range: Range<u64>, page_bytes: u64) -> LongWork<W> {
        let pages = bytes::inward(range.start, range.end - range.start, page_bytes);
        let all = if pages.is_empty() {
            pieces([(Action::Write, range)])
        } else {
            pieces([
                (Action::Write, range.start..pages.start),
                (Action::Trim, pages.clone()),
                (Action::Write, pages.end..range.end),
            ])
        };
        LongWork { waiter, force, pieces: all }
    }

    /// Writes zeroes to a range.
    pub fn allocate(waiter: W, force: bool, range: Range<u64>) -> LongWork<W> {
        LongWork { waiter, force, pieces: pieces([(Action::Write, range)]) }
    }

    /// Whether zeroes must be written.
    pub fn writes(&self) -> bool {
        self.pieces.iter().any(|piece| piece.action == Action::Write)
    }

    /// Does a part of the work, if any is left.
    ///
    /// # Errors
    /// Those of the disk. Earlier pieces stay done.
    pub fn step(&mut self, store: &mut Store) -> Result<()> {
        let Some(Piece { action, range }) = self.pieces.pop_front() else { return Ok(()) };
        let at_once = match action {
            Action::Trim => TRIMMED_AT_ONCE,
            Action::Write => WRITTEN_AT_ONCE,
        };
        let end = range.end.min((range.start / at_once + 1) * at_once);
        if end < range.end {
            self.pieces.push_front(Piece { action, range: end..range.end });
        }
        match action {
            Action::Trim => store.trim(range.start..end),
            Action::Write => {
                let zeroes = vec![0; (end - range.start) as usize];
                store.write(range.start, &zeroes, false)
            }
        }
    }

    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.pieces.is_empty()
    }
}

fn pieces<const N: usize>(all: [(Action, Range<u64>); N]) -> VecDeque<Piece> {
    let some = all.into_iter().filter(|(_, range)| !range.is_empty());
    some.map(|(action, range)| Piece { action, range }).collect()
}
