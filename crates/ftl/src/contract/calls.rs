//! What callers say to an FTL: the calls of its base, and what follows from the contract.

use core::ops::Range;

use nand::{Cause, Lpn, Nand, PageState, Ppn, Sink};

use super::error::Result;
use super::extent::Extent;
use super::facets::{BlockLender, Facet, FacetKind, LayerTotals, ResizableMap};
#[cfg(doc)]
use super::ftl::Base;
use super::ftl::Ftl;
use super::run::Run;

impl dyn Ftl + '_ {
    /// As [`Base::read`].
    ///
    /// # Errors
    /// As [`Base::read`].
    #[inline]
    pub fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.base_mut().read(nand, run, sink)
    }

    /// Writes a run, and none of the requests that follow.
    ///
    /// # Errors
    /// As [`Ftl::write`].
    #[inline]
    pub fn write_run(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.write(nand, run, &[]).map(drop)
    }

    /// As [`Base::trim`].
    ///
    /// # Errors
    /// As [`Base::trim`].
    pub fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.base_mut().trim(nand, first, pages)
    }

    /// As [`Base::flush`].
    ///
    /// # Errors
    /// As [`Base::flush`].
    pub fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        self.base_mut().flush(nand, only)
    }

    /// As [`Base::place`].
    pub fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.base().place(nand, lpn)
    }

    /// As [`Base::extent`].
    pub fn extent(&self, lpns: Range<u32>) -> Extent {
        self.base().extent(lpns)
    }

    /// The version of the page at [`place`](Base::place), for a layer above that mounts. None if
    /// the page is unmapped, or if it cannot be read. Costs one read of a spare area, cause meta.
    ///
    /// # Errors
    /// The power is lost again.
    pub fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        let Some(ppn) = self.place(nand, lpn) else { return Ok(None) };
        Ok(match nand.read_spare(ppn, Cause::Meta)? {
            PageState::Programmed(spare) => Some(spare.version),
            _ => None,
        })
    }

    /// Ends a request of the host, which may have been several runs. A layer that adapts after a
    /// number of requests does so here.
    ///
    /// # Errors
    /// Power lost.
    #[inline]
    pub fn end_request(&mut self, nand: &mut Nand) -> Result<()> {
        match self.facet(FacetKind::Tuner) {
            Some(Facet::Tuner(tuner)) => tuner.end_request(nand),
            _ => Ok(()),
        }
    }

    // ---- Optional abilities -------------------------------------------------------------------

    /// The part of the map that can grow and shrink at run time.
    pub fn resizable_map(&mut self) -> Option<&mut dyn ResizableMap> {
        match self.facet(FacetKind::Map)? {
            Facet::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The exchange of erased blocks with a layer above.
    pub fn block_lender(&mut self) -> Option<&mut dyn BlockLender> {
        match self.facet(FacetKind::Lender)? {
            Facet::Lender(lender) => Some(lender),
            _ => None,
        }
    }

    /// Totals of the layers; none for a scheme without layers.
    pub fn layer_totals(&mut self) -> Option<LayerTotals> {
        match self.facet(FacetKind::Layers)? {
            Facet::Layers(totals) => Some(totals),
            _ => None,
        }
    }
}
