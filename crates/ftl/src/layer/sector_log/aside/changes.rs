//! The changes of a log that can stand aside, and what it notes to decide about them.

use nand::Nand;

use super::miniature::Original;
use super::{Aside, AsideChoice};
use crate::contract::{Error, Observer, Result, Step, VariableBlocks, Violation, ensure};
use crate::layer::definition::MountBelow;
use crate::layer::sector_log::laws::LOG;
use crate::layer::sector_log::log::SectorLog;

impl SectorLog {
    /// Begins to decide whether the log is used.
    ///
    /// # Errors
    /// The FTL below cannot take blocks, or refuses a miniature.
    pub(in crate::layer::sector_log) fn begin_aside(
        &mut self,
        choice: AsideChoice,
        original: Original,
        mut mount: MountBelow,
    ) -> Result<()> {
        self.scheme_blocks()?;
        let original = original.with(choice.open_blocks, choice.buffer);
        self.aside = Some(match choice.is_auto {
            true => Aside::auto(&original, &*self.below.ftl, &mut mount)?,
            false => Aside::alternate(self.ring.pages().into(), original.buffer.is_some()),
        });
        Ok(())
    }

    /// Notes a step that the host itself sent to the log.
    #[inline]
    pub(in crate::layer::sector_log) fn note(&mut self, step: Step) -> Result<()> {
        match self.aside.as_mut().filter(|aside| !aside.is_shown) {
            Some(aside) => aside.note(&step, self.ring.has_no_blocks()),
            None => Ok(()),
        }
    }

    /// Uses the log from now on, or stands aside, if a change is due.
    pub(in crate::layer::sector_log) fn change_if_due(&mut self, nand: &mut Nand) -> Result<()> {
        let Some(aside) = self.aside.as_mut().filter(|aside| aside.is_due()) else { return Ok(()) };
        aside.begin_change();
        match self.ring.has_no_blocks() {
            true => self.come_back(nand),
            false => self.stand_aside(nand),
        }
    }

    fn stand_aside(&mut self, nand: &mut Nand) -> Result<()> {
        while !self.ring.is_empty() {
            self.clean(nand)?;
        }
        while let Some(waiting) = self.buffer.first() {
            self.evict(nand, waiting, None)?;
        }
        while let Some(block) = self.ring.give_up(nand)? {
            self.scheme_blocks()?.add_block(block);
        }
        Ok(())
    }

    fn come_back(&mut self, nand: &mut Nand) -> Result<()> {
        while self.ring.empty_frames() > 0 {
            let block = self.scheme_blocks()?.remove_block(nand)?;
            self.ring.fill(block);
        }
        Ok(())
    }

    /// The blocks of the scheme.
    ///
    /// # Errors
    /// Their number is fixed.
    pub(in crate::layer::sector_log) fn scheme_blocks(
        &mut self,
    ) -> Result<&mut dyn VariableBlocks> {
        let why = "`aside` lends the blocks of the log, and the FTL below cannot take them";
        let refused = || Error::Refused { scheme: LOG, why: why.to_owned() };
        self.below.ftl.variable_blocks().ok_or_else(refused)
    }

    /// Checks that the log has all its blocks or none, that it holds nothing if it has none, and
    /// the miniatures.
    pub(in crate::layer::sector_log) fn audit_aside(&self) -> core::result::Result<(), Violation> {
        let (empty, frames) = (self.ring.empty_frames(), self.ring.blocks());
        ensure!(
            empty == 0 || empty == frames,
            "the sector log has given up {empty} of {frames} blocks"
        );
        ensure!(empty == 0 || self.is_empty(), "a sector log that stands aside holds sectors");
        self.aside.as_ref().map_or(Ok(()), Aside::audit)
    }
}

impl Observer for SectorLog {
    fn observe(&mut self, step: &Step) -> Result<()> {
        let is_aside = self.ring.has_no_blocks();
        self.aside.as_mut().map_or(Ok(()), |aside| aside.note(step, is_aside))
    }
}
