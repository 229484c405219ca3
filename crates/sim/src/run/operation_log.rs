//! The operation log: every flash operation of the measured requests, in order, one line each.
//!
//! ```text
//! # ftlab operations 1: request op cause place owner
//! 1 program host 512 17        physical page 512 now holds logical page 17
//! 2 read gc 33 901             the first half of a copy
//! 2 program gc 513 901         the second half
//! 2 erase gc 4 -               block 4
//! 3 program meta 640 system    a page with metadata of the FTL
//! ```
//! Requests are numbered from 1 in the order of the trace. The log has exactly as many lines of
//! each kind and cause as the result counts. Without a log the chip records nothing.

use std::io::{self, Write};

use drive::{Issued, Recorded};
use nand::Lpn;

use crate::error::{Error, Result};

const HEAD: &str = "# ftlab operations 1: request op cause place owner";

/// Writes the log.
pub struct OpLog<'a> {
    out: io::BufWriter<&'a mut dyn Write>,
}

impl<'a> OpLog<'a> {
    /// A log that begins with its head.
    ///
    /// # Errors
    /// The head cannot be written.
    pub fn new(out: &'a mut dyn Write) -> Result<OpLog<'a>> {
        let mut out = io::BufWriter::new(out);
        writeln!(out, "{HEAD}").map_err(Error::OpLog)?;
        Ok(OpLog { out })
    }

    /// Writes the operations that a request caused.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, request: u64, operations: &Recorded) -> Result<()> {
        for (issued, &owner) in operations.issued.iter().zip(&operations.owners) {
            let Issued { op, cause, place, .. } = *issued;
            let (op, cause) = (op.name(), cause.name());
            let written = match owner {
                Lpn::NONE => writeln!(self.out, "{request} {op} {cause} {place} -"),
                Lpn::SYSTEM => writeln!(self.out, "{request} {op} {cause} {place} system"),
                Lpn(owner) => writeln!(self.out, "{request} {op} {cause} {place} {owner}"),
            };
            written.map_err(Error::OpLog)?;
        }
        Ok(())
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        self.out.flush().map_err(Error::OpLog)
    }
}
