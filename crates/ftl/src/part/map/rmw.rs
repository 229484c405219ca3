//! Read-modify-write: programming a page of which the host wrote only some sectors. The other
//! sectors are read from the newest version of the page.

use nand::{Cause, Content, Data, Lpn, Nand, Page, Ppn, SectorMask, Sink};

use crate::contract::Result;

/// Programs a page: the sectors in `mask` come from the host's `data`, the others from the page
/// `base`, which is read with cause rmw. Without a base the others are zero.
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
    read_rest(nand, owner, mask, base)?;
    let content = Content::Host { data, mask, base };
    Ok(nand.program(to, &Page { owner, kind, extra: &[], content }, Cause::Host)?)
}

/// Reads the sectors that are not in `mask` from the page `base`, if there is one, with cause rmw.
///
/// # Errors
/// The power fails, or the base cannot be read.
pub fn read_rest(nand: &mut Nand, owner: Lpn, mask: SectorMask, base: Option<Ppn>) -> Result<()> {
    let Some(old) = base else { return Ok(()) };
    let rest = nand.geometry().full_mask() & !mask;
    Ok(nand.read(old, owner, rest, &mut Sink::None, Cause::Rmw)?)
}
