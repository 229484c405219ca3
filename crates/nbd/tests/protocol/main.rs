//! The protocol, spoken byte by byte, without sockets.

mod conversation;
mod handshake;
mod requests;
