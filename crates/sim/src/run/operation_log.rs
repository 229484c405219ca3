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

use drive::Recorded;
use nand::{Cause, Lpn, Op};

use crate::error::{Error, Result};
use crate::run::decimal;

const HEAD: &str = "# ftlab operations 1: request op cause place owner\n";

/// Bytes that are collected before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// The most bytes that a line may change: the request, the operation with its cause, the place, the
/// owner. All are copied as blocks of a fixed size, of which the next part overwrites the rest.
const LINE_BYTES: usize = 3 * decimal::MOST_BYTES + LABEL_BYTES;

const _: () = assert!(LINE_BYTES < BUFFER_BYTES);

/// Writes the log.
pub struct OpLog<'a> {
    out: &'a mut dyn Write,
    /// Lines that are not written yet, in the first `used` bytes.
    buffer: Vec<u8>,
    used: usize,
    labels: [[Label; Cause::ALL.len()]; Op::ALL.len()],
}

/// The longest text of an operation and its cause: ` program merge `.
const LABEL_BYTES: usize = 16;

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
        let mut bytes = [b' '; LABEL_BYTES];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Label { bytes, length: text.len() }
    }
}

/// The number of a request as text.
struct RequestNumber {
    bytes: [u8; decimal::MOST_BYTES],
    length: usize,
}

impl RequestNumber {
    fn of(number: u64) -> RequestNumber {
        let mut bytes = [0; decimal::MOST_BYTES];
        let length = decimal::write(number, &mut bytes);
        RequestNumber { bytes, length }
    }
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
        for (issued, &owner) in operations.issued.iter().zip(&operations.owners) {
            if self.buffer.len() - self.used < LINE_BYTES {
                self.empty_buffer()?;
            }
            let label = &self.labels[issued.op as usize][issued.cause as usize];
            let line = &mut self.buffer[self.used..][..LINE_BYTES];
            self.used += write_line(line, &request, label, issued.place, owner);
        }
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

/// Writes a line at the beginning of `line` and returns its length.
#[inline]
fn write_line(
    line: &mut [u8],
    request: &RequestNumber,
    label: &Label,
    place: u32,
    owner: Lpn,
) -> usize {
    line[..decimal::MOST_BYTES].copy_from_slice(&request.bytes);
    let mut end = request.length;
    line[end..end + LABEL_BYTES].copy_from_slice(&label.bytes);
    end += label.length;
    end += decimal::write(place.into(), &mut line[end..]);
    line[end] = b' ';
    end += 1 + write_owner(owner, &mut line[end + 1..]);
    line[end] = b'\n';
    end + 1
}

#[inline]
fn write_owner(owner: Lpn, out: &mut [u8]) -> usize {
    let word: &[u8] = match owner {
        Lpn::NONE => b"-",
        Lpn::SYSTEM => b"system",
        Lpn(page) => return decimal::write(page.into(), out),
    };
    out[..word.len()].copy_from_slice(word);
    word.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive::Issued;

    /// Numbers with one to ten digits.
    const NUMBERS: [u32; 8] = [0, 9, 10, 12_345_678, 99_999_999, 100_000_000, 4_000_000_000, 77];

    fn recorded() -> Recorded {
        let mut recorded = Recorded::default();
        let kinds = Op::ALL.iter().flat_map(|&op| Cause::ALL.map(|cause| (op, cause)));
        let owners = NUMBERS.iter().rev().map(|&page| Lpn(page)).chain([Lpn::NONE, Lpn::SYSTEM]);
        let places = NUMBERS.iter().cycle();
        for (((op, cause), owner), &place) in kinds.zip(owners.cycle()).zip(places) {
            recorded.issued.push(Issued { op, cause, place, ends_copy: false });
            recorded.owners.push(owner);
        }
        recorded
    }

    /// The lines as the standard library formats them.
    fn formatted(request: u64, recorded: &Recorded) -> String {
        let line = |(issued, owner): (&Issued, &Lpn)| {
            let owner = match *owner {
                Lpn::NONE => "-".to_owned(),
                Lpn::SYSTEM => "system".to_owned(),
                Lpn(page) => page.to_string(),
            };
            let (op, cause) = (issued.op.name(), issued.cause.name());
            format!("{request} {op} {cause} {} {owner}\n", issued.place)
        };
        recorded.issued.iter().zip(&recorded.owners).map(line).collect()
    }

    #[test]
    fn lines_of_every_kind_and_length_are_as_documented() {
        let recorded = recorded();
        assert_eq!(recorded.issued.len(), Op::ALL.len() * Cause::ALL.len());
        let mut expected = HEAD.to_owned();
        let mut written = Vec::new();
        let mut log = OpLog::new(&mut written).unwrap();
        // More than the buffer holds.
        for request in (1..).step_by(7).take(200).chain([99_999_999, 100_000_000, u64::MAX]) {
            log.write(request, &recorded).unwrap();
            expected += &formatted(request, &recorded);
        }
        log.finish().unwrap();
        assert!(expected.len() > 2 * BUFFER_BYTES);
        assert!(String::from_utf8(written).unwrap() == expected);
    }
}
