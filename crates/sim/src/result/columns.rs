//! The columns of a row: the names of a result's fields, nested ones joined by points.

use ftl::LAYERS;
use nand::Cause;
use serde_json::Value;

use crate::result::run_part;

/// The value at a column's name; null where there is none.
pub fn at<'a>(row: &'a Value, column: &str) -> &'a Value {
    column.split('.').fold(row, |value, name| value.get(name).unwrap_or(&Value::Null))
}

const DEVICE: &[&str] = &[
    "page_bytes",
    "pages_per_block",
    "logical_blocks",
    "extra_blocks",
    "sector_log_blocks",
    "system_blocks",
    "chip",
    "timing.read_us",
    "timing.spare_read_us",
    "timing.program_us",
    "timing.erase_us",
];
const TRACE: &[&str] = &[
    "name",
    "format",
    "requests",
    "reads",
    "writes",
    "trims",
    "flushes",
    "read_bytes",
    "written_bytes",
    "footprint_pages",
    "skipped",
    "trimmed_bytes",
    "trims_of_no_page",
    "preflushes",
    "fua",
    "backward_times",
];
const SUMMARY: &[&str] = &["count", "mean", "stddev", "p50", "p90", "p99", "p999", "max"];

/// The columns of the csv form, the same for every sweep.
pub fn columns() -> Vec<String> {
    let mut columns = Vec::new();
    let mut add = |group: &str, names: &[&str]| {
        columns.extend(names.iter().map(|name| match group {
            "" => (*name).to_owned(),
            _ => format!("{group}.{name}"),
        }));
    };
    let causes = Cause::ALL.map(Cause::name);
    add("sweep", &["row", "varied", "error.exit_code", "error.message"]);
    add("", &["schema"]);
    add("run", &run_part::names());
    add("ftl", &["name", "params"]);
    add("device", DEVICE);
    let layers: Vec<String> = LAYERS.iter().map(|layer| layer.key()).collect();
    add("layers", &layers.iter().map(String::as_str).collect::<Vec<_>>());
    add("trace", TRACE);
    add("host_pages", &["read", "written", "trimmed"]);
    for kind in ["reads", "programs", "erases", "copies", "spare_reads"] {
        add(kind, &causes);
        add(kind, &["total"]);
    }
    add("merges", &["switch", "partial", "full", "dead", "associated_blocks"]);
    add("", &["write_amplification", "write_amplification_bytes"]);
    add("time_us", &["total", "dram"]);
    add("time_us", &causes);
    for times in ["service_us", "increment_us", "response_us"] {
        for op in ["read", "write", "flush", "trim"] {
            add(&format!("{times}.{op}"), SUMMARY);
        }
    }
    add("", &["histograms", "series"]);
    add("wear", &["min", "max", "mean", "stddev", "map"]);
    add("endurance", &["cycles", "host_bytes_until_worn", "drive_writes"]);
    add("ram_bytes", &["map", "cache", "buffer", "sector_map", "other", "total"]);
    add("", &["scheme"]);
    columns
}
