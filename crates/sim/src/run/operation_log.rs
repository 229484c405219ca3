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
use crate::run::decimal::{Counter, Text};
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
        let request = RequestNumber::of(request);
        for bulk in operations.logged.bulks() {
            match bulk {
                LoggedBulk::Run { op, cause, first, owners } => {
                    let label = self.label(op, cause);
                    let start = LineStart { request: &request, label: &label };
                    self.write_run(start, first, owners)?;
                }
                LoggedBulk::Copies { cause, from, to, owners } => {
                    let labels = [Op::Read, Op::Program].map(|op| self.label(op, cause));
                    let start = |label| LineStart { request: &request, label };
                    self.write_copies(labels.each_ref().map(start), from, to, owners)?;
                }
            }
        }
        Ok(())
    }

    fn write_run(&mut self, start: LineStart, first: u32, owners: &[u32]) -> Result<()> {
        let mut places = first..;
        for owners in owners.chunks(PIECE) {
            let mut lines = self.lines()?;
            for (&owner, place) in owners.iter().zip(places.by_ref()) {
                lines.push(start, Text::of(place), owner_text(owner));
            }
            self.used = lines.end;
        }
        Ok(())
    }

    fn write_copies(
        &mut self,
        [read, program]: [LineStart; 2],
        from: &[u32],
        to: u32,
        owners: &[u32],
    ) -> Result<()> {
        let mut target = Counter::at(to);
        for (from, owners) in from.chunks(PIECE).zip(owners.chunks(PIECE)) {
            let mut lines = self.lines()?;
            for (&source, &owner) in from.iter().zip(owners) {
                let owner = owner_text(owner);
                lines.push(read, Text::of(source), owner);
                lines.push(program, target.next(), owner);
            }
            self.used = lines.end;
        }
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

/// The block of the number of a request, which has at most 20 digits.
const REQUEST_BYTES: usize = 24;
/// The block of an operation and its cause. The longest is ` program merge `.
const LABEL_BYTES: usize = 16;
/// The block of another number or word.
const TEXT_BYTES: usize = size_of::<u128>();
/// The ends of all parts of a line are below this.
const ENDS: usize = 64;
/// The bytes that composing a line may change.
const LINE_BYTES: usize = ENDS + TEXT_BYTES;

const _: () = assert!(20 + LABEL_BYTES + 2 * (Text::MOST_BYTES + 1) < ENDS);

/// The number of a request as text.
struct RequestNumber {
    bytes: [u8; REQUEST_BYTES],
    length: usize,
}

impl RequestNumber {
    fn of(request: u64) -> RequestNumber {
        let mut number = RequestNumber { bytes: [0; REQUEST_BYTES], length: 0 };
        match u32::try_from(request) {
            Ok(request) => {
                let text = Text::of(request);
                number.bytes[..TEXT_BYTES].copy_from_slice(&text.bytes.to_le_bytes());
                number.length = text.length;
            }
            Err(_) => {
                let text = request.to_string();
                number.bytes[..text.len()].copy_from_slice(text.as_bytes());
                number.length = text.len();
            }
        }
        number
    }
}

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
#[derive(Clone, Copy)]
struct LineStart<'a> {
    request: &'a RequestNumber,
    label: &'a Label,
}

/// Lines in a buffer that has room for more.
struct Lines<'b> {
    buffer: &'b mut [u8],
    end: usize,
}

impl Lines<'_> {
    /// Adds a line. Inlined, because a call would cost as much as a part of the line.
    #[inline(always)]
    fn push(&mut self, start: LineStart, place: Text, owner: Text) {
        let LineStart { request, label } = start;
        let line = self.buffer[self.end..].first_chunk_mut().expect("the buffer has room");
        line[..REQUEST_BYTES].copy_from_slice(&request.bytes);
        line[request.length % ENDS..][..LABEL_BYTES].copy_from_slice(&label.bytes);
        let end = put(line, request.length + label.length, place, b' ');
        self.end += put(line, end, owner, b'\n');
    }
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

/// Puts a text and a character at `at`; returns the end of both. The masks change nothing, but with
/// them the compiler knows that all is within the line.
#[inline(always)]
fn put(line: &mut [u8; LINE_BYTES], at: usize, text: Text, then: u8) -> usize {
    debug_assert!(at < ENDS && text.length < TEXT_BYTES, "a line is too long");
    let out = &mut line[at % ENDS..][..TEXT_BYTES];
    out.copy_from_slice(&text.bytes.to_le_bytes());
    out[text.length % TEXT_BYTES] = then;
    at + text.length + 1
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
