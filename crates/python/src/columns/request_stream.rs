//! Requests as batches of Arrow: of a table, or of a trace that is read on the way.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use arrow_array::{
    DictionaryArray, RecordBatch, RecordBatchReader, StringArray, UInt8Array, UInt16Array,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use trace::{Replay, Request, RequestTable};

/// Requests in a batch.
const BATCH: usize = 1 << 16;

/// The names of the operations in the order of their codes.
pub const OPS: [&str; 4] = ["read", "write", "trim", "flush"];

/// Where the requests come from.
pub enum Source {
    /// A table, from the row with this number on.
    Table(Arc<RequestTable>, u64),
    /// A pass over a trace.
    Replay(Replay),
}

impl Source {
    /// The next requests; none at the end.
    fn next(&mut self) -> Result<Vec<Request>, ArrowError> {
        let mut requests = Vec::with_capacity(BATCH);
        match self {
            Source::Table(table, row) => {
                *row += table.copy_rows(*row, &mut requests, BATCH) as u64;
            }
            Source::Replay(replay) => {
                let read = replay.next_batch(&mut requests, BATCH);
                read.map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
            }
        }
        Ok(requests)
    }
}

/// Delivers requests in batches.
pub struct RequestStream {
    source: Source,
    schema: SchemaRef,
}

impl RequestStream {
    /// Batches of all requests of a source.
    pub fn boxed(source: Source) -> Box<dyn RecordBatchReader + Send> {
        let text = Box::new(DataType::Utf8);
        let fields = [
            ("time_ns", DataType::UInt64),
            ("op", DataType::Dictionary(Box::new(DataType::UInt8), text)),
            ("offset", DataType::UInt64),
            ("bytes", DataType::UInt64),
            ("device", DataType::UInt16),
            ("flags", DataType::UInt8),
        ];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, false));
        Box::new(RequestStream { source, schema: Arc::new(Schema::new(fields.to_vec())) })
    }

    fn batch(&self, requests: &[Request]) -> Result<RecordBatch, ArrowError> {
        let codes: UInt8Array = requests.iter().map(|request| Some(request.op.code())).collect();
        let names = Arc::new(StringArray::from(OPS.to_vec()));
        let op = DictionaryArray::<UInt8Type>::try_new(codes, names)?;
        let numbers = |of: fn(&Request) -> u64| {
            Arc::new(UInt64Array::from_iter_values(requests.iter().map(of)))
        };
        let device = requests.iter().map(|request| request.device as u16);
        let flags = requests.iter().map(|request| request.flags.bits());
        RecordBatch::try_new(
            self.schema.clone(),
            vec![
                numbers(|request| request.time_ns),
                Arc::new(op),
                numbers(|request| request.offset),
                numbers(|request| request.bytes),
                Arc::new(UInt16Array::from_iter_values(device)),
                Arc::new(UInt8Array::from_iter_values(flags)),
            ],
        )
    }
}

impl Iterator for RequestStream {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.source.next() {
            Ok(requests) if requests.is_empty() => None,
            Ok(requests) => Some(self.batch(&requests)),
            Err(error) => Some(Err(error)),
        }
    }
}

impl RecordBatchReader for RequestStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
