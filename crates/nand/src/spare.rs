//! The spare area: what stands beside each page, and how a mount reads it.
//!
//! ```text
//! byte  0    4         9          14    15         16     20
//!       owner version  sequence   kind  format(1)  CRC-32 │ scheme bytes …
//! ```
//! All little-endian. The CRC covers bytes 0–15 and the scheme bytes. An erased page is all 0xFF.
//!
//! *Version* is the order of the host's writes: the sequence that the page's first program had;
//! copies and merges keep it. *Sequence* is the order of programs on the chip. Between copies of a
//! page the highest version wins, at a tie the highest sequence.

use crate::address::Lpn;

/// Bytes of the header that every page carries.
pub const HEADER_BYTES: usize = 20;
/// Versions and sequences are 40-bit numbers.
pub const SEQUENCE_MAX: u64 = (1 << 40) - 1;
const FORMAT: u8 = 1;

/// The header of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The page of the host's that it holds, or [`Lpn::SYSTEM`].
    pub owner: Lpn,
    /// The order of the host's writes.
    pub version: u64,
    /// The order of programs on this chip.
    pub sequence: u64,
    /// The page's role, in the scheme's own code.
    pub kind: u8,
}

impl Spare {
    /// Whether the page is where its version was first written: copies have a later sequence.
    pub fn is_original(&self) -> bool {
        self.version == self.sequence
    }

    /// The order in which copies of a page beat each other.
    pub fn rank(&self) -> (u64, u64) {
        (self.version, self.sequence)
    }

    pub(crate) fn encode(&self, extra: &[u8]) -> [u8; HEADER_BYTES] {
        assert!(self.version <= SEQUENCE_MAX, "version {} exceeds 40 bits", self.version);
        assert!(self.sequence <= SEQUENCE_MAX, "sequence {} exceeds 40 bits", self.sequence);
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.owner.0.to_le_bytes());
        bytes[4..9].copy_from_slice(&self.version.to_le_bytes()[..5]);
        bytes[9..14].copy_from_slice(&self.sequence.to_le_bytes()[..5]);
        bytes[14] = self.kind;
        bytes[15] = FORMAT;
        let crc = checksum(&bytes[..16], extra);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], extra: &[u8]) -> Option<Spare> {
        let crc = u32::from_le_bytes(bytes[16..20].try_into().expect("4 bytes"));
        if bytes[15] != FORMAT || crc != checksum(&bytes[..16], extra) {
            return None;
        }
        let number = |range: core::ops::Range<usize>| {
            let mut wide = [0; 8];
            wide[..5].copy_from_slice(&bytes[range]);
            u64::from_le_bytes(wide)
        };
        Some(Spare {
            owner: Lpn(u32::from_le_bytes(bytes[0..4].try_into().expect("4 bytes"))),
            version: number(4..9),
            sequence: number(9..14),
            kind: bytes[14],
        })
    }
}

fn checksum(header: &[u8], extra: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(extra);
    hasher.finalize()
}

/// What reading a spare area finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// All 0xFF: never programmed, or it only looks so after a cut.
    Erased,
    /// A header whose checksum holds.
    Programmed(Spare),
    /// Something that error correction or checksum refuses.
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Spare =
        Spare { owner: Lpn(0x0102_0304), version: 0xAB_CDEF_0123, sequence: SEQUENCE_MAX, kind: 7 };

    #[test]
    fn a_header_survives_its_bytes() {
        for extra in [&b""[..], b"scheme bytes"] {
            assert_eq!(Spare::decode(&SAMPLE.encode(extra), extra), Some(SAMPLE));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let whole = SAMPLE.encode(b"xy");
        for bit in 0..8 * HEADER_BYTES {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Spare::decode(&bytes, b"xy"), None, "bit {bit}");
        }
        assert_eq!(Spare::decode(&whole, b"xz"), None);
        assert_eq!(Spare::decode(&[0xFF; HEADER_BYTES], b""), None);
    }
}
