//! The description of a trace: the JSON of `ftlab trace info`.

use serde_json::{Map, Value, json};
use sim::{Experiment, Progress, Setup, Stage};
use spec::Spec;
use trace::Trace;
use trace::analysis::locality::{
    Distribution, PAGE_SIZES, SizeUpdates, TOP_PERCENTS, TraceLocality, locality,
};
use trace::analysis::survey::{DeviceSurvey, RequestSizes, Survey, survey};

use crate::output;

/// The pages in which statistics of traces are usually published.
pub const PUBLISHED_PAGE_BYTES: u64 = 4096;

/// The bytes of a page in which a trace is described: whole sectors.
///
/// # Errors
/// A sentence with the number.
pub fn parse_page(text: &str) -> Result<u32, String> {
    let bytes = spec::parse_size(text).map_err(|error| error.to_string())?;
    match u32::try_from(bytes) {
        Ok(page) if page >= 512 && page.is_multiple_of(512) => Ok(page),
        _ => Err(format!(
            "a page of {bytes} bytes is not a whole number of sectors of 512 bytes below 4 GiB"
        )),
    }
}

/// The setup of a run of this trace with these options, so that a workload generates the same
/// requests here as in a run.
///
/// # Errors
/// An option is wrong.
pub fn setup(trace: &str, options: &Experiment, page_bytes: Option<u32>) -> sim::Result<Setup> {
    let mut chip = Spec::parse(&options.chip)?;
    chip.pairs.extend(page_bytes.map(|bytes| ("page".to_owned(), bytes.to_string())));
    let (trace, chip) = (Some(trace.to_owned()), chip.to_string());
    Setup::new(&Experiment { trace, chip, ..options.clone() })
}

/// The pages in which the trace of a setup is described: those that are asked for, or 4 KiB, or for
/// a workload those of the chip.
pub fn page_bytes(setup: &Setup, asked: Option<u32>) -> u64 {
    match asked {
        Some(bytes) => bytes.into(),
        None if setup.traces[0].trace.is_workload() => setup.chip.page_bytes.into(),
        None => PUBLISHED_PAGE_BYTES,
    }
}

/// The statistics of a trace. If they are brief, the locality of its writes is left out, which
/// needs a second pass over the trace.
///
/// # Errors
/// The trace cannot be read, or the reading is stopped.
///
/// # Panics
/// If `page_bytes` is less than a sector of 512 bytes.
pub fn statistics(
    trace: &Trace,
    page_bytes: u64,
    is_brief: bool,
    progress: &dyn Progress,
) -> sim::Result<(Survey, Option<TraceLocality>)> {
    let length = trace.size_hint_bytes();
    let report = |position| progress.report(Stage::Survey, position, length);
    let survey = survey(trace, page_bytes, report)?;
    let locality = if is_brief { None } else { Some(locality(trace, page_bytes, report)?) };
    Ok((survey, locality))
}

/// The description as JSON, with a newline at the end.
///
/// # Errors
/// The trace cannot be read.
pub fn json(
    trace: &Trace,
    survey: &Survey,
    locality: Option<&TraceLocality>,
) -> trace::Result<String> {
    let mut json = as_json(trace, survey, trace.sha256()?);
    json["locality"] = locality.map_or(Value::Null, locality_json);
    Ok(output::json(&json))
}

fn as_json(trace: &Trace, survey: &Survey, sha256: Option<String>) -> Value {
    let sizes = survey.data_sizes();
    json!({
        "schema": "ftlab.trace/1",
        "name": trace.name(),
        "format": trace.format(),
        "notes": survey.notes,
        "sha256": sha256,
        "page_bytes": survey.page_bytes,
        "requests": survey.requests(),
        "reads_and_writes": survey.data_requests(),
        "reads": sizes_json(&survey.reads),
        "writes": sizes_json(&survey.writes),
        "trims": sizes_json(&survey.trims),
        "flushes": survey.flushes,
        "preflush": survey.flags.preflush,
        "fua": survey.flags.fua,
        "sync": survey.flags.sync,
        "metadata": survey.flags.meta,
        "readahead": survey.flags.readahead,
        "mean_sectors": sizes.mean_sectors(),
        "median_sectors": sizes.median_sectors(),
        "end_bytes": survey.end_bytes(),
        "pages": {
            "written": survey.pages.written,
            "read": survey.pages.read,
            "touched": survey.pages.touched,
            "trimmed": survey.pages.trimmed,
            "rewritten": survey.pages.rewritten,
        },
        "aligned": survey.aligned.all,
        "aligned_writes": survey.aligned.writes,
        "unaligned": survey.unaligned(),
        "writes_below_4_sectors": survey.writes.below_sectors(4),
        "writes_below_8_sectors": survey.writes.below_sectors(8),
        "span_seconds": survey.span_ns as f64 / 1e9,
        "backward_times": survey.skipped.backward_times,
        "other_lines": survey.skipped.other_lines,
        "skipped": skipped(survey),
        "devices": devices(survey),
    })
}

fn sizes_json(sizes: &RequestSizes) -> Value {
    let buckets =
        sizes.buckets().into_iter().map(|bucket| (bucket.label(), bucket.requests.into()));
    json!({
        "requests": sizes.requests(),
        "bytes": sizes.bytes() as u64,
        "sectors": buckets.collect::<Map<String, Value>>(),
    })
}

fn skipped(survey: &Survey) -> Map<String, Value> {
    survey.skipped.iter().map(|(why, count)| (why.to_owned(), count.into())).collect()
}

fn devices(survey: &Survey) -> Vec<Value> {
    let device = |device: &DeviceSurvey| {
        json!({
            "name": device.name,
            "requests": device.requests,
            "end_bytes": device.end_bytes,
            "touched_pages": device.touched.len(),
        })
    };
    survey.devices.iter().map(device).collect()
}

/// The locality as JSON; shares are between 0 and 1.
fn locality_json(found: &TraceLocality) -> Value {
    let shares = |keys: &[String], shares: &[f64]| -> Value {
        keys.iter().cloned().zip(shares.iter().map(|&share| json!(share))).collect()
    };
    let percents: Vec<String> = TOP_PERCENTS.iter().map(u32::to_string).collect();
    let sizes: Vec<String> = PAGE_SIZES.iter().map(u64::to_string).collect();
    json!({
        "page_bytes": found.page_bytes,
        "page_writes": found.page_writes,
        "pages_written": found.pages_written,
        "writes_to_top_percent": shares(&percents, &found.top_shares),
        "write_interval_cdf": cumulative(&found.intervals.all),
        "mean_write_interval_cdf": cumulative(&found.intervals.page_means),
        "updates_by_request_size": found.updates.iter().map(update).collect::<Vec<_>>(),
        "sub_page_share": shares(&sizes, &found.sub_page_shares),
        "sequential_reads": found.reads.sequential,
        "sequential_writes": found.writes.sequential,
        "left_out": found.absurd,
    })
}

fn cumulative(distribution: &Distribution) -> Vec<Value> {
    distribution.cumulative().map(|(below, share)| json!([below, share])).collect()
}

fn update(class: &SizeUpdates) -> Value {
    json!({
        "sectors_max": class.sectors_max,
        "requests": class.requests,
        "page_writes": class.page_writes,
        "rewrites": class.rewrites,
        "mean_earlier_writes": class.earlier_writes as f64 / class.page_writes.max(1) as f64,
    })
}
