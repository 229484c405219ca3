//! What the fuzz targets check. A target turns bytes into one call of this library.
//!
//! * [`readers`]        readers of traces
//! * [`logs`]           logs of writes
//! * [`bases`]          devices of all schemes and layers, and used images of them
//! * [`images`]         opening changed images, and the disks in them
//! * [`pages`]          decoding changed spare areas, and mounting chips with such pages
//! * [`conversations`]  clients of served disks
//! * [`guests`]         processes of guests
//!
//! `cargo +nightly fuzz run image` in this directory's parent; see `fuzz_targets`.
#![forbid(unsafe_code)]

pub mod bases;
pub mod conversations;
pub mod guests;
pub mod images;
pub mod logs;
pub mod pages;
pub mod readers;
mod script;
