//! The observer of a log map: it keeps an account of the valid pages in log blocks.
//!
//! [`LogMap`](super::log_map::LogMap) calls the observer whenever the newest version of a page
//! enters or leaves a block. LAST keeps its merge costs this way. Other schemes keep no such
//! account, and [`Unobserved`] costs them nothing.

use nand::BlockId;

/// An account of valid pages, kept page by page.
pub trait BlockObserver {
    /// Whether the observer follows any block.
    const OBSERVES: bool;

    /// Whether the observer follows this block.
    fn observes(&self, block: BlockId) -> bool;

    /// A page enters a followed block. `is_alone`: no other page of its logical block is there.
    fn enters(&mut self, block: BlockId, is_alone: bool);

    /// A page leaves a followed block. `is_alone`: no other page of its logical block is there. A
    /// page that moves within a block enters first.
    fn leaves(&mut self, block: BlockId, is_alone: bool);
}

/// No observer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl BlockObserver for Unobserved {
    const OBSERVES: bool = false;

    #[inline]
    fn observes(&self, _: BlockId) -> bool {
        false
    }

    fn enters(&mut self, _: BlockId, _: bool) {}

    fn leaves(&mut self, _: BlockId, _: bool) {}
}
