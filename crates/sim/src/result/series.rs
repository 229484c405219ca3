//! Samples taken along the trace.

use std::collections::BTreeMap;

use nand::{Nand, Op};
use serde::Serialize;

use crate::clock::us;
use crate::config::values::Interval;
use crate::result::record::Columns;

/// Samples of the measured pass at a fixed interval: one list for each quantity.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SampledSeries {
    /// Requests from one sample to the next.
    pub every: u64,
    /// For each sample the number of requests served before it.
    pub requests: Vec<u64>,
    /// Programs per host page since the previous sample; null if the host wrote nothing.
    pub write_amplification: Vec<Option<f64>>,
    /// Erased blocks that are not open.
    pub free_blocks: Vec<u32>,
    /// Erases since the previous sample.
    pub erases: Vec<u64>,
    /// Mean service time since the previous sample.
    pub mean_service_us: Vec<f64>,
    /// The gauges of the scheme at the sample, by name.
    pub scheme: BTreeMap<&'static str, Vec<f64>>,
}

/// JSON text.
impl Columns for SampledSeries {}

/// With `auto`, every other sample is dropped when there are this many.
const AUTOMATIC_MAX: usize = 400;

/// Takes the samples of a [`SampledSeries`].
#[derive(Debug)]
pub struct Sampler {
    every: u64,
    is_automatic: bool,
    served: u64,
    samples: Vec<Sampled>,
}

#[derive(Debug)]
struct Sampled {
    requests: u64,
    counters: CounterSnapshot,
    free_blocks: u32,
    gauges: Vec<(&'static str, f64)>,
}

/// Counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterSnapshot {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Serial time.
    pub time_ns: u64,
}

impl CounterSnapshot {
    /// The counters of a chip.
    pub fn of(nand: &Nand, host_pages: u64, time_ns: u64) -> CounterSnapshot {
        let tally = nand.tally();
        let (programs, erases) = (tally.total(Op::Program), tally.total(Op::Erase));
        CounterSnapshot { host_pages, programs, erases, time_ns }
    }
}

impl Sampler {
    /// A sampler for a measured pass whose counters are all 0.
    pub fn new(interval: Interval) -> Sampler {
        let (every, is_automatic) = match interval {
            Interval::Every(requests) => (requests, false),
            Interval::Auto => (1, true),
        };
        Sampler { every, is_automatic, served: 0, samples: Vec::new() }
    }

    /// The number of requests after which a sample is due.
    pub fn until_due(&self) -> u64 {
        self.every - self.served % self.every
    }

    /// Counts requests, at most until a sample is due. Returns whether it is.
    pub fn count(&mut self, requests: u64) -> bool {
        debug_assert!(requests <= self.until_due(), "{requests} requests pass by a sample");
        self.served += requests;
        self.served.is_multiple_of(self.every)
    }

    /// Takes a sample.
    pub fn sample(
        &mut self,
        counters: CounterSnapshot,
        free_blocks: u32,
        gauges: Vec<(&'static str, f64)>,
    ) {
        let requests = self.served;
        self.samples.push(Sampled { requests, counters, free_blocks, gauges });
        if self.is_automatic && self.samples.len() == AUTOMATIC_MAX {
            self.every *= 2;
            self.samples.retain(|sample| sample.requests.is_multiple_of(self.every));
        }
    }

    /// The samples taken so far.
    pub fn series(&self) -> SampledSeries {
        let mut series = SampledSeries { every: self.every, ..SampledSeries::default() };
        let mut last = CounterSnapshot::default();
        for sample in &self.samples {
            series.push(sample, last);
            last = sample.counters;
        }
        series
    }
}

impl SampledSeries {
    fn push(&mut self, sample: &Sampled, last: CounterSnapshot) {
        let now = sample.counters;
        let pages = now.host_pages - last.host_pages;
        let programs = now.programs - last.programs;
        self.requests.push(sample.requests);
        self.write_amplification.push((pages > 0).then(|| programs as f64 / pages as f64));
        self.free_blocks.push(sample.free_blocks);
        self.erases.push(now.erases - last.erases);
        self.mean_service_us.push(us(now.time_ns - last.time_ns) / self.every as f64);
        for &(name, value) in &sample.gauges {
            self.scheme.entry(name).or_default().push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_show_the_interval_not_the_sum() {
        let mut sampler = Sampler::new(Interval::Every(2));
        let due: Vec<bool> = (0..4).map(|_| sampler.count(1)).collect();
        assert_eq!(due, [false, true, false, true]);
        assert_eq!(sampler.until_due(), 2);
        let counters = |n: u64| CounterSnapshot {
            host_pages: 10 * n.min(2),
            programs: 15 * n.min(2),
            erases: n,
            time_ns: 4000 * n,
        };
        (1..=3).for_each(|n| sampler.sample(counters(n), 7, vec![("k", 0.5)]));
        let series = sampler.series();
        assert_eq!(series.write_amplification, [Some(1.5), Some(1.5), None]);
        assert_eq!(series.erases, [1, 1, 1]);
        assert_eq!(series.scheme["k"], [0.5; 3]);
        assert_eq!(series.mean_service_us, [2.0, 2.0, 2.0]);
    }

    #[test]
    fn automatic_samples_are_even_and_between_200_and_400_for_any_long_trace() {
        for requests in [1, 399, 400, 1000, 123_456] {
            let mut sampler = Sampler::new(Interval::Auto);
            for n in 1..=requests {
                if sampler.count(1) {
                    let counters = CounterSnapshot {
                        host_pages: n,
                        programs: 3 * n,
                        ..CounterSnapshot::default()
                    };
                    sampler.sample(counters, 0, Vec::new());
                }
            }
            let series = sampler.series();
            let even = (1..).map(|n| n * series.every).take(series.requests.len());
            assert!(series.requests.iter().copied().eq(even), "{requests}");
            assert!(series.requests.len() < AUTOMATIC_MAX, "{requests}");
            assert!(series.requests.len() as u64 >= requests.min(199), "{requests}");
            assert!(series.write_amplification.iter().all(|&cost| cost == Some(3.0)));
        }
    }
}
