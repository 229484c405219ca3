//! Schemes that decide which pages share a block: page mapping with several open blocks, and a rule
//! for each page that is written or copied.

#[cfg(test)]
mod floating_log;
pub mod oracle;
pub mod sepbit;
pub mod sepgc;
pub mod streams;
pub mod warcip;
