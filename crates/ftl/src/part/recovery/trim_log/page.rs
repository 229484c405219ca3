//! Pages of the trim log: their format, as the head of [`trim_log`](super) describes it.

use core::ops::Range;

use crate::part::index::bit_set::BitSet;

pub(super) const HEADER_BYTES: usize = 16;
pub(super) const RANGE_BYTES: usize = 8;
pub(super) const VOID_BYTES: usize = 16;
pub(super) const RECORD: u32 = 0;
pub(super) const CHECKPOINT: u32 = 1;
pub(super) const VOIDS: u32 = 2;

/// Number of ranges that a record can name.
pub(super) fn ranges_per_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEADER_BYTES) / RANGE_BYTES
}

/// Number of void ranges that a page of a checkpoint can name.
pub(super) fn voids_per_page(page_bytes: u32) -> usize {
    (page_bytes as usize - HEADER_BYTES) / VOID_BYTES
}

/// Number of logical pages that one checkpoint page describes.
pub(super) fn window(page_bytes: u32) -> u32 {
    (page_bytes - HEADER_BYTES as u32) * 8
}

/// Starts a page with the words of its header.
pub(super) fn start(bytes: &mut Vec<u8>, words: [u32; 4]) {
    bytes.clear();
    words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
}

/// Appends ranges.
pub(super) fn put(bytes: &mut Vec<u8>, ranges: &[Range<u32>]) {
    for range in ranges {
        bytes.extend(range.start.to_le_bytes());
        bytes.extend((range.end - range.start).to_le_bytes());
    }
}

/// Passes the trims that a page of the log names to `add`. None if the page is malformed, or if
/// `add` refuses a trim.
pub(super) fn each_trim(bytes: &[u8], mut add: impl FnMut(Range<u32>) -> Option<()>) -> Option<()> {
    match word(bytes, 0)? {
        RECORD => ranges_in(bytes, 0..word(bytes, 1)?)?.into_iter().try_for_each(add),
        CHECKPOINT => {
            let (first, bits) = (word(bytes, 1)?, BitSet::from_bytes(bytes.get(HEADER_BYTES..)?));
            let mut runs = bits.runs(0..bits.bound());
            runs.try_for_each(|run| add(first.checked_add(run.start)?..first.checked_add(run.end)?))
        }
        _ => Some(()),
    }
}

/// Whether a page of the log names exactly these trims.
pub(super) fn names(bytes: &[u8], mut trims: impl Iterator<Item = Range<u32>>) -> bool {
    let all = each_trim(bytes, |pages| (trims.next() == Some(pages)).then_some(()));
    all.is_some() && trims.next().is_none()
}

/// The void pages that a page of the log names, and the places in the order of programs before
/// which they are void; none if it is malformed. A record has place `version`.
pub(super) fn voids_in(bytes: &[u8], version: u64) -> Option<Vec<(Range<u32>, u64)>> {
    match word(bytes, 0)? {
        RECORD => {
            let trims = word(bytes, 1)?;
            let ranges = ranges_in(bytes, trims..trims.checked_add(word(bytes, 2)?)?)?;
            Some(ranges.into_iter().map(|pages| (pages, version)).collect())
        }
        VOIDS => {
            let body = bytes.get(HEADER_BYTES..)?;
            let body = body.get(..(word(bytes, 1)? as usize).checked_mul(VOID_BYTES)?)?;
            let void = |bytes: &[u8]| {
                let (first, pages) = (word(bytes, 0)?, word(bytes, 1)?);
                let before = u64::from(word(bytes, 2)?) | u64::from(word(bytes, 3)?) << 32;
                Some((first..first.checked_add(pages)?, before))
            };
            body.chunks_exact(VOID_BYTES).map(void).collect()
        }
        _ => Some(Vec::new()),
    }
}

/// The ranges with these numbers.
fn ranges_in(bytes: &[u8], numbers: Range<u32>) -> Option<Vec<Range<u32>>> {
    let body = bytes.get(HEADER_BYTES..)?;
    let body = body.get(numbers.start as usize * RANGE_BYTES..)?;
    let body = body.get(..numbers.len() * RANGE_BYTES)?;
    let range = |range: &[u8]| {
        let first = word(range, 0)?;
        Some(first..first.checked_add(word(range, 1)?)?)
    };
    body.chunks_exact(RANGE_BYTES).map(range).collect()
}

pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(4 * at..4 * at + 4)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
