use crate::address::Ppn;

/// What the chip answers when it cannot do what is lawful to ask. Breaking a rule of flash is no
/// error but a bug of the caller, and panics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The power failed during or before this operation; nothing works until it is back.
    #[error("the power is lost")]
    PowerLost,
    /// The page's error correction gave up: torn by a cut, or decayed after one.
    #[error("page {} of the flash cannot be read", .0.0)]
    Unreadable(Ppn),
    /// A geometry that cannot be built, with the reason.
    #[error("impossible chip: {0}")]
    Geometry(String),
    /// A chip spec that does not parse.
    #[error(transparent)]
    Spec(#[from] spec::Error),
}

/// Results of the chip.
pub type Result<T> = core::result::Result<T, Error>;
