//! A window that slides over the bytes of a trace and finds its lines in bounded memory.
//!
//! ```text
//! plain file   |......{=== read ====}...............|
//! compressed   decoder ─► {=========}
//! window                [incomplete line|new bytes ]    the incomplete line moves to the front
//! ```
//!
//! Plain files are read and not mapped: a file may become shorter while it is read, which must be
//! an error and no signal that ends the process.
//!
//! The window has [`WINDOW_BYTES`], however long the file is. A line longer than [`LONGEST_LINE`]
//! is reported and can be skipped without holding all of it.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of the window.
const WINDOW_BYTES: usize = 1 << 20;

/// The longest line that is read. No format has lines that are nearly as long.
pub(crate) const LONGEST_LINE: usize = 64 << 10;

const _: () = assert!(WINDOW_BYTES > 2 * LONGEST_LINE);

/// The next line in the window. [`SlidingWindow::slice`] turns the ranges into bytes.
pub(crate) enum NextLine {
    /// A line without its newline.
    Line(Range<usize>),
    /// The beginning of a line that is too long; [`SlidingWindow::skip_line`] skips it.
    TooLong(Range<usize>),
    /// There are no more lines.
    End,
}

/// The bytes in the window, the start of the next line in them, and the source of more bytes.
pub(crate) struct SlidingWindow {
    view: View,
    start: usize,
    ended: bool,
}

enum View {
    File(FilePart),
    Stream { reader: Box<dyn Read + Send>, buffer: Vec<u8>, consumed: Arc<AtomicU64> },
}

/// A part of a plain file, and the bytes of it that are in the window.
struct FilePart {
    file: File,
    /// Where the part begins in the file, and its bytes.
    start: u64,
    length: u64,
    /// Its bytes that have been read.
    read: u64,
    buffer: Box<[u8]>,
    filled: usize,
}

impl FilePart {
    /// Moves the bytes from `start` on to the front, and reads further ones. Returns whether these
    /// were the last.
    fn refill(&mut self, start: usize) -> io::Result<bool> {
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        let space = &mut self.buffer[self.filled..];
        let wanted = (self.length - self.read).min(space.len() as u64);
        let read = self.file.read_exact_at(&mut space[..wanted as usize], self.start + self.read);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => shorter(),
            _ => error,
        })?;
        self.filled += wanted as usize;
        self.read += wanted;
        Ok(self.read == self.length)
    }
}

fn shorter() -> io::Error {
    let why = "the file has become shorter since it was opened; open it again";
    io::Error::new(io::ErrorKind::UnexpectedEof, why)
}

impl SlidingWindow {
    /// A window over `length` bytes of a plain file from `start` on.
    pub(crate) fn file(file: File, start: u64, length: u64) -> SlidingWindow {
        let bytes = length.min(WINDOW_BYTES as u64) as usize;
        let buffer = vec![0; bytes].into();
        let view = View::File(FilePart { file, start, length, read: 0, buffer, filled: 0 });
        SlidingWindow { view, start: 0, ended: false }
    }

    /// A window over a decompressor. `consumed` counts the stored bytes that it has read.
    pub(crate) fn stream(reader: Box<dyn Read + Send>, consumed: Arc<AtomicU64>) -> SlidingWindow {
        let view = View::Stream { reader, buffer: Vec::new(), consumed };
        SlidingWindow { view, start: 0, ended: false }
    }

    /// The number of stored bytes that have been read, for progress.
    pub(crate) fn position_bytes(&self) -> u64 {
        match &self.view {
            View::File(part) => part.read - (part.filled - self.start) as u64,
            View::Stream { consumed, .. } => consumed.load(Ordering::Relaxed),
        }
    }

    /// Finds the next line. The last line need not end with a newline.
    #[inline]
    pub(crate) fn next_line(&mut self) -> io::Result<NextLine> {
        loop {
            let rest = &self.bytes()[self.start..];
            let (length, newline) = match memchr::memchr(b'\n', rest) {
                Some(length) => (length, 1),
                None => (rest.len(), 0),
            };
            if length > LONGEST_LINE {
                return Ok(NextLine::TooLong(self.start..self.start + LONGEST_LINE));
            }
            if newline == 1 || self.ended && length > 0 {
                let line = self.start..self.start + length;
                self.start = line.end + newline;
                return Ok(NextLine::Line(line));
            }
            if self.ended {
                return Ok(NextLine::End);
            }
            self.refill()?;
        }
    }

    /// The next `count` bytes, or fewer at the end. `count` must be far smaller than the window.
    #[inline]
    pub(crate) fn next_bytes(&mut self, count: usize) -> io::Result<Range<usize>> {
        if self.bytes().len() - self.start < count && !self.ended {
            self.refill()?;
        }
        let end = self.bytes().len().min(self.start + count);
        let range = self.start..end;
        self.start = end;
        Ok(range)
    }

    /// The bytes of the line or range that was found last.
    #[inline]
    pub(crate) fn slice(&self, line: Range<usize>) -> &[u8] {
        &self.bytes()[line]
    }

    /// Whether the line that was found last ended with a newline.
    #[inline]
    pub(crate) fn was_ended(&self, line: &Range<usize>) -> bool {
        self.start > line.end
    }

    /// Skips a line that is too long.
    pub(crate) fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let rest = &self.bytes()[self.start..];
            match memchr::memchr(b'\n', rest) {
                Some(length) => {
                    self.start += length + 1;
                    return Ok(());
                }
                None => self.start += rest.len(),
            }
            if self.ended {
                return Ok(());
            }
            self.refill()?;
        }
    }

    /// Skips the next `count` bytes, which are in the window.
    pub(crate) fn skip(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.bytes().len(), "skipped beyond the window");
    }

    /// Reads all remaining bytes and drops them.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        while !self.ended {
            self.start = self.bytes().len();
            self.refill()?;
        }
        Ok(())
    }

    /// The first bytes, at most `most`, of a new window.
    pub(crate) fn head(&mut self, most: usize) -> io::Result<&[u8]> {
        self.refill()?;
        let bytes = self.bytes();
        Ok(&bytes[..bytes.len().min(most)])
    }

    fn bytes(&self) -> &[u8] {
        match &self.view {
            View::File(part) => &part.buffer[..part.filled],
            View::Stream { buffer, .. } => buffer,
        }
    }

    /// Slides the window so that the incomplete line is at its front, followed by new bytes.
    fn refill(&mut self) -> io::Result<()> {
        let start = std::mem::take(&mut self.start);
        self.ended = match &mut self.view {
            View::File(part) => part.refill(start)?,
            View::Stream { reader, buffer, .. } => {
                buffer.drain(..start);
                let wanted = WINDOW_BYTES - buffer.len();
                fill(reader, buffer, wanted)? < wanted
            }
        };
        Ok(())
    }
}

/// Appends `wanted` bytes, or fewer at the end.
fn fill(reader: &mut dyn Read, buffer: &mut Vec<u8>, wanted: usize) -> io::Result<usize> {
    reader.take(wanted as u64).read_to_end(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn stream(bytes: Vec<u8>) -> SlidingWindow {
        SlidingWindow::stream(Box::new(io::Cursor::new(bytes)), Arc::default())
    }

    /// A window over a part of a file.
    fn of_file(bytes: &[u8]) -> SlidingWindow {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"before\n").unwrap();
        file.write_all(bytes).unwrap();
        file.write_all(b"\nbehind").unwrap();
        SlidingWindow::file(file, 7, bytes.len() as u64)
    }

    /// All lines; one that is too long is shown as its first byte and `…`.
    fn lines(mut window: SlidingWindow) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            match window.next_line().unwrap() {
                NextLine::Line(line) => {
                    lines.push(String::from_utf8_lossy(window.slice(line)).into_owned());
                }
                NextLine::TooLong(line) => {
                    lines.push(format!("{}…", window.slice(line)[0] as char));
                    window.skip_line().unwrap();
                }
                NextLine::End => return lines,
            }
        }
    }

    #[test]
    fn lines_across_the_ends_of_windows_are_complete() {
        let text: String = (0..300_000).map(|n| format!("line {n}\n")).collect();
        assert!(text.len() > 3 * WINDOW_BYTES);
        let expected: Vec<_> = text.lines().map(str::to_owned).collect();
        assert!(lines(of_file(text.as_bytes())) == expected);
        assert!(lines(stream(text.into_bytes())) == expected);
    }

    #[test]
    fn bytes_across_the_ends_of_windows_are_complete() {
        let bytes: Vec<u8> = (0..2 * WINDOW_BYTES + 5).map(|n| (n / 7) as u8).collect();
        for mut window in [of_file(&bytes), stream(bytes.clone())] {
            let mut taken = Vec::new();
            for count in (0..=48).cycle() {
                let range = window.next_bytes(count).unwrap();
                if range.is_empty() && count > 0 {
                    break;
                }
                assert!(range.len() == count || taken.len() + range.len() == bytes.len());
                taken.extend_from_slice(window.slice(range));
            }
            assert!(taken == bytes);
        }
    }

    #[test]
    fn a_last_line_needs_no_newline() {
        for text in ["a\nb", "a\nb\n"] {
            assert_eq!(lines(of_file(text.as_bytes())), ["a", "b"]);
            assert_eq!(lines(stream(text.into())), ["a", "b"]);
        }
        assert!(lines(stream(Vec::new())).is_empty());
        assert!(lines(of_file(b"")).is_empty());
    }

    #[test]
    fn a_file_that_becomes_shorter_is_an_error() {
        for length in [0, 40, WINDOW_BYTES, WINDOW_BYTES + 40] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&b"a line of ten\n".repeat(WINDOW_BYTES / 5)).unwrap();
            let whole = file.metadata().unwrap().len();
            let mut window = SlidingWindow::file(file.try_clone().unwrap(), 0, whole);
            assert!(matches!(window.next_line().unwrap(), NextLine::Line(_)));
            file.set_len(length as u64).unwrap();
            let why = loop {
                match window.next_line() {
                    Ok(NextLine::End) => panic!("{length} bytes are not the whole file"),
                    Ok(_) => {}
                    Err(error) => break error.to_string(),
                }
            };
            assert!(why.starts_with("the file has become shorter"), "{why}");
        }
    }

    #[test]
    fn lines_that_are_too_long_can_be_skipped() {
        for length in [LONGEST_LINE + 1, 3 * WINDOW_BYTES] {
            let text = format!("a\n{}\nb\n{}", "x".repeat(length), "y".repeat(length));
            let expected = ["a", "x…", "b", "y…"];
            assert_eq!(lines(of_file(text.as_bytes())), expected);
            assert_eq!(lines(stream(text.into())), expected);
        }
        let longest = "x".repeat(LONGEST_LINE);
        assert_eq!(lines(stream(longest.clone().into())), [longest]);
    }
}
