//! Axis labels: the columns of results in words, with units.

/// Each column and its label.
const LABELS: &[(&str, &str)] = &[
    ("write_amplification", "write amplification (programs per host page)"),
    ("write_amplification_bytes", "write amplification (bytes programmed per host byte)"),
    ("time_us.total", "serial time (µs)"),
    ("time_us.host", "time of host pages (µs)"),
    ("time_us.rmw", "time of read-modify-write (µs)"),
    ("time_us.gc", "time of garbage collection (µs)"),
    ("time_us.merge", "time of merges (µs)"),
    ("time_us.map", "time of reading and writing the map in flash (µs)"),
    ("time_us.log", "time of the sector log (µs)"),
    ("time_us.dram", "time of DRAM accesses (µs)"),
    ("time_us.meta", "time of bookkeeping (µs)"),
    ("service_us.write.mean", "mean service time of writes (µs)"),
    ("service_us.write.stddev", "standard deviation of the service time of writes (µs)"),
    ("service_us.write.p99", "99th percentile of the service time of writes (µs)"),
    ("service_us.read.mean", "mean service time of reads (µs)"),
    ("increment_us.write.p50", "median increment of writes over the bare operation (µs)"),
    ("increment_us.write.p90", "90th percentile of the increments of writes (µs)"),
    ("increment_us.write.p99", "99th percentile of the increments of writes (µs)"),
    ("increment_us.write.p999", "99.9th percentile of the increments of writes (µs)"),
    ("increment_us.read.p50", "median increment of reads over the bare operation (µs)"),
    ("increment_us.read.p90", "90th percentile of the increments of reads (µs)"),
    ("increment_us.read.p99", "99th percentile of the increments of reads (µs)"),
    ("increment_us.read.p999", "99.9th percentile of the increments of reads (µs)"),
    ("reads.total", "page reads"),
    ("programs.total", "page programs"),
    ("erases.total", "block erases"),
    ("copies.total", "page copies"),
    ("merges.full", "full merges"),
    ("merges.partial", "partial merges"),
    ("merges.switch", "switch merges"),
    ("merges.dead", "erases of log blocks without valid pages"),
    ("scheme.rw_associated_blocks", "data blocks associated with a victim (Na)"),
    ("merges.associated_blocks", "data blocks associated with a log block (Na)"),
    ("ram_bytes.total", "RAM (bytes)"),
    ("ram_bytes.map", "RAM of mapping tables (bytes)"),
    (
        "layers.sector_log.subpage_hit_ratio",
        "subpage hits: sectors with an older copy in the log (share)",
    ),
    ("layers.sector_log.sectors_per_eviction", "sectors per eviction from the log (mean)"),
    ("layers.sector_log.probes_per_look_up", "entries compared per look-up (mean)"),
    ("layers.buffer.read_hit_ratio", "read hits in the buffer (share)"),
    ("layers.buffer.write_hit_ratio", "write hits in the buffer (share)"),
    ("scheme.cmt_read_hit_ratio", "read hits in the cached mapping table (share)"),
    ("scheme.cmt_write_hit_ratio", "write hits in the cached mapping table (share)"),
    ("scheme.translation_copies", "copies of translation pages"),
    ("scheme.map_cache_hit_ratio", "hits in the map cache (share)"),
    ("copies.gc", "page copies by garbage collection"),
    ("time_us.gc + time_us.map", "time of garbage collection and of the map in flash (µs)"),
    ("time_us.merge + time_us.gc", "time of merges and garbage collection (µs)"),
    ("buffer", "write buffer (bytes)"),
    ("sector_log", "sector log (bytes)"),
    ("split", "map's share of the DRAM (%)"),
    ("ftl.blocks", "blocks per superblock"),
    ("ftl.map_cache", "entries of the map cache"),
    ("ftl.threshold", "threshold of the detector (bytes)"),
    ("drive.iops", "requests a second in the drive (IOPS)"),
    ("wear.max", "erases of the most worn block"),
    ("wear.stddev", "standard deviation of erases per block"),
    ("wear.cv", "coefficient of variation of erases per block"),
    ("wear.gini", "Gini coefficient of erases per block"),
    ("extra", "extra blocks (% of logical blocks)"),
    ("ftl.cmt", "cached mapping table (bytes)"),
    ("ftl", "FTL"),
    ("trace", "trace"),
];

/// Gauges that are not named by words and a unit.
const GAUGES: &[(&str, &str)] = &[
    ("rw_blocks", "blocks of the random log in use"),
    ("isolation_fill", "valid pages of the isolation area (share)"),
    ("U_hot", "valid pages of the hot partition (share)"),
    ("U_cold", "valid pages of the cold partition (share)"),
    ("N_d", "dead blocks of the hot partition"),
    ("k", "k (pages)"),
    ("hot_cap", "hot blocks allowed"),
    ("log_blocks", "log blocks allowed"),
    ("sequential_cap", "sequential blocks allowed"),
    ("threshold_bytes", "threshold (bytes)"),
    ("cmt_entries", "entries of the cached mapping table"),
    ("map_share", "map's part of the DRAM (share)"),
];

/// The label of a gauge, with its unit.
pub fn gauge(name: &str) -> String {
    let known = GAUGES.iter().find(|(gauge, _)| *gauge == name);
    known.map_or_else(|| name.replace('_', " "), |(_, label)| (*label).to_owned())
}

/// The longest formula that is used as a label.
const FORMULA_MAX: usize = 45;

/// The label of a column, or its name if it has no label.
pub fn label(column: &str) -> &str {
    let known = LABELS.iter().find(|(name, _)| *name == column);
    known.map_or(column, |(_, label)| label)
}

/// The label of a metric, which is a column or a formula of columns. A long formula without a label
/// is replaced by `description`.
fn metric_label<'a>(metric: &'a str, description: &'a str) -> &'a str {
    match label(metric) {
        formula if formula == metric && formula.len() > FORMULA_MAX => description,
        label => label,
    }
}

/// The label of a metric with these values, and the factor that converts the values to its unit.
/// Relative values are ratios of one run to another.
pub fn metric_axis(
    metric: &str,
    description: &str,
    is_relative: bool,
    values: impl IntoIterator<Item = f64>,
) -> (f64, String) {
    let label = metric_label(metric, description);
    match is_relative {
        true => (1.0, format!("{}, relative to the other run", without_unit(label))),
        false => scaled(label, values),
    }
}

/// The label with a unit that suits the values, and the factor that converts the values to it: long
/// times are shown in seconds.
pub fn scaled(label: &str, values: impl IntoIterator<Item = f64>) -> (f64, String) {
    let largest = values.into_iter().filter(|value| value.is_finite()).fold(0.0, f64::max);
    match label.contains("(µs)") && largest >= 1e7 {
        true => (1e-6, label.replace("(µs)", "(s)")),
        false => (1.0, label.to_owned()),
    }
}

/// The label without its unit, which stands in brackets at the end.
pub fn without_unit(label: &str) -> &str {
    label.split(" (").next().unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_without_a_label_is_labelled_by_its_name() {
        assert_eq!(label("erases.total"), "block erases");
        assert_eq!(label("scheme.k"), "scheme.k");
        assert_eq!(without_unit(label("time_us.total")), "serial time");
    }

    #[test]
    fn a_gauge_is_named_by_words() {
        assert_eq!(gauge("N_d"), "dead blocks of the hot partition");
        assert_eq!(gauge("coldest_pages"), "coldest pages");
    }

    #[test]
    fn no_column_has_two_labels() {
        let mut columns: Vec<&str> = LABELS.iter().map(|(column, _)| *column).collect();
        columns.sort_unstable();
        let all = columns.len();
        columns.dedup();
        assert_eq!(columns.len(), all);
    }

    #[test]
    fn a_ratio_of_two_runs_has_no_unit() {
        let ratio = metric_axis("time_us.total", "", true, [2e7]);
        assert_eq!(ratio, (1.0, "serial time, relative to the other run".to_owned()));
    }

    #[test]
    fn long_times_are_shown_in_seconds() {
        assert_eq!(scaled("serial time (µs)", [2e7, 1.0]), (1e-6, "serial time (s)".to_owned()));
        assert_eq!(scaled("serial time (µs)", [9.0]), (1.0, "serial time (µs)".to_owned()));
    }
}
