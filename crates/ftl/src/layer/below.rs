//! The FTL below a layer, with a count of the pages that are passed to it.

use core::ops::Range;

use nand::{Cause, Data, Lpn, Nand, Op, Sink};

use crate::contract::{
    Entered, Extent, Ftl, LayerReport, LayerTotals, Metric, Report, Result, Run,
};
use crate::part::map::lost_data::unless_lost;

/// Pages that are looked at for one extent. Many short extents in a large range must not take a
/// time that grows with the square of its size.
const LOOK_AHEAD: u32 = 1 << 10;

/// An FTL below a layer. Counts the pages that are passed to it.
pub struct Below {
    /// The FTL.
    pub ftl: Box<dyn Ftl>,
    /// Pages passed to the FTL since the last reset.
    pub went_down: Entered,
}

impl Below {
    /// Wraps the FTL below a layer.
    pub fn new(ftl: Box<dyn Ftl>) -> Below {
        Below { ftl, went_down: Entered::default() }
    }

    /// Reads a run and counts its pages.
    ///
    /// # Errors
    /// As [`Base::read`](crate::contract::Base::read).
    #[inline]
    pub fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.went_down.read += u64::from(run.pages);
        self.ftl.read(nand, run, sink)
    }

    /// Trims pages and counts them.
    ///
    /// # Errors
    /// As [`Base::trim`](crate::contract::Base::trim).
    pub fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.went_down.trimmed += u64::from(pages);
        self.ftl.trim(nand, first, pages)
    }

    /// Writes a run and counts its pages.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    #[inline]
    pub fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.ftl.write_run(nand, run)?;
        self.went_down.written += u64::from(run.pages);
        Ok(())
    }

    /// Writes pages that leave the layer. If the missing sectors of a partial page are lost, the
    /// whole page is: the layer cannot keep it for ever, and nobody must read it as if it were
    /// complete. Returns such a page.
    ///
    /// # Errors
    /// As [`Ftl::write`], except that such a page is no error.
    pub fn write_leaving(&mut self, nand: &mut Nand, run: &Run) -> Result<Option<Lpn>> {
        let programs = |nand: &Nand| nand.tally().count(Op::Program, Cause::Host);
        let before = programs(nand);
        let written = self.write(nand, run);
        if unless_lost(nand, written)?.is_some() {
            return Ok(None);
        }
        if self.ftl.layer_totals().is_none() {
            // Pages of the run that were programmed before one was lost go down again.
            self.went_down.written += programs(nand) - before;
        }
        let (full, page_bytes) = (nand.geometry().full_mask(), nand.geometry().page_bytes());
        if run.pages == 1 {
            self.write(nand, &Run { head: full, tail: full, data: Data::Lost, ..*run })?;
            return Ok(Some(run.first));
        }
        let mut lost = None;
        for index in 0..run.pages {
            let page = run.part(index..index + 1, full, page_bytes);
            lost = self.write_leaving(nand, &page)?.or(lost);
        }
        Ok(lost)
    }

    /// The extent with which these pages begin, for a layer that itself `holds` some pages. Pages
    /// that the layer holds are mapped; of the others, the FTL knows it.
    pub fn extent_with(&self, lpns: Range<u32>, holds: impl Fn(Lpn) -> bool) -> Extent {
        let first = lpns.start;
        let known = self.ftl.extent(first..lpns.end.min(first.saturating_add(LOOK_AHEAD)));
        if known.is_mapped {
            return known;
        }
        let mut held = (first..first + known.pages).map(Lpn).skip_while(|&lpn| !holds(lpn));
        let run = held.next().map(|start| {
            let more = held.take_while(|&lpn| holds(lpn)).count() as u32;
            start.0..start.0 + 1 + more
        });
        Extent::first_of(first..first + known.pages, run)
    }

    /// Totals of the layers below, or of none.
    pub fn totals(&mut self) -> LayerTotals {
        let none = LayerTotals { entered: self.went_down, ..LayerTotals::default() };
        self.ftl.layer_totals().unwrap_or(none)
    }

    /// The report of the FTL, with that of a layer above it.
    pub fn report(&self, layer: &'static str, figures: Vec<(&'static str, Metric)>) -> Report {
        let mut report = self.ftl.report();
        report.layers.insert(0, LayerReport { layer, figures, went_down: self.went_down });
        report
    }

    /// Sets counts and metrics to zero, here and below.
    pub fn reset_report(&mut self) {
        self.went_down = Entered::default();
        self.ftl.reset_report();
    }
}
