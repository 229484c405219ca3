//! What a served disk must hold: an array of bytes, changed by each request that succeeded.

use std::ops::Range;

/// Bytes of a page of the bases; only whole pages are trimmed.
const PAGE_BYTES: usize = 1024;
const READ_BYTES_MAX: usize = 64 << 20;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;
const CACHE: u16 = 5;
const WRITE_ZEROES: u16 = 6;
const BLOCK_STATUS: u16 = 7;

const FUA: u16 = 1;
const NO_HOLE: u16 = 2;
const DF: u16 = 4;
const REQ_ONE: u16 = 8;
const FAST_ZERO: u16 = 16;

const EINVAL: u32 = 22;
const ENOSPC: u32 = 28;
const ENOTSUP: u32 = 95;

/// A request as the client sent it.
pub struct Asked<'a> {
    pub flags: u16,
    pub command: u16,
    pub cookie: u64,
    pub offset: u64,
    pub bytes: usize,
    pub payload: &'a [u8],
}

/// What the client and the server agreed on.
#[derive(Default)]
pub struct Terms {
    pub is_structured: bool,
    pub contexts: usize,
}

impl Asked<'_> {
    pub fn is_read(&self) -> bool {
        self.command == READ
    }

    pub fn is_block_status(&self) -> bool {
        self.command == BLOCK_STATUS
    }

    /// The number of the error with which the protocol demands to refuse this, if it does.
    fn refusal(&self, capacity: usize, terms: &Terms) -> Option<u32> {
        let more = match self.command {
            READ if terms.is_structured => DF,
            WRITE_ZEROES => NO_HOLE | FAST_ZERO,
            BLOCK_STATUS if terms.is_structured && terms.contexts > 0 => REQ_ONE,
            READ | WRITE | FLUSH | TRIM | CACHE => 0,
            _ => return Some(EINVAL),
        };
        if self.flags & !(more | FUA) != 0 {
            return Some(EINVAL);
        }
        if self.command == FLUSH {
            return (self.offset != 0 || self.bytes != 0).then_some(EINVAL);
        }
        let has_payload = matches!(self.command, READ | WRITE);
        if self.bytes == 0 || (has_payload && self.bytes > READ_BYTES_MAX) {
            return Some(EINVAL);
        }
        let room = capacity as u64;
        let is_inside = self.offset <= room && self.bytes as u64 <= room - self.offset;
        let takes_room = matches!(self.command, WRITE | WRITE_ZEROES);
        (!is_inside).then_some(if takes_room { ENOSPC } else { EINVAL })
    }
}

/// A disk.
pub struct Model {
    pub bytes: Vec<u8>,
    /// Whether nothing has changed since the last flush.
    pub is_flushed: bool,
}

impl Model {
    pub fn new(bytes: usize) -> Model {
        Model { bytes: vec![0; bytes], is_flushed: true }
    }

    /// The error that a request was answered with must be the right one, or none.
    pub fn judge(&mut self, asked: &Asked, terms: &Terms, error: u32) {
        let Asked { command, flags, offset, bytes, .. } = *asked;
        let refusal = asked.refusal(self.bytes.len(), terms);
        let may_be_slow = command == WRITE_ZEROES && flags & FAST_ZERO != 0 && error == ENOTSUP;
        if refusal.is_none() && may_be_slow {
            return;
        }
        assert_eq!(
            error,
            refusal.unwrap_or(0),
            "command {command}, flags {flags:#x}, {bytes} bytes at {offset}"
        );
        if error == 0 {
            self.perform(asked);
        }
    }

    fn perform(&mut self, asked: &Asked) {
        let range = asked.offset as usize..asked.offset as usize + asked.bytes;
        match asked.command {
            WRITE => self.bytes[range].copy_from_slice(asked.payload),
            WRITE_ZEROES => self.bytes[range].fill(0),
            TRIM => self.bytes[whole_pages(range)].fill(0),
            _ => {}
        }
        self.is_flushed = match asked.command {
            FLUSH => true,
            WRITE | WRITE_ZEROES | TRIM => false,
            _ => self.is_flushed,
        };
    }
}

fn whole_pages(range: Range<usize>) -> Range<usize> {
    let start = range.start.next_multiple_of(PAGE_BYTES);
    start..start.max(range.end / PAGE_BYTES * PAGE_BYTES)
}
