//! The spare area of a page: its header, and how a mount reads it.
//!
//! ```text
//! byte  0    4         9          14    15         16     20
//!       owner version  sequence   kind  format(2)  CRC-32 │ scheme bytes …
//! ```
//! All little-endian. The CRC covers bytes 0–15, the scheme bytes and the number of the physical
//! page. So a page that a fault wrote to another place is not taken for a page of that place. An
//! erased page is all 0xFF.
//!
//! *Tentative* pages were programmed by a mount that may never have been completed. Their format
//! byte has its highest bit set.
//!
//! *Sequence* numbers the programs of the chip in their order. *Version* is the sequence of the
//! program that wrote the page for the host; copies and merges keep it. Of several copies of a page
//! the one with the highest version is valid; among equal versions, the one with the highest
//! sequence.

use crate::address::{Lpn, Ppn};

/// Bytes of the header in every spare area.
pub const HEADER_BYTES: usize = 20;
/// Versions and sequences are 40-bit numbers.
pub const SEQUENCE_MAX: u64 = (1 << 40) - 1;
const FORMAT: u8 = 2;
const TENTATIVE: u8 = 1 << 7;

/// The header of a programmed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The host's page, or [`Lpn::SYSTEM`].
    pub owner: Lpn,
    /// Place of the host's write in the order of programs.
    pub version: u64,
    /// Place of this page in the order of programs.
    pub sequence: u64,
    /// The role of the page, in the scheme's own code.
    pub kind: u8,
    /// Whether a mount programmed the page before it [committed](crate::Mounting::commit).
    pub tentative: bool,
}

impl Spare {
    /// Whether the host's write went to this page. Copies have a later sequence.
    pub fn is_original(&self) -> bool {
        self.version == self.sequence
    }

    /// The rank among copies of a page; the highest is valid.
    pub fn rank(&self) -> (u64, u64) {
        (self.version, self.sequence)
    }

    pub(crate) fn encode(&self, ppn: Ppn, extra: &[u8]) -> [u8; HEADER_BYTES] {
        assert!(self.version <= SEQUENCE_MAX, "version {} exceeds 40 bits", self.version);
        assert!(self.sequence <= SEQUENCE_MAX, "sequence {} exceeds 40 bits", self.sequence);
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.owner.0.to_le_bytes());
        bytes[4..9].copy_from_slice(&self.version.to_le_bytes()[..5]);
        bytes[9..14].copy_from_slice(&self.sequence.to_le_bytes()[..5]);
        bytes[14] = self.kind;
        bytes[15] = if self.tentative { FORMAT | TENTATIVE } else { FORMAT };
        let crc = checksum(&bytes[..16], extra, ppn);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES], extra: &[u8], ppn: Ppn) -> Option<Spare> {
        let crc = u32::from_le_bytes(bytes[16..20].try_into().expect("4 bytes"));
        if bytes[15] & !TENTATIVE != FORMAT || crc != checksum(&bytes[..16], extra, ppn) {
            return None;
        }
        let number = |range: core::ops::Range<usize>| {
            let mut wide = [0; 8];
            wide[..5].copy_from_slice(&bytes[range]);
            u64::from_le_bytes(wide)
        };
        let owner = Lpn(u32::from_le_bytes(bytes[0..4].try_into().expect("4 bytes")));
        // Only damaged contents name this owner; an erased page has it in RAM.
        (owner != Lpn::NONE).then(|| Spare {
            owner,
            version: number(4..9),
            sequence: number(9..14),
            kind: bytes[14],
            tentative: bytes[15] & TENTATIVE != 0,
        })
    }
}

fn checksum(header: &[u8], extra: &[u8], ppn: Ppn) -> u32 {
    let place = ppn.0.to_le_bytes();
    if extra.is_empty() {
        // Most pages have no scheme bytes. One call is twice as fast as two.
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(header);
        bytes[16..].copy_from_slice(&place);
        return crc32fast::hash(&bytes);
    }
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(extra);
    hasher.update(&place);
    hasher.finalize()
}

/// The header of a page as a store keeps it. A header whose checksum is right is known by its
/// fields, so that a chip in memory need not compute checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The checksum is right.
    Intact(Spare),
    /// It is not, or there is no header.
    Damaged([u8; HEADER_BYTES]),
}

impl Header {
    /// That of an erased page.
    pub const ERASED: Header = Header::Damaged([0xFF; HEADER_BYTES]);

    /// The header with these bytes, found in page `ppn` with these scheme bytes.
    pub fn of_bytes(bytes: [u8; HEADER_BYTES], ppn: Ppn, extra: &[u8]) -> Header {
        match Spare::decode(&bytes, extra, ppn) {
            Some(spare) => Header::Intact(spare),
            None => Header::Damaged(bytes),
        }
    }

    /// The bytes of the header in page `ppn` with these scheme bytes.
    pub fn bytes(&self, ppn: Ppn, extra: &[u8]) -> [u8; HEADER_BYTES] {
        match self {
            Header::Intact(spare) => spare.encode(ppn, extra),
            Header::Damaged(bytes) => *bytes,
        }
    }
}

/// The result of reading a spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// All bytes are 0xFF: the page is erased, or only looks erased after a cut.
    Erased,
    /// A header with a correct checksum.
    Programmed(Spare),
    /// Error correction or the checksum failed.
    Unreadable,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Spare = Spare {
        owner: Lpn(0x0102_0304),
        version: 0xAB_CDEF_0123,
        sequence: SEQUENCE_MAX,
        kind: 7,
        tentative: true,
    };
    const HERE: Ppn = Ppn(12);

    #[test]
    fn a_decoded_header_equals_the_encoded_one() {
        for (extra, tentative) in [(&b""[..], false), (b"scheme bytes", true)] {
            let sample = Spare { tentative, ..SAMPLE };
            assert_eq!(Spare::decode(&sample.encode(HERE, extra), extra, HERE), Some(sample));
        }
    }

    #[test]
    fn a_flipped_bit_is_detected_wherever_it_is() {
        let whole = SAMPLE.encode(HERE, b"xy");
        for bit in 0..8 * HEADER_BYTES {
            let mut bytes = whole;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Spare::decode(&bytes, b"xy", HERE), None, "bit {bit}");
        }
        assert_eq!(Spare::decode(&whole, b"xz", HERE), None);
        assert_eq!(Spare::decode(&[0xFF; HEADER_BYTES], b"", HERE), None);
    }

    #[test]
    fn a_page_at_another_place_is_detected() {
        assert_eq!(Spare::decode(&SAMPLE.encode(HERE, b"xy"), b"xy", Ppn(13)), None);
    }
}
