//! Workloads: requests made from a spec, a space and a seed, the same on every machine.
//!
//! ```text
//! Workload ── place ──> Placement: where the next request goes       one file a workload
//!     └────> Generator: how many, reads or writes, when              here
//! ```
//!
//! All workloads share some keys. `writes` requests are writes; `reads` is the share of all
//! requests that are reads, in a random order but of an exact number; they come one every
//! `interarrival`.
//!
//! There are two kinds. The *plain* ones are an idea with a few knobs: all requests have the size
//! `request`, a page unless given, and reads are placed like the writes. A space is cut into
//! *units*, each the whole pages that one request spans. A request starts at the start of its unit;
//! one smaller than a page lies anywhere in it, at a multiple of its size if that divides the page,
//! else at a sector. So `pages=` touched pages are touched pages at any size.
//!
//! The *calibrated* ones stand for traces that papers used and nobody can have. Each is a table of
//! `streams`, fitted to what the papers say of the trace; sizes, places and the space it is laid
//! over belong to it, whatever the pages of the device. docs/workloads.md compares them with what
//! is published and captured.
//!
//! Nothing here depends on a mathematical library or on the version of a crate: random words come
//! from Xoshiro256++, everything behind them is in these files.

pub mod desktop;
pub mod financial;
pub(crate) mod math;
pub mod mixed;
pub mod oltp;
pub(crate) mod random;
pub(crate) mod scatter;
pub mod sequential;
pub mod skew;
pub(crate) mod streams;
pub mod sysmark;
pub(crate) mod tiers;
pub mod tpcc;
pub mod uniform;
pub mod webproxy;
pub mod zipf;

use spec::{Kind, Param, Params, Share, Value};

use crate::error::{Error, Result};
use crate::request::{Flags, Op, Request, SECTOR_BYTES};
use crate::source::{Reader, Skipped};
use random::Random;

/// The space that a workload fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// No request reaches beyond this.
    pub capacity_bytes: u64,
    /// The page of the device, for `pages=` and the default size of requests.
    pub page_bytes: u32,
}

/// A workload.
pub struct Workload {
    /// Its name in a spec.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where its shape comes from.
    pub source: &'static str,
    /// Its keys, the common ones included.
    pub params: &'static [Param],
    /// The share of a space that its `pages` should be, when the space is still to be chosen.
    pub(crate) touched_share: fn(&Params) -> Share,
    /// Decides where requests go; an error says what is impossible.
    pub(crate) place: fn(&Params, &Space) -> Placed,
}

/// Says where the next request goes: its offset and its length in bytes.
pub(crate) trait Placement: Send {
    fn place(&mut self, op: Op, random: &mut Random) -> (u64, u64);
}

/// A placement, or the sentence that says what is impossible about it.
pub(crate) type Placed = std::result::Result<Box<dyn Placement>, String>;

impl Workload {
    /// Checks the keys of a spec and fills in the defaults.
    ///
    /// # Errors
    /// An unknown key or a value not of its kind.
    pub fn resolve(&self, pairs: &[(String, String)]) -> Result<Params> {
        Ok(spec::resolve(&format!("workload {}", self.name), pairs, self.params)?)
    }

    /// The capacity it asks for when the user gives none, in bytes: its `space=`, or room for its
    /// `pages=` (for oltp, the space of which they are the touched share), else 1 GiB.
    ///
    /// # Errors
    /// An unknown key or a value not of its kind, or a space beyond 64 bits.
    pub fn default_capacity(&self, pairs: &[(String, String)], page_bytes: u32) -> Result<u64> {
        let params = self.resolve(pairs)?;
        if let Some(Value::Size(space_bytes)) = params.get(streams::SPACE.name) {
            return Ok(*space_bytes);
        }
        if params.get(PAGES.name).is_none() {
            return Ok(1 << 30);
        }
        let pages = params.count(PAGES.name);
        let share = (self.touched_share)(&params);
        let whole = (u128::from(pages) * u128::from(share.denominator()))
            .div_ceil(u128::from(share.numerator().max(1)));
        let bytes = whole.saturating_mul(u128::from(page_bytes));
        let fits = u64::try_from(bytes).ok().filter(|bytes| *bytes <= u64::MAX - (1 << 30));
        fits.ok_or_else(|| self.error(format!("{pages} pages of {page_bytes} bytes are too many")))
    }

    fn error(&self, what: String) -> Error {
        Error::Workload { workload: self.name, what }
    }
}

pub(crate) const WRITES: Param = Param {
    name: "writes",
    kind: Kind::Count,
    default: "1M",
    unit: "requests",
    doc: "how many requests are writes",
};
pub(crate) const SEED: Param = Param {
    name: "seed",
    kind: Kind::Count,
    default: "",
    unit: "a number of 64 bits",
    doc: "the seed of this workload, instead of the run's",
};
pub(crate) const PAGES: Param = Param {
    name: "pages",
    kind: Kind::Count,
    default: "",
    unit: "pages",
    doc: "how many pages are ever touched, scattered over the space; default: all",
};
pub(crate) const READS: Param = Param {
    name: "reads",
    kind: Kind::Share,
    default: "0%",
    unit: "of all requests",
    doc: "the share of the requests that are reads, placed like the writes",
};
pub(crate) const FLUSHES: Param = Param {
    name: "flushes",
    kind: Kind::Share,
    default: "0%",
    unit: "of the writes",
    doc: "how many flushes there are beside the writes, at random among the requests",
};
pub(crate) const REQUEST: Param = Param {
    name: "request",
    kind: Kind::Size,
    default: "",
    unit: "bytes",
    doc: "the size of a request, in whole sectors of 512 bytes; default: a page",
};
pub(crate) const INTERARRIVAL: Param = Param {
    name: "interarrival",
    kind: Kind::Time,
    default: "100us",
    unit: "ns",
    doc: "the time from one request to the next",
};

/// All of a space may be touched.
pub(crate) fn whole_space(_: &Params) -> Share {
    Share::WHOLE
}

/// How requests lie in a space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) page_bytes: u64,
    pub(crate) request_bytes: u64,
    pub(crate) unit_bytes: u64,
    pub(crate) units: u64,
    /// Requests smaller than a page: how many places there are in it, and how far apart.
    places: u64,
    place_bytes: u64,
}

impl Grid {
    fn new(params: &Params, space: &Space) -> std::result::Result<Grid, String> {
        let page_bytes = u64::from(space.page_bytes);
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("a page of {page_bytes} bytes is not whole sectors of 512 bytes"));
        }
        let request_bytes = params.opt_size(REQUEST.name).unwrap_or(page_bytes);
        if request_bytes == 0 || !request_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("request={request_bytes} is not whole sectors of 512 bytes"));
        }
        let capacity = space.capacity_bytes;
        let unit_bytes = request_bytes.div_ceil(page_bytes).saturating_mul(page_bytes);
        if unit_bytes > capacity {
            return Err(format!(
                "request={request_bytes} does not fit a space of {capacity} bytes"
            ));
        }
        let (places, place_bytes) = match unit_bytes - request_bytes {
            _ if request_bytes >= page_bytes => (1, 0),
            _ if page_bytes.is_multiple_of(request_bytes) => {
                (page_bytes / request_bytes, request_bytes)
            }
            slack => (slack / SECTOR_BYTES + 1, SECTOR_BYTES),
        };
        let units = capacity / unit_bytes;
        Ok(Grid { page_bytes, request_bytes, unit_bytes, units, places, place_bytes })
    }

    /// The units that `pages=` touches; all if it is not given.
    pub(crate) fn touched(&self, params: &Params) -> std::result::Result<u64, String> {
        let Some(pages) = params.opt_count(PAGES.name) else { return Ok(self.units) };
        let space = self.units * (self.unit_bytes / self.page_bytes);
        let units = pages / (self.unit_bytes / self.page_bytes);
        if units > self.units {
            return Err(format!("pages={pages} is more than the {space} pages of the space"));
        }
        if units == 0 {
            return Err(format!("pages={pages} has no room for a request"));
        }
        Ok(units)
    }

    /// Where a request to this unit starts.
    #[inline]
    pub(crate) fn offset(&self, unit: u64, random: &mut Random) -> u64 {
        let start = unit * self.unit_bytes;
        if self.places == 1 {
            return start;
        }
        start + random.below(self.places) * self.place_bytes
    }
}

/// One reading of a workload.
pub(crate) struct Generator {
    name: &'static str,
    placement: Box<dyn Placement>,
    random: Random,
    interarrival_ns: u64,
    requests: u64,
    done: u64,
    flushes_left: u64,
    reads_left: u64,
    nothing_skipped: Skipped,
}

impl Generator {
    /// Checks everything that can be wrong, so that generating cannot fail.
    pub(crate) fn new(
        workload: &'static Workload,
        params: &Params,
        space: &Space,
        seed: u64,
    ) -> Result<Generator> {
        let impossible = |what| workload.error(what);
        let writes = params.count(WRITES.name);
        let reads = reads_beside(writes, params.share(READS.name)).map_err(impossible)?;
        let interarrival_ns = params.time_ns(INTERARRIVAL.name);
        let flushes = match params.get(FLUSHES.name) {
            Some(Value::Share(share)) => share.floor_of(writes),
            _ => 0,
        };
        let requests = writes.checked_add(reads).and_then(|data| data.checked_add(flushes));
        let requests = requests.filter(|all| all.checked_mul(interarrival_ns).is_some());
        let too_long = || impossible(String::from("the requests take more than 584 years"));
        Ok(Generator {
            name: workload.name,
            placement: (workload.place)(params, space).map_err(impossible)?,
            random: Random::new(params.opt_count(SEED.name).unwrap_or(seed)),
            interarrival_ns,
            requests: requests.ok_or_else(too_long)?,
            done: 0,
            flushes_left: flushes,
            reads_left: reads,
            nothing_skipped: Skipped::default(),
        })
    }

    /// How many requests there are in all.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    #[inline]
    fn next(&mut self) -> Request {
        let op = self.next_op();
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => self.placement.place(op, &mut self.random),
        };
        let time_ns = self.done * self.interarrival_ns;
        self.done += 1;
        Request { time_ns, offset, bytes, device: 0, op, flags: Flags::NONE }
    }

    /// Flushes and reads in a random order, of an exact number; the rest is writes.
    #[inline]
    fn next_op(&mut self) -> Op {
        let mut left = self.requests - self.done;
        for (op, count) in [(Op::Flush, &mut self.flushes_left), (Op::Read, &mut self.reads_left)] {
            if *count > 0 && self.random.below(left) < *count {
                *count -= 1;
                return op;
            }
            left -= *count;
        }
        Op::Write
    }
}

/// How many reads make `share` of all requests, to the nearest.
fn reads_beside(writes: u64, share: Share) -> std::result::Result<u64, String> {
    if writes == 0 {
        return Err(String::from("writes=0 leaves nothing to do"));
    }
    if share.numerator() >= share.denominator() {
        return Err(format!("reads={share} leaves no room for the {writes} writes; at most 99.9%"));
    }
    let writes_share = u128::from(share.denominator() - share.numerator());
    let twice = 2 * u128::from(writes) * u128::from(share.numerator());
    let reads = (twice / writes_share).div_ceil(2);
    u64::try_from(reads).map_err(|_| format!("reads={share} makes too many requests"))
}

impl Reader for Generator {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let count = (max as u64).min(self.requests - self.done) as usize;
        out.reserve(count.min(crate::source::BATCH));
        for _ in 0..count {
            let request = self.next();
            out.push(request);
        }
        Ok(count)
    }

    fn skipped(&self) -> &Skipped {
        &self.nothing_skipped
    }

    fn position_bytes(&self) -> u64 {
        self.done
    }

    fn devices(&self) -> Vec<String> {
        vec![self.name.to_owned()]
    }

    fn note(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
pub(crate) mod tests;
