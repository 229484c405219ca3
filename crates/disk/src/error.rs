//! What can go wrong with a disk.

/// An error of a disk or of its image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The image cannot be created or opened.
    #[error(transparent)]
    Image(#[from] image::Error),
    /// The FTL refuses the device, or failed.
    #[error(transparent)]
    Ftl(#[from] ftl::Error),
    /// The image describes a device that this program does not know.
    #[error("the image was made for a device that this program cannot build: {0}")]
    Unknown(String),
    /// A page of an image lost its spare area. It would be silently older after a mount.
    #[error(
        "the image is damaged: the record of page {0} is not whole; `ftlab image check` lists all \
         damages, and `ftlab image dump` extracts what can be read"
    )]
    DamagedRecord(u32),
    /// An address that is not that of a sector, or a length of no whole sectors.
    #[error("{bytes} bytes at {offset} are not whole sectors of 512 bytes")]
    Unaligned {
        /// The first byte.
        offset: u64,
        /// The length.
        bytes: u64,
    },
    /// An address beyond the capacity.
    #[error("{bytes} bytes at {offset} end beyond the capacity of {capacity_bytes}")]
    Beyond {
        /// The first byte.
        offset: u64,
        /// The length.
        bytes: u64,
        /// The capacity.
        capacity_bytes: u64,
    },
    /// A disk in memory has no memory left for further pages.
    #[error(
        "the pages of disks in memory may take {} and take {}; allow more when they are opened \
         (`--memory-limit` of `ftlab serve`), or use a disk in an image",
        spec::round_size(*limit_bytes), spec::round_size(*used_bytes)
    )]
    NoMemory {
        /// Memory of the process.
        used_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// Flash that never fails was told to fail.
    #[error(
        "the flash of this device never fails; make one with `--media real`, whose figures may be 0"
    )]
    PerfectFlash,
    /// A block that the FTL has not.
    #[error("block {block} does not exist: the FTL has blocks 0 to {}", blocks - 1)]
    NoSuchBlock {
        /// The block.
        block: u32,
        /// Blocks of the FTL.
        blocks: u32,
    },
    /// The power of the chip is off, or failed during the request.
    #[error("the power of the disk is off")]
    PowerLost,
    /// An earlier failure does not allow changes any more, with its reason.
    #[error("the disk can only be read since an earlier failure: {0}")]
    ReadOnly(String),
    /// After an earlier failure nothing can be read either, with the reason.
    #[error("the disk cannot be used since an earlier failure: {0}")]
    Broken(String),
}

impl From<nand::Error> for Error {
    fn from(error: nand::Error) -> Error {
        Error::Ftl(error.into())
    }
}

impl From<spec::Error> for Error {
    fn from(error: spec::Error) -> Error {
        Error::Ftl(error.into())
    }
}

/// A result of a disk.
pub type Result<T> = core::result::Result<T, Error>;
