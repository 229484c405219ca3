//! Programs or copies that a chip which only counts has still to count: a run of consecutive pages.
//! Guests program page by page, and the chip counts a run for little more than a page.

use nand::{Cause, Copies, Data, Lpn, Nand, Pages, Ppn};

/// The run. Nothing else happens on the chip before it is counted.
pub struct OpenRun {
    /// The next page of the run.
    next: u32,
    /// The end of the run's block; 0 if the run has no page.
    end: u32,
    pages: u32,
    cause: Cause,
    is_copied: bool,
    /// The sources of copies.
    from: Box<[Ppn]>,
    /// The owners of programmed pages: the system.
    owners: Box<[u32]>,
}

impl OpenRun {
    /// A run without pages, on a chip with blocks of this size.
    pub fn new(pages_per_block: u32) -> OpenRun {
        let most = pages_per_block as usize;
        OpenRun {
            next: 0,
            end: 0,
            pages: 0,
            cause: Cause::Host,
            is_copied: false,
            from: vec![Ppn(0); most].into(),
            owners: vec![Lpn::SYSTEM.0; most].into(),
        }
    }

    /// Whether the run goes on with this page.
    #[inline(always)]
    pub fn goes_on(&self, page: u32, is_copied: bool, cause: Cause) -> bool {
        page == self.next && page < self.end && cause == self.cause && is_copied == self.is_copied
    }

    /// Begins a run with a page of a block that ends at `end`. The last run has been counted.
    pub fn begin(&mut self, page: u32, end: u32, from: Option<Ppn>, cause: Cause) {
        (self.next, self.end, self.pages) = (page, end, 0);
        (self.cause, self.is_copied) = (cause, from.is_some());
        self.add(from);
    }

    /// Adds the next page.
    #[inline(always)]
    pub fn add(&mut self, from: Option<Ppn>) {
        if let Some(from) = from {
            self.from[self.pages as usize] = from;
        }
        self.next += 1;
        self.pages += 1;
    }

    /// Counts the run.
    ///
    /// # Errors
    /// As of a program.
    #[inline(always)]
    pub fn count(&mut self, nand: &mut Nand) -> nand::Result<()> {
        if self.end == 0 { Ok(()) } else { self.count_pages(nand) }
    }

    #[inline(never)]
    fn count_pages(&mut self, nand: &mut Nand) -> nand::Result<()> {
        let (first, pages) = (Ppn(self.next - self.pages), self.pages as usize);
        self.end = 0;
        if self.is_copied {
            return nand.copy(first, Copies::of(&self.from[..pages]), self.cause);
        }
        let lpns = &self.owners[..pages];
        nand.program(first, Pages::List { lpns, kind: 0, data: Data::None }, self.cause)
    }
}
