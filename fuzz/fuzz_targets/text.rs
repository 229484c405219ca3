//! The first byte chooses a text format, the rest is the trace.
#![no_main]

use libfuzzer_sys::fuzz_target;

static FORMATS: [&str; 19] = [
    "spc", "msr", "systor", "tencent", "alibaba", "fiu", "blkparse", "blkparse:action=C",
    "blkreplay", "fio", "etw", "disksim", "disksim:unit=s", "mqsim", "mqsim:unit=ps", "ssdsim",
    "flashsim:pages=8KiB", "diskmon", "csv",
];

fuzz_target!(|bytes: &[u8]| {
    if let [choice, rest @ ..] = bytes {
        ftlab_trace_fuzz::read(Some(FORMATS[usize::from(*choice) % FORMATS.len()]), rest);
    }
});
