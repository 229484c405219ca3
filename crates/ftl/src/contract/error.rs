//! Errors of FTLs.

use nand::Lpn;

use super::guest::{GuestFault, GuestFaultKind};

/// An error of an FTL or of its chip.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chip failed.
    #[error(transparent)]
    Chip(#[from] nand::Error),
    /// Sectors of this page are lost that the host wrote before: they were in a layer, and the rest
    /// of the page cannot be read. Reads of the page fail until it is written whole.
    #[error(
        "sectors written to logical page {} are lost, because the rest of the page cannot be read",
        .0.0
    )]
    Lost(Lpn),
    /// The device has used up its reserves and takes no more writes; all data can be read.
    #[error("the device is read-only: it has no good blocks left to write to")]
    ReadOnly,
    /// Garbage collection takes more pages than it frees. This happens if superblocks keep their
    /// map in spare areas and must write map entries again for nearly every page that moves.
    #[error(
        "no room can be made: moving a block's pages takes up to {needs} programs, but only {room} \
         pages are free; more extra blocks or smaller superblocks help"
    )]
    NoRoom {
        /// Maximum number of programs that a victim may take.
        needs: u32,
        /// Number of free pages for them.
        room: u32,
    },
    /// A policy from outside failed, or chose something that does not exist, with the reason.
    #[error("{0}")]
    Policy(String),
    /// A guest did something wrong, or refused.
    #[error("{0}")]
    Guest(GuestFault),
    /// A spec that cannot be parsed.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A device on which the scheme cannot work.
    #[error("{scheme} needs at least {needs} extra blocks, this device has {has}")]
    TooFewExtra {
        /// The scheme.
        scheme: &'static str,
        /// The minimum for the scheme.
        needs: u32,
        /// The number that the device has.
        has: u32,
    },
    /// Parameters that contradict each other or the chip.
    #[error("{scheme}: {why}")]
    Refused {
        /// The scheme.
        scheme: &'static str,
        /// The contradiction.
        why: String,
    },
    /// A device that cannot exist, with the reason.
    #[error("{0}")]
    Impossible(String),
    /// The flash is in a state that no sequence of writes and power cuts can have left.
    #[error("this flash cannot be mounted: {0}")]
    Unmountable(String),
}

impl Error {
    /// Whether this is an error of the request alone: the FTL goes on as if the page of the request
    /// that failed had not been written or read. After any other error of a request the FTL can
    /// only be read and dropped.
    pub fn is_of_request(&self) -> bool {
        match self {
            Error::Lost(_) => true,
            Error::Chip(nand::Error::Unreadable(_) | nand::Error::WornOut { .. }) => true,
            Error::Guest(fault) => {
                matches!(fault.kind, GuestFaultKind::Unreadable | GuestFaultKind::ReadOnly)
            }
            _ => false,
        }
    }

    /// Whether a guest died, or broke its contract or a rule of flash. Nothing counts any more but
    /// what it wrote to the chip.
    pub fn is_death(&self) -> bool {
        use GuestFaultKind::{Broken, Died, Endless, Illegal};
        let Error::Guest(fault) = self else { return false };
        matches!(fault.kind, Broken | Died | Endless | Illegal)
    }

    /// The error that a flush reports if the sectors of a page were lost.
    pub(crate) fn of_lost(page: Option<Lpn>) -> Result<()> {
        page.map_or(Ok(()), |page| Err(Error::Lost(page)))
    }
}

/// Results of an FTL.
pub type Result<T> = core::result::Result<T, Error>;
