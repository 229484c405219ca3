//! An image file: a flash chip that outlives the process.
//!
//! **The promise.** After any crash of the process or of the machine, the opened image is exactly a
//! chip whose power was cut at one operation, at or after the last sync that was answered.
//!
//! ```text
//! superblock ×2 │ block table ×2 │ journal of operations │ slot │ slot │ slot │ …
//! ```
//! Every change of the chip is an operation, and operations are numbered without gaps. A page is
//! written to a slot, which is a place for one block. The journal then says what the operation was.
//! An opener takes the block table and repeats the journal on it, up to the first operation that is
//! missing or whose page is not complete. `SPEC.md` defines the bytes; `DESIGN.md` shows why this
//! keeps the promise.
//!
//! * [`medium`]      what a file must be able to do
//!   * `disk_file`    a file of the operating system, locked
//!   * `view`         a file that keeps changes to itself
//!   * `shared_bytes`, `loss`, `lossy_disk`: a disk in memory that can crash, for tests and checks
//! * [`recipe`]      the chip and the FTL that an image was made for
//! * `format`        the bytes of the file
//!   * [`layout`]     where things are
//!   * `superblock`   the head of the file
//!   * `journal`      operations, and the frames that hold them
//!   * `block_table`  slots, wear and health, in memory and on disk
//!   * `page_codec`   the bytes of a page
//! * `slots`         places for blocks, and when they may be used again
//! * `recovery`      which chip a file contains
//! * [`salvage`]     which chip a damaged file contained
//! * [`creation`]    blank images
//! * [`image_store`] an open image, as the storage of a chip
//!
//! Each file imports only from those above it in this list.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(not(unix))]
compile_error!("ftlab-image needs Unix: on Windows, build it in WSL");

pub mod creation;
mod error;
mod format;
pub mod image_store;
pub mod medium;
pub mod recipe;
mod recovery;
pub mod salvage;
mod slots;

pub use creation::{create, create_at};
pub use error::{Error, Result};
pub use format::layout;
pub use format::layout::Room;
pub use format::superblock::VERSION as FORMAT;
pub use image_store::ImageStore;
pub use medium::Medium;
pub use medium::disk_file::DiskFile;
pub use medium::lossy_disk::LossyDisk;
pub use recipe::Recipe;
