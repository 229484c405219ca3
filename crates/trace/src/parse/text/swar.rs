//! SWAR ("SIMD within a register"): reads digits and finds bytes eight at a time, without a branch
//! for each.
//!
//! Traces consist mostly of digits. Eight of them are treated as one 64-bit word: they are shifted
//! to the end of the word and converted by three multiplications (Lemire, "Quickly parsing eight
//! digits", 2018). Tests here and in `field` and `split` compare the results with the standard
//! library.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = LOW_BITS << 7;
const ZEROS: u64 = LOW_BITS * b'0' as u64;
/// Added to a byte of 10 or more, it sets the byte's high bit.
const TEN_IS_HIGH: u64 = LOW_BITS * (0x80 - 10);

pub(crate) static POWERS_OF_TEN: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The first eight bytes, followed by zeros if there are fewer.
#[inline(always)]
pub(crate) fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => last_few(bytes),
    }
}

/// Fewer than eight bytes followed by zeros: read as two overlapping words, or byte by byte.
#[inline(always)]
fn last_few(bytes: &[u8]) -> u64 {
    if let (Some(low), Some(high)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
        return u64::from(low) | u64::from(high) << (8 * (bytes.len() & 7) - 32);
    }
    let byte = |at: usize| bytes.get(at).map_or(0, |&byte| u64::from(byte) << (8 * at));
    byte(0) | byte(1) | byte(2)
}

/// The value of the first `count` bytes, one to eight, if all of them are digits.
#[inline(always)]
pub(crate) fn digits(word: u64, count: usize) -> Option<u64> {
    let digits = (word ^ ZEROS) << ((64 - 8 * count) & 63);
    // Only a byte whose own high bit is set can carry into the next one; `| digits` detects it.
    let others = (digits.wrapping_add(TEN_IS_HIGH) | digits) & HIGH_BITS;
    (others == 0).then(|| folded(digits))
}

/// The number formed by eight bytes of value 0 to 9, most significant first. Neighbours become
/// pairs, pairs become two numbers of four digits, and these become the whole number.
#[inline(always)]
fn folded(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let outer = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let inner = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    outer.wrapping_add(inner) >> 32
}

/// The high bit of each of the eight bytes that equals `wanted`.
#[inline(always)]
fn matches(word: u64, wanted: u8) -> u64 {
    let others = word ^ (LOW_BITS * u64::from(wanted));
    // The sum sets the high bit of each byte that is not zero, and never carries into the next.
    !(((others & !HIGH_BITS) + !HIGH_BITS) | others) & HIGH_BITS
}

/// The number of bytes, of eight, before the first that equals `wanted`.
#[inline(always)]
pub(crate) fn before(word: u64, wanted: u8) -> usize {
    matches(word, wanted).trailing_zeros() as usize / 8
}

/// A bit for each of the first 64 bytes that equals `wanted`, which must not be zero.
#[inline(always)]
pub(crate) fn mask(bytes: &[u8], wanted: u8) -> u64 {
    let Some(last) = bytes.last_chunk::<16>() else { return short_mask(bytes, wanted) };
    let mut mask = 0;
    let mut from = 0;
    for sixteen in bytes.as_chunks().0.iter().take(4) {
        mask |= mask_of_sixteen(sixteen, wanted) << from;
        from += 16;
    }
    if from < 64 { mask | mask_of_sixteen(last, wanted) << (bytes.len() - 16) } else { mask }
}

/// The number of bytes that equal `wanted`, which must not be zero.
#[inline(always)]
pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.chunks(64).map(|bytes| mask(bytes, wanted).count_ones() as usize).sum()
}

/// [`mask`] of fewer than 16 bytes.
#[inline(always)]
fn short_mask(bytes: &[u8], wanted: u8) -> u64 {
    let behind = bytes.get(8..).map_or(0, first_eight);
    mask_of_eight(first_eight(bytes), wanted) | mask_of_eight(behind, wanted) << 8
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn mask_of_sixteen(bytes: &[u8; 16], wanted: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 processor has SSE2, and the array has the sixteen bytes that are loaded.
    let mask = unsafe {
        let sixteen = _mm_loadu_si128(bytes.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_set1_epi8(wanted.cast_signed())))
    };
    u64::from(mask.cast_unsigned())
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn mask_of_sixteen(bytes: &[u8; 16], wanted: u8) -> u64 {
    let (low, high) = (first_eight(bytes), first_eight(&bytes[8..]));
    mask_of_eight(low, wanted) | mask_of_eight(high, wanted) << 8
}

/// [`mask`] of eight bytes: a multiplication gathers the high bits that were found.
#[inline(always)]
fn mask_of_eight(word: u64, wanted: u8) -> u64 {
    (matches(word, wanted) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn masks_agree_with_a_plain_search(bytes in "[ab,\u{7f}\u{80}\u{ac}]{0,150}") {
            let bytes = bytes.as_bytes();
            for start in 0..bytes.len().min(20) {
                for wanted in [b',', 0x80, 0xac, b'x'] {
                    let bytes = &bytes[start..];
                    let expected = |at: usize| bytes.get(at) == Some(&wanted);
                    let mask = mask(bytes, wanted);
                    for at in 0..64 {
                        prop_assert_eq!(mask >> at & 1 == 1, expected(at), "{}", at);
                    }
                    let alike = |word: u64| word.to_le_bytes().iter().rposition(|b| *b != 0);
                    prop_assert!(alike(first_eight(bytes)).is_none_or(|at| at < bytes.len()));
                    let all = bytes.iter().filter(|&&byte| byte == wanted).count();
                    prop_assert_eq!(count(bytes, wanted), all);
                    let first = bytes.iter().take(8).position(|&byte| byte == wanted);
                    prop_assert_eq!(before(first_eight(bytes), wanted), first.unwrap_or(8));
                }
            }
        }

        /// The arithmetic that processors other than x86-64 use.
        #[test]
        fn eight_bytes_by_arithmetic(bytes: [u8; 8], wanted: u8) {
            let mask = mask_of_eight(u64::from_le_bytes(bytes), wanted);
            let expected = |at: usize| u64::from(bytes[at] == wanted) << at;
            prop_assert_eq!(mask, (0..8).map(expected).sum::<u64>());
        }
    }
}
