//! What the process of a guest says; see `ftlab_fuzz::guests`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::guests::check(bytes));
