//! The base of an FTL.

use core::ops::Range;

use nand::{BlockId, Cause, Lpn, Nand, PageState, Ppn, Sink};

use super::error::Result;
use super::extent::Extent;
use super::facets::{BlockLender, ResizableMap};
use super::run::Run;
use super::span::Span;

/// The base of an FTL: for a scheme its map, for a layer the FTL below it. It answers every call
/// that the FTL does not answer itself, so schemes with the same map share these answers.
pub trait Base: Send {
    /// As [`Ftl::read`](super::ftl::Ftl::read).
    ///
    /// # Errors
    /// Power lost, or a page cannot be read.
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()>;

    /// As [`Ftl::trim`](super::ftl::Ftl::trim).
    ///
    /// # Errors
    /// Power lost.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()>;

    /// As [`Ftl::flush`](super::ftl::Ftl::flush).
    ///
    /// # Errors
    /// Power lost.
    fn flush(&mut self, nand: &mut Nand) -> Result<()>;

    /// Erases a block of a layer, in which no page counts any more. A power cut must not bring its
    /// pages back.
    ///
    /// # Errors
    /// Power lost.
    fn erase(&mut self, nand: &mut Nand, block: BlockId, cause: Cause) -> Result<()>;

    /// As [`Ftl::end_request`](super::ftl::Ftl::end_request).
    ///
    /// # Errors
    /// Power lost.
    fn end_request(&mut self, _nand: &mut Nand) -> Result<()> {
        Ok(())
    }

    /// As [`Ftl::prefetch`](super::ftl::Ftl::prefetch).
    fn prefetch(&self, run: &Run);

    /// As [`Ftl::prefetch_places`](super::ftl::Ftl::prefetch_places).
    fn prefetch_places(&self, _nand: &Nand, _spans: &[Span]) {}

    /// As [`Ftl::place`](super::ftl::Ftl::place).
    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn>;

    /// As [`Ftl::version`](super::ftl::Ftl::version).
    ///
    /// # Errors
    /// Power lost, or the page cannot be read.
    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>> {
        self.place(nand, lpn).map_or(Ok(None), |ppn| version_at(nand, ppn))
    }

    /// As [`Ftl::extent`](super::ftl::Ftl::extent).
    fn extent(&self, lpns: Range<u32>) -> Extent;

    /// As [`Ftl::free_blocks`](super::ftl::Ftl::free_blocks).
    fn free_blocks(&self) -> u32;

    /// As [`Ftl::resizable_map`](super::ftl::Ftl::resizable_map).
    fn resizable_map(&mut self) -> Option<&mut dyn ResizableMap> {
        None
    }

    /// As [`Ftl::block_lender`](super::ftl::Ftl::block_lender).
    fn block_lender(&mut self) -> Option<&mut dyn BlockLender> {
        None
    }
}

/// Reads the version of the page at `ppn`, cause meta. None if the page cannot be read.
///
/// # Errors
/// The power is lost again.
pub(crate) fn version_at(nand: &mut Nand, ppn: Ppn) -> Result<Option<u64>> {
    Ok(match nand.read_spare(ppn, Cause::Meta)? {
        PageState::Programmed(spare) => Some(spare.version),
        _ => None,
    })
}
