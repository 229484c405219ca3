//! The host: cuts the bytes of requests into runs of pages.
//!
//! ```text
//! bytes        ····[====================]····      offset and length, on one of several volumes
//! sectors      ···[======================]···      reads and writes outward, trims inward
//! pages        │··xx│xxxx│xxxx│xxxx│xxxx│x···│     a run: whole pages, masks at head and tail
//! ```
//! Volumes are laid end to end. Flash cannot trim part of a page, so partial trims are dropped.
//! An address beyond the capacity is an error or wraps around; if the touched pages are packed, no
//! such address exists.

use core::ops::Range;

use ftl::Span;
use nand::geometry::SECTOR_BYTES;
use nand::{Geometry, SectorMask};
use trace::analysis::page_set::PageRanks;
use trace::{Flags, Op, Request};

use crate::config::choices::TrimMode;
use crate::input::streams::StreamRule;

/// A request ends beyond the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// The end of its last byte; volumes are laid end to end.
    pub end: u64,
}

/// The treatment of addresses beyond the capacity.
pub enum Placing<'a> {
    /// They are errors.
    Error,
    /// They are taken modulo the capacity.
    Wrap,
    /// Every page is replaced by its rank among the touched pages.
    Compact(&'a PageRanks),
}

/// Cuts requests into spans.
pub struct Host<'a> {
    /// The first byte of each volume.
    bases: &'a [u64],
    placing: Placing<'a>,
    streams: StreamRule,
    trims: TrimMode,
    capacity_bytes: u64,
    sectors_per_page: u64,
    page_bytes: u64,
    /// log₂ of it, if that is whole.
    page_shift: Option<u32>,
    full: SectorMask,
}

impl<'a> Host<'a> {
    /// A host of a device with this geometry and capacity.
    pub fn new(
        bases: &'a [u64],
        placing: Placing<'a>,
        streams: StreamRule,
        geometry: &Geometry,
        capacity_bytes: u64,
    ) -> Host<'a> {
        let page_bytes = u64::from(geometry.page_bytes());
        Host {
            bases,
            placing,
            streams,
            trims: TrimMode::Honour,
            capacity_bytes,
            sectors_per_page: geometry.sectors_per_page().into(),
            page_bytes,
            page_shift: page_bytes.is_power_of_two().then(|| page_bytes.ilog2()),
            full: geometry.full_mask(),
        }
    }

    /// The same host, with this treatment of trims.
    pub fn with_trims(self, trims: TrimMode) -> Host<'a> {
        Host { trims, ..self }
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The span of a write of a single whole page without flags, as most requests are; none for
    /// every other request.
    #[inline]
    pub fn single(&self, request: &Request) -> Option<Span> {
        let Request { offset, bytes, device, op, flags, .. } = *request;
        let is_plain = op == Op::Write && flags == Flags::empty() && bytes == self.page_bytes;
        let (true, Placing::Error, Some(shift)) = (is_plain, &self.placing, self.page_shift) else {
            return None;
        };
        let start = self.bases[device as usize] + offset;
        let (first, fits) = (start >> shift, start + bytes <= self.capacity_bytes);
        (first << shift == start && fits).then_some(Span {
            first: first as u32,
            pages: 1,
            head: self.full,
            tail: self.full,
            stream: self.streams.stream(request),
        })
    }

    /// Appends the spans of a request. Flushes have none, and neither have trims that contain no
    /// whole page or are ignored.
    ///
    /// # Errors
    /// The request ends beyond the capacity, under [`Placing::Error`].
    #[inline]
    pub fn cut(&self, request: &Request, spans: &mut Vec<Span>) -> Result<(), Beyond> {
        let base = self.bases[request.device as usize];
        let before = spans.len();
        let bytes = base + request.offset..base + request.end();
        match (request.op, &self.placing) {
            (Op::Flush, _) => {}
            (Op::Trim, _) if self.trims == TrimMode::Ignore => {}
            (_, Placing::Error) if bytes.end > self.capacity_bytes => {
                return Err(Beyond { end: bytes.end });
            }
            (Op::Read | Op::Write, Placing::Error) => {
                spans.push(Span::of_sectors(outward(bytes), self.sectors_per_page, self.full));
            }
            _ => self.place(request.op, bytes, spans),
        }
        if request.op == Op::Write {
            let stream = self.streams.stream(request);
            spans[before..].iter_mut().for_each(|span| span.stream = stream);
        }
        Ok(())
    }

    /// Appends the spans of trims, and those of requests whose pages are moved.
    #[inline(never)]
    fn place(&self, op: Op, bytes: Range<u64>, spans: &mut Vec<Span>) {
        let sector = u64::from(SECTOR_BYTES);
        let sectors = match op {
            Op::Trim => bytes.start.div_ceil(sector)..bytes.end / sector,
            _ => outward(bytes),
        };
        match &self.placing {
            Placing::Error => self.push(op, sectors, spans),
            Placing::Wrap => self.wrap(op, sectors, spans),
            Placing::Compact(ranks) => self.compact(ranks, op, sectors, spans),
        }
    }

    /// Cuts a request at the end of the device. A request longer than the device covers it once.
    fn wrap(&self, op: Op, sectors: Range<u64>, spans: &mut Vec<Span>) {
        let capacity = self.capacity_bytes / u64::from(SECTOR_BYTES);
        let length = sectors.end.saturating_sub(sectors.start).min(capacity);
        let start = sectors.start % capacity;
        let until_end = length.min(capacity - start);
        self.push(op, start..start + until_end, spans);
        self.push(op, 0..length - until_end, spans);
    }

    /// Reads and writes touch all their pages, so they stay in one piece. Trims are reduced to the
    /// pages that a read or write touches.
    fn compact(&self, ranks: &PageRanks, op: Op, sectors: Range<u64>, spans: &mut Vec<Span>) {
        let n = self.sectors_per_page;
        if op == Op::Trim {
            let pages = sectors.start.div_ceil(n)..sectors.end / n;
            let count = pages.end.saturating_sub(pages.start);
            let (first, members) = ranks.range(pages.start, count);
            self.push(op, first * n..(first + members) * n, spans);
        } else {
            let page = sectors.start / n;
            let rank = ranks.rank(page).expect("pages read or written are touched pages");
            self.push(
                op,
                sectors.start - page * n + rank * n..sectors.end - page * n + rank * n,
                spans,
            );
        }
    }

    /// Appends sectors as a span. A trim is reduced to its whole pages. The sectors must lie within
    /// the device.
    fn push(&self, op: Op, sectors: Range<u64>, spans: &mut Vec<Span>) {
        let n = self.sectors_per_page;
        let sectors = match op {
            Op::Trim => sectors.start.next_multiple_of(n)..sectors.end / n * n,
            _ => sectors,
        };
        if sectors.start >= sectors.end {
            return;
        }
        spans.push(Span::of_sectors(sectors, n, self.full));
    }
}

/// The sectors that contain these bytes.
#[inline]
fn outward(bytes: Range<u64>) -> Range<u64> {
    let sector = u64::from(SECTOR_BYTES);
    bytes.start / sector..bytes.end.div_ceil(sector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;
    use trace::analysis::page_set::PageSet;

    const PAGE: u64 = 2048;
    const CAPACITY: u64 = 8 * PAGE;

    fn geometry() -> Geometry {
        Geometry::new(PAGE as u32, 64, 4, 3, ProgramOrder::Any).unwrap()
    }

    fn host<'a>(bases: &'a [u64], placing: Placing<'a>) -> Host<'a> {
        Host::new(bases, placing, StreamRule::Off, &geometry(), CAPACITY)
    }

    fn request(op: Op, offset: u64, bytes: u64) -> Request {
        Request { time_ns: 0, offset, bytes, device: 0, op, flags: Flags::empty(), stream: 0 }
    }

    /// The spans of one request as (first, pages, head, tail).
    fn cut(placing: Placing, request: &Request) -> Result<Vec<(u32, u32, u64, u64)>, Beyond> {
        let host = host(&[0, 6 * PAGE], placing);
        let mut spans = Vec::new();
        host.cut(request, &mut spans)?;
        if let Some(single) = host.single(request) {
            assert_eq!(spans, [single], "{request:?}");
        }
        Ok(spans.iter().map(|span| (span.first, span.pages, span.head, span.tail)).collect())
    }

    #[test]
    fn reads_and_writes_are_rounded_outward_to_sectors() {
        let of = |offset, bytes| cut(Placing::Error, &request(Op::Write, offset, bytes)).unwrap();
        assert_eq!(of(0, 2048), [(0, 1, 0b1111, 0b1111)]);
        assert_eq!(of(512, 512), [(0, 1, 0b0010, 0b0010)]);
        assert_eq!(of(511, 2), [(0, 1, 0b0011, 0b0011)]);
        assert_eq!(of(1536, 1024), [(0, 2, 0b1000, 0b0001)]);
        assert_eq!(of(2048, 6 * 1024 + 1), [(1, 4, 0b1111, 0b0001)]);
        assert_eq!(of(CAPACITY - 1, 1), [(7, 1, 0b1000, 0b1000)]);
    }

    #[test]
    fn writes_of_a_whole_page_are_cut_without_detours() {
        let host = host(&[PAGE, 0], Placing::Error);
        let single = |op, offset, bytes| host.single(&request(op, offset, bytes));
        let page = |first| Some(Span { first, pages: 1, head: 15, tail: 15, stream: 0 });
        assert_eq!(single(Op::Write, 0, PAGE), page(1));
        assert_eq!(single(Op::Write, CAPACITY - 2 * PAGE, PAGE), page(7));
        assert_eq!(single(Op::Write, CAPACITY - PAGE, PAGE), None, "beyond the capacity");
        assert_eq!(single(Op::Write, 512, PAGE), None);
        assert_eq!(single(Op::Write, 0, 2 * PAGE), None);
        assert_eq!(single(Op::Read, 0, PAGE), None);
        let flagged = Request { flags: Flags::FUA, ..request(Op::Write, 0, PAGE) };
        assert_eq!(host.single(&flagged), None);
    }

    #[test]
    fn trims_are_rounded_inward_to_pages() {
        let of = |offset, bytes| cut(Placing::Error, &request(Op::Trim, offset, bytes)).unwrap();
        assert_eq!(of(0, 2 * 2048), [(0, 2, 0b1111, 0b1111)]);
        assert_eq!(of(1, 2 * 2048), [(1, 1, 0b1111, 0b1111)]);
        assert_eq!(of(2048, 2047), []);
        assert_eq!(of(100, 200), []);
    }

    #[test]
    fn volumes_are_laid_end_to_end_and_flushes_have_no_span() {
        let second = Request { device: 1, ..request(Op::Read, 0, 512) };
        assert_eq!(cut(Placing::Error, &second).unwrap(), [(6, 1, 1, 1)]);
        assert_eq!(cut(Placing::Error, &request(Op::Flush, 0, 0)).unwrap(), []);
    }

    #[test]
    fn addresses_beyond_the_capacity_are_errors_or_wrap() {
        let late = request(Op::Write, CAPACITY - 512, 1024);
        assert_eq!(cut(Placing::Error, &late), Err(Beyond { end: CAPACITY + 512 }));
        assert_eq!(cut(Placing::Wrap, &late).unwrap(), [(7, 1, 8, 8), (0, 1, 1, 1)]);
        let long = cut(Placing::Wrap, &request(Op::Write, 5 * CAPACITY + PAGE, 2 * CAPACITY));
        assert_eq!(long.unwrap(), [(1, 7, 15, 15), (0, 1, 15, 15)], "the whole device, once");
        let trim = request(Op::Trim, CAPACITY - PAGE - 512, 2 * PAGE);
        assert_eq!(cut(Placing::Wrap, &trim).unwrap(), [(7, 1, 15, 15)]);
    }

    #[test]
    fn touched_pages_are_packed_side_by_side() {
        let mut set = PageSet::default();
        set.insert_range(100, 2);
        set.insert_range(1 << 40, 3);
        let ranks = set.freeze();
        let of = |op, offset, bytes| cut(Placing::Compact(&ranks), &request(op, offset, bytes));
        let far = (1 << 40) * PAGE;
        assert_eq!(of(Op::Write, far + 512, 2 * PAGE).unwrap(), [(2, 3, 0b1110, 0b0001)]);
        assert_eq!(of(Op::Trim, 0, far + PAGE + 1).unwrap(), [(0, 3, 15, 15)]);
        assert_eq!(of(Op::Trim, 0, 100 * PAGE).unwrap(), []);
    }

    #[test]
    fn all_spans_of_a_write_have_its_stream_and_other_requests_have_none() {
        let host = Host::new(&[0], Placing::Wrap, StreamRule::Size, &geometry(), CAPACITY);
        let streams = |op| {
            let mut spans = Vec::new();
            host.cut(&request(op, CAPACITY - PAGE, 3 * PAGE), &mut spans).unwrap();
            spans.iter().map(|span| span.stream).collect::<Vec<_>>()
        };
        assert_eq!([Op::Write, Op::Read, Op::Trim].map(streams), [[2, 2], [0, 0], [0, 0]]);
        let host = Host::new(&[0], Placing::Error, StreamRule::Size, &geometry(), CAPACITY);
        let single = host.single(&request(Op::Write, PAGE, PAGE));
        assert_eq!(single.map(|span| span.stream), Some(1));
    }

    #[test]
    fn a_span_knows_its_sectors() {
        let span = Span { first: 2, pages: 2, head: 0b1100, tail: 0b0001, stream: 0 };
        assert_eq!(span.sectors(4), 10..13);
        let span = Span { first: 1, pages: 1, head: 0b0110, tail: 0b0110, stream: 0 };
        assert_eq!(span.sectors(4), 5..7);
    }
}
