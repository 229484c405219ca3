//! An FTL that does what it is asked at no cost, and writes down what that was.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use ftl::{Ftl, Ram, Report, Run, Violation};
use nand::{Data, Lpn, Nand, SectorMask, Sink, Stamp};

pub const SECTORS: u32 = 4;
pub const WHOLE: SectorMask = 0b1111;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Read { lpn: u32, mask: SectorMask },
    Write { first: u32, masks: Vec<SectorMask>, request_bytes: u64 },
    Trim { first: u32, pages: u32 },
    Flush,
}

pub type Calls = Rc<RefCell<Vec<Call>>>;

/// Pages in memory.
#[derive(Default)]
pub struct Recorder {
    pub calls: Calls,
    pages: BTreeMap<u32, [Stamp; SECTORS as usize]>,
    /// What it takes of a buffer's budget.
    pub borrows: Rc<RefCell<u64>>,
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

impl Ftl for Recorder {
    fn read(&mut self, _: &mut Nand, run: &Run, sink: &mut Sink) -> ftl::Result<()> {
        for index in 0..run.pages {
            let (lpn, mask) = (run.first.plus(index), run.mask(index, WHOLE));
            self.calls.borrow_mut().push(Call::Read { lpn: lpn.0, mask });
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

    fn write(&mut self, _: &mut Nand, run: &Run) -> ftl::Result<()> {
        let masks = (0..run.pages).map(|index| run.mask(index, WHOLE)).collect();
        let (first, request_bytes) = (run.first.0, run.request_bytes);
        self.calls.borrow_mut().push(Call::Write { first, masks, request_bytes });
        (0..run.pages).for_each(|index| self.store(run, index));
        Ok(())
    }

    fn trim(&mut self, _: &mut Nand, first: Lpn, pages: u32) -> ftl::Result<()> {
        self.calls.borrow_mut().push(Call::Trim { first: first.0, pages });
        self.pages.retain(|&lpn, _| lpn < first.0 || lpn >= first.0 + pages);
        Ok(())
    }

    fn flush(&mut self, _: &mut Nand) -> ftl::Result<()> {
        self.calls.borrow_mut().push(Call::Flush);
        Ok(())
    }

    fn version(&self, _: &mut Nand, _: Lpn) -> ftl::Result<Option<u64>> {
        Ok(None)
    }

    fn free_blocks(&self) -> u32 {
        0
    }

    fn audit(&self, _: &Nand) -> Result<(), Violation> {
        Ok(())
    }

    fn ram(&self) -> Ram {
        Ram { other: 7, ..Ram::default() }
    }

    fn report(&self) -> Report {
        Report::default()
    }

    fn reset_report(&mut self) {}

    fn borrows(&self) -> u64 {
        *self.borrows.borrow()
    }
}
