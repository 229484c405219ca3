//! The check of the targets of trace readers: reading arbitrary bytes ends, does not panic, and delivers only
//! valid requests.

use trace::{Op, ReadOptions, Request, Trace};

/// Reads `bytes` in a format (detected if `None`) in all ways, and checks the requests.
pub fn read(format: Option<&str>, bytes: &[u8]) {
    for (skip_bad, sort) in [(false, false), (true, false), (true, true)] {
        let format = match format.map(spec::Spec::parse).transpose() {
            Ok(format) => format,
            Err(_) => return,
        };
        let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
        let Ok(trace) = Trace::of_bytes("fuzz", bytes, &options) else { return };
        check(&trace.sorted(sort));
    }
}

fn check(trace: &Trace) {
    let Ok(mut replay) = trace.replay() else { return };
    let (mut requests, mut latest_ns) = (Vec::new(), 0);
    loop {
        let count = replay.next_batch(&mut requests, 5);
        for request in requests.drain(..) {
            holds(&request, latest_ns);
            latest_ns = request.time_ns;
        }
        match count {
            Ok(0) => break,
            Ok(_) => {}
            // The message must not panic either, nor be as long as the file.
            Err(error) => return assert!(error.to_string().len() < 4000),
        }
    }
    let _ = (replay.report(), replay.position_bytes());
}

fn holds(request: &Request, latest_ns: u64) {
    assert!(request.offset.checked_add(request.bytes).is_some(), "{request:?}");
    assert_eq!(request.bytes == 0, request.op == Op::Flush, "{request:?}");
    assert!(request.time_ns >= latest_ns, "{request:?} after {latest_ns} ns");
}
