//! The course of a workload: how many requests there are, what they do and when they arrive. Where
//! they go is decided by the placement.

use spec::{Params, Share, Value};

use crate::generate::math::ln;
use crate::generate::params::{ARRIVALS, FLUSHES, INTERARRIVAL, READS, REQUESTS, SEED, WRITES};
use crate::generate::random::Random;
use crate::request::{Flags, Op, Request};

/// Numbers, operations and times of the requests of a workload, and its random numbers.
pub(crate) struct Course {
    random: Random,
    arrivals: Arrivals,
    requests: u64,
    done: u64,
    /// The number of requests that were made on top.
    beside: u64,
    flushes_left: u64,
    reads_left: u64,
}

impl Course {
    /// Checks the parameters of numbers and times; an error says what is impossible.
    pub(crate) fn new(params: &Params, seed: u64) -> std::result::Result<Course, String> {
        let (reads, writes) = reads_and_writes(params)?;
        let seed = params.opt_count(SEED.name).unwrap_or(seed);
        let interarrival_ns = params.time_ns(INTERARRIVAL.name);
        let flushes = match params.get(FLUSHES.name) {
            Some(Value::Share(share)) => share.floor_of(writes),
            _ => 0,
        };
        let requests = writes.checked_add(reads).and_then(|data| data.checked_add(flushes));
        let requests = requests.filter(|all| all.checked_mul(interarrival_ns).is_some());
        Ok(Course {
            random: Random::new(seed),
            arrivals: Arrivals::new(params, seed),
            requests: requests.ok_or("the requests take more than 584 years")?,
            done: 0,
            beside: 0,
            flushes_left: flushes,
            reads_left: reads,
        })
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// The number of requests that have been made, without those on top.
    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// The interval between requests if nothing but writes is left and all intervals are equal.
    pub(crate) fn interval_of_writes(&self) -> Option<u64> {
        match self.arrivals {
            Arrivals::Fixed { interarrival_ns } if self.flushes_left + self.reads_left == 0 => {
                Some(interarrival_ns)
            }
            _ => None,
        }
    }

    /// As [`next`](Self::next) `count` times, where
    /// [`interval_of_writes`](Self::interval_of_writes) is `interval_ns`. The random numbers are
    /// drawn from a copy, so that their state can be kept in registers.
    #[inline(always)]
    pub(crate) fn next_writes(
        &mut self,
        count: usize,
        interval_ns: u64,
        out: &mut Vec<Request>,
        mut place: impl FnMut(&mut Random) -> (u64, u64),
    ) {
        let (first, mut random) = (self.done, self.random.clone());
        out.extend((0..count as u64).map(|index| {
            let (offset, bytes) = place(&mut random);
            let time_ns = (first + index) * interval_ns;
            Request {
                time_ns,
                offset,
                bytes,
                device: 0,
                op: Op::Write,
                flags: Flags::empty(),
                stream: 0,
            }
        }));
        self.random = random;
        self.done += count as u64;
    }

    /// Makes the next request. `place` draws the offset and the length of one that has them.
    #[inline(always)]
    pub(crate) fn next(&mut self, place: impl FnOnce(Op, &mut Random) -> (u64, u64)) -> Request {
        let op = self.next_op();
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => place(op, &mut self.random),
        };
        let time_ns = self.arrivals.next_ns(self.done + self.beside);
        self.done += 1;
        Request { time_ns, offset, bytes, device: 0, op, flags: Flags::empty(), stream: 0 }
    }

    /// Makes a request on top of those that the spec asks for. It takes an interval, too.
    pub(crate) fn beside(&mut self, op: Op, offset: u64, bytes: u64) -> Request {
        let time_ns = self.arrivals.next_ns(self.done + self.beside);
        self.beside += 1;
        Request { time_ns, offset, bytes, device: 0, op, flags: Flags::empty(), stream: 0 }
    }

    /// The random numbers, for what is decided between requests.
    pub(crate) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Draws the next operation. Flushes and reads occur in exact numbers and random order.
    #[inline]
    fn next_op(&mut self) -> Op {
        match self.flushes_left + self.reads_left {
            0 => Op::Write,
            _ => self.draw_op(),
        }
    }

    fn draw_op(&mut self) -> Op {
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

/// The numbers of reads and writes.
fn reads_and_writes(params: &Params) -> std::result::Result<(u64, u64), String> {
    let share = params.share(READS.name);
    if share.exceeds_whole() {
        return Err(format!("reads={share} is more than all requests"));
    }
    match params.opt_count(REQUESTS.name) {
        Some(0) => Err(String::from("requests=0 leaves nothing to do")),
        Some(requests) => {
            let reads = rounded(requests, share.numerator(), share.denominator());
            let reads = reads.expect("a share of a count is not more");
            Ok((reads, requests - reads))
        }
        None => {
            let writes = params.count(WRITES.name);
            Ok((reads_beside(writes, share)?, writes))
        }
    }
}

/// The number of reads that, beside `writes` writes, are `share` of all requests, rounded to the
/// nearest.
fn reads_beside(writes: u64, share: Share) -> std::result::Result<u64, String> {
    if writes == 0 {
        return Err(String::from("writes=0 leaves nothing to do; reads alone are `requests=`"));
    }
    let writes_share = share.denominator() - share.numerator();
    if writes_share == 0 {
        return Err(format!(
            "reads={share} leaves no room for the {writes} writes; give `requests=` instead"
        ));
    }
    let reads = rounded(writes, share.numerator(), writes_share);
    reads.ok_or_else(|| format!("reads={share} makes too many requests"))
}

/// `count * numerator / denominator`, rounded to the nearest.
fn rounded(count: u64, numerator: u64, denominator: u64) -> Option<u64> {
    let twice = 2 * u128::from(count) * u128::from(numerator);
    u64::try_from((twice / u128::from(denominator)).div_ceil(2)).ok()
}

/// The times of the requests.
enum Arrivals {
    /// One request per interval.
    Fixed { interarrival_ns: u64 },
    /// With exponentially distributed intervals. The arrivals have random numbers of their own, so
    /// the requests are the same as with fixed intervals.
    Poisson { mean_ns: f64, next_ns: u64, random: Random },
}

/// Distinguishes the random numbers of arrivals from those of requests.
const ARRIVALS_SEED: u64 = 0x6172_7269_7661_6c73;

impl Arrivals {
    fn new(params: &Params, seed: u64) -> Arrivals {
        let interarrival_ns = params.time_ns(INTERARRIVAL.name);
        match params.choice(ARRIVALS.name) {
            "poisson" => Arrivals::Poisson {
                mean_ns: interarrival_ns as f64,
                next_ns: 0,
                random: Random::new(seed ^ ARRIVALS_SEED),
            },
            _ => Arrivals::Fixed { interarrival_ns },
        }
    }

    /// The time of the next request. `done` requests came before it.
    #[inline]
    fn next_ns(&mut self, done: u64) -> u64 {
        match self {
            Arrivals::Fixed { interarrival_ns } => done.saturating_mul(*interarrival_ns),
            Arrivals::Poisson { mean_ns, next_ns, random } => {
                let gap_ns = -ln(1.0 - random.fraction()) * *mean_ns;
                let after_ns = next_ns.saturating_add(gap_ns.round() as u64);
                std::mem::replace(next_ns, after_ns)
            }
        }
    }
}
