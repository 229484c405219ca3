//! Block traces that follow from traces of another kind.
//!
//! * [`mooncake`]: requests to a language model, by way of a cache on flash

pub mod mooncake;
