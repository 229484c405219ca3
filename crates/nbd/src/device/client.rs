//! Who asked, and the answers that are ready for them.

use crate::wire::buffer::Buffer;
use crate::wire::replies::Style;

/// The client of a request: its connection, and its name for the request.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The number of the connection. No two ever have the same one.
    pub session: u64,
    /// The form of replies on the connection.
    pub style: Style,
    /// The name that the client gave to the request.
    pub cookie: u64,
}

/// The bytes of an answer, and where they go.
#[derive(Debug)]
pub struct Ready {
    /// The number of the connection.
    pub session: u64,
    /// The reply.
    pub reply: Buffer,
    /// Bytes of memory that its connection has set aside for it.
    pub promised: usize,
}
