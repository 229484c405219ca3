//! The interface of every flash translation layer.

use core::ops::Range;

use nand::{Lpn, Nand, Ppn, Sink};

use super::act::BlockRole;
use super::audit::Violation;
#[cfg(doc)]
use super::error::Error;
use super::error::Result;
use super::extent::Extent;
use super::facets::{Facet, FacetKind};
use super::report::Report;
use super::run::Run;
use super::span::Span;

/// A flash translation layer.
///
/// The contract has two halves. [`Base`] is what a map answers, so schemes with the same map share
/// it. `Ftl` is what each scheme and each layer says itself.
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
    /// The other half of the contract: the map of a scheme, or the FTL itself. The macro
    /// [`base_is`] writes this function and the next.
    fn base(&self) -> &dyn Base;

    /// The other half, for calls that change it.
    fn base_mut(&mut self) -> &mut dyn Base;

    /// Writes a run. When this returns, `read` sees it; after `flush`, so does a fresh mount. Each
    /// page costs one program of cause host; other causes count whatever else the scheme must do.
    ///
    /// After the run the FTL may write some of the requests that follow, the first ones of `next`,
    /// as long as each is a write without data that costs nothing but the programs of its pages.
    /// Returns their number. Callers that want to see the operations of each request pass none.
    ///
    /// # Errors
    /// Power lost, or no room can be made. Or the host wrote some sectors of a page, and the others
    /// cannot be read. A scheme has written no page of the run then; a layer may have written all
    /// other pages.
    fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> Result<usize>;

    /// Checks the FTL's data structures against each other and against the chip: no two logical
    /// pages share a physical one, each block is in exactly one list, counts equal a recount.
    /// Counts no operation and changes nothing.
    ///
    /// # Errors
    /// The first contradiction.
    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation>;

    /// What the FTL says about itself: its RAM and its state now, its metrics since the last reset.
    fn report(&self) -> Report;

    /// Sets the FTL's own metrics, and those of its layers, to zero. Nothing else changes.
    fn reset_report(&mut self);

    /// Says what the blocks with a role are for. A programmed block that is not named holds data of
    /// the host. Counts no operation and changes nothing.
    fn roles(&self, _nand: &Nand, _roles: &mut Vec<BlockRole>) {}

    /// An optional ability; none if the FTL does not have it. By default the base answers.
    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        self.base_mut().facet(kind)
    }
}

/// Says in an implementation of [`Ftl`] what its base is: `base_is!(self.map);`, or
/// `base_is!(self);` for an FTL that is its own base.
#[macro_export]
macro_rules! base_is {
    ($this:ident $(. $field:ident)*) => {
        fn base(&$this) -> &dyn $crate::contract::ftl::Base {
            &(*$this)$(.$field)*
        }

        fn base_mut(&mut $this) -> &mut dyn $crate::contract::ftl::Base {
            &mut (*$this)$(.$field)*
        }
    };
}

pub use base_is;

/// What the map of an FTL answers. A layer answers for itself and the FTL below it.
pub trait Base: Send {
    /// Passes the newest sectors of the run to the sink, which the caller has cleared. Pages that
    /// were never written, or were trimmed, are left out. Each mapped page costs one read of the
    /// flash, cause host.
    ///
    /// # Errors
    /// Power lost, or a page cannot be read. Other pages of the run may be unread then.
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()>;

    /// Forgets whole pages. From now on they read as zero; after `flush` under
    /// [`Durability::Full`](super::mount_config::Durability::Full) they do so after every mount
    /// too. Unmapped pages are no error.
    ///
    /// # Errors
    /// Power lost.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()>;

    /// Makes all requests that were answered survive a power cut; or `only` this run, which was
    /// just written (forced unit access). An FTL without a buffer need not tell the two apart.
    ///
    /// # Errors
    /// Power lost. Or a layer has [lost](Error::Lost) sectors since the last flush; everything else
    /// is flushed.
    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()>;

    /// A hint that these requests come soon, so that map entries can be brought into the
    /// processor's cache. If some of them read, they read from this chip, and what the chip keeps
    /// about their pages can be brought in too.
    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>);

    /// The physical page with the newest version of a logical page; none if there is none on the
    /// chip. Of a page that a layer keeps in memory, it is the version that the layer has not
    /// replaced yet. Of a page whose sectors are in several places, it is the newest of these
    /// places. Counts no operation and changes nothing.
    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn>;

    /// Whether the first of these logical pages is mapped, and how many of the pages from it on are
    /// in the same state. The range has at least one page, and so has the answer. The page after
    /// the extent may be in the same state, too.
    ///
    /// A page is mapped from its first write until it is trimmed, wherever its sectors are. After a
    /// mount a trimmed page may be mapped, if the mount had to write zeroes to it. Counts no
    /// operation and changes nothing.
    fn extent(&self, lpns: Range<u32>) -> Extent;

    /// As [`Ftl::facet`].
    fn facet(&mut self, _kind: FacetKind) -> Option<Facet<'_>> {
        None
    }
}
