//! Properties of all workloads, and helpers for the tests of each.

use rustc_hash::FxHashMap;
use spec::Spec;

use crate::error::Result;
use crate::generate::workload::{AddressSpace, Workload};
use crate::registry::{WORKLOADS, default_capacity};
use crate::replay::Trace;
use crate::request::{Op, Request};

pub(crate) const SPACE: AddressSpace = AddressSpace { capacity_bytes: 64 << 20, page_bytes: 2048 };
pub(crate) const SPACE_PAGES: u64 = SPACE.capacity_bytes / SPACE.page_bytes as u64;

pub(crate) fn trace(spec: &str, space: &AddressSpace, seed: u64) -> Result<Trace> {
    Trace::generate(&Spec::parse(spec).unwrap(), space, seed)
}

/// The requests of a workload over [`SPACE`].
pub(crate) fn requests(spec: &str, seed: u64) -> Vec<Request> {
    trace(spec, &SPACE, seed).unwrap().requests().unwrap()
}

/// The number of writes to each written page, most often first.
pub(crate) fn page_writes(requests: &[Request]) -> Vec<u64> {
    let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
    for request in requests.iter().filter(|request| request.op == Op::Write) {
        *counts.entry(request.offset / u64::from(SPACE.page_bytes)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// The share of all writes that the `pages` most written pages get.
pub(crate) fn share_of_hottest(counts: &[u64], pages: u64) -> f64 {
    let hottest: u64 = counts[..pages as usize].iter().sum();
    hottest as f64 / counts.iter().sum::<u64>() as f64
}

/// The variance of counts over their mean, and the mean. The ratio is 1 if the counts are random.
pub(crate) fn dispersion(counts: &[u64]) -> (f64, f64) {
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    let square = |&count: &u64| (count as f64 - mean).powi(2);
    let variance = counts.iter().map(square).sum::<f64>() / counts.len() as f64;
    (variance / mean, mean)
}

/// Checks that each spec is refused with a message that begins as given.
#[track_caller]
pub(crate) fn assert_refused(cases: &[(&str, &str)]) {
    for (spec, start) in cases {
        let Err(error) = trace(spec, &SPACE, 1) else { panic!("{spec} is possible") };
        assert!(error.is_usage(), "{error}");
        assert!(error.to_string().starts_with(start), "{spec}: {error}");
    }
}

/// Checks that the requests of a workload are the same forever, whatever the platform and the
/// versions of libraries.
#[track_caller]
pub(crate) fn assert_fingerprint(workload: &Workload, expected: u64) {
    let spec = within(workload, SPACE.capacity_bytes, "writes=10000,reads=10%");
    let fingerprint = requests(&spec, 1).iter().fold(0u64, |sum, request| {
        let read = u64::from(request.op == Op::Read);
        sum.wrapping_mul(0x100_0000_01b3) ^ (request.offset + request.bytes + read)
    });
    assert_eq!(fingerprint, expected, "{spec}");
}

fn has_key(workload: &Workload, key: &str) -> bool {
    workload.params.iter().any(|param| param.name == key)
}

/// A spec for a space of this size. Calibrated workloads and stores have a key for it; the others
/// fill the device. The parts of stores are scaled to it, and stores make no reads on top.
fn within(workload: &Workload, space_bytes: u64, keys: &str) -> String {
    let mut spec = format!("{}:{keys}", workload.name);
    if has_key(workload, "space") {
        spec += &format!(",space={space_bytes}");
    }
    if has_key(workload, "inputs") {
        spec += ",inputs=cached";
    }
    let parts = [
        ("entry", 1 << 16),
        ("memtable", 1 << 10),
        ("table", 2048),
        ("level", 100),
        ("region", 64),
    ];
    for (part, of_space) in parts.into_iter().filter(|(part, _)| has_key(workload, part)) {
        let sectors = space_bytes / of_space / 512;
        spec += &format!(",{part}={}", sectors * 512);
    }
    if has_key(workload, "bucket") {
        spec += &format!(",bucket={}", (space_bytes >> 26) * 512);
    }
    spec
}

#[test]
fn every_workload_is_reproducible_and_stays_within_its_space() {
    for workload in WORKLOADS {
        for key in ["", ",reads=25%", ",request=512", ",request=1536", ",request=5KiB"] {
            if key.starts_with(",request") && !has_key(workload, "request") {
                continue;
            }
            let spec = within(workload, SPACE.capacity_bytes, &format!("writes=3000{key}"));
            let made = requests(&spec, 7);
            assert_eq!(made, requests(&spec, 7), "{spec}");
            assert_eq!(made, requests(&format!("{spec},seed=7"), 8), "{spec}");
            for request in &made {
                assert!(request.end() <= SPACE.capacity_bytes, "{spec}: {request:?}");
                assert!(request.bytes > 0 && request.offset.is_multiple_of(512), "{spec}");
            }
            let writes = made.iter().filter(|request| request.op == Op::Write).count();
            assert_eq!(writes, 3000, "{spec}");
            assert!(made.windows(2).all(|pair| pair[1].time_ns - pair[0].time_ns == 100_000));
        }
    }
}

/// With reads even a sequential workload is random, as the order of reads and writes is.
#[test]
fn the_seed_changes_the_requests() {
    for workload in WORKLOADS {
        let spec = within(workload, SPACE.capacity_bytes, "writes=3000,reads=25%");
        assert_ne!(requests(&spec, 7), requests(&spec, 8), "{spec}");
    }
}

#[test]
fn reads_are_the_exact_share() {
    for (share, reads) in [("0%", 0), ("50%", 1000), ("20%", 250), ("33.3%", 499), ("0.1%", 1)] {
        let made = requests(&format!("uniform:writes=1000,reads={share}"), 1);
        assert_eq!(made.iter().filter(|r| r.op == Op::Read).count(), reads, "{share}");
    }
}

#[test]
fn requests_are_all_reads_and_writes_together() {
    for workload in WORKLOADS {
        for (share, reads) in [("0%", 0), ("33.3%", 333), ("100%", 1000)] {
            let keys = format!("requests=1000,reads={share}");
            let made = requests(&within(workload, SPACE.capacity_bytes, &keys), 1);
            let of = |op| made.iter().filter(|request| request.op == op).count();
            assert_eq!((of(Op::Read), of(Op::Write)), (reads, 1000 - reads), "{keys}");
        }
    }
    let by_writes = requests("uniform:writes=750,reads=25%", 1);
    assert_eq!(requests("uniform:requests=1000,reads=25%", 1), by_writes);
    assert_eq!(requests("uniform:reads=100%", 1).len(), 1_000_000, "the default of writes");
}

#[test]
fn poisson_arrivals_change_only_the_times() {
    let fixed = requests("uniform:writes=40K,reads=20%,interarrival=1ms", 1);
    let poisson = requests("uniform:writes=40K,reads=20%,interarrival=1ms,arrivals=poisson", 1);
    let untimed = |made: &[Request]| -> Vec<Request> {
        made.iter().map(|request| Request { time_ns: 0, ..*request }).collect()
    };
    assert!(untimed(&fixed) == untimed(&poisson));
    let gaps = poisson.windows(2).map(|pair| (pair[1].time_ns - pair[0].time_ns) as f64 / 1e6);
    let gaps: Vec<f64> = gaps.collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    // An exponential distribution has its mean as standard deviation; 1/e of the gaps are longer.
    let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.02 && (square.sqrt() - 1.0).abs() < 0.03, "{mean} {square}");
    assert!((longer - (-1.0f64).exp()).abs() < 0.01, "{longer}");
    assert_eq!(poisson[0].time_ns, 0);
}

#[test]
fn flushes_are_the_exact_share_of_the_writes() {
    for (share, flushes) in [("0%", 0), ("22.7%", 227), ("100%", 1000), ("250%", 2500)] {
        let spec = format!("tpcc:writes=1000,reads=50%,space=64MiB,flushes={share}");
        let made = requests(&spec, 1);
        let of = |op| made.iter().filter(|request| request.op == op).count();
        assert_eq!((of(Op::Flush), of(Op::Read), of(Op::Write)), (flushes, 1000, 1000), "{share}");
        let empty = |request: &&Request| request.op != Op::Flush || request.end() == 0;
        assert_eq!(made.iter().filter(empty).count(), made.len());
    }
}

#[test]
fn errors_of_the_common_keys_say_what_is_impossible() {
    assert_refused(&[
        ("uniform:request=0", "workload uniform: request=0 is not a whole number of sectors"),
        ("uniform:request=1000", "workload uniform: request=1000 is not a whole number of sectors"),
        ("uniform:request=1GiB", "workload uniform: request=1073741824 does not fit"),
        ("uniform:writes=0", "workload uniform: writes=0 leaves nothing to do"),
        ("uniform:writes=9,reads=100%", "workload uniform: reads=100% leaves no room for the 9"),
        ("uniform:reads=100.1%", "workload uniform: reads=100.1% is more than all requests"),
        ("uniform:requests=0", "workload uniform: requests=0 leaves nothing to do"),
        ("uniform:requests=9,writes=9", "workload uniform: give `writes` or `requests`; each"),
        ("uniform:writes=18446744073709551615,interarrival=0ns,reads=50%", "workload uniform: the"),
        ("uniform:writes=99G,interarrival=1h", "workload uniform: the requests take more than"),
        ("uniform:pages=40K", "workload uniform: pages=40000 is more than the 32768 pages"),
        ("uniform:pages=0", "workload uniform: pages=0 is too small"),
        ("tpcc", "workload tpcc: space=8589934592 is more than the 67108864 bytes of the device"),
        ("desktop:space=64KiB", "workload desktop: space=65536 is too small for this workload"),
        ("tpcc:space=1MiB,start=100", "workload tpcc: start=100 is not a whole number of sectors"),
        ("unifrom", "unknown workload `unifrom`; did you mean `uniform`?"),
        ("uniform:wites=5", "workload uniform has no key `wites`; did you mean `writes`?"),
    ]);
    let nothing = AddressSpace { capacity_bytes: 0, page_bytes: 4096 };
    assert!(trace("uniform", &nothing, 1).is_err());
    let odd = AddressSpace { capacity_bytes: 1 << 20, page_bytes: 1000 };
    assert!(trace("uniform", &odd, 1).is_err());
}

#[test]
fn the_smallest_and_largest_spaces_work() {
    let one = AddressSpace { capacity_bytes: 4096, page_bytes: 4096 };
    for spec in ["uniform:writes=10", "zipf:writes=10", "sequential:writes=10"] {
        let made = trace(spec, &one, 1).unwrap().requests().unwrap();
        assert!(made.iter().all(|request| request.offset == 0), "{spec}");
    }
    let vast = AddressSpace { capacity_bytes: u64::MAX, page_bytes: 512 };
    for workload in WORKLOADS {
        // A buffer of a share of this space would never be full.
        let unbuffered = if has_key(workload, "dirty") { ",dirty=0%" } else { "" };
        let keys = format!("writes=3000,reads=10%{unbuffered}");
        let spec = within(workload, u64::MAX, &keys);
        let made = trace(&spec, &vast, 1).unwrap().requests().unwrap();
        assert!(made.iter().all(|r| r.offset.checked_add(r.bytes).is_some()), "{spec}");
    }
}

#[test]
fn the_default_capacity_has_room_for_the_pages() {
    let capacity = |spec: &str| default_capacity(&Spec::parse(spec).unwrap(), 2048);
    assert_eq!(capacity("uniform").unwrap(), 1 << 30);
    assert_eq!(capacity("oltp").unwrap(), 1 << 30);
    assert_eq!(capacity("skew:pages=1.4M").unwrap(), 1_400_000 * 2048);
    assert_eq!(capacity("oltp:pages=35").unwrap(), 100 * 2048);
    assert_eq!(capacity("oltp:pages=35,share=50%").unwrap(), 70 * 2048);
    assert_eq!(capacity("financial").unwrap(), 11980 << 20);
    assert_eq!(capacity("financial:space=1GiB").unwrap(), 1 << 30);
    assert!(capacity("oltp:pages=18446744073709551615").is_err());
    assert!(capacity("nonsense").is_err());
}
