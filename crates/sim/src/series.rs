//! Samples along the way: how a run changes while it goes on.

use std::collections::BTreeMap;

use nand::{Nand, Op};
use serde::Serialize;

use crate::stats::us;

/// Samples of the measured pass, one every so many requests; one list a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Requests from one sample to the next.
    pub every: u64,
    /// Requests served until the sample.
    pub requests: Vec<u64>,
    /// Programs a host page, since the sample before; null where the host wrote nothing.
    pub write_amplification: Vec<Option<f64>>,
    /// Erased blocks that are not open.
    pub free_blocks: Vec<u32>,
    /// Erases since the sample before.
    pub erases: Vec<u64>,
    /// Mean service time since the sample before.
    pub mean_service_us: Vec<f64>,
    /// What the scheme's own gauges showed at the sample, by name.
    pub scheme: BTreeMap<&'static str, Vec<f64>>,
}

/// Takes the samples of a [`Series`].
#[derive(Debug)]
pub struct Sampler {
    series: Series,
    served: u64,
    last: Reading,
}

/// What the counters show.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Pages that the host wrote.
    pub host_pages: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Serial time.
    pub time_ns: u64,
}

impl Reading {
    /// The counters of a chip.
    pub fn of(nand: &Nand, host_pages: u64, time_ns: u64) -> Reading {
        let tally = nand.tally();
        let (programs, erases) = (tally.total(Op::Program), tally.total(Op::Erase));
        Reading { host_pages, programs, erases, time_ns }
    }
}

impl Sampler {
    /// A sampler for a measured pass, all of whose counters are zero.
    pub fn new(every: u64) -> Sampler {
        let series = Series {
            every,
            requests: Vec::new(),
            write_amplification: Vec::new(),
            free_blocks: Vec::new(),
            erases: Vec::new(),
            mean_service_us: Vec::new(),
            scheme: BTreeMap::new(),
        };
        Sampler { series, served: 0, last: Reading::default() }
    }

    /// Counts a request and says whether a sample is due.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        self.served += 1;
        self.served.is_multiple_of(self.series.every)
    }

    /// Takes a sample.
    pub fn sample(&mut self, now: Reading, free_blocks: u32, gauges: &[(&'static str, f64)]) {
        let pages = now.host_pages - self.last.host_pages;
        let programs = now.programs - self.last.programs;
        let time_ns = now.time_ns - self.last.time_ns;
        let series = &mut self.series;
        series.requests.push(self.served);
        series.write_amplification.push((pages > 0).then(|| programs as f64 / pages as f64));
        series.free_blocks.push(free_blocks);
        series.erases.push(now.erases - self.last.erases);
        series.mean_service_us.push(us(time_ns) / series.every as f64);
        for &(name, value) in gauges {
            series.scheme.entry(name).or_default().push(value);
        }
        self.last = now;
    }

    /// The samples taken so far.
    pub fn series(&self) -> &Series {
        &self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_show_the_interval_and_not_the_sum() {
        let mut sampler = Sampler::new(2);
        let due: Vec<bool> = (0..4).map(|_| sampler.is_due()).collect();
        assert_eq!(due, [false, true, false, true]);
        let reading = |n: u64| Reading {
            host_pages: 10 * n.min(2),
            programs: 15 * n.min(2),
            erases: n,
            time_ns: 4000 * n,
        };
        (1..=3).for_each(|n| sampler.sample(reading(n), 7, &[("k", 0.5)]));
        let series = sampler.series();
        assert_eq!(series.write_amplification, [Some(1.5), Some(1.5), None]);
        assert_eq!(series.erases, [1, 1, 1]);
        assert_eq!(series.scheme["k"], [0.5; 3]);
        assert_eq!(series.mean_service_us, [2.0, 2.0, 2.0]);
    }
}
