//! The contents of sectors while they are in DRAM: when they arrive, wait, are read from the log,
//! and are merged into a page.

use nand::{Cells, Data, Lpn, Mode, Nand, SectorMask, Sink};

use super::mask::bits;
use super::page_buffer::PageBuffer;

/// One page each for arriving sectors, waiting sectors, a log page that was read, and a logical
/// page that is being merged.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    arriving: Cells,
    /// Indexed by cells of the page buffer.
    waiting: Cells,
    page: Cells,
    merged: Cells,
    sectors_per_page: u32,
}

impl Payload {
    /// Empty pages; none for a chip in count mode.
    pub(super) fn new(nand: &Nand) -> Option<Payload> {
        let sectors_per_page = nand.geometry().sectors_per_page();
        let page = || Cells::new(nand.array().mode(), 1, sectors_per_page);
        (nand.array().mode() != Mode::Count).then(|| Payload {
            arriving: page(),
            waiting: page(),
            page: page(),
            merged: page(),
            sectors_per_page,
        })
    }

    /// Takes sectors of a page from the host.
    pub(super) fn arrive(&mut self, lpn: Lpn, mask: SectorMask, data: Data) {
        self.arriving.overlay(0, self.sectors_per_page, lpn, mask, data);
    }

    /// Puts an arrived sector into a cell of the page buffer.
    pub(super) fn wait(&mut self, index: u32, cell: u8) {
        self.waiting.copy(cell.into(), 1, Some((&self.arriving, index)));
    }

    /// All waiting sectors, side by side in the order of their arrival.
    pub(super) fn gather(&mut self, buffer: &PageBuffer) -> Data<'_> {
        for (at, waiting) in (0..).zip(buffer.iter()) {
            self.page.copy(at, 1, Some((&self.waiting, waiting.cell.into())));
        }
        self.page.data(0, self.sectors_per_page)
    }

    /// A sink for reading a page of the log.
    pub(super) fn page_sink(&mut self) -> Sink<'_> {
        self.page.sink(0, self.sectors_per_page, Lpn::SYSTEM)
    }

    /// Copies a sector of the log page that was just read into the merged page.
    pub(super) fn merge_read(&mut self, at: u32, index: u32) {
        self.merged.copy(index, 1, Some((&self.page, at)));
    }

    /// Copies the waiting sectors in `mask` into the merged page.
    pub(super) fn merge_waiting(&mut self, buffer: &PageBuffer, lpn: Lpn, mask: SectorMask) {
        for sector in buffer.of(lpn).filter(|sector| mask >> sector.index & 1 == 1) {
            let from = Some((&self.waiting, sector.cell.into()));
            self.merged.copy(sector.index.into(), 1, from);
        }
    }

    /// Sets the sectors in `mask` of the merged page to zero.
    pub(super) fn merge_zeroes(&mut self, mask: SectorMask) {
        bits(mask).for_each(|index| self.merged.copy(index, 1, None));
    }

    /// The merged page.
    pub(super) fn merged(&self) -> Data<'_> {
        self.merged.data(0, self.sectors_per_page)
    }

    /// Passes the sectors in `mask` of the merged page to a sink.
    pub(super) fn hand_over(&self, lpn: Lpn, mask: SectorMask, sink: &mut Sink) {
        self.merged.read(0, self.sectors_per_page, lpn, mask, sink);
    }
}
