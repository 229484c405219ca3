//! The FTL that a layer holds, and what goes down to it.

use nand::{Lpn, Nand, Sink};

use crate::contract::{Entered, Ftl, Result, Run};

/// An FTL below a layer; pages that go down are counted.
pub struct Below {
    /// The FTL, for whatever is no page of the host's.
    pub ftl: Box<dyn Ftl>,
    went_down: Entered,
}

impl Below {
    /// An FTL that a layer takes charge of.
    pub fn new(ftl: Box<dyn Ftl>) -> Below {
        Below { ftl, went_down: Entered::default() }
    }

    /// Reads.
    ///
    /// # Errors
    /// As [`Ftl::read`].
    #[inline]
    pub fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.went_down.read += u64::from(run.pages);
        self.ftl.read(nand, run, sink)
    }

    /// Writes.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    #[inline]
    pub fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.went_down.written += u64::from(run.pages);
        self.ftl.write(nand, run)
    }

    /// Trims.
    ///
    /// # Errors
    /// As [`Ftl::trim`].
    pub fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.went_down.trimmed += u64::from(pages);
        self.ftl.trim(nand, first, pages)
    }

    /// Pages that entered the scheme at the bottom.
    pub fn entered(&self) -> Entered {
        self.ftl.entered().unwrap_or(self.went_down)
    }

    /// Sets figures to zero, here and below.
    pub fn reset_report(&mut self) {
        self.went_down = Entered::default();
        self.ftl.reset_report();
    }
}
