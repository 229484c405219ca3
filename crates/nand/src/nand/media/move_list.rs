//! The list of moves: which blocks are bad, and which block stands behind each number of the FTL,
//! because it has replaced another one or has changed places with it. It is on flash, in two
//! copies.
//!
//! ```text
//! copy 0   block 70   list 4 │ list 4 │ seal │ list 5 │ list 5 │ seal │ …
//! copy 1   block 73   list 4 │ list 4 │ seal │ list 5 │ list 5 │ seal │ …
//! ```
//! Each time the list changes it is written as a whole, with a new version, behind the last one; if
//! the block has no room for it, in another block. A seal follows it. A list without anything
//! behind it does not count: only what follows proves that its own last program was complete, and
//! will not decay.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::address::BlockId;
use crate::geometry::Geometry;

/// The kind of a page with a part of a list.
pub(crate) const LIST: u8 = 0xF0;
/// The kind of the page behind a list.
pub(crate) const SEAL: u8 = 0xF1;

const MAGIC: &[u8; 8] = b"FTLMOVES";
const HEAD_BYTES: usize = 36;
const ENTRY_BYTES: usize = 8;
/// In the place of a number: the block is bad, and the lowest bits say why.
const BAD: u32 = 0xFFFF_FFF0;

/// Why a block is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Factory,
    Program,
    Erase,
    WornOut,
    /// It has failed, and no block is left that could stand for its number.
    Unreplaced,
}

impl Failure {
    const ALL: [Failure; 5] =
        [Failure::Factory, Failure::Program, Failure::Erase, Failure::WornOut, Failure::Unreplaced];
}

/// What a list says. Blocks are those of the chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) version: u64,
    /// Pages that moved so far.
    pub(crate) moved_pages: u64,
    /// Blocks that are bad, in the order in which they failed.
    pub(crate) bad: Vec<(BlockId, Failure)>,
    /// The block behind each number of the FTL that has not its own.
    pub(crate) behind: BTreeMap<BlockId, BlockId>,
}

/// Entries in a page of this size.
fn in_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEAD_BYTES) / ENTRY_BYTES
}

/// Pages of a list with this number of entries, the seal included.
pub(crate) fn pages(entries: usize, page_bytes: u32) -> u32 {
    entries.div_ceil(in_page(page_bytes)).max(1) as u32 + 1
}

impl Moves {
    /// From now on this block stands behind this number.
    pub(crate) fn place(&mut self, number: BlockId, block: BlockId) {
        match number == block {
            true => self.behind.remove(&number),
            false => self.behind.insert(number, block),
        };
    }

    /// Number of entries.
    pub(crate) fn entries(&self) -> usize {
        self.bad.len() + self.behind.len()
    }

    /// A part of the list: what a page has of it.
    pub(crate) fn encode(&self, part: u32, page_bytes: u32) -> Vec<u8> {
        let bad = self.bad.iter().map(|&(block, failure)| [block.0, BAD | failure as u32]);
        let entries = bad.chain(self.behind.iter().map(|(number, block)| [block.0, number.0]));
        let in_page = in_page(page_bytes);
        let here: Vec<[u32; 2]> = entries.skip(part as usize * in_page).take(in_page).collect();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + here.len() * ENTRY_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.moved_pages.to_le_bytes());
        for number in [part, self.entries() as u32, here.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(here.as_flattened().iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// Whether these blocks and numbers exist, and no block stands behind two numbers: if one
    /// behind another number is of the FTL, another one must stand behind its own number.
    pub(crate) fn is_possible(&self, all: &Geometry, of_ftl: &Geometry) -> bool {
        let blocks: BTreeSet<_> = self.behind.values().collect();
        let bad = self.bad.iter().map(|(block, _)| block);
        blocks.len() == self.behind.len()
            && bad.chain(self.behind.values()).all(|block| block.0 < all.blocks())
            && self.behind.keys().all(|number| number.0 < of_ftl.blocks())
            && self
                .behind
                .values()
                .all(|block| block.0 >= of_ftl.blocks() || self.behind.contains_key(block))
    }

    /// Takes an entry of a list; none if it is malformed.
    fn take(&mut self, [block, number]: [u32; 2]) -> Option<()> {
        match number.checked_sub(BAD) {
            Some(failure) => {
                self.bad.push((BlockId(block), *Failure::ALL.get(failure as usize)?));
            }
            None if number == block => return None,
            None => {
                let before = self.behind.insert(BlockId(number), BlockId(block));
                before.is_none().then_some(())?;
            }
        }
        Some(())
    }
}

/// A list that is being read.
#[derive(Default)]
pub(crate) struct ListReader {
    /// The list whose parts are read now, how many were read, and how many entries it has.
    open: Option<(Moves, u32, usize)>,
    newest: u64,
}

impl ListReader {
    /// The next page is no part of a list.
    pub(crate) fn interrupt(&mut self) {
        self.open = None;
    }

    /// Takes the next page. Returns whether a list is complete now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> bool {
        let Some(Part { head, part, of, entries }) = Part::decode(bytes) else {
            self.interrupt();
            return false;
        };
        self.newest = self.newest.max(head.version);
        if part == 0 {
            self.open = Some((head.clone(), 0, of));
        }
        let Some((list, parts, total)) = &mut self.open else { return false };
        let fits = *parts == part && list.version == head.version && *total == of;
        if !fits || !entries.into_iter().all(|entry| list.take(entry).is_some()) {
            self.interrupt();
            return false;
        }
        *parts += 1;
        list.entries() == of
    }

    /// The newest version of which a part was read.
    pub(crate) fn version(&self) -> u64 {
        self.newest
    }

    /// The list that is complete.
    pub(crate) fn finish(&mut self) -> Option<Moves> {
        self.open.take().map(|(list, ..)| list)
    }
}

/// What a page has of a list.
struct Part {
    /// The list without entries.
    head: Moves,
    /// The number of this part.
    part: u32,
    /// Entries of the whole list.
    of: usize,
    entries: Vec<[u32; 2]>,
}

impl Part {
    fn decode(bytes: &[u8]) -> Option<Part> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        if bytes.get(..MAGIC.len())? != MAGIC {
            return None;
        }
        let head = Moves { version: long(8)?, moved_pages: long(16)?, ..Moves::default() };
        let (part, of, here) = (word(24)?, word(28)? as usize, word(32)? as usize);
        let places = (0..here).map(|index| HEAD_BYTES + index * ENTRY_BYTES);
        let entries = places.map(|at| Some([word(at)?, word(at + 4)?]));
        Some(Part { head, part, of, entries: entries.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::ProgramOrder;

    const PAGE_BYTES: u32 = 512;

    fn list(bad: u32, behind: u32) -> Moves {
        Moves {
            version: 1 << 40 | 7,
            moved_pages: 1 << 33,
            bad: (0..bad).map(|at| (BlockId(at), Failure::ALL[at as usize % 5])).collect(),
            behind: (0..behind).map(|at| (BlockId(at), BlockId(1000 + at))).collect(),
        }
    }

    fn parts(list: &Moves) -> Vec<Vec<u8>> {
        (1..pages(list.entries(), PAGE_BYTES)).map(|at| list.encode(at - 1, PAGE_BYTES)).collect()
    }

    fn read(parts: &[Vec<u8>]) -> Option<Moves> {
        let mut reader = ListReader::default();
        let complete: Vec<bool> = parts.iter().map(|part| reader.take(part)).collect();
        let first = complete.iter().position(|&complete| complete)?;
        (first + 1 == parts.len()).then(|| reader.finish())?
    }

    #[test]
    fn lists_of_any_length_are_read_as_they_were_written() {
        for (bad, behind) in [(0, 0), (1, 0), (0, 1), (30, 29), (30, 30), (100, 79), (200, 300)] {
            let list = list(bad, behind);
            let parts = parts(&list);
            assert!(parts.iter().all(|part| part.len() <= PAGE_BYTES as usize));
            assert_eq!(read(&parts), Some(list), "{bad} bad, {behind} moved");
            for cut in 0..parts.len() {
                assert_eq!(read(&parts[..cut]), None, "{bad} bad, {behind} moved, {cut} pages");
            }
        }
    }

    #[test]
    fn parts_of_different_lists_make_no_list() {
        let (one, other) = (list(100, 20), Moves { version: 8, ..list(100, 20) });
        let mixed = [parts(&one)[0].clone(), parts(&other)[1].clone(), parts(&one)[2].clone()];
        assert_eq!(read(&mixed), None);
        assert_eq!(read(&[parts(&one)[1].clone()]), None, "the first part is missing");
    }

    #[test]
    fn malformed_entries_make_no_list() {
        let one = |entry: [u32; 2]| {
            let mut part = list(0, 1).encode(0, PAGE_BYTES);
            part.truncate(HEAD_BYTES);
            part.extend(entry.iter().flat_map(|word| word.to_le_bytes()));
            read(&[part])
        };
        assert!(one([5, 6]).is_some() && one([5, BAD | 4]).is_some());
        assert_eq!(one([5, BAD | 5]), None, "an unknown failure");
        assert_eq!(one([5, 5]), None, "a block with its own number");
        let mut short = list(0, 1).encode(0, PAGE_BYTES);
        short.pop();
        assert_eq!(read(&[short]), None);
    }

    #[test]
    fn an_impossible_list_is_recognised() {
        let of_ftl = Geometry::new(512, 64, 4, 40, ProgramOrder::Any).unwrap();
        let all = of_ftl.with_more_blocks(10).unwrap();
        let is_possible = |bad: &[u32], behind: &[(u32, u32)]| {
            let bad = bad.iter().map(|&block| (BlockId(block), Failure::Program)).collect();
            let behind = behind.iter().map(|&(one, other)| (BlockId(one), BlockId(other)));
            let list = Moves { bad, behind: behind.collect(), ..Moves::default() };
            list.is_possible(&all, &of_ftl)
        };
        assert!(is_possible(&[49], &[(39, 49), (3, 40)]));
        assert!(!is_possible(&[50], &[]), "no such block");
        assert!(!is_possible(&[], &[(3, 50)]), "no such block");
        assert!(!is_possible(&[], &[(40, 41)]), "no number of the FTL");
        assert!(!is_possible(&[], &[(3, 41), (4, 41)]), "behind two numbers");
        assert!(is_possible(&[], &[(3, 4), (4, 3)]), "two blocks that have changed places");
        assert!(!is_possible(&[], &[(3, 4)]), "4 has its own block, too");
    }
}
