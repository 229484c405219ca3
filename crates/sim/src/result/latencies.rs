//! Service and response times: exact sums, and percentiles from a histogram with an error of at
//! most 0.1 %.

use hdrhistogram::Histogram;
use trace::Op;

use crate::clock::us;
use crate::result::record::record;

/// Significant decimal digits of the histogram: 3 keep a value within 0.1 %.
const DIGITS: u8 = 3;

/// Times of requests of one kind.
///
/// Few times are different: most writes take exactly one program, and many of the others as many
/// copies and erases as others before. So each time waits with those that are equal to it, and they
/// enter the distribution together.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// The most frequent time.
    usual: EqualTimes,
    /// Other times, each in the slot of its hash.
    waiting: [EqualTimes; SLOTS],
    /// The requests whose times do not wait.
    entered: Distribution,
}

/// Times that wait at once. A power of two.
const SLOTS: usize = 128;

/// Requests that all took the same time.
#[derive(Clone, Copy, Debug, Default)]
struct EqualTimes {
    ns: u64,
    requests: u64,
}

impl EqualTimes {
    fn sum_ns(&self) -> u128 {
        u128::from(self.ns) * u128::from(self.requests)
    }
}

impl Default for Latencies {
    fn default() -> Latencies {
        let none = EqualTimes::default();
        Latencies { usual: none, waiting: [none; SLOTS], entered: Distribution::default() }
    }
}

impl Latencies {
    /// Counts requests that each took this time.
    #[inline]
    pub fn record(&mut self, ns: u64, requests: u64) {
        if ns == self.usual.ns {
            self.usual.requests += requests;
        } else {
            self.record_unusual(ns, requests);
        }
    }

    #[inline(never)]
    fn record_unusual(&mut self, ns: u64, requests: u64) {
        let hash = ns.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let slot = &mut self.waiting[(hash >> (u64::BITS - SLOTS.ilog2())) as usize];
        if slot.ns != ns {
            self.entered.add(*slot);
            *slot = EqualTimes { ns, requests: 0 };
        }
        slot.requests += requests;
        if slot.requests > self.usual.requests {
            // The other one may now wait in a foreign slot. It is counted there all the same.
            core::mem::swap(slot, &mut self.usual);
        }
    }

    fn waiting(&self) -> impl Iterator<Item = &EqualTimes> {
        core::iter::once(&self.usual).chain(&self.waiting)
    }

    /// The number of requests.
    pub fn count(&self) -> u64 {
        self.entered.count + self.waiting().map(|equal| equal.requests).sum::<u64>()
    }

    /// Their total time.
    pub fn sum_ns(&self) -> u128 {
        self.entered.sum_ns + self.waiting().map(EqualTimes::sum_ns).sum::<u128>()
    }

    /// The summary for a result.
    pub fn summary(&self) -> Summary {
        self.all().summary()
    }

    /// The times that occur: (upper end in µs, requests).
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        self.all().buckets()
    }

    fn all(&self) -> Distribution {
        let mut all = self.entered.clone();
        self.waiting().for_each(|&equal| all.add(equal));
        all
    }
}

/// A distribution of times.
#[derive(Clone, Debug)]
struct Distribution {
    count: u64,
    /// Requests that took no time. Most increments are 0; leaving them out of the histogram saves
    /// time.
    zeros: u64,
    sum_ns: u128,
    sum_squares: u128,
    /// Number of overflows of `sum_squares`. They occur because long queues give long response
    /// times.
    rounds: u32,
    max_ns: u64,
    histogram: Histogram<u64>,
}

impl Default for Distribution {
    fn default() -> Distribution {
        let histogram = Histogram::new(DIGITS).expect("3 digits are possible");
        Distribution {
            count: 0,
            zeros: 0,
            sum_ns: 0,
            sum_squares: 0,
            rounds: 0,
            max_ns: 0,
            histogram,
        }
    }
}

impl Distribution {
    /// Adds requests that all took the same time.
    #[inline(never)]
    fn add(&mut self, equal: EqualTimes) {
        let EqualTimes { ns, requests } = equal;
        self.count += requests;
        if ns == 0 || requests == 0 {
            self.zeros += requests;
            return;
        }
        self.sum_ns += equal.sum_ns();
        self.add_squares(u128::from(ns) * u128::from(ns), requests);
        self.max_ns = self.max_ns.max(ns);
        self.histogram.record_n(ns, requests).expect("the histogram grows with its values");
    }

    fn add_squares(&mut self, square: u128, requests: u64) {
        // Together they overflow only if each of them takes days.
        let (square, times) = match square.checked_mul(requests.into()) {
            Some(together) => (together, 1),
            None => (square, requests),
        };
        for _ in 0..times {
            let (sum_squares, around) = self.sum_squares.overflowing_add(square);
            self.sum_squares = sum_squares;
            self.rounds += u32::from(around);
        }
    }

    /// The summary for a result.
    fn summary(&self) -> Summary {
        let any = self.count > 0;
        let percentile = |share: f64| any.then(|| us(self.at(share)));
        Summary {
            count: self.count,
            mean: any.then(|| self.mean_ns() / 1000.0),
            stddev: any.then(|| self.variance_ns2().sqrt() / 1000.0),
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            p999: percentile(0.999),
            max: any.then(|| us(self.max_ns)),
        }
    }

    /// The buckets that are not empty: (upper end in µs, requests).
    fn buckets(&self) -> Vec<(f64, u64)> {
        let zeros = (self.zeros > 0).then_some((0.0, self.zeros));
        let others = self.histogram.iter_recorded().map(|bucket| {
            let end_ns = bucket.value_iterated_to().min(self.max_ns);
            (us(end_ns), bucket.count_since_last_iteration())
        });
        zeros.into_iter().chain(others).collect()
    }

    /// The value that `share` of the requests do not exceed.
    fn at(&self, share: f64) -> u64 {
        let rank = (share * self.count as f64).ceil() as u64;
        let others = self.count - self.zeros;
        match rank.checked_sub(self.zeros) {
            None | Some(0) => 0,
            Some(rank) => {
                // The histogram rounds the rank up. Subtracting half a request avoids the next
                // higher rank.
                let quantile = (rank as f64 - 0.5) / others as f64;
                self.histogram.value_at_quantile(quantile).min(self.max_ns)
            }
        }
    }

    fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.count as f64
    }

    /// Σx²/n − (Σx/n)², in integers as long as they do not overflow: if all times are nearly equal,
    /// so are the two terms.
    fn variance_ns2(&self) -> f64 {
        let count = self.count as f64;
        match self.sum_ns.checked_mul(self.sum_ns).filter(|_| self.rounds == 0) {
            Some(square) => (self.sum_squares - square / u128::from(self.count)) as f64 / count,
            None => {
                let squares = self.sum_squares as f64 + f64::from(self.rounds) * 2f64.powi(128);
                (squares / count - self.mean_ns().powi(2)).max(0.0)
            }
        }
    }
}

record! {
    /// Mean, deviation and percentiles in microseconds; null without requests.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Summary {
        /// The number of requests.
        pub count: u64,
        /// Mean, exact up to rounding.
        pub mean: Option<f64>,
        /// Standard deviation of all requests (divided by n), exact up to rounding.
        pub stddev: Option<f64>,
        /// Median.
        pub p50: Option<f64>,
        /// 90th percentile.
        pub p90: Option<f64>,
        /// 99th percentile.
        pub p99: Option<f64>,
        /// 99.9th percentile.
        pub p999: Option<f64>,
        /// The longest, exact.
        pub max: Option<f64>,
    }
}

record! {
    /// One value for each kind of request.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ByOp<T> {
        /// Of reads.
        pub read: T,
        /// Of writes.
        pub write: T,
        /// Of flushes that are requests of their own.
        pub flush: T,
        /// Of trims.
        pub trim: T,
    }
}

/// Times of requests of all kinds.
#[derive(Clone, Debug, Default)]
pub struct LatenciesByOp {
    /// Those of each kind, by the code of the operation.
    by_op: [Latencies; Op::ALL.len()],
}

impl LatenciesByOp {
    /// Counts requests that each took this time.
    #[inline]
    pub fn record(&mut self, op: Op, ns: u64, requests: u64) {
        self.by_op[op as usize].record(ns, requests);
    }

    /// The values that `make` returns for each kind.
    pub fn map<U>(&self, make: impl Fn(&Latencies) -> U) -> ByOp<U> {
        let of = |op| make(&self.by_op[op as usize]);
        ByOp { read: of(Op::Read), write: of(Op::Write), flush: of(Op::Flush), trim: of(Op::Trim) }
    }

    /// The number of requests of all kinds.
    pub fn count(&self) -> u64 {
        self.by_op.iter().map(Latencies::count).sum()
    }

    /// Their total time.
    pub fn sum_ns(&self) -> u128 {
        self.by_op.iter().map(Latencies::sum_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        values.iter().for_each(|&ns| latencies.record(ns, 1));
        latencies
    }

    #[test]
    fn nothing_counted_has_no_figures() {
        let summary = of(&[]).summary();
        assert_eq!((summary.count, summary.mean, summary.max), (0, None, None));
        assert!(of(&[]).buckets().is_empty());
    }

    #[test]
    fn mean_and_deviation_are_exact() {
        let summary = of(&[2000, 4000, 4000, 4000, 5000, 5000, 7000, 9000]).summary();
        assert_eq!((summary.mean, summary.stddev), (Some(5.0), Some(2.0)));
        let same = of(&[1_234_567_891; 1000]).summary();
        assert_eq!((same.mean, same.stddev), (Some(1_234_567.891), Some(0.0)));
        let long = of(&[u64::MAX, u64::MAX, 0]).summary();
        let third = u64::MAX as f64 / 3000.0;
        let equal = of(&[u64::MAX; 4]).summary();
        assert!((equal.mean.unwrap() / third - 3.0).abs() < 1e-12);
        assert!(equal.stddev.unwrap() / third < 1e-6);
        assert!((long.mean.unwrap() / third - 2.0).abs() < 1e-12);
        assert!((long.stddev.unwrap() / third - 2f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let values: Vec<u64> = (1..=100_000).map(|n| n * 977).collect();
        let summary = of(&values).summary();
        let exact = |share: f64| values[(share * 100_000.0) as usize - 1] as f64 / 1000.0;
        for (found, share) in
            [(summary.p50, 0.5), (summary.p90, 0.9), (summary.p99, 0.99), (summary.p999, 0.999)]
        {
            let error = found.unwrap() / exact(share) - 1.0;
            assert!(error.abs() <= 0.001, "{share}: {error}");
        }
        assert_eq!(summary.max, Some(97_700.0));
    }

    #[test]
    fn times_of_0_count_like_all_others() {
        let values: Vec<u64> = (0..1000).map(|n: u64| n.saturating_sub(899) * 1000).collect();
        let summary = of(&values).summary();
        assert_eq!((summary.count, summary.p50, summary.p90), (1000, Some(0.0), Some(0.0)));
        assert_eq!((summary.p99, summary.p999), (Some(90.047), Some(99.007)));
        assert_eq!((summary.mean, summary.max), (Some(5.05), Some(100.0)));
        assert_eq!(of(&[0, 0, 0]).summary().p999, Some(0.0));
    }

    /// There are more different times than slots.
    #[test]
    fn times_that_wait_count_like_all_others() {
        let values: Vec<u64> = (0..10_000).map(|n: u64| n * n % 1000 * 1000).collect();
        let summary = of(&values).summary();
        let sum: u64 = values.iter().sum();
        assert_eq!((summary.count, summary.mean), (10_000, Some(sum as f64 / 1e4 / 1e3)));
        assert_eq!(of(&values).sum_ns(), sum.into());
        let buckets = of(&values).buckets();
        assert_eq!(buckets.iter().map(|bucket| bucket.1).sum::<u64>(), 10_000);
    }

    #[test]
    fn buckets_hold_every_request_once() {
        let latencies = of(&[0, 0, 25_000, 25_000, 225_000, 1_525_001]);
        let buckets = latencies.buckets();
        assert_eq!(buckets.iter().map(|bucket| bucket.1).sum::<u64>(), 6);
        assert_eq!(buckets[0], (0.0, 2));
        assert_eq!(*buckets.last().unwrap(), (1525.001, 1));
    }
}
