//! What a user may command the flash to do.

use nand::BlockId;

/// A failure of the flash on command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashFailure {
    /// The program after this number of others fails.
    Program {
        /// Programs that succeed before.
        after: u64,
    },
    /// The erase after this number of others fails.
    Erase {
        /// Erases that succeed before.
        after: u64,
    },
    /// The first page of the host from the program after this number of others on cannot be read.
    LostPage {
        /// Programs before.
        after: u64,
    },
    /// A block has taken all the erases that it can: its next one fails.
    WornOut(BlockId),
    /// The blocks in reserve are bad, but for this number on each die.
    UsedUp {
        /// Blocks that are left on each die.
        left: usize,
    },
}
