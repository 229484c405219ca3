//! What every result obeys. Asserted at the end of every run, in release builds too: a broken law
//! is a mistake in this program, and no figure of such a run can be trusted.
//!
//! ```text
//! requests read from the trace = served + skipped
//! programs.host                = host_pages.written
//! free pages at the start + pages_per_block × erases − pages lost = programs + free pages now
//! copies                       ≤ reads and programs of the same cause
//! time_us.total                = Σ of its fields = Σ count × latency = Σ service times
//! sum of wear                  = erases since birth
//! every total                  = Σ over the causes
//!
//! under a write buffer:
//! hits + misses                = pages that the host asked for
//! waiting before + soiled      = waiting now + evicted + drained + dropped by trims
//! evicted + drained            = pages that it handed down
//!
//! under a sector log (SL §4.4), in sectors but for the last four:
//! programmed + waiting         = of partial writes + waiting before − replaced and taken meanwhile
//! N × pages programmed         = programmed + padding + recovery addresses
//! growth of distinct ones      = of partial writes − hits − left
//! whole + partial writes       = pages that came from above
//! whole writes + evicted pages = pages that it handed down
//! programs and erases of cause log = pages programmed, blocks cleaned
//! reads of cause log           = pages read by cleaning and for the host
//! ```

use nand::Cause;
use serde_json::{Map, Value};

use crate::result::run_result::{Causes, RunResult};
use crate::run::simulator::HostPages;

/// What the laws need besides the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// Requests that the reader delivered or skipped.
    pub requests_read: u64,
    /// Pages that could be programmed when the measured pass began.
    pub free_pages_before: u64,
    /// The same at its end.
    pub free_pages_after: u64,
    /// Pages skipped, or unfilled when their block was erased, in the measured pass.
    pub lost_pages: u64,
    /// Σ of the blocks' wear.
    pub wear_sum: u64,
    /// Erases counted since birth.
    pub erases_since_birth: u64,
    /// Pages that the host asked for; where no layer stands above the scheme they all entered it.
    pub asked: HostPages,
    /// Accesses to the layers' DRAM × their time.
    pub dram_ns: u64,
    /// Σ of all service times.
    pub service_sum_ns: u128,
    /// Σ of what they are above the host's own pages.
    pub increment_sum_ns: u128,
}

/// Asserts every law.
///
/// # Panics
/// If one is broken, with its figures.
pub fn assert_all(result: &RunResult, evidence: &Evidence) {
    if let Err(broken) = check_all(result, evidence) {
        panic!("{}: a law of counting is broken: {broken}", result.ftl.name);
    }
}

/// Looks for a broken law.
///
/// # Errors
/// The first one that is broken, with its figures.
pub fn check_all(result: &RunResult, evidence: &Evidence) -> Result<(), String> {
    requests_are_served_or_skipped(result, evidence)?;
    a_host_page_is_a_host_program(result)?;
    no_page_appears_or_vanishes(result, evidence)?;
    a_copy_is_a_read_and_a_program(result)?;
    totals_are_sums(result)?;
    time_is_count_times_latency(result, evidence)?;
    wear_is_erases(evidence)?;
    if let Some(buffer) = &result.layers.buffer {
        a_buffer_loses_nothing(buffer, result, evidence)?;
    }
    match &result.layers.sector_log {
        Some(log) => a_sector_log_loses_nothing(log, result, evidence),
        None => Ok(()),
    }
}

/// An equation of exact counts.
fn equal(law: &str, left: u128, right: u128) -> Result<(), String> {
    match left == right {
        true => Ok(()),
        false => Err(format!("{law}: {left} is not {right}")),
    }
}

/// An equation of times, which are rounded to 53 bits each.
fn close(law: &str, left: f64, right: f64) -> Result<(), String> {
    match (left - right).abs() <= 1e-9 * left.abs().max(right.abs()) {
        true => Ok(()),
        false => Err(format!("{law}: {left} is not {right}")),
    }
}

fn requests_are_served_or_skipped(result: &RunResult, evidence: &Evidence) -> Result<(), String> {
    let trace = &result.trace;
    let served = trace.reads + trace.writes + trace.trims + trace.flushes;
    let skipped: u64 = trace.skipped.values().filter_map(|count| count.as_u64()).sum();
    equal("requests = served + skipped", trace.requests.into(), (served + skipped).into())?;
    equal("requests = read", trace.requests.into(), evidence.requests_read.into())?;
    let service = &result.service_us;
    let timed = service.read.count + service.write.count + service.trim.count + service.flush.count;
    equal("requests timed = served", timed.into(), served.into())
}

fn a_host_page_is_a_host_program(result: &RunResult) -> Result<(), String> {
    let (programs, written) = (result.programs.host, result.host_pages.written);
    equal("programs.host = host_pages.written", programs.into(), written.into())
}

fn no_page_appears_or_vanishes(result: &RunResult, evidence: &Evidence) -> Result<(), String> {
    let erased = u128::from(result.device.pages_per_block) * u128::from(result.erases.total);
    equal(
        "free pages before + erased = programs + lost + free pages after",
        u128::from(evidence.free_pages_before) + erased,
        u128::from(result.programs.total)
            + u128::from(evidence.lost_pages)
            + u128::from(evidence.free_pages_after),
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

fn time_is_count_times_latency(result: &RunResult, evidence: &Evidence) -> Result<(), String> {
    let (time, latency) = (&result.time_us, &result.device.timing);
    let fields: f64 = time.fields().iter().map(|(_, us)| us).sum();
    close("time_us.total = Σ of its fields", time.total, fields)?;
    let counted = result.reads.total as f64 * latency.read_us
        + result.spare_reads.total as f64 * latency.spare_read_us
        + result.programs.total as f64 * latency.program_us
        + result.erases.total as f64 * latency.erase_us
        + evidence.dram_ns as f64 / 1000.0;
    close("time_us.total = Σ count × latency", time.total, counted)?;
    let sum_us = |ns: u128| ns as f64 / 1000.0;
    close("time_us.total = Σ service", time.total, sum_us(evidence.service_sum_ns))?;
    let increments = sum_us(evidence.increment_sum_ns);
    close("time_us.total = host + Σ increments", time.total, time.host + increments)
}

fn wear_is_erases(evidence: &Evidence) -> Result<(), String> {
    let (wear, erases) = (evidence.wear_sum, evidence.erases_since_birth);
    equal("sum of wear = erases since birth", wear.into(), erases.into())
}

fn a_buffer_loses_nothing(
    buffer: &Map<String, Value>,
    result: &RunResult,
    evidence: &Evidence,
) -> Result<(), String> {
    let figure = |name: &&str| buffer.get(*name).and_then(Value::as_u64).unwrap_or(0);
    let sum = |names: &[&str]| names.iter().map(figure).map(u128::from).sum::<u128>();
    let asked = &evidence.asked;
    let written = sum(&["write_hits", "write_misses"]);
    equal("buffered writes = asked for", written, asked.written.into())?;
    equal("buffered reads = asked for", sum(&["read_hits", "read_misses"]), asked.read.into())?;
    let came = sum(&["waiting_before", "soiled"]);
    let went = sum(&["waiting", "evicted", "drained", "dropped"]);
    equal("waiting before + soiled = waiting + evicted + drained + dropped", came, went)?;
    match result.layers.sector_log {
        Some(_) => Ok(()),
        None => {
            let down = result.host_pages.written;
            equal("evicted + drained = handed down", sum(&["evicted", "drained"]), down.into())
        }
    }
}

/// The sum of some figures of a layer.
fn sum(layer: &Map<String, Value>, names: &[&str]) -> u128 {
    let figure = |name: &&str| layer.get(*name).and_then(Value::as_u64).unwrap_or(0);
    names.iter().map(figure).map(u128::from).sum()
}

fn a_sector_log_loses_nothing(
    log: &Map<String, Value>,
    result: &RunResult,
    evidence: &Evidence,
) -> Result<(), String> {
    let of = |names: &[&str]| sum(log, names);
    let came = of(&["subpage_sectors", "waiting_before"]);
    let went = of(&["programmed_sectors", "waiting", "replaced_waiting", "taken_waiting"]);
    equal("sectors that came = programmed + waiting + replaced + taken", came, went)?;
    let pages = of(&["Writes_SL"]) * of(&["sectors_per_page"]);
    let held = of(&["programmed_sectors", "padding_sectors", "address_sectors"]);
    equal("sectors of log pages = programmed + padding + addresses", pages, held)?;
    let before = of(&["distinct_before", "subpage_sectors"]);
    let now = of(&["distinct", "hit_sectors", "left_sectors"]);
    equal("distinct before + partial writes = distinct + hits + left", before, now)?;
    let above = match &result.layers.buffer {
        Some(buffer) => sum(buffer, &["evicted", "drained"]),
        None => evidence.asked.written.into(),
    };
    equal("whole + partial writes = from above", of(&["Writes_full", "Writes_subpage"]), above)?;
    let (down, written) = (of(&["Writes_full", "Evicts_SL"]), result.host_pages.written);
    equal("whole writes + evicted pages = handed down", down, written.into())?;
    equal("programs.log", result.programs.log.into(), of(&["Writes_SL"]))?;
    equal("erases.log", result.erases.log.into(), of(&["cleanings"]))?;
    equal("reads.log", result.reads.log.into(), of(&["log_pages", "log_pages_host"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use crate::progress::Unwatched;
    use crate::run::run_with_evidence;

    /// An honest result with enough garbage collection to have something of everything.
    fn honest() -> (RunResult, Evidence) {
        honest_under("none")
    }

    fn honest_under(buffer: &str) -> (RunResult, Evidence) {
        honest_on("uniform:writes=20000,reads=10%", buffer, "none")
    }

    fn honest_on(trace: &str, buffer: &str, sector_log: &str) -> (RunResult, Evidence) {
        let experiment = Experiment {
            trace: Some(trace.to_owned()),
            capacity_bytes: Some(4 << 20),
            buffer: buffer.to_owned(),
            sector_log: sector_log.to_owned(),
            dram_access_ns: 20,
            ..Experiment::default()
        };
        let input = crate::Input::open(&experiment, &Unwatched).unwrap();
        run_with_evidence(&experiment, &input, &Unwatched, None).unwrap()
    }

    /// The law that a doctored result breaks.
    fn broken(doctor: impl Fn(&mut RunResult, &mut Evidence)) -> String {
        let (mut result, mut evidence) = honest();
        doctor(&mut result, &mut evidence);
        check_all(&result, &evidence).unwrap_err()
    }

    #[test]
    fn an_honest_result_obeys_and_collects_garbage() {
        let (result, evidence) = honest();
        check_all(&result, &evidence).unwrap();
        assert!(result.copies.gc > 0 && result.erases.gc > 0 && result.reads.host > 0);
    }

    #[test]
    fn every_law_can_be_broken() {
        type Doctor = fn(&mut RunResult, &mut Evidence);
        let doctors: &[(&str, Doctor)] = &[
            ("requests = served + skipped", |r, _| r.trace.reads += 1),
            ("requests = read", |_, e| e.requests_read += 1),
            ("requests timed", |r, _| r.service_us.write.count += 1),
            ("programs.host", |r, _| r.host_pages.written -= 1),
            ("free pages before", |r, _| r.erases.total += 1),
            ("free pages before", |_, e| e.lost_pages += 1),
            ("free pages before", |_, e| e.free_pages_before += 1),
            ("free pages before", |_, e| e.free_pages_after += 1),
            ("copies", |r, _| r.copies.gc = r.reads.gc + 1),
            ("copies", |r, _| r.copies.merge = 1),
            ("reads.total", |r, _| r.reads.rmw += 1),
            ("programs.total", |r, _| r.programs.meta += 1),
            ("erases.total", |r, _| r.erases.wear += 1),
            ("copies.total", |r, _| r.copies.total += 1),
            ("spare_reads.total", |r, _| r.spare_reads.map += 1),
            ("Σ of its fields", |r, _| r.time_us.gc += 1.0),
            ("Σ count × latency", |r, _| r.device.timing.program_us += 0.1),
            ("Σ service", |_, e| e.service_sum_ns += 1_000_000),
            ("Σ increments", |_, e| e.increment_sum_ns += 1_000_000),
            ("Σ increments", |r, _| {
                (r.time_us.host, r.time_us.gc) = (r.time_us.gc, r.time_us.host)
            }),
            ("sum of wear", |_, e| e.wear_sum += 1),
            ("sum of wear", |_, e| e.erases_since_birth += 1),
        ];
        for (law, doctor) in doctors {
            let message = broken(doctor);
            assert!(message.contains(law), "expected `{law}`, found `{message}`");
        }
    }

    #[test]
    fn the_laws_of_a_buffer_can_be_broken() {
        let broken = |name: &str| {
            let (mut result, evidence) = honest_under("64KiB");
            let buffer = result.layers.buffer.as_mut().unwrap();
            let figure = buffer[name].as_u64().unwrap();
            assert!(figure > 0 || name == "drained" || name == "dropped", "{name}: {figure}");
            buffer[name] = (figure + 1).into();
            check_all(&result, &evidence).unwrap_err()
        };
        for name in ["write_hits", "write_misses"] {
            assert!(broken(name).contains("buffered writes"), "{name}");
        }
        for name in ["read_hits", "read_misses"] {
            assert!(broken(name).contains("buffered reads"), "{name}");
        }
        for name in ["waiting_before", "soiled", "waiting", "evicted", "drained", "dropped"] {
            assert!(broken(name).contains("waiting before + soiled"), "{name}");
        }
        let (mut result, evidence) = honest_under("64KiB");
        result.host_pages.written += 1;
        result.programs.host += 1;
        result.programs.gc -= 1;
        let message = check_all(&result, &evidence).unwrap_err();
        assert!(message.contains("handed down") || message.contains("copies"), "{message}");
        let (result, mut evidence) = honest_under("64KiB");
        evidence.dram_ns += 1_000_000;
        assert!(check_all(&result, &evidence).unwrap_err().contains("count × latency"));
    }

    #[test]
    fn the_laws_of_a_sector_log_can_be_broken() {
        let trace = "skew:writes=20000,hot=90/1,reads=10%,request=1536";
        let honest = || honest_on(trace, "none", "512KiB");
        let broken = |name: &str| {
            let (mut result, evidence) = honest();
            let log = result.layers.sector_log.as_mut().unwrap();
            let figure = log[name].as_u64().unwrap();
            let may_be_zero = ["Writes_full", "padding_sectors", "address_sectors"].contains(&name);
            assert!(figure > 0 || may_be_zero, "{name}: {figure}");
            log[name] = (figure + 1).into();
            check_all(&result, &evidence).unwrap_err()
        };
        for (law, names) in [
            ("sectors that came", &["subpage_sectors", "waiting_before", "waiting"][..]),
            ("sectors that came", &["programmed_sectors", "replaced_waiting", "taken_waiting"]),
            ("sectors of log pages", &["sectors_per_page", "padding_sectors", "address_sectors"]),
            ("distinct before", &["distinct_before", "distinct", "hit_sectors", "left_sectors"]),
            ("from above", &["Writes_full", "Writes_subpage"]),
            ("handed down", &["Evicts_SL"]),
            ("erases.log", &["cleanings"]),
            ("reads.log", &["log_pages", "log_pages_host"]),
        ] {
            for name in names {
                let message = broken(name);
                assert!(message.contains(law), "{name}: expected `{law}`, found `{message}`");
            }
        }
        let (mut result, evidence) = honest();
        let log = result.layers.sector_log.as_mut().unwrap();
        let per_page = log["sectors_per_page"].as_u64().unwrap();
        for (name, more) in [("Writes_SL", 1), ("padding_sectors", per_page)] {
            log[name] = (log[name].as_u64().unwrap() + more).into();
        }
        assert!(check_all(&result, &evidence).unwrap_err().contains("programs.log"));
        // Below a buffer it gets what that hands down.
        let (mut result, evidence) = honest_on(trace, "64KiB", "512KiB");
        check_all(&result, &evidence).unwrap();
        let log = result.layers.sector_log.as_mut().unwrap();
        log["Writes_full"] = (log["Writes_full"].as_u64().unwrap() + 1).into();
        assert!(check_all(&result, &evidence).unwrap_err().contains("from above"));
    }

    #[test]
    #[should_panic(expected = "page: a law of counting is broken: sum of wear")]
    fn a_broken_law_stops_the_run() {
        let (result, mut evidence) = honest();
        evidence.wear_sum += 1;
        assert_all(&result, &evidence);
    }
}
