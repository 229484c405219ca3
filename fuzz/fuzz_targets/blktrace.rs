//! The binary records of blktrace.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    ftlab_fuzz::readers::read(Some("blktrace"), bytes);
    ftlab_fuzz::readers::read(Some("blktrace:action=Q"), bytes);
});
