//! A result as a table.

use ftl::part::page::victims::policy::Policy;
use ftl::part::page::victims::registry::POLICIES;
use report::headline::{self, as_lines};
use report::number_format::{bytes, count, decimals, number, tbw};
use report::runs::{LabelledResult, extra, preparation};
use serde_json::Value;
use sim::RunResult;
use sim::clock::{DRIVE_CAVEAT, SERIAL_CAVEAT};
use sim::result::drive_part::DrivePart;
use sim::result::latencies::Summary;
use sim::result::media_part::MediaPart;
use sim::result::run_result::{DevicePart, SteadyPart};
use sim::result::trace_part::{TenantPart, TracePart};

use crate::output;
use crate::texts::table::{Table, labelled, real, seconds};

/// The table that `ftlab run` prints.
pub fn text(result: &RunResult) -> String {
    let mut parts =
        vec![head(result), counts(result), amplification(result), times(result), ends(result)];
    if let Some(tenants) = &result.tenants {
        parts.insert(4, loads(tenants));
    }
    format!("{}{}", headline(result), parts.join("\n"))
}

/// What came out, in a sentence or two.
fn headline(result: &RunResult) -> String {
    let value = output::value(result);
    let run = LabelledResult { label: result.ftl.name, result: &value };
    as_lines(&headline::runs::of(&[run]))
}

/// The FTL, the device, the trace, and how they were run.
fn head(result: &RunResult) -> String {
    let run = output::value(&result.run);
    let mut lines = vec![
        ("ftl", format!("{} {}", result.ftl.name, params(result))),
        ("device", device(&result.device)),
        ("trace", requests(&result.trace)),
        ("host", host(result)),
        ("run", format!("{}, seed {}", preparation(&run).to_lowercase(), run["seed"])),
    ];
    lines.extend(result.steady.as_ref().map(|steady| ("rounds", rounds(steady))));
    lines.extend(result.notes.iter().map(|note| ("note", note.clone())));
    lines.iter().map(|(name, text)| labelled(name, 8, text)).collect()
}

/// The rounds of a run that ends in a steady state.
fn rounds(steady: &SteadyPart) -> String {
    if steady.rounds < steady.first_measured {
        return "ended before the first of them was whole".to_owned();
    }
    let percent = |share: Option<f64>| share.map_or("?".to_owned(), |it| decimals(100.0 * it, 1));
    format!(
        "{} to {} measured, {} host pages each: {}; write amplification {}, range {} %, rise {} %",
        steady.first_measured,
        steady.rounds,
        count(steady.round_pages),
        if steady.reached { "steady" } else { "not steady" },
        real(steady.mean, 4),
        percent(steady.range),
        percent(steady.rise),
    )
}

fn params(result: &RunResult) -> String {
    let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let is_used = |name: &str| !is_of_other_policy(name, result.ftl.params.get("victim"));
    let params = result.ftl.params.iter().filter(|(name, _)| is_used(name));
    let params = params.map(|(name, value)| format!("{name}={}", text(value)));
    params.collect::<Vec<_>>().join(" ")
}

/// Whether a parameter is one of victim policies, but not of this one.
fn is_of_other_policy(param: &str, victim: Option<&Value>) -> bool {
    let takes = |policy: &Policy| policy.params.iter().any(|own| own.name == param);
    let takers: Vec<&str> =
        POLICIES.iter().filter(|policy| takes(policy)).map(|policy| policy.name).collect();
    let chosen = victim.and_then(Value::as_str);
    !takers.is_empty() && chosen.is_some_and(|chosen| !takers.contains(&chosen))
}

fn device(device: &DevicePart) -> String {
    let block_bytes = u64::from(device.page_bytes) * u64::from(device.pages_per_block);
    let system = match device.system_blocks {
        0 => String::new(),
        system => format!(", {} system blocks", count(system.into())),
    };
    format!(
        "{}: {} = {} blocks of {} pages of {}, {}{system}",
        device.chip,
        bytes(u64::from(device.logical_blocks) * block_bytes),
        count(device.logical_blocks.into()),
        device.pages_per_block,
        bytes(device.page_bytes.into()),
        extra(&output::value(device)),
    )
}

fn requests(trace: &TracePart) -> String {
    let skipped: u64 = trace.skipped.values().filter_map(Value::as_u64).sum();
    let kinds = [
        (trace.reads, "reads"),
        (trace.writes, "writes"),
        (trace.trims, "trims"),
        (trace.flushes, "flushes"),
        (skipped, "skipped"),
    ];
    let kinds = nonzero(&kinds, " + ");
    format!("{} ({}): {} requests = {kinds}", trace.name, trace.format, count(trace.requests))
}

fn host(result: &RunResult) -> String {
    let pages = &result.host_pages;
    let pages = [(pages.read, "read"), (pages.written, "written"), (pages.trimmed, "trimmed")];
    format!(
        "{}; pages: {}; {} distinct",
        moved(&result.trace),
        nonzero(&pages, ", "),
        count(result.trace.footprint_pages)
    )
}

/// The bytes that the host read and wrote.
fn moved(trace: &TracePart) -> String {
    match nonzero_sizes(&[("read", trace.read_bytes), ("wrote", trace.written_bytes)]) {
        sizes if sizes.is_empty() => "moved nothing".to_owned(),
        sizes => sizes,
    }
}

/// The sizes that are not zero, each with its name.
fn nonzero_sizes(sizes: &[(&str, u64)]) -> String {
    let sizes = sizes.iter().filter(|(_, size)| *size > 0);
    sizes.map(|(name, size)| format!("{name} {}", bytes(*size))).collect::<Vec<_>>().join(", ")
}

/// The counts that are not zero, each with its name.
fn nonzero(counts: &[(u64, &str)], separator: &str) -> String {
    let texts: Vec<String> = counts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{} {name}", count(*n)))
        .collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(separator) }
}

/// Operations by cause. Causes and kinds of operations that did not occur are left out.
fn counts(result: &RunResult) -> String {
    let kinds = [
        ("reads", result.reads),
        ("programs", result.programs),
        ("erases", result.erases),
        ("copies", result.copies),
        ("spare reads", result.spare_reads),
    ];
    let kinds: Vec<_> = kinds.into_iter().filter(|(_, kind)| kind.total > 0).collect();
    let row = |name: &str, counts: Vec<String>, time: String| {
        std::iter::once(name.to_owned()).chain(counts).chain([time]).collect::<Vec<_>>()
    };
    let names = kinds.iter().map(|(name, _)| (*name).to_owned());
    let mut table = Table::new(&row("cause", names.collect(), "time s".into()));
    for cause in nand::Cause::ALL {
        if kinds.iter().any(|(_, kind)| kind.get(cause) > 0) {
            let counts = kinds.iter().map(|(_, kind)| count(kind.get(cause)));
            table.row(&row(cause.name(), counts.collect(), seconds(result.time_us.get(cause))));
        }
    }
    let totals = kinds.iter().map(|(_, kind)| count(kind.total));
    table.row(&row("total", totals.collect(), seconds(result.time_us.total)));
    table.text()
}

fn amplification(result: &RunResult) -> String {
    let [pages, bytes] = [result.write_amplification, result.write_amplification_bytes]
        .map(|amplification| real(amplification, 4));
    let mut text = format!("write amplification  {pages} pages programmed per host page");
    if bytes != pages {
        text += &format!(", {bytes} bytes per host byte");
    }
    if result.host_pages.written > 0 && result.erases.total == 0 {
        text += "; no block was collected (see the note)";
    }
    text.push('\n');
    if let Some(merges) = &result.merges {
        let kinds = [
            (merges.switch, "switch"),
            (merges.partial, "partial"),
            (merges.full, "full"),
            (merges.dead, "dead"),
        ];
        text += &format!("merges               {}\n", nonzero(&kinds, ", "));
    }
    // What a guest says of itself must not look like what was counted.
    let is_guest = result.scheme.contains_key("guest");
    for (name, value) in result.scheme.iter().filter(|(_, value)| says_something(value)) {
        let name = match is_guest && !["guest", "release"].contains(&name.as_str()) {
            true => format!("guest {name}"),
            false => name.clone(),
        };
        text += &format!("{name:20} {}\n", metric(value));
    }
    text + &layers(result)
}

/// Parameters and metrics of the layers, each after the name of its layer.
fn layers(result: &RunResult) -> String {
    let lines = result.layers.iter().flat_map(|(layer, metrics)| {
        let metrics = metrics.iter().filter(|(_, value)| says_something(value));
        metrics.map(move |(name, value)| (format!("{layer} {name}"), value))
    });
    lines.map(|(name, value)| format!("{name:31} {}\n", metric(value))).collect()
}

/// Whether a metric fits on a line and is not zero, empty or missing.
fn says_something(value: &Value) -> bool {
    let is_nothing = value.is_null() || value.as_f64() == Some(0.0) || value.as_str() == Some("");
    !value.is_array() && !is_nothing
}

/// A metric or parameter, in the format of all numbers.
fn metric(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => match (value.as_u64(), value.as_f64()) {
            (Some(n), _) => count(n),
            (None, Some(real)) => number(real),
            (None, None) => value.to_string(),
        },
    }
}

/// Service times, and response times if there are any.
fn times(result: &RunResult) -> String {
    let mut table =
        Table::new(&["time in µs", "count", "mean", "stddev", "p50", "p90", "p99", "p99.9", "max"]);
    let kinds = [(Some(&result.service_us), ""), (result.response_us.as_ref(), " response")];
    for (times, what) in kinds {
        let Some(times) = times else { continue };
        let ops = [
            ("read", &times.read),
            ("write", &times.write),
            ("flush", &times.flush),
            ("trim", &times.trim),
        ];
        for (op, summary) in ops.into_iter().filter(|(_, summary)| summary.count > 0) {
            table.row(&latencies(&format!("{op}{what}"), summary));
        }
    }
    format!("{}{}", table.text(), throughput(result))
}

/// Throughput, with the limits of the clock that measured it.
fn throughput(result: &RunResult) -> String {
    let line = |iops, mb_per_s, of: &str| {
        format!("throughput  {} IOPS, {} MB/s of {of}\n", real(iops, 0), real(mb_per_s, 2))
    };
    match &result.drive {
        None => {
            let (iops, mb_per_s) = (result.serial_iops(), result.serial_mb_per_s());
            format!("{}{SERIAL_CAVEAT}\n", line(iops, mb_per_s, "serial time"))
        }
        Some(drive) => {
            let throughput =
                line(drive.iops, drive.mb_per_s, "the drive's time, until it was idle");
            format!("{throughput}{}{DRIVE_CAVEAT}\n", response_shares(drive))
        }
    }
}

/// Where the response times went, as far as it is not nothing.
fn response_shares(drive: &DrivePart) -> String {
    let shares = drive.shares.iter().filter_map(|(name, share)| {
        let percent = 100.0 * share.as_f64()?;
        (percent >= 0.05).then(|| format!("{name} {percent:.1} %"))
    });
    let shares: Vec<String> = shares.collect();
    match shares.is_empty() {
        true => String::new(),
        false => format!("responses   {}\n", shares.join(", ")),
    }
}

/// Several loads: what each requested, and its response times.
fn loads(tenants: &[TenantPart]) -> String {
    let mut table = Table::new(&[
        "load",
        "served",
        "left",
        "read",
        "written",
        "time s",
        "read µs",
        "p99",
        "write µs",
        "p99",
    ]);
    for tenant in tenants {
        let (trace, response) = (&tenant.trace, &tenant.response_us);
        table.row(&[
            tenant.label(),
            count(tenant.served()),
            count(tenant.not_served()),
            bytes(trace.read_bytes),
            bytes(trace.written_bytes),
            seconds(tenant.time_us),
            real(response.read.mean, 1),
            real(response.read.p99, 1),
            real(response.write.mean, 1),
            real(response.write.p99, 1),
        ]);
    }
    format!("{}left: not served when the run ended; µs: mean response time\n", table.text())
}

fn latencies(name: &str, summary: &Summary) -> Vec<String> {
    let Summary { count: n, mean, stddev, p50, p90, p99, p999, max } = *summary;
    let figures = [mean, stddev, p50, p90, p99, p999, max].map(|us| real(us, 1));
    [name.to_owned(), count(n)].into_iter().chain(figures).collect()
}

fn ends(result: &RunResult) -> String {
    let (wear, ram, wall) = (&result.wear, &result.ram_bytes, &result.wall);
    let lifetime = match result.endurance.host_bytes_until_worn {
        Some(host_bytes) => format!(
            "{} or {} drive writes until all blocks, extra ones too, reach {} cycles",
            tbw(host_bytes as f64),
            real(result.endurance.drive_writes, 0),
            count(result.endurance.cycles.into())
        ),
        None if result.write_amplification_bytes.is_none_or(|cost| cost == 0.0) => {
            "nothing was written".into()
        }
        None => "unknown: the measured pass is too short to fill the extra blocks once".into(),
    };
    let parts = [
        ("map", ram.map),
        ("cache", ram.cache),
        ("buffer", ram.buffer),
        ("other", ram.other + ram.sector_map),
    ];
    let ram = match ram.total {
        0 => "not reported by the guest".into(),
        total => format!("{}: {}", bytes(total), nonzero_sizes(&parts)),
    };
    let media = result.media.as_ref().map_or_else(String::new, media);
    format!(
        "wear       {} to {} erases per block, mean {}, standard deviation {}\n\
         {media}endurance  {lifetime}\n\
         RAM        {ram}\n\
         wall       {:.2} s; {} requests/s in the measured pass; at most {} of memory\n",
        count(wear.min.into()),
        count(wear.max.into()),
        decimals(wear.mean, 2),
        decimals(wear.stddev, 2),
        wall.seconds,
        count(wall.requests_per_second as u64),
        wall.peak_rss_bytes.map_or("an unknown amount".into(), bytes),
    )
}

/// The line about media that can fail.
fn media(media: &MediaPart) -> String {
    let end = if media.read_only { "; the device is read-only" } else { "" };
    format!(
        "media      bad from the factory {}, retired since {}, in reserve {}; failed programs {}, \
         erases {}, requests {}{end}\n",
        count(media.factory_bad),
        count(media.retired),
        count(media.in_reserve),
        count(media.program_failures),
        count(media.erase_failures),
        count(media.failed_requests),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metrics_have_the_format_of_all_numbers() {
        let shown =
            [json!(1_234_567), json!(0.419_587), json!(5_508.3), json!("page"), json!(true)];
        let wanted = ["1,234,567", "0.4196", "5,508", "page", "true"];
        assert_eq!(shown.each_ref().map(metric), wanted);
        for silent in [json!(0), json!(0.0), json!(null), json!([1, 2])] {
            assert!(!says_something(&silent), "{silent}");
        }
    }

    #[test]
    fn counts_of_zero_are_left_out() {
        assert_eq!(
            nonzero(&[(1200, "reads"), (0, "trims"), (5, "writes")], " + "),
            "1,200 reads + 5 writes"
        );
        assert_eq!(nonzero(&[(0, "trims")], " + "), "none");
    }
}
