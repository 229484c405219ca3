//! Logs of dm-log-writes: reading ends, takes bounded memory, and what was read can be written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| ftlab_fuzz::logs::read(bytes));
