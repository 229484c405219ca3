//! A page of which the host gave only some sectors: the others are read from its newest version.

use nand::{Cause, Content, Data, Lpn, Nand, Page, Ppn, SectorMask, Sink};

use crate::contract::Result;

/// Programs the sectors in `mask` of the host's `data`, the others from the page `base`; its read
/// has cause rmw. Without a base they are zero.
///
/// # Errors
/// The power fails, or the base cannot be read.
pub fn program(
    nand: &mut Nand,
    to: Ppn,
    owner: Lpn,
    kind: u8,
    mask: SectorMask,
    data: Data,
    base: Option<Ppn>,
) -> Result<()> {
    if let Some(old) = base {
        let rest = nand.geometry().full_mask() & !mask;
        nand.read(old, owner, rest, &mut Sink::None, Cause::Rmw)?;
    }
    let content = Content::Host { data, mask, base };
    Ok(nand.program(to, &Page { owner, kind, extra: &[], content }, Cause::Host)?)
}
