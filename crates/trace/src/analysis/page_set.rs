//! Sets of pages, compact for dense traces and bounded for absurd addresses.
//!
//! ```text
//! page 0 …… 511 | 512 …… 1023 | …              chunks of 512 pages, each a bitmap of 64 bytes
//! [========== run of full chunks ==========]   long runs of full chunks are stored as intervals
//! ```
//!
//! 16 million pages spread over several hundred GiB take a few MiB. A trim of half the address
//! space is one interval. Adding a page takes one hash lookup and one cache line.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

/// Pages of one bitmap.
const CHUNK_PAGES: u64 = 512;

/// Runs of at least this many full chunks are stored as intervals.
const LONG_RUN_CHUNKS: u64 = 4096;

/// The bits of a chunk's pages.
type Bitmap = [u64; 8];

const EMPTY: Bitmap = [0; 8];
const FULL: Bitmap = [u64::MAX; 8];

const _: () = assert!(CHUNK_PAGES == 64 * EMPTY.len() as u64);

/// A set of page numbers.
#[derive(Debug, Clone, Default)]
pub struct PageSet {
    bitmaps: FxHashMap<u64, Bitmap>,
    /// Intervals of full chunks, from the key up to but not including the value. No two intervals
    /// touch, and no chunk in one has a bitmap.
    full: BTreeMap<u64, u64>,
    pages: u64,
}

impl PageSet {
    /// An empty set.
    pub fn new() -> PageSet {
        PageSet::default()
    }

    /// The number of pages in the set.
    pub fn len(&self) -> u64 {
        self.pages
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// Whether `page` is in the set.
    pub fn contains(&self, page: u64) -> bool {
        let (chunk, bit) = (page / CHUNK_PAGES, page % CHUNK_PAGES);
        if self.is_full(chunk) {
            return true;
        }
        let bitmap = self.bitmaps.get(&chunk);
        bitmap.is_some_and(|bits| bits[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    /// Adds `count` pages from `first` on and returns the number of new ones. Pages beyond
    /// `u64::MAX` are ignored.
    pub fn insert_range(&mut self, first: u64, count: u64) -> u64 {
        let end = first.saturating_add(count);
        let (first_chunk, last_chunk) = (first / CHUNK_PAGES, end.saturating_sub(1) / CHUNK_PAGES);
        if first >= end {
            return 0;
        }
        if first_chunk == last_chunk {
            return self.insert_bits(first_chunk, bits(first % CHUNK_PAGES, last_bit(end)));
        }
        let head = self.insert_bits(first_chunk, bits(first % CHUNK_PAGES, CHUNK_PAGES));
        let tail = self.insert_bits(last_chunk, bits(0, last_bit(end)));
        head + self.insert_chunks(first_chunk + 1, last_chunk) + tail
    }

    /// Numbers the pages in address order.
    pub fn freeze(&self) -> PageRanks {
        PageRanks::new(self.pieces())
    }

    fn is_full(&self, chunk: u64) -> bool {
        // Most sets have no intervals; for them this is a single comparison.
        if self.full.is_empty() {
            return false;
        }
        self.full.range(..=chunk).next_back().is_some_and(|(_, &end)| chunk < end)
    }

    fn insert_bits(&mut self, chunk: u64, added: Bitmap) -> u64 {
        if self.is_full(chunk) {
            return 0;
        }
        let bitmap = self.bitmaps.entry(chunk).or_insert(EMPTY);
        let mut new = 0;
        for (word, added) in bitmap.iter_mut().zip(added) {
            new += u64::from((added & !*word).count_ones());
            *word |= added;
        }
        self.pages += new;
        new
    }

    /// Adds whole chunks, `first` up to but not including `end`.
    fn insert_chunks(&mut self, first: u64, end: u64) -> u64 {
        if end.saturating_sub(first) < LONG_RUN_CHUNKS {
            return (first..end).map(|chunk| self.insert_bits(chunk, FULL)).sum();
        }
        let before = self.pages;
        let (mut run_first, mut run_end) = (first, end);
        for (start, stop) in self.intervals_touching(first, end) {
            self.full.remove(&start);
            self.pages -= (stop - start) * CHUNK_PAGES;
            (run_first, run_end) = (run_first.min(start), run_end.max(stop));
        }
        self.bitmaps.retain(|chunk, bitmap| {
            let swallowed = (first..end).contains(chunk);
            self.pages -= if swallowed { members(bitmap) } else { 0 };
            !swallowed
        });
        self.full.insert(run_first, run_end);
        self.pages += (run_end - run_first) * CHUNK_PAGES;
        self.pages - before
    }

    fn intervals_touching(&self, first: u64, end: u64) -> Vec<(u64, u64)> {
        let up_to_end = self.full.range(..=end).rev();
        up_to_end.take_while(|(_, stop)| **stop >= first).map(|(&s, &e)| (s, e)).collect()
    }

    /// Bitmaps and intervals in address order.
    fn pieces(&self) -> Vec<Piece> {
        let bitmaps = self.bitmaps.iter();
        let mut pieces: Vec<Piece> = bitmaps
            .map(|(&chunk, &bitmap)| Piece { chunk, kind: PieceKind::Bitmap(bitmap) })
            .collect();
        let chunks =
            |(&chunk, &end): (&u64, &u64)| Piece { chunk, kind: PieceKind::Full(end - chunk) };
        pieces.extend(self.full.iter().map(chunks));
        pieces.sort_unstable_by_key(|piece| piece.chunk);
        pieces
    }
}

/// The bits from `first` up to but not including `end`.
fn bits(first: u64, end: u64) -> Bitmap {
    std::array::from_fn(|index| {
        let start = 64 * index as u64;
        below(end.saturating_sub(start)) & !below(first.saturating_sub(start))
    })
}

/// The lowest `count` bits of a word; all if there are more.
fn below(count: u64) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The position in its chunk after the last page before `end`, which is not 0.
fn last_bit(end: u64) -> u64 {
    (end - 1) % CHUNK_PAGES + 1
}

fn members(bitmap: &Bitmap) -> u64 {
    bitmap.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// A chunk with its bitmap, or a run of full chunks.
#[derive(Debug, Clone)]
struct Piece {
    chunk: u64,
    kind: PieceKind,
}

#[derive(Debug, Clone)]
enum PieceKind {
    Bitmap(Bitmap),
    /// The number of full chunks.
    Full(u64),
}

impl Piece {
    fn pages(&self) -> u64 {
        match &self.kind {
            PieceKind::Bitmap(bitmap) => members(bitmap),
            PieceKind::Full(chunks) => chunks * CHUNK_PAGES,
        }
    }

    /// The number of members below `page`, which is not below the start of the piece.
    fn members_below(&self, page: u64) -> u64 {
        let offset = page - self.chunk * CHUNK_PAGES;
        match &self.kind {
            PieceKind::Full(chunks) => offset.min(chunks * CHUNK_PAGES),
            PieceKind::Bitmap(bitmap) => {
                let offset = offset.min(CHUNK_PAGES);
                let (whole, rest) = bitmap.split_at((offset / 64) as usize);
                let part = rest.first().map_or(0, |word| (word & below(offset % 64)).count_ones());
                u64::from(whole.iter().map(|word| word.count_ones()).sum::<u32>() + part)
            }
        }
    }
}

/// The pages of a set, numbered from 0 in address order; used by `--fit compact`.
#[derive(Debug, Clone)]
pub struct PageRanks {
    pieces: Vec<Piece>,
    /// The rank of each piece's first member.
    ranks: Vec<u64>,
    /// The piece of each chunk, so that most lookups need no binary search.
    piece_of_chunk: FxHashMap<u64, u32>,
    pages: u64,
}

impl PageRanks {
    fn new(pieces: Vec<Piece>) -> PageRanks {
        let mut ranks = Vec::with_capacity(pieces.len());
        let mut pages = 0;
        for piece in &pieces {
            ranks.push(pages);
            pages += piece.pages();
        }
        let indices = pieces.iter().enumerate().map(|(index, piece)| (piece.chunk, index as u32));
        PageRanks { piece_of_chunk: indices.collect(), pieces, ranks, pages }
    }

    /// The number of pages.
    pub fn len(&self) -> u64 {
        self.pages
    }

    /// Whether there are no pages.
    pub fn is_empty(&self) -> bool {
        self.pages == 0
    }

    /// The rank of `page`, if it is in the set.
    pub fn rank(&self, page: u64) -> Option<u64> {
        match self.range(page, 1) {
            (rank, 1) => Some(rank),
            _ => None,
        }
    }

    /// The members among `count` pages from `first` on: the rank of the first one (or of the next
    /// member after them), and their number. Their ranks are consecutive.
    pub fn range(&self, first: u64, count: u64) -> (u64, u64) {
        let rank = self.members_below(first);
        (rank, self.members_below(first.saturating_add(count)) - rank)
    }

    fn members_below(&self, page: u64) -> u64 {
        let chunk = page / CHUNK_PAGES;
        let index = match self.piece_of_chunk.get(&chunk) {
            Some(&index) => index as usize,
            None => match self.pieces.partition_point(|piece| piece.chunk <= chunk) {
                0 => return 0,
                after => after - 1,
            },
        };
        self.ranks[index] + self.pieces[index].members_below(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl PageSet {
        /// The maximal runs of consecutive pages in address order: `(first page, count)`.
        pub fn runs(&self) -> Vec<(u64, u64)> {
            let mut runs: Vec<(u64, u64)> = Vec::new();
            for (first, count) in self.pieces().iter().flat_map(Piece::runs) {
                match runs.last_mut() {
                    Some((start, length)) if *start + *length == first => *length += count,
                    _ => runs.push((first, count)),
                }
            }
            runs
        }
    }

    impl Piece {
        fn runs(&self) -> Vec<(u64, u64)> {
            let start = self.chunk * CHUNK_PAGES;
            let bitmap = match &self.kind {
                PieceKind::Full(chunks) => return vec![(start, chunks * CHUNK_PAGES)],
                PieceKind::Bitmap(bitmap) => bitmap,
            };
            let mut runs = Vec::new();
            for (index, &word) in bitmap.iter().enumerate() {
                let (mut rest, mut bit) = (word, 0);
                while rest != 0 {
                    let gap = rest.trailing_zeros();
                    let length = (rest >> gap).trailing_ones();
                    runs.push((
                        start + 64 * index as u64 + u64::from(bit + gap),
                        u64::from(length),
                    ));
                    bit += gap + length;
                    rest = if bit < 64 { word >> bit } else { 0 };
                }
            }
            runs
        }
    }

    #[test]
    fn huge_ranges_take_little_memory() {
        let mut set = PageSet::new();
        assert_eq!(set.insert_range(1 << 40, 5), 5);
        assert_eq!(set.insert_range(3, 1 << 54), (1 << 54) - 5);
        assert_eq!(set.insert_range(u64::MAX - 2, 100), 2);
        assert_eq!(set.len(), (1 << 54) + 2);
        assert!(set.contains(1 << 53) && !set.contains(2) && set.contains(3));
        assert_eq!(set.insert_range(1 << 50, 1 << 30), 0);
        assert_eq!(set.runs(), [(3, 1 << 54), (u64::MAX - 2, 2)]);
        assert_eq!(set.insert_range(7, 0), 0);
        let ranks = set.freeze();
        assert_eq!(ranks.rank(1 << 53), Some((1 << 53) - 3));
        assert_eq!(ranks.rank(u64::MAX - 2), Some(1 << 54));
        assert_eq!(ranks.rank(1 << 60), None);
    }

    #[test]
    fn a_sparse_set_is_small() {
        let mut set = PageSet::new();
        for page in 0..1_000_000u64 {
            set.insert_range(page * 6, 1);
        }
        assert_eq!(set.len(), 1_000_000);
        assert!(set.bitmaps.len() < 12_000);
    }

    /// Short ranges close to each other, and long ones.
    fn ranges() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let small = (0u64..3000, 0u64..1500);
        let long = (0u64..6_000_000, 2_000_000u64..5_000_000);
        prop::collection::vec(prop_oneof![9 => small, 1 => long], 1..20)
    }

    proptest! {
        #[test]
        fn the_set_agrees_with_a_btree_set(
            ranges in prop::collection::vec((0u64..3000, 0u64..1500), 1..20),
        ) {
            let (mut set, mut oracle) = (PageSet::new(), BTreeSet::new());
            for (first, count) in ranges {
                let before = oracle.len() as u64;
                oracle.extend(first..first + count);
                prop_assert_eq!(set.insert_range(first, count), oracle.len() as u64 - before);
            }
            prop_assert_eq!(set.len(), oracle.len() as u64);
            let ranks = set.freeze();
            let mut rank = 0;
            for page in 0..5000 {
                prop_assert_eq!(set.contains(page), oracle.contains(&page));
                prop_assert_eq!(ranks.rank(page), oracle.contains(&page).then_some(rank));
                let count = oracle.range(page..page + 77).count() as u64;
                prop_assert_eq!(ranks.range(page, 77), (rank, count));
                rank += u64::from(oracle.contains(&page));
            }
        }

        #[test]
        fn long_runs_agree_with_intervals(ranges in ranges()) {
            let mut set = PageSet::new();
            for &(first, count) in &ranges {
                let before = set.len();
                prop_assert_eq!(set.insert_range(first, count), set.len() - before);
            }
            let mut sorted: Vec<_> = ranges.iter().filter(|range| range.1 > 0).collect();
            sorted.sort();
            let mut expected: Vec<(u64, u64)> = Vec::new();
            for &&(first, count) in &sorted {
                match expected.last_mut() {
                    Some((start, length)) if *start + *length >= first => {
                        *length = (*length).max(first + count - *start);
                    }
                    _ => expected.push((first, count)),
                }
            }
            prop_assert_eq!(set.runs(), expected.clone());
            prop_assert_eq!(set.len(), expected.iter().map(|run| run.1).sum::<u64>());
            prop_assert_eq!(set.freeze().len(), set.len());
        }
    }
}
