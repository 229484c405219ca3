//! Eight bytes at a time: digits folded and bytes found without a branch for each.
//!
//! Traces are mostly digits, so eight bytes are looked at as a 64-bit word: the digits of a number
//! are moved to the end of the word and folded with three multiplications (after Lemire, "Quickly
//! parsing eight digits", 2018). The tests, here and in `field` and `split`, hold it against the
//! standard library.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = LOW_BITS << 7;
const ZEROS: u64 = LOW_BITS * b'0' as u64;
/// Added to a byte from 10 on, it sets the high bit.
const TEN_IS_HIGH: u64 = LOW_BITS * (0x80 - 10);

pub(crate) static POWERS_OF_TEN: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The first eight bytes; zeros behind the end.
#[inline(always)]
pub(crate) fn first_eight(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(chunk) => u64::from_le_bytes(*chunk),
        None => last_few(bytes),
    }
}

/// Less than eight bytes with zeros behind them: two words that overlap, or single bytes.
#[inline(always)]
fn last_few(bytes: &[u8]) -> u64 {
    if let (Some(low), Some(high)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (low, high) = (u32::from_le_bytes(*low), u32::from_le_bytes(*high));
        return u64::from(low) | u64::from(high) << (8 * (bytes.len() & 7) - 32);
    }
    let byte = |at: usize| bytes.get(at).map_or(0, |&byte| u64::from(byte) << (8 * at));
    byte(0) | byte(1) | byte(2)
}

/// The value of the first `count` bytes, of which there are one to eight, if all are digits.
#[inline(always)]
pub(crate) fn digits(word: u64, count: usize) -> Option<u64> {
    let digits = (word ^ ZEROS) << ((64 - 8 * count) & 63);
    // A sum that carries comes from a byte with its high bit set, which is seen by itself.
    let others = (digits.wrapping_add(TEN_IS_HIGH) | digits) & HIGH_BITS;
    (others == 0).then(|| folded(digits))
}

/// The number that eight bytes from 0 to 9 make, the first one the highest: neighbours become
/// pairs, pairs become two numbers of four digits, those the whole.
#[inline(always)]
fn folded(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let outer = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let inner = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    outer.wrapping_add(inner) >> 32
}

/// The high bits of those of eight bytes that are `wanted`.
#[inline(always)]
fn found(word: u64, wanted: u8) -> u64 {
    let others = word ^ (LOW_BITS * u64::from(wanted));
    // A byte that is not zero gets its high bit set, if it has not: no sum carries into the next.
    !(((others & !HIGH_BITS) + !HIGH_BITS) | others) & HIGH_BITS
}

/// How many of eight bytes come before the first that is `wanted`.
#[inline(always)]
pub(crate) fn before(word: u64, wanted: u8) -> usize {
    found(word, wanted).trailing_zeros() as usize / 8
}

/// Which of the first 64 bytes are `wanted`, which must not be zero: a bit for each.
#[inline(always)]
pub(crate) fn places(bytes: &[u8], wanted: u8) -> u64 {
    let Some(last) = bytes.last_chunk::<16>() else { return few_places(bytes, wanted) };
    let mut places = 0;
    let mut from = 0;
    for sixteen in bytes.as_chunks().0.iter().take(4) {
        places |= places_of_sixteen(sixteen, wanted) << from;
        from += 16;
    }
    if from < 64 { places | places_of_sixteen(last, wanted) << (bytes.len() - 16) } else { places }
}

/// How many bytes are `wanted`, which must not be zero.
#[inline(always)]
pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    bytes.chunks(64).map(|bytes| places(bytes, wanted).count_ones() as usize).sum()
}

/// The same of less than 16 bytes.
#[inline(always)]
fn few_places(bytes: &[u8], wanted: u8) -> u64 {
    let behind = bytes.get(8..).map_or(0, first_eight);
    places_of_eight(first_eight(bytes), wanted) | places_of_eight(behind, wanted) << 8
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn places_of_sixteen(bytes: &[u8; 16], wanted: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    // SAFETY: every x86-64 processor has SSE2, and sixteen bytes are there to be loaded.
    let places = unsafe {
        let sixteen = _mm_loadu_si128(bytes.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_set1_epi8(wanted.cast_signed())))
    };
    u64::from(places.cast_unsigned())
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn places_of_sixteen(bytes: &[u8; 16], wanted: u8) -> u64 {
    let (low, high) = (first_eight(bytes), first_eight(&bytes[8..]));
    places_of_eight(low, wanted) | places_of_eight(high, wanted) << 8
}

/// The high bits of the bytes found, moved together by a multiplication.
#[inline(always)]
fn places_of_eight(word: u64, wanted: u8) -> u64 {
    (found(word, wanted) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn places_are_where_the_bytes_are(bytes in "[ab,\u{7f}\u{80}\u{ac}]{0,150}") {
            let bytes = bytes.as_bytes();
            for start in 0..bytes.len().min(20) {
                for wanted in [b',', 0x80, 0xac, b'x'] {
                    let bytes = &bytes[start..];
                    let expected = |at: usize| bytes.get(at) == Some(&wanted);
                    let places = places(bytes, wanted);
                    for at in 0..64 {
                        prop_assert_eq!(places >> at & 1 == 1, expected(at), "{}", at);
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

        /// What other processors do.
        #[test]
        fn eight_bytes_by_arithmetic(bytes: [u8; 8], wanted: u8) {
            let places = places_of_eight(u64::from_le_bytes(bytes), wanted);
            let expected = |at: usize| u64::from(bytes[at] == wanted) << at;
            prop_assert_eq!(places, (0..8).map(expected).sum::<u64>());
        }
    }
}
