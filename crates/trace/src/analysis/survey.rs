//! Counts of requests, flags, bytes and pages of a trace, in one pass.
//!
//! Publications count requests in two ways, so there are two counts: [`Survey::requests`] counts
//! all, [`Survey::data_requests`] only reads and writes, without trims and flushes.

use crate::analysis::page_set::PageSet;
pub use crate::analysis::request_sizes::{RequestSizes, SizeBucket};
use crate::error::Error;
use crate::parse::doubts::contents;
use crate::replay::{ReadReport, Skipped, Trace};
use crate::request::{Flags, Op, Request};

/// The counts of a trace.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The page size, in bytes.
    pub page_bytes: u64,
    /// Reads, by size.
    pub reads: RequestSizes,
    /// Writes, by size; those with a preflush included.
    pub writes: RequestSizes,
    /// Trims (discards), by size.
    pub trims: RequestSizes,
    /// Flushes, without writes that have a preflush.
    pub flushes: u64,
    /// Requests by flag.
    pub flags: FlagCounts,
    /// Requests that start and end at multiples of the page.
    pub aligned: AlignedCounts,
    /// Distinct pages, where each device has its own pages.
    pub pages: PageCounts,
    /// The time of the last request, in nanoseconds since the first record.
    pub span_ns: u64,
    /// Skipped requests by reason, and times that went back.
    pub skipped: Skipped,
    /// The devices, in order of first appearance.
    pub devices: Vec<DeviceSurvey>,
    /// Sentences about the trace as it was read.
    pub notes: Vec<String>,
}

/// Requests by flag, including flushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlagCounts {
    /// Preceded by a flush.
    pub preflush: u64,
    /// Forced unit access.
    pub fua: u64,
    /// A process waits for them.
    pub sync: u64,
    /// Metadata of a file system.
    pub meta: u64,
    /// Readahead.
    pub readahead: u64,
}

/// Requests that start and end at multiples of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlignedCounts {
    /// Reads and writes.
    pub all: u64,
    /// The writes among them.
    pub writes: u64,
}

/// Distinct pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounts {
    /// Written at least in part.
    pub written: u64,
    /// Read at least in part.
    pub read: u64,
    /// Written or read.
    pub touched: u64,
    /// Trimmed completely by one request.
    pub trimmed: u64,
    /// Page writes to pages that were written earlier in the trace; not distinct.
    pub rewritten: u64,
}

/// One device of a trace.
#[derive(Debug, Clone, Default)]
pub struct DeviceSurvey {
    /// Its name in the trace.
    pub name: String,
    /// The requests to it.
    pub requests: u64,
    /// The first byte after all its requests.
    pub end_bytes: u64,
    /// The pages written or read.
    pub touched: PageSet,
    written: PageSet,
    read: PageSet,
    trimmed: PageSet,
}

/// Reads the whole trace and counts its requests. `check` is that of [`Replay::for_each`].
///
/// # Errors
/// Any error of reading the trace, or that of `check`.
///
/// # Panics
/// If `page_bytes` is less than a sector of 512 bytes.
///
/// [`Replay::for_each`]: crate::Replay::for_each
pub fn survey<E: From<Error>>(
    trace: &Trace,
    page_bytes: u64,
    check: impl FnMut(u64) -> core::result::Result<(), E>,
) -> core::result::Result<Survey, E> {
    let mut survey = Survey::new(page_bytes);
    let mut replay = trace.replay()?;
    replay.for_each(check, |request| survey.add(request))?;
    let ReadReport { devices, skipped, notes, .. } = replay.report();
    for (device, name) in survey.devices.iter_mut().zip(devices) {
        device.name = name;
    }
    (survey.skipped, survey.notes) = (skipped, notes);
    Ok(survey)
}

impl Survey {
    fn new(page_bytes: u64) -> Survey {
        assert!(page_bytes >= 512, "a page of {page_bytes} bytes is less than a sector");
        Survey { page_bytes, ..Survey::default() }
    }

    /// All requests delivered: reads, writes, trims and flushes.
    pub fn requests(&self) -> u64 {
        self.data_requests() + self.trims.requests() + self.flushes
    }

    /// What the trace has, in words: its requests by operation, and what is no request.
    pub fn contents(&self) -> String {
        let of = RequestSizes::requests;
        let counts = [of(&self.reads), of(&self.writes), of(&self.trims), self.flushes];
        contents(counts, &self.skipped)
    }

    /// The number of reads and writes.
    pub fn data_requests(&self) -> u64 {
        self.reads.requests() + self.writes.requests()
    }

    /// The sizes of reads and writes together.
    pub fn data_sizes(&self) -> RequestSizes {
        self.reads.merged(&self.writes)
    }

    /// The number of reads and writes that do not start and end at multiples of the page.
    pub fn unaligned(&self) -> u64 {
        self.data_requests() - self.aligned.all
    }

    /// The first byte after all requests, on any device.
    pub fn end_bytes(&self) -> u64 {
        self.devices.iter().map(|device| device.end_bytes).max().unwrap_or(0)
    }

    fn add(&mut self, request: &Request) {
        self.span_ns = request.time_ns;
        self.flags.add(request.flags);
        self.add_size(request);
        let index = request.device as usize;
        if index >= self.devices.len() {
            self.devices.resize_with(index + 1, DeviceSurvey::default);
        }
        let device = &mut self.devices[index];
        device.requests += 1;
        device.end_bytes = device.end_bytes.max(request.end());
        self.add_pages(request, index);
    }

    fn add_size(&mut self, request: &Request) {
        let on_page = |bytes: u64| bytes.is_multiple_of(self.page_bytes);
        let aligned = on_page(request.offset) && on_page(request.bytes);
        match request.op {
            Op::Read => {
                self.reads.add(request.bytes);
                self.aligned.all += u64::from(aligned);
            }
            Op::Write => {
                self.writes.add(request.bytes);
                self.aligned.all += u64::from(aligned);
                self.aligned.writes += u64::from(aligned);
            }
            Op::Trim => self.trims.add(request.bytes),
            Op::Flush => self.flushes += 1,
        }
    }

    fn add_pages(&mut self, request: &Request, device: usize) {
        let device = &mut self.devices[device];
        let first = request.offset / self.page_bytes;
        let count = request.end().div_ceil(self.page_bytes) - first;
        match request.op {
            Op::Read => {
                self.pages.read += device.read.insert_range(first, count);
                self.pages.touched += device.touched.insert_range(first, count);
            }
            Op::Write => {
                let new = device.written.insert_range(first, count);
                self.pages.written += new;
                self.pages.rewritten += count - new;
                self.pages.touched += device.touched.insert_range(first, count);
            }
            Op::Trim => {
                let whole_first = request.offset.div_ceil(self.page_bytes);
                let whole = (request.end() / self.page_bytes).saturating_sub(whole_first);
                self.pages.trimmed += device.trimmed.insert_range(whole_first, whole);
            }
            Op::Flush => {}
        }
    }
}

impl FlagCounts {
    fn add(&mut self, flags: Flags) {
        self.preflush += u64::from(flags.contains(Flags::PREFLUSH));
        self.fua += u64::from(flags.contains(Flags::FUA));
        self.sync += u64::from(flags.contains(Flags::SYNC));
        self.meta += u64::from(flags.contains(Flags::META));
        self.readahead += u64::from(flags.contains(Flags::READAHEAD));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(op: Op, offset: u64, bytes: u64, device: u32) -> Request {
        Request { time_ns: 5, offset, bytes, device, op, flags: Flags::SYNC, stream: 0 }
    }

    #[test]
    fn pages_are_counted_once_and_by_device() {
        let mut survey = Survey::new(4096);
        survey.add(&request(Op::Write, 0, 8192, 0));
        survey.add(&request(Op::Write, 4095, 2, 0));
        survey.add(&request(Op::Read, 4096, 4096, 1));
        survey.add(&request(Op::Trim, 1, 3 * 4096, 0));
        survey.add(&request(Op::Trim, 1, 4096, 0));
        survey.add(&request(Op::Flush, 0, 0, 0));
        let expected = PageCounts { written: 2, read: 1, touched: 3, trimmed: 2, rewritten: 2 };
        assert_eq!(survey.pages, expected);
        assert_eq!((survey.requests(), survey.data_requests(), survey.flushes), (6, 3, 1));
        assert_eq!((survey.aligned.all, survey.aligned.writes, survey.unaligned()), (2, 1, 1));
        assert_eq!((survey.end_bytes(), survey.devices[1].end_bytes), (3 * 4096 + 1, 8192));
        assert_eq!(survey.flags.sync, 6);
    }

    #[test]
    fn requests_at_the_end_of_the_address_space_are_counted() {
        let mut survey = Survey::new(4096);
        survey.add(&request(Op::Trim, 0, u64::MAX, 0));
        survey.add(&request(Op::Write, u64::MAX - 1, 1, 0));
        survey.add(&request(Op::Write, 0, u64::MAX, 0));
        assert_eq!(survey.pages.trimmed, (1 << 52) - 1);
        assert_eq!(survey.pages.written, 1 << 52);
    }
}
