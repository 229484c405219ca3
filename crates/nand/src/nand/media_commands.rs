//! Failures on command: for whoever wants to see how the FTL and its users take them.

use super::Nand;
use super::media::Media;
use super::media::move_list::Failure;
use crate::address::BlockId;
use crate::error::Result;

impl Nand {
    /// The block behind this number has taken all the erases that it can: its next one fails. This
    /// holds until the flash is opened anew.
    ///
    /// # Panics
    /// The blocks cannot fail, or the FTL has no such number.
    pub fn wear_out(&mut self, number: BlockId) {
        assert!(number.0 < self.geometry().blocks(), "the FTL has no {number:?}");
        self.array.wear_out(number);
    }

    /// Marks blocks in reserve as bad, until each die has at most this number of them.
    ///
    /// # Errors
    /// The power fails.
    ///
    /// # Panics
    /// The media are not mounted.
    pub fn use_reserve_up(&mut self, left: usize) -> Result<()> {
        let mut surplus = Vec::new();
        let (array, first) = (&self.array, self.array.of_ftl().blocks());
        let media = self.guards.as_mut().and_then(|guards| guards.media.as_mut());
        let media = media.expect("the media are mounted");
        if media.is_frozen {
            return Ok(());
        }
        // The list that says so must find its place.
        while media.list_blocks() < Media::LIST_BLOCKS.into()
            && let Some(block) = media.take_from_reserve(|it| array.behind(it).0 >= first)
        {
            media.list_blocks.push(block);
        }
        for blocks in &mut media.reserve {
            surplus.extend(blocks.split_off(left.min(blocks.len())));
        }
        if surplus.is_empty() {
            return Ok(());
        }
        for block in surplus {
            self.mark_bad(block, Failure::Erase);
        }
        let all = *self.array.geometry();
        self.its_media().look_for_exhausted(&all);
        self.write_list(&[])
    }
}
