//! Replies to requests.
//!
//! ```text
//! simple       magic error cookie │ data of a read
//! structured   magic flags type cookie length │ offset data, descriptors, or an error
//! ```
//! A structured reply consists of chunks; the last one has the flag DONE.

use super::Errno;
use super::buffer::Buffer;

const SIMPLE: u32 = 0x6744_6698;
const STRUCTURED: u32 = 0x668e_33ef;
const DONE: u16 = 1;
const NONE: u16 = 0;
const OFFSET_DATA: u16 = 1;
const BLOCK_STATUS: u16 = 5;
const ERROR: u16 = (1 << 15) + 1;
const ERROR_OFFSET: u16 = (1 << 15) + 2;
/// Characters of a message that fit into a chunk.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The form of the replies of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// An error number, and the data of a read.
    Simple,
    /// Chunks.
    Structured,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The kind of failure.
    pub errno: Errno,
    /// A sentence for the user.
    pub message: String,
    /// The first byte that failed, if that is known.
    pub offset: Option<u64>,
}

impl Failed {
    /// A failure at no known place.
    pub fn new(errno: Errno, message: impl Into<String>) -> Failed {
        Failed { errno, message: message.into(), offset: None }
    }
}

/// Consecutive bytes in the same state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Number of bytes.
    pub bytes: u32,
    /// The state; its meaning depends on the context.
    pub state: u32,
}

/// Appends a success without data.
pub fn done(out: &mut Buffer, style: Style, cookie: u64) {
    match style {
        Style::Simple => simple(out, 0, cookie),
        Style::Structured => chunk(out, DONE, NONE, cookie, 0),
    }
}

/// Appends a failure.
pub fn failed(out: &mut Buffer, style: Style, cookie: u64, failed: &Failed) {
    if style == Style::Simple {
        return simple(out, failed.errno as u32, cookie);
    }
    let message = &failed.message.as_bytes()[..message_bytes(&failed.message)];
    let (kind, more) = if failed.offset.is_some() { (ERROR_OFFSET, 8) } else { (ERROR, 0) };
    chunk(out, DONE, kind, cookie, (4 + 2 + message.len() + more) as u32);
    out.put(&(failed.errno as u32).to_be_bytes());
    out.put(&(message.len() as u16).to_be_bytes());
    out.put(message);
    if let Some(offset) = failed.offset {
        out.put(&offset.to_be_bytes());
    }
}

/// Bytes of a message that can be sent, whole characters.
fn message_bytes(message: &str) -> usize {
    (0..=message.len().min(MESSAGE_BYTES_MAX))
        .rev()
        .find(|&end| message.is_char_boundary(end))
        .unwrap_or(0)
}

/// Appends the data of a read. `fill` replaces all of a buffer of `bytes` bytes; if it fails, the
/// failure is appended instead.
pub fn data(
    out: &mut Buffer,
    style: Style,
    (cookie, offset, bytes): (u64, u64, u32),
    fill: impl FnOnce(&mut [u8]) -> Result<(), Failed>,
) {
    let before = out.bytes().len();
    match style {
        Style::Simple => simple(out, 0, cookie),
        Style::Structured => {
            chunk(out, DONE, OFFSET_DATA, cookie, 8 + bytes);
            out.put(&offset.to_be_bytes());
        }
    }
    if let Err(why) = fill(out.append(bytes as usize)) {
        out.truncate(before);
        failed(out, style, cookie, &why);
    }
}

/// Appends the state of a range in several contexts, each with its number. Such a reply is always
/// structured.
pub fn block_status(out: &mut Buffer, cookie: u64, contexts: &[(u32, Vec<Descriptor>)]) {
    for (index, (id, descriptors)) in contexts.iter().enumerate() {
        let flags = if index + 1 == contexts.len() { DONE } else { 0 };
        chunk(out, flags, BLOCK_STATUS, cookie, 4 + 8 * descriptors.len() as u32);
        out.put(&id.to_be_bytes());
        for descriptor in descriptors {
            out.put(&descriptor.bytes.to_be_bytes());
            out.put(&descriptor.state.to_be_bytes());
        }
    }
}

fn simple(out: &mut Buffer, error: u32, cookie: u64) {
    out.put(&SIMPLE.to_be_bytes());
    out.put(&error.to_be_bytes());
    out.put(&cookie.to_be_bytes());
}

fn chunk(out: &mut Buffer, flags: u16, kind: u16, cookie: u64, bytes: u32) {
    out.put(&STRUCTURED.to_be_bytes());
    out.put(&flags.to_be_bytes());
    out.put(&kind.to_be_bytes());
    out.put(&cookie.to_be_bytes());
    out.put(&bytes.to_be_bytes());
}
