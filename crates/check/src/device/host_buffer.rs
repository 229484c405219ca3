//! Sectors on their way between host and device: stamps, or bytes that say the same.

use nand::geometry::SECTOR_BYTES;
use nand::{Data, Lpn, Sink, Stamp};

use crate::finding::{Defect, Finding};
use crate::flash::Storage;
use crate::workload::host_operation::{Dimensions, Extent};

const SECTOR: usize = SECTOR_BYTES as usize;

/// Bytes that a host leaves in its buffer outside the sectors that it writes. They must not matter.
const GARBAGE: u8 = 0xEE;

/// The buffer of a host. A device in memory takes stamps, one on an image takes bytes.
#[derive(Debug)]
pub struct HostBuffer {
    storage: Storage,
    dimensions: Dimensions,
    stamps: Vec<Stamp>,
    bytes: Vec<u8>,
}

impl HostBuffer {
    /// An empty buffer.
    pub fn new(storage: Storage, dimensions: Dimensions) -> HostBuffer {
        HostBuffer { storage, dimensions, stamps: Vec::new(), bytes: Vec::new() }
    }

    /// The stamps that were read last.
    pub fn stamps(&self) -> &[Stamp] {
        &self.stamps
    }

    /// Takes these stamps for what was read.
    pub fn set(&mut self, stamps: Vec<Stamp>) {
        self.stamps = stamps;
    }

    /// The data of a write.
    pub fn fill(&mut self, extent: &Extent, number: u32) -> Data<'_> {
        if self.storage == Storage::Memory {
            return Data::Stamp(number);
        }
        self.clear(extent, GARBAGE);
        let per_page = self.dimensions.sectors_per_page;
        for (sector, _) in extent.sectors(per_page, self.dimensions.full()) {
            let at = (sector - extent.first * per_page) as usize;
            let stamp = Stamp::new(Lpn(sector), 0, 1, number);
            stamp.write_sector(&mut self.bytes[at * SECTOR..][..SECTOR]);
        }
        Data::Bytes(&self.bytes)
    }

    /// The destination of a read. Afterwards, [`take`](Self::take) finds the stamps.
    pub fn sink(&mut self, extent: &Extent) -> Sink<'_> {
        let first = extent.first_lpn();
        self.clear(extent, 0);
        match self.storage {
            Storage::Memory => Sink::Stamps { first, out: &mut self.stamps },
            Storage::Image => Sink::Bytes { first, out: &mut self.bytes },
        }
    }

    /// Finds the stamps of the sectors that were read.
    ///
    /// # Errors
    /// A sector is neither zero nor whole.
    pub fn take(&mut self, extent: &Extent) -> Result<(), Finding> {
        let per_page = self.dimensions.sectors_per_page;
        let sectors = self.bytes.chunks_exact(SECTOR);
        for (at, (stamp, sector)) in (0..).zip(self.stamps.iter_mut().zip(sectors)) {
            *stamp = Stamp::of_sector(sector).ok_or_else(|| {
                let (page, index) = (extent.first + at / per_page, at % per_page);
                let why = format!("Lpn({page}) sector {index} is neither zero nor whole");
                Finding::new(Defect::Mangled, why)
            })?;
        }
        Ok(())
    }

    /// Makes room for an extent: blank stamps, and bytes of this value on an image.
    fn clear(&mut self, extent: &Extent, byte: u8) {
        let sectors = (extent.pages * self.dimensions.sectors_per_page) as usize;
        self.stamps.clear();
        self.stamps.resize(sectors, Stamp::default());
        self.bytes.clear();
        if self.storage == Storage::Image {
            self.bytes.resize(sectors * SECTOR, byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSIONS: Dimensions =
        Dimensions { pages: 4, pages_per_block: 2, sectors_per_page: 2, extra_pages: 4 };

    fn buffer() -> HostBuffer {
        HostBuffer::new(Storage::Image, DIMENSIONS)
    }

    #[test]
    fn bytes_outside_a_write_are_not_what_a_device_may_show() {
        let (mut buffer, extent) =
            (buffer(), Extent { first: 1, pages: 1, head: 0b10, tail: 0b10 });
        let Data::Bytes(bytes) = buffer.fill(&extent, 7) else { panic!("an image takes bytes") };
        assert_eq!(Stamp::of_sector(&bytes[..SECTOR]), None, "it is not written");
        assert_eq!(Stamp::of_sector(&bytes[SECTOR..]), Some(Stamp::new(Lpn(3), 0, 1, 7)));
    }

    #[test]
    fn a_sector_of_parts_is_a_finding_that_names_it() {
        let (mut buffer, both) = (buffer(), Extent::whole(2, 2, DIMENSIONS.full()));
        let Sink::Bytes { out, .. } = buffer.sink(&both) else { panic!("an image gives bytes") };
        Stamp::new(Lpn(6), 0, 1, 7).write_sector(&mut out[2 * SECTOR..3 * SECTOR]);
        out[3 * SECTOR - 1] ^= 1;
        let finding = buffer.take(&both).unwrap_err();
        assert_eq!(finding.defect, Defect::Mangled);
        assert_eq!(finding.sentence, "Lpn(3) sector 0 is neither zero nor whole");
    }
}
