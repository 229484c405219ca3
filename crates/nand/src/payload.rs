//! The contents of pages, in three modes that schemes cannot tell apart.
//!
//! *Count* mode keeps the owner of a page and nothing else: enough to simulate, not enough to
//! mount. *Stamps* mode keeps eight bytes for each sector, which name the sector and the write that
//! made it: enough to prove that no sector is lost, swapped or torn. *Bytes* mode keeps the data.

use core::iter::Empty;

use crate::address::{Lpn, Ppn, SectorMask};
use crate::geometry::{Geometry, SECTOR_BYTES};

/// How much of its pages a chip keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Owners only, 4 bytes per page; such a chip cannot be mounted again.
    Count,
    /// Full spare areas and a [`Stamp`] for each sector; metadata pages keep their bytes.
    Stamps,
    /// Full spare areas and all data.
    Bytes,
}

/// Bytes of a word of a sector.
const WORD: usize = 8;

/// A sector that describes itself: its address and the write that made it. A sector that was never
/// written is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp that write number `write` (from 1) leaves in sector `index` of page `lpn`.
    #[inline]
    pub fn new(lpn: Lpn, index: u32, sectors_per_page: u32, write: u32) -> Stamp {
        let sector = lpn.0.wrapping_mul(sectors_per_page).wrapping_add(index);
        Stamp(u64::from(write) << 32 | u64::from(sector))
    }

    /// The number of the write that made the sector; 0 for a sector never written.
    pub fn write(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The address of the sector, modulo 2³².
    pub fn sector(self) -> u32 {
        self.0 as u32
    }

    /// Writes the sector in bytes: the stamp, then words that follow from the stamp and their own
    /// places. So every part of the sector proves that it belongs to the rest.
    ///
    /// # Panics
    /// `sector` is no sector.
    pub fn write_sector(self, sector: &mut [u8]) {
        assert!(sector.len() == SECTOR_BYTES as usize, "a sector of {} bytes", sector.len());
        for (at, word) in sector.chunks_exact_mut(WORD).enumerate() {
            word.copy_from_slice(&self.word(at).to_le_bytes());
        }
    }

    /// The stamp of a sector in bytes; none if the sector is neither zero nor whole.
    ///
    /// # Panics
    /// `sector` is no sector.
    pub fn of_sector(sector: &[u8]) -> Option<Stamp> {
        assert!(sector.len() == SECTOR_BYTES as usize, "a sector of {} bytes", sector.len());
        let words = sector.chunks_exact(WORD);
        let mut words = words.map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")));
        let stamp = Stamp(words.next()?);
        match stamp {
            Stamp(0) => words.all(|word| word == 0).then_some(stamp),
            _ => words.zip(1..).all(|(word, at)| word == stamp.word(at)).then_some(stamp),
        }
    }

    /// A word of a sector in bytes. The first one is the stamp itself.
    fn word(self, at: usize) -> u64 {
        match at {
            0 => self.0,
            _ => (self.0 ^ (at as u64) << 56)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(at as u32),
        }
    }
}

/// Data that the host writes to consecutive pages.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// No data: the chip only counts.
    None,
    /// The number of the write, from 1; every sector gets its stamp.
    Stamp(u32),
    /// A stamp for each sector of all pages, as a buffer collects them from several writes. Stamps
    /// outside the masks have no meaning.
    Stamps(&'a [Stamp]),
    /// All bytes of all pages. Bytes outside the masks have no meaning.
    Bytes(&'a [u8]),
    /// Data that a layer has lost: nobody can read them from the pages that are written. Only whole
    /// pages are written so.
    Lost,
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

/// The data area of a page to be programmed.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A page of the host. Sectors in `mask` come from `data`; the others are copied from the page
    /// `base`, or are zero without one.
    Host {
        /// Data of the host; its first page is this page.
        data: Data<'a>,
        /// The sectors that the host wrote.
        mask: SectorMask,
        /// The page that supplies the other sectors; the caller counts its read.
        base: Option<Ppn>,
    },
    /// Sectors from several pages of the host, followed by metadata.
    Sectors {
        /// The sectors, a page of them.
        data: Data<'a>,
        /// The sectors that are used.
        mask: SectorMask,
        /// Metadata of the FTL. It occupies sectors outside `mask`.
        meta: &'a [u8],
    },
    /// Metadata of the FTL, at most a page.
    Meta(&'a [u8]),
    /// Nothing: the page is programmed only because the program order does not allow skipping it.
    Pad,
}

/// A page to be programmed. The chip adds the sequence and the version to its spare area.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The host's page, or [`Lpn::SYSTEM`].
    pub owner: Lpn,
    /// The role of the page, in the scheme's own code.
    pub kind: u8,
    /// Scheme bytes of the spare area.
    pub extra: &'a [u8],
    /// The data area.
    pub content: Content<'a>,
}

/// Pages to be programmed one after the other.
#[derive(Clone, Copy, Debug)]
pub enum Pages<'a> {
    /// One page with any content.
    One(&'a Page<'a>),
    /// Whole pages of the host with consecutive LPNs, without scheme bytes.
    Run {
        /// The LPN of the first page.
        first: Lpn,
        /// The number of pages.
        pages: u32,
        /// The role of all pages.
        kind: u8,
        /// Their data, one after the other.
        data: Data<'a>,
    },
    /// Whole pages of the host with any LPNs, without scheme bytes.
    List {
        /// The LPN of each page.
        lpns: &'a [u32],
        /// The role of all pages.
        kind: u8,
        /// Their data, one after the other.
        data: Data<'a>,
    },
}

impl<'a> From<&'a Page<'a>> for Pages<'a> {
    #[inline(always)]
    fn from(page: &'a Page<'a>) -> Pages<'a> {
        Pages::One(page)
    }
}

impl<'a> Pages<'a> {
    /// The number of pages.
    #[inline(always)]
    pub(crate) fn count(&self) -> u32 {
        match self {
            Pages::One(_) => 1,
            Pages::Run { pages, .. } => *pages,
            Pages::List { lpns, .. } => lpns.len() as u32,
        }
    }

    /// One of the pages.
    pub(crate) fn page(&self, index: u32, geometry: &Geometry) -> Page<'a> {
        let (owner, kind, data) = match *self {
            Pages::One(page) => return *page,
            Pages::Run { first, kind, data, .. } => (first.plus(index), kind, data),
            Pages::List { lpns, kind, data } => (Lpn(lpns[index as usize]), kind, data),
        };
        let data = data.from_page(index, geometry.page_bytes());
        let content = Content::Host { data, mask: geometry.full_mask(), base: None };
        Page { owner, kind, extra: &[], content }
    }
}

/// Pages to be copied, and what their copies do not inherit.
#[derive(Clone, Debug)]
pub struct Copies<'a, S = Empty<u32>> {
    pub(crate) from: &'a [Ppn],
    pub(crate) kind: Option<u8>,
    pub(crate) extra: Option<&'a [u8]>,
    pub(crate) around: Option<(Ppn, S)>,
}

impl<'a> Copies<'a> {
    /// Copies of these pages, with the kinds and the scheme bytes that they have.
    #[inline(always)]
    pub fn of(from: &'a [Ppn]) -> Copies<'a> {
        Copies { from, kind: None, extra: None, around: None }
    }
}

impl<'a, S> Copies<'a, S> {
    /// The same copies; all get the kind, if there is one.
    #[inline(always)]
    pub fn with_kind(self, kind: Option<u8>) -> Copies<'a, S> {
        Copies { kind, ..self }
    }

    /// The same copies; all get these scheme bytes.
    #[inline(always)]
    pub fn with_extra(self, extra: &'a [u8]) -> Copies<'a, S> {
        Copies { extra: Some(extra), ..self }
    }

    /// The same copies, made faster: all pages but a few strays are consecutive, page `n` at
    /// `base + n`. The caller guarantees it, and names the strays by their numbers.
    #[inline(always)]
    pub fn around<T: Iterator<Item = u32>>(self, base: Ppn, strays: T) -> Copies<'a, T> {
        let Copies { from, kind, extra, .. } = self;
        Copies { from, kind, extra, around: Some((base, strays)) }
    }
}

/// The destination of a read. The caller clears it first, because unmapped pages are not read and
/// leave their part of it as it is.
pub enum Sink<'a> {
    /// No destination: the chip only counts.
    None,
    /// One stamp for each sector.
    Stamps {
        /// The page at the start of `out`.
        first: Lpn,
        /// Stamps of consecutive pages.
        out: &'a mut [Stamp],
    },
    /// Bytes.
    Bytes {
        /// The page at the start of `out`.
        first: Lpn,
        /// Bytes of consecutive pages.
        out: &'a mut [u8],
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(write: u32) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR_BYTES as usize];
        Stamp::new(Lpn(3), 1, 2, write).write_sector(&mut bytes);
        bytes
    }

    #[test]
    fn a_sector_gives_its_stamp_back() {
        assert_eq!(Stamp::of_sector(&sector(9)), Some(Stamp::new(Lpn(3), 1, 2, 9)));
        assert_eq!(Stamp::of_sector(&[0; 512]), Some(Stamp::default()));
    }

    #[test]
    fn a_sector_of_two_writes_is_not_whole() {
        for end in (8..512).step_by(8) {
            let mixed = [&sector(9)[..end], &sector(10)[end..]].concat();
            assert_eq!(
                Stamp::of_sector(&mixed),
                None,
                "the first {end} bytes are of another write"
            );
            let part = [&sector(9)[..end], &vec![0; 512 - end]].concat();
            assert_eq!(Stamp::of_sector(&part), None, "only {end} bytes were written");
        }
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        for at in 0..512 {
            let mut bytes = sector(9);
            bytes[at] ^= 0x10;
            assert_eq!(Stamp::of_sector(&bytes), None, "byte {at}");
        }
        assert_eq!(Stamp::of_sector(&[0xEE; 512]), None);
    }
}
