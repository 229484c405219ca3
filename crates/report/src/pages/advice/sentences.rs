//! The sentences of an advice, question by question, and its tables.

use sim::advise::AdvisedDevice;
use sim::advise::answer::Answer;
use sim::advise::confidence::Confidence;
use sim::advise::effects::{Effect, Effects};
use sim::advise::endurance::{ClassEndurance, Endurance};
use sim::advise::latency::{DepthLatency, Latency};
use sim::advise::look::Look;
use sim::advise::spare::Spare;
use sim::result::latencies::Summary;
use sim::sizing::bound::{Bound, BoundRun};

use crate::figure::DataTable;
use crate::headline::bound::law;
use crate::headline::sizing::in_the_long_run;
use crate::number_format::{bytes, count, decimals, number, percent};

/// A share as per cent with a digit, and its sign.
fn signed(share: f64) -> String {
    let sign = if share > 0.0 { "+" } else { "" };
    format!("{sign}{} %", decimals(100.0 * share, 1))
}

fn plus_minus(spread: f64) -> String {
    format!("± {} %", decimals(100.0 * spread, 1))
}

// ---- Load and device ----------------------------------------------------------------------------

/// What the trace does.
pub fn look(look: &Look) -> Vec<String> {
    let span = match look.span_s {
        Some(span_s) => format!("in {} s", number(span_s)),
        None => "without times".to_owned(),
    };
    let requests = format!(
        "{}: {} writes of {}, {} reads of {}, {} discards, {} flushes, {span}.",
        look.trace,
        count(look.writes),
        bytes(look.written_bytes),
        count(look.reads),
        bytes(look.read_bytes),
        count(look.trims),
        count(look.flushes)
    );
    if look.writes == 0 {
        return vec![requests];
    }
    let touched = look.touched_pages.saturating_mul(look.page_bytes);
    let rewrites = 100.0 * look.rewrites as f64 / look.page_writes.max(1) as f64;
    let pace = look.days_to_write(touched).map_or(String::new(), |days| {
        let per_day = look.bytes_per_day().unwrap_or(0.0);
        format!(" At this rate it writes {} a day, and {}.", bytes(per_day as u64), pace(days))
    });
    vec![
        requests,
        format!(
            "It touches {} and writes {} of them; {} % of its page writes go to pages that it \
             wrote before.{pace}",
            bytes(touched),
            bytes(look.written_pages.saturating_mul(look.page_bytes)),
            decimals(rewrites, 1)
        ),
    ]
}

/// How long writing the touched pages once takes.
fn pace(days: f64) -> String {
    let all = "as much as it touches in";
    match days {
        1.0.. => format!("{all} {} days", number(days)),
        _ if days * 24.0 >= 1.0 => format!("{all} {} hours", number(days * 24.0)),
        _ if days * 1440.0 >= 1.0 => format!("{all} {} minutes", number(days * 1440.0)),
        _ => format!("{all} {} seconds", number(days * 86_400.0)),
    }
}

/// The device that stands for the drive.
pub fn device(look: &Look, device: &AdvisedDevice, is_measured: bool) -> Vec<String> {
    let extra = device.extra_blocks as f64 / device.logical_blocks as f64;
    let consists = match device.fit {
        "compact" => "It has the pages that the trace touches, and no cold ones",
        _ => "It has the addresses of the trace",
    };
    let writes = look.page_writes as f64 * look.page_bytes as f64 / device.capacity_bytes as f64;
    let writes = number(writes);
    let measured = match device.round_passes {
        _ if !is_measured => String::new(),
        1 => format!("; the trace writes it {writes} times and is repeated until it is steady"),
        passes => format!(
            "; the trace is short: it writes the device {writes} times, so it is repeated in \
             rounds of {passes} passes until they are steady"
        ),
    };
    vec![
        format!(
            "{} on {}: {} in {} blocks of {}, and {} extra ({} %).",
            device.ftl,
            device.chip,
            bytes(device.capacity_bytes),
            count(device.logical_blocks),
            bytes(device.block_bytes),
            count(device.extra_blocks),
            percent(extra)
        ),
        format!("{consists}{measured}."),
    ]
}

// ---- Answers ------------------------------------------------------------------------------------

/// The over-provisioning for the target, and what the drive's own gives.
pub fn spare(spare: &Spare, spread: Option<f64>) -> Vec<String> {
    let blocks = spare.sizing.logical_blocks as f64;
    let target = number(spare.target);
    let found = match &spare.sizing.least {
        Some(least) => format!(
            "Write amplification of at most {target} needs {} % over-provisioning, (T − U) / U; \
             (T − U) / T is {} %. It is found in steps of {} %{}.",
            percent(least.over_provisioning.of_capacity),
            percent(least.over_provisioning.of_flash),
            percent(spare.step_blocks as f64 / blocks),
            spare
                .sizing
                .range
                .as_ref()
                .map_or(String::new(), |it| format!(": {}", in_the_long_run(it)))
        ),
        None => {
            let why = spare.sizing.unreached(spare.target, "give a larger `--target`");
            format!("Write amplification of {target}: {why}.")
        }
    };
    let sure = spread.map_or(String::new(), |spread| format!(" {}", plus_minus(spread)));
    vec![
        found,
        format!(
            "The drive's own {} % give {}{sure} ({} in bytes, with what small requests cost). If \
             as much again is cold, it is {}.",
            percent(spare.own.of_capacity),
            decimals(spare.write_amplification, 3),
            decimals(spare.write_amplification_bytes, 3),
            decimals(spare.half_cold, 3)
        ),
    ]
}

/// A row for each class of drives.
pub fn endurance_table(endurance: &Endurance) -> DataTable {
    let head = [
        "class",
        "capacity",
        "extra",
        "WA in bytes",
        "flash bears DWPD",
        "load DWPD",
        "years",
        "by its rating",
    ];
    DataTable::new(head, endurance.classes.iter().map(class_row))
}

/// What the years mean, and why there may be none.
pub fn endurance(endurance: &Endurance, spread: Option<f64>) -> Vec<String> {
    let mut lines = Vec::new();
    let sure = spread.map_or(String::new(), |spread| format!(" ({})", plus_minus(spread)));
    lines.push(format!(
        "Years{sure} until flash of {} P/E cycles is worn out evenly, and until the drive has \
         written what it is rated for. With more of the drive cold or free it lasts longer.",
        count(endurance.cycles.into())
    ));
    if let Some(refusal) = endurance.bytes_per_day.refused() {
        lines.push(format!("No years: {}", refusal.why));
        lines.push(refusal.instead.clone());
    }
    if let Some(life) = &endurance.unlevelled {
        let share = life.drive_writes / life.drive_writes_if_even;
        lines.push(format!(
            "A drive that does not level wear reaches {} % of that: a life on flash of {} cycles \
             took {} drive writes of {}.",
            decimals(100.0 * share, 0),
            life.cycles,
            number(life.drive_writes),
            number(life.drive_writes_if_even)
        ));
    }
    lines
}

fn class_row(class: &ClassEndurance) -> Vec<String> {
    let years = |years: Option<f64>| years.map_or("–".to_owned(), number);
    let rating = &class.class;
    vec![
        rating.name.to_owned(),
        format!("{} GB", count(rating.capacity_bytes / 1_000_000_000)),
        rating.extra.to_owned(),
        decimals(class.write_amplification_bytes, 3),
        number(class.flash_dwpd),
        years(class.load_dwpd),
        years(class.years),
        format!("{} ({} DWPD)", years(class.rated_years), number(rating.rated_dwpd)),
    ]
}

/// A row for each queue depth.
pub fn latency_table(latency: &Latency) -> DataTable {
    let head = [
        "queue depth",
        "IOPS",
        "MB/s",
        "read p50, µs",
        "p99",
        "p99.9",
        "write p50, µs",
        "p99",
        "p99.9",
    ];
    DataTable::new(head, latency.depths.iter().map(depth_row))
}

/// The drive, and how it was asked.
pub fn latency(latency: &Latency) -> Vec<String> {
    let costs = latency.depths.first().and_then(|depth| depth.write_amplification);
    let costs = costs.map_or(String::new(), |costs| {
        format!(" With its blocks, write amplification is {}.", decimals(costs, 3))
    });
    vec![format!(
        "Drive {}, in the trace's own mix, as fast as it answers.{costs}{}",
        latency.drive,
        latency.fit.map_or(String::new(), |fit| format!(" {fit}"))
    )]
}

fn depth_row(depth: &DepthLatency) -> Vec<String> {
    let us = |summary: &Summary| {
        [summary.p50, summary.p99, summary.p999].map(|time| real(time, 0)).to_vec()
    };
    let rates = vec![count(depth.depth.into()), real(depth.iops, 0), real(depth.mb_per_s, 1)];
    [rates, us(&depth.read), us(&depth.write)].concat()
}

/// What discards, streams and a buffer change.
pub fn effects(effects: &Effects, chance: f64) -> Vec<String> {
    let mut lines = match &effects.discards {
        Answer::Found(discards) => vec![effect(discards, chance)],
        Answer::Refused(refusal) => vec![format!("{} {}", refusal.why, refusal.instead)],
    };
    lines.extend(effects.streams.iter().map(|it| effect(it, chance)));
    let buffer = effect(&effects.buffer, chance);
    let share = percent(effects.buffer_share);
    lines.push(format!("{buffer} The buffer has {share} % of the size of the device."));
    lines
}

/// A small change may be chance.
fn effect(effect: &Effect, chance: f64) -> String {
    let sure = match effect.change.abs() <= chance {
        true => format!(", which may be chance ({})", plus_minus(chance)),
        false => String::new(),
    };
    let mut what = effect.what.to_owned();
    what[..1].make_ascii_uppercase();
    format!(
        "{what} (`{}`): {} bytes programmed per host byte in place of {}, {}{sure}.",
        effect.options,
        decimals(effect.with, 3),
        decimals(effect.without, 3),
        signed(effect.change)
    )
}

/// How far the placements are from the oracle, and its law.
pub fn placement(bound: &Bound) -> Vec<String> {
    let least = |runs: &[BoundRun]| {
        let cheaper =
            |a: &&BoundRun, b: &&BoundRun| a.write_amplification.total_cmp(&b.write_amplification);
        let best = runs.iter().min_by(cheaper).expect("there are runs");
        (best.ftl.clone(), best.write_amplification)
    };
    let (own, (best, best_cost), (oracle, oracle_cost)) =
        (&bound.schemes[0], least(&bound.schemes), least(&bound.oracle));
    let others: Vec<String> = bound.schemes[1..]
        .iter()
        .map(|run| format!("{} {}", run.ftl, decimals(run.write_amplification, 3)))
        .collect();
    let copies = (own.write_amplification - best_cost) / (own.write_amplification - oracle_cost);
    let share = match copies.is_finite() && own.write_amplification - oracle_cost > 0.001 {
        true => format!(
            " The best of them, {best}, gets {} % of what the oracle saves.",
            decimals(100.0 * copies, 0)
        ),
        false => String::new(),
    };
    vec![
        format!(
            "Over a single pass, {} has {}, {}; {oracle}, which knows when each page dies, \
             {}.{share}",
            own.ftl,
            decimals(own.write_amplification, 3),
            others.join(", "),
            decimals(oracle_cost, 3)
        ),
        law(&bound.law),
    ]
}

/// Where the uncertainty comes from.
pub fn confidence(confidence: &Confidence) -> Vec<String> {
    let all =
        |values: &[f64]| values.iter().map(|&it| decimals(it, 3)).collect::<Vec<_>>().join(" and ");
    let mut lines = Vec::new();
    let around: Vec<String> = confidence
        .neighbours
        .iter()
        .map(|&(extra, cost)| format!("{} {}", count(extra), decimals(cost, 3)))
        .collect();
    lines.push(format!(
        "{} in all. By extra blocks: {}; {} off a line.",
        plus_minus(confidence.spread),
        around.join(", "),
        plus_minus(confidence.resonance)
    ));
    lines.push(match &confidence.halves {
        Answer::Found(halves) => format!(
            "The halves of the trace, each on a device of its own pages, have {}.",
            all(halves)
        ),
        Answer::Refused(refusal) => refusal.why.clone(),
    });
    lines.extend(confidence.seeds.iter().map(|seeds| format!("Other seeds have {}.", all(seeds))));
    if !confidence.steady {
        lines.push("The device did not become steady, so none of this is sure.".to_owned());
    }
    lines
}

fn real(value: Option<f64>, places: usize) -> String {
    value.map_or("–".into(), |value| decimals(value, places))
}
