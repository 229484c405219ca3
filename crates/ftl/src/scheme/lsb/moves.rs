//! Moves of lsb: the valid pages of a block that is being emptied get new places.

use nand::{Cause, Copies, Lpn, Nand, Ppn};

use super::Lsb;
use super::copy_batch::CopyBatch;
use crate::contract::Result;
use crate::part::spare::spare_mapped::{Lbn, PageSource};

impl Lsb {
    pub(super) fn move_by_portions(
        &mut self,
        nand: &mut Nand,
        pages: &[Lpn],
        cause: Cause,
    ) -> Result<()> {
        let np = self.pages_per_block;
        for portion in pages.chunk_by(|a, b| a.0 / np == b.0 / np) {
            self.write_portion(nand, PageSource::Copy(cause), portion)?;
        }
        Ok(())
    }

    /// Moves all valid pages out of a block if the chip keeps no spare areas: what
    /// [`write_portion`](Self::write_portion) does for each portion, in as few steps as blocks and
    /// induced writes allow. There must be no guard, which would see the programs too late.
    pub(super) fn move_at_once(
        &mut self,
        nand: &mut Nand,
        pages: &[Lpn],
        cause: Cause,
    ) -> Result<()> {
        let mut rest = pages;
        while let Some(&first) = rest.first() {
            let lbn = self.map.lbn_of(first);
            let same = |lpn: &&Lpn| self.map.lbn_of(**lpn) == lbn;
            let (portion, later) = rest.split_at(1 + rest[1..].iter().take_while(same).count());
            rest = later;
            let (&last, before) = portion.split_last().expect("a portion has a page");
            for (at, &lpn) in before.iter().enumerate() {
                self.begin_copies(nand, lbn, cause)?;
                let block = nand.geometry().block_of(self.copies.next);
                self.chains.note(lpn, block, self.role(before, last, at));
                self.move_page(nand, lpn)?;
            }
            self.begin_copies(nand, lbn, cause)?;
            if !self.last_fits(nand, before, last, self.copies.next) {
                self.make_fit(nand, PageSource::Copy(cause), last)?;
                // An induced write has ended the batch.
                self.begin_copies(nand, lbn, cause)?;
            }
            let block = nand.geometry().block_of(self.copies.next);
            self.chains.note_directory(self.chains.page(last), block);
            self.move_page(nand, last)?;
            self.map.set_directory(last);
        }
        self.finish_copies(nand)
    }

    /// Makes sure that a batch of copies has begun that has room.
    #[inline]
    fn begin_copies(&mut self, nand: &mut Nand, lbn: Lbn, cause: Cause) -> Result<()> {
        if self.copies.room == 0 {
            let superblock = self.map.superblock_of(lbn);
            let next = self.map.next(nand, superblock)?;
            let copies = &mut self.copies;
            (copies.next, copies.cause) = (next, cause);
            copies.room = self.map.blocks.room(superblock);
        }
        Ok(())
    }

    /// Gives a page its new place; the copy is made later.
    #[inline]
    fn move_page(&mut self, nand: &mut Nand, lpn: Lpn) -> Result<()> {
        let copies = &mut self.copies;
        copies.from.push(self.map.flat.point(lpn, copies.next));
        copies.next = copies.next.plus(1);
        copies.room -= 1;
        match copies.room == 0 {
            true => self.finish_copies(nand),
            false => Ok(()),
        }
    }

    /// Makes the copies that are missing, and ends the batch.
    pub(super) fn finish_copies(&mut self, nand: &mut Nand) -> Result<()> {
        let CopyBatch { from, next, room, cause } = &mut self.copies;
        *room = 0;
        let Some(&first) = from.first() else { return Ok(()) };
        let pages = from.len() as u32;
        nand.copy(Ppn(next.0 - pages), Copies::of(from), *cause)?;
        let (geometry, blocks) = (nand.geometry(), &mut self.map.blocks);
        let victim = geometry.block_of(first);
        blocks.supersede(victim, pages as u16);
        blocks.fill(geometry, blocks.owner(victim), pages);
        from.clear();
        Ok(())
    }
}
