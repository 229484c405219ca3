//! Sectors that describe themselves in bytes.
//!
//! ```text
//! stamp (8 bytes) │ 63 words, each of which follows from the stamp and its own place
//! ```
//! So a sector names the sector and the write that it belongs to, and every part of it proves that
//! it belongs to the rest. A sector that was never written is zero.

use nand::geometry::SECTOR_BYTES;
use nand::{Lpn, Stamp};

const WORD: usize = 8;

/// Bytes that a host leaves in its buffer outside the sectors that it writes. They must not matter.
pub const GARBAGE: u8 = 0xEE;

/// Writes the bytes of a sector.
pub fn encode(stamp: Stamp, sector: &mut [u8]) {
    assert!(sector.len() == SECTOR_BYTES as usize, "a sector of {} bytes", sector.len());
    for (at, word) in sector.chunks_exact_mut(WORD).enumerate() {
        word.copy_from_slice(&self::word(stamp, at).to_le_bytes());
    }
}

/// The stamp of a sector; none if the sector is neither zero nor whole.
pub fn decode(sector: &[u8]) -> Option<Stamp> {
    assert!(sector.len() == SECTOR_BYTES as usize, "a sector of {} bytes", sector.len());
    let mut words = sector.chunks_exact(WORD).map(|word| {
        let word = word.try_into().expect("a word has eight bytes");
        u64::from_le_bytes(word)
    });
    let first = words.next()?;
    if first == 0 {
        return words.all(|word| word == 0).then(Stamp::default);
    }
    let stamp = Stamp::new(Lpn(first as u32), 0, 1, (first >> 32) as u32);
    words.zip(1..).all(|(word, at)| word == self::word(stamp, at)).then_some(stamp)
}

/// A word of a sector. The first one is the stamp itself.
fn word(stamp: Stamp, at: usize) -> u64 {
    let name = u64::from(stamp.write()) << 32 | u64::from(stamp.sector());
    match at {
        0 => name,
        _ => (name ^ (at as u64) << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(at as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sector(write: u32) -> Vec<u8> {
        let mut bytes = vec![0; SECTOR_BYTES as usize];
        encode(Stamp::new(Lpn(3), 1, 2, write), &mut bytes);
        bytes
    }

    #[test]
    fn a_sector_gives_its_stamp_back() {
        assert_eq!(decode(&sector(9)), Some(Stamp::new(Lpn(3), 1, 2, 9)));
        assert_eq!(decode(&[0; 512]), Some(Stamp::default()));
    }

    #[test]
    fn a_sector_of_two_writes_is_not_whole() {
        for end in (8..512).step_by(8) {
            let mixed = [&sector(9)[..end], &sector(10)[end..]].concat();
            assert_eq!(decode(&mixed), None, "the first {end} bytes are of another write");
            let part = [&sector(9)[..end], &vec![0; 512 - end]].concat();
            assert_eq!(decode(&part), None, "only {end} bytes were written");
        }
    }

    #[test]
    fn every_wrong_byte_is_noticed() {
        for at in 0..512 {
            let mut bytes = sector(9);
            bytes[at] ^= 0x10;
            assert_eq!(decode(&bytes), None, "byte {at}");
        }
        assert_eq!(decode(&[GARBAGE; 512]), None);
    }
}
