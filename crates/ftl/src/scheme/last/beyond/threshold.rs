//! `threshold=auto`: the threshold of whoever does best with it.
//!
//! For each threshold there is a [rival](crate::part::rivals). While the log is written once,
//! they are compared 32 times. Costs are remembered for about 16 logs.
//!
//! LAST tunes k and the size of its hot partition by itself. Of two devices with the same threshold
//! but different pasts, one may settle at another size than the other and stay there, up to 10 %
//! dearer. So at each comparison the device takes over all that the rival has tuned.

use core::ops::Range;

use nand::{Geometry, Lpn, Nand, Ppn, Sink, Timing};
use spec::{Params, Value};

use crate::contract::{
    Base, BlockRole, Extent, Facet, FacetKind, Ftl, Report, Result, Run, Span, Violation, base_is,
};
use crate::part::rivals::{self, Caution, Rivals};

/// The thresholds to choose from, in bytes: powers of two.
pub const THRESHOLDS: [u64; 8] =
    [512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// The first threshold is 32 KiB. Nothing is known then, and of all fixed thresholds this one is
/// the least wrong on drawn points: in 95 % of them it costs at most 38 % more than the best one,
/// the default of the paper 281 %.
const FIRST: usize = 6;
/// Comparisons while the log is written once.
const PER_LOG: u32 = 32;
/// Nothing speaks for the first threshold against others, and the wrong one can cost a multiple. So
/// the threshold changes soon.
const CAUTION: Caution = Caution { fading: 1.0 - 1.0 / 512.0, lead: 0.0 };

/// A scheme with a threshold.
pub trait HasThreshold: Ftl {
    /// Runs of requests larger than these bytes are sequential from now on.
    fn set_threshold(&mut self, bytes: u64);

    /// Takes the threshold of a rival, and all else that it has tuned for itself.
    fn follow(&mut self, rival: &Self);
}

/// LAST with a threshold that follows the cheapest rival.
pub struct AutoThreshold<L> {
    last: L,
    rivals: Rivals<L>,
    /// The number of the threshold in force.
    now: usize,
    /// Pages from one comparison to the next, and until the next one.
    interval: u32,
    left: u32,
}

impl<L: HasThreshold + 'static> AutoThreshold<L> {
    /// `last`, whose log has this number of pages. The rivals begin with empty devices.
    ///
    /// # Errors
    /// A rival cannot be mounted.
    pub fn new(
        mut last: L,
        nand: &Nand,
        timing: Timing,
        log_pages: u32,
        format: impl Fn(&Nand) -> L,
    ) -> Result<AutoThreshold<L>> {
        let count = THRESHOLDS.len();
        let rivals = Rivals::new(nand.geometry(), timing, count, CAUTION, |number, nand| {
            let mut rival = format(nand);
            rival.set_threshold(THRESHOLDS[number]);
            Ok(rival)
        })?;
        last.set_threshold(THRESHOLDS[FIRST]);
        let interval = (log_pages / PER_LOG).max(1);
        Ok(AutoThreshold { last, rivals, now: FIRST, interval, left: interval })
    }

    /// Counts pages that were written.
    fn count(&mut self, pages: u32) {
        self.left = self.left.saturating_sub(pages);
        if self.left == 0 {
            self.left = self.interval;
            self.now = self.rivals.cheapest(self.now);
            self.last.follow(self.rivals.ftl(self.now));
        }
    }
}

/// Memory of the rivals, each of which takes these bytes, if the parameters ask for them.
pub fn memory_bytes(params: &Params, geometry: &Geometry, last: u64) -> u64 {
    match params.get("threshold") {
        Some(Value::Size(_)) => 0,
        _ => THRESHOLDS.len() as u64 * rivals::memory_bytes(geometry, last),
    }
}

impl<L: HasThreshold + 'static> Ftl for AutoThreshold<L> {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.last.write(nand, run, &[])?;
        self.rivals.write(run)?;
        self.count(run.pages);
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.last.audit(nand)
    }

    fn roles(&self, nand: &Nand, roles: &mut Vec<BlockRole>) {
        self.last.roles(nand, roles);
    }

    fn report(&self) -> Report {
        let mut report = self.last.report();
        report.ram.other += self.rivals.ram_bytes();
        report.figures.push(self.rivals.times());
        report.gauges.push(("threshold_bytes", THRESHOLDS[self.now] as f64));
        report
    }

    fn reset_report(&mut self) {
        self.last.reset_report();
        self.rivals.reset_times();
    }
}

impl<L: HasThreshold + 'static> Base for AutoThreshold<L> {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.last.base_mut().read(nand, run, sink)?;
        self.rivals.read(run)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.last.base_mut().trim(nand, first, pages)?;
        self.rivals.trim(first, pages)
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        self.last.base_mut().flush(nand, only)?;
        self.rivals.flush(only)
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        self.last.base().prefetch(spans, read_from);
    }

    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.last.base().place(nand, lpn)
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.last.base().extent(lpns)
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        self.last.base_mut().facet(kind)
    }
}
