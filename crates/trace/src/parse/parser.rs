//! The loop over the lines or the records of a trace, for every format with a parser.
//!
//! The parser says what each line or record means; the [`Normalizer`] checks the request and
//! delivers it. A file that ends within a record is truncated.

use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::input::part_cursor::PartCursor;
use crate::input::sliding_window::NextLine;
use crate::input::stored_trace::StoredTrace;
use crate::parse::devices::Devices;
use crate::parse::encoding::text_window;
use crate::parse::normalize::Normalizer;
use crate::parse::parsed::{ParseError, ParseResult, Parsed};
use crate::parse::records::TRUNCATED;
use crate::reader::{ReadMode, ReadReport, Reader, ReaderFactory};
use crate::request::Request;

/// The parser of a format that consists of lines, or of records that all have the same size.
pub(crate) trait TraceParser: Clone + Send + Sync + 'static {
    /// Nanoseconds in a tick of this format's clock.
    const TICK_NS: u64;

    /// Whether the format's requests do not come in the order of their times.
    const UNSORTED: bool = false;

    /// Whether times count from the beginning of each file. If so, each member of an archive begins
    /// at the time at which the member before it ended.
    const OWN_CLOCK: bool = false;

    /// The size of a record; `None` for lines.
    fn record_bytes(&self) -> Option<usize> {
        None
    }

    /// Parses a line without its end, or a record of [`TraceParser::record_bytes`] bytes. Either
    /// may have any content.
    fn parse(&mut self, piece: &[u8], devices: &mut Devices) -> ParseResult;

    /// What a last line without line end means.
    fn line_ends(&self) -> LineEnds {
        LineEnds::Optional
    }

    /// Whether the lines name the streams of writes.
    fn has_streams(&self) -> bool {
        false
    }

    /// What to give as `--format` to read the same columns as csv, if lines consist of columns.
    fn csv_spec(&self) -> Option<String> {
        None
    }

    /// Whether the times of such traces are Unix times.
    fn has_unix_times(&self) -> bool {
        false
    }

    /// Choices of the parser that the user may want to know, as sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What it means that the last line of a file has no line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnds {
    /// Nothing: the format is also written by hand, or by scripts that omit it.
    Optional,
    /// The program that writes the format ends every line, so the last one may be cut: a note.
    Usual,
    /// The same, but without other hints at interruptions, so the line is bad.
    Required,
}

const TOO_LONG: ParseError = ParseError::with_remedy(
    "the line is longer than 64 KiB",
    "the file may be binary or have no line ends",
);

const TORN: ParseError = ParseError::with_remedy(
    "the last line has no line end, so its writer was interrupted and it may not be whole",
    "`--skip-bad` leaves it out",
);

/// The reader of a trace.
struct ParsingReader<P> {
    normalizer: Normalizer,
    cursor: PartCursor,
    parser: P,
    /// The parser in its initial state, in which it begins each part.
    fresh: P,
    /// The number of the current line or record, from 1.
    number: u64,
    /// A sentence about a last line that may have been cut.
    cut: Option<String>,
}

/// A parser in its initial state is a factory of readers, each of which starts with a copy of it.
impl<P: TraceParser> ReaderFactory for P {
    fn reader(&self, input: &Arc<StoredTrace>, mode: ReadMode) -> Result<Box<dyn Reader>> {
        let open = if self.record_bytes().is_some() { StoredTrace::window } else { text_window };
        let (normalizer, cursor) = (Normalizer::new(mode), PartCursor::new(input, open)?);
        let (parser, fresh) = (self.clone(), self.clone());
        Ok(Box::new(ParsingReader { normalizer, cursor, parser, fresh, number: 0, cut: None }))
    }

    fn is_unsorted(&self) -> bool {
        P::UNSORTED
    }

    fn has_streams(&self) -> bool {
        TraceParser::has_streams(self)
    }

    fn csv_spec(&self) -> Option<String> {
        TraceParser::csv_spec(self)
    }

    fn has_unix_times(&self) -> bool {
        TraceParser::has_unix_times(self)
    }
}

impl<P: TraceParser> Reader for ParsingReader<P> {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let wanted = out.len().saturating_add(max);
        let before = out.len();
        while out.len() < wanted {
            let has_read = match self.parser.record_bytes() {
                Some(bytes) => self.read_record(bytes, out)?,
                None => self.read_line(out)?,
            };
            if !has_read && !self.next_part()? {
                break;
            }
        }
        Ok(out.len() - before)
    }

    fn position_bytes(&self) -> u64 {
        self.cursor.position_bytes()
    }

    fn report(&self) -> ReadReport {
        let notes = self.parser.notes().into_iter().chain(self.cut.clone());
        self.normalizer.report(notes.collect())
    }
}

impl<P: TraceParser> ParsingReader<P> {
    /// Begins the next part, which is read like a file of its own; false if there is none.
    fn next_part(&mut self) -> Result<bool> {
        let more = self.cursor.next_part()?;
        if more {
            self.parser = self.fresh.clone();
            self.number = 0;
            self.normalizer.next_part(P::OWN_CLOCK);
        }
        Ok(more)
    }

    /// Reads a line; false if the part has ended.
    #[inline(always)]
    fn read_line(&mut self, out: &mut Vec<Request>) -> Result<bool> {
        let found = self.cursor.window.next_line();
        match found.map_err(|source| self.failure(source))? {
            NextLine::Line(range) => {
                self.number += 1;
                self.line(range, out)?;
            }
            NextLine::TooLong(range) => {
                self.number += 1;
                self.bad_piece(TOO_LONG, range)?;
                let stepped = self.cursor.window.skip_line();
                stepped.map_err(|source| self.failure(source))?;
            }
            NextLine::End => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    fn line(&mut self, range: Range<usize>, out: &mut Vec<Request>) -> Result<()> {
        let line = trim_line_end(self.cursor.window.slice(range.clone()));
        if !self.cursor.window.was_ended(&range) {
            if self.is_torn(line) {
                return self.bad_piece(TORN, range);
            }
            self.cut = self.cut_note(line).or(self.cut.take());
        }
        let parsed = self.parser.parse(line, &mut self.normalizer.devices);
        let taken = self.normalizer.take(parsed, P::TICK_NS, out);
        taken.or_else(|error| self.bad_piece(error, range))
    }

    /// Whether a line without line end is bad.
    #[cold]
    fn is_torn(&self, line: &[u8]) -> bool {
        self.parser.line_ends() == LineEnds::Required && !line.trim_ascii().is_empty()
    }

    /// A sentence about the last line of a part if it has no line end, and if its request would be
    /// another one without its last digit: then further digits may be missing.
    #[cold]
    fn cut_note(&self, line: &[u8]) -> Option<String> {
        let is_usual = self.parser.line_ends() == LineEnds::Usual;
        let (last, rest) = line.split_last().filter(|_| is_usual)?;
        let range = |line| match self.parser.clone().parse(line, &mut Devices::default()) {
            Ok(Parsed::Request(request)) => Some((request.offset, request.bytes)),
            _ => None,
        };
        let whole = range(line).filter(|_| last.is_ascii_hexdigit())?;
        (range(rest) != Some(whole)).then(|| {
            format!(
                "The last line of `{}` has no line end, as if its writer had been interrupted: its \
                 address or length may be cut. Remove the line if it is.",
                self.cursor.part().name()
            )
        })
    }

    /// Reads a record; false if the part has ended.
    #[inline(always)]
    fn read_record(&mut self, bytes: usize, out: &mut Vec<Request>) -> Result<bool> {
        let found = self.cursor.window.next_bytes(bytes);
        let range = found.map_err(|source| self.failure(source))?;
        if range.is_empty() {
            return Ok(false);
        }
        self.number += 1;
        let taken = match self.cursor.window.slice(range.clone()) {
            record if record.len() < bytes => Err(TRUNCATED),
            record => {
                let parsed = self.parser.parse(record, &mut self.normalizer.devices);
                self.normalizer.take(parsed, P::TICK_NS, out)
            }
        };
        taken.or_else(|error| self.bad_piece(error, range))?;
        Ok(true)
    }

    fn failure(&self, source: io::Error) -> Error {
        self.cursor.part().failure(self.number, source)
    }

    #[cold]
    fn bad_piece(&mut self, error: ParseError, range: Range<usize>) -> Result<()> {
        let (part, piece) = (self.cursor.part(), self.cursor.window.slice(range));
        match self.parser.record_bytes() {
            Some(_) => self.normalizer.bad_record(error, part, self.number),
            None => self.normalizer.bad_line(error, part, self.number, piece),
        }
    }
}

/// Removes the carriage return of files from Windows.
#[inline]
fn trim_line_end(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Calls `visit` with every line of every part until it breaks; lines that are too long are
/// skipped.
pub(crate) fn for_each_line(
    input: &StoredTrace,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    for part in input.parts() {
        if for_each_line_of(part, &mut visit)?.is_break() {
            break;
        }
    }
    Ok(())
}

fn for_each_line_of(
    part: &StoredTrace,
    visit: &mut impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut window = text_window(part)?;
    let mut line_number = 0;
    loop {
        let failed = |source| part.failure(line_number, source);
        match window.next_line().map_err(failed)? {
            NextLine::Line(range) => {
                line_number += 1;
                if visit(trim_line_end(window.slice(range))).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            NextLine::TooLong(_) => {
                window.skip_line().map_err(failed)?;
                line_number += 1;
            }
            NextLine::End => return Ok(ControlFlow::Continue(())),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::parse::parsed::RawRequest;
    use crate::reader::Skipped;
    use crate::request::Op;

    /// Reads all bytes with a parser: the requests, the skips, or the error's message.
    pub(crate) fn read_all(
        parser: impl TraceParser,
        bytes: &[u8],
        skip_bad: bool,
    ) -> std::result::Result<(Vec<Request>, Skipped), String> {
        let input = Arc::new(StoredTrace::spool("t", bytes).map_err(|error| error.to_string())?);
        let mode = ReadMode { skip_bad, raw_times: false };
        let mut reader = parser.reader(&input, mode).map_err(|error| error.to_string())?;
        let mut requests = Vec::new();
        while reader.next_batch(&mut requests, 7).map_err(|error| error.to_string())? > 0 {}
        Ok((requests, reader.report().skipped))
    }

    /// A format for tests: `ticks offset bytes`. A tick is a second.
    #[derive(Clone)]
    struct Plain;

    impl TraceParser for Plain {
        const TICK_NS: u64 = 1_000_000_000;

        fn parse(&mut self, line: &[u8], devices: &mut Devices) -> ParseResult {
            let line = std::str::from_utf8(line).unwrap();
            let mut words = line.split_whitespace().map(str::parse);
            let mut number =
                || words.next().and_then(|number| number.ok()).ok_or(ParseError::new("no number"));
            let (ticks, offset, bytes) = (number()?, number()?, number()?);
            let device = devices.index(b"d")?;
            let op = Op::Write;
            Ok(Parsed::Request(RawRequest {
                ticks,
                offset,
                bytes,
                device,
                op,
                ..RawRequest::BLANK
            }))
        }
    }

    #[test]
    fn times_start_at_zero_and_never_go_back() {
        let (requests, skipped) =
            read_all(Plain, b"5 0 1\n7 0 1\n6 0 1\n3 0 1\n8 0 1", false).unwrap();
        let seconds: Vec<_> = requests.iter().map(|r| r.time_ns / 1_000_000_000).collect();
        assert_eq!(seconds, [0, 2, 2, 2, 3]);
        assert_eq!((skipped.backward_times, skipped.step_back_ns), (2, 4_000_000_000));
        assert_eq!(skipped.total(), 0, "a request with a raised time is not skipped");
    }

    /// The times in seconds of requests with these stamps, and how many were absurd or went back.
    fn times_of(stamps: &[u64]) -> (Vec<u64>, u64, u64) {
        let text: String = stamps.iter().map(|stamp| format!("{stamp} 0 1\n")).collect();
        let (requests, skipped) = read_all(Plain, text.as_bytes(), false).unwrap();
        let times = requests.iter().map(|it| it.time_ns / 1_000_000_000).collect();
        (times, skipped.absurd_times, skipped.backward_times)
    }

    #[test]
    fn an_absurd_time_stamp_does_not_drag_later_requests_along() {
        const FAR: u64 = 1_700_000_000;
        assert_eq!(times_of(&[5, 6, FAR, 7, 8]), (vec![0, 1, 1, 2, 3], 1, 0));
        assert_eq!(times_of(&[5, 6, u64::MAX, 7]), (vec![0, 1, 1, 2], 0, 1), "before zero");
        assert_eq!(times_of(&[5, 6, 1 << 63, 7]), (vec![0, 1, 1, 2], 1, 0), "a wrapped counter");
        assert_eq!(times_of(&[5, FAR, 6, FAR, 7]), (vec![0, 0, 1, 1, 2], 2, 0));
        // A second stamp confirms the first one.
        assert_eq!(times_of(&[5, 6, FAR, FAR + 1, FAR + 3]), (vec![0, 1, 1, 1, 3], 1, 0));
        assert_eq!(times_of(&[FAR, FAR + 3, 6, 7, 9]), (vec![0, 3, 3, 3, 5], 0, 1), "set back");
        assert_eq!(times_of(&[u64::MAX - 2, u64::MAX, 1]), (vec![0, 2, 4], 0, 0), "before zero");
    }

    #[test]
    fn blank_lines_and_windows_line_ends_are_accepted() {
        let (requests, skipped) = read_all(Plain, b"\r\n1 2 3\r\n\n  \n1 2 3\r", false).unwrap();
        assert_eq!(requests.len(), 2);
        assert_eq!(skipped, Skipped::default());
    }

    #[test]
    fn a_bad_line_is_an_error_that_names_it_or_is_counted() {
        let text = b"1 2 3\n\n1 x 3\n1 2 0\n1 2 3\n";
        let message = read_all(Plain, text, false).unwrap_err();
        assert_eq!(message, "t:3: no number: 1 x 3");
        let (requests, skipped) = read_all(Plain, text, true).unwrap();
        assert_eq!(requests.len(), 2);
        let counts: Vec<_> = skipped.iter().collect();
        assert_eq!(counts, [("malformed", 1), ("zero-length", 1)]);
    }

    #[test]
    fn addresses_and_times_beyond_64_bits_are_errors() {
        let message = read_all(Plain, b"1 18446744073709551615 1", false).unwrap_err();
        assert!(message.starts_with("t:1: offset + length exceeds 64 bits"), "{message}");
        let years: String = (0..600).map(|n| format!("{} 0 1\n", n * 31_000_000_u64)).collect();
        let message = read_all(Plain, years.as_bytes(), false).unwrap_err();
        assert!(message.starts_with("t:597: the time is more than 584 years"), "{message}");
    }

    #[test]
    fn a_line_that_is_too_long_is_an_error_or_is_counted() {
        let text = [b"1 2 3\n", &[b'x'; 200_000][..], b"\n1 2 3\n"].concat();
        let message = read_all(Plain, &text, false).unwrap_err();
        assert!(message.starts_with("t:2: the line is longer than 64 KiB: xxx"), "{message}");
        assert!(message.len() < 400);
        let (requests, skipped) = read_all(Plain, &text, true).unwrap();
        assert_eq!((requests.len(), skipped.get("malformed")), (2, 1));
    }
}
