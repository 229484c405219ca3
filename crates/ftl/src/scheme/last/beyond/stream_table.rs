//! A table of sequential streams of small writes: does a run start where a recent one ended?
//!
//! ```text
//! writes   40–41   7   42–43   90   44–45        a stream of six pages from 40 on, and two others
//! table    next page 46: six pages · next page 8: one page · next page 91: one page
//! ```
//! A small table remembers where recent runs ended, and how long their streams are. A run that
//! starts at such an end continues that stream. The place of an end in the table is its hash value,
//! so a look-up takes constant time. An end is forgotten when another one takes its place; that
//! limits how long a stream may pause.
//!
//! The table counts pages, not sectors. A stream of writes that are smaller than a page writes each
//! page several times, and is better served by a log that takes pages in any order.

use nand::Lpn;

/// Size of the table, a power of two.
pub const ENDS: usize = 256;

#[derive(Clone, Copy, Debug)]
struct StreamEnd {
    /// The page with which the stream would continue.
    next: Lpn,
    /// Number of pages in the stream.
    pages: u64,
}

/// The table of recent ends.
#[derive(Clone, Debug)]
pub struct StreamTable {
    ends: Vec<StreamEnd>,
}

impl Default for StreamTable {
    fn default() -> StreamTable {
        StreamTable { ends: vec![StreamEnd { next: Lpn::NONE, pages: 0 }; ENDS] }
    }
}

impl StreamTable {
    /// Records a run. Returns the number of pages in the stream that it continues, including its
    /// own; none if it continues none.
    pub fn extend(&mut self, first: Lpn, pages: u32) -> Option<u64> {
        let end = &mut self.ends[place(first)];
        let before = (end.next == first).then_some(end.pages);
        if before.is_some() {
            end.next = Lpn::NONE;
        }
        let (next, grown) = (first.plus(pages), before.unwrap_or(0) + u64::from(pages));
        self.ends[place(next)] = StreamEnd { next, pages: grown };
        before.map(|_| grown)
    }
}

/// The place of an end in the table: the top bits of its product with the golden ratio, which
/// separate neighbours.
fn place(next: Lpn) -> usize {
    (next.0.wrapping_mul(0x9E37_79B9) >> (u32::BITS - ENDS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_told_apart() {
        let mut streams = StreamTable::default();
        assert_eq!(streams.extend(Lpn(40), 2), None);
        assert_eq!(streams.extend(Lpn(7), 1), None);
        assert_eq!(streams.extend(Lpn(42), 2), Some(4));
        assert_eq!(streams.extend(Lpn(90), 1), None);
        assert_eq!(streams.extend(Lpn(8), 1), Some(2));
        assert_eq!(streams.extend(Lpn(44), 2), Some(6));
        assert_eq!(streams.extend(Lpn(44), 2), None, "a stream is continued once");
    }

    #[test]
    fn old_ends_are_forgotten() {
        let mut streams = StreamTable::default();
        streams.extend(Lpn(5), 1);
        (0..4096).for_each(|other| assert_eq!(streams.extend(Lpn(1000 + 2 * other), 1), None));
        assert_eq!(streams.extend(Lpn(6), 1), None);
    }
}
