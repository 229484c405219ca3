//! The interface of every flash translation layer.

use core::ops::Range;

use nand::{Data, Lpn, Nand, Ppn, Sink};

use super::audit::Violation;
use super::base::Base;
#[cfg(doc)]
use super::error::Error;
use super::error::Result;
use super::extent::Extent;
use super::facets::{BlockLender, Layered, ResizableMap};
use super::report::{Ram, Report};
use super::run::Run;
use super::span::Span;

/// A flash translation layer.
///
/// Callers guarantee that runs lie within the capacity, and that the chip is the one on which the
/// FTL was mounted.
///
/// A page that cannot be read is an error [of the request](Error::is_of_request), and the FTL lives
/// on: its audit holds, and all other pages are as they should be. Garbage collection moves such
/// pages like any other, as long as their spare areas can be read. Reads of it fail until the host
/// writes it whole or trims it. After any other error, only reads are allowed, which may fail, and
/// the FTL is best dropped.
pub trait Ftl: Send {
    /// The base of this FTL. It answers every call that the FTL does not answer itself.
    fn base(&self) -> &dyn Base;

    /// The base, for calls that change it.
    fn base_mut(&mut self) -> &mut dyn Base;

    // ---- The host's requests ------------------------------------------------------------------

    /// Passes the newest sectors of the run to the sink, which the caller has cleared. Pages that
    /// were never written, or were trimmed, are left out. Each mapped page costs one read of the
    /// flash, cause host.
    ///
    /// # Errors
    /// Power lost, or a page cannot be read. Other pages of the run may be unread then.
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.base_mut().read(nand, run, sink)
    }

    /// Writes a run. When this returns, `read` sees it; after `flush`, so does a fresh mount. Each
    /// page costs one program of cause host; other causes count whatever else the scheme must do.
    ///
    /// # Errors
    /// Power lost, or no room can be made. Or the host wrote some sectors of a page, and the others
    /// cannot be read. A scheme has written no page of the run then; a layer may have written all
    /// other pages.
    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()>;

    /// A shorter way for requests that write a single whole page each, on a chip that keeps no
    /// data. Writes the first of them, as many as cost nothing but the program of their page, and
    /// returns their number: the next one is of another kind, or costs more. None if the FTL has no
    /// shorter way on this chip. Their [ends](Self::end_request) need not be told.
    ///
    /// # Errors
    /// Power lost, or no room can be made.
    fn write_singles(&mut self, _nand: &mut Nand, _spans: &[Span]) -> Result<Option<usize>> {
        Ok(None)
    }

    /// Forgets whole pages. From now on they read as zero; after `flush` under
    /// [`Durability::Full`](super::mount_config::Durability::Full) they do so after every mount
    /// too. Unmapped pages are no error.
    ///
    /// # Errors
    /// Power lost.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.base_mut().trim(nand, first, pages)
    }

    /// Makes all requests that were answered survive a power cut.
    ///
    /// # Errors
    /// Power lost. Or a layer has [lost](Error::Lost) sectors since the last flush; everything else
    /// is flushed.
    fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.base_mut().flush(nand)
    }

    /// Makes a run that was just written survive a power cut (forced unit access). By default
    /// everything is flushed; a layer hands the run to the FTL below it.
    ///
    /// # Errors
    /// Power lost.
    fn flush_run(&mut self, nand: &mut Nand, _run: &Run) -> Result<()> {
        self.flush(nand)
    }

    /// Called after each request of the host, which may have been several runs. A layer that adapts
    /// after a number of requests does so here.
    ///
    /// # Errors
    /// Power lost.
    fn end_request(&mut self, nand: &mut Nand) -> Result<()> {
        self.base_mut().end_request(nand)
    }

    /// A hint that this run comes soon, so that map entries can be brought into the processor's
    /// cache.
    fn prefetch(&self, run: &Run) {
        self.base().prefetch(run);
    }

    /// The same hint for the spans of several requests.
    fn prefetch_all(&self, spans: &[Span]) {
        spans.iter().for_each(|span| self.prefetch(&span.run(0, Data::None)));
    }

    /// A hint that follows [`prefetch_all`](Self::prefetch_all) if some of these requests read: the
    /// chip looks at each page that is read, and these misses can overlap, too.
    fn prefetch_places(&self, nand: &Nand, spans: &[Span]) {
        self.base().prefetch_places(nand, spans);
    }

    // ---- State --------------------------------------------------------------------------------

    /// The version of a page, for layers above that mount; none if the page is unmapped.
    ///
    /// # Errors
    /// Power lost, or the page cannot be read.
    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        self.base().version(nand, lpn)
    }

    /// The physical page with the newest version of a logical page; none if there is none on the
    /// chip. Of a page that a layer keeps in memory, it is the version that the layer has not
    /// replaced yet. Of a page whose sectors are in several places, it is the newest of these
    /// places. Counts no operation and changes nothing.
    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.base().place(nand, lpn)
    }

    /// Whether the first of these logical pages is mapped, and how many of the pages from it on are
    /// in the same state. The range has at least one page, and so has the answer. The page after
    /// the extent may be in the same state, too.
    ///
    /// A page is mapped from its first write until it is trimmed, wherever its sectors are. After a
    /// mount a trimmed page may be mapped, if the mount had to write zeroes to it. Counts no
    /// operation and changes nothing.
    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.base().extent(lpns)
    }

    /// Number of erased blocks that are not open.
    fn free_blocks(&self) -> u32 {
        self.base().free_blocks()
    }

    /// Checks the FTL's data structures against each other and against the chip: no two logical
    /// pages share a physical one, each block is in exactly one list, counts equal a recount.
    /// Counts no operation and changes nothing.
    ///
    /// # Errors
    /// The first contradiction.
    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation>;

    // ---- Reports ------------------------------------------------------------------------------

    /// The RAM that a controller would need, as the papers count it.
    fn ram(&self) -> Ram;

    /// The scheme's own metrics since the last reset.
    fn report(&self) -> Report;

    /// Sets the scheme's own metrics, and those of its layers, to zero. Nothing else changes.
    fn reset_report(&mut self);

    /// The quantities that the scheme regulates or watches, at this moment. A series samples them.
    /// The names and their order are always the same.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    // ---- Optional abilities -------------------------------------------------------------------

    /// The part of the map that can grow and shrink at run time.
    fn resizable_map(&mut self) -> Option<&mut dyn ResizableMap> {
        self.base_mut().resizable_map()
    }

    /// The exchange of erased blocks with a layer above.
    fn block_lender(&mut self) -> Option<&mut dyn BlockLender> {
        self.base_mut().block_lender()
    }

    /// Reports of the layers above the scheme; none for a scheme without layers. In that case all
    /// pages that the scheme received count as entered.
    fn layered(&self) -> Option<&dyn Layered> {
        None
    }
}
