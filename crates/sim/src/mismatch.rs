//! What `--verify` found wrong, in words.

use core::fmt;

use nand::{Lpn, Stamp};

/// What was found where something else should be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// A sector holds what it should not.
    Sector {
        /// The page.
        lpn: Lpn,
        /// The sector of the page.
        sector: u32,
        /// The newest write of it; 0 if it should read zero.
        expected: u32,
        /// What it holds.
        found: Stamp,
        /// What the sector's own stamp would say.
        own: u32,
        /// The request after which it was read, from 1; 0 before the first one.
        request: u64,
    },
    /// The FTL's books contradict each other or the chip.
    Audit {
        /// The contradiction.
        violation: ftl::Violation,
        /// When it was looked for.
        when: &'static str,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Audit { violation, when } => write!(out, "audit {when}: {violation}"),
            Mismatch::Sector { lpn, sector, expected, found, own, request } => {
                let verb = verb(*expected, *found, *own);
                write!(out, "{verb} Lpn({}), sector {sector}: expected ", lpn.0)?;
                match expected {
                    0 => write!(out, "zeroes")?,
                    write_number => write!(out, "write {write_number}")?,
                }
                match found.write() {
                    0 => write!(out, ", found zeroes")?,
                    number if found.sector() == *own => write!(out, ", found write {number}")?,
                    number => {
                        write!(out, ", found write {number} of sector {}", found.sector())?;
                    }
                }
                write!(out, " (at request {request})")
            }
        }
    }
}

fn verb(expected: u32, found: Stamp, own: u32) -> &'static str {
    match found.write() {
        0 => "lost",
        _ if found.sector() != own => "misplaced",
        _ if expected == 0 => "raised",
        number if number < expected => "lost",
        _ => "invented",
    }
}
