//! mixed: sequential streams of large requests among small random ones, as on a desktop.
//!
//! With probability `sequential`, a request belongs to one of `streams` streams. Otherwise it is a
//! small request of size `request`, placed by the skew `hot` over the whole space. A stream issues
//! consecutive requests of size `large` for `run` bytes and then continues at a random page. Reads
//! and writes have separate streams.

use spec::{Kind, Param, Params};

use crate::generate::grid::Grid;
use crate::generate::params::{ARRIVALS, INTERARRIVAL, READS, REQUEST, REQUESTS, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::tiers::{HotRatio, Tiered, Tiers};
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "mixed",
    summary: "sequential streams of large requests among small random requests with skew",
    source: "this program's own model of a desktop",
    params: &[
        WRITES,
        REQUESTS,
        MIXED_READS,
        REQUEST,
        SEQUENTIAL,
        STREAMS,
        LARGE,
        RUN,
        HOT,
        INTERARRIVAL,
        ARRIVALS,
        SEED,
    ],
    placement,
};

const MIXED_READS: Param = Param { default: "30%", ..READS };
const SEQUENTIAL: Param = Param {
    name: "sequential",
    kind: Kind::Share,
    default: "20%",
    unit: "of all requests",
    doc: "the share of the requests that belong to sequential streams",
};
const STREAMS: Param = Param {
    name: "streams",
    kind: Kind::Count,
    default: "4",
    unit: "streams",
    doc: "the number of concurrent streams of writes, and of reads",
};
const LARGE: Param = Param {
    name: "large",
    kind: Kind::Size,
    default: "64KiB",
    unit: "bytes",
    doc: "the size of the requests of streams, in whole pages",
};
const RUN: Param = Param {
    name: "run",
    kind: Kind::Size,
    default: "4MiB",
    unit: "bytes",
    doc: "the length of a stream before it continues elsewhere",
};
const HOT: Param = Param {
    name: "hot",
    kind: Kind::Ratio,
    default: "80/20",
    unit: "% of requests / % of pages",
    doc: "the skew of the small requests",
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let (large_bytes, run_bytes) = (params.size(LARGE.name), params.size(RUN.name));
    let (streams, sequential) = (params.count(STREAMS.name), params.share(SEQUENTIAL.name));
    let space_bytes = grid.units * grid.unit_bytes;
    if large_bytes == 0 || !large_bytes.is_multiple_of(grid.page_bytes) {
        let page_bytes = grid.page_bytes;
        return Err(format!("large={large_bytes} is not a whole number of pages of {page_bytes}"));
    }
    if large_bytes > space_bytes {
        return Err(format!("large={large_bytes} does not fit a space of {space_bytes} bytes"));
    }
    if run_bytes < large_bytes {
        return Err(format!("run={run_bytes} is less than one request (large={large_bytes})"));
    }
    if streams == 0 || streams > MOST_STREAMS {
        return Err(format!("streams={streams} is not between 1 and {MOST_STREAMS}"));
    }
    if sequential.exceeds_whole() {
        return Err(format!("sequential={sequential} is more than all requests"));
    }
    let tiers = HotRatio::new(params.ratio(HOT.name))?.tiers(grid.units)?;
    Ok(Box::new(Mixed {
        small: Tiered { grid: *grid, tiers: Tiers::new(grid.units, &tiers) },
        sequential: (sequential.numerator(), sequential.denominator()),
        large_bytes,
        requests_in_run: run_bytes / large_bytes,
        starts: (space_bytes - large_bytes) / grid.page_bytes + 1,
        last_start_bytes: space_bytes - large_bytes,
        writing: vec![SequentialStream::default(); streams as usize],
        reading: vec![SequentialStream::default(); streams as usize],
    }))
}

const MOST_STREAMS: u64 = 65_536;

struct Mixed {
    small: Tiered,
    sequential: (u64, u64),
    large_bytes: u64,
    requests_in_run: u64,
    /// The number of pages at which a large request can start.
    starts: u64,
    /// The offset of the last of these pages.
    last_start_bytes: u64,
    writing: Vec<SequentialStream>,
    reading: Vec<SequentialStream>,
}

/// The position of a stream. Without requests left, it continues elsewhere.
#[derive(Clone, Default)]
struct SequentialStream {
    offset: u64,
    requests_left: u64,
}

impl Placement for Mixed {
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let (part, whole) = self.sequential;
        if random.below(whole) >= part {
            return self.small.next_range(op, random);
        }
        let streams = match op {
            Op::Read => &mut self.reading,
            _ => &mut self.writing,
        };
        let chosen = random.below(streams.len() as u64) as usize;
        let stream = &mut streams[chosen];
        if stream.requests_left == 0 || stream.offset > self.last_start_bytes {
            stream.offset = random.below(self.starts) * self.small.grid.page_bytes;
            stream.requests_left = self.requests_in_run;
        }
        let offset = stream.offset;
        stream.offset += self.large_bytes;
        stream.requests_left -= 1;
        (offset, self.large_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{assert_fingerprint, assert_refused, requests};

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 10_538_679_059_843_411_703);
    }

    #[test]
    fn streams_and_small_requests_have_their_shares() {
        let made = requests("mixed:writes=100K", 1);
        let large = made.iter().filter(|request| request.bytes == 65_536).count() as f64;
        let share = large / made.len() as f64;
        assert!((0.195..0.205).contains(&share), "{share}");
        let reads = made.iter().filter(|request| request.op == Op::Read).count() as f64;
        assert!((0.2999..0.3001).contains(&(reads / made.len() as f64)));
        let mut ends: Vec<u64> = Vec::new();
        let large_writes = made.iter().filter(|r| r.bytes == 65_536 && r.op == Op::Write);
        let continued = large_writes.filter(|request| {
            let follows = ends.contains(&request.offset);
            ends.push(request.end());
            follows
        });
        assert!(continued.count() as f64 > 0.9 * 0.7 * large);
    }

    #[test]
    fn impossible_streams_are_refused() {
        assert_refused(&[
            ("mixed:large=1000", "workload mixed: large=1000 is not a whole number of pages"),
            ("mixed:run=1KiB", "workload mixed: run=1024 is less than one request"),
            ("mixed:streams=0", "workload mixed: streams=0 is not between"),
            ("mixed:sequential=120%", "workload mixed: sequential=120% is more"),
        ]);
    }
}
