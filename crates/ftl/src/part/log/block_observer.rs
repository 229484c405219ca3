//! The observer of a log map: it keeps an account of the valid pages in log blocks.
//!
//! [`LogMap`](super::log_map::LogMap) calls the observer whenever the newest version of a page
//! enters or leaves a block. LAST keeps its merge costs this way. Other schemes keep no such
//! account, and [`Unobserved`] costs them nothing.

use nand::{BlockId, Geometry, Ppn};

/// An account of valid pages, kept page by page.
pub trait BlockObserver {
    /// Whether the observer follows this block.
    fn observes(&self, block: BlockId) -> bool;

    /// A page is about to enter a followed block. `siblings` holds the places of all pages of its
    /// logical block; the entry of the page itself is still its old place.
    fn enters(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]);

    /// A page has left a followed block. In `siblings` its entry is already its new place.
    fn leaves(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]);
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl BlockObserver for Unobserved {
    #[inline]
    fn observes(&self, _: BlockId) -> bool {
        false
    }

    fn enters(&mut self, _: &Geometry, _: BlockId, _: &[Ppn]) {}

    fn leaves(&mut self, _: &Geometry, _: BlockId, _: &[Ppn]) {}
}
