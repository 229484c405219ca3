//! A small chip, and pages to program.

use nand::{
    Cause, Content, Data, Geometry, Lpn, Mode, Nand, Page, Ppn, ProgramOrder, Result, Sink, Stamp,
};

/// Eight blocks of four pages of four sectors.
pub fn chip(order: ProgramOrder, mode: Mode) -> Nand {
    Nand::new(Geometry::new(2048, 64, 4, 8, order).unwrap(), mode)
}

pub fn host(lpn: u32, write: u32) -> Page<'static> {
    let content = Content::Host { data: Data::Stamp(write), mask: 0b1111, base: None };
    Page { owner: Lpn(lpn), kind: 1, extra: &[], content }
}

pub fn program(nand: &mut Nand, ppn: u32, lpn: u32) {
    nand.program(Ppn(ppn), &host(lpn, 1), Cause::Host).unwrap();
}

pub fn stamps(nand: &mut Nand, ppn: u32, lpn: u32) -> Result<Vec<Stamp>> {
    let mut out = [Stamp::default(); 4];
    let mut sink = Sink::Stamps { first: Lpn(lpn), out: &mut out };
    nand.read(Ppn(ppn), Lpn(lpn), 0b1111, &mut sink, Cause::Host)?;
    Ok(out.to_vec())
}

pub fn written(lpn: u32, write: u32) -> Vec<Stamp> {
    (0..4).map(|index| Stamp::new(Lpn(lpn), index, 4, write)).collect()
}
