//! The chip on media that can fail: what it does when an operation fails.

use super::media::model::MediaModel;
use super::media::move_list::{self, Failure, LIST, SEAL};
use super::media::{Factory, ListPlace, Media, ProgramEvent, draw_lives};
use super::{Guards, Nand};
use crate::address::{BlockId, Lpn, Ppn};
use crate::error::{Error, Result};
use crate::flash_array::{CopySpare, FlashArray};
use crate::geometry::Geometry;
use crate::op::Cause;
use crate::op_sink::Operation;
use crate::page_store::PageStore;
use crate::payload::{Content, Copies, Mode, Page, Pages};
use crate::power_cut::{Interruptible, Outcome};

impl FlashArray {
    /// The array of the pages in `store`, on a chip that [`Nand::on_media`] made with these
    /// figures. Reads every spare area.
    ///
    /// # Errors
    /// The storage failed, the media are impossible, or the store has another number of blocks.
    pub fn from_store_on_media(
        store: Box<dyn PageStore>,
        of_ftl: Geometry,
        model: &MediaModel,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<FlashArray> {
        let Factory { all, lives } = Factory::new(model, &of_ftl, reserve_blocks, seed)?;
        let array = FlashArray::from_store(store)?;
        match *array.geometry() == all {
            true => Ok(array.with_lives(of_ftl, lives)),
            false => {
                let why =
                    format!("{} blocks instead of {}", array.geometry().blocks(), all.blocks());
                Err(Error::Storage(why))
            }
        }
    }

    /// The same on raw media: see [`Nand::on_raw_media`].
    ///
    /// # Errors
    /// The storage failed.
    pub fn from_store_on_raw_media(
        store: Box<dyn PageStore>,
        model: &MediaModel,
        seed: u64,
    ) -> Result<FlashArray> {
        let array = FlashArray::from_store(store)?;
        let geometry = *array.geometry();
        let mut array = array.with_lives(geometry, draw_lives(model, &geometry, seed));
        array.find_bad_marks()?;
        Ok(array)
    }
}

impl Nand {
    /// A factory-fresh chip whose blocks can fail, with further blocks in reserve and for the list
    /// of moves. It must be [mounted](Self::mount_media).
    ///
    /// # Errors
    /// A die has more bad blocks than blocks in reserve, or there are too many blocks.
    pub fn on_media(
        of_ftl: Geometry,
        mode: Mode,
        model: &MediaModel,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<Nand> {
        let Factory { all, lives } = Factory::new(model, &of_ftl, reserve_blocks, seed)?;
        Ok(Nand::fresh(FlashArray::on_media(of_ftl, all, mode, lives)))
    }

    /// All pages and blocks of the chip that `on_media` would make.
    ///
    /// # Errors
    /// As of `on_media`.
    pub fn check_media(
        of_ftl: &Geometry,
        model: &MediaModel,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<Geometry> {
        Factory::new(model, of_ftl, reserve_blocks, seed).map(|factory| factory.all)
    }

    /// The media, if they can fail.
    pub fn media(&self) -> Option<&Media> {
        self.guards.as_ref()?.media.as_ref()
    }

    /// The media, for whoever commands failures.
    pub fn media_mut(&mut self) -> Option<&mut Media> {
        self.guards.as_deref_mut().and_then(|Guards { media, .. }| media.as_mut())
    }

    /// Refuses a write of the host if it can only read. Flash operations do not ask.
    ///
    /// # Errors
    /// A die has no block left in reserve.
    #[inline]
    pub fn expect_writable(&self) -> Result<()> {
        self.media().map_or(Ok(()), Media::expect_writable)
    }

    /// Refuses to promise that changes last if they are in memory only.
    pub(super) fn expect_lasting(&self) -> Result<()> {
        match self.media() {
            Some(media) if media.loses_changes() => media.expect_writable(),
            _ => Ok(()),
        }
    }

    /// The media of a chip on which programs can fail.
    pub(super) fn its_media(&mut self) -> &mut Media {
        self.media_mut().expect("the media are mounted")
    }

    // ---- Failures that the FTL handles -----------------------------------------------------

    /// A factory-fresh chip whose FTL handles failing operations and bad blocks itself, and has all
    /// blocks. It must be [mounted](Self::mount_raw_media).
    pub fn on_raw_media(geometry: Geometry, mode: Mode, model: &MediaModel, seed: u64) -> Nand {
        let lives = draw_lives(model, &geometry, seed);
        Nand::fresh(FlashArray::on_media(geometry, geometry, mode, lives))
    }

    /// Mounts raw media, before an FTL is mounted.
    ///
    /// # Panics
    /// The chip is not on raw media.
    pub fn mount_raw_media(&mut self, model: &MediaModel, seed: u64) {
        if self.media().is_none() {
            let seed = self.seed_of_power_on(seed);
            let lives = self.array.lives().expect("the chip is on media");
            let media = Media::raw(model, self.geometry(), lives, seed);
            self.guards.get_or_insert_default().media = Some(media);
        }
    }

    /// Each time the power is on, other operations fail.
    pub(super) fn seed_of_power_on(&self, seed: u64) -> u64 {
        let erases = self.array.lives().map_or(&[][..], |lives| lives.erases());
        let erases = erases.iter().fold(0_u64, |sum, &erases| sum + u64::from(erases));
        seed ^ erases.rotate_left(16)
    }

    /// Whether a block is bad from the factory, or was marked. Costs no operation.
    pub fn is_bad(&self, block: BlockId) -> bool {
        self.array.lives().is_some_and(|lives| lives.is_marked_bad(block))
    }

    /// Marks a block of raw media as bad for ever. Its first page cannot be read any more. Counts
    /// no operation; a power cut finds the block marked or not.
    ///
    /// # Errors
    /// Power lost, or the storage failed.
    ///
    /// # Panics
    /// The chip is not on raw media.
    pub fn mark_block_bad(&mut self, block: BlockId) -> Result<()> {
        self.check_power()?;
        self.array.mark_bad(block)
    }

    /// A block in which an operation failed is of no use: its next erase fails, too.
    fn tell_failure(&mut self, block: BlockId, failure: Failure) -> Error {
        if !self.its_media().has_failed(block) {
            self.its_media().retire(block, failure);
        }
        self.array.wear_out(block);
        Error::Failed(block)
    }

    /// Programs pages of which at least one fails.
    #[cold]
    #[inline(never)]
    pub(super) fn program_on_media(&mut self, to: Ppn, pages: &Pages, cause: Cause) -> Result<()> {
        for index in 0..pages.count() {
            let (ppn, page) = (to.plus(index), pages.page(index, self.geometry()));
            while self.next_program_fails() {
                self.fail_program(ppn, cause, |array, sequence, tentative| {
                    array.program(ppn, &page, 1, sequence, tentative)
                })?;
            }
            self.program_now(ppn, Pages::One(&page), cause)?;
        }
        Ok(())
    }

    /// Copies pages of which at least one fails.
    #[cold]
    #[inline(never)]
    pub(super) fn copy_on_media(&mut self, to: Ppn, copies: &Copies, cause: Cause) -> Result<()> {
        let Copies { from, kind, extra, .. } = *copies;
        for (ppn, source) in (to.0..).map(Ppn).zip(from) {
            let mut is_readable = true;
            while is_readable && self.next_program_fails() {
                is_readable = self.fail_program(ppn, cause, |array, sequence, tentative| {
                    array.copy(*source, ppn, CopySpare { sequence, tentative, kind, extra })
                })?;
            }
            let from = core::slice::from_ref(source);
            self.copy_now(ppn, Copies { from, ..copies.clone() }, cause)?;
        }
        Ok(())
    }

    /// Whether the next program of the FTL fails. If not, its page may be one that cannot be read.
    fn next_program_fails(&mut self) -> bool {
        let keeps_pages = self.array.keeps_pages();
        let media = self.its_media();
        let event = media.program_event();
        media.loses_page |= keeps_pages && event == Some(ProgramEvent::LosesPage);
        event == Some(ProgramEvent::Fails)
    }

    /// Takes the data from a page that has just been programmed, if one is to be lost. What an FTL
    /// needs to find its data again is never lost: controllers keep it twice, or in better cells.
    #[inline]
    pub(super) fn lose_if_due(&mut self, ppn: Ppn) -> Result<()> {
        match self.media().is_some_and(|media| media.loses_page) {
            true => self.lose_page(ppn),
            false => Ok(()),
        }
    }

    #[cold]
    fn lose_page(&mut self, ppn: Ppn) -> Result<()> {
        let owner = self.array.owner(ppn);
        if owner != Lpn::SYSTEM {
            self.array.lose_data(ppn)?;
            self.its_media().note_lost(owner);
        }
        Ok(())
    }

    /// A read that fails is made again, and counts under the media.
    #[inline]
    pub(super) fn book_second_read(&mut self, ppn: Ppn) {
        if self.media_mut().is_some_and(Media::read_fails) {
            let owner = self.array.owner(ppn);
            self.ledger.record(Cause::Media, Operation::Read { ppn, owner });
        }
    }

    /// A program fails: its page cannot be read, and nothing more can be programmed in its block.
    /// Another block takes its place, in which the program will be made again. Returns whether it
    /// was begun: a copy whose source cannot be read is not.
    fn fail_program(
        &mut self,
        ppn: Ppn,
        cause: Cause,
        write: impl FnOnce(&mut FlashArray, u64, bool) -> Result<()>,
    ) -> Result<bool> {
        let (operation, tentative) = (Interruptible::Program(ppn), self.tentative);
        // It is not taken: the program that is made again has the same place.
        let sequence = self.sequence.expect("programmed before the mount resumed the sequence");
        let cut = self.begin(operation)?;
        let keeps_pages = self.array.keeps_pages();
        let written = self.array.without_losses(|array| match keeps_pages {
            true => write(array, sequence, tentative),
            false => array.program_of_media(ppn, &blank(Content::Pad, SEAL), sequence),
        });
        match written {
            Err(Error::Unreadable(_)) => return Ok(false),
            written => written?,
        }
        self.array.fail_program(ppn)?;
        // An FTL that handles failures has made this program for a reason of its own.
        let is_of_ftl = self.its_media().is_raw();
        self.record_program(ppn, if is_of_ftl { cause } else { Cause::Media });
        self.end(operation, cut)?;
        self.replace(self.geometry().block_of(ppn), Some(ppn), Failure::Program)?;
        Ok(true)
    }

    /// Ends the erase of a block that can fail.
    #[inline(never)]
    pub(super) fn end_erase_on_media(
        &mut self,
        block: BlockId,
        cut: Option<Outcome>,
    ) -> Result<()> {
        let failure = self.erase_failure(block)?;
        self.end(Interruptible::Erase(block), cut)?;
        match failure {
            Some(failure) => self.replace(block, None, failure),
            None if self.levels_wear() => self.level_wear(block),
            None => Ok(()),
        }
    }

    /// Why the erase of a block that has just been erased fails, if it does.
    #[inline(always)]
    fn erase_failure(&mut self, block: BlockId) -> Result<Option<Failure>> {
        let is_worn_out = self.array.lives().is_some_and(|lives| lives.is_worn_out(block));
        let failure = self.its_media().erase_failure(is_worn_out);
        if failure.is_some() {
            self.array.fail_erase(block)?;
        }
        Ok(failure)
    }

    // ---- Another block takes its place -----------------------------------------------------

    /// Puts a block in reserve in the place of one that has failed. The page whose program failed
    /// does not move. On raw media the FTL is told.
    pub(super) fn replace(
        &mut self,
        number: BlockId,
        failed: Option<Ppn>,
        failure: Failure,
    ) -> Result<()> {
        let (bad, die) = (self.array.behind(number), self.geometry().die_of(number));
        if self.its_media().is_raw() {
            return Err(self.tell_failure(number, failure));
        }
        loop {
            let by = match self.its_media().reserve[die as usize].pop() {
                Some(by) => by,
                None => {
                    // The next mount shall know that the die had none left.
                    self.its_media().retire(bad, Failure::Unreplaced);
                    self.write_list(&[])?;
                    self.freeze(die)?;
                    // In the copy any block will do: the list is not written any more.
                    BlockId(self.geometry().blocks())
                }
            };
            let is_ready = self.erase_of_media(by, Cause::Media)?;
            if is_ready && self.move_pages(number, by, failed, Cause::Media)? {
                let behind = self.array.behind(by);
                let media = self.its_media();
                if !media.is_frozen {
                    media.retire(bad, failure);
                    media.moves.place(number, behind);
                }
                if media.reserve[die as usize].is_empty() {
                    media.exhausted = Some(die);
                }
                return self.write_list(&[(number, by)]);
            }
        }
    }

    /// Copies the pages of a block to another one. Returns whether that is good; if not, it is
    /// marked.
    pub(super) fn move_pages(
        &mut self,
        number: BlockId,
        by: BlockId,
        failed: Option<Ppn>,
        cause: Cause,
    ) -> Result<bool> {
        self.array.use_as(by, number);
        let (from, to) = (self.geometry().first_page(number), self.geometry().first_page(by));
        let mut moved = 0;
        // A page that went astray may lie where a block with one bit per cell has none. Pages at
        // the end that only look erased do not move: for the FTL they are erased.
        let pages = self.array.usable_pages(number).min(self.array.fill_level(number)?);
        for at in 0..pages {
            let (source, ppn) = (from.plus(at), to.plus(at));
            if self.array.is_erased(source) || failed == Some(source) {
                continue;
            }
            let write = |array: &mut FlashArray| array.move_page(source, ppn);
            if !self.program_of_media(ppn, Some((source, cause)), write, &[])? {
                self.mark_bad(by, Failure::Program);
                return Ok(false);
            }
            moved += 1;
        }
        if cause == Cause::Media {
            self.its_media().count_moved(moved);
        }
        Ok(true)
    }

    /// Programs a page for the media, which may be a copy. If it succeeds, these blocks exchange
    /// their numbers with it. Returns whether it does.
    fn program_of_media(
        &mut self,
        ppn: Ppn,
        from: Option<(Ppn, Cause)>,
        write: impl FnOnce(&mut FlashArray) -> Result<()>,
        exchange: &[(BlockId, BlockId)],
    ) -> Result<bool> {
        let operation = Interruptible::Program(ppn);
        let cut = self.begin(operation)?;
        self.array.without_losses(write)?;
        match from {
            Some((from, cause)) => {
                let [from, to] = [from, ppn].map(|page| self.place_in_ledger(page));
                let owners = &[Lpn::SYSTEM.0];
                self.ledger.record(cause, Operation::Copy { from: &[from], to, owners });
            }
            None => self.record_program(ppn, Cause::Media),
        }
        let fails = self.its_media().program_event() == Some(ProgramEvent::Fails);
        if fails {
            self.array.fail_program(ppn)?;
        } else {
            exchange.iter().for_each(|&(one, other)| self.array.exchange(one, other));
        }
        self.end(operation, cut)?;
        Ok(!fails)
    }

    /// Erases a block for the media, under this cause. Returns whether it is good; if not, it is
    /// marked.
    pub(super) fn erase_of_media(&mut self, block: BlockId, cause: Cause) -> Result<bool> {
        let operation = Interruptible::Erase(block);
        let cut = self.begin(operation)?;
        self.array.without_losses(|array| array.erase(block))?;
        self.its_media().erases += 1;
        let place =
            self.geometry().block_of(self.place_in_ledger(self.geometry().first_page(block)));
        self.ledger.record(cause, Operation::Erase { block: place });
        let failure = self.erase_failure(block)?;
        self.end(operation, cut)?;
        if let Some(failure) = failure {
            self.mark_bad(block, failure);
        }
        Ok(failure.is_none())
    }

    /// A block that stands for no number of the FTL is bad.
    pub(super) fn mark_bad(&mut self, block: BlockId, failure: Failure) {
        let bad = self.array.behind(block);
        self.its_media().retire(bad, failure);
    }

    // ---- The list of moves -----------------------------------------------------------------

    /// From now on, whatever changes is in memory: this die has no block left in reserve.
    pub(super) fn freeze(&mut self, die: u32) -> Result<()> {
        self.let_dies_end();
        self.array.freeze()?;
        // What a mount changes can be found again by the next one.
        let is_mounting = self.seen.is_some();
        self.its_media().freeze(die, !is_mounting);
        Ok(())
    }

    /// Writes the list, in both copies. With its last program, blocks exchange their numbers.
    pub(super) fn write_list(&mut self, exchange: &[(BlockId, BlockId)]) -> Result<()> {
        loop {
            if self.its_media().is_frozen {
                exchange.iter().for_each(|&(one, other)| self.array.exchange(one, other));
                return Ok(());
            }
            self.its_media().moves.version += 1;
            // What is in flight on other dies may be a page that the list relies on.
            self.let_dies_end();
            if self.write_copy(0, &[])? && self.write_copy(1, exchange)? {
                return Ok(());
            }
        }
    }

    /// Writes a copy of the list. Returns whether its block is good; if not, it is marked.
    fn write_copy(&mut self, copy: usize, exchange: &[(BlockId, BlockId)]) -> Result<bool> {
        let page_bytes = self.geometry().page_bytes();
        let pages = move_list::pages(self.its_media().moves.entries(), page_bytes);
        let Some(place) = self.place_of_list(copy, pages)? else { return Ok(false) };
        let first = self.geometry().page(place.block, place.page);
        for part in 0..pages {
            let (ppn, is_seal) = (first.plus(part), part + 1 == pages);
            let version = self.its_media().moves.version;
            let bytes = match is_seal {
                true => Vec::new(),
                false => self.its_media().moves.encode(part, page_bytes),
            };
            let page = match is_seal {
                true => blank(Content::Pad, SEAL),
                false => blank(Content::Meta(&bytes), LIST),
            };
            if is_seal {
                // Only the last program of a list may be in flight when numbers are exchanged.
                self.let_dies_end();
            }
            let exchange = if is_seal { exchange } else { &[] };
            let write = |array: &mut FlashArray| array.program_of_media(ppn, &page, version);
            let is_good = self.program_of_media(ppn, None, write, exchange)?;
            self.its_media().list_programs += 1;
            if !is_good {
                self.its_media().copies[copy] = None;
                self.mark_bad(place.block, Failure::Program);
                return Ok(false);
            }
        }
        self.let_dies_end();
        let media = self.its_media();
        media.copies[copy] = Some(ListPlace { page: place.page + pages, ..place });
        media.end_list(place.block, copy);
        Ok(true)
    }

    /// Where a list of this number of pages goes: behind the last one of its copy, or into another
    /// block. None if that block is bad.
    fn place_of_list(&mut self, copy: usize, pages: u32) -> Result<Option<ListPlace>> {
        let per_block = self.geometry().pages_per_block();
        let media = self.its_media();
        let last = media.copies[copy];
        let has_room = |place: &ListPlace| place.page + pages <= per_block;
        if let Some(place) = last.filter(|it| has_room(it) && !media.is_only_holder(it.block)) {
            media.begin_list(place.block);
            return Ok(Some(place));
        }
        let (array, first) = (&self.array, self.array.of_ftl().blocks());
        let media = self.guards.as_mut().and_then(|guards| guards.media.as_mut());
        let media = media.expect("the media are mounted");
        let Some(block) = media.take_list_block(|number| array.behind(number).0 >= first) else {
            self.freeze(0)?;
            return Ok(None);
        };
        media.begin_list(block);
        media.copies[copy] = None;
        media.list_blocks.extend(last.map(|place| place.block));
        let place = ListPlace { block, page: 0 };
        Ok(self.erase_of_media(block, Cause::Media)?.then_some(place))
    }

    // ---- The ledger ------------------------------------------------------------------------

    /// Blocks of the media have no numbers of the FTL. In logs and clocks they are the first block
    /// of their die.
    pub(super) fn place_in_ledger(&self, ppn: Ppn) -> Ppn {
        let geometry = self.geometry();
        let block = geometry.block_of(ppn);
        if block.0 < geometry.blocks() {
            return ppn;
        }
        let first = geometry.die_of(block).min(geometry.blocks() - 1);
        geometry.page(BlockId(first), geometry.offset_of(ppn))
    }

    fn record_program(&mut self, ppn: Ppn, cause: Cause) {
        let (first, owners) = (self.place_in_ledger(ppn), &[Lpn::SYSTEM.0]);
        self.ledger.record(cause, Operation::Program { first, owners });
    }
}

/// A page of the media.
fn blank(content: Content, kind: u8) -> Page {
    Page { owner: Lpn::SYSTEM, kind, extra: &[], content }
}
