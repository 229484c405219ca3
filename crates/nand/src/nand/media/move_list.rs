//! The list of moves: which blocks are bad, and which take their places. It is on flash, in two
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

use crate::address::BlockId;

/// The kind of a page with a part of a list.
pub(crate) const LIST: u8 = 0xF0;
/// The kind of the page behind a list.
pub(crate) const SEAL: u8 = 0xF1;

const MAGIC: &[u8; 8] = b"FTLMOVES";
const HEAD_BYTES: usize = 36;
const MOVE_BYTES: usize = 16;
const NO_BLOCK: u32 = u32::MAX;

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

/// A block that is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The block of the chip.
    pub(crate) bad: BlockId,
    /// The number for which it stood; none if it was in reserve or had a list.
    pub(crate) number: Option<BlockId>,
    /// The block of the chip that stands behind the number from now on.
    pub(crate) by: BlockId,
    pub(crate) failure: Failure,
}

/// What a list says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    pub(crate) version: u64,
    /// Pages that moved so far.
    pub(crate) moved_pages: u64,
    /// In the order in which they happened.
    pub(crate) all: Vec<Move>,
}

/// Moves in a page of this size.
fn in_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEAD_BYTES) / MOVE_BYTES
}

/// Pages of a list with this number of moves, the seal included.
pub(crate) fn pages(moves: usize, page_bytes: u32) -> u32 {
    moves.div_ceil(in_page(page_bytes)).max(1) as u32 + 1
}

impl Moves {
    /// A part of the list: what a page has of it.
    pub(crate) fn encode(&self, part: u32, page_bytes: u32) -> Vec<u8> {
        let moves = self.all.chunks(in_page(page_bytes)).nth(part as usize).unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEAD_BYTES + moves.len() * MOVE_BYTES);
        bytes.extend(MAGIC);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.moved_pages.to_le_bytes());
        for number in [part, self.all.len() as u32, moves.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        for Move { bad, number, by, failure } in moves {
            let number = number.map_or(NO_BLOCK, |number| number.0);
            for word in [bad.0, number, by.0, *failure as u32] {
                bytes.extend(word.to_le_bytes());
            }
        }
        bytes
    }
}

/// A list that is being read.
#[derive(Default)]
pub(crate) struct ListReader {
    /// The list whose parts are read now, how many were read, and how many moves it has.
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
        let Some((head, part, of, moves)) = decode(bytes) else {
            self.interrupt();
            return false;
        };
        self.newest = self.newest.max(head.version);
        if part == 0 {
            self.open = Some((head.clone(), 0, of));
        }
        let Some((list, parts, total)) = &mut self.open else { return false };
        if *parts != part || list.version != head.version || *total != of {
            self.interrupt();
            return false;
        }
        list.all.extend(moves);
        *parts += 1;
        list.all.len() == of
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

/// The head of a list, and a part of it: its number, the moves of the whole list, its own moves.
fn decode(bytes: &[u8]) -> Option<(Moves, u32, usize, Vec<Move>)> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    if bytes.get(..MAGIC.len())? != MAGIC {
        return None;
    }
    let head = Moves { version: long(8)?, moved_pages: long(16)?, all: Vec::new() };
    let (part, of, here) = (word(24)?, word(28)? as usize, word(32)? as usize);
    let moves = (0..here).map(|index| {
        let at = HEAD_BYTES + index * MOVE_BYTES;
        Some(Move {
            bad: BlockId(word(at)?),
            number: Some(word(at + 4)?).filter(|&number| number != NO_BLOCK).map(BlockId),
            by: BlockId(word(at + 8)?),
            failure: *Failure::ALL.get(word(at + 12)? as usize)?,
        })
    });
    Some((head, part, of, moves.collect::<Option<Vec<Move>>>()?))
}
