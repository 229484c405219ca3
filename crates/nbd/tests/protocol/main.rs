//! The protocol, spoken byte by byte, without sockets.

mod conversation;
mod exports;
mod handshake;
mod requests;
mod statistics;
