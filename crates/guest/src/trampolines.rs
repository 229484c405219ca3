//! The chip's table of functions. Each finds the chip that is lent for the call under way.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use ftl::contract::guest::{ChipShape, GuestChip, GuestFaultKind, Status};
use nand::Cause;

use crate::abi::{RawChip, VERSION, string};
use crate::chip_slot::ChipSlot;

/// A table for guests, and the slot in which its functions find the chip.
pub struct ChipTable {
    raw: Box<RawChip>,
    slot: Box<ChipSlot>,
}

impl ChipTable {
    /// The table of a chip of this shape.
    pub fn new(shape: &ChipShape) -> ChipTable {
        let slot = Box::new(ChipSlot::default());
        let raw = Box::new(RawChip {
            version: VERSION,
            size: size_of::<RawChip>() as u32,
            context: ptr::from_ref(&*slot).cast(),
            blocks: shape.blocks,
            pages_per_block: shape.pages_per_block,
            page_bytes: shape.page_bytes,
            spare_bytes: shape.spare_bytes,
            dies: shape.dies,
            bits_per_cell: shape.bits_per_cell,
            pair_distance: shape.pair_distance,
            program_order: shape.program_order,
            read,
            program,
            copy,
            erase,
            barrier,
            is_bad,
            mark_bad,
            say,
        });
        ChipTable { raw, slot }
    }

    /// The table, as guests get it.
    pub fn raw(&self) -> *const RawChip {
        &raw const *self.raw
    }

    /// Whether the chip was called since the last call for which it was lent.
    pub fn was_astray(&self) -> bool {
        self.slot.was_astray()
    }

    /// Lends the chip for one call of the guest.
    #[inline]
    pub fn lend<T>(&self, chip: &mut dyn GuestChip, call: impl FnOnce() -> T) -> T {
        self.slot.lend(chip, call)
    }
}

/// Does something with the chip that is lent.
#[inline]
fn with_chip<T>(
    chip: *const RawChip,
    otherwise: T,
    work: impl FnOnce(&RawChip, &mut dyn GuestChip) -> T,
) -> T {
    // SAFETY: guests pass the table that they got, whose slot lives as long as they do.
    let (raw, slot) = unsafe { (&*chip, &*(*chip).context.cast::<ChipSlot>()) };
    slot.with(|chip| work(raw, chip)).unwrap_or(otherwise)
}

const LOST: u32 = Status::PowerLost as u32;

extern "C" fn read(
    chip: *const RawChip,
    page: u32,
    offset: u32,
    bytes: u32,
    data: *mut c_void,
    spare: *mut c_void,
    cause: u32,
) -> u32 {
    with_chip(chip, LOST, |raw, chip| {
        if data.is_null() && bytes > 0 {
            let why = format!("read {bytes} bytes into no buffer");
            return chip.fault(GuestFaultKind::Illegal, &why) as u32;
        }
        if bytes > raw.page_bytes {
            let why = format!("read {bytes} bytes of a page");
            return chip.fault(GuestFaultKind::Illegal, &why) as u32;
        }
        let data: &mut [u8] = match data.is_null() {
            true => &mut [],
            // SAFETY: the header demands a buffer of this size.
            false => unsafe { core::slice::from_raw_parts_mut(data.cast(), bytes as usize) },
        };
        let spare = (!spare.is_null()).then(|| {
            // SAFETY: the header demands a buffer of this size.
            unsafe { core::slice::from_raw_parts_mut(spare.cast(), raw.spare_bytes as usize) }
        });
        with_cause(chip, cause, |chip, cause| chip.read(page, offset, data, spare, cause))
    })
}

extern "C" fn program(
    chip: *const RawChip,
    page: u32,
    data: *const c_void,
    spare: *const c_void,
    cause: u32,
) -> u32 {
    with_chip(chip, LOST, |raw, chip| {
        let (data, spare) = (slice(data, raw.page_bytes), slice(spare, raw.spare_bytes));
        with_cause(chip, cause, |chip, cause| chip.program(page, data, spare, cause))
    })
}

extern "C" fn copy(
    chip: *const RawChip,
    from: u32,
    to: u32,
    spare: *const c_void,
    cause: u32,
) -> u32 {
    with_chip(chip, LOST, |raw, chip| {
        let spare = slice(spare, raw.spare_bytes);
        with_cause(chip, cause, |chip, cause| chip.copy(from, to, spare, cause))
    })
}

extern "C" fn erase(chip: *const RawChip, block: u32, cause: u32) -> u32 {
    with_chip(chip, LOST, |_, chip| with_cause(chip, cause, |chip, cause| chip.erase(block, cause)))
}

extern "C" fn barrier(chip: *const RawChip) -> u32 {
    with_chip(chip, LOST, |_, chip| chip.barrier() as u32)
}

extern "C" fn is_bad(chip: *const RawChip, block: u32) -> c_int {
    with_chip(chip, 1, |_, chip| chip.is_bad(block).into())
}

extern "C" fn mark_bad(chip: *const RawChip, block: u32) -> u32 {
    with_chip(chip, LOST, |_, chip| chip.mark_bad(block) as u32)
}

extern "C" fn say(chip: *const RawChip, sentence: *const c_char) {
    with_chip(chip, (), |_, chip| {
        // SAFETY: the header demands a string.
        if let Some(sentence) = unsafe { string(sentence) } {
            chip.say(&sentence);
        }
    });
}

/// A buffer of the guest; none if the pointer is null.
fn slice<'a>(start: *const c_void, bytes: u32) -> Option<&'a [u8]> {
    // SAFETY: the header demands a buffer of this size, for the time of the call.
    (!start.is_null()).then(|| unsafe { core::slice::from_raw_parts(start.cast(), bytes as usize) })
}

/// Does an operation whose cause has this number; zero names none.
#[inline]
fn with_cause(
    chip: &mut dyn GuestChip,
    number: u32,
    operation: impl FnOnce(&mut dyn GuestChip, Option<Cause>) -> Status,
) -> u32 {
    const NAMED: [Option<Cause>; 7] = [
        None,
        Some(Cause::Host),
        Some(Cause::Gc),
        Some(Cause::Merge),
        Some(Cause::Map),
        Some(Cause::Wear),
        Some(Cause::Meta),
    ];
    let status = match NAMED.get(number as usize) {
        Some(&cause) => operation(chip, cause),
        None => {
            let why = format!("named the cause {number} of an operation, which does not exist");
            chip.fault(GuestFaultKind::Illegal, &why)
        }
    };
    status as u32
}
