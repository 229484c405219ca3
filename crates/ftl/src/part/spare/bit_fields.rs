//! Bit fields: numbers of any width packed side by side, lowest bit first, as spare areas hold
//! them.

/// A writer that packs numbers into zeroed bytes.
#[derive(Debug)]
pub struct BitWriter<'a> {
    bytes: &'a mut [u8],
    at: u32,
}

impl BitWriter<'_> {
    /// A writer that starts at bit `at`. The bytes must be zero from there on.
    pub fn new(bytes: &mut [u8], at: u32) -> BitWriter<'_> {
        BitWriter { bytes, at }
    }

    /// Appends a number of `bits` bits.
    pub fn push(&mut self, number: u32, bits: u32) {
        debug_assert!(u64::from(number) >> bits == 0, "{number} has more than {bits} bits");
        for bit in 0..bits {
            let at = (self.at + bit) as usize;
            self.bytes[at / 8] |= ((number >> bit & 1) as u8) << (at % 8);
        }
        self.at += bits;
    }
}

/// Reads the number of `bits` bits that begins at bit `at`. Bits behind the end are zero.
pub fn number_at(bytes: &[u8], at: u32, bits: u32) -> u32 {
    (0..bits).fold(0, |number, bit| {
        let at = (at + bit) as usize;
        let byte = bytes.get(at / 8).copied().unwrap_or(0);
        number | u32::from(byte >> (at % 8) & 1) << bit
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_widths_are_read_as_they_were_written() {
        let numbers: Vec<(u32, u32)> =
            (0..=32).map(|bits| ((0xA5A5_A5A5_u64 & ((1_u64 << bits) - 1)) as u32, bits)).collect();
        let mut bytes = vec![0; 66];
        let mut writer = BitWriter::new(&mut bytes, 0);
        numbers.iter().for_each(|&(number, bits)| writer.push(number, bits));
        let mut at = 0;
        for (number, bits) in numbers {
            assert_eq!(number_at(&bytes, at, bits), number, "{bits} bits at {at}");
            at += bits;
        }
        assert_eq!(at, 528);
    }

    #[test]
    fn the_lowest_bit_comes_first() {
        let mut bytes = [0; 2];
        let mut writer = BitWriter::new(&mut bytes, 0);
        for (number, bits) in [(1, 1), (0b10, 2), (0b1_1010, 5), (0b11, 2)] {
            writer.push(number, bits);
        }
        assert_eq!(bytes, [0b1101_0101, 0b11]);
    }
}
