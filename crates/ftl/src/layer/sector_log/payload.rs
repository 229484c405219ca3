//! What sectors hold while they are in DRAM: when they arrive, wait, are read, and are put
//! together.

use nand::{Cells, Data, Lpn, Mode, Nand, SectorMask, Sink};

use super::mask::bits;
use super::page_buffer::PageBuffer;

/// A page each of what arrives, what waits, a log page, and a page of the host's being put
/// together.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    arriving: Cells,
    /// By cells of the page buffer.
    waiting: Cells,
    page: Cells,
    merged: Cells,
    sectors_per_page: u32,
}

impl Payload {
    /// None for a chip that only counts.
    pub(super) fn new(nand: &Nand) -> Option<Payload> {
        let sectors_per_page = nand.geometry().sectors_per_page();
        let page = || Cells::new(nand.mode(), 1, sectors_per_page);
        (nand.mode() != Mode::Count).then(|| Payload {
            arriving: page(),
            waiting: page(),
            page: page(),
            merged: page(),
            sectors_per_page,
        })
    }

    /// Sectors of a page come from the host.
    pub(super) fn arrive(&mut self, lpn: Lpn, mask: SectorMask, data: Data) {
        self.arriving.overlay(0, self.sectors_per_page, lpn, mask, data);
    }

    /// A sector that arrived waits in a cell.
    pub(super) fn wait(&mut self, index: u32, cell: u8) {
        self.waiting.copy(cell.into(), 1, Some((&self.arriving, index)));
    }

    /// All that waits, side by side in the order of its arrival.
    pub(super) fn gather(&mut self, buffer: &PageBuffer) -> Data<'_> {
        for (at, waiting) in (0..).zip(buffer.iter()) {
            self.page.copy(at, 1, Some((&self.waiting, waiting.cell.into())));
        }
        self.page.data(0, self.sectors_per_page)
    }

    /// Where a page of the log is read to.
    pub(super) fn page_sink(&mut self) -> Sink<'_> {
        self.page.sink(0, self.sectors_per_page, Lpn::SYSTEM)
    }

    /// A sector of the log page just read belongs to the page that is put together.
    pub(super) fn merge_read(&mut self, at: u32, index: u32) {
        self.merged.copy(index, 1, Some((&self.page, at)));
    }

    /// The same for sectors in `mask` that wait.
    pub(super) fn merge_waiting(&mut self, buffer: &PageBuffer, lpn: Lpn, mask: SectorMask) {
        for sector in buffer.of(lpn).filter(|sector| mask >> sector.index & 1 == 1) {
            let from = Some((&self.waiting, sector.cell.into()));
            self.merged.copy(sector.index.into(), 1, from);
        }
    }

    /// Sectors in `mask` of the page that is put together are zero.
    pub(super) fn merge_zeroes(&mut self, mask: SectorMask) {
        bits(mask).for_each(|index| self.merged.copy(index, 1, None));
    }

    /// The page that was put together.
    pub(super) fn merged(&self) -> Data<'_> {
        self.merged.data(0, self.sectors_per_page)
    }

    /// Hands its sectors in `mask` on.
    pub(super) fn hand_over(&self, lpn: Lpn, mask: SectorMask, sink: &mut Sink) {
        self.merged.read(0, self.sectors_per_page, lpn, mask, sink);
    }
}
