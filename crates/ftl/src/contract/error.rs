//! What can go wrong.

/// What can go wrong between an FTL and its chip.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chip could not do it.
    #[error(transparent)]
    Chip(#[from] nand::Error),
    /// The device has used up its reserves and takes no more writes; all data can be read.
    #[error("the device is read-only: it has no good blocks left to write to")]
    ReadOnly,
    /// Collecting garbage takes more pages than it gives back: superblocks whose map, in spare
    /// areas, must be written anew for nearly every page that moves.
    #[error(
        "no room can be made: moving a block's pages takes up to {needs} programs, {room} pages \
         are free; more extra blocks or smaller superblocks help"
    )]
    NoRoom {
        /// Programs that a victim may take.
        needs: u32,
        /// Free pages that there are for them.
        room: u32,
    },
    /// A spec that does not parse.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A device that the scheme cannot work on.
    #[error("{scheme} needs at least {needs} extra blocks, this device has {has}")]
    TooFewExtra {
        /// The scheme.
        scheme: &'static str,
        /// The fewest it works with.
        needs: u32,
        /// What the device has.
        has: u32,
    },
    /// Parameters that contradict each other or the chip.
    #[error("{scheme}: {why}")]
    Refused {
        /// The scheme.
        scheme: &'static str,
        /// The contradiction.
        why: String,
    },
    /// The flash holds what no sequence of writes and cuts can have left there.
    #[error("this flash cannot be mounted: {0}")]
    Unmountable(String),
}

/// Results of an FTL.
pub type Result<T> = core::result::Result<T, Error>;
