//! What a client says to a served disk; see `ftlab_fuzz::conversations`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::conversations::check(bytes));
