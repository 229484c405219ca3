//! Reads a table like a trace: the checks, the clock and the counts are those of files.

use std::sync::Arc;

use crate::error::Result;
use crate::parse::normalize::Normalizer;
use crate::parse::parsed::RawRequest;
use crate::reader::{ReadReport, Reader};
use crate::request::Request;
use crate::table::request_table::RequestTable;

/// A reader of a table.
pub(crate) struct TableReader {
    table: Arc<RequestTable>,
    /// The number of rows read.
    position: u64,
    normalizer: Normalizer,
}

impl TableReader {
    /// A reader before the first row. If `raw_times`, times are delivered as they are, for sorting.
    pub(crate) fn new(table: &Arc<RequestTable>, raw_times: bool) -> TableReader {
        let normalizer =
            Normalizer::of_rows(raw_times, table.first_ns, table.report.skipped.clone());
        TableReader { table: table.clone(), position: 0, normalizer }
    }
}

impl Reader for TableReader {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let before = out.len();
        // Rows without data deliver nothing, so one turn may not be enough.
        while out.len() - before < max {
            let rows = self.table.rows_from(self.position);
            if rows.is_empty() {
                break;
            }
            let count = rows.len().min(max - (out.len() - before));
            for packed in &rows[..count] {
                let Request { time_ns: ticks, offset, bytes, device, op, flags, stream } =
                    self.table.unpacked(self.position, packed);
                self.position += 1;
                let raw = RawRequest { ticks, offset, bytes, device, op, flags, stream };
                self.normalizer.request(raw, 1, out).expect("checked when the table was built");
            }
        }
        Ok(out.len() - before)
    }

    fn position_bytes(&self) -> u64 {
        self.position
    }

    fn report(&self) -> ReadReport {
        ReadReport { skipped: self.normalizer.skipped.clone(), ..self.table.report.clone() }
    }
}
