//! Commands of NVMe, SCSI and UFS, each in one event.

use std::borrow::Cow;

use super::fields::{BEYOND, Fields, Requested, hexadecimal, number, value};
use super::mmc::Cards;
use crate::parse::parsed::{ParseError, ParseResult};
use crate::request::{Flags, Op};

const NVME: ParseError =
    ParseError::new("the event has no cmd=(…) with slba= and len=, or they are not numbers");
const SCSI: ParseError =
    ParseError::new("the event has no cmnd=(…) with lba= and txlen=, or they are not numbers");
const UFS: ParseError =
    ParseError::new("the event has no size:, LBA: and opcode:, or they are not numbers");
const UFS_16: ParseError = ParseError::new(
    "the event has no address and no size, as older kernels print none for READ(16) and WRITE(16); \
     record the events block_rq_issue too, which have them",
);

/// `nvme0: disk=nvme0n1, qid=1, …, cmd=(nvme_cmd_read slba=99328, len=7, …)`
pub(super) fn nvme<'a>(
    fields: &'a [u8],
    block_bytes: u64,
    _: &mut Cards,
) -> ParseResult<Fields<'a>> {
    let controller = fields.split(|&byte| byte == b':').next().unwrap_or_default();
    let device = value(fields, b"disk=").unwrap_or(controller);
    let command = value(fields, b"cmd=(").ok_or(NVME)?;
    let op = match command {
        b"nvme_cmd_read" => Op::Read,
        b"nvme_cmd_write" | b"nvme_cmd_write_zeroes" | b"nvme_cmd_zone_append" => Op::Write,
        b"nvme_cmd_flush" => Op::Flush,
        b"nvme_cmd_dsm" => return Ok(Fields::Skip("trim without range")),
        // Commands of administration.
        _ => return Ok(Fields::Other),
    };
    let range = match op {
        Op::Flush => (0, 0),
        _ => {
            let last = number(fields, b"len=", NVME)?;
            (number(fields, b"slba=", NVME)?, last.checked_add(1).ok_or(BEYOND)?)
        }
    };
    let flags = Flags::empty();
    let device = Cow::Borrowed(device);
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit: block_bytes }))
}

/// `host_no=0 channel=0 id=0 lun=0 …, cmnd=(READ_10 lba=505083904 txlen=8 protect=0 raw=28 …)`
pub(super) fn scsi<'a>(
    fields: &'a [u8],
    block_bytes: u64,
    _: &mut Cards,
) -> ParseResult<Fields<'a>> {
    // As in `lsscsi`: host, channel, target and logical unit.
    let numbers = [&b"host_no="[..], b" channel=", b" id=", b" lun="];
    let device = numbers.map(|key| value(fields, key).unwrap_or_default()).join(&b':');
    let command = value(fields, b"cmnd=(").ok_or(SCSI)?;
    let op = match command {
        b"READ_6" | b"READ_10" | b"READ_12" | b"READ_16" | b"READ_32" => Op::Read,
        b"WRITE_6" | b"WRITE_10" | b"WRITE_12" | b"WRITE_16" | b"WRITE_32" => Op::Write,
        b"WRITE_SAME" | b"WRITE_SAME_16" | b"WRITE_SAME_32" => {
            if value(fields, b" unmap=") == Some(b"1") { Op::Trim } else { Op::Write }
        }
        b"SYNCHRONIZE_CACHE" | b"SYNCHRONIZE_CACHE_16" => Op::Flush,
        b"UNMAP" => return Ok(Fields::Skip("unmap without range")),
        _ => return Ok(Fields::Skip("other command")),
    };
    let range = match op {
        Op::Flush => (0, 0),
        _ => (number(fields, b" lba=", SCSI)?, number(fields, b" txlen=", SCSI)?),
    };
    let flags = Flags::empty();
    let device = Cow::Owned(device);
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit: block_bytes }))
}

/// `send_req: 1d84000.ufshc: tag: 3, …, size: 4096, IS: 0, LBA: 81920, opcode: 0x2a (WRITE_10), …`
///
/// Newer kernels name the logical unit instead of the controller, by its SCSI address: `0:0:0:4:`.
pub(super) fn ufs<'a>(fields: &'a [u8], _: u64, _: &mut Cards) -> ParseResult<Fields<'a>> {
    let (action, device) = two_names(fields);
    if !action.starts_with(b"send") {
        return Ok(Fields::Other);
    }
    let opcode = hexadecimal(fields, b"opcode: ").ok_or(UFS)?;
    if matches!(opcode, 0x88 | 0x8a) && value(fields, b"size: ") == Some(b"-1") {
        return Err(UFS_16);
    }
    let op = match opcode {
        0x08 | 0x28 | 0x88 => Op::Read,
        0x0a | 0x2a | 0x8a => Op::Write,
        0x35 | 0x91 => Op::Flush,
        0x42 => return Ok(Fields::Skip("unmap without range")),
        _ => return Ok(Fields::Skip("other command")),
    };
    let range = match op {
        Op::Flush => (0, 0),
        _ => (number(fields, b"LBA: ", UFS)?, number(fields, b"size: ", UFS)?),
    };
    let (device, flags) = (Cow::Borrowed(device), Flags::empty());
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit: 1 }))
}

/// What is before the first and before the second colon with a blank behind it.
fn two_names(fields: &[u8]) -> (&[u8], &[u8]) {
    let mut names = memchr::memmem::find_iter(fields, b": ");
    let (first, second) = (names.next(), names.next());
    match (first, second) {
        (Some(first), Some(second)) => {
            (&fields[..first], fields[first + 2..second].trim_ascii_start())
        }
        _ => (b"", b""),
    }
}
