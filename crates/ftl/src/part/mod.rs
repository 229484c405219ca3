//! What schemes and layers share. A part knows the chip and the contract, never a scheme or a
//! layer, and at least two of them use it; what only one uses stands in that one's folder.
//!
//! ```text
//! index ◀── recovery ◀── map ◀──┬── page    page-granular schemes
//!                               ├── log     log-block schemes
//!                               └── spare   schemes with their map in spare areas
//! ```

pub mod index;
pub mod log;
pub mod map;
pub mod page;
pub mod recovery;
pub mod spare;
