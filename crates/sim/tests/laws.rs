//! The laws of results: honest results obey them, and every law can be broken.

use ftl::LAYERS;
use sim::result::laws::{assert_all, check_all};
use sim::result::trace_part::TenantPart;
use sim::{Experiment, RunOptions, RunResult, Setup, run};

/// The result of a run with enough garbage collection to count something of every kind.
fn honest() -> RunResult {
    honest_under("none")
}

fn honest_under(buffer: &str) -> RunResult {
    honest_on("uniform:writes=20000,reads=10%", buffer, "none")
}

fn honest_on(trace: &str, buffer: &str, sector_log: &str) -> RunResult {
    let experiment = Experiment {
        trace: Some(trace.to_owned()),
        capacity_bytes: Some(4 << 20),
        dram_access_ns: 20,
        ..Experiment::default()
    };
    let experiment = experiment.with("buffer", buffer).unwrap();
    let experiment = experiment.with("sector_log", sector_log).unwrap();
    run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
}

/// The message about the law that a doctored result breaks.
fn broken(doctor: impl Fn(&mut RunResult)) -> String {
    let mut result = honest();
    doctor(&mut result);
    check_all(&result).unwrap_err()
}

#[test]
fn an_honest_result_obeys_and_collects_garbage() {
    let result = honest();
    check_all(&result).unwrap();
    assert!(result.copies.gc > 0 && result.erases.gc > 0 && result.reads.host > 0);
}

#[test]
fn every_law_can_be_broken() {
    type Doctor = fn(&mut RunResult);
    let doctors: &[(&str, Doctor)] = &[
        ("requests = served + skipped", |r| r.trace.reads += 1),
        ("requests = read", |r| r.evidence.requests_read += 1),
        ("requests timed", |r| r.service_us.write.count += 1),
        ("programs.host", |r| r.host_pages.written -= 1),
        ("free pages before", |r| r.erases.total += 1),
        ("free pages before", |r| r.evidence.lost_pages += 1),
        ("free pages before", |r| r.evidence.free_pages_before += 1),
        ("free pages before", |r| r.evidence.free_pages_after += 1),
        ("copies", |r| r.copies.gc = r.reads.gc + 1),
        ("copies", |r| r.copies.merge = 1),
        ("reads.total", |r| r.reads.rmw += 1),
        ("programs.total", |r| r.programs.meta += 1),
        ("erases.total", |r| r.erases.map += 1),
        ("copies.total", |r| r.copies.total += 1),
        ("spare_reads.total", |r| r.spare_reads.map += 1),
        ("Σ of its fields", |r| r.time_us.gc += 1.0),
        ("Σ count × latency", |r| r.device.timing.program_us += 0.1),
        ("Σ service", |r| r.evidence.service_sum_ns += 1_000_000),
        ("Σ increments", |r| r.evidence.increment_sum_ns += 1_000_000),
        ("Σ increments", |r| (r.time_us.host, r.time_us.gc) = (r.time_us.gc, r.time_us.host)),
        ("sum of wear", |r| r.evidence.wear_sum += 1),
        ("sum of wear", |r| r.evidence.erases_since_birth += 1),
    ];
    for (law, doctor) in doctors {
        let message = broken(doctor);
        assert!(message.contains(law), "expected `{law}`, found `{message}`");
    }
}

#[test]
fn the_laws_of_tenants_can_be_broken() {
    let experiment = Experiment {
        load: ["uniform:writes=2K,reads=10%", "sequential:writes=9K@closed:depth=2"]
            .map(|text| text.parse().unwrap())
            .to_vec(),
        ..Experiment::default()
    };
    let honest = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap();
    check_all(&honest).unwrap();
    type Doctor = fn(&mut TenantPart);
    let doctors: &[(&str, Doctor)] = &[
        ("requests = Σ over the tenants", |t| t.trace.requests += 1),
        ("reads = Σ over the tenants", |t| t.trace.reads += 1),
        ("writes = Σ over the tenants", |t| t.trace.writes += 1),
        ("flushes = Σ over the tenants", |t| t.trace.flushes += 1),
        ("trims = Σ over the tenants", |t| t.trace.trims += 1),
        ("read_bytes = Σ over the tenants", |t| t.trace.read_bytes += 1),
        ("written_bytes = Σ over the tenants", |t| t.trace.written_bytes += 1),
        ("trimmed_bytes = Σ over the tenants", |t| t.trace.trimmed_bytes += 1),
        ("trims_of_no_page = Σ over the tenants", |t| t.trace.trims_of_no_page += 1),
        ("preflushes = Σ over the tenants", |t| t.trace.preflushes += 1),
        ("fua = Σ over the tenants", |t| t.trace.fua += 1),
        ("skipped = Σ over the tenants", |t| t.trace.skipped["not served"] = 0.into()),
        ("pages read = Σ over the tenants", |t| t.host_pages.read += 1),
        ("pages written = Σ over the tenants", |t| t.host_pages.written += 1),
        ("pages trimmed = Σ over the tenants", |t| t.host_pages.trimmed += 1),
        ("requests timed = served", |t| t.response_us.write.count += 1),
        ("requests timed = served", |t| t.service_us.read.count += 1),
        ("time_us.total = Σ over the tenants", |t| t.time_us += 1.0),
    ];
    for (law, doctor) in doctors {
        let mut result = honest.clone();
        doctor(&mut result.tenants.as_mut().unwrap()[1]);
        let message = check_all(&result).unwrap_err();
        assert!(message.contains(law), "expected `{law}`, found `{message}`");
    }
}

#[test]
fn the_laws_of_a_buffer_can_be_broken() {
    let broken = |name: &str| {
        let mut result = honest_under("64KiB");
        let buffer = result.layers.get_mut("buffer").unwrap();
        let figure = buffer[name].as_u64().unwrap();
        assert!(figure > 0 || name == "drained" || name == "dropped", "{name}: {figure}");
        buffer[name] = (figure + 1).into();
        check_all(&result).unwrap_err()
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
    let mut result = honest_under("64KiB");
    result.host_pages.written += 1;
    result.programs.host += 1;
    result.programs.gc -= 1;
    let message = check_all(&result).unwrap_err();
    assert!(message.contains("handed down") || message.contains("copies"), "{message}");
    let mut result = honest_under("64KiB");
    result.evidence.dram_ns += 1_000_000;
    assert!(check_all(&result).unwrap_err().contains("count × latency"));
}

#[test]
fn the_laws_of_a_sector_log_can_be_broken() {
    let trace = "skew:writes=20000,hot=90/1,reads=10%,request=1536";
    let honest = || honest_on(trace, "none", "512KiB");
    let broken = |name: &str| {
        let mut result = honest();
        let log = result.layers.get_mut("sector_log").unwrap();
        let figure = log[name].as_u64().unwrap();
        let may_be_zero = ["Writes_full", "padding_sectors", "address_sectors"].contains(&name);
        assert!(figure > 0 || may_be_zero, "{name}: {figure}");
        log[name] = (figure + 1).into();
        check_all(&result).unwrap_err()
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
    let mut result = honest();
    let log = result.layers.get_mut("sector_log").unwrap();
    let per_page = log["sectors_per_page"].as_u64().unwrap();
    for (name, more) in [("Writes_SL", 1), ("padding_sectors", per_page)] {
        log[name] = (log[name].as_u64().unwrap() + more).into();
    }
    assert!(check_all(&result).unwrap_err().contains("programs.log"));
    // Under a buffer, the pages from above are those that the buffer hands down.
    let mut result = honest_on(trace, "64KiB", "512KiB");
    check_all(&result).unwrap();
    let log = result.layers.get_mut("sector_log").unwrap();
    log["Writes_full"] = (log["Writes_full"].as_u64().unwrap() + 1).into();
    assert!(check_all(&result).unwrap_err().contains("from above"));
}

/// A small device under layers with these options; none if they contradict each other, or if the
/// scheme does not take them.
fn stacked(ftl: &str, options: &[(&str, &str)]) -> Option<RunResult> {
    let experiment = Experiment {
        trace: Some("skew:writes=2000,hot=80/20,reads=20%,request=1536".to_owned()),
        chip: "slc-fast2010:page=1KiB,pages_per_block=8".to_owned(),
        capacity_bytes: Some(1 << 20),
        ftl: ftl.to_owned(),
        ..Experiment::default()
    };
    let experiment = options.iter().try_fold(experiment, |it, (name, text)| it.with(name, text));
    let setup = Setup::new(&experiment.unwrap()).ok()?;
    Some(run(&setup, RunOptions::default()).unwrap())
}

/// Each layer with its settings for small devices, alone and together with any other. Every run
/// asserts the laws, so this test has to run only.
#[test]
fn layers_keep_their_laws_among_any_others() {
    let corners = || LAYERS.iter().flat_map(|layer| layer.corners);
    let mut pairs = 0;
    for ftl in ["page", "dftl"] {
        for corner in corners() {
            stacked(ftl, corner)
                .or_else(|| stacked("dftl", corner))
                .or_else(|| stacked("page", corner))
                .expect("a scheme that takes it");
            for other in corners().filter(|other| other.iter().all(|it| !corner.contains(it))) {
                let both = [*corner, *other].concat();
                pairs += usize::from(stacked(ftl, &both).is_some());
            }
        }
    }
    assert!(pairs > 0, "no layer goes together with another");
}

#[test]
#[should_panic(expected = "page: a law of counting is broken: sum of wear")]
fn a_broken_law_stops_the_run() {
    let mut result = honest();
    result.evidence.wear_sum += 1;
    assert_all(&result);
}
