//! Numbers and bytes of the NBD protocol, as its specification names them (`doc/proto.md` of
//! NetworkBlockDevice/nbd). All numbers are big endian on the wire.
//!
//! * [`buffer`]    bytes on their way
//! * [`options`]   the handshake: options of the client, and answers to them
//! * [`requests`]  the head of a request
//! * [`replies`]   simple and structured replies

pub mod buffer;
pub mod options;
pub mod replies;
pub mod requests;

/// Payload that a request or a reply has at most, in bytes. The default of the protocol is 32 MiB,
/// but some clients ask for more without asking what is allowed.
pub const PAYLOAD_BYTES_MAX: u32 = 64 << 20;

/// Flags of an export that are sent with its size.
pub mod transmission_flags {
    /// The other flags have a meaning.
    pub const HAS_FLAGS: u16 = 1 << 0;
    /// The export cannot be written.
    pub const READ_ONLY: u16 = 1 << 1;
    /// The server knows FLUSH.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// The server knows forced unit access.
    pub const SEND_FUA: u16 = 1 << 3;
    /// The server knows TRIM.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// The server knows WRITE_ZEROES.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// The server can be asked not to split the reply to a read.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush covers the writes that were answered on all connections.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
    /// The server knows CACHE.
    pub const SEND_CACHE: u16 = 1 << 10;
    /// The server refuses slow WRITE_ZEROES on demand.
    pub const SEND_FAST_ZERO: u16 = 1 << 11;
}

/// Flags of a request.
pub mod command_flags {
    /// The answer means that the data are durable.
    pub const FUA: u16 = 1 << 0;
    /// WRITE_ZEROES must allocate.
    pub const NO_HOLE: u16 = 1 << 1;
    /// The reply to a read must be one chunk.
    pub const DF: u16 = 1 << 2;
    /// BLOCK_STATUS wants one extent.
    pub const REQ_ONE: u16 = 1 << 3;
    /// WRITE_ZEROES must fail if it cannot be fast.
    pub const FAST_ZERO: u16 = 1 << 4;
}

/// What a reply says went wrong: the numbers of `errno` that the protocol knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Errno {
    /// The export cannot be written.
    Permission = 1,
    /// The data cannot be read or written.
    Io = 5,
    /// The request makes no sense.
    Invalid = 22,
    /// There is no room, or no such place to write to.
    NoSpace = 28,
    /// The request could not be fast.
    NotSupported = 95,
    /// The server is about to end.
    Shutdown = 108,
}

/// The base of what clients ask about the state of bytes: whether they are mapped.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// State of `base:allocation`: the bytes take no space.
pub const STATE_HOLE: u32 = 1;
/// State of `base:allocation`: the bytes read as zero.
pub const STATE_ZERO: u32 = 2;
