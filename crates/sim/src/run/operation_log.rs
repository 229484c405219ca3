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

use std::io::Write;

use nand::{Cause, Lpn, Op};

use crate::error::{Error, Result};
use crate::run::decimal::{LIMIT, SPILL_BYTES, Text};
use crate::run::recorded::{LoggedBulk, Recorded};

const HEAD: &str = "# ftlab operations 1: request op cause place owner\n";

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Operations whose lines are composed between two looks at the room in the buffer.
const PIECE: usize = 64;
/// The room that these lines may need; a copy has two of them.
const PIECE_BYTES: usize = 2 * PIECE * LINE_BYTES;

const _: () = assert!(PIECE_BYTES <= BUFFER_BYTES);

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
                LoggedBulk::Run { op, cause, first, owners } => {
                    self.write_run(&LineStart::of(request, self.label(op, cause)), first, owners)?;
                }
                LoggedBulk::Copies { cause, from, to, owners } => {
                    let start = |op| LineStart::of(request, self.label(op, cause));
                    self.write_copies(&[Op::Read, Op::Program].map(start), from, to, owners)?;
                }
            }
        }
        Ok(())
    }

    fn write_run(&mut self, start: &LineStart, first: u32, owners: &[u32]) -> Result<()> {
        for (owners, first) in owners.chunks(PIECE).zip((first..).step_by(PIECE)) {
            if !are_short(&[first]) || !are_short(owners) {
                let mut lines = owners.iter().zip(first..);
                lines.try_for_each(|(&owner, place)| self.write_long(start, place, owner))?;
                continue;
            }
            let mut lines = self.lines()?;
            for (&owner, place) in owners.iter().zip(first..) {
                lines.push(start, Text::of(place), owner_text(owner));
            }
            self.used = lines.end;
        }
        Ok(())
    }

    fn write_copies(
        &mut self,
        [read, program]: &[LineStart; 2],
        from: &[u32],
        to: u32,
        owners: &[u32],
    ) -> Result<()> {
        let pieces = from.chunks(PIECE).zip(owners.chunks(PIECE));
        for ((from, owners), to) in pieces.zip((to..).step_by(PIECE)) {
            let copies = || from.iter().zip(owners).zip(to..);
            if !are_short(&[to]) || !are_short(from) || !are_short(owners) {
                for ((&source, &owner), target) in copies() {
                    self.write_long(read, source, owner)?;
                    self.write_long(program, target, owner)?;
                }
                continue;
            }
            let mut lines = self.lines()?;
            for ((&source, &owner), target) in copies() {
                let owner = owner_text(owner);
                lines.push(read, Text::of(source), owner);
                lines.push(program, Text::of(target), owner);
            }
            self.used = lines.end;
        }
        Ok(())
    }

    /// Writes a line with long numbers, which few logs have.
    #[cold]
    fn write_long(&mut self, start: &LineStart, place: u32, owner: u32) -> Result<()> {
        let owner = match Lpn(owner) {
            Lpn::NONE => "-".to_owned(),
            Lpn::SYSTEM => "system".to_owned(),
            Lpn(page) => page.to_string(),
        };
        let line = [&start.bytes[..start.length], format!("{place} {owner}\n").as_bytes()].concat();
        let lines = self.lines()?;
        let end = lines.end + line.len();
        lines.buffer[lines.end..end].copy_from_slice(&line);
        self.used = end;
        Ok(())
    }

    fn label(&self, op: Op, cause: Cause) -> Label {
        self.labels[op as usize][cause as usize]
    }

    /// The lines in the buffer, with room for a piece more.
    fn lines(&mut self) -> Result<Lines<'_>> {
        if self.buffer.len() - self.used < PIECE_BYTES {
            self.empty_buffer()?;
        }
        Ok(Lines { buffer: &mut self.buffer, end: self.used })
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
/// The ends of all parts of a line are below this.
const ENDS: usize = 64;
/// The bytes that composing a line may change.
const LINE_BYTES: usize = ENDS + LABEL_BYTES;

/// The ends of short request numbers are below this.
const REQUEST_ENDS: usize = 16;

const _: () = assert!(20 + LABEL_BYTES <= START_BYTES);
const _: () = assert!(ENDS + SPILL_BYTES <= LINE_BYTES);
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

/// The start of lines: request, operation, cause.
struct LineStart {
    bytes: [u8; START_BYTES],
    length: usize,
}

impl LineStart {
    fn of(request: u64, label: Label) -> LineStart {
        let mut bytes = [0; START_BYTES];
        let digits = if request < LIMIT.into() {
            Text::of(request as u32).put::<REQUEST_ENDS, _>(&mut bytes, 0)
        } else {
            let text = request.to_string();
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        };
        bytes[digits..digits + LABEL_BYTES].copy_from_slice(&label.bytes);
        LineStart { bytes, length: digits + label.length }
    }
}

/// Lines in a buffer that has room for more.
struct Lines<'b> {
    buffer: &'b mut [u8],
    end: usize,
}

impl Lines<'_> {
    /// Adds a line. Inlined, because a call would cost as much as a part of the line.
    #[inline(always)]
    fn push(&mut self, start: &LineStart, place: Text, owner: Text) {
        let line = self.next();
        line[..START_BYTES].copy_from_slice(&start.bytes);
        let end = put(line, start.length, place, b' ');
        self.end += put(line, end, owner, b'\n');
    }

    #[inline(always)]
    fn next(&mut self) -> &mut [u8; LINE_BYTES] {
        self.buffer[self.end..].first_chunk_mut().expect("the buffer has room")
    }
}

/// Whether these places or owners, and the places that follow them in a piece, have short texts.
#[inline]
fn are_short(numbers: &[u32]) -> bool {
    // The two owners that are no pages come first.
    let order = |number: u32| number.wrapping_add(2);
    const MOST: u32 = LIMIT - PIECE as u32;
    // There is no branch per number, so that the compiler can vectorise the comparisons.
    numbers.iter().fold(true, |all, &number| all & (order(number) <= MOST))
}

/// The text of an owner, an LPN.
#[inline(always)]
fn owner_text(owner: u32) -> Text {
    const NONE: Text = Text::of_word(b"-");
    const SYSTEM: Text = Text::of_word(b"system");
    match Lpn(owner) {
        Lpn::NONE => NONE,
        Lpn::SYSTEM => SYSTEM,
        Lpn(page) => Text::of(page),
    }
}

/// Puts a text and a character at `at`; returns the end of both.
#[inline(always)]
fn put(line: &mut [u8; LINE_BYTES], at: usize, text: Text, then: u8) -> usize {
    let end = text.put::<ENDS, _>(line, at);
    debug_assert!(end < ENDS, "a line is too long");
    line[end % ENDS] = then;
    end + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::recorded::OperationSink;
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
