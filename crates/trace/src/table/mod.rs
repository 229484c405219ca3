//! Packed requests, 24 bytes each: those of the columns of a caller, or of a trace that is read
//! more than once.
//!
//! ```text
//! columns of a caller, in blocks ─▶ TableBuilder ─▶ RequestTable ─▶ TableReader ─▶ requests
//! requests of a replay ───────────▶   (checks)       (immutable)     (the rules of file readers)
//!
//! requests of a replay ───────────▶ StoreBuilder ─▶ RequestStore ─▶ StoreReader ─▶ requests
//!                                                    (may spill to a temporary file)
//! ```
//!
//! A table keeps the rows as they were given. What readers of files do with a record, the reader of
//! a table does with a row when it delivers it: requests without data are skipped and counted,
//! times count from the first row and never decrease. So a table and a file with the same records
//! have the same results, also with a limit.
//!
//! * [`request_table`] the table and its digest
//! * [`builder`]       building a table, with all checks
//! * `packed`          a request in 24 bytes
//! * `reader`          reading a table like a trace
//! * [`request_store`] the requests of a replay, in memory or in a temporary file
//! * `store_reader`    reading them again

pub mod builder;
pub(crate) mod packed;
pub(crate) mod reader;
pub mod request_store;
pub mod request_table;
pub(crate) mod store_reader;

#[cfg(test)]
mod tests;
