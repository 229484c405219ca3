//! The head of a request.

const MAGIC: u32 = 0x2560_9513;

/// Bytes of the head of a request.
pub const HEAD_BYTES: usize = 28;

/// What a client can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// The bytes of a range.
    Read,
    /// New bytes for a range.
    Write,
    /// The end of the connection. It has no reply.
    Disconnect,
    /// Everything that was answered becomes durable.
    Flush,
    /// A range is no longer needed.
    Trim,
    /// A hint that a range is read soon.
    Cache,
    /// A range becomes zero.
    WriteZeroes,
    /// The state of a range.
    BlockStatus,
    /// A command that this server does not know.
    Unknown(u16),
}

impl Command {
    fn of(number: u16) -> Command {
        match number {
            0 => Command::Read,
            1 => Command::Write,
            2 => Command::Disconnect,
            3 => Command::Flush,
            4 => Command::Trim,
            5 => Command::Cache,
            6 => Command::WriteZeroes,
            7 => Command::BlockStatus,
            other => Command::Unknown(other),
        }
    }
}

/// A request without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// A set of [flags](super::command_flags).
    pub flags: u16,
    /// The command.
    pub command: Command,
    /// The name that the client gave to the request.
    pub cookie: u64,
    /// The first byte.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u32,
}

impl Request {
    /// Reads the head of a request; none if these bytes are not one.
    pub fn decode(head: &[u8; HEAD_BYTES]) -> Option<Request> {
        let (magic, rest) = head.split_first_chunk()?;
        let (flags, rest) = rest.split_first_chunk()?;
        let (command, rest) = rest.split_first_chunk()?;
        let (cookie, rest) = rest.split_first_chunk()?;
        let (offset, rest) = rest.split_first_chunk()?;
        let (bytes, _) = rest.split_first_chunk()?;
        (u32::from_be_bytes(*magic) == MAGIC).then(|| Request {
            flags: u16::from_be_bytes(*flags),
            command: Command::of(u16::from_be_bytes(*command)),
            cookie: u64::from_be_bytes(*cookie),
            offset: u64::from_be_bytes(*offset),
            bytes: u32::from_be_bytes(*bytes),
        })
    }

    /// Bytes of payload that follow the head.
    pub fn payload_bytes(&self) -> u32 {
        if self.command == Command::Write { self.bytes } else { 0 }
    }

    /// Bytes of data in its answer, if it succeeds.
    pub fn promised_bytes(&self) -> usize {
        if self.command == Command::Read { self.bytes as usize } else { 0 }
    }

    /// Whether all of these flags are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}
