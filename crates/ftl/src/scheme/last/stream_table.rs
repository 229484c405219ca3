//! Sequential streams of small writes: who writes on where somebody stopped?
//!
//! ```text
//! writes   40–41   7   42–43   90   44–45        a stream of six pages from 40 on, and two others
//! table    ends at 46: six pages · ends at 8: one · ends at 91: one
//! ```
//! A small table remembers where recent runs ended and how long their streams are by then. A run
//! that starts at such an end continues that stream. An end is found by its hash, so a look costs
//! the same whatever happened before, and an end whose place another one takes is forgotten: that
//! is how long a stream may rest.
//!
//! Pages, not sectors: a stream of writes smaller than a page writes each page more than once, and
//! is better off in a log that takes pages in any order.

use nand::Lpn;

/// Ends that are remembered at most, a power of two.
pub const ENDS: usize = 256;

#[derive(Clone, Copy, Debug)]
struct StreamEnd {
    /// The page that would continue the stream.
    next: Lpn,
    /// The stream's pages.
    pages: u64,
}

/// Where recent runs ended.
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
    /// Notes a run; returns the pages of the stream that it continues, its own included, or none if
    /// it continues none.
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

/// Where an end is remembered: the top bits of its product with the golden ratio, which part
/// neighbours.
fn place(next: Lpn) -> usize {
    (next.0.wrapping_mul(0x9E37_79B9) >> (u32::BITS - ENDS.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_grow_each_by_itself() {
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
    fn the_table_forgets() {
        let mut streams = StreamTable::default();
        streams.extend(Lpn(5), 1);
        (0..4096).for_each(|other| assert_eq!(streams.extend(Lpn(1000 + 2 * other), 1), None));
        assert_eq!(streams.extend(Lpn(6), 1), None);
    }
}
