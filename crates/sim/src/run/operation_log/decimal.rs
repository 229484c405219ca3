//! Numbers as decimal text, four digits at a time.
//!
//! ```text
//! 1234567  =  123 | 4567       two entries of tables: without and with zeros in front
//! ```
//! An operation log has several numbers per line, which decide what it costs.

/// The ends of all texts in a line are below this.
pub(super) const ENDS: usize = 64;
/// Bytes that putting a text may change behind its end.
pub(super) const SPILL_BYTES: usize = 16;
/// A line of which the first bytes are set.
pub(super) type Line = [u8; ENDS + SPILL_BYTES];

/// Numbers in a table.
const FOUR_DIGITS: u32 = 10_000;

/// Each number below 10⁴ without zeros in front, the first digit in the lowest byte, and the number
/// of its digits.
static SHORT: [(u32, u8); FOUR_DIGITS as usize] = short();
/// The four digits of each number below 10⁴, zeros in front.
static FOUR: [u32; FOUR_DIGITS as usize] = four();

const fn four() -> [u32; FOUR_DIGITS as usize] {
    let mut four = [0; FOUR_DIGITS as usize];
    let mut number = 0;
    while number < four.len() {
        let digits = [number / 1000, number / 100 % 10, number / 10 % 10, number % 10];
        let [a, b, c, d] = digits;
        four[number] =
            u32::from_le_bytes([b'0' + a as u8, b'0' + b as u8, b'0' + c as u8, b'0' + d as u8]);
        number += 1;
    }
    four
}

const fn short() -> [(u32, u8); FOUR_DIGITS as usize] {
    let (four, mut short) = (four(), [(0, 0); FOUR_DIGITS as usize]);
    let mut number = 0;
    while number < short.len() {
        let length = match number {
            1000.. => 4,
            100.. => 3,
            10.. => 2,
            _ => 1,
        };
        short[number] = (four[number] >> (8 * (4 - length)), length);
        number += 1;
    }
    short
}

/// Puts a number at `at` of a line and returns its end, which the caller knows to be below
/// [`ENDS`].
#[inline(always)]
pub(super) fn put_number(line: &mut Line, at: usize, number: u32) -> usize {
    let (front, last) = (number / FOUR_DIGITS, number % FOUR_DIGITS);
    let at = match front {
        0 => return put_short(line, at, last),
        1..FOUR_DIGITS => put_short(line, at, front),
        _ => {
            let at = put_short(line, at, front / FOUR_DIGITS);
            put_four(line, at, FOUR[(front % FOUR_DIGITS) as usize])
        }
    };
    put_four(line, at, FOUR[last as usize])
}

#[inline(always)]
fn put_short(line: &mut Line, at: usize, number: u32) -> usize {
    let (characters, length) = SHORT[number as usize];
    put_four(line, at, characters);
    at + usize::from(length)
}

/// Puts four characters. The mask changes nothing, but with it the compiler knows that all is
/// within the line.
#[inline(always)]
fn put_four(line: &mut Line, at: usize, characters: u32) -> usize {
    line[at % ENDS..][..4].copy_from_slice(&characters.to_le_bytes());
    at + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(number: u32) -> String {
        let mut line = [b'x'; ENDS + SPILL_BYTES];
        let end = put_number(&mut line, 1, number);
        assert_eq!(line[0], b'x', "nothing before the text is changed");
        String::from_utf8(line[1..end].to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..10).map(|exponent| 10u32.pow(exponent));
        let around = powers.flat_map(|power| [power - 1, power, power + 1, 4 * (power / 9)]);
        let spread = (0..=u32::MAX).step_by(999_991);
        for number in around.chain(0..20_000).chain(spread).chain([u32::MAX]) {
            assert_eq!(text(number), number.to_string());
        }
    }
}
