//! The loop over all records of a binary trace whose records have one size.
//!
//! As for lines: the parser says what a record is, the [`Intake`] what becomes of it. A file that
//! ends within a record was cut off.

use std::sync::Arc;

use super::devices::Devices;
use super::intake::Intake;
use super::{Fault, Line};
use crate::error::Result;
use crate::input::Input;
use crate::replay::{Reader, Reading, Skipped, Source};
use crate::request::Request;
use crate::window::Window;

/// A format of records of one size.
pub(crate) trait RecordParser: Clone + Send + Sync + 'static {
    /// Nanoseconds in a tick of this format's clock.
    const TICK_NS: u64;

    /// The size of a record.
    fn bytes(&self) -> usize;

    /// Reads a record of [`RecordParser::bytes`] bytes. Any bytes may come.
    fn parse(&mut self, record: &[u8], devices: &mut Devices) -> std::result::Result<Line, Fault>;

    /// What the reader chose that the user may want to know.
    fn note(&self) -> Option<String>;
}

/// A source of records: each reading starts with a copy of the parser.
pub(crate) struct Records<P>(pub(crate) P);

/// One reading of a binary trace.
struct RecordReader<P> {
    intake: Intake,
    window: Window,
    parser: P,
    record_number: u64,
}

/// A record is cut off.
pub(crate) const CUT_OFF: Fault = Fault::with_remedy(
    "the file ends within this record",
    "it was cut off, or is in another format; --skip-bad reads what is whole",
);

impl<P: RecordParser> Source for Records<P> {
    fn reader(&self, input: &Arc<Input>, reading: Reading) -> Result<Box<dyn Reader>> {
        let (intake, window) = (Intake::new(input, reading), input.window()?);
        Ok(Box::new(RecordReader { intake, window, parser: self.0.clone(), record_number: 0 }))
    }

    fn is_unsorted(&self) -> bool {
        false
    }
}

impl<P: RecordParser> RecordReader<P> {
    #[inline]
    fn record(&mut self, range: std::ops::Range<usize>, out: &mut Vec<Request>) -> Result<()> {
        if range.len() < self.parser.bytes() {
            return self.intake.bad_record(CUT_OFF, self.record_number);
        }
        match self.parser.parse(self.window.slice(range), &mut self.intake.devices) {
            Ok(Line::Record(record)) => match self.intake.request(record, P::TICK_NS) {
                Ok(Some(request)) => out.push(request),
                Ok(None) => {}
                Err(fault) => self.intake.bad_record(fault, self.record_number)?,
            },
            Ok(Line::Skip(reason)) => self.intake.skipped.add(reason),
            Ok(Line::Other) => self.intake.skipped.other_lines += 1,
            Err(fault) => self.intake.bad_record(fault, self.record_number)?,
        }
        Ok(())
    }
}

impl<P: RecordParser> Reader for RecordReader<P> {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let wanted = out.len().saturating_add(max);
        let before = out.len();
        while out.len() < wanted {
            let found = self.window.next_bytes(self.parser.bytes());
            let found =
                found.map_err(|source| self.intake.input.failure(self.record_number, source))?;
            if found.is_empty() {
                break;
            }
            self.record_number += 1;
            self.record(found, out)?;
        }
        Ok(out.len() - before)
    }

    fn skipped(&self) -> &Skipped {
        &self.intake.skipped
    }

    fn position_bytes(&self) -> u64 {
        self.window.position_bytes()
    }

    fn devices(&self) -> Vec<String> {
        self.intake.devices.names()
    }

    fn note(&self) -> Option<String> {
        self.parser.note()
    }
}

/// Numbers at fixed places of a record, in little-endian order unless swapped.
#[derive(Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) big_endian: bool,
}

impl Record<'_> {
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
        let input = Arc::new(Input::of_bytes("t", bytes).map_err(|error| error.to_string())?);
        let reading = Reading { skip_bad, raw_times: false };
        let mut reader =
            Records(parser).reader(&input, reading).map_err(|error| error.to_string())?;
        let mut requests = Vec::new();
        while reader.next_batch(&mut requests, 7).map_err(|error| error.to_string())? > 0 {}
        Ok((requests, reader.skipped().clone()))
    }
}
