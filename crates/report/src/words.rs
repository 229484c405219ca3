//! Columns of results in words, with units: what stands at the axes of figures.

/// Columns and their words.
const WORDS: &[(&str, &str)] = &[
    ("write_amplification", "write amplification (programs per host page)"),
    ("write_amplification_bytes", "write amplification (bytes programmed per host byte)"),
    ("time_us.total", "serial time (µs)"),
    ("time_us.host", "time of host pages (µs)"),
    ("time_us.rmw", "time of read-modify-write (µs)"),
    ("time_us.gc", "time of garbage collection (µs)"),
    ("time_us.merge", "time of merges (µs)"),
    ("time_us.map", "time of mapping (µs)"),
    ("time_us.log", "time of the sector log (µs)"),
    ("time_us.dram", "time of DRAM (µs)"),
    ("time_us.meta", "time of bookkeeping (µs)"),
    ("service_us.write.mean", "mean service time of writes (µs)"),
    ("service_us.write.stddev", "standard deviation of the service time of writes (µs)"),
    ("service_us.write.p99", "99th percentile of the service time of writes (µs)"),
    ("service_us.read.mean", "mean service time of reads (µs)"),
    ("increment_us.write.p50", "median increment of writes beyond the bare operation (µs)"),
    ("increment_us.write.p90", "90th percentile of the increments of writes (µs)"),
    ("increment_us.write.p99", "99th percentile of the increments of writes (µs)"),
    ("increment_us.write.p999", "99.9th percentile of the increments of writes (µs)"),
    ("increment_us.read.p50", "median increment of reads beyond the bare operation (µs)"),
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
    ("merges.dead", "dead merges"),
    ("scheme.rw_associated_blocks", "data blocks associated with a victim, Na"),
    ("merges.associated_blocks", "data blocks associated with a log block, Na"),
    ("ram_bytes.total", "RAM (bytes)"),
    ("ram_bytes.map", "RAM of mapping tables (bytes)"),
    ("layers.sector_log.subpage_hit_ratio", "sectors that find an older copy (share)"),
    ("layers.sector_log.sectors_per_eviction", "sectors of what is cleaned out (mean)"),
    ("layers.sector_log.probes_per_look_up", "entries compared in a look-up (mean)"),
    ("layers.buffer.read_hit_ratio", "hits of reads in the buffer (share)"),
    ("layers.buffer.write_hit_ratio", "hits of writes in the buffer (share)"),
    ("scheme.cmt_read_hit_ratio", "hits of reads in the cached map (share)"),
    ("scheme.cmt_write_hit_ratio", "hits of writes in the cached map (share)"),
    ("scheme.translation_copies", "copies of translation pages"),
    ("scheme.map_cache_hit_ratio", "hits of the map cache (share)"),
    ("copies.gc", "copies of garbage collection"),
    ("time_us.gc + time_us.map", "time of garbage collection and mapping (µs)"),
    ("time_us.merge + time_us.gc", "time of merges and garbage collection (µs)"),
    ("buffer", "buffer (bytes)"),
    ("sector_log", "sector log (bytes)"),
    ("split", "share of the map (% of the DRAM)"),
    ("ftl.blocks", "blocks of a superblock"),
    ("ftl.map_cache", "entries of the map cache"),
    ("ftl.threshold", "threshold of the detector (bytes)"),
    ("wear.stddev", "standard deviation of erases a block"),
    ("extra", "extra blocks (% of logical blocks)"),
    ("buffer", "write buffer (bytes)"),
    ("ftl.cmt", "cache of map entries (bytes)"),
    ("ftl", "FTL"),
    ("trace", "trace"),
];

/// A column in words; its own name if there are none.
pub fn of(column: &str) -> &str {
    let known = WORDS.iter().find(|(name, _)| *name == column);
    known.map_or(column, |(_, words)| words)
}

/// Words for a figure: those of its column, or what is said of it where its formula is long.
pub fn of_figure<'a>(figure: &'a str, says: &'a str) -> &'a str {
    match of(figure) {
        formula if formula == figure && formula.len() > FORMULA_MAX => says,
        words => words,
    }
}

/// The longest formula that stands at an axis.
const FORMULA_MAX: usize = 45;

/// A factor and words for the axis of these figures, of one run over another if they are relative.
pub fn axis(
    figure: &str,
    says: &str,
    is_relative: bool,
    figures: impl IntoIterator<Item = f64>,
) -> (f64, String) {
    let words = of_figure(figure, says);
    match is_relative {
        true => (1.0, format!("{}, over that of the other run", without_unit(words))),
        false => scaled(words, figures),
    }
}

/// A factor and words for figures of this size: long times are said in seconds.
pub fn scaled(words: &str, figures: impl IntoIterator<Item = f64>) -> (f64, String) {
    let largest = figures.into_iter().filter(|figure| figure.is_finite()).fold(0.0, f64::max);
    match words.contains("(µs)") && largest >= 1e7 {
        true => (1e-6, words.replace("(µs)", "(s)")),
        false => (1.0, words.to_owned()),
    }
}

/// Words without the unit in brackets behind them.
pub fn without_unit(words: &str) -> &str {
    words.split(" (").next().unwrap_or(words)
}

/// A number as people read it: four significant digits, thousands apart.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size.is_infinite() {
        return "∞".to_owned();
    }
    if size >= 10_000.0 {
        return grouped(value.round() as i64);
    }
    let digits = match size {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. | 0.0 => 3,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An integer with thin spaces between thousands.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_words_or_their_own_name() {
        assert_eq!(of("erases.total"), "block erases");
        assert_eq!(of("scheme.k"), "scheme.k");
        assert_eq!(without_unit(of("time_us.total")), "serial time");
    }

    #[test]
    fn numbers_have_about_four_digits() {
        let shown = [0.0, 0.012_345, 1.5, 12.345, 345.67, 9_999.4, -12_345.6, 1e7].map(number);
        let wanted = [
            "0",
            "0.01235",
            "1.5",
            "12.35",
            "345.7",
            "9999",
            "−12\u{202f}346",
            "10\u{202f}000\u{202f}000",
        ];
        assert_eq!(shown, wanted);
    }
}
