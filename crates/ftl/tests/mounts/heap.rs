//! The heap of a test: its size now, and its largest size. The memory of the chip is left out.
//!
//! Each thread has its own counters, so tests can run at the same time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static HEAP: Counting = Counting;

thread_local! {
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static IS_COUNTED: Cell<bool> = const { Cell::new(true) };
}

/// Notes that the heap has grown by this number of bytes, or has shrunk.
fn grow(bytes: isize) {
    if !IS_COUNTED.try_with(Cell::get).unwrap_or(false) {
        return;
    }
    let _ = BYTES.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: all calls go to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grow(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        grow(-(layout.size() as isize));
        unsafe { System.dealloc(at, layout) }
    }

    /// The system may hold both the old and the new memory while it copies.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        grow(size as isize);
        grow(-(layout.size() as isize));
        unsafe { System.realloc(at, layout, size) }
    }
}

/// What some work did to the heap.
pub struct HeapUse {
    /// Bytes by which the heap was larger at its peak than after the work.
    pub peak_above_rest: u64,
    /// Bytes by which the heap has grown.
    pub growth: i64,
}

/// Runs `work`. Returns its result, and what it did to the heap.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, HeapUse) {
    let before = BYTES.get();
    PEAK.set(before);
    let result = work();
    let peak_above_rest = (PEAK.get() - BYTES.get()) as u64;
    (result, HeapUse { peak_above_rest, growth: (BYTES.get() - before) as i64 })
}

/// Runs `work` without counting the memory that it takes or gives back.
pub fn uncounted<T>(work: impl FnOnce() -> T) -> T {
    IS_COUNTED.set(false);
    let result = work();
    IS_COUNTED.set(true);
    result
}
