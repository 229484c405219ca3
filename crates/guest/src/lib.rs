//! FTLs from outside, as shared objects that are made with `include/ftlab.h`.
//!
//! * [`abi`]          the structs of the header
//! * [`library`]      loading, each time with fresh globals
//! * [`chip_slot`]    where code of a guest finds the chip
//! * [`trampolines`]  the chip's table of functions
//! * [`c_guest`]      a guest behind its table of functions
//! * [`board`]        what a process with guests tells the one that watches it
//! * [`isolation`]    work in a copy of the process
//! * [`supervisor`]   runs the program again in such a process
//! * [`remote`]       a guest in a process of its own, and the chip here
//! * [`host`]         that process
//! * [`wire`]         messages between the two
//! * [`system`]       what only Linux does for guests
//!
//! A guest runs in this process: what it writes to the wrong place, it writes here. Those who must
//! outlive it let it run in a process of its own.

#![warn(missing_docs)]

#[cfg(not(unix))]
compile_error!("ftlab-guest needs Unix: on Windows, build it in WSL");

#[allow(missing_docs)]
pub mod abi;
pub mod board;
pub mod c_guest;
pub mod chip_slot;
pub mod host;
pub mod isolation;
pub mod library;
pub mod remote;
pub mod supervisor;
pub mod system;
pub mod trampolines;
pub mod wire;
