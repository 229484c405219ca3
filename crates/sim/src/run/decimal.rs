//! Whole numbers as decimal text, eight digits at a time in one machine word.
//!
//! ```text
//! 1234567        = 0123 · 10⁴ + 4567      two halves of four digits
//!                = 01 23 45 67            four pairs of two digits
//!                = 0 1 2 3 4 5 6 7        eight digits, one per byte, the first in the lowest
//! ```
//! Each step divides all parts of the word at once, by a multiplication and a shift. An operation
//! log has three numbers per line, so they decide what it costs.

/// The number of digits in a word.
const DIGITS: usize = 8;
/// The first number that does not fit into a word.
const BEYOND: u64 = 100_000_000;
/// The most bytes that [`write`] may change: those of 20 digits, in three words.
pub(super) const MOST_BYTES: usize = 3 * DIGITS;

/// Writes a number at the beginning of `out` and returns the number of its digits. Up to eight
/// bytes behind the digits are overwritten.
#[inline]
pub(super) fn write(number: u64, out: &mut [u8]) -> usize {
    if number >= BEYOND {
        return write_long(number, out);
    }
    let digits = eight_digits(number);
    // The last digit is written even if it is zero.
    let zeros = (digits | 1 << (8 * (DIGITS - 1))).trailing_zeros() / 8;
    put(digits >> (8 * zeros), out);
    DIGITS - zeros as usize
}

fn write_long(number: u64, out: &mut [u8]) -> usize {
    let before = write(number / BEYOND, out);
    put(eight_digits(number % BEYOND), &mut out[before..]);
    before + DIGITS
}

/// Stores digits as text.
#[inline]
fn put(digits: u64, out: &mut [u8]) {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; DIGITS]);
    out[..DIGITS].copy_from_slice(&(digits + ZEROS).to_le_bytes());
}

/// The digits of a number below 10⁸, one per byte, the first in the lowest byte.
#[inline]
fn eight_digits(number: u64) -> u64 {
    let halves = number / 10_000 | (number % 10_000) << 32;
    // 10486 / 2²⁰ is 1/100, exactly enough for four digits.
    let hundreds = halves * 10_486 >> 20 & 0x7f_0000_007f;
    let pairs = hundreds | (halves - 100 * hundreds) << 16;
    // 103 / 2¹⁰ is 1/10, exactly enough for two digits.
    let tens = pairs * 103 >> 10 & 0x000f_000f_000f_000f;
    tens | (pairs - 10 * tens) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u64) -> String {
        let mut out = [b'x'; MOST_BYTES + DIGITS];
        let digits = write(number, &mut out);
        assert!(out[MOST_BYTES..].iter().all(|&byte| byte == b'x'), "{number}: written too far");
        String::from_utf8(out[..digits].to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..20).map(|exponent| 10u64.pow(exponent));
        let around = powers.flat_map(|power| [power - 1, power, power + 1, 7 * (power / 9)]);
        for number in around.chain(0..20_000).chain([u32::MAX.into(), u64::MAX]) {
            assert_eq!(text(number), number.to_string());
        }
        for number in (0..BEYOND).step_by(9_973) {
            assert_eq!(text(number), number.to_string());
        }
    }
}
