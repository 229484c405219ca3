//! The interface of `include/ftlab.h`, for guests in Rust. Copy this file, implement [`Ftl`], and
//! name your type in [`export!`].

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// The results that a guest sees and returns; the header has all of them.
pub type Status = u32;
pub const OK: Status = 0;
pub const ERASED: Status = 1;
pub const CORRECTED: Status = 2;
pub const UNREADABLE: Status = 3;
pub const READ_ONLY: Status = 7;
pub const INVALID: Status = 8;

/// The reason for an operation.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Cause {
    Host = 1,
    Gc = 2,
    Meta = 6,
}

#[repr(C)]
pub struct RawChip {
    version: u32,
    size: u32,
    context: *mut c_void,
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
    pub spare_bytes: u32,
    pub dies: u32,
    pub bits_per_cell: u32,
    pub pair_distance: u32,
    pub program_order: u32,
    read: extern "C" fn(*const RawChip, u32, u32, u32, *mut c_void, *mut c_void, u32) -> u32,
    program: extern "C" fn(*const RawChip, u32, *const c_void, *const c_void, u32) -> u32,
    copy: extern "C" fn(*const RawChip, u32, u32, *const c_void, u32) -> u32,
    erase: extern "C" fn(*const RawChip, u32, u32) -> u32,
    barrier: extern "C" fn(*const RawChip) -> u32,
    is_bad: extern "C" fn(*const RawChip, u32) -> c_int,
    mark_bad: extern "C" fn(*const RawChip, u32) -> u32,
    say: extern "C" fn(*const RawChip, *const c_char),
}

#[repr(C)]
pub struct Device {
    size: u32,
    pub is_new: u32,
    pub logical_pages: u32,
    pub host_page_bytes: u32,
    pub seed: u64,
    pub parameters: u32,
    keys: *const *const c_char,
    values: *const *const c_char,
}

/// The chip. It may be used while a call of ftlab runs.
#[derive(Clone, Copy)]
pub struct Chip(*const RawChip);

impl Chip {
    /// Sizes of the chip.
    pub fn sizes(&self) -> &RawChip {
        // SAFETY: ftlab lends the table from mount until the FTL is dropped.
        unsafe { &*self.0 }
    }

    /// Reads a whole data area.
    pub fn read(&self, page: u32, data: &mut [u8], cause: Cause) -> Result<(), Status> {
        let bytes = self.sizes().page_bytes;
        assert!(data.len() == bytes as usize, "a page has {bytes} bytes");
        let (data, none) = (data.as_mut_ptr().cast(), std::ptr::null_mut());
        done((self.sizes().read)(self.0, page, 0, bytes, data, none, cause as u32))
    }

    /// Reads a spare area; none if the page reads as erased.
    pub fn read_spare<const N: usize>(&self, page: u32) -> Result<Option<[u8; N]>, Status> {
        assert!(self.sizes().spare_bytes as usize == N, "declare {N} spare bytes");
        let (mut spare, none) = ([0; N], std::ptr::null_mut());
        let into = spare.as_mut_ptr().cast();
        match (self.sizes().read)(self.0, page, 0, 0, none, into, Cause::Meta as u32) {
            OK | CORRECTED => Ok(Some(spare)),
            ERASED => Ok(None),
            status => Err(status),
        }
    }

    pub fn program<const N: usize>(
        &self,
        page: u32,
        data: &[u8],
        spare: &[u8; N],
        cause: Cause,
    ) -> Result<(), Status> {
        assert!(data.len() == self.sizes().page_bytes as usize, "a page is programmed as a whole");
        let (data, spare) = (data.as_ptr().cast(), spare.as_ptr().cast());
        done((self.sizes().program)(self.0, page, data, spare, cause as u32))
    }

    pub fn copy<const N: usize>(
        &self,
        from: u32,
        to: u32,
        spare: &[u8; N],
        cause: Cause,
    ) -> Result<(), Status> {
        done((self.sizes().copy)(self.0, from, to, spare.as_ptr().cast(), cause as u32))
    }

    pub fn erase(&self, block: u32, cause: Cause) -> Result<(), Status> {
        done((self.sizes().erase)(self.0, block, cause as u32))
    }

    /// Says why the call under way will fail.
    pub fn say(&self, sentence: &str) {
        let sentence = CString::new(sentence).unwrap_or_default();
        (self.sizes().say)(self.0, sentence.as_ptr());
    }
}

fn done(status: Status) -> Result<(), Status> {
    if status == OK { Ok(()) } else { Err(status) }
}

/// An FTL. Errors are statuses of the header.
pub trait Ftl: Sized {
    const NAME: &'static CStr;
    /// FTLAB_DURABLE_…
    const DURABILITY: u32;
    /// FTLAB_CUT_…
    const CUTS: u32;
    const SPARE_BYTES: u32;

    fn mount(chip: Chip, device: &Device) -> Result<Self, Status>;
    fn read(&mut self, first: u32, data: &mut [u8]) -> Result<(), Status>;
    fn write(&mut self, first: u32, data: &[u8]) -> Result<(), Status>;
    fn ram(&self) -> u64;
}

#[repr(C)]
pub struct RawGuest {
    pub version: u32,
    pub size: u32,
    pub name: *const c_char,
    pub release: *const c_char,
    pub durability: u32,
    pub cuts: u32,
    pub host_page_bytes: u32,
    pub spare_bytes: u32,
    pub mount: extern "C" fn(*const RawChip, *const Device, *mut *mut c_void) -> u32,
    pub read: extern "C" fn(*mut c_void, u32, u32, *mut c_void) -> u32,
    pub write: extern "C" fn(*mut c_void, u32, u32, *const c_void) -> u32,
    pub trim: *const c_void,
    pub flush: *const c_void,
    pub unmount: extern "C" fn(*mut c_void),
    pub capacity: *const c_void,
    pub ram: extern "C" fn(*mut c_void) -> u64,
    pub figures: *const c_void,
    pub audit: *const c_void,
}

// SAFETY: the table is never changed.
unsafe impl Sync for RawGuest {}

/// A mounted FTL, with the size of its pages.
struct Mounted<F> {
    ftl: F,
    page_bytes: usize,
}

pub extern "C" fn mount<F: Ftl>(
    chip: *const RawChip,
    device: *const Device,
    ftl: *mut *mut c_void,
) -> u32 {
    // SAFETY: ftlab passes a device, and a place for the pointer.
    let (device, place) = unsafe { (&*device, &mut *ftl) };
    let page_bytes = device.host_page_bytes as usize;
    match F::mount(Chip(chip), device) {
        Ok(ftl) => {
            *place = Box::into_raw(Box::new(Mounted { ftl, page_bytes })).cast();
            OK
        }
        Err(status) => status,
    }
}

pub extern "C" fn read<F: Ftl>(ftl: *mut c_void, first: u32, pages: u32, data: *mut c_void) -> u32 {
    // SAFETY: ftlab passes what mount returned, and a buffer of these pages.
    let (mounted, data) = unsafe {
        let mounted = &mut *ftl.cast::<Mounted<F>>();
        let bytes = pages as usize * mounted.page_bytes;
        (mounted, std::slice::from_raw_parts_mut(data.cast(), bytes))
    };
    mounted.ftl.read(first, data).map_or_else(|status| status, |()| OK)
}

pub extern "C" fn write<F: Ftl>(
    ftl: *mut c_void,
    first: u32,
    pages: u32,
    data: *const c_void,
) -> u32 {
    // SAFETY: ftlab passes what mount returned, and a buffer of these pages.
    let (mounted, data) = unsafe {
        let mounted = &mut *ftl.cast::<Mounted<F>>();
        let bytes = pages as usize * mounted.page_bytes;
        (mounted, std::slice::from_raw_parts(data.cast(), bytes))
    };
    mounted.ftl.write(first, data).map_or_else(|status| status, |()| OK)
}

pub extern "C" fn ram<F: Ftl>(ftl: *mut c_void) -> u64 {
    // SAFETY: ftlab passes what mount returned.
    unsafe { &*ftl.cast::<Mounted<F>>() }.ftl.ram()
}

pub extern "C" fn unmount<F: Ftl>(ftl: *mut c_void) {
    // SAFETY: ftlab passes what mount returned, and does not use it again.
    drop(unsafe { Box::from_raw(ftl.cast::<Mounted<F>>()) });
}

/// Exports an FTL whose every write is durable and that does not trim.
#[macro_export]
macro_rules! export {
    ($ftl:ty) => {
        #[unsafe(no_mangle)]
        pub extern "C" fn ftlab_get_guest() -> *const $crate::ftlab::RawGuest {
            use $crate::ftlab::{Ftl, RawGuest, mount, ram, read, unmount, write};
            static GUEST: RawGuest = RawGuest {
                version: 1,
                size: size_of::<RawGuest>() as u32,
                name: <$ftl as Ftl>::NAME.as_ptr(),
                release: std::ptr::null(),
                durability: <$ftl as Ftl>::DURABILITY,
                cuts: <$ftl as Ftl>::CUTS,
                host_page_bytes: 0,
                spare_bytes: <$ftl as Ftl>::SPARE_BYTES,
                mount: mount::<$ftl>,
                read: read::<$ftl>,
                write: write::<$ftl>,
                trim: std::ptr::null(),
                flush: std::ptr::null(),
                unmount: unmount::<$ftl>,
                capacity: std::ptr::null(),
                ram: ram::<$ftl>,
                figures: std::ptr::null(),
                audit: std::ptr::null(),
            };
            &GUEST
        }
    };
}
