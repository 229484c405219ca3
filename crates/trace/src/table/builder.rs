//! Builds a table of requests in one pass, from columns or from the requests of a replay.

use crate::error::{Error, Result};
use crate::parse::devices::Devices;
use crate::reader::ReadReport;
use crate::request::{Flags, Op, Request};
use crate::table::packed::{LONG, PackedRequest};
use crate::table::request_table::{CHUNK, RequestTable};

/// Consecutive rows of columns. All slices have the same length.
#[derive(Clone, Copy, Debug)]
pub struct ColumnBlock<'a> {
    /// Nanoseconds from any origin.
    pub time_ns: &'a [u64],
    /// The operation as its [`Op::code`].
    pub op: &'a [u64],
    /// The first byte on the device; a flush has none, so 0 is kept for it.
    pub offset: &'a [u64],
    /// The length in bytes. A request without data is skipped when the table is read, as in a file;
    /// a flush must have none.
    pub bytes: &'a [u64],
    /// Any number for each device; at most 65536 different ones.
    pub device: &'a [u64],
    /// The flags as [`Flags::bits`].
    pub flags: &'a [u64],
}

/// Builds a table, from blocks of columns or from requests of a replay, not from both.
pub struct TableBuilder {
    table: RequestTable,
    rows: u64,
    devices: Devices,
}

impl TableBuilder {
    /// A table without rows, with the name that results show.
    pub fn new(name: &str) -> TableBuilder {
        TableBuilder { table: RequestTable::empty(name), rows: 0, devices: Devices::default() }
    }

    /// The number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The memory that the rows take so far, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.table.memory_bytes()
    }

    /// Appends a request of a replay.
    pub fn push(&mut self, request: &Request) {
        if self.rows.is_multiple_of(CHUNK as u64) {
            self.table.chunks.push(Vec::with_capacity(CHUNK));
        }
        let packed = PackedRequest::of(request);
        if packed.bytes == LONG {
            self.table.long.push((self.rows, request.bytes));
        }
        self.table.chunks.last_mut().expect("pushed above").push(packed);
        self.rows += 1;
    }

    /// Appends rows of columns.
    ///
    /// # Errors
    /// A row is no request; the message names the column and the row.
    ///
    /// # Panics
    /// The columns differ in length.
    pub fn extend(&mut self, block: &ColumnBlock) -> Result<()> {
        let ColumnBlock { time_ns, op, offset, bytes, device, flags } = *block;
        let lengths = [op.len(), offset.len(), bytes.len(), device.len(), flags.len()];
        assert!(lengths.iter().all(|&length| length == time_ns.len()), "columns of {lengths:?}");
        for row in 0..time_ns.len() {
            let (op, flags) = (self.op(op[row])?, self.flags(flags[row])?);
            self.check_range(op, offset[row], bytes[row])?;
            let device = self.device(device[row])?;
            // A flush has no range, so its offset means nothing; readers of files drop it, too.
            let offset = if op == Op::Flush { 0 } else { offset[row] };
            let (time_ns, bytes) = (time_ns[row], bytes[row]);
            if self.rows == 0 {
                self.table.first_ns = time_ns;
            }
            self.push(&Request { time_ns, offset, bytes, device, op, flags, stream: 0 });
        }
        Ok(())
    }

    /// The table of all columns.
    pub fn finish(self) -> RequestTable {
        let devices = self.devices.names();
        self.finish_replay(ReadReport { devices, ..ReadReport::default() })
    }

    /// The table of all requests of a replay, with what was read of the trace apart from them.
    pub fn finish_replay(mut self, report: ReadReport) -> RequestTable {
        self.table.report = report;
        if let Some(last) = self.table.chunks.last_mut() {
            last.shrink_to_fit();
        }
        self.table.long.shrink_to_fit();
        self.table
    }

    #[inline]
    fn op(&self, code: u64) -> Result<Op> {
        u8::try_from(code).ok().and_then(Op::of_code).ok_or_else(|| {
            let codes = "the codes are 0 read, 1 write, 2 trim, 3 flush";
            self.refusal("op", format!("{code} is no operation; {codes}"))
        })
    }

    #[inline]
    fn flags(&self, bits: u64) -> Result<Flags> {
        u8::try_from(bits).ok().and_then(Flags::from_bits).ok_or_else(|| {
            let sum = "it is a sum of 1 FUA, 2 preflush, 4 sync, 8 metadata, 16 readahead";
            self.refusal("flags", format!("{bits} has bits without a meaning; {sum}"))
        })
    }

    #[inline]
    fn check_range(&self, op: Op, offset: u64, bytes: u64) -> Result<()> {
        if op == Op::Flush && bytes > 0 {
            let what = format!("a flush has no range, so it must be 0, not {bytes}");
            return Err(self.refusal("bytes", what));
        }
        match offset.checked_add(bytes) {
            Some(_) => Ok(()),
            None => {
                let what = format!("the request of {bytes} bytes at {offset} ends beyond 64 bits");
                Err(self.refusal("offset", what))
            }
        }
    }

    #[inline]
    fn device(&mut self, number: u64) -> Result<u32> {
        let found = self.devices.number(number);
        found.map_err(|error| self.refusal("device", format!("{}; {}", error.what, error.remedy)))
    }

    #[cold]
    fn refusal(&self, column: &'static str, what: String) -> Error {
        Error::Column { name: self.table.name.clone(), column, row: self.rows, what }
    }
}
