//! A host that knows what its device holds, and which pages are lost.

use std::collections::BTreeSet;

use check::case::Case;
use check::rng::Rng;
use ftl::part::recovery::page_kind::{SECTORS, TRANSLATION};
use ftl::{Error, Ftl, Run};
use nand::{Cut, Data, FlashArray, Lpn, Mode, Nand, Outcome, Ppn, SectorMask, Sink, Spare, Stamp};

/// One request. Writes have a number, which is in the stamps of their sectors.
#[derive(Clone, Debug)]
pub enum Request {
    Write {
        first: u32,
        pages: u32,
        head: SectorMask,
        tail: SectorMask,
        number: u32,
    },
    Read {
        page: u32,
    },
    Trim {
        first: u32,
        pages: u32,
    },
    Flush,
    /// Power off and on between two requests. The first mount may be interrupted.
    Remount {
        cut: Option<Cut>,
    },
}

impl Request {
    /// The first write of a page.
    pub fn fill(page: u32) -> Request {
        let all = SectorMask::MAX;
        Request::Write { first: page, pages: 1, head: all, tail: all, number: page + 1 }
    }
}

/// A cut during a mount, every other time.
fn draw_cut(rng: &mut Rng) -> Option<Cut> {
    let outcomes = [Outcome::OF_UPPER_PROGRAM, Outcome::OF_ERASE].concat();
    let outcome = outcomes[rng.below(outcomes.len() as u32) as usize];
    rng.one_in(2).then(|| Cut { after: rng.below(40).into(), outcome })
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It took effect, or it was a read.
    Done,
    /// A write that had no effect, because a page that it needs cannot be read.
    Refused,
}

/// A host and its device.
pub struct Host<'a> {
    case: &'a Case,
    pub nand: Nand,
    ftl: Option<Box<dyn Ftl>>,
    /// The stamp of each sector.
    expected: Vec<Stamp>,
    /// Pages of which not all sectors can be read.
    lost: BTreeSet<u32>,
    pub failed_reads: u64,
    pub refused: u64,
}

impl<'a> Host<'a> {
    pub fn new(case: &'a Case) -> Host<'a> {
        let mut nand = case.new_chip();
        let ftl = Some(case.mount(&mut nand).unwrap());
        let sectors = case.dimensions().pages * case.dimensions().sectors_per_page;
        let expected = vec![Stamp::default(); sectors as usize];
        Host { case, nand, ftl, expected, lost: BTreeSet::new(), failed_reads: 0, refused: 0 }
    }

    pub fn pages(&self) -> u32 {
        self.case.dimensions().pages
    }

    fn full(&self) -> SectorMask {
        self.nand.geometry().full_mask()
    }

    fn has_layers(&self) -> bool {
        !self.case.subject.layers.is_empty()
    }

    /// A random request.
    pub fn draw(&self, rng: &mut Rng, number: u32) -> Request {
        let first = rng.below(self.pages());
        let pages = 1 + rng.below(6).min(self.pages() - first - 1);
        match rng.below(32) {
            0..16 => {
                let mut mask = || match rng.one_in(2) {
                    true => (rng.next_u64() & self.full()).max(1),
                    false => self.full(),
                };
                let head = mask();
                let tail = if pages == 1 { head } else { mask() };
                Request::Write { first, pages, head, tail, number: number + 1 }
            }
            16..29 => Request::Read { page: first },
            29 => Request::Trim { first, pages: pages.min(2) },
            30 => Request::Flush,
            _ if rng.one_in(4) => Request::Remount { cut: draw_cut(rng) },
            _ => Request::Read { page: first },
        }
    }

    /// Takes the data from the newest copy of a random page of the host, if it has one on flash.
    pub fn lose_a_page(&mut self, rng: &mut Rng) {
        let page = rng.below(self.pages());
        if self.is_mapped(page) && self.lose_newest(|spare| spare.owner == Lpn(page)).is_some() {
            self.lost.insert(page);
        }
    }

    /// Takes the data from the newest translation page of dftl, if there is one. No page of the
    /// host is lost with it.
    pub fn lose_a_translation_page(&mut self) {
        self.lose_newest(|spare| spare.kind == TRANSLATION);
    }

    /// Takes the data from the newest page of a sector log, if there is one.
    pub fn lose_a_log_page(&mut self) {
        let Some(ppn) = self.lose_newest(|spare| spare.kind == SECTORS) else { return };
        let (_, addresses) = self.nand.array().peek_spare(ppn).unwrap().unwrap();
        for address in addresses.chunks_exact(5) {
            let sector = u32::from_le_bytes(address[..4].try_into().unwrap());
            self.lost.insert(sector / self.nand.geometry().sectors_per_page());
        }
    }

    /// Takes the data from the newest of the pages with such a spare area.
    fn lose_newest(&mut self, is_wanted: impl Fn(&Spare) -> bool) -> Option<Ppn> {
        let copies = (0..self.data_pages()).map(Ppn).filter_map(|ppn| {
            let (spare, _) = self.nand.array().peek_spare(ppn).unwrap()?;
            is_wanted(&spare).then_some((spare.rank(), ppn))
        });
        let (_, ppn) = copies.max()?;
        self.nand.power().lose_data(ppn).unwrap();
        Some(ppn)
    }

    /// The pages of the chip before those of the system blocks.
    fn data_pages(&self) -> u32 {
        let (model, durability) = (self.case.model, self.case.durability);
        let system = ftl::system_blocks(&model.chip(), model.logical_blocks, durability);
        self.nand.geometry().pages() - system * model.pages_per_block
    }

    fn is_mapped(&self, page: u32) -> bool {
        self.sectors_of(page).iter().any(|&stamp| stamp != Stamp::default())
    }

    fn sectors_of(&self, page: u32) -> &[Stamp] {
        let sectors = self.nand.geometry().sectors_per_page() as usize;
        &self.expected[page as usize * sectors..][..sectors]
    }

    // ---- Requests ----------------------------------------------------------------------------

    /// Performs a request, and checks its answer.
    pub fn perform(&mut self, request: &Request) -> Answer {
        match *request {
            Request::Write { .. } => return self.write(request),
            Request::Read { page } => self.read(page),
            Request::Trim { first, pages } => self.trim(first, pages),
            Request::Flush => self.flush(),
            Request::Remount { cut } => self.remount(cut),
        }
        Answer::Done
    }

    fn remount(&mut self, cut: Option<Cut>) {
        self.flush();
        self.ftl = None;
        if let Some(cut) = cut {
            self.nand.power().cycle();
            self.nand.power().cut_after(cut);
            if let Err(error) = self.case.mount(&mut self.nand) {
                assert_eq!(error, Error::Chip(nand::Error::PowerLost));
            }
        }
        self.nand.power().cycle();
        self.ftl = Some(self.case.mount(&mut self.nand).unwrap());
        self.nand.power().decay().unwrap();
        self.compare();
    }

    /// Switches the power off, and on again with a flash that this one has become.
    pub fn mount(&mut self, change: impl FnOnce(FlashArray) -> FlashArray) -> ftl::Result<()> {
        self.flush();
        self.ftl = None;
        let none = Nand::new(*self.nand.geometry(), Mode::Count);
        let flash = std::mem::replace(&mut self.nand, none).into_array();
        self.nand = Nand::power_up(change(flash));
        self.ftl = Some(self.case.mount(&mut self.nand)?);
        Ok(())
    }

    fn write(&mut self, request: &Request) -> Answer {
        let Request::Write { first, pages, head, tail, number } = *request else { unreachable!() };
        let full = self.full();
        let run = Run {
            first: Lpn(first),
            pages,
            head: head & full,
            tail: tail & full,
            request_bytes: u64::from(pages) * u64::from(self.nand.geometry().page_bytes()),
            stream: 0,
            data: Data::Stamp(number),
        };
        let is_partial = |index: u32| run.mask(index, full) != full;
        let is_doomed =
            (0..pages).any(|index| is_partial(index) && self.lost.contains(&(first + index)));
        let ftl = self.ftl.as_mut().unwrap();
        if let Err(error) = ftl.write_run(&mut self.nand, &run) {
            assert!(is_doomed && error.is_of_request(), "{request:?}: {error}");
            self.refused += 1;
            return Answer::Refused;
        }
        assert!(!is_doomed || self.has_layers(), "{request:?} overlooked an unreadable page");
        (0..pages)
            .for_each(|index| self.note_written(first + index, run.mask(index, full), number));
        Answer::Done
    }

    fn note_written(&mut self, page: u32, mask: SectorMask, number: u32) {
        let per_page = self.nand.geometry().sectors_per_page();
        for index in (0..per_page).filter(|index| mask >> index & 1 == 1) {
            let stamp = Stamp::new(Lpn(page), index, per_page, number);
            self.expected[(page * per_page + index) as usize] = stamp;
        }
        if mask == self.full() {
            self.lost.remove(&page);
        }
    }

    fn read(&mut self, page: u32) {
        let full = self.full();
        let mut found = vec![Stamp::default(); self.nand.geometry().sectors_per_page() as usize];
        let mut sink = Sink::Stamps { first: Lpn(page), out: &mut found };
        let run = Run::whole(Lpn(page), 1, self.nand.geometry().page_bytes(), Data::None);
        assert_eq!(run.head, full);
        let is_lost = self.lost.contains(&page);
        match self.ftl.as_mut().unwrap().read(&mut self.nand, &run, &mut sink) {
            Err(error) => {
                assert!(is_lost && error.is_of_request(), "page {page}: {error}");
                self.failed_reads += 1;
            }
            Ok(()) => {
                // A buffer may hold the whole page.
                let name = self.case.subject.name();
                assert!(
                    !is_lost || self.has_layers(),
                    "{name}: page {page} has lost its data, but was read"
                );
                assert_eq!(found, self.sectors_of(page), "page {page}");
            }
        }
    }

    fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.as_mut().unwrap().trim(&mut self.nand, Lpn(first), pages).unwrap();
        for page in first..first + pages {
            let per_page = self.nand.geometry().sectors_per_page();
            let sectors = (page * per_page) as usize..((page + 1) * per_page) as usize;
            self.expected[sectors].fill(Stamp::default());
            self.lost.remove(&page);
        }
    }

    /// A flush may report that a layer has lost sectors.
    fn flush(&mut self) {
        for _ in 0..4 {
            match self.ftl.as_mut().unwrap().flush(&mut self.nand, None) {
                Ok(()) => return,
                Err(Error::Lost(_)) => assert!(self.has_layers()),
                Err(error) => panic!("flush: {error}"),
            }
        }
        panic!("every flush reports a loss");
    }

    // ---- Checks ------------------------------------------------------------------------------

    pub fn audit(&self) {
        let audit = self.ftl.as_ref().unwrap().audit(&self.nand);
        audit.unwrap_or_else(|violation| panic!("{}: {violation}", self.case.subject.name()));
    }

    /// Audits, and reads everything.
    pub fn compare(&mut self) {
        self.audit();
        (0..self.pages()).for_each(|page| self.read(page));
    }
}
