//! What the host writes to a chip that keeps bytes. A trace does not say it.
//!
//! Each sector begins with its address and the number of the write, as a [`Stamp`]; the rest are
//! random bytes that follow from the stamp. So no two sectors are equal, and nothing can be
//! compressed.

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
            let stamp = Stamp::new(lpn, index % per_page, per_page, self.write);
            fill(sector, u64::from(stamp.write()) << 32 | u64::from(stamp.sector()));
        }
        &self.bytes
    }
}

/// Writes the stamp, and random words after it (xorshift64*, Vigna 2016).
fn fill(sector: &mut [u8], stamp: u64) {
    let mut state = stamp;
    for (index, word) in sector.chunks_exact_mut(8).enumerate() {
        let value = if index == 0 { stamp } else { state.wrapping_mul(0x2545_F491_4F6C_DD1D) };
        word.copy_from_slice(&value.to_le_bytes());
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
    }
}
