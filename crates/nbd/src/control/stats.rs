//! What a device has done since it is served.

use nand::Op;
use serde_json::{Value, json};

use crate::device::live::Live;
use crate::device::pacing::Kept;

/// The statistics of a device.
pub fn of_device(live: &Live) -> Value {
    let counts = live.counts();
    let mut stats = json!({
        "export": live.export().name,
        "power": if live.store.disk.is_off() { "off" } else { "on" },
        "read_only": live.store.disk.failure(),
        "requests": {
            "reads": counts.reads,
            "writes": counts.writes,
            "zeroes": counts.zeroes,
            "trims": counts.trims,
            "flushes": counts.flushes,
            "failed": counts.failed,
        },
        "read_bytes": counts.read_bytes,
        "written_bytes": counts.written_bytes,
        "flushes_done": counts.flushes_done,
        "cuts": counts.cuts,
    });
    if let Some(nand) = live.store.disk.nand() {
        let page_bytes = u64::from(nand.geometry().page_bytes());
        let programs = nand.tally().total(Op::Program);
        stats["flash"] = json!({
            "reads": nand.tally().total(Op::Read),
            "programs": programs,
            "erases": nand.tally().total(Op::Erase),
        });
        if counts.written_bytes > 0 {
            let programmed = (programs * page_bytes) as f64;
            stats["write_amplification_bytes"] = json!(programmed / counts.written_bytes as f64);
        }
    }
    if let Some(pace) = live.gate.pace() {
        stats["pace"] = of_pace(&pace.kept());
    }
    stats
}

/// How well a pace was kept, times in microseconds.
fn of_pace(kept: &Kept) -> Value {
    let micros = |times: [std::time::Duration; 2]| {
        let [p50, p99] = times.map(|time| time.as_nanos() as f64 / 1e3);
        json!({ "p50": p50, "p99": p99 })
    };
    json!({
        "answers": kept.answers,
        "response_us": micros(kept.responses),
        "late_us": micros(kept.late),
        "floor_us": kept.floor.as_nanos() as f64 / 1e3,
        "below_floor": kept.below_floor,
        "vouched": kept.is_vouched(),
    })
}
