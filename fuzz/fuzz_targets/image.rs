//! An image with changed bytes; see `ftlab_fuzz::images`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::images::check(bytes));
