//! Sockets, threads and time around the sessions and devices.
//!
//! * [`address`]   where a server listens
//! * [`stream`]    connected sockets
//! * [`memory`]    one budget for the payloads of all connections
//! * [`movers`]    threads that move large payloads
//! * [`peer`]      a connection
//! * [`encryption`]  whether connections are encrypted
//! * [`syncer`]    the thread that syncs an image
//! * [`mod@unit`]  a device with its thread and its timers
//! * [`operator`]  connections of users who control the server
//! * [`viewer`]    viewers of the disks, in other threads
//! * [`engine`]    the loop over all of them
//! * [`pipe`]      a single client on standard input and output

pub mod address;
pub mod encryption;
pub mod engine;
pub mod memory;
pub mod movers;
pub mod operator;
pub mod peer;
pub mod pipe;
pub mod stream;
pub mod syncer;
#[cfg(feature = "tls")]
pub mod tls;
pub mod unit;
pub mod viewer;
