//! A live disk: FTLs behind NBD, the protocol for block devices over sockets.
//!
//! ```text
//! sockets ─▶ server ─▶ session ─▶ device ─▶ disk ─▶ FTL ─▶ chip
//!               ▲                   ▲
//!            control: cuts, freezes, failures, statistics
//! ```
//! One thread owns everything: it reads requests from all connections, performs them, and sends the
//! answers. Others carry large payloads to and from sockets for it, and one syncs an image, so that
//! requests go on meanwhile.
//!
//! * [`wire`]     numbers and bytes of the protocol
//! * [`export`]   what clients are told about a disk
//! * [`device`]   a disk that serves requests, without threads
//! * [`session`]  one connection, without its socket
//! * [`control`]  commands of a user to a running server
//! * [`server`]   sockets, threads and time
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod control;
pub mod device;
pub mod export;
pub mod server;
pub mod session;
pub mod wire;
