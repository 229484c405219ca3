//! Numbers as decimal text, four digits at a time.
//!
//! ```text
//! 1234567  =  0123 | 4567      two entries of a table, eight digits in a machine word
//!          →  1234567          the word shifted by the zeros in front
//! ```
//! An operation log has several numbers per line, which decide what it costs.

/// A short text, the first character in the lowest byte.
#[derive(Clone, Copy)]
pub(super) struct Text {
    pub(super) bytes: u128,
    pub(super) length: usize,
}

/// Numbers in an entry of the table.
const FOUR_DIGITS: u32 = 10_000;
/// The first number that needs more than two entries.
const EIGHT_DIGITS: u32 = FOUR_DIGITS * FOUR_DIGITS;

/// The four digits of each number below 10⁴ as text, zeros in front.
static FOURS: [u32; FOUR_DIGITS as usize] = fours();

const fn fours() -> [u32; FOUR_DIGITS as usize] {
    let mut fours = [0; FOUR_DIGITS as usize];
    let mut number = 0;
    while number < fours.len() {
        let digits = [number / 1000, number / 100 % 10, number / 10 % 10, number % 10];
        let [a, b, c, d] = digits;
        fours[number] =
            u32::from_le_bytes([b'0' + a as u8, b'0' + b as u8, b'0' + c as u8, b'0' + d as u8]);
        number += 1;
    }
    fours
}

impl Text {
    /// The most bytes that a text has.
    pub(super) const MOST_BYTES: usize = 10;

    /// The text of a number.
    #[inline(always)]
    pub(super) fn of(number: u32) -> Text {
        if number >= EIGHT_DIGITS {
            return Text::of_long(number);
        }
        const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
        // The last digit stays even if it is zero.
        const LAST: u64 = 1 << 56;
        let digits = eight_digits(number);
        let bits_in_front = ((digits ^ ZEROS) | LAST).trailing_zeros() & !7;
        let length = 8 - bits_in_front as usize / 8;
        Text { bytes: (digits >> bits_in_front).into(), length }
    }

    #[cold]
    fn of_long(number: u32) -> Text {
        let high = Text::of(number / EIGHT_DIGITS);
        let low = u128::from(eight_digits(number % EIGHT_DIGITS));
        Text { bytes: high.bytes | low << (8 * high.length), length: high.length + 8 }
    }

    /// The text of a short word.
    pub(super) const fn of_word(word: &[u8]) -> Text {
        assert!(word.len() <= Text::MOST_BYTES, "the word is too long");
        let (mut bytes, mut at) = (0, 0);
        while at < word.len() {
            bytes |= (word[at] as u128) << (8 * at);
            at += 1;
        }
        Text { bytes, length: word.len() }
    }
}

/// A number that counts up, and its text. Nine times out of ten only the last digit changes.
pub(super) struct Counter {
    text: Text,
    /// What has to be added to the text if the last digit grows.
    one: u128,
    /// The next number that ends with zero.
    next_ten: u32,
    /// Numbers until then.
    left: u32,
}

impl Counter {
    /// A counter whose next number is this one.
    pub(super) fn at(number: u32) -> Counter {
        let (text, left) = (Text::of(number), 10 - number % 10);
        let one = 1 << (8 * (text.length - 1));
        Counter { text, one, next_ten: number.wrapping_add(left), left }
    }

    /// The text of the next number.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Text {
        let text = self.text;
        self.left -= 1;
        match self.left {
            0 => *self = Counter::at(self.next_ten),
            _ => self.text.bytes += self.one,
        }
        text
    }
}

/// The eight digits of a number below 10⁸ as text.
#[inline]
fn eight_digits(number: u32) -> u64 {
    let (high, low) = (number / FOUR_DIGITS, number % FOUR_DIGITS);
    u64::from(FOURS[high as usize]) | u64::from(FOURS[low as usize]) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: Text) -> String {
        let bytes = text.bytes.to_le_bytes();
        assert!(bytes[text.length..].iter().all(|&byte| byte == 0), "nothing follows");
        String::from_utf8(bytes[..text.length].to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..10).map(|exponent| 10u32.pow(exponent));
        let around = powers.flat_map(|power| [power - 1, power, power + 1, 4 * (power / 9)]);
        let spread = (0..u32::MAX).step_by(99_991);
        for number in around.chain(0..20_000).chain(spread).chain([u32::MAX]) {
            assert_eq!(text(Text::of(number)), number.to_string());
        }
        assert_eq!(text(Text::of_word(b"system")), "system");
    }

    #[test]
    fn a_counter_counts_across_all_carries() {
        for first in [0, 7, 95, 9_990, 99_999_900, 999_999_900, u32::MAX - 100] {
            let mut counter = Counter::at(first);
            for number in first..first + 100 {
                assert_eq!(text(counter.next()), number.to_string());
            }
        }
    }
}
