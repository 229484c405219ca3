//! Pages of a sector log in flash: their format, and how a mount finds them.
//!
//! ```text
//! page    [s0 s1 s2 … sN]  spare [header kind 8 | address of s0 | of s1 | …]     if they fit there
//! page    [s0 s1 … | addresses ]  spare [header kind 8]        if not, under durability full
//! page    [trim               ]  spare [header kind 9]
//! ```
//! An *address* has five bytes: logical page × sectors per page + sector. The paper leaves recovery
//! open, but says that addresses go to the spare area and, if that is too small, to a small part of
//! the data area (§7). In that case the page holds one sector less. Under [`Durability::Paper`] the
//! data area keeps all its sectors: if the addresses do not fit the spare area, such a device
//! cannot be mounted again.
//!
//! A *trim* has eight bytes: first page (4) and number of pages (4). Sectors of these pages are
//! dead in log pages of a lower version.
//!
//! All numbers are little-endian.

use nand::geometry::SECTOR_BYTES;
use nand::spare::HEADER_BYTES;
use nand::{BlockId, Cause, Geometry, Lpn, Nand, Ppn, Spare};

use super::sector_ring::SectorRing;
use crate::contract::{Durability, Error, Result};
use crate::part::recovery::page_kind;
use crate::part::recovery::spare_scan::{PageCopy, SpareScan};

/// Bytes of an address.
const ADDRESS_BYTES: usize = 5;

/// A logical sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sector {
    /// Its logical page.
    pub lpn: Lpn,
    /// Its number in the page.
    pub index: u8,
}

impl Sector {
    /// No sector: padding.
    pub const NONE: Sector = Sector { lpn: Lpn::NONE, index: 0 };
}

/// A range of pages that the host trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrimmedRange {
    /// The first page.
    pub first: u32,
    /// Number of pages.
    pub pages: u32,
}

/// Where the addresses of the sectors in a log page are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// In its spare area.
    Spare,
    /// In its data area, in place of its last sector.
    Data,
    /// Nowhere: such a log cannot be mounted.
    Nowhere,
}

impl Addresses {
    /// Where addresses are stored on this chip.
    pub fn of(geometry: &Geometry, durability: Durability) -> Addresses {
        let bytes = geometry.sectors_per_page() as usize * ADDRESS_BYTES;
        match (bytes <= geometry.spare_bytes() as usize - HEADER_BYTES, durability) {
            (true, _) => Addresses::Spare,
            (false, Durability::Full) => Addresses::Data,
            (false, Durability::Paper) => Addresses::Nowhere,
        }
    }

    /// Number of sectors that a log page has room for, beside the addresses.
    pub fn sectors(self, geometry: &Geometry) -> u32 {
        geometry.sectors_per_page() - u32::from(self == Addresses::Data)
    }
}

const _: () = assert!(63 * ADDRESS_BYTES <= SECTOR_BYTES as usize);

/// Appends the address of a sector.
pub fn put_address(bytes: &mut Vec<u8>, sector: Sector, sectors_per_page: u32) {
    let number = u64::from(sector.lpn.0) * u64::from(sectors_per_page) + u64::from(sector.index);
    bytes.extend(&number.to_le_bytes()[..ADDRESS_BYTES]);
    let last = &bytes[bytes.len() - ADDRESS_BYTES..];
    debug_assert_eq!(addresses(last, sectors_per_page), [sector], "an address is misread");
}

/// Appends a trim.
pub fn put_trim(bytes: &mut Vec<u8>, trim: TrimmedRange) {
    bytes.extend(trim.first.to_le_bytes());
    bytes.extend(trim.pages.to_le_bytes());
}

// ---- Finding log pages at mount -----------------------------------------------------------------

/// The blocks of a device, as a mount of the log found them.
#[derive(Clone, Debug, Default)]
pub struct FoundBlocks {
    /// Blocks with pages of the log, the oldest first.
    pub used: Vec<BlockId>,
    /// Blocks without readable pages.
    pub blank: Vec<BlockId>,
    /// All other blocks: those of the FTL.
    pub foreign: Vec<BlockId>,
}

impl FoundBlocks {
    /// Sorts these blocks, of which `scan` holds the spare areas. The first readable page of a
    /// block tells whether the block belongs to the log. Blocks without readable pages come in the
    /// order in which the FTL should get them: first those that the FTL programmed during a mount
    /// that was never completed, because the FTL makes these pages void.
    pub fn of(blocks: &[BlockId], scan: &SpareScan) -> FoundBlocks {
        let mut found = FoundBlocks::default();
        for &block in blocks {
            match scan.copies_in(block).next() {
                None => found.blank.push(block),
                Some(first) if is_log(first.spare) => found.used.push(block),
                Some(_) => found.foreign.push(block),
            }
        }
        found.blank.sort_by_key(|&block| !scan.has_ignored(block));
        let first = |block| scan.copies_in(block).map(|copy| copy.spare.sequence).min();
        found.used.sort_by_key(|&block| first(block));
        found
    }
}

/// A log page that a mount found.
#[derive(Clone, Copy, Debug)]
pub struct FoundPage {
    /// Its physical page.
    pub ppn: Ppn,
    /// Its number in the log.
    pub number: u32,
    /// Its version.
    pub version: u64,
    /// The trim that it records.
    pub trim: Option<TrimmedRange>,
}

/// The contents of a log that a mount found.
#[derive(Debug)]
pub struct FoundPages {
    /// Readable pages, in the order in which they were programmed.
    pub pages: Vec<FoundPage>,
    /// The sector in each place of the log.
    pub held: Vec<Sector>,
}

impl FoundPages {
    /// Reads the readable pages of the log.
    ///
    /// # Errors
    /// The power is lost again, or a page holds something that no log can have written.
    pub fn read(
        nand: &mut Nand,
        scan: &SpareScan,
        ring: &SectorRing,
        logical_pages: u32,
    ) -> Result<FoundPages> {
        let per_page = nand.geometry().sectors_per_page();
        let held = vec![Sector::NONE; (ring.pages() * per_page) as usize];
        let mut found = FoundPages { pages: Vec::new(), held };
        for frame in ring.used() {
            let first = nand.geometry().first_page(ring.block(frame)).0;
            for PageCopy { ppn, spare } in scan.copies_in(ring.block(frame)) {
                let number = ring.pages_of(frame).start + ppn.0 - first;
                check_place(&found.pages, ppn, spare, ring.pages_of(frame).contains(&number))?;
                let (sectors, trim) = read(nand, ppn, spare, logical_pages)?;
                let places = &mut found.held[(number * per_page) as usize..];
                places.iter_mut().zip(sectors).for_each(|(place, sector)| *place = sector);
                found.pages.push(FoundPage { ppn, number, version: spare.version, trim });
            }
        }
        Ok(found)
    }
}

/// Checks that a log can have programmed a page after those that were found before it.
fn check_place(before: &[FoundPage], ppn: Ppn, spare: Spare, is_usable: bool) -> Result<()> {
    let strange = |what: &str| Err(Error::Unmountable(format!("page {} {what}", ppn.0)));
    if !is_usable {
        return strange("is beyond the part of its block that a log uses");
    }
    match before.last() {
        Some(last) if last.version >= spare.sequence => {
            strange("of the sector log is older than a page in a block before it")
        }
        _ => Ok(()),
    }
}

fn is_log(spare: Spare) -> bool {
    matches!(spare.kind, page_kind::SECTORS | page_kind::SECTOR_TRIMS)
}

/// Decodes a page of the log, of which the spare area has just been read. Returns its sectors, or
/// the trim that it records.
fn read(
    nand: &mut Nand,
    ppn: Ppn,
    spare: Spare,
    logical_pages: u32,
) -> Result<(Vec<Sector>, Option<TrimmedRange>)> {
    let per_page = nand.geometry().sectors_per_page();
    let strange = |what: &str| {
        let page = ppn.0;
        Error::Unmountable(format!("page {page} of the sector log {what}"))
    };
    if !is_log(spare) {
        return Err(strange("is followed by a page that does not belong to the log"));
    }
    let in_spare = nand.array().peek_spare(ppn)?.map_or_else(Vec::new, |(_, bytes)| bytes.to_vec());
    let bytes = match in_spare.is_empty() {
        true => nand.read_meta(ppn, Cause::Meta)?,
        false => &in_spare,
    };
    let (mut sectors, mut trim) = (Vec::new(), None);
    match spare.kind {
        page_kind::SECTORS => sectors = addresses(bytes, per_page),
        _ => trim = trim_in(bytes),
    }
    if sectors.is_empty() && trim.is_none() {
        return Err(strange("does not say what it holds: it was written under durability paper"));
    }
    if sectors.len() > per_page as usize {
        return Err(strange("names more sectors than it holds"));
    }
    let beyond = sectors.iter().any(|sector| sector.lpn.0 >= logical_pages)
        || trim.is_some_and(|trim| trim.first.saturating_add(trim.pages) > logical_pages);
    match beyond {
        true => Err(strange("names pages beyond the capacity")),
        false => Ok((sectors, trim)),
    }
}

fn addresses(bytes: &[u8], per_page: u32) -> Vec<Sector> {
    let address = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..ADDRESS_BYTES].copy_from_slice(bytes);
        let number = u64::from_le_bytes(wide);
        let lpn = u32::try_from(number / u64::from(per_page)).unwrap_or(u32::MAX);
        Sector { lpn: Lpn(lpn), index: (number % u64::from(per_page)) as u8 }
    };
    bytes.chunks_exact(ADDRESS_BYTES).map(address).collect()
}

fn trim_in(bytes: &[u8]) -> Option<TrimmedRange> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    Some(TrimmedRange { first: word(0)?, pages: word(4)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::{Content, Mode, Page, Ppn, ProgramOrder};

    #[test]
    fn addresses_and_trims_are_read_as_they_were_written() {
        let sectors = [(0, 0), (7, 3), (u32::MAX - 2, 63)];
        let sectors = sectors.map(|(lpn, index)| Sector { lpn: Lpn(lpn), index });
        let mut bytes = Vec::new();
        sectors.iter().for_each(|&sector| put_address(&mut bytes, sector, 64));
        assert_eq!((bytes.len(), addresses(&bytes, 64)), (15, sectors.to_vec()));
        let mut bytes = Vec::new();
        let written = TrimmedRange { first: 3, pages: 900 };
        put_trim(&mut bytes, written);
        assert_eq!((bytes.len(), trim_in(&bytes)), (8, Some(written)));
        assert_eq!(trim_in(&bytes[1..]), None);
    }

    #[test]
    fn addresses_are_stored_where_they_fit() {
        let of = |page_bytes, spare_bytes, durability| {
            let order = ProgramOrder::Sequential;
            let geometry = Geometry::new(page_bytes, spare_bytes, 4, 4, order).unwrap();
            let addresses = Addresses::of(&geometry, durability);
            (addresses, addresses.sectors(&geometry))
        };
        let (paper, full) = (Durability::Paper, Durability::Full);
        assert_eq!(of(2048, 40, full), (Addresses::Spare, 4), "20 + 4 × 5 bytes");
        assert_eq!(of(2048, 39, full), (Addresses::Data, 3));
        assert_eq!(of(2048, 39, paper), (Addresses::Nowhere, 4));
        assert_eq!(of(32 << 10, 1024, full), (Addresses::Spare, 64));
        assert_eq!(of(32 << 10, 64, full), (Addresses::Data, 63));
    }

    #[test]
    fn blocks_of_a_mount_that_never_committed_come_before_other_blank_ones() {
        let geometry = Geometry::new(512, 64, 4, 4, ProgramOrder::Sequential).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
        let page = Page { owner: Lpn(5), kind: 1, extra: &[], content: Content::Pad };
        for ppn in [4, 8] {
            nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
        }
        let blocks = [0, 1, 2, 3].map(BlockId);
        let mut scan = SpareScan::read(&mut nand, &blocks).unwrap();
        scan.ignore(|copy| copy.ppn == Ppn(8));
        let found = FoundBlocks::of(&blocks, &scan);
        assert_eq!(
            (found.foreign, found.blank),
            (vec![blocks[1]], [2, 0, 3].map(BlockId).to_vec())
        );
    }
}
