//! Types for the numbers of logical pages, physical pages and blocks, and for sets of sectors.

/// Logical page number: a page of the capacity that the host sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lpn(pub u32);

impl Lpn {
    /// No page. An erased page has this owner.
    pub const NONE: Lpn = Lpn(u32::MAX);
    /// The owner of a page without host data: padding or metadata.
    pub const SYSTEM: Lpn = Lpn(u32::MAX - 1);

    /// Whether this is a page of the host.
    pub fn is_host(self) -> bool {
        self.0 < Lpn::SYSTEM.0
    }

    /// The page `n` pages further on.
    pub fn plus(self, n: u32) -> Lpn {
        Lpn(self.0 + n)
    }
}

/// Physical page number: `block * pages_per_block + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ppn(pub u32);

impl Ppn {
    /// No page. An unmapped LPN maps to it.
    pub const NONE: Ppn = Ppn(u32::MAX);

    /// The page `n` pages further on.
    pub fn plus(self, n: u32) -> Ppn {
        Ppn(self.0 + n)
    }
}

/// Physical block number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// A set of sectors of one page. Bit 0 is the first sector; pages have at most 64.
pub type SectorMask = u64;
