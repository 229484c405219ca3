use crate::address::{BlockId, Ppn};

/// Failures of a chip, and of its construction. Breaking a rule of flash is a bug of the caller and
/// panics instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The power failed during this operation or before it; no operation works until it is back.
    #[error("the power is lost")]
    PowerLost,
    /// Error correction failed: the page is torn, has decayed, or holds something else.
    #[error("page {} of the flash cannot be read", .0.0)]
    Unreadable(Ppn),
    /// Error correction failed for a page that the FTL wanted to move, in its spare area too.
    /// The contents of the page are unknown, so it can neither stay where it is nor be moved.
    #[error("page {} of the flash cannot be read, so it cannot be moved", .0.0)]
    Immovable(Ppn),
    /// The page is erased, or belongs to another logical page than the FTL believes. On a whole
    /// flash that is a bug of the FTL. Damaged contents of an image can cause it too.
    #[error("page {} of the flash does not hold what the FTL expects there", .0.0)]
    WrongOwner(Ppn),
    /// The storage behind the chip failed, with the reason. The pages of earlier operations are as
    /// safe as the storage can make them; whether this operation took place is unknown.
    #[error("the storage of the flash failed: {0}")]
    Storage(String),
    /// The storage behind the chip has no room left, with the reason. Otherwise as
    /// [`Storage`](Self::Storage).
    #[error("the storage of the flash is full: {0}")]
    StorageFull(String),
    /// The storage behind the chip could not read a page, with the page and the reason. Nothing was
    /// changed.
    #[error("{0}")]
    ReadFailed(String),
    /// A block failed, and its die has none left in reserve: from now on the device can only be
    /// read.
    #[error(
        "the device can only be read: {retired} blocks have failed, and die {die} has none left in \
         reserve"
    )]
    WornOut {
        /// The die.
        die: u32,
        /// Blocks that have failed since the device was new.
        retired: u64,
    },
    /// A program or an erase of this block failed. Only a chip on
    /// [raw media](crate::Nand::on_raw_media) says so.
    #[error("an operation in block {} of the flash has failed", .0.0)]
    Failed(BlockId),
    /// A chip that cannot exist, with the reason.
    #[error("impossible chip: {0}")]
    ImpossibleChip(String),
    /// A chip spec that does not parse.
    #[error(transparent)]
    Spec(#[from] spec::Error),
}

impl Error {
    /// Whether a chip could not be made, rather than failed.
    pub fn is_of_construction(&self) -> bool {
        matches!(self, Error::ImpossibleChip(_) | Error::Spec(_))
    }
}

/// Results of the chip.
pub type Result<T> = core::result::Result<T, Error>;
