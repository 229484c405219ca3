//! Spare areas and other contents of pages; see `ftlab_fuzz::pages`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    ftlab_fuzz::pages::decode(bytes);
    ftlab_fuzz::pages::mount(bytes);
});
