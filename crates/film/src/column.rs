//! Columns of numbers as bytes. Small numbers take one byte each, and what is left shrinks well.

/// A column of numbers.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Column {
    /// Appends a byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends a number, seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Appends a number that may be missing: 0, or one more than the number.
    pub fn optional(&mut self, number: Option<u32>) {
        self.number(number.map_or(0, |number| u64::from(number) + 1));
    }

    /// Appends a difference: 0, −1, 1, −2, … become 0, 1, 2, 3, …
    pub fn signed(&mut self, difference: i64) {
        self.number(zigzag(difference));
    }

    /// Appends a number as its difference from `expected`.
    pub fn from_expected(&mut self, number: u32, expected: u32) {
        self.signed(i64::from(number) - i64::from(expected));
    }

    /// Appends a value with 24 significant bits.
    pub fn real(&mut self, value: f64) {
        self.bytes.extend((value as f32).to_le_bytes());
    }
}

/// 0, −1, 1, −2, … as 0, 1, 2, 3, …
pub fn zigzag(difference: i64) -> u64 {
    ((difference << 1) ^ (difference >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_of_both_signs_take_one_byte() {
        let mut column = Column::default();
        [0, -1, 1, 63, -64].into_iter().for_each(|number| column.signed(number));
        assert_eq!(column.bytes, [0, 1, 2, 126, 127]);
    }

    #[test]
    fn larger_numbers_take_seven_bits_a_byte() {
        let mut column = Column::default();
        column.number(300);
        column.optional(None);
        column.optional(Some(127));
        column.from_expected(5, 8);
        assert_eq!(column.bytes, [0xac, 0x02, 0, 0x80, 0x01, 5]);
    }
}
