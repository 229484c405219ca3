//! Commands of eMMC and SD cards, and what has to be remembered between them.
//!
//! ```text
//! mmc0: start struct mmc_request[…]: cmd_opcode=25 cmd_arg=0x47fd98 … blocks=8 block_size=512
//!     blk_addr=4717976 data_flags=0x100 …
//! ```
//!
//! | opcode | meaning |
//! |---|---|
//! | 17, 18 | read; the argument is the first block |
//! | 24, 25 | write; the same |
//! | 0 with blocks | the same through the command queue: `blk_addr` and `data_flags` describe it |
//! | 35, 36, 38 | the first and the last block to erase (32 and 33 for SD), and the erase |
//! | 6 | byte 32 flushes the cache; byte 179 selects a hardware partition |
//!
//! Data has blocks of 512 bytes. Cards of up to 2 GB take arguments in bytes, which shows where the
//! kernel prints `blk_addr`, too. Linux 4.15 and some versions after it print `block_size` and
//! `blk_addr` in each other's place.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::fields::{Fields, Requested, hexadecimal, number, value};
use crate::parse::parsed::{ParseError, ParseResult};
use crate::parse::text::field::Field;
use crate::request::{Flags, Op, SECTOR_BYTES};

const MMC: ParseError = ParseError::new(
    "the event has no cmd_opcode=, cmd_arg= and blocks=, or they are not numbers; record the \
     events block_rq_issue instead",
);
const BLOCKS: ParseError =
    ParseError::new("the event has no cmd=, addr= and size=, or they are not numbers");

/// The direction of data, in `data_flags`.
const DATA_WRITE: u64 = 1 << 8;

/// Bytes of a card's registers that are switched.
const FLUSH_CACHE: u64 = 32;
const PARTITION_CONFIG: u64 = 179;

/// The cards so far, by the names of their hosts.
#[derive(Clone, Default)]
pub(super) struct Cards(BTreeMap<Vec<u8>, Card>);

/// What earlier commands have told a card.
#[derive(Clone, Copy, Default)]
struct Card {
    /// The first and the last block of the next erase.
    erase_first: Option<u64>,
    erase_last: Option<u64>,
    /// The selected hardware partition; 0 is the user's area.
    partition: u64,
}

/// `mmc_request_start` of Linux 4.8 and newer.
pub(super) fn request<'a>(
    fields: &'a [u8],
    block_bytes: u64,
    cards: &mut Cards,
) -> ParseResult<Fields<'a>> {
    let device = fields.split(|&byte| byte == b':').next().unwrap_or_default();
    let opcode = number(fields, b"cmd_opcode=", MMC)?;
    let argument = hexadecimal(fields, b"cmd_arg=").ok_or(MMC)?;
    let blocks = number(fields, b" blocks=", MMC)?;
    let card = cards.0.entry(device.to_vec()).or_default();
    let op = match opcode {
        0 if blocks > 0 => direction(hexadecimal(fields, b"data_flags=").ok_or(MMC)?),
        17 | 18 => Op::Read,
        24 | 25 => Op::Write,
        38 => Op::Trim,
        6 if card.switch(argument) == FLUSH_CACHE => Op::Flush,
        _ => {
            card.prepare_erase(opcode, argument);
            return Ok(Fields::Other);
        }
    };
    if card.partition != 0 {
        return Ok(Fields::Skip("boot or replay-protected partition"));
    }
    let range = match op {
        Op::Flush => (0, 0),
        Op::Trim => match card.erase(block_bytes) {
            Some(range) => range,
            None => return Ok(Fields::Skip("erase without range")),
        },
        Op::Read | Op::Write => (first_block(fields, opcode, argument).ok_or(MMC)?, blocks),
    };
    let (device, flags, length_unit) = (Cow::Borrowed(device), Flags::empty(), SECTOR_BYTES);
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit }))
}

fn direction(data_flags: u64) -> Op {
    if data_flags & DATA_WRITE == 0 { Op::Read } else { Op::Write }
}

/// The first block of a read or write, from its argument if it has one. An argument in bytes is 512
/// times the address that the kernel prints beside it.
fn first_block(fields: &[u8], opcode: u64, argument: u64) -> Option<u64> {
    let known = |key| value(fields, key).and_then(|text| Field::new(text).number());
    let (size, address) = (known(b" block_size="), known(b" blk_addr="));
    // The size of a block of data is always 512, so an address of 512 may be a size.
    let address = if address == Some(SECTOR_BYTES) { size } else { address };
    match address {
        Some(address) if opcode == 0 || address.checked_mul(SECTOR_BYTES) == Some(argument) => {
            Some(address)
        }
        _ => (opcode != 0).then_some(argument),
    }
}

impl Card {
    /// Changes a byte of the card's registers; returns which.
    fn switch(&mut self, argument: u64) -> u64 {
        let [_, value, index, ..] = argument.to_le_bytes().map(u64::from);
        if index == PARTITION_CONFIG {
            self.partition = value & 7;
        }
        index
    }

    fn prepare_erase(&mut self, opcode: u64, argument: u64) {
        match opcode {
            32 | 35 => self.erase_first = Some(argument),
            33 | 36 => self.erase_last = Some(argument),
            _ => {}
        }
    }

    /// The first block of an erase, and its number of sectors.
    fn erase(&mut self, block_bytes: u64) -> Option<(u64, u64)> {
        let (first, last) = (self.erase_first.take()?, self.erase_last.take()?);
        let to_last = last.checked_sub(first)?.checked_mul(block_bytes)?;
        Some((first, to_last / SECTOR_BYTES + 1))
    }
}

/// `mmc_blk_rw_start` of Android kernels: `cmd=18,addr=0x0039f640,size=0x00000020`.
pub(super) fn blocks<'a>(fields: &'a [u8], _: u64, _: &mut Cards) -> ParseResult<Fields<'a>> {
    let op = match value(fields, b"cmd=").ok_or(BLOCKS)? {
        b"17" | b"18" => Op::Read,
        b"24" | b"25" => Op::Write,
        _ => return Ok(Fields::Other),
    };
    let number = |key| hexadecimal(fields, key).ok_or(BLOCKS);
    let range = (number(b"addr=")?, number(b"size=")?);
    let (device, flags, length_unit) = (Cow::Borrowed(&b"mmc"[..]), Flags::empty(), SECTOR_BYTES);
    Ok(Fields::Requested(Requested { device, op, flags, range, length_unit }))
}
