//! Prefetch hints for the processor. The map entries of random writes miss its cache; if they are
//! requested ahead in a batch, these misses overlap.
#![allow(unsafe_code)]

/// Prefetches `slice[index]`. Does nothing if the index is out of range.
#[inline]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(entry) = slice.get(index) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and faults on nothing; the pointer is a live reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(entry).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}
