//! The power of the chip: cut at any moment, and switched on again.
//!
//! While it is off, every request fails. What the layers and the FTL had in memory is gone; the
//! file below the chip has no part in it.

use core::mem;

use nand::{Cut, Nand};

use super::flash_failure::FlashFailure;
use super::{Disk, Mounted, State};
use crate::error::{Error, Result};

impl Disk {
    /// Lets the power fail during a program or an erase to come. Only a disk that can be written
    /// has a power that can fail. Switching it on disarms the cut.
    pub fn cut_after(&mut self, cut: Cut) {
        if let State::Writable(Mounted { nand, .. }) = &mut self.state {
            nand.power().cut_after(cut);
        }
    }

    /// Switches the power off, between two operations of the chip. Only a disk that can be written
    /// has a power that can be switched off.
    pub fn cut_now(&mut self) {
        self.state = match mem::replace(&mut self.state, State::Broken(String::new())) {
            State::Writable(Mounted { nand, .. }) => State::Off(nand),
            other => other,
        };
    }

    /// Lets the flash fail on command.
    ///
    /// # Errors
    /// The disk is off or cannot be written, its flash never fails, or it has no such block.
    pub fn fail(&mut self, failure: FlashFailure) -> Result<()> {
        self.expect_writable()?;
        let State::Writable(Mounted { nand, .. }) = &mut self.state else { unreachable!("it is") };
        let blocks = nand.geometry().blocks();
        let Some(media) = nand.media_mut() else { return Err(Error::PerfectFlash) };
        match failure {
            FlashFailure::Program { after } => media.fail_program_after(after),
            FlashFailure::Erase { after } => media.fail_erase_after(after),
            FlashFailure::LostPage { after } => media.lose_page_after(after),
            FlashFailure::WornOut(block) if block.0 >= blocks => {
                return Err(Error::NoSuchBlock { block: block.0, blocks });
            }
            FlashFailure::WornOut(block) => nand.wear_out(block),
            FlashFailure::UsedUp { left } => nand.use_reserve_up(left)?,
        }
        Ok(())
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        matches!(self.state, State::Off(_))
    }

    /// Mounts the FTL as after a power cut. A disk that is on is switched off and on. Only what was
    /// flushed or forced has surely survived.
    ///
    /// # Errors
    /// An earlier failure has left the disk read-only or broken. Or the FTL cannot be mounted: then
    /// the disk can only be read from now on, or not even that. If a guest died in the mount, the
    /// power is off again.
    pub fn power_on(&mut self) -> Result<()> {
        self.cut_now();
        match mem::replace(&mut self.state, State::Broken(String::new())) {
            State::Off(nand) => self.mount(nand),
            other => {
                self.state = other;
                self.expect_writable()
            }
        }
    }

    fn mount(&mut self, mut nand: Nand) -> Result<()> {
        nand.power().cycle();
        match self.device.mount(&mut nand) {
            Ok(ftl) => {
                self.state = State::Writable(Mounted { nand, ftl });
                Ok(())
            }
            Err(error) => {
                match error.is_death() {
                    true => self.state = State::Off(nand),
                    false => self.fall_back(nand, &error.to_string()),
                }
                Err(Error::Ftl(error))
            }
        }
    }
}
