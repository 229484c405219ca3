//! Kinds of numbers: logical and physical pages, blocks, sectors of a page.

/// Logical page number: a page of the capacity that the host sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lpn(pub u32);

impl Lpn {
    /// No page: the owner of an erased page.
    pub const NONE: Lpn = Lpn(u32::MAX);
    /// The owner of a page that holds no host data: padding, metadata.
    pub const SYSTEM: Lpn = Lpn(u32::MAX - 1);

    /// Whether this names a page of the host's.
    pub fn is_host(self) -> bool {
        self.0 < Lpn::SYSTEM.0
    }

    /// The page `n` further on.
    pub fn plus(self, n: u32) -> Lpn {
        Lpn(self.0 + n)
    }
}

/// Physical page number: `block * pages_per_block + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ppn(pub u32);

impl Ppn {
    /// No page: what an unmapped LPN maps to.
    pub const NONE: Ppn = Ppn(u32::MAX);

    /// The page `n` further on.
    pub fn plus(self, n: u32) -> Ppn {
        Ppn(self.0 + n)
    }
}

/// Physical block number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// One bit a sector of a page, bit 0 the first; pages have at most 64 sectors.
pub type SectorMask = u64;
