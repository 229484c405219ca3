//! Wrong data and broken invariants that `--verify` finds.

use core::fmt;

use nand::{Lpn, Stamp};

/// A difference between the FTL and the shadow copy, or a broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// A sector holds wrong data.
    Sector {
        /// The page.
        lpn: Lpn,
        /// The sector of the page.
        sector: u32,
        /// The number of its newest write; 0 if it should read as zeroes.
        expected: u32,
        /// The stamp that was read.
        found: Stamp,
        /// The sector number in a stamp of this sector.
        own: u32,
        /// The number of requests served when it was read.
        request: u64,
    },
    /// The auditor of the FTL found a broken invariant.
    Audit {
        /// The broken invariant.
        violation: ftl::Violation,
        /// The moment of the audit.
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
        _ if expected == 0 => "resurrected",
        number if number < expected => "lost",
        _ => "invented",
    }
}
