//! Memory for the pages of a chip in memory.
//!
//! A chip takes memory for every page that is programmed for the first time, so a device that is
//! larger than the memory can be served until it has none left. Then writes are refused, and the
//! disk goes on: what is left above the limit is for flushes and merges that are under way.

use nand::{Nand, Op};

use crate::error::{Error, Result};

/// Bytes that are programmed between two measurements.
const MEASURED_EVERY: u64 = 16 << 20;

/// A limit of the memory of the process.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimit {
    /// Bytes that it may take.
    pub bytes: u64,
    /// Measures what it takes; none if the system does not tell.
    pub used_bytes: fn() -> Option<u64>,
}

/// Memory that is left below a limit.
#[derive(Debug, Default)]
pub(super) struct Room {
    limit: Option<MemoryLimit>,
    /// Pages that were programmed until memory is measured again.
    next_at: u64,
}

impl Room {
    pub(super) fn below(limit: MemoryLimit) -> Room {
        Room { limit: Some(limit), next_at: 0 }
    }

    /// Refuses a write if there is no memory for it.
    pub(super) fn expect(&mut self, nand: &Nand) -> Result<()> {
        let Some(MemoryLimit { bytes: limit_bytes, used_bytes }) = self.limit else {
            return Ok(());
        };
        let programs = nand.tally().total(Op::Program);
        if programs < self.next_at {
            return Ok(());
        }
        match used_bytes() {
            Some(used_bytes) if used_bytes > limit_bytes => {
                Err(Error::NoMemory { used_bytes, limit_bytes })
            }
            _ => {
                let page_bytes = u64::from(nand.geometry().page_bytes());
                self.next_at = programs + MEASURED_EVERY / page_bytes;
                Ok(())
            }
        }
    }
}
