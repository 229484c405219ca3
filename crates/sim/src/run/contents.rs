//! What the host writes to a chip that keeps bytes. A trace does not say it.
//!
//! Each sector is that of its [`Stamp`]: it names its address and the number of the write. No two
//! sectors are equal.

use ftl::Run;
use nand::geometry::SECTOR_BYTES;
use nand::{Geometry, Stamp};

/// The contents of the next write.
#[derive(Debug, Default)]
pub struct Contents {
    write: u32,
    bytes: Vec<u8>,
}

impl Contents {
    /// Goes on to the next write.
    pub fn next_write(&mut self) {
        self.write = self.write.wrapping_add(1).max(1);
    }

    /// All bytes of the pages of a run.
    pub fn pages(&mut self, run: &Run, geometry: &Geometry) -> &[u8] {
        let per_page = geometry.sectors_per_page();
        let sectors = run.pages * per_page;
        self.bytes.resize(sectors as usize * SECTOR_BYTES as usize, 0);
        let bytes = self.bytes.chunks_exact_mut(SECTOR_BYTES as usize);
        for (index, sector) in (0..sectors).zip(bytes) {
            let lpn = run.first.plus(index / per_page);
            Stamp::new(lpn, index % per_page, per_page, self.write).write_sector(sector);
        }
        &self.bytes
    }
}
