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

use drive::Issued;
use nand::{Cause, Lpn, Op, OpSink, Operation};

use crate::error::{Error, Result};

const HEAD: &str = "# ftlab operations 1: request op cause place owner";

/// Operations in order; each is a line of the log. A copy is a read and a program.
#[derive(Clone, Debug, Default)]
pub struct LoggedOperations {
    /// The operations as a drive takes them.
    pub issued: Vec<Issued>,
    /// The owner of each page; [`Lpn::NONE`] for an erase, or if the page is erased. A drive needs
    /// none, so they are recorded only for a log.
    owners: Vec<Lpn>,
}

/// Collects the operations of a chip until they are written to the log.
#[derive(Debug)]
pub struct OperationRecorder {
    operations: LoggedOperations,
    has_owners: bool,
}

impl OperationRecorder {
    /// A recorder of operations, and of the owners of pages if they are wanted.
    pub fn new(has_owners: bool) -> OperationRecorder {
        OperationRecorder { operations: LoggedOperations::default(), has_owners }
    }

    /// Moves the operations since the last call to `out`.
    pub fn drain_to(&mut self, out: &mut LoggedOperations) {
        out.issued.clear();
        out.owners.clear();
        core::mem::swap(&mut self.operations, out);
    }

    fn push(&mut self, op: Op, cause: Cause, place: u32, owner: Lpn) {
        self.push_issued(Issued { op, cause, place, ends_copy: false }, owner);
    }

    fn push_issued(&mut self, issued: Issued, owner: Lpn) {
        self.operations.issued.push(issued);
        if self.has_owners {
            self.operations.owners.push(owner);
        }
    }
}

impl OpSink for OperationRecorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        match *operation {
            Operation::Read { ppn, owner } => self.push(Op::Read, cause, ppn.0, owner),
            Operation::SpareRead { ppn, owner } => self.push(Op::SpareRead, cause, ppn.0, owner),
            Operation::Program { first, owners } => {
                for (ppn, &owner) in (first.0..).zip(owners) {
                    self.push(Op::Program, cause, ppn, Lpn(owner));
                }
            }
            Operation::Copy { from, to, owners } => {
                for ((source, ppn), &owner) in from.iter().zip(to.0..).zip(owners) {
                    self.push(Op::Read, cause, source.0, Lpn(owner));
                    let (op, place, ends_copy) = (Op::Program, ppn, true);
                    self.push_issued(Issued { op, cause, place, ends_copy }, Lpn(owner));
                }
            }
            Operation::Erase { block } => self.push(Op::Erase, cause, block.0, Lpn::NONE),
        }
    }
}

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
    pub fn write(&mut self, request: u64, operations: &LoggedOperations) -> Result<()> {
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
