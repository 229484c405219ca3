//! Numbers and words out of lines that are not divided into columns, or not by one separator.

use super::eight::{POWERS_OF_TEN, count_digits, first_eight, leading_digits};
use super::field::Field;

/// A place in a line. Every method moves on only when it succeeds in full, or the line is given up.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

/// This many digits always fit 64 bits.
const SAFE_DIGITS: usize = 19;

impl<'a> Cursor<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: line }
    }

    /// What has not been read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Moves on by `count` bytes, which the caller has seen in [`Cursor::rest`].
    pub(crate) fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    /// A decimal number; `None` if there is no digit or it exceeds 64 bits.
    ///
    /// Up to 15 digits without a branch for each, as the processor could not predict where numbers
    /// end whose lengths differ from line to line.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (digits, value) = leading_digits(first_eight(self.rest));
        if digits < 8 {
            self.rest = &self.rest[digits..];
            return (digits > 0).then_some(value);
        }
        let start = self.rest;
        self.rest = &start[8..];
        let (digits, more) = leading_digits(first_eight(self.rest));
        if digits < 8 {
            self.rest = &self.rest[digits..];
            return Some(value * POWERS_OF_TEN[digits] + more);
        }
        self.rest = &self.rest[8..];
        self.number_beyond(start, value * 100_000_000 + more)
    }

    /// The rest of a number of at least 16 digits that begins at `start`.
    #[inline(always)]
    fn number_beyond(&mut self, start: &[u8], mut value: u64) -> Option<u64> {
        while let [digit @ b'0'..=b'9', behind @ ..] = self.rest {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.rest = behind;
        }
        match start.len() - self.rest.len() {
            0..=SAFE_DIGITS => Some(value),
            digits => long_number(&start[..digits]),
        }
    }

    /// This very byte.
    #[inline]
    pub(crate) fn byte(&mut self, wanted: u8) -> Option<()> {
        match self.rest {
            [first, rest @ ..] if *first == wanted => {
                self.rest = rest;
                Some(())
            }
            _ => None,
        }
    }

    /// Blanks and tabs, as many as there are.
    #[inline(always)]
    pub(crate) fn blanks(&mut self) {
        while let [b' ' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// The next word after any blanks, up to a blank or the end; `None` at the end.
    #[inline(always)]
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let length = self.rest.iter().position(is_blank).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// The same, whose notation is told by the caller.
    #[inline(always)]
    pub(crate) fn field(&mut self) -> Option<Field<'a>> {
        self.blanks();
        let text = self.rest;
        self.word().map(|word| Field::of_line(text, word.len()))
    }

    /// A word that is a decimal number and nothing else.
    #[inline(always)]
    pub(crate) fn number_word(&mut self) -> Option<u64> {
        self.blanks();
        let value = self.number()?;
        matches!(self.rest, [] | [b' ' | b'\t', ..]).then_some(value)
    }

    /// Digits, however many; their value is of no interest.
    #[inline(always)]
    pub(crate) fn digits(&mut self) -> Option<()> {
        let start = self.rest.len();
        loop {
            let digits = count_digits(first_eight(self.rest));
            self.rest = &self.rest[digits..];
            if digits < 8 {
                return (self.rest.len() < start).then_some(());
            }
        }
    }

    /// A word of digits, whose value is of no interest.
    #[inline(always)]
    pub(crate) fn digits_word(&mut self) -> Option<()> {
        self.blanks();
        self.digits()?;
        matches!(self.rest, [] | [b' ' | b'\t', ..]).then_some(())
    }

    /// The end of the line, blanks aside.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.blanks();
        self.rest.is_empty().then_some(())
    }
}

/// A number with leading zeros, or near the end of 64 bits or beyond.
#[cold]
fn long_number(digits: &[u8]) -> Option<u64> {
    let append =
        |value: u64, digit: &u8| value.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    digits.iter().try_fold(0, append)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(text: &[u8]) -> (Option<u64>, &[u8]) {
        let mut cursor = Cursor::new(text);
        let value = cursor.number();
        (value, cursor.rest())
    }

    #[test]
    fn numbers_up_to_64_bits() {
        assert_eq!(number(b"0"), (Some(0), &b""[..]));
        assert_eq!(number(b"128166481075232275,x"), (Some(128_166_481_075_232_275), &b",x"[..]));
        assert_eq!(number(b"18446744073709551615").0, Some(u64::MAX));
        assert_eq!(number(b"00000000000000000000000000007").0, Some(7));
        assert_eq!(number(b"18446744073709551616").0, None);
        assert_eq!(number(&[b'9'; 5000]).0, None);
        for text in [&b""[..], b"x", b"-1", b"+1", b" 1", b"\xff"] {
            assert_eq!(number(text).0, None);
        }
    }

    #[test]
    fn words_are_between_blanks() {
        let mut cursor = Cursor::new(b"  ab\t12 3x ");
        assert_eq!(cursor.word(), Some(&b"ab"[..]));
        assert_eq!(cursor.number_word(), Some(12));
        assert_eq!(cursor.number_word(), None);
        let mut cursor = Cursor::new(b"99999999999999999999999 ");
        assert_eq!((cursor.digits_word(), cursor.digits_word()), (Some(()), None));
        assert_eq!(Cursor::new(b"1x").digits_word(), None);
        let mut cursor = Cursor::new(b" x");
        assert_eq!(cursor.word(), Some(&b"x"[..]));
        assert_eq!(cursor.word(), None);
        assert_eq!(cursor.end(), Some(()));
    }

    proptest! {
        #[test]
        fn numbers_agree_with_the_library(
            line: Vec<u8>,
            text in "[0-9]{0,24}",
            end in "[ ,x]?[0-9]*",
        ) {
            let plain = format!("{text}{end}");
            for line in [&line[..], plain.as_bytes()] {
                for start in 0..=line.len().min(12) {
                    let digits = line[start..].iter().take_while(|byte| byte.is_ascii_digit());
                    let count = digits.count();
                    let text = std::str::from_utf8(&line[start..start + count]).unwrap();
                    let mut cursor = Cursor::new(line);
                    cursor.skip(start);
                    let mut other = cursor;
                    prop_assert_eq!(cursor.number(), text.parse().ok());
                    prop_assert_eq!(cursor.rest(), &line[start + count..]);
                    prop_assert_eq!(other.digits().is_some(), count > 0);
                    prop_assert_eq!(other.rest(), &line[start + count..]);
                }
            }
        }

        #[test]
        fn numbers_read_back(value: u64, zeros in 0usize..20) {
            let text = format!("{}{value}", "0".repeat(zeros));
            prop_assert_eq!(number(text.as_bytes()), (Some(value), &b""[..]));
        }
    }
}
