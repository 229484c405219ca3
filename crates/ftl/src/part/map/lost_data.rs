//! Pages whose data are lost: they cannot be read, but their spare areas can.
//!
//! Such a page stays mapped, and garbage collection and mounts move it like any other. Whoever
//! needs its data must do without them. A page whose spare area cannot be read either is another
//! matter: during a mount it has decayed, and the mount starts again without it.

use nand::{Cause, Nand, PageState};

use crate::contract::{Error, Result};

/// Tells lost data from all other failures. Returns none if `done` failed because the data of a
/// page are lost.
///
/// # Errors
/// Every other error; during a mount also that a page has decayed.
pub fn unless_lost<T>(nand: &mut Nand, done: Result<T>) -> Result<Option<T>> {
    let Err(Error::Chip(nand::Error::Unreadable(ppn))) = done else { return done.map(Some) };
    let is_lost = !nand.mounting().is_running()
        || matches!(nand.read_spare(ppn, Cause::Meta)?, PageState::Programmed(_));
    if is_lost { Ok(None) } else { done.map(Some) }
}
