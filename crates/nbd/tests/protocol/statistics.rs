//! What a device tells of what it has done, and failures on demand.

use nand::Op;
use nbd::control::stats;
use nbd::device::injuries::Failure;
use serde_json::json;

use crate::conversation::*;

#[test]
fn every_request_counts_as_what_it_is() {
    let mut live = live(device("page", &[]));
    let mut script = Script::agreed(false).request(FLUSH, 0, 0, 0).request(FLUSH, 0, 0, 0);
    // Garbage must be collected, so that there are erases.
    for round in 0..20 {
        script = script.write(0, 0, &[round; 256 << 10]);
    }
    for _ in 0..3 {
        script = script.request(READ, 0, 0, 4096);
    }
    let script = script.request(TRIM, FUA, 0, 4096).request(WRITE_ZEROES, 0, 0, 100);
    script.request(TRIM, 0, 0, 4096).request(READ, 0, u64::MAX, 512).say_to(&mut live);
    let (found, tally) = (stats::of_device(&live), live.store.disk.tally());
    let requests = json!({
        "reads": 3, "writes": 20, "zeroes": 1, "trims": 2, "flushes": 2, "failed": 1,
    });
    assert_eq!(found["requests"], requests);
    assert_eq!((&found["read_bytes"], &found["written_bytes"]), (&json!(12_288), &json!(5 << 20)));
    assert_eq!(found["flushes_done"], 3, "the forced trim needs one");
    let [reads, programs, erases] = [Op::Read, Op::Program, Op::Erase].map(|op| tally.total(op));
    assert!(0 < erases && erases < programs);
    let flash = json!({"reads": reads, "programs": programs, "erases": erases});
    assert_eq!(found["flash"], flash);
    let amplification = (programs * 2048) as f64 / f64::from(5 << 20);
    assert_eq!(found["write_amplification_bytes"], amplification);
}

#[test]
fn the_place_of_a_failure_on_demand_lies_within_the_request() {
    let mut live = live(device("page", &[]));
    let failure = Failure { offset: 2048, bytes: 8192, reads: true, writes: false, times: None };
    live.failures.add(failure);
    for (offset, place) in [(0, 2048_u64), (4096, 4096)] {
        let script = Script::agreed(true).request(READ, 0, offset, 4096);
        let chunk = script.say_to(&mut live).agreed().chunk();
        assert!(chunk.data.ends_with(&place.to_be_bytes()), "{offset}: {chunk:?}");
    }
}
