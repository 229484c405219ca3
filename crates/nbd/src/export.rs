//! What clients are told about a disk, and what they can ask about its bytes.

use crate::wire::replies::Style;
use crate::wire::transmission_flags as flags;
use crate::wire::{BASE_ALLOCATION, PAYLOAD_BYTES_MAX};

/// Something that clients can ask about the state of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Whether the bytes are mapped. Unmapped ones read as zero.
    Allocation,
    /// The physical block that holds them.
    Block,
    /// How often that block was erased.
    Wear,
}

impl Context {
    /// All contexts.
    pub const ALL: [Context; 3] = [Context::Allocation, Context::Block, Context::Wear];

    /// The name that clients use.
    pub fn name(self) -> &'static str {
        match self {
            Context::Allocation => BASE_ALLOCATION,
            Context::Block => "ftlab:block",
            Context::Wear => "ftlab:wear",
        }
    }

    /// The number under which the state of bytes is sent.
    pub fn id(self) -> u32 {
        self as u32 + 1
    }
}

/// A disk as clients see it.
#[derive(Clone, Debug)]
pub struct Export {
    /// Its name. The first export is also found under the empty name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Its capacity.
    pub bytes: u64,
    /// The least size of requests that clients are asked to keep to. Smaller ones are served, too.
    pub least_bytes: u32,
    /// The size of requests that is served best, a power of two.
    pub preferred_bytes: u32,
    /// Whether it can only be read.
    pub is_read_only: bool,
    /// Whether it has power.
    pub is_on: bool,
}

impl Export {
    /// Its transmission flags on a connection with replies of this form.
    pub fn flags(&self, style: Style) -> u16 {
        let always = flags::HAS_FLAGS
            | flags::SEND_FLUSH
            | flags::SEND_FUA
            | flags::CAN_MULTI_CONN
            | flags::SEND_CACHE;
        let always = if style == Style::Structured { always | flags::SEND_DF } else { always };
        match self.is_read_only {
            true => always | flags::READ_ONLY,
            false => always | flags::SEND_TRIM | flags::SEND_WRITE_ZEROES | flags::SEND_FAST_ZERO,
        }
    }

    /// The least, the preferred and the greatest size of requests, in bytes. Clients ignore all
    /// three if the preferred size is below the least one.
    pub fn block_sizes(&self) -> [u32; 3] {
        let preferred_bytes = self.preferred_bytes.max(self.least_bytes);
        [self.least_bytes, preferred_bytes, PAYLOAD_BYTES_MAX]
    }
}

/// The index of the export of that name.
pub fn find(exports: &[Export], name: &str) -> Option<usize> {
    if name.is_empty() && !exports.is_empty() {
        return Some(0);
    }
    exports.iter().position(|export| export.name == name)
}
