//! The loop over the records of a binary trace, for formats whose records all have the same size.
//!
//! The parser says what each record is; the [`Normalizer`] checks it and delivers the request. A
//! file that ends within a record is truncated.

use std::sync::Arc;

use crate::error::Result;
use crate::input::part_cursor::PartCursor;
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::normalize::Normalizer;
use crate::parse::parsed::{ParseError, ParseResult, Parsed};
use crate::reader::{ReadMode, Reader, ReaderFactory, Skipped};
use crate::request::Request;

/// The parser of a format whose records all have the same size.
pub(crate) trait RecordParser: Clone + Send + Sync + 'static {
    /// Nanoseconds in a tick of this format's clock.
    const TICK_NS: u64;

    /// The size of a record.
    fn bytes(&self) -> usize;

    /// Parses a record of [`RecordParser::bytes`] bytes, which may have any content.
    fn parse(&mut self, record: &[u8], devices: &mut Devices) -> ParseResult;

    /// Choices of the parser that the user may want to know, as sentences.
    fn notes(&self) -> Vec<String>;
}

/// The factory of readers of records; each reader starts with a copy of the parser.
pub(crate) struct Records<P>(pub(crate) P);

/// The reader of a binary trace.
struct RecordReader<P> {
    normalizer: Normalizer,
    cursor: PartCursor,
    parser: P,
    /// The parser in its initial state, in which it begins each part.
    fresh: P,
    record_number: u64,
}

/// A truncated record.
pub(crate) const TRUNCATED: ParseError = ParseError::with_remedy(
    "the file ends within this record",
    "it is truncated or in another format; --skip-bad reads the complete records",
);

impl<P: RecordParser> ReaderFactory for Records<P> {
    fn reader(&self, input: &Arc<StoredTrace>, mode: ReadMode) -> Result<Box<dyn Reader>> {
        let (normalizer, cursor) =
            (Normalizer::new(mode), PartCursor::new(input, StoredTrace::window)?);
        let (parser, fresh) = (self.0.clone(), self.0.clone());
        Ok(Box::new(RecordReader { normalizer, cursor, parser, fresh, record_number: 0 }))
    }

    fn is_unsorted(&self) -> bool {
        false
    }
}

impl<P: RecordParser> RecordReader<P> {
    /// Begins the next part; false if there is none.
    fn next_part(&mut self) -> Result<bool> {
        let more = self.cursor.next_part()?;
        if more {
            self.parser = self.fresh.clone();
            self.record_number = 0;
            self.normalizer.next_part(false);
        }
        Ok(more)
    }

    #[inline]
    fn record(&mut self, range: std::ops::Range<usize>, out: &mut Vec<Request>) -> Result<()> {
        if range.len() < self.parser.bytes() {
            return self.bad_record(TRUNCATED);
        }
        match self.parser.parse(self.cursor.window.slice(range), &mut self.normalizer.devices) {
            Ok(Parsed::Request(record)) => match self.normalizer.request(record, P::TICK_NS, out) {
                Ok(()) => {}
                Err(error) => self.bad_record(error)?,
            },
            Ok(Parsed::Skip(reason)) => self.normalizer.skipped.add(reason),
            Ok(Parsed::Other) => self.normalizer.skipped.other_lines += 1,
            Err(error) => self.bad_record(error)?,
        }
        Ok(())
    }

    #[cold]
    fn bad_record(&mut self, error: ParseError) -> Result<()> {
        self.normalizer.bad_record(error, self.cursor.part(), self.record_number)
    }
}

impl<P: RecordParser> Reader for RecordReader<P> {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let wanted = out.len().saturating_add(max);
        let before = out.len();
        while out.len() < wanted {
            let found = self.cursor.window.next_bytes(self.parser.bytes());
            let failed = |source| self.cursor.part().failure(self.record_number, source);
            let found = found.map_err(failed)?;
            if found.is_empty() {
                match self.next_part()? {
                    true => continue,
                    false => break,
                }
            }
            self.record_number += 1;
            self.record(found, out)?;
        }
        Ok(out.len() - before)
    }

    fn skipped(&self) -> &Skipped {
        &self.normalizer.skipped
    }

    fn position_bytes(&self) -> u64 {
        self.cursor.position_bytes()
    }

    fn devices(&self) -> Vec<String> {
        self.normalizer.devices.names()
    }

    fn notes(&self) -> Vec<String> {
        self.parser.notes()
    }
}

/// The bytes of a record, and the numbers at fixed positions in them.
#[derive(Clone, Copy)]
pub(crate) struct RecordBytes<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) big_endian: bool,
}

impl RecordBytes<'_> {
    #[inline(always)]
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..at + N]);
        if self.big_endian {
            array.reverse();
        }
        array
    }

    #[inline(always)]
    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    #[inline(always)]
    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    #[inline(always)]
    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Reads all of `bytes` with a parser: the requests, the skips, or the error's message.
    pub(crate) fn read_records<P: RecordParser>(
        parser: P,
        bytes: &[u8],
        skip_bad: bool,
    ) -> std::result::Result<(Vec<Request>, Skipped), String> {
        let input = Arc::new(StoredTrace::of_bytes("t", bytes).map_err(|error| error.to_string())?);
        let mode = ReadMode { skip_bad, raw_times: false };
        let mut reader = Records(parser).reader(&input, mode).map_err(|error| error.to_string())?;
        let mut requests = Vec::new();
        while reader.next_batch(&mut requests, 7).map_err(|error| error.to_string())? > 0 {}
        Ok((requests, reader.skipped().clone()))
    }
}
