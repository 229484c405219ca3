//! The binary records of libCacheSim, with and without operations.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    ftlab_fuzz::readers::read(Some("oracle-general:reads=30%"), bytes);
    ftlab_fuzz::readers::read(Some("oracle-general-opns:object_unit=1"), bytes);
});
