//! Numbers as decimal text, four digits at a time.
//!
//! ```text
//! 1234567  =  123 | 4567       two entries of tables: without and with zeros in front
//! ```
//! An operation log has several numbers per line, which decide what it costs.

/// A text of two parts, each with at most four characters, the first one in the lowest byte.
#[derive(Clone, Copy)]
pub(super) struct Text {
    front: Part,
    last: Part,
}

/// Up to four characters.
#[derive(Clone, Copy)]
struct Part {
    bytes: u32,
    length: u32,
}

/// Bytes that putting a text may change behind its end.
pub(super) const SPILL_BYTES: usize = size_of::<u32>();

/// Numbers in a table.
const FOUR_DIGITS: u32 = 10_000;
/// The first number that has no text, because it needs more than two parts.
pub(super) const LIMIT: u32 = FOUR_DIGITS * FOUR_DIGITS;

/// Each number below 10⁴, without zeros in front.
static SHORT: [Part; FOUR_DIGITS as usize] = short();
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

const fn short() -> [Part; FOUR_DIGITS as usize] {
    let (four, mut short) = (four(), [Part { bytes: 0, length: 0 }; FOUR_DIGITS as usize]);
    let mut number = 0;
    while number < short.len() {
        let length = match number {
            1000.. => 4,
            100.. => 3,
            10.. => 2,
            _ => 1,
        };
        short[number] = Part { bytes: four[number] >> (8 * (4 - length)), length };
        number += 1;
    }
    short
}

impl Text {
    /// The text of a number below [`LIMIT`].
    #[inline(always)]
    pub(super) fn of(number: u32) -> Text {
        let (front, last) = (number / FOUR_DIGITS, number % FOUR_DIGITS);
        match front {
            0 => Text { front: SHORT[last as usize], last: Part { bytes: 0, length: 0 } },
            _ => Text {
                front: SHORT[front as usize],
                last: Part { bytes: FOUR[last as usize], length: 4 },
            },
        }
    }

    /// The text of a short word.
    pub(super) const fn of_word(word: &[u8]) -> Text {
        assert!(word.len() <= 8, "the word is too long");
        let mut parts = [Part { bytes: 0, length: 0 }; 2];
        let mut at = 0;
        while at < word.len() {
            let part = &mut parts[at / 4];
            part.bytes |= (word[at] as u32) << (8 * part.length);
            part.length += 1;
            at += 1;
        }
        let [front, last] = parts;
        Text { front, last }
    }

    /// Puts the text at `at` of a line and returns its end, which the caller knows to be below
    /// `ENDS`. The masks change nothing then, but with them the compiler knows that all is within
    /// the line.
    #[inline(always)]
    pub(super) fn put<const ENDS: usize, const BYTES: usize>(
        self,
        line: &mut [u8; BYTES],
        at: usize,
    ) -> usize {
        const { assert!(ENDS.is_power_of_two() && ENDS + SPILL_BYTES <= BYTES) };
        let Text { front, last } = self;
        line[at % ENDS..][..SPILL_BYTES].copy_from_slice(&front.bytes.to_le_bytes());
        let middle = at + front.length as usize;
        line[middle % ENDS..][..SPILL_BYTES].copy_from_slice(&last.bytes.to_le_bytes());
        middle + last.length as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: Text) -> String {
        let mut line = [b'x'; 16 + SPILL_BYTES];
        let end = text.put::<16, _>(&mut line, 1);
        assert_eq!(line[0], b'x', "nothing before the text is changed");
        String::from_utf8(line[1..end].to_vec()).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let powers = (0..9).map(|exponent| 10u32.pow(exponent));
        let around = powers.flat_map(|power| [power - 1, power, power + 1, 4 * (power / 9)]);
        let spread = (0..LIMIT).step_by(99_991);
        for number in around.chain(0..20_000).chain(spread).filter(|&number| number < LIMIT) {
            assert_eq!(text(Text::of(number)), number.to_string());
        }
    }

    #[test]
    fn words_are_written_as_they_are() {
        for word in ["", "-", "four", "system", "eightcha"] {
            assert_eq!(text(Text::of_word(word.as_bytes())), word);
        }
    }
}
