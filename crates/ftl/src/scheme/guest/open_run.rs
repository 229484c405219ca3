//! Programs or copies that a chip which only counts has still to count: a run of consecutive pages.
//! Guests program page by page, and the chip counts a run for little more than a page.

use nand::{Cause, Copies, Data, Lpn, Nand, Pages, Ppn};

/// The run. Nothing else happens on the chip before it is counted.
pub struct OpenRun {
    /// The first page of the run, and the next one.
    first: u32,
    next: u32,
    /// The end of the pages that it may have; 0 if the run has no page.
    end: u32,
    kind: RunKind,
    /// The sources of copies.
    from: Box<[Ppn]>,
    /// The owners of programmed pages: the system.
    owners: Box<[u32]>,
}

/// What the operations of a run have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunKind {
    Programs(Cause),
    Copies(Cause),
}

impl OpenRun {
    /// A run without pages, on a chip with blocks of this size.
    pub fn new(pages_per_block: u32) -> OpenRun {
        let most = pages_per_block as usize;
        OpenRun {
            first: 0,
            next: 0,
            end: 0,
            kind: RunKind::Programs(Cause::Host),
            from: vec![Ppn(0); most].into(),
            owners: vec![Lpn::SYSTEM.0; most].into(),
        }
    }

    /// Whether the run goes on with this page.
    #[inline(always)]
    pub fn goes_on(&self, page: u32, kind: RunKind) -> bool {
        page == self.next && page < self.end && kind == self.kind
    }

    /// Begins a run with a page. It may go on before `end`. The last run has been counted.
    pub fn begin(&mut self, page: u32, end: u32, from: Option<Ppn>, kind: RunKind) {
        (self.first, self.next, self.end, self.kind) = (page, page, end, kind);
        self.add(from);
    }

    /// Adds the next page.
    #[inline(always)]
    pub fn add(&mut self, from: Option<Ppn>) {
        if let Some(from) = from {
            self.from[(self.next - self.first) as usize] = from;
        }
        self.next += 1;
    }

    /// Whether there is nothing to count.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.end == 0
    }

    /// Ends the run. Returns its pages.
    pub fn end(&mut self) -> u32 {
        self.end = 0;
        self.next - self.first
    }

    /// Counts the run that has ended.
    ///
    /// # Errors
    /// As of a program.
    pub fn count(&self, nand: &mut Nand) -> nand::Result<()> {
        let (first, pages) = (Ppn(self.first), (self.next - self.first) as usize);
        match self.kind {
            RunKind::Copies(cause) => nand.copy(first, Copies::of(&self.from[..pages]), cause),
            RunKind::Programs(cause) => {
                let lpns = &self.owners[..pages];
                nand.program(first, Pages::List { lpns, kind: 0, data: Data::None }, cause)
            }
        }
    }
}
