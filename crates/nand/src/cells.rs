//! Data areas of several pages side by side: those of a block, or of a buffer above the flash.

use core::ops::Range;

use crate::address::{Lpn, SectorMask};
use crate::geometry::SECTOR_BYTES;
use crate::payload::{Data, Mode, Sink, Stamp};

/// Data areas of pages. An `offset` counts pages.
#[derive(Clone, Debug)]
pub enum Cells {
    /// A stamp for each sector.
    Stamps(Vec<Stamp>),
    /// All bytes.
    Bytes(Vec<u8>),
}

impl Cells {
    /// `pages` pages of zeroes, for a chip in this mode.
    pub fn new(mode: Mode, pages: u32, sectors_per_page: u32) -> Cells {
        let sectors = pages as usize * sectors_per_page as usize;
        match mode {
            Mode::Bytes => Cells::Bytes(vec![0; sectors * SECTOR_BYTES as usize]),
            _ => Cells::Stamps(vec![Stamp::default(); sectors]),
        }
    }

    /// Bytes of memory for a page; none on a chip that only counts, which needs no cells.
    pub fn bytes_of_page(mode: Mode, sectors_per_page: u32) -> u64 {
        let sector_bytes = match mode {
            Mode::Count => 0,
            Mode::Stamps => size_of::<Stamp>() as u64,
            Mode::Bytes => SECTOR_BYTES.into(),
        };
        u64::from(sectors_per_page) * sector_bytes
    }

    /// Shrinks or grows to one page, all zero.
    pub(crate) fn clear_to_page(&mut self, sectors_per_page: u32) {
        let sectors = sectors_per_page as usize;
        match self {
            Cells::Stamps(all) => {
                all.clear();
                all.resize(sectors, Stamp::default());
            }
            Cells::Bytes(all) => {
                all.clear();
                all.resize(sectors * SECTOR_BYTES as usize, 0);
            }
        }
    }

    /// Shrinks or grows to one page with these stamps.
    pub(crate) fn clear_to_stamps(&mut self, stamps: impl Iterator<Item = Stamp>) {
        match self {
            Cells::Stamps(all) => {
                all.clear();
                all.extend(stamps);
            }
            Cells::Bytes(_) => panic!("the cells have different payload modes"),
        }
    }

    /// Shrinks or grows to one page with these bytes.
    pub(crate) fn clear_to_bytes(&mut self, page: &[u8]) {
        match self {
            Cells::Bytes(all) => {
                all.clear();
                all.extend_from_slice(page);
            }
            Cells::Stamps(_) => panic!("the host's data do not fit the chip's payload mode"),
        }
    }

    /// Replaces the page at `offset` by a page of other cells, or by zeroes.
    pub fn copy(&mut self, offset: u32, sectors_per_page: u32, from: Option<(&Cells, u32)>) {
        let to = sector_span(offset, sectors_per_page);
        let from = from.map(|(other, at)| (other, sector_span(at, sectors_per_page)));
        match (self, from) {
            (Cells::Stamps(all), None) => all[to].fill(Stamp::default()),
            (Cells::Bytes(all), None) => all[byte_span(to)].fill(0),
            (Cells::Stamps(all), Some((Cells::Stamps(other), from))) => {
                all[to].copy_from_slice(&other[from]);
            }
            (Cells::Bytes(all), Some((Cells::Bytes(other), from))) => {
                all[byte_span(to)].copy_from_slice(&other[byte_span(from)]);
            }
            _ => panic!("the cells have different payload modes"),
        }
    }

    /// Overwrites the sectors in `mask` of the page at `offset`, which is `lpn`, with data of the
    /// host. Lost data leave the page as it is.
    pub fn overlay(
        &mut self,
        offset: u32,
        sectors_per_page: u32,
        lpn: Lpn,
        mask: SectorMask,
        data: Data,
    ) {
        let first = offset as usize * sectors_per_page as usize;
        for index in (0..sectors_per_page).filter(|index| mask >> index & 1 == 1) {
            let at = first + index as usize;
            match (&mut *self, data) {
                (Cells::Stamps(all), Data::Stamp(write)) => {
                    all[at] = Stamp::new(lpn, index, sectors_per_page, write);
                }
                (Cells::Stamps(all), Data::Stamps(stamps)) => all[at] = stamps[index as usize],
                (Cells::Bytes(all), Data::Bytes(bytes)) => {
                    let from = byte_span(index as usize..index as usize + 1);
                    all[byte_span(at..at + 1)].copy_from_slice(&bytes[from]);
                }
                (_, Data::Lost) => return,
                _ => panic!("the host's data do not fit the chip's payload mode"),
            }
        }
    }

    /// Copies the sectors in `mask` of the page at `offset`, which is `lpn`, to the sink.
    pub fn read(
        &self,
        offset: u32,
        sectors_per_page: u32,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
    ) {
        for index in (0..sectors_per_page).filter(|index| mask >> index & 1 == 1) {
            let at = offset as usize * sectors_per_page as usize + index as usize;
            match (self, &mut *sink) {
                (_, Sink::None) => return,
                (Cells::Stamps(all), Sink::Stamps { first, out }) => {
                    out[((lpn.0 - first.0) * sectors_per_page + index) as usize] = all[at];
                }
                (Cells::Bytes(all), sink @ Sink::Bytes { .. }) => {
                    let page = &all[byte_span(sector_span(offset, sectors_per_page))];
                    return read_bytes(page, sectors_per_page, lpn, mask, sink);
                }
                _ => panic!("the sink does not fit the chip's payload mode"),
            }
        }
    }

    /// The pages from `offset` on, as data of a host.
    pub fn data(&self, offset: u32, sectors_per_page: u32) -> Data<'_> {
        let first = sector_span(offset, sectors_per_page).start;
        match self {
            Cells::Stamps(all) => Data::Stamps(&all[first..]),
            Cells::Bytes(all) => Data::Bytes(&all[byte_span(first..first).start..]),
        }
    }

    /// A sink that fills the page at `offset` with what is read of page `lpn`.
    pub fn sink(&mut self, offset: u32, sectors_per_page: u32, lpn: Lpn) -> Sink<'_> {
        let span = sector_span(offset, sectors_per_page);
        match self {
            Cells::Stamps(all) => Sink::Stamps { first: lpn, out: &mut all[span] },
            Cells::Bytes(all) => Sink::Bytes { first: lpn, out: &mut all[byte_span(span)] },
        }
    }
}

/// Copies the sectors in `mask` of the bytes of page `lpn` to the sink, consecutive ones at once.
pub(crate) fn read_bytes(
    page: &[u8],
    sectors_per_page: u32,
    lpn: Lpn,
    mask: SectorMask,
    sink: &mut Sink,
) {
    let (first, out) = match sink {
        Sink::None => return,
        Sink::Bytes { first, out } => (first, out),
        Sink::Stamps { .. } => panic!("the sink does not fit the chip's payload mode"),
    };
    let start = ((lpn.0 - first.0) * sectors_per_page) as usize;
    let mut index = 0;
    while index < sectors_per_page && mask >> index != 0 {
        index += (mask >> index).trailing_zeros();
        let end = sectors_per_page.min(index + (mask >> index).trailing_ones());
        let [from, to] = [index as usize, end as usize];
        out[byte_span(start + from..start + to)].copy_from_slice(&page[byte_span(from..to)]);
        index = end;
    }
}

fn sector_span(offset: u32, sectors_per_page: u32) -> Range<usize> {
    let first = offset as usize * sectors_per_page as usize;
    first..first + sectors_per_page as usize
}

fn byte_span(sectors: Range<usize>) -> Range<usize> {
    let sector = SECTOR_BYTES as usize;
    sectors.start * sector..sectors.end * sector
}
