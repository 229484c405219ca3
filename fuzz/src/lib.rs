//! What the fuzz targets check. A target turns bytes into one call of this library.
//!
//! * [`readers`]  readers of traces
//! * [`logs`]     logs of writes
//! * [`bases`]    used images of all schemes and layers, which the next two change
//! * [`images`]   opening changed images, and the disks in them
//! * [`pages`]    decoding changed spare areas, and mounting chips with such pages
//!
//! `cargo +nightly fuzz run image` in this directory's parent; see `fuzz_targets`.
#![forbid(unsafe_code)]

pub mod bases;
pub mod images;
pub mod logs;
pub mod pages;
pub mod readers;
mod script;
