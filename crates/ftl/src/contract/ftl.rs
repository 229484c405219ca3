//! What every flash translation layer promises.

use nand::{Lpn, Nand, Sink};

use super::audit::Violation;
use super::base::Base;
use super::error::Result;
use super::facets::{BlockLender, Layered, ResizableMap};
use super::report::{Ram, Report};
use super::run::Run;

/// A flash translation layer.
///
/// Callers guarantee that runs lie within the capacity and that the chip is the one it was mounted
/// on. After an error the FTL may only be dropped.
pub trait Ftl: Send {
    /// What this FTL stands on; it answers whatever the FTL does not answer itself.
    fn base(&self) -> &dyn Base;

    /// The same, to be changed.
    fn base_mut(&mut self) -> &mut dyn Base;

    // ---- The host's requests ------------------------------------------------------------------

    /// Hands the newest sectors of the run to the sink, which the caller has cleared: pages never
    /// written, or trimmed, are not put. One read of the flash a mapped page, cause host.
    ///
    /// # Errors
    /// Power lost, or a page cannot be read.
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.base_mut().read(nand, run, sink)
    }

    /// Writes a run. When this returns, `read` sees it; after `flush`, so does a fresh mount. One
    /// program of cause host a page, whatever else the scheme must do.
    ///
    /// # Errors
    /// Power lost, or no room can be made.
    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()>;

    /// Forgets whole pages: they read zero from now on and, after `flush` under
    /// [`Durability::Full`](super::mount_config::Durability::Full), after every mount. Pages that
    /// nothing maps are no error.
    ///
    /// # Errors
    /// Power lost.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.base_mut().trim(nand, first, pages)
    }

    /// Makes all that was answered survive a power cut.
    ///
    /// # Errors
    /// Power lost.
    fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.base_mut().flush(nand)
    }

    /// Makes a run that was just written survive a power cut (forced unit access).
    ///
    /// # Errors
    /// Power lost.
    fn flush_run(&mut self, nand: &mut Nand, _run: &Run) -> Result<()> {
        self.flush(nand)
    }

    /// Called after each request of the host, which may have been several runs. A layer that
    /// regulates itself by requests does so now.
    ///
    /// # Errors
    /// Power lost.
    fn end_request(&mut self, nand: &mut Nand) -> Result<()> {
        self.base_mut().end_request(nand)
    }

    /// A hint that this run comes soon: a chance to bring map entries into the processor's cache.
    fn prefetch(&self, run: &Run) {
        self.base().prefetch(run);
    }

    // ---- What it believes ---------------------------------------------------------------------

    /// The version of a page, which layers above ask for at mount; none if it is unmapped.
    ///
    /// # Errors
    /// Power lost, or the page cannot be read.
    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        self.base().version(nand, lpn)
    }

    /// How many erased blocks are not open.
    fn free_blocks(&self) -> u32 {
        self.base().free_blocks()
    }

    /// Compares all that the FTL believes with itself and with the chip: no two logical pages
    /// share a physical one, each block is in exactly one list, counts equal a recount. Costs no
    /// operation and changes nothing.
    ///
    /// # Errors
    /// The first contradiction.
    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation>;

    // ---- What it reports ----------------------------------------------------------------------

    /// What a controller would hold in RAM, as the papers count it.
    fn ram(&self) -> Ram;

    /// The scheme's own metrics since the last reset.
    fn report(&self) -> Report;

    /// Sets the scheme's own metrics, and those of layers above it, to zero. Nothing else changes.
    fn reset_report(&mut self);

    /// What the scheme regulates or watches, as it stands now; a series samples it. Always the same
    /// names in the same order.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    // ---- What only some can do ----------------------------------------------------------------

    /// The part of the map that can grow and shrink at run time.
    fn resizable_map(&mut self) -> Option<&mut dyn ResizableMap> {
        None
    }

    /// Who exchanges erased blocks with a layer above.
    fn block_lender(&mut self) -> Option<&mut dyn BlockLender> {
        self.base_mut().block_lender()
    }

    /// The layers above the scheme. None of a scheme without layers: all pages that it was given
    /// entered it.
    fn layered(&self) -> Option<&dyn Layered> {
        None
    }
}
