//! The free pages of a store's space, as a file system keeps them.

use std::collections::BTreeMap;

/// Adjacent pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) first: u64,
    pub(super) pages: u64,
}

/// Free pages. They are taken in the order of their numbers, from where the last ones were taken,
/// so a place is used again as late as possible.
pub(super) struct FreeSpace {
    /// The number of pages of each free extent, by its first page. No two extents are adjacent.
    extents: BTreeMap<u64, u64>,
    next: u64,
}

impl FreeSpace {
    /// A space of `pages` pages.
    pub(super) fn new(pages: u64) -> FreeSpace {
        FreeSpace { extents: BTreeMap::from([(0, pages)]), next: 0 }
    }

    /// Takes pages, in one extent if there is one in the way. The caller guarantees that so many
    /// are free.
    pub(super) fn take(&mut self, mut pages: u64) -> Vec<Extent> {
        let mut taken = Vec::new();
        while pages > 0 {
            let found = self.extents.range(self.next..).next().or(self.extents.first_key_value());
            let (&first, &free) = found.expect("the store was found to fit into its space");
            let part = pages.min(free);
            self.extents.remove(&first);
            self.next = first + part;
            if free > part {
                self.extents.insert(self.next, free - part);
            }
            taken.push(Extent { first, pages: part });
            pages -= part;
        }
        taken
    }

    /// Frees an extent that was taken.
    pub(super) fn give(&mut self, extent: Extent) {
        let Extent { mut first, mut pages } = extent;
        if let Some(after) = self.extents.remove(&(first + pages)) {
            pages += after;
        }
        if let Some((&before, &free)) = self.extents.range(..first).next_back()
            && before + free == first
        {
            (first, pages) = (before, free + pages);
        }
        self.extents.insert(first, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(first: u64, pages: u64) -> Extent {
        Extent { first, pages }
    }

    #[test]
    fn pages_are_taken_in_turn_and_joined_when_they_are_free_again() {
        let mut space = FreeSpace::new(10);
        assert_eq!(space.take(4), [extent(0, 4)]);
        assert_eq!(space.take(4), [extent(4, 4)]);
        space.give(extent(0, 4));
        assert_eq!(space.take(3), [extent(8, 2), extent(0, 1)], "two at the end, then the start");
        space.give(extent(4, 4));
        space.give(extent(8, 2));
        assert_eq!(space.take(9), [extent(1, 9)], "three extents have become one");
        space.give(extent(1, 9));
        space.give(extent(0, 1));
        assert_eq!(space.extents, BTreeMap::from([(0, 10)]));
    }
}
