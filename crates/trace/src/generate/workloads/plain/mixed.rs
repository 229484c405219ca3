//! mixed: sequential streams of large requests among small skewed random ones, as on a desktop.
//!
//! Each request belongs, with the chance `sequential`, to one of `streams` streams, else it is a
//! small one of size `request` by skew, `hot`, over the whole space. A stream issues requests of
//! size `large` one behind the other until it has run for `run` bytes; then it starts elsewhere, at
//! a random page. Reads and writes have streams of their own.

use spec::{Kind, Param, Params};

use crate::generate::grid::Grid;
use crate::generate::params::{INTERARRIVAL, READS, REQUEST, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::tiers::{HotRatio, Tiered, Tiers};
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload, whole_space};
use crate::request::Op;

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "mixed",
    summary: "sequential streams of large requests among small skewed random ones",
    source: "this program's own, for desktops: streams among small random requests",
    params: &[
        WRITES,
        MIXED_READS,
        REQUEST,
        SEQUENTIAL,
        STREAMS,
        LARGE,
        RUN,
        HOT,
        INTERARRIVAL,
        SEED,
    ],
    touched_share: whole_space,
    place,
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
    doc: "how many streams of writes, and of reads, go on at the same time",
};
const LARGE: Param = Param {
    name: "large",
    kind: Kind::Size,
    default: "64KiB",
    unit: "bytes",
    doc: "the size of a stream's requests, in whole pages",
};
const RUN: Param = Param {
    name: "run",
    kind: Kind::Size,
    default: "4MiB",
    unit: "bytes",
    doc: "how far a stream goes before it starts elsewhere",
};
const HOT: Param = Param {
    name: "hot",
    kind: Kind::Ratio,
    default: "80/20",
    unit: "% of requests / % of pages",
    doc: "the skew of the small requests",
};

fn place(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let (large_bytes, run_bytes) = (params.size(LARGE.name), params.size(RUN.name));
    let (streams, sequential) = (params.count(STREAMS.name), params.share(SEQUENTIAL.name));
    let space_bytes = grid.units * grid.unit_bytes;
    if large_bytes == 0 || !large_bytes.is_multiple_of(grid.page_bytes) {
        return Err(format!("large={large_bytes} is not whole pages of {}", grid.page_bytes));
    }
    if large_bytes > space_bytes {
        return Err(format!("large={large_bytes} does not fit a space of {space_bytes} bytes"));
    }
    if run_bytes < large_bytes {
        return Err(format!("run={run_bytes} is less than one request, large={large_bytes}"));
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
    /// How many pages a large request can start at, and the last of them.
    starts: u64,
    last_start_bytes: u64,
    writing: Vec<SequentialStream>,
    reading: Vec<SequentialStream>,
}

/// Where a stream goes on, and for how many requests; none: it starts elsewhere.
#[derive(Clone, Default)]
struct SequentialStream {
    offset: u64,
    requests_left: u64,
}

impl Placement for Mixed {
    fn place(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let (part, whole) = self.sequential;
        if random.below(whole) >= part {
            return self.small.place(op, random);
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
