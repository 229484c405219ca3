//! The binary records of vscsi, in both versions.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::readers::read(Some("vscsi"), bytes));
