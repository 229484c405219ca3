//! The structs of `include/ftlab.h`, as Rust lays them out. The header documents them.

use core::ffi::{CStr, c_char, c_int, c_void};

/// `FTLAB_VERSION`.
pub const VERSION: u32 = 1;
/// The name of the function that a shared object exports.
pub const SYMBOL: &str = "ftlab_get_guest";
/// `FTLAB_CUTS_ALL`.
pub const CUTS_ALL: u32 = 0x3FF;

/// `ftlab_chip`.
#[repr(C)]
pub struct RawChip {
    pub version: u32,
    pub size: u32,
    pub context: *const c_void,
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub spare_bytes: u32,
    pub dies: u32,
    pub bits_per_cell: u32,
    pub pair_distance: u32,
    pub program_order: u32,
    pub read: extern "C" fn(
        chip: *const RawChip,
        page: u32,
        offset: u32,
        bytes: u32,
        data: *mut c_void,
        spare: *mut c_void,
        cause: u32,
    ) -> u32,
    pub program: extern "C" fn(
        chip: *const RawChip,
        page: u32,
        data: *const c_void,
        spare: *const c_void,
        cause: u32,
    ) -> u32,
    pub copy: extern "C" fn(
        chip: *const RawChip,
        from: u32,
        to: u32,
        spare: *const c_void,
        cause: u32,
    ) -> u32,
    pub erase: extern "C" fn(chip: *const RawChip, block: u32, cause: u32) -> u32,
    pub barrier: extern "C" fn(chip: *const RawChip) -> u32,
    pub is_bad: extern "C" fn(chip: *const RawChip, block: u32) -> c_int,
    pub mark_bad: extern "C" fn(chip: *const RawChip, block: u32) -> u32,
    pub say: extern "C" fn(chip: *const RawChip, sentence: *const c_char),
}

/// `ftlab_device`.
#[repr(C)]
pub struct RawDevice {
    pub size: u32,
    pub is_new: u32,
    pub logical_pages: u32,
    pub host_page_bytes: u32,
    pub seed: u64,
    pub parameters: u32,
    pub keys: *const *const c_char,
    pub values: *const *const c_char,
}

/// `ftlab_figure`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawFigure {
    pub name: *const c_char,
    pub value: f64,
}

/// `ftlab_guest`. A function that is missing is none.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawGuest {
    pub version: u32,
    pub size: u32,
    pub name: *const c_char,
    pub release: *const c_char,
    pub durability: u32,
    pub cuts: u32,
    pub host_page_bytes: u32,
    pub spare_bytes: u32,
    pub mount: Option<
        unsafe extern "C" fn(
            chip: *const RawChip,
            device: *const RawDevice,
            ftl: *mut *mut c_void,
        ) -> u32,
    >,
    pub read: Option<
        unsafe extern "C" fn(ftl: *mut c_void, first: u32, pages: u32, data: *mut c_void) -> u32,
    >,
    pub write: Option<
        unsafe extern "C" fn(ftl: *mut c_void, first: u32, pages: u32, data: *const c_void) -> u32,
    >,
    pub trim: Option<unsafe extern "C" fn(ftl: *mut c_void, first: u32, pages: u32) -> u32>,
    pub flush: Option<unsafe extern "C" fn(ftl: *mut c_void) -> u32>,
    pub unmount: Option<unsafe extern "C" fn(ftl: *mut c_void)>,
    pub capacity: Option<unsafe extern "C" fn(ftl: *mut c_void) -> u32>,
    pub ram: Option<unsafe extern "C" fn(ftl: *mut c_void) -> u64>,
    pub figures:
        Option<unsafe extern "C" fn(ftl: *mut c_void, figures: *mut RawFigure, most: u32) -> u32>,
    pub audit: Option<unsafe extern "C" fn(ftl: *mut c_void) -> *const c_char>,
    pub handles_failures: u32,
}

/// The exported function.
pub type GetGuest = unsafe extern "C" fn() -> *const RawGuest;

/// A string of a guest in a form that can be printed; none if the pointer is null.
///
/// # Safety
/// The pointer is null, or leads to a string.
pub unsafe fn string(start: *const c_char) -> Option<String> {
    let shown = |letter: char| match letter {
        '\n' | '\r' | '\t' => ' ',
        letter if letter.is_control() => char::REPLACEMENT_CHARACTER,
        letter => letter,
    };
    // SAFETY: the caller's promise.
    let text = (!start.is_null()).then(|| unsafe { CStr::from_ptr(start) }.to_string_lossy())?;
    Some(text.chars().map(shown).collect())
}
