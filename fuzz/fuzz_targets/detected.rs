//! Any format, detected by the content, which may be compressed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::readers::read(None, bytes));
