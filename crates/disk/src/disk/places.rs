//! Where the bytes of the disk are: which of them are mapped, and in which blocks of the chip.

use ftl::{Extent, Span};
use nand::{BlockId, Lpn};

use super::{Disk, Mounted};
use crate::error::Result;

/// Consecutive bytes of pages that are all mapped, or all unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteExtent {
    /// Whether the pages are mapped. Unmapped ones read as zero.
    pub is_mapped: bool,
    /// Number of bytes, at least one.
    pub bytes: u64,
}

/// Consecutive bytes of pages whose newest versions are in one physical block, or on none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceExtent {
    /// The block; none for pages that are nowhere on the chip.
    pub block: Option<BlockId>,
    /// Number of bytes, at least one.
    pub bytes: u64,
}

impl Disk {
    /// The mapped and the unmapped parts of a range of bytes, in order. A range that begins or ends
    /// within a page is mapped where the page is. Neighbours are in different states. Counts no
    /// operation of the chip.
    ///
    /// # Errors
    /// The power is off, the disk is broken, or there are no such bytes.
    pub fn extents(&self, offset: u64, bytes: u64) -> Result<Vec<ByteExtent>> {
        let Some(span) = self.span(offset, bytes)? else { return Ok(Vec::new()) };
        let mounted = self.mounted()?;
        let extents = self.joined(&span, offset..offset + bytes, |lpn, after| {
            let Extent { is_mapped, pages } = mounted.ftl.extent(lpn..after);
            (is_mapped, pages)
        });
        Ok(extents.into_iter().map(|(is_mapped, bytes)| ByteExtent { is_mapped, bytes }).collect())
    }

    /// The physical blocks that hold a range of bytes, in order. Of a page whose sectors are in
    /// several places, the block with its newest sector counts. Neighbours differ. Counts no
    /// operation of the chip.
    ///
    /// # Errors
    /// As for [`extents`](Self::extents).
    pub fn places(&self, offset: u64, bytes: u64) -> Result<Vec<PlaceExtent>> {
        let Some(span) = self.span(offset, bytes)? else { return Ok(Vec::new()) };
        let Mounted { nand, ftl } = self.mounted()?;
        let extents = self.joined(&span, offset..offset + bytes, |lpn, _| {
            let place = ftl.place(nand, Lpn(lpn));
            (place.map(|ppn| nand.geometry().block_of(ppn)), 1)
        });
        Ok(extents.into_iter().map(|(block, bytes)| PlaceExtent { block, bytes }).collect())
    }

    /// Splits a range of bytes where the state of its pages changes. `look` returns the state of a
    /// page, and how many pages from it on, up to the end of the span, are in the same state.
    fn joined<S: PartialEq>(
        &self,
        span: &Span,
        range: core::ops::Range<u64>,
        look: impl Fn(u32, u32) -> (S, u32),
    ) -> Vec<(S, u64)> {
        let page_bytes = u64::from(self.device.geometry().page_bytes());
        let (mut extents, mut at) = (Vec::<(S, u64)>::new(), range.start);
        let (mut lpn, after) = (span.first, span.first + span.pages);
        while lpn < after {
            let (state, pages) = look(lpn, after);
            lpn += pages;
            let bytes = (u64::from(lpn) * page_bytes).min(range.end) - at;
            at += bytes;
            match extents.last_mut() {
                Some((last, before)) if *last == state => *before += bytes,
                _ => extents.push((state, bytes)),
            }
        }
        extents
    }
}
