//! The bytes of a page: its record, which holds the spare area, and its data area.
//!
//! The record has a checksum of its own, which covers the checksum of the data area. So a spare
//! area can be checked without reading the data.

use nand::Geometry;
use nand::Ppn;
use nand::geometry::SECTOR_BYTES;
use nand::page_store::PageRecord;
use nand::spare::HEADER_BYTES;

use crate::format::bytes::{put, u16_at, u32_at, u64_at};
use crate::format::checksum::checksum;
use crate::format::layout::{COUNT_MAX, Layout, RECORD_HEAD_BYTES};

const HEADER_AT: usize = 32;

/// A page as the file holds it.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(crate) record: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

/// The checksum of a record, which the journal repeats.
pub(crate) fn record_crc(record: &[u8]) -> u32 {
    u32_at(record, 0)
}

/// Encodes a page with the sectors `cells`.
///
/// # Errors
/// Sectors and metadata do not fit into the page.
pub(crate) fn encode(
    layout: &Layout,
    number: u64,
    ppn: Ppn,
    page: &PageRecord,
    cells: &[u8],
    to: &mut Encoded,
) -> Result<(), String> {
    to.data.clear();
    to.data.extend_from_slice(cells);
    to.data.resize(layout.geometry.page_bytes() as usize, 0);
    let meta_sectors = place_meta(&mut to.data, &page.meta)
        .ok_or_else(|| format!("the metadata of page {} do not fit beside its sectors", ppn.0))?;

    to.record.clear();
    to.record.resize(layout.record_bytes(), 0);
    let record = &mut to.record[..];
    put(record, 4, &checksum(&to.data).to_le_bytes());
    put(record, 8, &number.to_le_bytes());
    put(record, 16, &ppn.0.to_le_bytes());
    put(record, 20, &(page.extra.len() as u16).to_le_bytes());
    put(record, 22, &(page.meta.len() as u16).to_le_bytes());
    put(record, 24, &meta_sectors.to_le_bytes());
    put(record, HEADER_AT, &page.header.bytes(ppn, &page.extra));
    put(record, RECORD_HEAD_BYTES, &page.extra);
    seal(record);
    Ok(())
}

/// Sets the checksum of a record.
fn seal(record: &mut [u8]) {
    let crc = checksum(&record[4..]);
    put(record, 0, &crc.to_le_bytes());
}

/// Puts metadata into sectors that the host does not use, and returns which these are. A page of
/// metadata alone begins with them; else they lie as far behind as they can.
fn place_meta(data: &mut [u8], meta: &[u8]) -> Option<u64> {
    let bytes = SECTOR_BYTES as usize;
    let needed = meta.len().div_ceil(bytes);
    let unused: Vec<usize> = (0..data.len() / bytes)
        .filter(|at| data[at * bytes..][..bytes].iter().all(|byte| *byte == 0))
        .collect();
    let skipped = unused.len().checked_sub(needed)?;
    let first = if unused.len() == data.len() / bytes { 0 } else { skipped };
    let mut mask = 0;
    for (sector, part) in unused[first..].iter().zip(meta.chunks(bytes)) {
        put(data, sector * bytes, part);
        mask |= 1 << sector;
    }
    Some(mask)
}

/// A checked record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    meta_len: usize,
    extra_len: usize,
    meta_sectors: u64,
}

impl<'a> Record<'a> {
    /// Checks the record of page `ppn`; none if it is not whole, or of another page.
    pub(crate) fn check(bytes: &'a [u8], geometry: &Geometry, ppn: Ppn) -> Option<Record<'a>> {
        let (extra_len, meta_len) = (u16_at(bytes, 20).into(), u16_at(bytes, 22).into());
        let meta_sectors = u64_at(bytes, 24);
        let meta_room = (meta_sectors.count_ones() * SECTOR_BYTES) as usize;
        let whole = u32_at(bytes, 0) == checksum(&bytes[4..]);
        let possible = u32_at(bytes, 16) == ppn.0
            && u64_at(bytes, 8) <= COUNT_MAX
            && extra_len <= geometry.scheme_bytes() as usize
            && meta_len <= meta_room
            && meta_sectors & !geometry.full_mask() == 0;
        (whole && possible).then_some(Record { bytes, meta_len, extra_len, meta_sectors })
    }

    /// The page that the bytes of a record name, and the operation that wrote it. Neither is
    /// checked.
    pub(crate) fn names(bytes: &[u8]) -> (Ppn, u64) {
        (Ppn(u32_at(bytes, 16)), u64_at(bytes, 8))
    }

    /// The header of the spare area.
    pub(crate) fn header(&self) -> [u8; HEADER_BYTES] {
        self.bytes[HEADER_AT..RECORD_HEAD_BYTES].try_into().expect("a header")
    }

    /// The scheme bytes of the spare area.
    pub(crate) fn extra(&self) -> &'a [u8] {
        &self.bytes[RECORD_HEAD_BYTES..][..self.extra_len]
    }

    /// Whether this is the data area that was written with the record.
    pub(crate) fn fits(&self, data: &[u8]) -> bool {
        u32_at(self.bytes, 4) == checksum(data)
    }

    /// Moves metadata out of a data area.
    pub(crate) fn take_meta(&self, data: &mut [u8], meta: &mut Vec<u8>) {
        meta.clear();
        let sectors = data.chunks_exact_mut(SECTOR_BYTES as usize).enumerate();
        for (_, sector) in sectors.filter(|(at, _)| self.meta_sectors >> at & 1 == 1) {
            meta.extend_from_slice(sector);
            sector.fill(0);
        }
        meta.truncate(self.meta_len);
    }
}

/// The same record with another header.
pub(crate) fn with_header(record: &[u8], header: &[u8; HEADER_BYTES]) -> Vec<u8> {
    let mut record = record.to_vec();
    put(&mut record, HEADER_AT, header);
    seal(&mut record);
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_first_if_they_are_alone_and_else_behind() {
        let bytes = SECTOR_BYTES as usize;
        let mut alone = vec![0; 4 * bytes];
        assert_eq!(place_meta(&mut alone, &vec![7; bytes + 1]), Some(0b0011));
        assert_eq!(alone[..bytes + 2], [vec![7; bytes + 1], vec![0]].concat());
        let mut shared = [vec![1; bytes], vec![0; 3 * bytes]].concat();
        assert_eq!(place_meta(&mut shared, &[7; 9]), Some(0b1000));
        assert_eq!(shared[3 * bytes..][..10], [7, 7, 7, 7, 7, 7, 7, 7, 7, 0]);
        assert_eq!(place_meta(&mut vec![1; 4 * bytes], &[7; 9]), None);
    }
}
