//! Building blocks that schemes and layers share.
//!
//! ```text
//! index ◀── recovery ◀── map ◀──┬── page    page-granular schemes
//!                               ├── log     log-block schemes
//!                               └── spare   schemes that keep their map in spare areas
//! ```
//! A part may import the chip and the contract, never a scheme or a layer. At least two schemes or
//! layers use it; a part of only one lives in that one's folder.

pub mod index;
pub mod log;
pub mod map;
pub mod page;
pub mod recovery;
pub mod rivals;
pub mod spare;
