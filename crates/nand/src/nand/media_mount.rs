//! The mount of media that can fail: it finds the list of moves, or makes the first one.

use std::collections::BTreeSet;

use super::Nand;
use super::media::ListPlace;
use super::media::Media;
use super::media::model::MediaModel;
use super::media::move_list::{Failure, LIST, ListReader, Moves};
use crate::address::{BlockId, Lpn, Ppn};
use crate::error::{Error, Result};
use crate::op::Cause;
use crate::op_sink::Operation;
use crate::spare::PageState;

/// What a block has of lists.
#[derive(Default)]
struct FoundInBlock {
    /// The newest list that counts.
    list: Option<Moves>,
    /// The newest version that was ever begun.
    newest: u64,
}

impl Nand {
    /// Mounts media that can fail, before an FTL is mounted. A factory-fresh chip gets its first
    /// list of moves.
    ///
    /// # Errors
    /// The power fails, no good block is left for the list, or the chip has data but no list.
    pub fn mount_media(&mut self, model: &MediaModel, seed: u64) -> Result<()> {
        if self.media().is_some() {
            return Ok(());
        }
        let lists = if self.is_factory_new() { Vec::new() } else { self.find_lists()? };
        let newest = lists.iter().map(|(_, found)| found.newest).max().unwrap_or(0);
        let counting = lists.iter().filter_map(|(_, found)| found.list.as_ref());
        let list = counting.max_by_key(|list| list.version).cloned();
        let is_known = list.is_some();
        if !is_known {
            self.expect_no_data()?;
        }
        let moves = list.unwrap_or_default();
        let (all, of_ftl) = (*self.array.geometry(), *self.geometry());
        let version = moves.version;
        let media = Media::new(model, &all, &of_ftl, moves, self.seed_of_power_on(seed));
        self.guards.get_or_insert_default().media = Some(media);
        self.its_media().moves.version = newest.max(version);
        if is_known { self.resume_media(&lists, version) } else { self.format_media() }
    }

    /// Goes on where the newest list stands.
    fn resume_media(&mut self, lists: &[(BlockId, FoundInBlock)], version: u64) -> Result<()> {
        let (all, of_ftl) = (*self.array.geometry(), *self.geometry());
        let moves = self.its_media().moves.clone();
        for (number, block) in moves.behind {
            self.array.put_behind(number, block);
        }
        // Numbers of the reserve may have any block behind them, since blocks change places.
        let bad = moves.bad.iter().map(|(block, _)| *block).collect::<BTreeSet<_>>();
        let free = (of_ftl.blocks()..all.blocks()).map(BlockId);
        let free = free.filter(|number| !bad.contains(&self.array.behind(*number))).collect();
        let holds =
            |found: &FoundInBlock| found.list.as_ref().is_some_and(|list| list.version == version);
        let holders = lists.iter().filter(|(_, found)| holds(found));
        let holders: Vec<BlockId> = holders.map(|(block, _)| *block).collect();
        let newer = lists.iter().filter(|(_, found)| found.newest > version);
        let newer: Vec<BlockId> = newer.map(|(block, _)| *block).collect();
        self.its_media().share_out(&holders, free, &all);
        if let Some(die) = self.its_media().exhausted {
            self.freeze(die)?;
        }
        self.erase_unsealed(&newer)?;
        if let (&[first, second], []) = (&holders[..], &newer[..]) {
            let media = self.its_media();
            media.list_blocks.retain(|block| !holders.contains(block));
            // What a cut has left behind the seal may only look erased. The next list goes
            // elsewhere.
            let page = of_ftl.pages_per_block();
            media.copies = [first, second].map(|block| Some(ListPlace { block, page }));
            return Ok(());
        }
        self.write_list(&[])
    }

    /// Erases the blocks with a newer list that does not count, before anything is programmed: a
    /// page that goes astray could become its seal.
    fn erase_unsealed(&mut self, newer: &[BlockId]) -> Result<()> {
        for &block in newer {
            if self.its_media().is_frozen || self.its_media().is_only_holder(block) {
                continue;
            }
            self.its_media().begin_list(block);
            if !self.erase_of_media(block, Cause::Media)? {
                self.its_media().forget(block);
            }
        }
        Ok(())
    }

    /// Looks for bad blocks as the factory marked them, and writes the first list.
    fn format_media(&mut self) -> Result<()> {
        let (all, of_ftl) = (*self.array.geometry(), *self.geometry());
        let (mut bad, mut free) = (Vec::new(), Vec::new());
        for block in (0..all.blocks()).map(BlockId) {
            self.book_page_of_media(all.first_page(block))?;
            match self.array.lives().is_some_and(|lives| lives.is_factory_bad(block)) {
                true => bad.push(block),
                false if block.0 >= of_ftl.blocks() => free.push(block),
                false => {}
            }
        }
        let media = self.its_media();
        media.share_out(&[], free, &all);
        let mut exchange = Vec::new();
        for bad in bad {
            media.retire(bad, Failure::Factory);
            if bad.0 < of_ftl.blocks() {
                let by = media.reserve[all.die_of(bad) as usize].pop();
                let by = by.expect("there are enough blocks in reserve");
                media.moves.place(bad, by);
                exchange.push((bad, by));
            }
        }
        self.write_list(&exchange)
    }

    /// Reads what the blocks of the media have of lists.
    fn find_lists(&mut self) -> Result<Vec<(BlockId, FoundInBlock)>> {
        let (all, of_ftl) = (*self.array.geometry(), *self.geometry());
        let mut lists = Vec::new();
        for block in (of_ftl.blocks()..all.blocks()).map(BlockId) {
            let found = self.find_lists_in(block)?;
            lists.extend(found.map(|found| (block, found)));
        }
        Ok(lists)
    }

    /// Reads a block up to its first erased page. None if the first page is not of the media.
    fn find_lists_in(&mut self, block: BlockId) -> Result<Option<FoundInBlock>> {
        let (geometry, of_ftl) = (*self.array.geometry(), *self.geometry());
        let (mut found, mut reader) = (FoundInBlock::default(), ListReader::default());
        let mut complete = None;
        for ppn in geometry.span(block).map(|page| Ppn(page as u32)) {
            self.book_page_of_media(ppn)?;
            let state = self.array.state(ppn)?;
            if state == PageState::Erased {
                break;
            }
            // Whatever it is: the program of the page before was complete when it began.
            let sealed = complete.take();
            found.list = sealed.or(found.list);
            if is_of_media(state, LIST) {
                self.record_read(ppn);
                let bytes = self.array.peek_meta(ppn).unwrap_or_default();
                if reader.take(&bytes) {
                    let list = reader.finish();
                    complete = list.filter(|list| list.is_possible(&geometry, &of_ftl));
                }
                found.newest = found.newest.max(reader.version());
            } else if geometry.offset_of(ppn) == 0 && matches!(state, PageState::Programmed(_)) {
                return Ok(None);
            } else {
                reader.interrupt();
            }
        }
        Ok(Some(found))
    }

    /// Only a chip without any data may have no list.
    fn expect_no_data(&mut self) -> Result<()> {
        let geometry = *self.geometry();
        for block in (0..geometry.blocks()).map(BlockId) {
            let ppn = geometry.first_page(block);
            self.book_page_of_media(ppn)?;
            if !self.array.is_erased(ppn) {
                let why = "the list of moves cannot be found, in either of its copies";
                return Err(Error::Storage(why.to_owned()));
            }
        }
        Ok(())
    }

    fn record_read(&mut self, ppn: Ppn) {
        let ppn = self.place_in_ledger(ppn);
        self.ledger.record(Cause::Media, Operation::Read { ppn, owner: Lpn::SYSTEM });
    }

    fn book_page_of_media(&mut self, ppn: Ppn) -> Result<()> {
        self.check_power()?;
        let ppn = self.place_in_ledger(ppn);
        self.ledger.record(Cause::Media, Operation::SpareRead { ppn, owner: Lpn::SYSTEM });
        Ok(())
    }
}

fn is_of_media(state: PageState, kind: u8) -> bool {
    let PageState::Programmed(spare) = state else { return false };
    spare.owner == Lpn::SYSTEM && spare.kind == kind
}
