//! Requests and results as columns, in both directions.
//!
//! ```text
//! __arrow_c_stream__ of anything ─ capsule ─▶ batches ─ arrow_rows ─┐
//! NumPy, pandas (ftlab/columns.py) ─ blocks of whole numbers ───────┴▶ TableBuilder ─▶ requests
//!
//! requests, traces, results ─ request_stream, result_rows ─▶ batches ─ capsule ─▶ anything
//! ```
//! * [`capsule`]        the Arrow C stream interface, the only unsafe code
//! * [`column`]         the columns of requests, and what may be in them
//! * [`arrow_rows`]     rows of requests from batches of Arrow
//! * [`requests`]       requests in memory, and building them
//! * [`request_stream`] requests as batches of Arrow
//! * [`result_rows`]    results as rows, with a type for each column

pub mod arrow_rows;
pub mod capsule;
pub mod column;
pub mod request_stream;
pub mod requests;
pub mod result_rows;
