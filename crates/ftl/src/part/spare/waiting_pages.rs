//! Pages that wait for their program on a chip that only counts: see
//! [`spare_writer`](super::spare_writer).

use core::ops::Range;

use nand::{Cause, Ppn};

/// The programs that wait, and the scheme bytes of a page that does not.
#[derive(Debug)]
pub(super) struct WaitingPages {
    /// The former places of pages to be copied, which are all in one block.
    pub from: Vec<Ppn>,
    /// The pages of the host.
    pub host: Range<u32>,
    pub cause: Cause,
    /// The place of the next page.
    pub next: Ppn,
    /// Number of pages that the open block can still take; 0 if no page waits.
    pub room: u32,
    /// The scheme bytes being composed. Kept to reuse its memory.
    pub bytes: Vec<u8>,
}

impl Default for WaitingPages {
    fn default() -> WaitingPages {
        let (from, bytes) = (Vec::new(), Vec::new());
        WaitingPages { from, host: 0..0, cause: Cause::Gc, next: Ppn::NONE, room: 0, bytes }
    }
}
