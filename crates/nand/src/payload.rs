//! What pages hold, in three modes that schemes cannot tell apart.
//!
//! *Count* keeps a page's owner and nothing else: enough to simulate, not to mount. *Stamps* keeps
//! eight bytes a sector that say which sector they are and which write made them: enough to prove
//! that nothing is lost, swapped or shorn. *Bytes* keeps the data.

use crate::address::{Lpn, Ppn, SectorMask};
use crate::geometry::SECTOR_BYTES;

/// How much of its pages a chip keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Owners only, 4 bytes a page; such a chip cannot be mounted again.
    Count,
    /// Full spare areas and a [`Stamp`] a sector; metadata pages keep their bytes.
    Stamps,
    /// Full spare areas and all bytes, in memory.
    Bytes,
}

/// A self-describing sector: who it is and which write made it. Zero is a sector never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp that write number `write` (from 1) leaves in sector `index` of page `lpn`.
    #[inline]
    pub fn new(lpn: Lpn, index: u32, sectors_per_page: u32, write: u32) -> Stamp {
        let sector = lpn.0.wrapping_mul(sectors_per_page).wrapping_add(index);
        Stamp(u64::from(write) << 32 | u64::from(sector))
    }

    /// The number of the write that made it; 0 for a sector never written.
    pub fn write(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The sector it belongs to, modulo 2³².
    pub fn sector(self) -> u32 {
        self.0 as u32
    }
}

/// The host's data for consecutive pages.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// None: the chip only counts.
    None,
    /// Write number (from 1) whose stamp every sector gets.
    Stamp(u32),
    /// A stamp for each sector of all pages, those outside the masks without meaning: what several
    /// writes left in a buffer.
    Stamps(&'a [Stamp]),
    /// All bytes of all pages, those outside the masks without meaning.
    Bytes(&'a [u8]),
}

impl<'a> Data<'a> {
    /// The data from page `index` on.
    #[inline]
    pub fn from_page(self, index: u32, page_bytes: u32) -> Data<'a> {
        match self {
            Data::Bytes(bytes) => Data::Bytes(&bytes[index as usize * page_bytes as usize..]),
            Data::Stamps(stamps) => {
                let sectors_per_page = page_bytes / SECTOR_BYTES;
                Data::Stamps(&stamps[(index * sectors_per_page) as usize..])
            }
            other => other,
        }
    }
}

/// What a page is to hold.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Sectors in `mask` from the host's `data`, the others from the page `base`, or zero.
    Host {
        /// The host's data; its first page is this page.
        data: Data<'a>,
        /// The sectors that the host wrote.
        mask: SectorMask,
        /// The page that the other sectors come from; its read is booked by the caller.
        base: Option<Ppn>,
    },
    /// Sectors of several pages of the host's, side by side as `data` has them, and bytes of the
    /// FTL's own that take the place of the sectors not in `mask`.
    Sectors {
        /// A page of sectors, whoever they belong to.
        data: Data<'a>,
        /// The sectors that are used.
        mask: SectorMask,
        /// Bytes of the FTL's own.
        meta: &'a [u8],
    },
    /// Bytes of the FTL's own, at most a page.
    Meta(&'a [u8]),
    /// Nothing: a page programmed only because the next one must be.
    Pad,
}

/// Where a read goes. The caller clears it first: pages that nothing maps are simply not put.
pub enum Sink<'a> {
    /// Nowhere: the chip only counts.
    None,
    /// One stamp a sector, from page `first` on.
    Stamps {
        /// The page at the start of `out`.
        first: Lpn,
        /// Stamps of consecutive pages.
        out: &'a mut [Stamp],
    },
    /// Bytes, from page `first` on.
    Bytes {
        /// The page at the start of `out`.
        first: Lpn,
        /// Bytes of consecutive pages.
        out: &'a mut [u8],
    },
}

/// Contents of pages, side by side: those of a block, or of a buffer above the flash. `offset`
/// counts pages.
#[derive(Clone, Debug)]
pub enum Cells {
    /// A stamp a sector.
    Stamps(Vec<Stamp>),
    /// All bytes.
    Bytes(Vec<u8>),
}

impl Cells {
    /// So many pages of zeroes, for a chip in this mode.
    pub fn new(mode: Mode, pages: u32, sectors_per_page: u32) -> Cells {
        let sectors = pages as usize * sectors_per_page as usize;
        match mode {
            Mode::Bytes => Cells::Bytes(vec![0; sectors * SECTOR_BYTES as usize]),
            _ => Cells::Stamps(vec![Stamp::default(); sectors]),
        }
    }

    /// A page's contents, apart from its block.
    pub(crate) fn page(&self, offset: u32, sectors_per_page: u32) -> Cells {
        let span = sector_span(offset, sectors_per_page);
        match self {
            Cells::Stamps(all) => Cells::Stamps(all[span].to_vec()),
            Cells::Bytes(all) => Cells::Bytes(all[byte_span(span)].to_vec()),
        }
    }

    /// Lays a page's contents (or, for none, zeroes) at `offset`.
    pub fn put(&mut self, offset: u32, sectors_per_page: u32, page: Option<&Cells>) {
        self.copy(offset, sectors_per_page, page.map(|page| (page, 0)));
    }

    /// Lays the contents of the page at some offset elsewhere (or, for none, zeroes) at `offset`.
    pub fn copy(&mut self, offset: u32, sectors_per_page: u32, from: Option<(&Cells, u32)>) {
        let span = sector_span(offset, sectors_per_page);
        match (self, from) {
            (Cells::Stamps(all), Some((Cells::Stamps(other), at))) => {
                all[span].copy_from_slice(&other[sector_span(at, sectors_per_page)]);
            }
            (Cells::Stamps(all), _) => all[span].fill(Stamp::default()),
            (Cells::Bytes(all), Some((Cells::Bytes(other), at))) => {
                let from = byte_span(sector_span(at, sectors_per_page));
                all[byte_span(span)].copy_from_slice(&other[from]);
            }
            (Cells::Bytes(all), _) => all[byte_span(span)].fill(0),
        }
    }

    /// Lays the host's sectors of page `lpn` over what stands at `offset`.
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
                _ => panic!("the host's data do not fit the chip's payload mode"),
            }
        }
    }

    /// Hands the sectors in `mask` of the page at `offset`, which is `lpn`, to the sink.
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
            let to = |first: &Lpn| ((lpn.0 - first.0) * sectors_per_page + index) as usize;
            match (self, &mut *sink) {
                (_, Sink::None) => return,
                (Cells::Stamps(all), Sink::Stamps { first, out }) => out[to(first)] = all[at],
                (Cells::Bytes(all), Sink::Bytes { first, out }) => {
                    let to = to(first);
                    out[byte_span(to..to + 1)].copy_from_slice(&all[byte_span(at..at + 1)]);
                }
                _ => panic!("the sink does not fit the chip's payload mode"),
            }
        }
    }

    /// The pages from `offset` on, as a host would hand them over.
    pub fn data(&self, offset: u32, sectors_per_page: u32) -> Data<'_> {
        let first = sector_span(offset, sectors_per_page).start;
        match self {
            Cells::Stamps(all) => Data::Stamps(&all[first..]),
            Cells::Bytes(all) => Data::Bytes(&all[byte_span(first..first).start..]),
        }
    }

    /// A sink that fills the page at `offset` with what is read of `lpn`.
    pub fn sink(&mut self, offset: u32, sectors_per_page: u32, lpn: Lpn) -> Sink<'_> {
        let span = sector_span(offset, sectors_per_page);
        match self {
            Cells::Stamps(all) => Sink::Stamps { first: lpn, out: &mut all[span] },
            Cells::Bytes(all) => Sink::Bytes { first: lpn, out: &mut all[byte_span(span)] },
        }
    }
}

fn sector_span(offset: u32, sectors_per_page: u32) -> core::ops::Range<usize> {
    let first = offset as usize * sectors_per_page as usize;
    first..first + sectors_per_page as usize
}

fn byte_span(sectors: core::ops::Range<usize>) -> core::ops::Range<usize> {
    let sector = SECTOR_BYTES as usize;
    sectors.start * sector..sectors.end * sector
}
