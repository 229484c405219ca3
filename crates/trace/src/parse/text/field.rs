//! One field of a line, and the numbers in it. A field that is not entirely a number is an error.

use crate::parse::text::swar::{POWERS_OF_TEN, before, digits, first_eight};

/// The first `length` bytes of `text`. The text extends to the end of the line, so that eight bytes
/// can be read at once even from a shorter field.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    text: &'a [u8],
    length: usize,
}

impl<'a> Field<'a> {
    /// A field that consists of all these bytes.
    #[inline(always)]
    pub(crate) fn new(bytes: &'a [u8]) -> Field<'a> {
        Field { text: bytes, length: bytes.len() }
    }

    /// The first `length` bytes of the rest of a line, which has at least that many.
    #[inline(always)]
    pub(crate) fn of_line(text: &'a [u8], length: usize) -> Field<'a> {
        Field { text, length }
    }

    /// The bytes of the field.
    #[inline(always)]
    pub(crate) fn bytes(self) -> &'a [u8] {
        &self.text[..self.length]
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }

    /// The field without its first `count` bytes; it has at least that many.
    #[inline(always)]
    fn behind(self, count: usize) -> Field<'a> {
        Field { text: &self.text[count..], length: self.length - count }
    }

    /// The field without its quotes, and without blanks inside the quotes.
    #[inline(always)]
    pub(crate) fn unquoted(self) -> Field<'a> {
        let inner = Field { text: &self.text[1..], length: self.length - 2 };
        match inner.bytes() {
            bytes @ ([0..=b' ', ..] | [.., 0..=b' ']) => Field::new(bytes.trim_ascii()),
            _ => inner,
        }
    }

    /// The bytes from the beginning of this field to the end of the next one.
    #[inline(always)]
    pub(crate) fn through(self, next: Field) -> &'a [u8] {
        &self.text[..self.text.len() - next.text.len() + next.length]
    }

    /// Whether the field consists of one or more digits.
    #[inline(always)]
    pub(crate) fn is_digits(self) -> bool {
        match self.length {
            0 => false,
            1..=8 => digits(first_eight(self.text), self.length).is_some(),
            _ => self.bytes().iter().all(u8::is_ascii_digit),
        }
    }

    /// The number of bytes before the first `wanted` one, or of all bytes if there is none.
    #[inline(always)]
    fn before(self, wanted: u8) -> usize {
        let few = before(first_eight(self.text), wanted);
        if few < 8 || self.length <= 8 {
            few.min(self.length)
        } else {
            memchr_before(self.bytes(), wanted)
        }
    }

    /// A decimal number; `None` if the field is not one or exceeds 64 bits.
    #[inline(always)]
    pub(crate) fn number(self) -> Option<u64> {
        match self.length {
            0 => None,
            1..=8 => digits(first_eight(self.text), self.length),
            _ => self.long_number(),
        }
    }

    /// A number of more than eight digits.
    #[inline(always)]
    fn long_number(self) -> Option<u64> {
        let high = digits(first_eight(self.text), 8)?;
        let low = self.behind(8);
        let count = low.length.min(8);
        let value = high * POWERS_OF_TEN[count] + digits(first_eight(low.text), count)?;
        if low.length <= 8 { Some(value) } else { low.behind(8).digits_behind(value) }
    }

    /// The number that consists of the digits of `value` followed by those of the field.
    #[inline(always)]
    fn digits_behind(self, value: u64) -> Option<u64> {
        self.bytes().iter().try_fold(value, |value, &byte| {
            let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
            value.checked_mul(10)?.checked_add(digit)
        })
    }

    /// A decimal fraction times 10^`power`, where the power is at most 9. Further digits are
    /// dropped.
    #[inline(always)]
    pub(crate) fn decimal(self, power: usize, point: u8) -> Option<u64> {
        // Without a factor there is rarely a decimal point, so try a whole number first.
        if power == 0
            && let Some(value) = self.number()
        {
            return Some(value);
        }
        let whole = Field { length: self.before(point), ..self };
        let value = whole.number()?.checked_mul(POWERS_OF_TEN[power])?;
        if whole.length == self.length {
            return Some(value);
        }
        value.checked_add(self.behind(whole.length + 1).fraction(power)?)
    }

    /// The digits after a decimal point; there may be none.
    #[inline(always)]
    fn fraction(self, power: usize) -> Option<u64> {
        if self.length <= power && self.length > 0 {
            return Some(self.number()? * POWERS_OF_TEN[power - self.length]);
        }
        self.long_fraction(power)
    }

    /// [`Field::fraction`] of a field with no digits, or with more than `power`.
    #[cold]
    fn long_fraction(self, power: usize) -> Option<u64> {
        let bytes = self.bytes();
        bytes.iter().all(u8::is_ascii_digit).then_some(())?;
        Some(Field::new(&bytes[..power.min(bytes.len())]).number().unwrap_or(0))
    }

    /// A number times 10^`power` in any decimal notation, such as `8192.0`, `1.5e-05` or `-0.1`;
    /// digits below one are dropped. A negative number is counted down from 2^64.
    #[cold]
    pub(crate) fn scientific(self, power: i64, point: u8) -> Option<u64> {
        let (negative, text) = match self.bytes().trim_ascii() {
            [b'-', text @ ..] => (true, text),
            [b'+', text @ ..] | text => (false, text),
        };
        let split = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let (mantissa, exponent) = match split {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let at = mantissa.iter().position(|&byte| byte == point).unwrap_or(mantissa.len());
        let (whole, fraction) = (&mantissa[..at], mantissa.get(at + 1..).unwrap_or_default());
        let digits = || whole.iter().chain(fraction);
        if digits().next().is_none() || !digits().all(u8::is_ascii_digit) {
            return None;
        }
        // The number of digits that are at one or above.
        let count = whole.len() as i64 + exponent + power;
        let zeros =
            std::iter::repeat_n(&b'0', (count - digits().count() as i64).clamp(0, 40) as usize);
        let kept = digits().chain(zeros).take(usize::try_from(count).unwrap_or(0));
        let value = kept.copied().try_fold(0_u64, |value, digit| {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })?;
        let is_too_large = count - digits().count() as i64 > 40 && value > 0;
        (!is_too_large).then_some(if negative { value.wrapping_neg() } else { value })
    }

    /// A whole number of which the notation has decimals or an exponent, as `8192.0` and `1e3`.
    #[cold]
    pub(crate) fn whole_number(self, point: u8) -> Option<u64> {
        let value = self.scientific(0, point)?;
        let has_fraction = (1..=9).any(|power| {
            self.scientific(power, point) != value.checked_mul(POWERS_OF_TEN[power as usize])
        });
        (!has_fraction && value.cast_signed() >= 0).then_some(value)
    }

    /// A hexadecimal number, with or without `0x`.
    pub(crate) fn hexadecimal(self) -> Option<u64> {
        let bytes = self.bytes();
        let digits = match bytes {
            [b'0', b'x' | b'X', digits @ ..] => digits,
            _ => bytes,
        };
        if digits.is_empty() {
            return None;
        }
        digits.iter().try_fold(0u64, |value, &byte| {
            let digit = char::from(byte).to_digit(16)?;
            (value >> 60 == 0).then_some(value << 4 | u64::from(digit))
        })
    }

    /// A whole number that may contain separators of thousands: `16.384` is 16384, but `16.38` is
    /// not a number.
    pub(crate) fn grouped_number(self, separator: u8) -> Option<u64> {
        let mut groups = self.bytes().split(|&byte| byte == separator);
        let first = groups.next().unwrap_or_default();
        let value = Field::new(first).number()?;
        groups.try_fold(value, |value, group| {
            let thousand = Field::new(group).number()?;
            (first.len() <= 3 && group.len() == 3).then_some(())?;
            value.checked_mul(1000)?.checked_add(thousand)
        })
    }
}

/// The exponent of a number, with or without a sign.
fn exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] | digits => (false, digits),
    };
    let value = Field::new(digits).number().filter(|&value| value < 1000)?.cast_signed();
    Some(if negative { -value } else { value })
}

/// [`Field::before`] for long fields.
#[inline(never)]
fn memchr_before(bytes: &[u8], wanted: u8) -> usize {
    memchr::memchr(wanted, bytes).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimal_fractions() {
        let seconds = |text: &str| Field::new(text.as_bytes()).decimal(9, b'.');
        assert_eq!(seconds("0.551706"), Some(551_706_000));
        assert_eq!(seconds("1.313174332"), Some(1_313_174_332));
        assert_eq!(seconds("1.3131743329999999"), Some(1_313_174_332));
        assert_eq!(seconds(&format!("1.3131743329{}", "9".repeat(99))), Some(1_313_174_332));
        assert_eq!(seconds("0.000000001"), Some(1));
        assert_eq!(seconds("7"), Some(7_000_000_000));
        assert_eq!(seconds("7."), Some(7_000_000_000));
        assert_eq!(seconds("18446744073.709551615"), Some(u64::MAX));
        assert_eq!(seconds("18446744073.709551616"), None);
        assert_eq!(seconds("18446744074"), None);
        for none in [".5", "", ".", "1.5x", "1.x", "1.0000000001x", "1.5.5", "-1", "1e9", " 1"] {
            assert_eq!(seconds(none), None, "{none}");
        }
        let decimal = |text: &str, power| Field::new(text.as_bytes()).decimal(power, b'.');
        assert_eq!(decimal("15849.28847", 6), Some(15_849_288_470));
        assert_eq!(decimal("12.987", 2), Some(1298));
        assert_eq!(decimal("12.987", 0), Some(12));
        assert_eq!(Field::new(b"1,079943800").decimal(9, b','), Some(1_079_943_800));
    }

    #[test]
    fn other_notations_of_numbers() {
        let seconds = |text: &str| Field::new(text.as_bytes()).scientific(9, b'.');
        assert_eq!(seconds("1.5e-05"), Some(15_000));
        assert_eq!(seconds("2.6214E-02"), Some(26_214_000));
        assert_eq!(seconds("1.5778080000e+09"), Some(1_577_808_000_000_000_000));
        assert_eq!(
            (seconds("1e-300"), seconds("0e300"), seconds(" +7. ")),
            (Some(0), Some(0), Some(7_000_000_000))
        );
        assert_eq!(seconds("-0.000010"), Some(0_u64.wrapping_sub(10_000)));
        assert_eq!((seconds(".5"), seconds("1,5")), (Some(500_000_000), None));
        for none in
            ["1e99", "1e400", "1e12345", "e5", "1e", "-", ".", "1.5.5", "NaN", "1e5x", "--1"]
        {
            assert_eq!(seconds(none), None, "{none}");
        }
        let whole = |text: &str| Field::new(text.as_bytes()).whole_number(b'.');
        assert_eq!(
            (whole("8192.0"), whole("4.096e3"), whole("7")),
            (Some(8192), Some(4096), Some(7))
        );
        assert_eq!(
            (whole("8192.5"), whole("-5"), whole("1e-3"), whole("")),
            (None, None, None, None)
        );
        let comma = Field::new(b"4096,0").whole_number(b',');
        assert_eq!(comma, Some(4096));
    }

    #[test]
    fn hexadecimal_and_grouped_numbers() {
        let hex = |text: &str| Field::new(text.as_bytes()).hexadecimal();
        assert_eq!(hex("0x0000000000000400"), Some(1024));
        assert_eq!(hex("fFfFfFfFfFfFfFfF"), Some(u64::MAX));
        assert_eq!((hex("0x"), hex(""), hex("x"), hex("1 ")), (None, None, None, None));
        assert_eq!(hex("10000000000000000"), None);
        let grouped = |text: &str| Field::new(text.as_bytes()).grouped_number(b'.');
        assert_eq!(grouped("16.384"), Some(16_384));
        assert_eq!(grouped("1.016.384"), Some(1_016_384));
        assert_eq!(grouped("512"), Some(512));
        assert_eq!((grouped("16.38"), grouped("1638.400"), grouped("1.")), (None, None, None));
        assert_eq!((grouped(""), grouped("16.384;")), (None, None));
    }

    #[test]
    fn quotes_and_inner_blanks_are_removed() {
        let unquoted = |text| Field::new(text).unquoted().bytes();
        assert_eq!(unquoted(b"\"12\""), b"12");
        assert_eq!(unquoted(b"\" a long name\t\""), b"a long name");
        assert_eq!(unquoted(b"\"\""), b"");
        assert_eq!(Field::of_line(b"\"12\",3", 4).unquoted().number(), Some(12));
    }

    proptest! {
        /// Also if other bytes follow the field on its line.
        #[test]
        fn numbers_agree_with_the_library(
            bytes: Vec<u8>,
            text in "[0-9]{0,24}[x.]?[0-9]{0,2}",
            behind in "[ ,x0-9]{0,12}",
        ) {
            for field in [&bytes[..], text.as_bytes()] {
                let line = [field, behind.as_bytes()].concat();
                let digits = field.iter().all(u8::is_ascii_digit);
                let parsed = std::str::from_utf8(field).ok().filter(|_| digits);
                let expected = parsed.and_then(|text| text.parse().ok());
                prop_assert_eq!(Field::of_line(&line, field.len()).number(), expected);
                let dot = field.iter().position(|&byte| byte == b'.').unwrap_or(field.len());
                prop_assert_eq!(Field::of_line(&line, field.len()).before(b'.'), dot);
            }
        }

        #[test]
        fn numbers_read_back(value: u64, zeros in 0usize..20) {
            let text = format!("{}{value}", "0".repeat(zeros));
            prop_assert_eq!(Field::new(text.as_bytes()).number(), Some(value));
        }
    }
}
