//! The handshake: the greeting, the options of a client, and the replies to them.

use super::buffer::Buffer;

/// The greeting of a server: two magic numbers and its flags.
const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
const I_HAVE_OPT: u64 = 0x4948_4156_454F_5054;
const REPLY_MAGIC: u64 = 0x3_e889_0455_65a9;

/// Flag of server and client: fixed newstyle negotiation.
pub const FIXED_NEWSTYLE: u16 = 1;
/// Flag of server and client: no zeroes after the reply to EXPORT_NAME.
pub const NO_ZEROES: u16 = 2;
/// Bytes of the client's flags.
pub const CLIENT_FLAGS_BYTES: usize = 4;
/// Bytes of the head of an option.
pub const HEAD_BYTES: usize = 16;
/// Bytes of an option's data that a client may send.
pub const DATA_BYTES_MAX: u32 = 64 << 10;
/// Bytes of a name of an export or of a context, as the protocol limits strings.
pub const NAME_BYTES_MAX: usize = 4096;
/// Zeroes that old clients expect after the reply to EXPORT_NAME.
const ZEROES: [u8; 124] = [0; 124];

/// What a client can want to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An export, in the old way: without a reply if there is none.
    ExportName,
    /// The end of the connection.
    Abort,
    /// The names of all exports.
    List,
    /// Encryption.
    StartTls,
    /// Facts about an export.
    Info,
    /// Facts about an export, and then requests.
    Go,
    /// Structured replies.
    StructuredReply,
    /// The contexts of an export.
    ListMetaContext,
    /// Contexts for block status.
    SetMetaContext,
    /// An option that this server does not know.
    Unknown(u32),
}

/// The head of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its number, which replies repeat.
    pub number: u32,
    /// Bytes of its data.
    pub bytes: u32,
}

impl Head {
    /// Reads the head of an option; none if these bytes are not one.
    pub fn decode(head: &[u8; HEAD_BYTES]) -> Option<Head> {
        let (magic, rest) = head.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (bytes, _) = rest.split_first_chunk()?;
        let (number, bytes) = (u32::from_be_bytes(*number), u32::from_be_bytes(*bytes));
        (u64::from_be_bytes(*magic) == I_HAVE_OPT).then_some(Head { number, bytes })
    }

    /// What the client wants.
    pub fn kind(&self) -> Kind {
        match self.number {
            1 => Kind::ExportName,
            2 => Kind::Abort,
            3 => Kind::List,
            5 => Kind::StartTls,
            6 => Kind::Info,
            7 => Kind::Go,
            8 => Kind::StructuredReply,
            9 => Kind::ListMetaContext,
            10 => Kind::SetMetaContext,
            other => Kind::Unknown(other),
        }
    }
}

/// The kind of a reply to an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ReplyKind {
    /// The end of the replies.
    Ack = 1,
    /// An export.
    Server = 2,
    /// A fact about an export.
    Info = 3,
    /// A context.
    MetaContext = 4,
    /// The option is unknown.
    Unsupported = 1 << 31 | 1,
    /// The option is not allowed now.
    Policy = 1 << 31 | 2,
    /// The data of the option make no sense.
    Invalid = 1 << 31 | 3,
    /// The option needs encryption.
    TlsRequired = 1 << 31 | 5,
    /// There is no such export.
    UnknownExport = 1 << 31 | 6,
    /// The export cannot be used now.
    Shutdown = 1 << 31 | 7,
    /// The data of the option are too long.
    TooBig = 1 << 31 | 9,
}

/// A fact about an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Fact {
    /// Its size and flags.
    Export = 0,
    /// Its name.
    Name = 1,
    /// What it is.
    Description = 2,
    /// Sizes of requests: least, preferred and greatest.
    BlockSize = 3,
}

/// Appends the greeting.
pub fn greeting(out: &mut Buffer) {
    out.put(&NBD_MAGIC.to_be_bytes());
    out.put(&I_HAVE_OPT.to_be_bytes());
    out.put(&(FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
}

/// Appends a reply to an option.
pub fn reply(out: &mut Buffer, option: u32, kind: ReplyKind, data: &[u8]) {
    out.put(&REPLY_MAGIC.to_be_bytes());
    out.put(&option.to_be_bytes());
    out.put(&(kind as u32).to_be_bytes());
    out.put(&(data.len() as u32).to_be_bytes());
    out.put(data);
}

/// Appends a fact about an export.
pub fn fact(out: &mut Buffer, option: u32, fact: Fact, data: &[u8]) {
    let data = [&(fact as u16).to_be_bytes(), data].concat();
    reply(out, option, ReplyKind::Info, &data);
}

/// Appends the reply to EXPORT_NAME.
pub fn export_name(out: &mut Buffer, bytes: u64, flags: u16, has_zeroes: bool) {
    out.put(&bytes.to_be_bytes());
    out.put(&flags.to_be_bytes());
    if has_zeroes {
        out.put(&ZEROES);
    }
}

/// Reads the data of an option from the front.
pub struct Data<'a>(pub &'a [u8]);

impl<'a> Data<'a> {
    /// The next 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u16::from_be_bytes(*number))
    }

    /// The next 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// The next string, which is preceded by its length.
    pub fn text(&mut self) -> Option<&'a str> {
        let bytes = self.u32()? as usize;
        let (text, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        (bytes <= NAME_BYTES_MAX).then(|| std::str::from_utf8(text).ok())?
    }
}
