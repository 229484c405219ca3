//! An FTL that costs nothing and records its calls.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, RwLock};

use ftl::{
    Base, Entered, Extent, Facet, FacetKind, Ftl, LayerTotals, Ram, Report, Run, Span, Violation,
};
use nand::{Data, Lpn, Nand, Ppn, SectorMask, Sink, Stamp};

pub const SECTORS: u32 = 4;
pub const WHOLE: SectorMask = 0b1111;

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Read { lpn: u32, mask: SectorMask },
    Write { first: u32, masks: Vec<SectorMask>, request_bytes: u64 },
    Trim { first: u32, pages: u32 },
    Flush,
}

pub type Calls = Arc<RwLock<Vec<Call>>>;

/// Pages in memory.
#[derive(Default)]
pub struct Recorder {
    pub calls: Calls,
    /// The stream of each write.
    pub streams: Arc<RwLock<Vec<u8>>>,
    pages: BTreeMap<u32, [Stamp; SECTORS as usize]>,
    entered: Entered,
    /// Bytes that it borrows from the budget of a buffer.
    pub borrows: Arc<RwLock<u64>>,
}

impl Recorder {
    fn store(&mut self, run: &Run, index: u32) {
        let lpn = run.first.plus(index);
        let page = self.pages.entry(lpn.0).or_default();
        for sector in (0..SECTORS).filter(|sector| run.mask(index, WHOLE) >> sector & 1 == 1) {
            page[sector as usize] = match run.data {
                Data::Stamp(write) => Stamp::new(lpn, sector, SECTORS, write),
                Data::Stamps(stamps) => stamps[(index * SECTORS + sector) as usize],
                _ => panic!("a chip of stamps is given {:?}", run.data),
            };
        }
    }
}

impl Base for Recorder {
    fn read(&mut self, _: &mut Nand, run: &Run, sink: &mut Sink) -> ftl::Result<()> {
        self.entered.read += u64::from(run.pages);
        for index in 0..run.pages {
            let (lpn, mask) = (run.first.plus(index), run.mask(index, WHOLE));
            self.calls.write().unwrap().push(Call::Read { lpn: lpn.0, mask });
            let (Some(page), Sink::Stamps { first, out }) = (self.pages.get(&lpn.0), &mut *sink)
            else {
                continue;
            };
            for sector in (0..SECTORS).filter(|sector| mask >> sector & 1 == 1) {
                out[((lpn.0 - first.0) * SECTORS + sector) as usize] = page[sector as usize];
            }
        }
        Ok(())
    }

    fn trim(&mut self, _: &mut Nand, first: Lpn, pages: u32) -> ftl::Result<()> {
        self.entered.trimmed += u64::from(pages);
        self.calls.write().unwrap().push(Call::Trim { first: first.0, pages });
        self.pages.retain(|&lpn, _| lpn < first.0 || lpn >= first.0 + pages);
        Ok(())
    }

    fn flush(&mut self, _: &mut Nand, _: Option<&Run>) -> ftl::Result<()> {
        self.calls.write().unwrap().push(Call::Flush);
        Ok(())
    }

    fn place(&self, _: &Nand, _: Lpn) -> Option<Ppn> {
        None
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        let is_mapped = |lpn: &u32| self.pages.contains_key(lpn);
        let first = is_mapped(&lpns.start);
        let pages = lpns.take_while(|lpn| is_mapped(lpn) == first).count() as u32;
        Extent { is_mapped: first, pages }
    }

    fn prefetch(&self, _: &[Span], _: Option<&Nand>) {}

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        let borrowed_bytes = *self.borrows.read().unwrap();
        let totals = LayerTotals { entered: self.entered, borrowed_bytes, dram_accesses: 0 };
        (kind == FacetKind::Layers).then_some(Facet::Layers(totals))
    }
}

impl Ftl for Recorder {
    ftl::base_is!(self);

    fn write(&mut self, _: &mut Nand, run: &Run, _: &[Span]) -> ftl::Result<usize> {
        self.entered.written += u64::from(run.pages);
        let masks = (0..run.pages).map(|index| run.mask(index, WHOLE)).collect();
        let (first, request_bytes) = (run.first.0, run.request_bytes);
        self.calls.write().unwrap().push(Call::Write { first, masks, request_bytes });
        self.streams.write().unwrap().push(run.stream);
        (0..run.pages).for_each(|index| self.store(run, index));
        Ok(0)
    }

    fn audit(&self, _: &Nand) -> Result<(), Violation> {
        Ok(())
    }

    fn report(&self) -> Report {
        Report { ram: Ram { other: 7, ..Ram::default() }, ..Report::default() }
    }

    fn reset_report(&mut self) {
        self.entered = Entered::default();
    }
}
