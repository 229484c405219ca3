//! A request in 24 bytes.

use crate::request::{Flags, Op, Request};

/// A request in the form in which it is kept.
#[derive(Clone, Copy)]
pub(crate) struct PackedRequest {
    pub(crate) time_ns: u64,
    pub(crate) offset: u64,
    /// The length, or [`LONG`] if it is that or more; the table then has it elsewhere.
    pub(crate) bytes: u32,
    pub(crate) device: u16,
    pub(crate) op: Op,
    pub(crate) flags: Flags,
}

/// The size of a packed request in memory, and of its bytes in the digest.
pub(crate) const PACKED_BYTES: usize = 24;

const _: () = assert!(size_of::<PackedRequest>() == PACKED_BYTES);

/// In place of a length that does not fit.
pub(crate) const LONG: u32 = u32::MAX;

impl PackedRequest {
    /// Packs a request. Its length may have to be kept elsewhere.
    ///
    /// # Panics
    /// The number of its device is above 65535. No trace has so many devices.
    pub(crate) fn of(request: &Request) -> PackedRequest {
        let Request { time_ns, offset, bytes, device, op, flags } = *request;
        let bytes = u32::try_from(bytes).unwrap_or(LONG);
        let device = u16::try_from(device).expect("a trace has at most 65536 devices");
        PackedRequest { time_ns, offset, bytes, device, op, flags }
    }

    /// The request, with the length as it is packed.
    pub(crate) fn unpacked(&self) -> Request {
        let PackedRequest { time_ns, offset, bytes, device, op, flags } = *self;
        Request { time_ns, offset, bytes: bytes.into(), device: device.into(), op, flags }
    }

    /// The bytes of the digest: all fields in their order, little endian.
    pub(crate) fn to_bytes(self) -> [u8; PACKED_BYTES] {
        let mut bytes = [0; PACKED_BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.device.to_le_bytes());
        bytes[22] = self.op.code();
        bytes[23] = self.flags.bits();
        bytes
    }
}
