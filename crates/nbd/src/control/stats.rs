//! What a device has done since it is served.

use std::time::Duration;

use ftl::part::page::reclaim_units;
use ftl::{Metric, Report};
use nand::{Geometry, Nand, Op, Tally};
use serde_json::{Value, json};

use crate::device::live::Live;
use crate::device::pacing::{Kept, Times};

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
    let tally = live.store.disk.tally();
    stats["flash"] = json!({
        "reads": tally.total(Op::Read),
        "programs": tally.total(Op::Program),
        "erases": tally.total(Op::Erase),
    });
    if counts.written_bytes > 0 {
        let page_bytes = u64::from(live.store.disk.device().geometry().page_bytes());
        let programmed = (tally.total(Op::Program) * page_bytes) as f64;
        stats["write_amplification_bytes"] = json!(programmed / counts.written_bytes as f64);
    }
    if let Some(ftl) = live.store.disk.ftl() {
        stats["placement"] =
            of_placement(&ftl.report(), tally, live.store.disk.device().geometry());
    }
    stats["media"] = of_media(live);
    if let Some(pace) = live.gate.pace() {
        stats["pace"] = of_pace(&pace.kept());
    }
    stats
}

/// What Flexible Data Placement reports, and the figures of the classes; null if the FTL has no
/// reclaim units. Bytes count from the opening of the device on, as `flash` does.
fn of_placement(report: &Report, tally: Tally, geometry: &Geometry) -> Value {
    let Some(statistics) = reclaim_units::statistics(report, &tally, geometry) else {
        return Value::Null;
    };
    let value = |metric: &Metric| match metric {
        Metric::Counts(counts) => Some(json!(counts)),
        Metric::Count(count) => Some(json!(count)),
        _ => None,
    };
    let figures = statistics.iter().chain(&report.figures);
    figures.filter_map(|(name, metric)| Some(((*name).to_owned(), value(metric)?))).collect()
}

/// Blocks that failed since the device was new, and those left in reserve; null if none can fail.
pub fn of_media(live: &Live) -> Value {
    let media = live.store.disk.nand().and_then(Nand::media);
    media.map_or(Value::Null, |media| {
        let counts = media.counts();
        json!({
            "factory_bad": counts.factory_bad,
            "retired": counts.retired(),
            "program_failures": counts.program_failures,
            "erase_failures": counts.erase_failures,
            "worn_out": counts.worn_out,
            "moved_pages": counts.moved_pages,
            "unreadable_pages": media.lost().len(),
            "in_reserve": media.in_reserve(),
            "read_only": media.is_exhausted(),
        })
    })
}

/// How well a pace was kept, times in microseconds.
fn of_pace(kept: &Kept) -> Value {
    let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
    let all = |times: Times| {
        let Times { mean, p50, p99 } = times;
        json!({ "mean": micros(mean), "p50": micros(p50), "p99": micros(p99) })
    };
    json!({
        "answers": kept.answers,
        "response_us": all(kept.responses),
        "late_us": all(kept.late),
        "seen_us": all(kept.seen),
        "floor_us": micros(kept.floor),
        "below_floor": kept.below_floor,
        "vouched": kept.is_vouched(),
    })
}
