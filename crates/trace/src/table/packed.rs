//! A request in 24 bytes.

use crate::request::{Flags, Op, Request, STREAMS_MAX};

/// A request in the form in which it is kept.
#[derive(Clone, Copy)]
pub(crate) struct PackedRequest {
    pub(crate) time_ns: u64,
    pub(crate) offset: u64,
    /// The length, or [`LONG`] if it is that or more; it is then kept elsewhere.
    pub(crate) bytes: u32,
    pub(crate) device: u16,
    op_and_stream: OpAndStream,
    pub(crate) flags: Flags,
}

/// The operation in the two lowest bits, the stream in the others.
#[derive(Clone, Copy)]
struct OpAndStream(u8);

const _: () = assert!(Op::ALL.len() == 4 && STREAMS_MAX == u8::MAX >> 2);

impl OpAndStream {
    #[inline]
    fn of(op: Op, stream: u8) -> OpAndStream {
        assert!(stream <= STREAMS_MAX, "a trace has at most {STREAMS_MAX} streams, not {stream}");
        OpAndStream(op.code() | stream << 2)
    }

    #[inline]
    fn op(self) -> Op {
        Op::ALL[usize::from(self.0 & 3)]
    }

    #[inline]
    fn stream(self) -> u8 {
        self.0 >> 2
    }
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
    /// The number of its device is above 65535, or that of its stream above [`STREAMS_MAX`]. No
    /// trace reaches these numbers.
    #[inline]
    pub(crate) fn of(request: &Request) -> PackedRequest {
        let Request { time_ns, offset, bytes, device, op, flags, stream } = *request;
        let bytes = u32::try_from(bytes).unwrap_or(LONG);
        let device = u16::try_from(device).expect("a trace has at most 65536 devices");
        let op_and_stream = OpAndStream::of(op, stream);
        PackedRequest { time_ns, offset, bytes, device, op_and_stream, flags }
    }

    /// The request, with the length as it is packed.
    #[inline]
    pub(crate) fn unpacked(&self) -> Request {
        let PackedRequest { time_ns, offset, bytes, device, op_and_stream, flags } = *self;
        Request {
            time_ns,
            offset,
            bytes: bytes.into(),
            device: device.into(),
            op: op_and_stream.op(),
            flags,
            stream: op_and_stream.stream(),
        }
    }

    /// The stream of a write; 0 for none.
    pub(crate) fn stream(&self) -> u8 {
        self.op_and_stream.stream()
    }

    /// The record behind a request whose length is not in its own record.
    pub(crate) fn of_length(bytes: u64) -> PackedRequest {
        let (op_and_stream, flags) = (OpAndStream::of(Op::Read, 0), Flags::empty());
        PackedRequest { time_ns: bytes, offset: 0, bytes: 0, device: 0, op_and_stream, flags }
    }

    /// The length in such a record.
    pub(crate) fn length(&self) -> u64 {
        self.time_ns
    }

    /// The bytes in digests and temporary files: all fields in their order, little endian.
    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; PACKED_BYTES] {
        let mut bytes = [0; PACKED_BYTES];
        bytes[..8].copy_from_slice(&self.time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[20..22].copy_from_slice(&self.device.to_le_bytes());
        bytes[22] = self.op_and_stream.0;
        bytes[23] = self.flags.bits();
        bytes
    }

    /// The record with these bytes; `None` if no record has them.
    #[inline]
    pub(crate) fn of_bytes(bytes: &[u8; PACKED_BYTES]) -> Option<PackedRequest> {
        let words: &[[u8; 8]] = bytes.as_chunks().0;
        let packed = u64::from_le_bytes(words[2]);
        Some(PackedRequest {
            time_ns: u64::from_le_bytes(words[0]),
            offset: u64::from_le_bytes(words[1]),
            bytes: packed as u32,
            device: (packed >> 32) as u16,
            op_and_stream: OpAndStream((packed >> 48) as u8),
            flags: Flags::from_bits((packed >> 56) as u8)?,
        })
    }
}
