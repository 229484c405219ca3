use crate::address::Ppn;

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
    /// The storage behind the chip failed, with the reason. The pages of earlier operations are as
    /// safe as the storage can make them; whether this operation took place is unknown.
    #[error("the storage of the flash failed: {0}")]
    Storage(String),
    /// The storage behind the chip could not read a page, with the reason. Nothing was changed.
    #[error("page {} of the flash cannot be read: {why}", .page.0)]
    ReadFailed {
        /// The page.
        page: Ppn,
        /// The reason.
        why: String,
    },
    /// A chip that cannot exist, with the reason.
    #[error("impossible chip: {0}")]
    ImpossibleChip(String),
    /// A chip spec that does not parse.
    #[error(transparent)]
    Spec(#[from] spec::Error),
}

/// Results of the chip.
pub type Result<T> = core::result::Result<T, Error>;
