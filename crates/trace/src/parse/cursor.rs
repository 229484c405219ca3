//! Numbers and words out of bytes, without allocation and without looking twice.
//!
//! Traces are mostly digits, so eight of them are read at a time where there are eight: a 64-bit
//! word is tested and folded with three multiplications (after Lemire, "Quickly parsing eight
//! digits", 2018). The tests hold it against the standard library.

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
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Option<u64> {
        let start = self.rest;
        let mut rest = start;
        let mut value = 0u64;
        while let Some((chunk, behind)) = rest.split_first_chunk::<8>()
            && let Some(eight) = eight_digits(*chunk)
        {
            value = value.wrapping_mul(100_000_000).wrapping_add(eight);
            rest = behind;
        }
        while let [digit @ b'0'..=b'9', behind @ ..] = rest {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            rest = behind;
        }
        self.rest = rest;
        match start.len() - rest.len() {
            0 => None,
            1..=SAFE_DIGITS => Some(value),
            digits => long_number(&start[..digits]),
        }
    }

    /// A number whose length differs from line to line: up to seven digits without a branch for
    /// each, as the processor could not predict them. The same result as [`Cursor::number`].
    #[inline(always)]
    pub(crate) fn uneven_number(&mut self) -> Option<u64> {
        let (digits, value) = leading_digits(self.next_eight());
        if !(1..8).contains(&digits) {
            return self.number();
        }
        self.rest = &self.rest[digits..];
        Some(value)
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
            None => 0,
        }
    }

    /// Seconds as a decimal number, in nanoseconds; digits beyond the ninth are dropped.
    #[inline(always)]
    pub(crate) fn seconds_ns(&mut self) -> Option<u64> {
        let seconds = self.number()?;
        let nanoseconds = match self.byte(b'.') {
            Some(()) => self.nanoseconds(),
            None => 0,
        };
        seconds.checked_mul(1_000_000_000)?.checked_add(nanoseconds)
    }

    /// The digits behind a decimal point; there may be none.
    #[inline(always)]
    fn nanoseconds(&mut self) -> u64 {
        let start = self.rest;
        let value = self.number();
        match (start.len() - self.rest.len(), value) {
            (digits @ 0..=9, Some(value)) => value * POWERS_OF_TEN[9 - digits],
            (0, None) => 0,
            _ => Cursor::new(&start[..9]).number().unwrap_or(0),
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

    /// A comma with blanks around it.
    #[inline]
    pub(crate) fn comma(&mut self) -> Option<()> {
        self.blanks();
        self.byte(b',')?;
        self.blanks();
        Some(())
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

    /// The same for a number whose length differs from line to line.
    #[inline(always)]
    pub(crate) fn uneven_number_word(&mut self) -> Option<u64> {
        self.blanks();
        let value = self.uneven_number()?;
        matches!(self.rest, [] | [b' ' | b'\t', ..]).then_some(value)
    }

    /// Digits, however many; their value is of no interest.
    #[inline(always)]
    pub(crate) fn digits(&mut self) -> Option<()> {
        let start = self.rest.len();
        while let [b'0'..=b'9', rest @ ..] = self.rest {
            self.rest = rest;
        }
        (self.rest.len() < start).then_some(())
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

/// The value of eight digits, or `None` if one of the bytes is none.
#[inline(always)]
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(bytes);
    // A digit has the high nibble 3, and still has it with 6 added.
    let nibbles = word & 0xf0f0_f0f0_f0f0_f0f0;
    let carried = word.wrapping_add(0x0606_0606_0606_0606) & 0xf0f0_f0f0_f0f0_f0f0;
    let all_digits = nibbles | carried >> 4 == 0x3333_3333_3333_3333;
    all_digits.then(|| folded(word ^ 0x3030_3030_3030_3030))
}

/// How many of eight bytes are digits, up to the first that is none, and their value.
#[inline(always)]
fn leading_digits(word: u64) -> (usize, u64) {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    let digits = word ^ 0x3030_3030_3030_3030;
    // Bytes from 10 on get their high bit set; without it before, no sum carries into the next.
    let others = (((digits & !HIGH_BITS) + 0x7676_7676_7676_7676) | digits) & HIGH_BITS;
    let count = others.trailing_zeros() / 8;
    // The digits move to the end, with zeros before them: `42,Read,` becomes 00000042.
    let padded = digits.checked_shl(64 - 8 * count).unwrap_or(0);
    (count as usize, folded(padded))
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
    fn words_are_between_blanks() {
        let mut cursor = Cursor::new(b"  ab\t12 3x ");
        assert_eq!(cursor.word(), Some(&b"ab"[..]));
        assert_eq!(cursor.number_word(), Some(12));
        assert_eq!(cursor.number_word(), None);
        let mut cursor = Cursor::new(b"99999999999999999999999 ");
        assert_eq!((cursor.digits_word(), cursor.digits_word()), (Some(()), None));
        assert_eq!(Cursor::new(b"1x").digits_word(), None);
        let mut cursor = Cursor::new(b" , x");
        assert_eq!(cursor.comma(), Some(()));
        assert_eq!(cursor.word(), Some(&b"x"[..]));
        assert_eq!(cursor.word(), None);
        assert_eq!(cursor.end(), Some(()));
    }

    proptest! {
        #[test]
        fn eight_digits_agree_with_the_library(
            bytes: [u8; 8],
            value in 0u64..100_000_000,
            at in 0usize..8,
        ) {
            let all_digits: [u8; 8] = format!("{value:08}").as_bytes().try_into().unwrap();
            let mut one_off = all_digits;
            one_off[at] = bytes[0];
            prop_assert_eq!(eight_digits(all_digits), Some(value));
            for bytes in [bytes, one_off] {
                let plain = bytes.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(&bytes).ok().filter(|_| plain);
                prop_assert_eq!(eight_digits(bytes), text.and_then(|text| text.parse().ok()));
            }
        }

        #[test]
        fn uneven_numbers_are_numbers(line: Vec<u8>, text in "[0-9]{0,22}", end in "[ ,x]?[0-9]*") {
            let plain = format!("{text}{end}");
            for line in [&line[..], plain.as_bytes()] {
                for start in 0..=line.len().min(12) {
                    let (mut one, mut other) = (Cursor::new(line), Cursor::new(line));
                    one.skip(start);
                    other.skip(start);
                    prop_assert_eq!(one.number(), other.uneven_number());
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
