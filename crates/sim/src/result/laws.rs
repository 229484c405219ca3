//! Equations that every result obeys. They are asserted at the end of every run, in release builds
//! too: if one is broken, this program has a bug, and no figure of that run can be trusted.
//!
//! ```text
//! requests read from the trace = served + skipped
//! programs.host                = host_pages.written
//! free pages before + pages_per_block × erases − pages lost = programs + free pages now
//! copies                       ≤ reads and programs of the same cause
//! time_us.total                = Σ of its fields = Σ count × latency = Σ service times
//! sum of wear                  = erases since the device was new
//! every total                  = Σ over the causes
//! pages that come to a layer   = pages that the one above handed down
//! requests, bytes, pages, time = Σ over the tenants, if there are any
//! operations of the drive      = operations counted, and the drive's own laws
//! ```
//! Each layer states the laws of its own counts, beside the layer in `ftl`. The laws that follow
//! each page of a request hold as long as the media lose none: a request that fails was served in
//! part, and a layer repeats a run of which a page was lost.

use ftl::LAYERS;
use ftl::layer::{Layer, LayerEvidence};
use nand::{Cause, Op};
use serde_json::Value;

use crate::result::counts::{Causes, HostPages};
use crate::result::run_result::{GUEST, RunResult};
use crate::result::trace_part::TracePart;

/// Asserts every law.
///
/// # Panics
/// If a law is broken; the message has its figures.
pub fn assert_all(result: &RunResult) {
    if let Err(broken) = check_all(result) {
        panic!("{}: a law of counting is broken: {broken}", result.ftl.name);
    }
}

/// Checks every law.
///
/// # Errors
/// The first law that is broken, with its figures.
pub fn check_all(result: &RunResult) -> Result<(), String> {
    requests_are_served_or_skipped(result)?;
    if result.media.as_ref().is_none_or(|media| media.unreadable_pages == 0) {
        a_host_page_is_a_host_program(result)?;
        pages_pass_through_the_layers(result)?;
    }
    no_page_appears_or_vanishes(result)?;
    a_copy_is_a_read_and_a_program(result)?;
    totals_are_sums(result)?;
    time_is_count_times_latency(result)?;
    wear_is_erases(result)?;
    tenants_add_up(result)?;
    the_drive_did_what_was_counted(result)
}

/// An equation of exact counts.
fn equal(law: &str, left: u128, right: u128) -> Result<(), String> {
    match left == right {
        true => Ok(()),
        false => Err(format!("{law}: {left} is not {right}")),
    }
}

/// An equation of times, each of which is rounded to 53 bits.
fn close(law: &str, left: f64, right: f64) -> Result<(), String> {
    match (left - right).abs() <= 1e-9 * left.abs().max(right.abs()) {
        true => Ok(()),
        false => Err(format!("{law}: {left} is not {right}")),
    }
}

fn requests_are_served_or_skipped(result: &RunResult) -> Result<(), String> {
    let trace = &result.trace;
    let served = trace.reads + trace.writes + trace.trims + trace.flushes;
    let skipped: u64 = trace.skipped.values().filter_map(|count| count.as_u64()).sum();
    equal("requests = served + skipped", trace.requests.into(), (served + skipped).into())?;
    equal("requests = read", trace.requests.into(), result.evidence.requests_read.into())?;
    let service = &result.service_us;
    let timed = service.read.count + service.write.count + service.trim.count + service.flush.count;
    equal("requests timed = served", timed.into(), served.into())
}

fn a_host_page_is_a_host_program(result: &RunResult) -> Result<(), String> {
    if result.ftl.name == GUEST {
        // A guest names the causes, and its pages may have another size.
        return Ok(());
    }
    let (programs, written) = (result.programs.host, result.host_pages.written);
    equal("programs.host = host_pages.written", programs.into(), written.into())
}

fn no_page_appears_or_vanishes(result: &RunResult) -> Result<(), String> {
    // What moves from a block that failed, or to another one to level the wear, keeps its place for
    // the FTL. A guest levels its own.
    let is_guest = result.ftl.name == GUEST;
    let by_ftl = |counts: &Causes| {
        let levelled = if is_guest { 0 } else { counts.wear };
        u128::from(counts.total - counts.media - levelled)
    };
    let erased = u128::from(result.device.pages_per_block) * by_ftl(&result.erases);
    equal(
        "free pages before + erased = programs + lost + free pages after",
        u128::from(result.evidence.free_pages_before) + erased,
        by_ftl(&result.programs)
            + u128::from(result.evidence.lost_pages)
            + u128::from(result.evidence.free_pages_after),
    )
}

fn a_copy_is_a_read_and_a_program(result: &RunResult) -> Result<(), String> {
    for cause in Cause::ALL {
        let copies = result.copies.get(cause);
        let (reads, programs) = (result.reads.get(cause), result.programs.get(cause));
        if copies > reads.min(programs) {
            let name = cause.name();
            return Err(format!("{name}: {copies} copies, {reads} reads, {programs} programs"));
        }
    }
    Ok(())
}

fn totals_are_sums(result: &RunResult) -> Result<(), String> {
    let sum = |law, causes: &Causes| {
        let sum: u64 = causes.iter().map(|(_, count)| count).sum();
        equal(law, causes.total.into(), sum.into())
    };
    sum("reads.total = Σ", &result.reads)?;
    sum("programs.total = Σ", &result.programs)?;
    sum("erases.total = Σ", &result.erases)?;
    sum("copies.total = Σ", &result.copies)?;
    sum("spare_reads.total = Σ", &result.spare_reads)
}

fn time_is_count_times_latency(result: &RunResult) -> Result<(), String> {
    let (time, latency) = (&result.time_us, &result.device.timing);
    let fields = time.dram + Cause::ALL.map(|cause| time.get(cause)).iter().sum::<f64>();
    close("time_us.total = Σ of its fields", time.total, fields)?;
    let counted = result.reads.total as f64 * latency.read_us
        + result.spare_reads.total as f64 * latency.spare_read_us
        + result.programs.total as f64 * latency.program_us
        + result.erases.total as f64 * latency.erase_us
        + result.evidence.dram_ns as f64 / 1000.0;
    close("time_us.total = Σ count × latency", time.total, counted)?;
    let sum_us = |ns: u128| ns as f64 / 1000.0;
    close("time_us.total = Σ service", time.total, sum_us(result.evidence.service_sum_ns))?;
    let increments = sum_us(result.evidence.increment_sum_ns);
    close("time_us.total = host + Σ increments", time.total, time.host + increments)
}

fn the_drive_did_what_was_counted(result: &RunResult) -> Result<(), String> {
    let (Some(usage), Some(part)) = (&result.evidence.drive, &result.drive) else { return Ok(()) };
    usage.check_laws()?;
    let counted = [&result.reads, &result.spare_reads, &result.programs, &result.erases];
    for (op, causes) in Op::ALL.into_iter().zip(counted) {
        let law = format!("{} operations of the drive = counted", op.name());
        equal(&law, usage.ended[op as usize].into(), causes.total.into())?;
    }
    equal("requests of the drive = served", usage.answered.into(), result.trace.served().into())?;
    let ns = (usage.until_ns - usage.since_ns) as f64;
    let answered = part.iops.map_or(usage.answered as f64, |iops| iops * ns / 1e9);
    close("requests per second × seconds = requests", answered, usage.answered as f64)
}

fn wear_is_erases(result: &RunResult) -> Result<(), String> {
    let (wear, erases) = (result.evidence.wear_sum, result.evidence.erases_since_birth);
    equal("sum of wear = erases since birth", wear.into(), erases.into())
}

/// The loads together are the run.
fn tenants_add_up(result: &RunResult) -> Result<(), String> {
    let Some(tenants) = &result.tenants else { return Ok(()) };
    let (trace, asked) = (&result.trace, &result.evidence.asked);
    type Count = fn(&TracePart) -> u64;
    let counts: [(&str, Count); 12] = [
        ("requests", |trace| trace.requests),
        ("reads", |trace| trace.reads),
        ("writes", |trace| trace.writes),
        ("trims", |trace| trace.trims),
        ("flushes", |trace| trace.flushes),
        ("read_bytes", |trace| trace.read_bytes),
        ("written_bytes", |trace| trace.written_bytes),
        ("trimmed_bytes", |trace| trace.trimmed_bytes),
        ("trims_of_no_page", |trace| trace.trims_of_no_page),
        ("preflushes", |trace| trace.preflushes),
        ("fua", |trace| trace.fua),
        ("skipped", |trace| trace.skipped.values().filter_map(Value::as_u64).sum()),
    ];
    for (name, count) in counts {
        let sum = tenants.iter().map(|tenant| count(&tenant.trace)).fold(0, u64::saturating_add);
        equal(&format!("{name} = Σ over the tenants"), count(trace).into(), sum.into())?;
    }
    let pages = |pages: fn(&HostPages) -> u64| -> (u128, u128) {
        let sum: u64 = tenants.iter().map(|tenant| pages(&tenant.host_pages)).sum();
        (pages(asked).into(), sum.into())
    };
    for (law, (all, sum)) in [
        ("pages read = Σ over the tenants", pages(|pages| pages.read)),
        ("pages written = Σ over the tenants", pages(|pages| pages.written)),
        ("pages trimmed = Σ over the tenants", pages(|pages| pages.trimmed)),
    ] {
        equal(law, all, sum)?;
    }
    for tenant in tenants {
        for times in [&tenant.service_us, &tenant.response_us] {
            let timed = [times.read.count, times.write.count, times.trim.count, times.flush.count];
            let law = format!("{}: requests timed = served", tenant.trace.name);
            equal(&law, timed.iter().sum::<u64>().into(), tenant.served().into())?;
        }
    }
    let time_us: f64 = tenants.iter().map(|tenant| tenant.time_us).sum();
    close("time_us.total = Σ over the tenants", result.time_us.total, time_us)
}

/// What a layer hands down is what comes to the layer below, and what the lowest one hands down
/// enters the scheme.
fn pages_pass_through_the_layers(result: &RunResult) -> Result<(), String> {
    let mut came = result.evidence.asked;
    for &(name, went_down) in &result.evidence.handed_down {
        let layer = LAYERS.iter().find(|layer| layer.name == name);
        layer_keeps_its_laws(result, layer.expect("a layer of the list"), came, went_down)?;
        came = went_down;
    }
    let entered = result.host_pages;
    equal("reads handed down = entered", came.read.into(), entered.read.into())?;
    equal("writes handed down = entered", came.written.into(), entered.written.into())?;
    equal("trims handed down = entered", came.trimmed.into(), entered.trimmed.into())
}

/// The laws that a layer states.
fn layer_keeps_its_laws(
    result: &RunResult,
    layer: &Layer,
    came: HostPages,
    went_down: HostPages,
) -> Result<(), String> {
    let part = result.layers.get(&layer.key());
    let count =
        |metric: &str| part.and_then(|part| part.get(metric)).and_then(Value::as_u64).unwrap_or(0);
    let operations = |op, cause| match op {
        Op::Read => result.reads.get(cause),
        Op::SpareRead => result.spare_reads.get(cause),
        Op::Program => result.programs.get(cause),
        Op::Erase => result.erases.get(cause),
    };
    (layer.laws)(&LayerEvidence {
        count: &count,
        operations: &operations,
        came: came.into(),
        went_down: went_down.into(),
    })
}
