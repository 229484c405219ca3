//! The encoding of text: UTF-8, with or without a byte-order mark at its beginning. Programs of
//! Windows write such a mark, and some write UTF-16, which is refused with a remedy; so are lines
//! that end in a carriage return alone.

use crate::error::{Error, Result};
use crate::input::archive::TAR_HEADER_BYTES;
use crate::input::sliding_window::SlidingWindow;
use crate::input::stored_trace::StoredTrace;

/// The byte-order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that show the encoding.
const MARK_BYTES: usize = 8;

/// Bytes that show the line ends.
const HEAD_BYTES: usize = 16 << 10;

/// The text without a byte-order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Whether the text is in UTF-16: it has the mark of UTF-16, or its first characters are ASCII with
/// a zero byte before or after each.
pub(crate) fn is_utf_16(text: &[u8]) -> bool {
    let ascii = |index: usize| matches!(text[index], 1..=0x7f);
    let pairs = |zero: usize| (0..MARK_BYTES).all(|at| (at % 2 == zero) == (text[at] == 0));
    let unmarked = text.len() >= MARK_BYTES
        && (pairs(0) && (1..MARK_BYTES).step_by(2).all(ascii)
            || pairs(1) && (0..MARK_BYTES).step_by(2).all(ascii));
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") || unmarked
}

/// Whether lines end in a carriage return alone, as far as the beginning shows.
fn ends_lines_in_cr(head: &[u8]) -> bool {
    head.trim_ascii_end().contains(&b'\r') && !head.contains(&b'\n')
}

/// Whether the text is preceded by the rest of the header of a tar archive, whose beginning is
/// missing. Only zeros and the magic number are left of most headers.
fn is_cut_archive(head: &[u8]) -> bool {
    let head = &head[..head.len().min(TAR_HEADER_BYTES)];
    head.contains(&0) && memchr::memmem::find(head, b"ustar").is_some()
}

/// Refuses text of which the beginning shows that lines cannot be read.
///
/// # Errors
/// The text is in UTF-16, or its lines end in a carriage return alone.
pub(crate) fn check(part: &StoredTrace, head: &[u8]) -> Result<()> {
    let (name, is_member) = (|| part.name().to_owned(), part.is_member());
    match () {
        () if is_utf_16(head) => Err(Error::Utf16 { name: name(), is_member }),
        () if is_cut_archive(head) => Err(Error::HeadlessArchive { name: name() }),
        () if ends_lines_in_cr(head) => Err(Error::CarriageReturns { name: name(), is_member }),
        () => Ok(()),
    }
}

/// A window at the first character of a text.
///
/// # Errors
/// The part cannot be read, or its text is in UTF-16 or has no line ends but carriage returns.
pub(crate) fn text_window(part: &StoredTrace) -> Result<SlidingWindow> {
    let mut window = part.window()?;
    let head = window.head(HEAD_BYTES).map_err(|source| part.failure(0, source))?;
    check(part, head)?;
    let mark_bytes = head.len() - without_mark(head).len();
    window.skip(mark_bytes);
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_end_in_carriage_returns_alone_are_recognised() {
        assert!(ends_lines_in_cr(b"1,2\r3,4\r") && ends_lines_in_cr(b"1,2\r3,4"));
        for text in [&b""[..], b"1,2", b"1,2\r", b"\r\n1,2\r", b"1,2\r\n3,4\r\n", b"1,2\r3,4\n"] {
            assert!(!ends_lines_in_cr(text), "{text:?}");
        }
    }

    #[test]
    fn the_rest_of_a_tar_header_before_the_text_is_recognised() {
        let mut header = tar::Header::new_ustar();
        header.set_size(4);
        header.set_cksum();
        let archive = [header.as_bytes(), &b"1,2\n"[..]].concat();
        for cut in 1..=257 {
            let read = crate::Trace::of_bytes("t", &archive[cut..], &crate::ReadOptions::default());
            let message = read.err().unwrap().to_string();
            assert!(message.contains("fetch the archive again"), "{cut}: {message}");
        }
        assert!(!is_cut_archive(b"ustar,2\n"));
    }

    #[test]
    fn utf_16_is_recognised_with_and_without_a_mark() {
        for text in [&b"\xff\xfe1\0"[..], b"\xfe\xff\x001", b"1\0,\x002\0,\0", b"\x001\0,\x002\0,"]
        {
            assert!(is_utf_16(text), "{text:?}");
        }
        for text in [&b""[..], b"1,2", b"1,2,3,4,", b"\0\0\0\0\0\0\0\0", b"1\0\0\0\0\0\0\0"] {
            assert!(!is_utf_16(text), "{text:?}");
        }
    }
}
