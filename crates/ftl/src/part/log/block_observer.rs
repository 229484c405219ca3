//! Who keeps an account of the valid pages of log blocks, if anybody does.
//!
//! [`LogMap`](super::log_map::LogMap) calls the observer whenever the newest version of a page
//! enters a block or leaves one. LAST keeps its merge costs this way. Other schemes keep no such
//! account, and [`Unobserved`] costs them nothing.

use nand::{BlockId, Geometry, Ppn};

/// An account of valid pages, kept page by page.
pub trait BlockObserver {
    /// Whether the observer follows this block.
    fn observes(&self, block: BlockId) -> bool;

    /// A page is about to enter a followed block. `siblings` are the newest versions of all pages
    /// of its logical block; the page itself still stands at its old place.
    fn enters(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]);

    /// A page has left a followed block. In `siblings` it stands at its new place already.
    fn leaves(&mut self, geometry: &Geometry, block: BlockId, siblings: &[Ppn]);
}

/// Nobody observes.
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
