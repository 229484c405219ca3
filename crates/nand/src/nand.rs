//! The chip: rules enforced, operations booked, wear kept.
//!
//! An FTL borrows the chip and owns none, so dropping an FTL and mounting another on the same chip
//! is exactly a power cycle. Breaking a rule of flash panics, in release builds too:
//!
//! * a page is programmed once between two erases of its block, in the chip's program order;
//! * only what was programmed is read, and the reader says whose page it expects to find;
//! * a block that a cut left half erased must be erased again before its first program.

use crate::address::{BlockId, Lpn, Ppn, SectorMask};
use crate::error::{Error, Result};
use crate::geometry::{Geometry, ProgramOrder};
use crate::op::{Cause, Logged, Op, Tally};
use crate::payload::{Content, Data, Mode, Sink};
use crate::power_cut::{Cut, Interruptible, Outcome, Snapshot, Watch};
use crate::spare::{PageState, Spare};
use crate::store::{Health, Store};

/// A page to be programmed: its spare area and what it holds. The chip adds the sequence, and the
/// version where the page is a new one.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The host's page that it holds, or [`Lpn::SYSTEM`].
    pub owner: Lpn,
    /// Its role, in the scheme's own code.
    pub kind: u8,
    /// Scheme bytes of the spare area.
    pub extra: &'a [u8],
    /// What its data area holds.
    pub content: Content<'a>,
}

/// A single-plane NAND chip.
#[derive(Clone, Debug)]
pub struct Nand {
    geometry: Geometry,
    /// Who owns each page; [`Lpn::NONE`] is an erased page.
    owners: Vec<u32>,
    /// Where order matters the lowest offset that may be programmed, else how many pages are.
    filled: Vec<u16>,
    /// Half-erased blocks, which must be erased again.
    half_erased: Vec<BlockId>,
    wear: Vec<u32>,
    store: Option<Store>,
    tally: Tally,
    /// Pages that were skipped, or left over when their block was erased, since the last reset.
    lost_pages: u64,
    /// The sequence of the next program; none from power-on until the mount has found it.
    sequence: Option<u64>,
    watch: Option<Box<Watch>>,
}

impl Nand {
    /// A factory-fresh chip: all blocks erased.
    pub fn new(geometry: Geometry, mode: Mode) -> Nand {
        Nand {
            geometry,
            owners: vec![Lpn::NONE.0; geometry.pages() as usize],
            filled: vec![0; geometry.blocks() as usize],
            half_erased: Vec::new(),
            wear: vec![0; geometry.blocks() as usize],
            store: (mode != Mode::Count).then(|| Store::new(mode, &geometry)),
            tally: Tally::default(),
            lost_pages: 0,
            sequence: Some(1),
            watch: None,
        }
    }

    /// Pages, blocks and order.
    #[inline]
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// How much the chip keeps of its pages.
    pub fn mode(&self) -> Mode {
        self.store.as_ref().map_or(Mode::Count, Store::mode)
    }

    // ---- Operations -----------------------------------------------------------------------

    /// Reads page `ppn`, which must hold `lpn`, and hands the sectors in `mask` to the sink.
    ///
    /// # Errors
    /// Power lost, or the page cannot be read.
    #[inline]
    pub fn read(
        &mut self,
        ppn: Ppn,
        lpn: Lpn,
        mask: SectorMask,
        sink: &mut Sink,
        cause: Cause,
    ) -> Result<()> {
        self.powered()?;
        let owner = self.owners[ppn.0 as usize];
        assert!(owner == lpn.0, "read {ppn:?} for {lpn:?}, but it holds {:?}", Lpn(owner));
        self.tally.book(Op::Read, cause, 1);
        self.note(Op::Read, cause, ppn);
        if let Some(store) = &self.store {
            if !matches!(store.state(&self.geometry, ppn), PageState::Programmed(_)) {
                return Err(Error::Unreadable(ppn));
            }
            store.read(&self.geometry, ppn, lpn, mask, sink);
        }
        Ok(())
    }

    /// Reads the spare area of page `ppn`.
    ///
    /// # Errors
    /// Power lost.
    pub fn read_spare(&mut self, ppn: Ppn, cause: Cause) -> Result<PageState> {
        self.powered()?;
        self.tally.book(Op::SpareRead, cause, 1);
        self.note(Op::SpareRead, cause, ppn);
        Ok(self.store().state(&self.geometry, ppn))
    }

    /// Reads the spare area of a page, of which the caller knows what it says: a look-up whose
    /// answer is kept elsewhere too. Works in every mode.
    ///
    /// # Errors
    /// Power lost.
    pub fn book_spare_read(&mut self, ppn: Ppn, cause: Cause) -> Result<()> {
        self.powered()?;
        self.tally.book(Op::SpareRead, cause, 1);
        self.note(Op::SpareRead, cause, ppn);
        Ok(())
    }

    /// Reads a metadata page: its scheme bytes and its bytes.
    ///
    /// # Errors
    /// Power lost, or the page cannot be read.
    pub fn read_meta(&mut self, ppn: Ppn, cause: Cause) -> Result<&[u8]> {
        self.powered()?;
        self.tally.book(Op::Read, cause, 1);
        self.note(Op::Read, cause, ppn);
        let store = self.store.as_ref().expect("a chip in count mode keeps no metadata");
        match store.state(&self.geometry, ppn) {
            PageState::Programmed(_) => Ok(store.meta(&self.geometry, ppn)),
            _ => Err(Error::Unreadable(ppn)),
        }
    }

    /// What a metadata page holds, for auditors: costs no operation. None on a chip in count mode,
    /// and where nothing can be read.
    pub fn peek_meta(&self, ppn: Ppn) -> Option<&[u8]> {
        let store = self.store.as_ref()?;
        match store.state(&self.geometry, ppn) {
            PageState::Programmed(_) => Some(store.meta(&self.geometry, ppn)),
            _ => None,
        }
    }

    /// Programs one page. Its version is a new one.
    ///
    /// # Errors
    /// Power lost.
    #[inline]
    pub fn program(&mut self, ppn: Ppn, page: &Page, cause: Cause) -> Result<()> {
        if self.watch.is_some() && !self.count_down_to_cut(Interruptible::Program(ppn))? {
            self.program_now(ppn, page, cause);
            return self.lose_power(Interruptible::Program(ppn));
        }
        self.program_now(ppn, page, cause);
        self.record(Interruptible::Program(ppn), cause);
        Ok(())
    }

    /// Programs consecutive whole pages of the host's, `first` onwards, at `to` onwards in one
    /// block; booked at once.
    ///
    /// # Errors
    /// Power lost, with some of the pages programmed.
    #[inline]
    pub fn program_run(
        &mut self,
        to: Ppn,
        first: Lpn,
        pages: u32,
        kind: u8,
        data: Data,
        cause: Cause,
    ) -> Result<()> {
        if self.store.is_none() && self.watch.is_none() {
            self.claim(to, pages);
            let owners = &mut self.owners[to.0 as usize..][..pages as usize];
            for (owner, lpn) in owners.iter_mut().zip(first.0..) {
                *owner = lpn;
            }
            *self.next_sequence() += u64::from(pages);
            self.tally.book(Op::Program, cause, u64::from(pages));
            return Ok(());
        }
        let mask = self.geometry.full_mask();
        for index in 0..pages {
            let data = data.from_page(index, self.geometry.page_bytes());
            let content = Content::Host { data, mask, base: None };
            let page = Page { owner: first.plus(index), kind, extra: &[], content };
            self.program(to.plus(index), &page, cause)?;
        }
        Ok(())
    }

    /// Copies pages, in the order given, to `to` onwards in one block; booked at once. Owner,
    /// contents and version are kept; the kind too, unless a new one is given.
    ///
    /// # Errors
    /// Power lost, with some of the pages copied.
    #[inline]
    pub fn copy_many(
        &mut self,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        if self.watch.is_some() {
            return self.copy_watched(from, to, kind, cause);
        }
        self.claim(to, from.len() as u32);
        self.tally.book_copies(cause, from.len() as u64);
        let sequence = *self.next_sequence();
        *self.next_sequence() += from.len() as u64;
        for (index, &source) in from.iter().enumerate() {
            self.copy_page(source, to.plus(index as u32), sequence + index as u64, kind);
        }
        Ok(())
    }

    /// Copies one page and gives the copy a kind and scheme bytes of its own. Owner, contents and
    /// version are kept.
    ///
    /// # Errors
    /// Power lost.
    pub fn copy(&mut self, from: Ppn, to: Ppn, kind: u8, extra: &[u8], cause: Cause) -> Result<()> {
        let survives =
            self.watch.is_none() || self.count_down_to_cut(Interruptible::Program(to))?;
        self.claim(to, 1);
        let sequence = self.take_sequence();
        self.copy_page(from, to, sequence, Some(kind));
        if let Some(store) = &mut self.store {
            store.describe(&self.geometry, to, extra);
        }
        self.tally.book_copies(cause, 1);
        if !survives {
            return self.lose_power(Interruptible::Program(to));
        }
        self.note(Op::Read, cause, from);
        self.record(Interruptible::Program(to), cause);
        Ok(())
    }

    /// Erases a block.
    ///
    /// # Errors
    /// Power lost.
    pub fn erase(&mut self, block: BlockId, cause: Cause) -> Result<()> {
        if self.watch.is_some() && !self.count_down_to_cut(Interruptible::Erase(block))? {
            self.erase_now(block, cause);
            return self.lose_power(Interruptible::Erase(block));
        }
        self.erase_now(block, cause);
        self.record(Interruptible::Erase(block), cause);
        Ok(())
    }

    // ---- What the controller knows without an operation -------------------------------------

    /// The owners of a block's pages as the chip really holds them, [`Lpn::NONE`] where erased. It
    /// stands for the P2L table that a controller keeps in RAM, and costs no operation; a mount
    /// must not use it.
    #[inline]
    pub fn owners(&self, block: BlockId) -> &[u32] {
        &self.owners[self.geometry.span(block)]
    }

    /// Who owns a page, as [`owners`](Self::owners).
    #[inline]
    pub fn owner(&self, ppn: Ppn) -> Lpn {
        Lpn(self.owners[ppn.0 as usize])
    }

    /// Whether scheme bytes of spare areas are kept. Where they are not they need not be composed;
    /// no operation may depend on it.
    #[inline]
    pub fn keeps_spares(&self) -> bool {
        self.store.is_some()
    }

    /// What the spare area of a page says, with its scheme bytes: for audits. It costs no
    /// operation; a mount may look only at what it has [read](Self::read_spare).
    pub fn peek_spare(&self, ppn: Ppn) -> Option<(Spare, &[u8])> {
        let store = self.store.as_ref()?;
        match store.state(&self.geometry, ppn) {
            PageState::Programmed(spare) => Some((spare, store.extra(&self.geometry, ppn))),
            _ => None,
        }
    }

    /// A new place in the order of programs, for what is not a program: a tombstone's version.
    pub fn take_sequence(&mut self) -> u64 {
        let next = self.next_sequence();
        *next += 1;
        *next - 1
    }

    /// The mount says where the order of programs goes on: beyond all that it found.
    pub fn resume_sequence(&mut self, next_sequence: u64) {
        self.sequence = Some(next_sequence.max(self.sequence.unwrap_or(1)));
    }

    /// Whether nothing was ever done to this chip: it came from the factory and was never off.
    pub fn is_factory_new(&self) -> bool {
        self.sequence == Some(1) && self.wear.iter().all(|&erases| erases == 0)
    }

    // ---- Log ----------------------------------------------------------------------------------

    /// Keeps every operation from now on, in order. A copy is a read and a program.
    pub fn log_operations(&mut self) {
        self.watch.get_or_insert_default().log = Some(Vec::new());
    }

    /// What was logged since the last call; logging goes on.
    pub fn drain_log(&mut self) -> impl Iterator<Item = Logged> {
        let log = self.watch.as_mut().and_then(|watch| watch.log.as_mut());
        log.into_iter().flat_map(|log| log.drain(..))
    }

    // ---- Figures ------------------------------------------------------------------------------

    /// Operations since the last reset.
    #[inline]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Pages skipped or left unfilled since the last reset.
    pub fn lost_pages(&self) -> u64 {
        self.lost_pages
    }

    /// Sets all counters to zero; the flash itself and its wear stay.
    pub fn reset_tally(&mut self) {
        self.tally = Tally::default();
        self.lost_pages = 0;
    }

    /// Erases of each block since birth.
    pub fn wear(&self) -> &[u32] {
        &self.wear
    }

    /// Pages that can still be programmed before the next erase. Walks all blocks.
    pub fn free_pages(&self) -> u64 {
        let per_block = u64::from(self.geometry.pages_per_block());
        self.filled.iter().map(|&filled| per_block - u64::from(filled)).sum()
    }

    // ---- Power --------------------------------------------------------------------------------

    /// Arms a cut.
    pub fn cut_after(&mut self, cut: Cut) {
        assert!(self.store.is_some(), "a chip in count mode cannot be mounted after a cut");
        self.watch.get_or_insert_default().cut = Some(cut);
    }

    /// Keeps the chip as it stands after every program and erase from now on.
    pub fn record_snapshots(&mut self) {
        self.watch.get_or_insert_default().recording = Some(Vec::new());
    }

    /// What was recorded since the last call; recording goes on.
    pub fn take_snapshots(&mut self) -> Vec<Snapshot> {
        let recording = self.watch.as_mut().and_then(|watch| watch.recording.as_mut());
        recording.map(core::mem::take).unwrap_or_default()
    }

    /// Whether the power is on.
    pub fn is_on(&self) -> bool {
        self.watch.as_ref().is_none_or(|watch| !watch.off)
    }

    /// Power off and on again between two operations: what an earlier cut left unstable has
    /// decayed by the time a mount sees the chip, and counters in RAM are gone.
    pub fn power_cycle(&mut self) {
        self.decay();
        self.power_on();
    }

    /// Power on after a cut. The chip forgets its place in the order of programs: a mount must
    /// find it again.
    pub fn power_on(&mut self) {
        self.watch = None;
        self.sequence = None;
    }

    /// Pages that a cut left unstable become unreadable, as they will some day.
    pub fn decay(&mut self) {
        self.store_mut().decay();
    }

    /// Makes an operation that is complete look as a cut during it leaves it, and takes the power.
    /// What an earlier cut left unstable does not outlive this one.
    pub(crate) fn interrupt(&mut self, operation: Interruptible, outcome: Outcome) {
        self.decay();
        match (operation, outcome) {
            (Interruptible::Program(ppn), Outcome::Torn) => self.tear(ppn, Health::Torn),
            (Interruptible::Program(ppn), Outcome::LooksErased) => {
                self.tear(ppn, Health::LooksErased)
            }
            (Interruptible::Program(ppn), Outcome::Unstable) => self.tear(ppn, Health::Unstable),
            (Interruptible::Erase(block), Outcome::Half) => self.half_erased.push(block),
            _ => {}
        }
        let watch = self.watch.get_or_insert_default();
        **watch = Watch { off: true, ..Watch::default() };
    }

    fn tear(&mut self, ppn: Ppn, health: Health) {
        if health != Health::Unstable {
            self.owners[ppn.0 as usize] = Lpn::SYSTEM.0;
        }
        let geometry = self.geometry;
        self.store_mut().set_health(&geometry, ppn, health);
    }

    /// Counts down to the cut; false if it strikes this operation and leaves more than nothing.
    fn count_down_to_cut(&mut self, operation: Interruptible) -> Result<bool> {
        let watch = self.watch.as_mut().expect("asked only while watched");
        if watch.off {
            return Err(Error::PowerLost);
        }
        match &mut watch.cut {
            Some(cut) if cut.after == 0 => {
                let outcome = cut.outcome;
                if outcome == Outcome::Untouched || !operation.outcomes().contains(&outcome) {
                    self.interrupt(operation, Outcome::Untouched);
                    return Err(Error::PowerLost);
                }
                Ok(false)
            }
            Some(cut) => {
                cut.after -= 1;
                Ok(true)
            }
            None => Ok(true),
        }
    }

    fn lose_power(&mut self, operation: Interruptible) -> Result<()> {
        let cut = self.watch.as_ref().and_then(|watch| watch.cut);
        self.interrupt(operation, cut.map_or(Outcome::Untouched, |cut| cut.outcome));
        Err(Error::PowerLost)
    }

    #[inline]
    fn powered(&self) -> Result<()> {
        if self.is_on() { Ok(()) } else { Err(Error::PowerLost) }
    }

    #[inline]
    fn record(&mut self, operation: Interruptible, cause: Cause) {
        if self.watch.is_some() {
            self.record_watched(operation, cause);
        }
    }

    #[cold]
    fn record_watched(&mut self, operation: Interruptible, cause: Cause) {
        match operation {
            Interruptible::Program(ppn) => self.log(Op::Program, cause, ppn.0, self.owner(ppn)),
            Interruptible::Erase(block) => self.log(Op::Erase, cause, block.0, Lpn::NONE),
        }
        if self.watch.as_ref().is_some_and(|watch| watch.recording.is_some()) {
            self.take_snapshot(operation);
        }
    }

    #[inline]
    fn note(&mut self, op: Op, cause: Cause, ppn: Ppn) {
        if self.watch.is_some() {
            self.log(op, cause, ppn.0, self.owner(ppn));
        }
    }

    #[cold]
    fn log(&mut self, op: Op, cause: Cause, place: u32, owner: Lpn) {
        if let Some(log) = self.watch.as_mut().and_then(|watch| watch.log.as_mut()) {
            log.push(Logged { op, cause, place, owner });
        }
    }

    #[cold]
    fn take_snapshot(&mut self, operation: Interruptible) {
        let watch = self.watch.take().expect("recording is on");
        let after = self.clone();
        self.watch = Some(watch);
        let recording = self.watch.as_mut().and_then(|watch| watch.recording.as_mut());
        recording.expect("recording is on").push(Snapshot { operation, after });
    }

    // ---- The operations themselves --------------------------------------------------------------

    #[inline]
    fn program_now(&mut self, ppn: Ppn, page: &Page, cause: Cause) {
        self.claim(ppn, 1);
        assert!(page.owner != Lpn::NONE, "programmed {ppn:?} without an owner");
        self.owners[ppn.0 as usize] = page.owner.0;
        let sequence = self.take_sequence();
        self.tally.book(Op::Program, cause, 1);
        if let Some(store) = &mut self.store {
            let (owner, kind) = (page.owner, page.kind);
            let spare = Spare { owner, version: sequence, sequence, kind };
            store.program(&self.geometry, ppn, spare, page.extra, page.content);
        }
    }

    #[inline]
    fn copy_page(&mut self, from: Ppn, to: Ppn, sequence: u64, kind: Option<u8>) {
        let owner = self.owners[from.0 as usize];
        assert!(owner != Lpn::NONE.0, "copied {from:?}, which is erased");
        self.owners[to.0 as usize] = owner;
        if let Some(store) = &mut self.store {
            store.copy(&self.geometry, from, to, sequence, kind);
        }
    }

    #[cold]
    fn copy_watched(
        &mut self,
        from: &[Ppn],
        to: Ppn,
        kind: Option<u8>,
        cause: Cause,
    ) -> Result<()> {
        for (index, &source) in from.iter().enumerate() {
            let to = to.plus(index as u32);
            let survives = self.count_down_to_cut(Interruptible::Program(to))?;
            self.claim(to, 1);
            let sequence = self.take_sequence();
            self.copy_page(source, to, sequence, kind);
            self.tally.book_copies(cause, 1);
            if !survives {
                return self.lose_power(Interruptible::Program(to));
            }
            self.note(Op::Read, cause, source);
            self.record(Interruptible::Program(to), cause);
        }
        Ok(())
    }

    fn erase_now(&mut self, block: BlockId, cause: Cause) {
        let span = self.geometry.span(block);
        let index = block.0 as usize;
        self.lost_pages += u64::from(self.geometry.pages_per_block())
            - u64::from(core::mem::take(&mut self.filled[index]));
        self.owners[span].fill(Lpn::NONE.0);
        self.wear[index] += 1;
        self.tally.book(Op::Erase, cause, 1);
        if let Some(store) = &mut self.store {
            store.erase(block);
            self.half_erased.retain(|&half| half != block);
        }
    }

    /// Takes the next `pages` pages at `to` for programming; here the rules are enforced.
    #[inline]
    fn claim(&mut self, to: Ppn, pages: u32) {
        let block = self.geometry.block_of(to);
        let offset = to.0 - self.geometry.first_page(block).0;
        let end = offset + pages;
        assert!(
            end <= self.geometry.pages_per_block(),
            "{pages} pages from offset {offset} on do not fit {block:?}"
        );
        if !self.half_erased.is_empty() {
            let half = self.half_erased.contains(&block);
            assert!(!half, "programmed {block:?}, which a cut left half erased");
        }
        let filled = &mut self.filled[block.0 as usize];
        let next = u32::from(*filled);
        match self.geometry.program_order() {
            ProgramOrder::Sequential => {
                assert!(offset == next, "{block:?}: programmed page {offset}; next is {next}");
                *filled = end as u16;
            }
            ProgramOrder::Ascending => {
                assert!(offset >= next, "{block:?}: programmed page {offset}; next is {next}");
                self.lost_pages += u64::from(offset - next);
                *filled = end as u16;
            }
            ProgramOrder::Any => {
                let span = to.0 as usize..to.0 as usize + pages as usize;
                let clean = self.owners[span].iter().all(|&owner| owner == Lpn::NONE.0);
                assert!(
                    clean,
                    "{block:?}: page {offset} or one of the {pages} from it is programmed"
                );
                *filled += pages as u16;
            }
        }
    }

    #[inline]
    fn next_sequence(&mut self) -> &mut u64 {
        self.sequence.as_mut().expect("programmed before the mount resumed the sequence")
    }

    fn store(&self) -> &Store {
        self.store.as_ref().expect("a chip in count mode keeps no spare areas")
    }

    fn store_mut(&mut self) -> &mut Store {
        self.store.as_mut().expect("a chip in count mode keeps no spare areas")
    }
}
