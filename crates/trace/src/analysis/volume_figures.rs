//! Figures of one volume of a trace, by which volumes are chosen.

use crate::analysis::page_set::PageSet;
use crate::request::{Op, Request};

/// The unit in which volumes are measured, whatever the chip: that of the papers which choose
/// volumes (SepBIT and the studies of the Alibaba and Tencent traces).
pub const PAGE_BYTES: u64 = 4096;

/// What is counted of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeFigures {
    /// Requests of all kinds.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// The end of the last byte that is requested.
    pub end_bytes: u64,
    /// Writes of pages of 4 KiB: a request of ten pages counts as ten.
    pub page_writes: u64,
    /// Distinct pages that are written.
    pub written_pages: u64,
}

impl VolumeFigures {
    /// Bytes of the distinct pages that are written.
    pub fn working_set_bytes(&self) -> u64 {
        self.written_pages * PAGE_BYTES
    }

    /// Writes among reads and writes; 0 without any.
    pub fn write_share(&self) -> f64 {
        share(self.writes, self.reads + self.writes)
    }

    /// Page writes to pages that the volume wrote before, as a share of all; 0 without writes.
    pub fn rewrites(&self) -> f64 {
        share(self.page_writes - self.written_pages, self.page_writes)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Counts the requests of a volume.
#[derive(Clone, Debug, Default)]
pub struct VolumeCounter {
    figures: VolumeFigures,
    written: PageSet,
}

impl VolumeCounter {
    /// Counts a request.
    #[inline]
    pub fn see(&mut self, request: &Request) {
        let counts = &mut self.figures;
        counts.requests += 1;
        counts.end_bytes = counts.end_bytes.max(request.end());
        match request.op {
            Op::Read => {
                counts.reads += 1;
                counts.read_bytes = counts.read_bytes.saturating_add(request.bytes);
            }
            Op::Write => {
                counts.writes += 1;
                counts.written_bytes = counts.written_bytes.saturating_add(request.bytes);
                let first = request.offset / PAGE_BYTES;
                let pages = request.end().div_ceil(PAGE_BYTES) - first;
                counts.page_writes = counts.page_writes.saturating_add(pages);
                counts.written_pages += self.written.insert_range(first, pages);
            }
            Op::Trim | Op::Flush => {}
        }
    }

    /// The figures of the requests so far.
    pub fn figures(&self) -> VolumeFigures {
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Flags;

    #[test]
    fn a_page_that_is_written_again_is_a_rewrite() {
        let mut counter = VolumeCounter::default();
        let requests = [
            (Op::Write, 0, 8192),
            (Op::Write, 4095, 2),
            (Op::Read, 1 << 20, 512),
            (Op::Trim, 0, 4096),
        ];
        for (op, offset, bytes) in requests {
            let (flags, time_ns) = (Flags::empty(), 0);
            counter.see(&Request { time_ns, offset, bytes, device: 3, op, flags, stream: 0 });
        }
        let found = counter.figures();
        assert_eq!((found.requests, found.reads, found.writes), (4, 1, 2));
        assert_eq!((found.read_bytes, found.written_bytes), (512, 8194));
        assert_eq!((found.page_writes, found.written_pages), (4, 2));
        assert_eq!((found.end_bytes, found.working_set_bytes()), ((1 << 20) + 512, 8192));
        assert_eq!((found.rewrites(), found.write_share()), (0.5, 2.0 / 3.0));
    }
}
