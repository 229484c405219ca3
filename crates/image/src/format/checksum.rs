//! Checksums.
//!
//! A superblock contains the checksum of its table, and a record that of its data. A CRC is linear,
//! so a CRC over bytes that contain another CRC can be blind: if a change of the table is followed
//! in the superblock by the same change and the new CRC, the CRC of the superblock stays the same.
//! The product with an odd number is not linear and loses nothing.

const FACTOR: u32 = 0x9E37_79B1;

/// The checksum of a row of bytes.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    checksum_of_parts(&[bytes])
}

/// The checksum of several rows of bytes, one after the other.
pub(crate) fn checksum_of_parts(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().wrapping_mul(FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that differ by a change and by the CRC of this change have the same CRC.
    #[test]
    fn a_checksum_may_contain_another_one() {
        let with_inner =
            |inner: fn(&[u8]) -> u32, table: [u8; 4]| [table, inner(&table).to_le_bytes()].concat();
        let [one, other] = [[0, 0, 0, 0], [1, 0, 0, 0]];
        let crc = crc32fast::hash;
        assert_eq!(crc(&with_inner(crc, one)), crc(&with_inner(crc, other)));
        let of = |table| checksum(&with_inner(checksum, table));
        assert_ne!(of(one), of(other));
    }
}
