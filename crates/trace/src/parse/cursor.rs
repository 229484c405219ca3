//! Numbers and words out of bytes, without allocation and without looking twice.
//!
//! Traces are mostly digits, so eight bytes are looked at at a time: the digits at their beginning
//! are counted, moved to the end of a 64-bit word and folded with three multiplications (after
//! Lemire, "Quickly parsing eight digits", 2018). The tests hold it against the standard library.

/// A place in a line. Every method moves on only when it succeeds in full, or the line is given up.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    line: &'a [u8],
    rest: &'a [u8],
}

/// This many digits always fit 64 bits.
const SAFE_DIGITS: usize = 19;

impl<'a> Cursor<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Cursor<'a> {
        Cursor { line, rest: line }
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
        let (digits, value) = leading_digits(self.next_eight());
        if digits < 8 {
            self.rest = &self.rest[digits..];
            return (digits > 0).then_some(value);
        }
        let start = self.rest;
        self.rest = &start[8..];
        let (digits, more) = leading_digits(self.next_eight());
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

    /// The next eight bytes, filled up with zeros at the end of the line.
    #[inline(always)]
    fn next_eight(&self) -> u64 {
        if let Some(chunk) = self.rest.first_chunk() {
            return u64::from_le_bytes(*chunk);
        }
        // The last eight bytes of the line hold the rest in their upper part.
        match self.line.last_chunk() {
            Some(chunk) => {
                let behind_us = 8 * (8 - self.rest.len() as u32);
                u64::from_le_bytes(*chunk).checked_shr(behind_us).unwrap_or(0)
            }
            None => short_line(self.rest),
        }
    }

    /// Seconds as a decimal number, in nanoseconds; digits beyond the ninth are dropped.
    #[inline(always)]
    pub(crate) fn seconds_ns(&mut self) -> Option<u64> {
        self.decimal(9, b'.')
    }

    /// A decimal number times ten to the `power`, at most 9; digits beyond that are dropped.
    #[inline(always)]
    pub(crate) fn decimal(&mut self, power: usize, point: u8) -> Option<u64> {
        let whole = self.number()?;
        let part = match self.byte(point) {
            Some(()) => self.fraction(power),
            None => 0,
        };
        whole.checked_mul(POWERS_OF_TEN[power])?.checked_add(part)
    }

    /// The digits behind a decimal point, the first `power` of them; there may be none.
    #[inline(always)]
    fn fraction(&mut self, power: usize) -> u64 {
        let start = self.rest;
        let value = self.number();
        match (start.len() - self.rest.len(), value) {
            (digits, Some(value)) if digits <= power => value * POWERS_OF_TEN[power - digits],
            (0, None) => 0,
            _ => Cursor::new(&start[..power]).number().unwrap_or(0),
        }
    }

    /// A hexadecimal number, with or without `0x`; `None` if there is no digit or it exceeds 64
    /// bits.
    #[inline]
    pub(crate) fn hexadecimal(&mut self) -> Option<u64> {
        if let [b'0', b'x' | b'X', behind @ ..] = self.rest {
            self.rest = behind;
        }
        let start = self.rest;
        let mut value = 0u64;
        while let [byte, behind @ ..] = self.rest
            && let Some(digit) = char::from(*byte).to_digit(16)
        {
            if value >> 60 != 0 {
                return None;
            }
            value = value << 4 | u64::from(digit);
            self.rest = behind;
        }
        (self.rest.len() < start.len()).then_some(value)
    }

    /// A whole number whose thousands may be set off: `16.384` is 16384, `16.38` is none.
    pub(crate) fn grouped_number(&mut self, separator: u8) -> Option<u64> {
        let start = self.rest;
        let mut value = self.number()?;
        let mut digits = start.len() - self.rest.len();
        while self.byte(separator).is_some() {
            let group = self.rest;
            let thousand = self.number()?;
            if digits > 3 || group.len() - self.rest.len() != 3 {
                return None;
            }
            value = value.checked_mul(1000)?.checked_add(thousand)?;
            digits = 3;
        }
        Some(value)
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

    /// Blanks, and tabs unless they separate fields.
    #[inline(always)]
    pub(crate) fn blanks_but(&mut self, tabs_separate: bool) {
        while let [first, rest @ ..] = self.rest
            && (*first == b' ' || *first == b'\t' && !tabs_separate)
        {
            self.rest = rest;
        }
    }

    /// What `read` reads, if nothing is left behind it.
    #[inline]
    pub(crate) fn whole(mut self, read: impl Fn(&mut Self) -> Option<u64>) -> Option<u64> {
        let value = read(&mut self)?;
        self.rest.is_empty().then_some(value)
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
            let digits = count_digits(self.next_eight());
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

static POWERS_OF_TEN: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The bytes of a line that has less than eight, filled up with zeros.
#[cold]
fn short_line(rest: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

/// How many of eight bytes are digits, up to the first that is none.
#[inline(always)]
fn count_digits(word: u64) -> usize {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let digits = word ^ 0x3030_3030_3030_3030;
    // Bytes from 10 on get their high bit set; without it before, no sum carries into the next.
    let others = (((digits & !HIGH_BITS) + 0x7676_7676_7676_7676) | digits) & HIGH_BITS;
    others.trailing_zeros() as usize / 8
}

/// How many of eight bytes are digits, up to the first that is none, and their value.
#[inline(always)]
fn leading_digits(word: u64) -> (usize, u64) {
    let count = count_digits(word);
    // The digits move to the end, with zeros before them: `42,Read,` becomes 00000042.
    let digits = word ^ 0x3030_3030_3030_3030;
    let padded = digits.checked_shl(64 - 8 * count as u32).unwrap_or(0);
    (count, folded(padded))
}

/// The number that eight bytes from 0 to 9 make, the first one the highest: neighbours become
/// pairs, pairs become two numbers of four digits, those the whole.
#[inline(always)]
fn folded(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let outer = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let inner = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    outer.wrapping_add(inner) >> 32
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
    fn seconds_are_exact() {
        let seconds = |text: &str| Cursor::new(text.as_bytes()).seconds_ns();
        assert_eq!(seconds("0.551706"), Some(551_706_000));
        assert_eq!(seconds("1.313174332"), Some(1_313_174_332));
        assert_eq!(seconds("1.3131743329999999"), Some(1_313_174_332));
        assert_eq!(seconds(&format!("1.3131743329{}", "9".repeat(99))), Some(1_313_174_332));
        assert_eq!(seconds("0.000000001 x"), Some(1));
        assert_eq!(seconds("7"), Some(7_000_000_000));
        assert_eq!(seconds("7."), Some(7_000_000_000));
        assert_eq!(seconds("18446744073.709551615"), Some(u64::MAX));
        assert_eq!(seconds("18446744073.709551616"), None);
        assert_eq!(seconds("18446744074"), None);
        assert_eq!(seconds(".5"), None);
    }

    #[test]
    fn other_notations() {
        let decimal = |text: &str, power| Cursor::new(text.as_bytes()).decimal(power, b'.');
        assert_eq!(decimal("15849.28847", 6), Some(15_849_288_470));
        assert_eq!(decimal("12.987", 2), Some(1298));
        assert_eq!(decimal("12.987", 0), Some(12));
        assert_eq!(Cursor::new(b"1,079943800").decimal(9, b','), Some(1_079_943_800));
        let hex = |text: &str| Cursor::new(text.as_bytes()).hexadecimal();
        assert_eq!(hex("0x0000000000000400"), Some(1024));
        assert_eq!(hex("fFfFfFfFfFfFfFfF,"), Some(u64::MAX));
        assert_eq!((hex("0x"), hex("x"), hex("10000000000000000")), (None, None, None));
        let grouped = |text: &str| Cursor::new(text.as_bytes()).grouped_number(b'.');
        assert_eq!(grouped("16.384;"), Some(16_384));
        assert_eq!(grouped("1.016.384"), Some(1_016_384));
        assert_eq!(grouped("512"), Some(512));
        assert_eq!((grouped("16.38"), grouped("1638.400"), grouped("1.")), (None, None, None));
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
