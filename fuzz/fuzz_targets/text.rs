//! The first byte chooses a format and its keys, the rest is the trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::registry::FORMATS;

fuzz_target!(|bytes: &[u8]| {
    let mut specs = FORMATS.iter().flat_map(|format| format.specimens).map(|one| one.spec);
    if let [choice, rest @ ..] = bytes {
        let count = specs.clone().count();
        ftlab_fuzz::readers::read(specs.nth(usize::from(*choice) % count), rest);
    }
});
