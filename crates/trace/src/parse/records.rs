//! The records of binary traces.

use crate::parse::parsed::ParseError;

/// A truncated record.
pub(crate) const TRUNCATED: ParseError = ParseError::with_remedy(
    "the file ends within this record",
    "it is truncated or in another format; --skip-bad reads the complete records",
);

/// The bytes of a record, and the numbers at fixed positions in them.
#[derive(Clone, Copy)]
pub(crate) struct RecordBytes<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) big_endian: bool,
}

impl RecordBytes<'_> {
    #[inline(always)]
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut array = [0; N];
        array.copy_from_slice(&self.bytes[at..at + N]);
        if self.big_endian {
            array.reverse();
        }
        array
    }

    #[inline(always)]
    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.array(at))
    }

    #[inline(always)]
    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.array(at))
    }

    #[inline(always)]
    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.array(at))
    }
}
