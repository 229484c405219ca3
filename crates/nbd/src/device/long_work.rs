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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_outside_whole_pages_are_written() {
        let all = |work: LongWork<()>| -> Vec<(Action, Range<u64>)> {
            work.pieces.into_iter().map(|piece| (piece.action, piece.range)).collect()
        };
        let zero = |range| LongWork::zero((), false, range, 2048);
        assert!(zero(100..5000).writes() && !zero(2048..6144).writes());
        assert!(!LongWork::trim((), false, 100..5000, 2048).writes());
        assert!(LongWork::allocate((), false, 2048..6144).writes());
        let (write, trim) = (Action::Write, Action::Trim);
        let expected = [(write, 100..2048), (trim, 2048..4096), (write, 4096..5000)];
        assert_eq!(all(zero(100..5000)), expected);
        assert_eq!(all(zero(100..2000)), [(write, 100..2000)]);
    }
}
