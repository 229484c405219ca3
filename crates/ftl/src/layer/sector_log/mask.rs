//! Sectors of a page as the bits of a mask.

use nand::SectorMask;

/// The bits of a mask, in ascending order.
pub(super) fn bits(mut mask: SectorMask) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let index = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (index < SectorMask::BITS).then_some(index)
    })
}

/// Number of sectors in a mask.
pub(super) fn sectors(mask: SectorMask) -> u64 {
    mask.count_ones().into()
}
