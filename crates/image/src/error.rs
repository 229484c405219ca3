use std::io;

/// Why an image cannot be created or opened. A refused image is never changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file does not begin like an image.
    #[error("this is not an image of ftlab")]
    Foreign,
    /// The image was made by another version of the program.
    #[error("the image has format {found}; this program reads format {known}")]
    OtherFormat {
        /// The format of the image.
        found: u32,
        /// The format that this program reads and writes.
        known: u32,
    },
    /// The file has another length than it was given when it was made.
    #[error("the image has {found} bytes, but was made with {made}")]
    Length {
        /// Bytes of the file.
        found: u64,
        /// Bytes that it was made with.
        made: u64,
    },
    /// The file contradicts itself, with the place.
    #[error("the image is damaged: {0}")]
    Damaged(String),
    /// Another process, or this one, has opened the image.
    #[error("the image is in use")]
    InUse,
    /// The image was made for something else than was asked for.
    #[error("the image was made with {what} {made}, not {asked}")]
    Differs {
        /// What differs.
        what: &'static str,
        /// Its value in the image.
        made: String,
        /// Its value in the question.
        asked: String,
    },
    /// An image that cannot be made, with the reason.
    #[error("impossible image: {0}")]
    Impossible(String),
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Results of creating and opening.
pub type Result<T> = core::result::Result<T, Error>;
