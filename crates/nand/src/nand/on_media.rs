//! The chip on media that can fail: a block that fails is replaced, and its pages are moved.

use super::media::Media;
use super::{Guards, Nand};
use crate::address::{BlockId, Lpn, Ppn};
use crate::error::Result;
use crate::op::Cause;
use crate::op_sink::Operation;

/// Copies of the list of moves.
const LIST_COPIES: u32 = 2;

impl Nand {
    /// From now on the media of this chip can fail. It must be factory-new.
    pub fn put_on(&mut self, media: Media) {
        debug_assert!(self.is_factory_new(), "a used chip has media already");
        self.guards.get_or_insert_default().media = Some(media);
    }

    /// The media, if they can fail.
    pub fn media(&self) -> Option<&Media> {
        self.guards.as_ref()?.media.as_ref()
    }

    fn media_mut(&mut self) -> Option<&mut Media> {
        self.guards.as_deref_mut().and_then(|Guards { media, .. }| media.as_mut())
    }

    /// Lets these programs happen on the media, before they are counted. Those that fail are
    /// counted here, and so is what has to be done for each: pages of the block move to another
    /// one, where the program is repeated.
    pub(super) fn program_on_media(&mut self, first: Ppn, pages: u32) -> Result<()> {
        let (block, offset) = (self.geometry().block_of(first), self.geometry().offset_of(first));
        let mut done = 0;
        loop {
            let Some(media) = self.media_mut() else { return Ok(()) };
            media.expect_writable()?;
            let quiet = media.quiet_programs.min(u64::from(pages - done));
            media.quiet_programs -= quiet;
            done += quiet as u32;
            if done == pages {
                return Ok(());
            }
            // The next one fails. It is counted under its cause when the run is; what is counted
            // here is that it happens again elsewhere.
            self.move_block(block, offset + done)?;
            done += 1;
        }
    }

    /// Moves a block with this number of pages to one in reserve, because the program of the next
    /// page has failed.
    fn move_block(&mut self, block: BlockId, pages: u32) -> Result<()> {
        let die = self.geometry().die_of(block);
        let Some(media) = self.media_mut() else { return Ok(()) };
        media.replace_after_program(block, die, pages)?;
        // Copies have the places of their originals: the FTL knows no others.
        let first = self.geometry().first_page(block);
        let moved: Vec<Ppn> = (0..pages).map(|at| first.plus(at)).collect();
        if !moved.is_empty() {
            let owners = vec![Lpn::SYSTEM.0; moved.len()];
            let operation = Operation::Copy { from: &moved, to: first, owners: &owners };
            self.ledger.record(Cause::Media, operation);
        }
        let repeated = first.plus(pages);
        let owners = [Lpn::SYSTEM.0];
        self.ledger.record(Cause::Media, Operation::Program { first: repeated, owners: &owners });
        self.take_new_block(block);
        Ok(())
    }

    /// Ends an erase on the media: if it has failed, an erased block takes the place of its block.
    pub(super) fn erase_on_media(&mut self, block: BlockId) -> Result<()> {
        let (die, erases) = (self.geometry().die_of(block), self.array.wear()[block.0 as usize]);
        let Some(media) = self.media_mut() else { return Ok(()) };
        if media.end_erase(block, die, erases)? {
            self.take_new_block(block);
        }
        Ok(())
    }

    /// The block that stands behind this one is new. The list of moves says so, in two copies.
    fn take_new_block(&mut self, block: BlockId) {
        let pages_per_block = self.geometry().pages_per_block();
        let erases = self.array.renew_wear(block);
        let Some(media) = self.media_mut() else { return };
        media.retire(erases);
        let is_full = media.record_move(pages_per_block);
        // The blocks of the list have no numbers of the FTL. Their operations are on the same die.
        let first = self.geometry().first_page(block);
        for _ in 0..LIST_COPIES {
            self.ledger
                .record(Cause::Media, Operation::Program { first, owners: &[Lpn::SYSTEM.0] });
            if is_full {
                self.ledger.record(Cause::Media, Operation::Erase { block });
            }
        }
    }
}
