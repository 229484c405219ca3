//! The server on real sockets: clients that behave badly, commands of users, what is written down,
//! and the end of the server.

mod clients;
#[path = "../protocol/conversation.rs"]
#[allow(dead_code, reason = "the tests of the protocol use all of it")]
mod conversation;
mod exports;
mod groups;
mod manners;
mod orders;
mod paces;
mod records;
mod running;
mod slow_file;
mod syncs;
mod transfers;
mod watching;
