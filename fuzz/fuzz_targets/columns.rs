//! The first line contains the keys of format csv, the rest is the trace.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else { return };
    if let Ok(keys) = std::str::from_utf8(&bytes[..end]) {
        ftlab_fuzz::readers::read(Some(&format!("csv:{keys}")), &bytes[end + 1..]);
    }
});
