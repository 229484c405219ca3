//! What watches a campaign.

use crate::case::Case;

/// Watches a campaign and can stop it. Its methods are called from several threads.
pub trait Observer: Sync {
    /// A case begins.
    fn begins(&self, _case: &Case) {}

    /// A power cut was tried.
    fn cut(&self) {}

    /// A crash state was tried.
    fn crash(&self) {}

    /// A case is done.
    fn tried(&self) {}

    /// Whether the campaign must stop. A case that is under way then tries no further cuts.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Observer for () {}
