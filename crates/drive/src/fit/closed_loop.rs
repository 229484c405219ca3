//! A closed loop of random reads, or of writes to one page after the other.
//!
//! There is no FTL: a read hits any page of the drive, and a write takes the next free pages, as a
//! page-mapped FTL writes to a fresh drive. Nothing is collected.

use nand::spare::HEADER_BYTES;
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::engine::Drive;
use crate::operation::{HostRequest, Issued};
use crate::profile::{ArrayTimes, Profile};

/// Requests of one kind and size of which some are always outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Whether the requests are writes.
    pub writes: bool,
    /// Outstanding requests, at least 1.
    pub depth: u32,
    /// Bytes of a request.
    pub bytes: u64,
}

/// What a load achieves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Requests per second.
    pub iops: f64,
    /// Mean response time in nanoseconds.
    pub mean_ns: f64,
    /// The 99th percentile of response times in nanoseconds, if it is known.
    pub p99_ns: Option<f64>,
}

/// A load, and what a drive achieved under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// The load.
    pub load: Load,
    /// What was measured.
    pub measured: Measured,
}

/// The largest page; larger requests read several pages.
const PAGE_BYTES_MAX: u64 = 16 << 10;

/// The page size for these loads: the smallest request, or the largest page of which it is a
/// multiple.
pub fn page_bytes(loads: impl Iterator<Item = Load>) -> u32 {
    let smallest = loads.map(|load| load.bytes).min().unwrap_or(4096);
    let halves = core::iter::successors(Some(PAGE_BYTES_MAX), |page| Some(page / 2));
    let mut pages = halves.take_while(|&page| page >= 512);
    match smallest <= PAGE_BYTES_MAX && smallest.is_multiple_of(512) {
        true => smallest.max(512) as u32,
        false => pages.find(|page| smallest.is_multiple_of(*page)).unwrap_or(512) as u32,
    }
}

/// Lets a drive serve a load until this number of requests were measured. The page size is that
/// of [`page_bytes`].
///
/// # Panics
/// The load has no requests outstanding or requests of no bytes, or there is no such page.
pub fn measure(profile: &Profile, page_bytes: u32, load: Load, requests: u64) -> Measured {
    let profile = &with_full_buffer(profile, page_bytes, load);
    let mut drive = Drive::new(profile, &geometry(profile, page_bytes), Timing::ZERO);
    let mut places = PlacesOfRequests::new(profile, page_bytes, load);
    let request = HostRequest {
        op: if load.writes { trace::Op::Write } else { trace::Op::Read },
        bytes: load.bytes,
        force: false,
        memory_ns: 0,
        load: 0,
    };
    let (depth, before) = (u64::from(load.depth), requests_before(profile, load));
    let mut ended = Vec::new();
    for number in 0..depth + before + requests {
        let mut at_ns = drive.now_ns();
        if number >= depth {
            let Some(answer) = drive.next_answer(u64::MAX) else { break };
            at_ns = answer.answered_ns;
            ended.push((at_ns, answer.response_ns()));
        }
        drive.submit(at_ns, request, places.next());
    }
    drive.finish();
    summary(&ended[(before as usize).min(ended.len())..])
}

/// The same drive with a buffer that is soon full. Once it is full its size does not matter, as
/// long as all dies find work in it.
fn with_full_buffer(profile: &Profile, page_bytes: u32, load: Load) -> Profile {
    let of_rows = 4 * pages_of_row(profile) * u64::from(page_bytes);
    let enough = of_rows.max(4096 * load.bytes);
    Profile { buffer: profile.buffer.map(|bytes| bytes.min(enough)), ..profile.clone() }
}

/// Requests until the load is steady: the queues and the buffer must be full.
fn requests_before(profile: &Profile, load: Load) -> u64 {
    let buffered = match load.writes {
        true => profile.buffer.unwrap_or(0) / load.bytes,
        false => 0,
    };
    4 * u64::from(load.depth) + 2 * buffered.min(50_000)
}

/// Pages that the dies of a stripe program by one command each.
fn pages_of_row(profile: &Profile) -> u64 {
    let dies = profile.dies();
    let dies = profile.stripe.map_or(dies, |stripe| stripe.min(dies));
    u64::from(dies) * u64::from(profile.planes) * u64::from(profile.pages_at_once)
}

/// IOPS, mean and percentile of answers, each with its time and response time.
fn summary(answers: &[(u64, u64)]) -> Measured {
    let (first, last) = match answers {
        [(first, _), .., (last, _)] => (*first, *last),
        _ => (0, 0),
    };
    let seconds = (last - first).max(1) as f64 / 1e9;
    let mut responses: Vec<u64> = answers.iter().map(|(_, response)| *response).collect();
    responses.sort_unstable();
    let count = responses.len().max(1);
    let sum: u128 = responses.iter().map(|&response| u128::from(response)).sum();
    Measured {
        iops: (count - 1) as f64 / seconds,
        mean_ns: sum as f64 / count as f64,
        p99_ns: responses.get(count * 99 / 100).map(|&p99| p99 as f64),
    }
}

/// Pages in all: enough that two requests hardly ever meet in a row.
const PAGES: u32 = 1 << 24;

/// Blocks of as many rows as there are page types.
fn geometry(profile: &Profile, page_bytes: u32) -> Geometry {
    let types = [&profile.read, &profile.program].map(|times| match times {
        ArrayTimes::OfChip => 1,
        ArrayTimes::ByType(times) => times.len() as u64,
    });
    let row = pages_of_row(profile) * types.into_iter().max().unwrap_or(1);
    let pages_per_block = row.clamp(2, Geometry::PAGES_PER_BLOCK_MAX.into()) as u32;
    let spare_bytes = (page_bytes / 32).max(HEADER_BYTES as u32);
    let blocks = PAGES / pages_per_block;
    let order = ProgramOrder::Sequential;
    Geometry::new(page_bytes, spare_bytes, pages_per_block, blocks, order)
        .expect("pages are multiples of 512 B up to 16 KiB, and all counts are within their limits")
}

/// The flash operations of one request after the other.
struct PlacesOfRequests {
    draws: Xoshiro256PlusPlus,
    op: Op,
    pages_per_request: u32,
    /// Requests for which the drive has pages.
    slots: u32,
    written: u32,
    issued: Vec<Issued>,
}

impl PlacesOfRequests {
    fn new(profile: &Profile, page_bytes: u32, load: Load) -> PlacesOfRequests {
        let pages_per_request = load.bytes.div_ceil(page_bytes.into()) as u32;
        PlacesOfRequests {
            draws: Xoshiro256PlusPlus::seed_from_u64(1),
            op: if load.writes { Op::Program } else { Op::Read },
            pages_per_request,
            slots: geometry(profile, page_bytes).pages() / pages_per_request,
            written: 0,
            issued: Vec::new(),
        }
    }

    fn next(&mut self) -> &[Issued] {
        let slot = match self.op {
            Op::Program => self.written % self.slots,
            _ => (((self.draws.next_u64() >> 32) * u64::from(self.slots)) >> 32) as u32,
        };
        self.written += 1;
        let first = slot * self.pages_per_request;
        let pages = first..first + self.pages_per_request;
        let operation = |place| Issued::new(self.op, Cause::Host, place);
        self.issued.clear();
        self.issued.extend(pages.map(operation));
        &self.issued
    }
}
