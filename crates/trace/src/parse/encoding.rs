//! The encoding of text: UTF-8, with or without a byte-order mark at its beginning. Programs of
//! Windows write such a mark, and some write UTF-16, which is refused with a remedy.

use crate::error::{Error, Result};
use crate::input::sliding_window::SlidingWindow;
use crate::input::stored_trace::StoredTrace;

/// The byte-order mark of UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that show the encoding.
const HEAD_BYTES: usize = 8;

/// The text without a byte-order mark.
pub(crate) fn without_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// Whether the text is in UTF-16: it has the mark of UTF-16, or its first characters are ASCII with
/// a zero byte before or after each.
pub(crate) fn is_utf_16(text: &[u8]) -> bool {
    let ascii = |index: usize| matches!(text[index], 1..=0x7f);
    let pairs = |zero: usize| (0..HEAD_BYTES).all(|at| (at % 2 == zero) == (text[at] == 0));
    let unmarked = text.len() >= HEAD_BYTES
        && (pairs(0) && (1..HEAD_BYTES).step_by(2).all(ascii)
            || pairs(1) && (0..HEAD_BYTES).step_by(2).all(ascii));
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") || unmarked
}

/// A window at the first character of a text.
///
/// # Errors
/// The part cannot be read, or its text is in UTF-16.
pub(crate) fn text_window(part: &StoredTrace) -> Result<SlidingWindow> {
    let mut window = part.window()?;
    let head = window.head(HEAD_BYTES).map_err(|source| part.failure(0, source))?;
    if is_utf_16(head) {
        return Err(Error::Utf16 { name: part.name().to_owned() });
    }
    let mark_bytes = head.len() - without_mark(head).len();
    window.skip(mark_bytes);
    Ok(window)
}

#[cfg(test)]
mod tests {
    use super::*;

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
