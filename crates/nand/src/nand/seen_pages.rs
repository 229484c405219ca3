//! What a running mount has seen of the pages: whose owners it can know, and which of them it could
//! read.

use core::ops::Range;

use crate::geometry::Geometry;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    No,
    /// Read, programmed or erased.
    Yes,
    /// Read, and readable then.
    Readable,
}

/// What a mount has seen of each page.
pub(super) struct SeenPages {
    pages: Vec<Seen>,
}

impl SeenPages {
    pub(super) fn none(geometry: &Geometry) -> SeenPages {
        SeenPages { pages: vec![Seen::No; geometry.pages() as usize] }
    }

    /// The mount has programmed or erased these pages.
    pub(super) fn add(&mut self, pages: Range<usize>) {
        self.pages[pages].fill(Seen::Yes);
    }

    /// The mount starts again, so it may find pages unreadable that it could read.
    pub(super) fn forget_readable(&mut self) {
        let known = self.pages.iter_mut().filter(|seen| **seen == Seen::Readable);
        known.for_each(|seen| *seen = Seen::Yes);
    }

    /// The mount reads the spare area of a page. Returns whether the page can be read as before. If
    /// not, the mount must start again.
    pub(super) fn read(&mut self, page: usize, readable: bool) -> bool {
        let has_decayed = self.pages[page] == Seen::Readable && !readable;
        self.pages[page] = if readable { Seen::Readable } else { Seen::Yes };
        !has_decayed
    }

    /// Panics unless the mount has seen all of these pages.
    #[cold]
    pub(super) fn expect(&self, mut pages: Range<usize>) {
        let unseen = pages.find(|&page| self.pages[page] == Seen::No);
        assert!(
            unseen.is_none(),
            "a mount used the owner of page {unseen:?}, whose spare area it has not read"
        );
    }
}
