//! A disk: an FTL on a chip, addressed by bytes.
//!
//! ```text
//! bytes ──▶ Disk ──▶ layers ──▶ scheme ──▶ chip ──▶ image file, or memory
//! ```
//! A disk holds what its host wrote. After a failure of the storage it can only be read, and it
//! never returns data that are silently wrong.
//!
//! * [`error`]    what can go wrong
//! * [`recipe`]   a device in the words of an image, and back
//! * [`opening`]  images as flash of a device
//! * [`disk`]     the disk, its power, and where its bytes are
//! * [`remains`]  what can be read of an image without its FTL
//! * [`review`]   looking through an image for damage
//!
//! Each file imports only from those above it in this list.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod disk;
pub mod error;
pub mod opening;
pub mod recipe;
pub mod remains;
pub mod review;

pub use disk::places::{ByteExtent, PlaceExtent};
pub use disk::{Disk, FlashFailure, MemoryLimit};
pub use error::{Error, Result};
