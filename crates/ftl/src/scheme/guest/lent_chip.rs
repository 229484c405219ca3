//! The chip as it is lent to a guest for one call: it refuses what breaks a rule of flash, counts
//! the operations of the call, and remembers what went wrong.
//!
//! All pages of a guest are pages of the system for the chip below: their data area holds what the
//! guest programmed, and their spare area has the guest's bytes behind the header. On a chip that
//! only counts, [`KeptPages`] has both, and consecutive pages are counted together.

use core::ops::Range;
use std::collections::BTreeSet;

use nand::{BlockId, Cause, Content, Copies, FlashArray, Lpn, Media, Nand, Page, PageState, Ppn};

use super::kept_pages::{KeptPages, read_padded, without_zeroes};
use super::open_run::{OpenRun, RunKind};
use crate::contract::guest::{ChipShape, Declaration, GuestChip, GuestFaultKind, Status};

/// What is known of the chip between calls.
pub struct ChipSide {
    shape: ChipShape,
    /// The pages of a chip that only counts; nothing on others.
    kept: KeptPages,
    /// Those that it has still to count.
    run: OpenRun,
    /// The address and the bytes of the host's buffer of the call under way. Its data are zero on a
    /// chip that only counts.
    host: (usize, usize),
    /// Host reads count under this cause, if there is one.
    host_reads: Option<Cause>,
    /// The causes of operations for which the guest names none: of those with data of the host, and
    /// of all others.
    unnamed: (Cause, Cause),
    /// Whether the guest handles blocks that fail.
    is_raw: bool,
    /// The pages whose program has failed, on a chip that only counts.
    failed: BTreeSet<Ppn>,
    /// Operations that the call may still make, those of the open run apart from its first. None
    /// once something has failed.
    operations_left: u64,
    operations_max: u64,
    /// What went wrong in the call under way.
    trouble: Trouble,
}

/// What went wrong in a call.
#[derive(Debug, Default)]
pub struct Trouble {
    /// The chip failed, or lost its power.
    pub failure: Option<nand::Error>,
    /// The first fault of the guest.
    pub fault: Option<(GuestFaultKind, String)>,
    /// It made too many operations.
    pub endless: bool,
    /// What the guest said.
    pub said: Option<String>,
}

impl ChipSide {
    /// A chip that no call uses yet, for a guest that declares this.
    pub fn new(nand: &Nand, declaration: &Declaration) -> ChipSide {
        let shape = ChipShape::of(nand.geometry(), declaration);
        ChipSide {
            shape,
            kept: KeptPages::new(shape.spare_bytes, shape.pages_per_block, shape.blocks),
            run: OpenRun::new(shape.pages_per_block),
            host: (0, 0),
            host_reads: None,
            unnamed: (Cause::Meta, Cause::Meta),
            is_raw: nand.media().is_some_and(Media::is_raw),
            failed: BTreeSet::new(),
            operations_left: 0,
            operations_max: shape.operations_max(),
            trouble: Trouble::default(),
        }
    }

    /// Lends the chip for a call that passes a buffer of the host with these addresses to the
    /// guest. Reads of cause host count under `host_reads` instead, if it is given.
    #[inline]
    pub fn lend<T>(
        &mut self,
        nand: &mut Nand,
        host: Range<*const u8>,
        host_reads: Option<Cause>,
        call: impl FnOnce(&mut LentChip) -> T,
    ) -> T {
        self.host = (host.start as usize, host.end as usize - host.start as usize);
        self.host_reads = host_reads;
        self.operations_left = self.operations_max;
        let mut chip = LentChip { nand, side: self };
        let answer = call(&mut chip);
        // A failure is kept.
        let _ = chip.count_run();
        answer
    }

    /// Whether the guest gave a reason in the last call.
    pub fn has_said(&self) -> bool {
        self.trouble.said.is_some()
    }

    /// The most flash operations of a call.
    pub fn operations_max(&self) -> u64 {
        self.operations_max
    }

    /// Returns what went wrong in the last call, and forgets it.
    pub fn take_trouble(&mut self) -> Trouble {
        core::mem::take(&mut self.trouble)
    }

    /// Whether nothing went wrong in the last call.
    #[inline]
    pub fn is_calm(&self) -> bool {
        let Trouble { failure, fault, endless, said } = &self.trouble;
        failure.is_none() && fault.is_none() && !endless && said.is_none()
    }

    /// The cause of an operation, with data of the host or without.
    #[inline]
    fn cause(&self, named: Option<Cause>, is_of_host: bool) -> Cause {
        named.unwrap_or(if is_of_host { self.unnamed.0 } else { self.unnamed.1 })
    }

    /// Keeps the spare area of a page that has no data of the guest's own, if that is simple.
    #[inline(always)]
    fn keeps_spare(&mut self, page: u32, spare: Option<&[u8]>) -> bool {
        spare.is_some_and(|spare| self.kept.keeps_spare(page, spare))
    }

    /// From now on, the guest is mounted.
    pub fn end_mount(&mut self) {
        self.unnamed = (Cause::Host, Cause::Gc);
    }

    /// Whether these are data of the host. Without data it is false: no buffer is at address 0.
    #[inline]
    fn is_of_host(&self, data: Option<&[u8]>) -> bool {
        let (start, bytes) = self.host;
        data.map_or(0, |data| data.as_ptr() as usize).wrapping_sub(start) < bytes
    }
}

/// The chip during a call.
pub struct LentChip<'a> {
    nand: &'a mut Nand,
    side: &'a mut ChipSide,
}

impl LentChip<'_> {
    /// Lets an operation begin that joins no run, unless the call has made too many or the power is
    /// lost.
    #[inline(always)]
    fn begin(&mut self) -> Result<(), Status> {
        self.count_run()?;
        match self.side.operations_left.checked_sub(1) {
            Some(left) => {
                self.side.operations_left = left;
                Ok(())
            }
            None => Err(self.side.refuse_operation()),
        }
    }

    /// Counts what the chip has still to count. Whatever looks at the state of a page needs it.
    #[inline(always)]
    fn count_run(&mut self) -> Result<(), Status> {
        if self.side.run.is_empty() { Ok(()) } else { self.count_pages() }
    }

    #[inline(never)]
    fn count_pages(&mut self) -> Result<(), Status> {
        let pages = self.side.run.end();
        self.side.operations_left -= u64::from(pages - 1);
        let counted = self.side.run.count(self.nand);
        counted.map_err(|error| self.failed(error))
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, sentence: String) -> Status {
        self.side.trouble.fault.get_or_insert((GuestFaultKind::Illegal, sentence));
        Status::Illegal
    }

    /// The status of an operation that failed.
    #[cold]
    #[inline(never)]
    fn failed(&mut self, error: nand::Error) -> Status {
        match error {
            nand::Error::Unreadable(_) | nand::Error::Immovable(_) => Status::Unreadable,
            nand::Error::Failed(_) => Status::Failed,
            error => {
                self.side.trouble.failure.get_or_insert(error);
                self.side.operations_left = 0;
                Status::PowerLost
            }
        }
    }

    #[inline]
    fn status(&mut self, done: nand::Result<()>) -> Status {
        match done {
            Ok(()) => Status::Ok,
            Err(error) => self.failed(error),
        }
    }

    #[inline(always)]
    fn page(&mut self, page: u32, what: &str) -> Result<Ppn, Status> {
        match page < self.nand.geometry().pages() {
            true => Ok(Ppn(page)),
            false => Err(self.refuse_page(page, what)),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_page(&mut self, page: u32, what: &str) -> Status {
        let pages = self.nand.geometry().pages();
        self.refuse(format!("{what} page {page}; the chip has {pages} pages"))
    }

    #[inline]
    fn block(&mut self, block: u32, what: &str) -> Result<BlockId, Status> {
        let blocks = self.side.shape.blocks;
        if block < blocks {
            return Ok(BlockId(block));
        }
        Err(self.refuse(format!("{what} block {block}; the chip has {blocks} blocks")))
    }

    /// A block that is not bad. Of one in which an operation has failed, nothing more succeeds.
    #[cold]
    fn expect_good(&mut self, block: BlockId, what: &str) -> Result<(), Status> {
        if self.nand.is_bad(block) {
            return Err(self.refuse(format!("{what}, and block {} is bad", block.0)));
        }
        let has_failed = self.nand.media().is_some_and(|media| media.has_failed(block));
        if has_failed { Err(Status::Failed) } else { Ok(()) }
    }

    /// A page that may be programmed now.
    #[inline(always)]
    fn target(&mut self, page: u32, what: &str) -> Result<Ppn, Status> {
        let ppn = self.page(page, what)?;
        if self.side.is_raw {
            let block = self.nand.geometry().block_of(ppn);
            self.expect_good(block, &format!("{what} page {page}"))?;
        }
        match self.nand.array().may_program(ppn) {
            true => Ok(ppn),
            false => Err(self.refuse_target(ppn, what)),
        }
    }

    #[cold]
    #[inline(never)]
    fn refuse_target(&mut self, ppn: Ppn, what: &str) -> Status {
        let why = why_not(self.nand.array(), ppn);
        self.refuse(format!("{what} page {}, {why}", ppn.0))
    }

    /// Whether a page has the mark of a bad block, or its program has failed.
    fn is_failed(&self, ppn: Ppn) -> bool {
        let geometry = self.nand.geometry();
        let is_mark = geometry.offset_of(ppn) == 0 && self.nand.is_bad(geometry.block_of(ppn));
        is_mark || self.side.failed.contains(&ppn)
    }

    /// The state of a page, without an operation.
    fn state(&mut self, ppn: Ppn) -> Result<PageKind, Status> {
        if self.side.is_raw && self.is_failed(ppn) {
            return Ok(PageKind::Unreadable);
        }
        if self.nand.array().is_erased(ppn) {
            return Ok(PageKind::Erased);
        }
        if !self.nand.array().keeps_pages() {
            return Ok(PageKind::Programmed);
        }
        match self.nand.array().state(ppn) {
            Ok(PageState::Erased) => Ok(PageKind::Erased),
            Ok(PageState::Unreadable) => Ok(PageKind::Unreadable),
            Ok(PageState::Programmed(_)) => Ok(PageKind::Programmed),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn try_read(
        &mut self,
        page: u32,
        offset: u32,
        data: &mut [u8],
        mut spare: Option<&mut [u8]>,
        cause: Option<Cause>,
    ) -> Result<Status, Status> {
        self.begin()?;
        let ppn = self.page(page, "read")?;
        let page_bytes = self.side.shape.page_bytes;
        if offset as usize + data.len() > page_bytes as usize {
            let bytes = data.len();
            return Err(self.refuse(format!(
                "read {bytes} bytes from byte {offset} of page {page}; a page has {page_bytes}"
            )));
        }
        let cause = match (
            self.side.cause(cause, self.side.is_of_host(Some(data))),
            self.side.host_reads,
        ) {
            (Cause::Host, Some(other)) => other,
            (cause, _) => cause,
        };
        let kind = self.state(ppn)?;
        if kind == PageKind::Erased || data.is_empty() {
            let booked = self.nand.book_spare_reads([ppn], cause);
            booked.map_err(|error| self.failed(error))?;
        }
        match kind {
            PageKind::Erased => {
                data.fill(0xFF);
                spare.iter_mut().for_each(|spare| spare.fill(0xFF));
                return Ok(Status::Erased);
            }
            PageKind::Unreadable if data.is_empty() => return Ok(Status::Unreadable),
            _ => {}
        }
        if !data.is_empty() {
            self.read_data(ppn, kind, offset, data, cause)?;
        }
        if let Some(spare) = spare {
            self.read_spare(ppn, spare)?;
        }
        Ok(Status::Ok)
    }

    /// Reads bytes of a programmed page and counts it.
    fn read_data(
        &mut self,
        ppn: Ppn,
        kind: PageKind,
        offset: u32,
        data: &mut [u8],
        cause: Cause,
    ) -> Result<(), Status> {
        let LentChip { nand, side } = self;
        if !nand.array().keeps_pages() {
            let none = &mut nand::Sink::None;
            let read = nand.read(ppn, Lpn::SYSTEM, 1, none, cause);
            if kind == PageKind::Unreadable {
                return Err(Status::Unreadable);
            }
            if !side.is_of_host(Some(data)) {
                side.kept.read_data(ppn.0, offset as usize, data);
            }
            return read.map_err(|error| self.failed(error));
        }
        match nand.read_meta(ppn, cause) {
            Ok(bytes) => {
                read_padded(bytes, offset as usize, 0, data);
                Ok(())
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Reads the spare area of a programmed page, without counting it.
    fn read_spare(&mut self, ppn: Ppn, out: &mut [u8]) -> Result<(), Status> {
        if !self.nand.array().keeps_pages() {
            self.side.kept.read_spare(ppn.0, out);
            return Ok(());
        }
        match self.nand.array().peek_spare(ppn) {
            Ok(Some((_, extra))) => {
                read_padded(&extra, 0, 0xFF, out);
                Ok(())
            }
            Ok(None) => Err(Status::Unreadable),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Adds a page to the run of a chip that only counts, if it goes on there: most pages do.
    #[inline(always)]
    fn joins_run(&mut self, page: u32, from: Option<Ppn>, kind: RunKind) -> bool {
        let LentChip { nand, side } = self;
        let joins = side.run.goes_on(page, kind)
            && from.is_none_or(|source| nand.array().is_programmed(source));
        if joins {
            side.run.add(from);
        }
        joins
    }

    /// Begins a run with a page that may be programmed. Erased pages behind it may join.
    fn begin_run(&mut self, page: u32, from: Option<Ppn>, kind: RunKind) -> Result<(), Status> {
        let target = self.target(page, if from.is_some() { "copied to" } else { "programmed" })?;
        let erased = self.nand.array().erased_from(target);
        let pages = self.side.operations_left.saturating_add(1).min(erased.into());
        self.side.run.begin(page, page + pages as u32, from, kind);
        // The guest wants to know at once whether it fails.
        if !self.side.is_raw {
            return Ok(());
        }
        self.count_pages().inspect_err(|_| {
            self.side.failed.insert(target);
        })
    }

    /// A program of any kind. Most join a run and have no data of their own: those take a way of
    /// their own, which needs few registers.
    #[cold]
    #[inline(never)]
    fn program_apart(
        &mut self,
        page: u32,
        joins: bool,
        data: Option<&[u8]>,
        spare: Option<&[u8]>,
        cause: Cause,
    ) -> Status {
        if !joins && let Err(status) = self.begin_program(page, data, spare, cause) {
            return status;
        }
        let own = data.filter(|data| !self.side.is_of_host(Some(data)));
        if !self.nand.array().keeps_pages() {
            self.side.kept.program(page, own, spare);
        }
        Status::Ok
    }

    /// A copy of any kind, as [`program_apart`](Self::program_apart).
    #[cold]
    #[inline(never)]
    fn copy_apart(
        &mut self,
        from: u32,
        to: u32,
        joins: bool,
        spare: Option<&[u8]>,
        cause: Cause,
    ) -> Status {
        if !joins && let Err(status) = self.begin_copy(from, to, spare, cause) {
            return status;
        }
        if !self.nand.array().keeps_pages() {
            self.side.kept.copy(from, to, spare);
        }
        Status::Ok
    }

    /// A program that joins no run. On a chip that only counts, its contents are still to be kept.
    fn begin_program(
        &mut self,
        page: u32,
        data: Option<&[u8]>,
        spare: Option<&[u8]>,
        cause: Cause,
    ) -> Result<(), Status> {
        self.begin()?;
        if !self.nand.array().keeps_pages() {
            return self.begin_run(page, None, RunKind::Programs(cause));
        }
        let ppn = self.target(page, "programmed")?;
        let content = Content::Meta(without_zeroes(data.unwrap_or_default()));
        let extra = spare.unwrap_or_default();
        let page = Page { owner: Lpn::SYSTEM, kind: 0, extra, content };
        self.nand.program(ppn, &page, cause).map_err(|error| self.failed(error))
    }

    /// A copy that joins no run. On a chip that only counts, its contents are still to be kept.
    fn begin_copy(
        &mut self,
        from: u32,
        to: u32,
        spare: Option<&[u8]>,
        cause: Cause,
    ) -> Result<(), Status> {
        // The source may be a page that is still to be counted: it is now.
        self.begin()?;
        let source = self.page(from, "copied")?;
        if self.side.is_raw && self.is_failed(source) {
            return Err(Status::Unreadable);
        }
        if self.nand.array().is_erased(source) {
            return Err(Status::Erased);
        }
        if !self.nand.array().keeps_pages() {
            let kind = RunKind::Copies(cause);
            return self.begin_run(to, Some(source), kind);
        }
        let target = self.target(to, "copied to")?;
        if self.state(source)? == PageKind::Erased {
            return Err(Status::Erased);
        }
        if !self.nand.is_readable(source, Lpn::SYSTEM).map_err(|error| self.failed(error))? {
            return Err(Status::Unreadable);
        }
        let copies = Copies::of(core::slice::from_ref(&source));
        let done = match spare {
            Some(spare) => self.nand.copy(target, copies.with_extra(spare), cause),
            None => self.nand.copy(target, copies, cause),
        };
        done.map_err(|error| self.failed(error))
    }

    fn try_erase(&mut self, block: u32, cause: Option<Cause>) -> Result<Status, Status> {
        self.begin()?;
        let id = self.block(block, "erased")?;
        if self.side.is_raw {
            self.expect_good(id, &format!("erased block {block}"))?;
        }
        let cause = self.side.cause(cause, false);
        if !self.nand.array().keeps_pages() {
            self.side.kept.erase(block);
        }
        let done = self.nand.erase(id, cause);
        Ok(self.status(done))
    }
}

impl ChipSide {
    #[cold]
    fn refuse_operation(&mut self) -> Status {
        if self.trouble.failure.is_some() {
            return Status::PowerLost;
        }
        self.trouble.endless = true;
        Status::Endless
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Erased,
    Programmed,
    Unreadable,
}

/// Why a page may not be programmed.
#[cold]
fn why_not(array: &FlashArray, ppn: Ppn) -> String {
    let geometry = array.geometry();
    let block = geometry.block_of(ppn);
    if !array.is_erased(ppn) {
        return match array.keeps_pages().then(|| array.state(ppn)) {
            Some(Ok(PageState::Erased)) => {
                "which reads as erased, but an interrupted program has left it so: its block must \
                 be erased first"
            }
            _ => "which is programmed already",
        }
        .to_owned();
    }
    if array.is_half_erased(block) {
        return format!(
            "but the erase of block {} was interrupted: it must be erased again first",
            block.0
        );
    }
    let next = array.filled(block);
    if next >= geometry.pages_per_block() {
        return format!("of block {}, which is full: it must be erased first", block.0);
    }
    format!(
        "page {} of block {}, out of order: the next page of the block is {next}",
        geometry.offset_of(ppn),
        block.0
    )
}

impl GuestChip for LentChip<'_> {
    fn shape(&self) -> &ChipShape {
        &self.side.shape
    }

    fn read(
        &mut self,
        page: u32,
        offset: u32,
        data: &mut [u8],
        spare: Option<&mut [u8]>,
        cause: Option<Cause>,
    ) -> Status {
        self.try_read(page, offset, data, spare, cause).unwrap_or_else(|status| status)
    }

    fn program(
        &mut self,
        page: u32,
        data: Option<&[u8]>,
        spare: Option<&[u8]>,
        cause: Option<Cause>,
    ) -> Status {
        let is_of_host = self.side.is_of_host(data);
        let cause = self.side.cause(cause, is_of_host);
        let joins = self.joins_run(page, None, RunKind::Programs(cause));
        if joins && (is_of_host || data.is_none()) && self.side.keeps_spare(page, spare) {
            return Status::Ok;
        }
        self.program_apart(page, joins, data, spare, cause)
    }

    fn copy(&mut self, from: u32, to: u32, spare: Option<&[u8]>, cause: Option<Cause>) -> Status {
        let cause = self.side.cause(cause, false);
        let joins = self.joins_run(to, Some(Ppn(from)), RunKind::Copies(cause));
        if joins && !self.side.kept.have_data() && self.side.keeps_spare(to, spare) {
            return Status::Ok;
        }
        self.copy_apart(from, to, joins, spare, cause)
    }

    fn erase(&mut self, block: u32, cause: Option<Cause>) -> Status {
        self.try_erase(block, cause).unwrap_or_else(|status| status)
    }

    fn barrier(&mut self) -> Status {
        if self.side.trouble.failure.is_some() {
            return Status::PowerLost;
        }
        if let Err(status) = self.count_run() {
            return status;
        }
        self.nand.wait();
        Status::Ok
    }

    fn is_bad(&mut self, block: u32) -> bool {
        self.block(block, "asked about").map_or(true, |block| self.nand.is_bad(block))
    }

    fn mark_bad(&mut self, block: u32) -> Status {
        if self.side.trouble.failure.is_some() {
            return Status::PowerLost;
        }
        if let Err(status) = self.count_run() {
            return status;
        }
        match self.block(block, "marked") {
            Ok(id) if self.side.is_raw => {
                let done = self.nand.mark_block_bad(id);
                self.status(done)
            }
            Ok(_) => self.refuse(format!(
                "marked block {block} as bad, and none of its operations has failed"
            )),
            Err(status) => status,
        }
    }

    fn fault(&mut self, kind: GuestFaultKind, sentence: &str) -> Status {
        self.side.trouble.fault.get_or_insert((kind, sentence.to_owned()));
        Status::Illegal
    }

    fn say(&mut self, sentence: &str) {
        self.side.trouble.said = Some(sentence.to_owned());
    }
}
