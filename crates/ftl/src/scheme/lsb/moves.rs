//! Moves of lsb: the valid pages of a block that is being emptied get new places.

use nand::{Cause, Lpn, Nand, Ppn};

use super::Lsb;
use super::group_chains::Role;
use crate::contract::Result;
use crate::part::spare::spare_mapped::PageSource;

/// Copies of pages of a victim that are made together, to consecutive pages of an open block. The
/// map and the chains know the new places already.
#[derive(Debug)]
pub(super) struct CopyBatch {
    from: Vec<Ppn>,
    to: Ppn,
    /// Number of pages that the open block can take.
    room: u32,
    cause: Cause,
}

impl CopyBatch {
    pub fn new(pages_per_block: u32) -> CopyBatch {
        let from = Vec::with_capacity(pages_per_block as usize);
        CopyBatch { from, to: Ppn::NONE, room: 0, cause: Cause::Gc }
    }
}

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
        let np = self.pages_per_block;
        for portion in pages.chunk_by(|a, b| a.0 / np == b.0 / np) {
            let (&last, before) = portion.split_last().expect("a portion has a page");
            for (at, &lpn) in before.iter().enumerate() {
                self.move_page(nand, lpn, self.role(before, last, at), cause)?;
            }
            let role = match self.chains.is_alone(portion) {
                true => self.make_fit(nand, PageSource::Copy(cause), last)?,
                false => Role::Directory,
            };
            self.move_page(nand, last, role, cause)?;
            self.map.set_directory(last);
        }
        self.finish_copies(nand)
    }

    /// Gives a page its new place; the copy is made later.
    #[inline]
    fn move_page(&mut self, nand: &mut Nand, lpn: Lpn, role: Role, cause: Cause) -> Result<()> {
        if self.copies.from.is_empty() {
            let superblock = self.superblock_of(lpn);
            self.copies.to = self.map.next(nand, superblock)?;
            self.copies.room = self.map.blocks.room(superblock);
            self.copies.cause = cause;
        }
        let copies = &mut self.copies;
        let to = copies.to.plus(copies.from.len() as u32);
        copies.from.push(self.map.flat.point(lpn, to));
        self.chains.note(lpn, role);
        match copies.from.len() as u32 == copies.room {
            true => self.finish_copies(nand),
            false => Ok(()),
        }
    }

    /// Makes the copies that are missing.
    pub(super) fn finish_copies(&mut self, nand: &mut Nand) -> Result<()> {
        let CopyBatch { from, to, cause, .. } = &mut self.copies;
        let Some(&first) = from.first() else { return Ok(()) };
        nand.copy_many(from, *to, None, *cause)?;
        let (geometry, blocks) = (nand.geometry(), &mut self.map.blocks);
        let victim = geometry.block_of(first);
        blocks.supersede(victim, from.len() as u16);
        blocks.fill(geometry, blocks.owner(victim), from.len() as u32);
        from.clear();
        Ok(())
    }
}
