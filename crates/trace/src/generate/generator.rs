//! The reader of all workloads: number of requests, operations, arrival times.

use spec::{Params, Share, Value};

use crate::error::Result;
use crate::generate::params::{FLUSHES, INTERARRIVAL, READS, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::workload::{AddressSpace, Placement, Workload};
use crate::reader::{BATCH, Reader, Skipped};
use crate::request::{Flags, Op, Request};

/// The reader of a workload.
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
    /// Checks all parameters, so that generating requests cannot fail.
    pub(crate) fn new(
        workload: &'static Workload,
        params: &Params,
        space: &AddressSpace,
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
            placement: (workload.placement)(params, space).map_err(impossible)?,
            random: Random::new(params.opt_count(SEED.name).unwrap_or(seed)),
            interarrival_ns,
            requests: requests.ok_or_else(too_long)?,
            done: 0,
            flushes_left: flushes,
            reads_left: reads,
            nothing_skipped: Skipped::default(),
        })
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    #[inline]
    fn next(&mut self) -> Request {
        let op = self.next_op();
        let (offset, bytes) = match op {
            Op::Flush => (0, 0),
            _ => self.placement.next_range(op, &mut self.random),
        };
        let time_ns = self.done * self.interarrival_ns;
        self.done += 1;
        Request { time_ns, offset, bytes, device: 0, op, flags: Flags::NONE }
    }

    /// Draws the next operation. Flushes and reads occur in exact numbers and random order.
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

/// The number of reads that are `share` of all requests, rounded to the nearest.
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
        out.reserve(count.min(BATCH));
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

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
