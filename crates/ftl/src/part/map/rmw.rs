//! Read-modify-write: programming a page of which the host wrote only some sectors. The other
//! sectors are read from the newest version of the page.
//!
//! If that version cannot be read, the page cannot be written. A write finds this out
//! [before](check_bases) it changes anything: afterwards it may have taken a free block, or have
//! programmed pages that refer to the one that is missing.

use nand::{Cause, Content, Lpn, Nand, Page, Pages, Ppn, SectorMask, Sink};

use crate::contract::{Result, Run};

/// Checks that the sectors which a run leaves out of its partial pages can be read. `newest` is the
/// place of the newest version of a page. The reads are counted when the pages are programmed, or
/// now if they fail.
///
/// # Errors
/// Such a page cannot be read; nothing was changed.
#[inline]
pub fn check_bases(nand: &mut Nand, run: &Run, newest: impl Fn(Lpn) -> Option<Ppn>) -> Result<()> {
    if nand.array().keeps_pages() { check_ends(nand, run, newest) } else { Ok(()) }
}

/// Checks the first and the last page: no other page can be partial.
#[cold]
#[inline(never)]
fn check_ends(nand: &mut Nand, run: &Run, newest: impl Fn(Lpn) -> Option<Ppn>) -> Result<()> {
    let full = nand.geometry().full_mask();
    let last = if run.pages > 1 { Some(run.pages - 1) } else { None };
    for index in core::iter::once(0).chain(last) {
        let (lpn, mask) = (run.first.plus(index), run.mask(index, full));
        let base = if mask == full { None } else { newest(lpn) };
        if let Some(ppn) = base
            && !nand.is_readable(ppn, lpn)?
        {
            read_rest(nand, lpn, mask, base)?;
        }
    }
    Ok(())
}

/// Programs pages of a run, from page `index` on, to `to` and the pages after it. Returns how many
/// it programmed: up to `most` whole pages, or a single page of which the host wrote only some
/// sectors. The others come from the page `base`, which is read with cause rmw; without a base they
/// are zero.
///
/// # Errors
/// The power fails, or the base cannot be read.
#[inline(always)]
pub fn program(
    nand: &mut Nand,
    (run, index, most): (&Run, u32, u32),
    to: Ppn,
    kind: u8,
    base: impl FnOnce(Lpn) -> Option<Ppn>,
) -> Result<u32> {
    let first = run.first.plus(index);
    let data = run.data.from_page(index, nand.geometry().page_bytes());
    let whole = run.whole_pages_from(index, nand.geometry().full_mask()).min(most);
    if whole > 0 {
        nand.program(to, Pages::Run { first, pages: whole, kind, data }, Cause::Host)?;
    } else {
        let mask = run.mask(index, nand.geometry().full_mask());
        let content = Content::Host { data, mask, base: base(first) };
        program_partial(nand, to, &Page { owner: first, kind, extra: &[], content })?;
    }
    Ok(whole.max(1))
}

/// Programs a page of which the host wrote some sectors, after reading the others.
#[inline(never)]
fn program_partial(nand: &mut Nand, to: Ppn, page: &Page) -> Result<()> {
    if let Content::Host { mask, base, .. } = page.content {
        read_rest(nand, page.owner, mask, base)?;
    }
    Ok(nand.program(to, page, Cause::Host)?)
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
