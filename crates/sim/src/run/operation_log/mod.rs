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

mod decimal;

use std::io::Write;

use drive::recorded::Recorded;
use nand::{Cause, Lpn, Op, RecordedBulk};

use crate::error::{Error, Result};
use crate::run::operation_log::decimal::{ENDS, Line, SPILL_BYTES, put_number};

const HEAD: &str = "# ftlab operations 1: request op cause place owner\n";

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Writes the log.
pub struct OpLog<'a> {
    out: &'a mut dyn Write,
    /// Lines that are not written yet, in the first `used` bytes.
    buffer: Vec<u8>,
    used: usize,
    labels: [[Label; Cause::ALL.len()]; Op::ALL.len()],
}

impl<'a> OpLog<'a> {
    /// A log that begins with its head.
    ///
    /// # Errors
    /// The head cannot be written.
    pub fn new(out: &'a mut dyn Write) -> Result<OpLog<'a>> {
        out.write_all(HEAD.as_bytes()).map_err(Error::OpLog)?;
        let labels = Op::ALL.map(|op| Cause::ALL.map(|cause| Label::of(op, cause)));
        Ok(OpLog { out, buffer: vec![0; BUFFER_BYTES], used: 0, labels })
    }

    /// Writes the operations that a request caused.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(&mut self, request: u64, operations: &Recorded) -> Result<()> {
        for bulk in operations.logged.bulks() {
            match bulk {
                RecordedBulk::Run { op, cause, first, owners } => {
                    let start = LineStart::of(request, self.label(op, cause));
                    for (&owner, place) in owners.iter().zip(first..) {
                        self.line(|line| start.put(line), place, owner)?;
                    }
                }
                RecordedBulk::Copies { cause, from, to, owners } => {
                    let start = |op| LineStart::of(request, self.label(op, cause));
                    let [read, program] = [Op::Read, Op::Program].map(start);
                    for ((&source, &owner), target) in from.iter().zip(owners).zip(to..) {
                        self.line(|line| read.put(line), source, owner)?;
                        self.line(|line| program.put(line), target, owner)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn label(&self, op: Op, cause: Cause) -> Label {
        self.labels[op as usize][cause as usize]
    }

    /// Writes a line whose start `start` puts. Inlined, because a call would cost as much as a part
    /// of the line.
    #[inline(always)]
    fn line(
        &mut self,
        start: impl FnOnce(&mut Line) -> usize,
        place: u32,
        owner: u32,
    ) -> Result<()> {
        if self.buffer.len() - self.used < size_of::<Line>() {
            self.empty_buffer()?;
        }
        let line = self.buffer[self.used..].first_chunk_mut().expect("the buffer has room");
        let end = start(line);
        let end = put_number(line, end, place);
        let end = put_word(line, end, b" ");
        let end = match Lpn(owner) {
            Lpn::NONE => put_word(line, end, b"-"),
            Lpn::SYSTEM => put_word(line, end, b"system"),
            Lpn(page) => put_number(line, end, page),
        };
        self.used += put_word(line, end, b"\n");
        Ok(())
    }

    fn empty_buffer(&mut self) -> Result<()> {
        let used = core::mem::take(&mut self.used);
        self.out.write_all(&self.buffer[..used]).map_err(Error::OpLog)
    }

    /// Writes what is still buffered.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        self.empty_buffer()?;
        self.out.flush().map_err(Error::OpLog)
    }
}

// ---- a line ----------------------------------------------------------------------------------
//
// Its parts are copied as blocks of fixed size. The bytes of a block behind the end of its text are
// overwritten by the next part.

/// The block of an operation and its cause. The longest is ` program merge `.
const LABEL_BYTES: usize = 16;
/// The block of the number of a request, which has at most 20 digits, with its label.
const START_BYTES: usize = 40;

const _: () = assert!(20 + LABEL_BYTES <= START_BYTES && LABEL_BYTES <= SPILL_BYTES);
const _: () = assert!(START_BYTES + 2 * (10 + 1) < ENDS, "numbers have at most 10 digits");

/// The text of an operation and its cause, with the spaces around it.
#[derive(Clone, Copy)]
struct Label {
    bytes: [u8; LABEL_BYTES],
    length: usize,
}

impl Label {
    fn of(op: Op, cause: Cause) -> Label {
        let text = format!(" {} {} ", op.name(), cause.name());
        assert!(text.len() <= LABEL_BYTES, "`{text}` has more than {LABEL_BYTES} bytes");
        let mut bytes = [0; LABEL_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Label { bytes, length: text.len() }
    }
}

/// The start of several lines: request, operation, cause.
struct LineStart {
    bytes: Line,
    length: usize,
}

impl LineStart {
    fn of(request: u64, label: Label) -> LineStart {
        let mut bytes = [0; size_of::<Line>()];
        let length = put_start(&mut bytes, request, label);
        LineStart { bytes, length }
    }

    #[inline(always)]
    fn put(&self, line: &mut Line) -> usize {
        line[..START_BYTES].copy_from_slice(&self.bytes[..START_BYTES]);
        self.length
    }
}

/// Puts the start of a line; returns its end.
#[inline(always)]
fn put_start(line: &mut Line, request: u64, label: Label) -> usize {
    let digits = match u32::try_from(request) {
        Ok(request) => put_number(line, 0, request),
        Err(_) => put_word(line, 0, request.to_string().as_bytes()),
    };
    line[digits % ENDS..][..LABEL_BYTES].copy_from_slice(&label.bytes);
    digits + label.length
}

/// Puts a word at `at` of a line; returns its end.
#[inline(always)]
fn put_word(line: &mut Line, at: usize, word: &[u8]) -> usize {
    line[at % ENDS..][..word.len()].copy_from_slice(word);
    at + word.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive::recorded::OperationSink;
    use nand::{BlockId, OpSink, Operation, Ppn};

    /// Numbers with one to ten digits, and owners that are no pages.
    const NUMBERS: [u32; 9] =
        [0, 9, 10, 12_345_678, 99_999_999, 100_000_000, 4_000_000_000, u32::MAX - 2, 77];
    const OWNERS: [u32; 4] = [Lpn::NONE.0, Lpn::SYSTEM.0, 8, 4_294_967_293];

    fn owner(owner: u32) -> String {
        match Lpn(owner) {
            Lpn::NONE => "-".to_owned(),
            Lpn::SYSTEM => "system".to_owned(),
            Lpn(page) => page.to_string(),
        }
    }

    /// Operations of every kind, and their lines as the standard library formats them.
    fn operations(request: u64, cause: Cause) -> (Recorded, String) {
        let (mut sink, mut lines) = (OperationSink::new(false, true), String::new());
        let mut line = |op: Op, place: u32, of: u32| {
            let (op, cause, owner) = (op.name(), cause.name(), owner(of));
            lines += &format!("{request} {op} {cause} {place} {owner}\n");
        };
        for (place, of) in NUMBERS.into_iter().zip(OWNERS.into_iter().cycle()) {
            let (ppn, owner) = (Ppn(place), Lpn(of));
            sink.take(cause, &Operation::Read { ppn, owner });
            line(Op::Read, place, of);
            sink.take(cause, &Operation::SpareRead { ppn, owner });
            line(Op::SpareRead, place, of);
            sink.take(cause, &Operation::Erase { block: BlockId(place) });
            line(Op::Erase, place, Lpn::NONE.0);
        }
        sink.take(cause, &Operation::Program { first: Ppn(98), owners: &OWNERS });
        (98..).zip(OWNERS).for_each(|(place, of)| line(Op::Program, place, of));
        let (from, to) = (NUMBERS.map(Ppn), Ppn(99_999_995));
        let owners = NUMBERS.map(|number| number / 3);
        sink.take(cause, &Operation::Copy { from: &from, to, owners: &owners });
        for ((source, target), of) in NUMBERS.into_iter().zip(to.0..).zip(owners) {
            line(Op::Read, source, of);
            line(Op::Program, target, of);
        }
        let mut recorded = Recorded::default();
        sink.drain_to(&mut recorded);
        (recorded, lines)
    }

    #[test]
    fn lines_of_every_kind_and_length_are_as_documented() {
        let (mut expected, mut written) = (HEAD.to_owned(), Vec::new());
        let mut log = OpLog::new(&mut written).unwrap();
        let numbers = (1..).step_by(7).take(100);
        // The lines are more than the buffer holds.
        for request in numbers.chain([99_999_999, 100_000_000, 5_000_000_000, u64::MAX]) {
            for cause in Cause::ALL {
                let (recorded, lines) = operations(request, cause);
                log.write(request, &recorded).unwrap();
                expected += &lines;
            }
        }
        log.finish().unwrap();
        assert!(expected.len() > 2 * BUFFER_BYTES);
        assert!(String::from_utf8(written).unwrap() == expected);
    }

    #[test]
    fn only_what_happened_since_the_last_request_is_logged() {
        let mut sink = OperationSink::new(true, true);
        let mut recorded = Recorded::default();
        for (place, count) in [(5, 1), (6, 1), (7, 0)] {
            if count > 0 {
                sink.take(Cause::Gc, &Operation::Erase { block: BlockId(place) });
            }
            sink.drain_to(&mut recorded);
            assert_eq!((recorded.issued.len(), recorded.logged.bulks().count()), (count, count));
        }
    }
}
