//! The state of bytes, as clients ask for it.

use disk::{Disk, Result};

use crate::export::Context;
use crate::wire::replies::Descriptor;
use crate::wire::{STATE_HOLE, STATE_ZERO};

/// Descriptors of a reply at most.
const DESCRIPTORS_MAX: usize = 8192;
/// Bytes that are looked at for one request. A client asks again for the rest. The FTL is asked
/// for the block of each page, but for mapped pages in extents.
const MAPPED_BYTES_MAX: u64 = 1 << 30;
const PLACED_BYTES_MAX: u64 = 32 << 20;
/// The state of bytes that are in no block.
pub const NO_BLOCK: u32 = u32::MAX;

/// The state of a range, from its first byte on. It may end early.
///
/// # Errors
/// Those of the disk.
pub fn of_range(
    disk: &Disk,
    context: Context,
    offset: u64,
    bytes: u64,
    wants_one: bool,
) -> Result<Vec<Descriptor>> {
    let max = if context == Context::Allocation { MAPPED_BYTES_MAX } else { PLACED_BYTES_MAX };
    let bytes = bytes.min(max);
    let sectors = super::bytes::outward(offset, bytes);
    let length = sectors.end - sectors.start;
    let extents: Vec<(u64, u32)> = match context {
        Context::Allocation => {
            let extents = disk.extents(sectors.start, length)?;
            let state = |is_mapped| if is_mapped { 0 } else { STATE_HOLE | STATE_ZERO };
            extents.into_iter().map(|it| (it.bytes, state(it.is_mapped))).collect()
        }
        Context::Block | Context::Wear => {
            let wear = disk.nand().map_or(&[][..], |nand| nand.array().wear());
            let state = |block: nand::BlockId| match context {
                Context::Wear => wear.get(block.0 as usize).copied().unwrap_or(NO_BLOCK),
                _ => block.0,
            };
            let places = disk.places(sectors.start, length)?;
            places.into_iter().map(|it| (it.bytes, it.block.map_or(NO_BLOCK, state))).collect()
        }
    };
    let max = if wants_one { 1 } else { DESCRIPTORS_MAX };
    Ok(descriptors(&extents, offset - sectors.start, bytes, max))
}

/// Extents as descriptors of the bytes from `skip` on, neighbours in different states.
fn descriptors(extents: &[(u64, u32)], skip: u64, bytes: u64, max: usize) -> Vec<Descriptor> {
    let (mut skip, mut left) = (skip, bytes);
    let mut descriptors: Vec<Descriptor> = Vec::new();
    for &(length, state) in extents {
        let length = (length - skip.min(length)).min(left);
        skip = 0;
        left -= length;
        let is_full = descriptors.len() == max;
        match descriptors.last_mut() {
            Some(last) if last.state == state => last.bytes += length as u32,
            _ if is_full => break,
            _ if length > 0 => descriptors.push(Descriptor { bytes: length as u32, state }),
            _ => {}
        }
    }
    descriptors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_with_one_state_are_one_descriptor() {
        let extents = [(512, 1), (512, 2), (1024, 2), (512, 3)];
        let found = descriptors(&extents, 100, 1900, 10);
        let expected = [(412, 1), (1488, 2)];
        assert_eq!(found, expected.map(|(bytes, state)| Descriptor { bytes, state }));
        assert_eq!(descriptors(&extents, 0, 2560, 1), [Descriptor { bytes: 512, state: 1 }]);
    }
}
