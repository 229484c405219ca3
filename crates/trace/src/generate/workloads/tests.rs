//! Properties that every workload has, and the figures each of them promises.

use rustc_hash::FxHashMap;
use spec::Spec;

use crate::error::Result;
use crate::generate::workload::{AddressSpace, Workload};
use crate::registry::{WORKLOADS, default_capacity};
use crate::replay::Trace;
use crate::request::{Op, Request};

const SPACE: AddressSpace = AddressSpace { capacity_bytes: 64 << 20, page_bytes: 2048 };
const SPACE_PAGES: u64 = SPACE.capacity_bytes / SPACE.page_bytes as u64;

fn trace(spec: &str, space: &AddressSpace, seed: u64) -> Result<Trace> {
    Trace::generate(&Spec::parse(spec).unwrap(), space, seed)
}

fn requests(spec: &str, seed: u64) -> Vec<Request> {
    trace(spec, &SPACE, seed).unwrap().requests().unwrap()
}

/// A spec for a space of this size: calibrated workloads are told it, others fill what there is.
fn within(workload: &Workload, space_bytes: u64, keys: &str) -> String {
    let takes = |key: &str| workload.params.iter().any(|param| param.name == key);
    let space = if takes("space") { format!(",space={space_bytes}") } else { String::new() };
    let keys = if keys.starts_with(",request") && !takes("request") { "" } else { keys };
    format!("{}:writes=3000{space}{keys}", workload.name)
}

/// How often each page is written, most often first.
fn page_writes(requests: &[Request]) -> Vec<u64> {
    let mut counts: FxHashMap<u64, u64> = FxHashMap::default();
    for request in requests.iter().filter(|request| request.op == Op::Write) {
        *counts.entry(request.offset / u64::from(SPACE.page_bytes)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

/// The share of all writes that the most written `pages` pages get.
fn share_of_hottest(counts: &[u64], pages: u64) -> f64 {
    let hottest: u64 = counts[..pages as usize].iter().sum();
    hottest as f64 / counts.iter().sum::<u64>() as f64
}

#[test]
fn every_workload_is_reproducible_and_stays_within_its_space() {
    for workload in WORKLOADS {
        for keys in ["", ",reads=25%", ",request=512", ",request=1536", ",request=5KiB"] {
            let spec = within(workload, SPACE.capacity_bytes, keys);
            let made = requests(&spec, 7);
            assert_eq!(made, requests(&spec, 7), "{spec}");
            assert_eq!(made, requests(&format!("{spec},seed=7"), 8), "{spec}");
            if workload.name != "sequential" {
                assert_ne!(made, requests(&spec, 8), "{spec}");
            }
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

/// Results must never change: not with a crate's update, not with the platform.
#[test]
fn requests_are_the_same_for_ever() {
    let fingerprint = |spec: &str| {
        requests(spec, 1).iter().fold(0u64, |sum, request| {
            let read = u64::from(request.op == Op::Read);
            sum.wrapping_mul(0x100_0000_01b3) ^ (request.offset + request.bytes + read)
        })
    };
    let expected = [
        ("uniform", 14_364_320_911_946_374_897),
        ("sequential", 15_288_279_560_225_030_269),
        ("zipf", 4_910_959_037_212_691_381),
        ("skew", 10_700_181_399_215_097_643),
        ("mixed", 10_538_679_059_843_411_703),
        ("oltp", 13_341_713_362_491_539_243),
    ];
    let made =
        expected.map(|(name, _)| (name, fingerprint(&format!("{name}:writes=10000,reads=10%"))));
    assert_eq!(made, expected);
    let calibrated = [
        ("tpcc", 9_404_162_475_715_363_673),
        ("financial", 7_427_728_738_317_070_569),
        ("desktop", 16_918_954_938_622_753_331),
        ("webproxy", 7_382_278_536_778_114_739),
        ("sysmark", 8_393_656_301_547_379_977),
    ];
    let spec = |name| format!("{name}:writes=10000,reads=10%,space=64MiB");
    let made = calibrated.map(|(name, _)| (name, fingerprint(&spec(name))));
    assert_eq!(made, calibrated);
}

#[test]
fn reads_are_the_exact_share() {
    for (share, reads) in [("0%", 0), ("50%", 1000), ("20%", 250), ("33.3%", 499), ("0.1%", 1)] {
        let made = requests(&format!("uniform:writes=1000,reads={share}"), 1);
        assert_eq!(made.iter().filter(|r| r.op == Op::Read).count(), reads, "{share}");
    }
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
fn uniform_meets_every_page_equally() {
    let counts = page_writes(&requests("uniform:writes=1M", 1));
    assert_eq!(counts.len() as u64, SPACE_PAGES);
    let mean = 1e6 / SPACE_PAGES as f64;
    let square = |&count: &u64| (count as f64 - mean).powi(2);
    let variance = counts.iter().map(square).sum::<f64>() / counts.len() as f64;
    assert!((0.97..1.03).contains(&(variance / mean)), "{variance} for a Poisson mean of {mean}");
    let touched = page_writes(&requests("uniform:writes=100K,pages=1000", 1));
    assert_eq!(touched.len(), 1000);
}

#[test]
fn sequential_goes_round() {
    let made = requests("sequential:writes=5,pages=3", 1);
    let pages: Vec<_> = made.iter().map(|request| request.offset / 2048).collect();
    assert_eq!(pages, [0, 1, 2, 0, 1]);
    let halves = requests("sequential:writes=5,pages=2,request=1KiB", 1);
    let offsets: Vec<_> = halves.iter().map(|request| request.offset).collect();
    assert_eq!(offsets, [0, 1024, 2048, 3072, 0]);
}

#[test]
fn skew_gives_the_hot_pages_their_share() {
    let counts = page_writes(&requests("skew:writes=1M,hot=70/30,pages=10K", 1));
    assert_eq!(counts.len(), 10_000);
    let hot = share_of_hottest(&counts, 3000);
    assert!((0.695..0.705).contains(&hot), "{hot}");
}

#[test]
fn skewed_pages_lie_scattered() {
    let made = requests("skew:writes=100K,hot=90/10,pages=1000", 1);
    let lower = made.iter().filter(|r| r.offset < SPACE.capacity_bytes / 2).count();
    assert!((35_000..65_000).contains(&lower), "{lower}");
}

#[test]
fn zipf_orders_its_pages_by_the_law() {
    let counts = page_writes(&requests("zipf:writes=1M,theta=1,pages=1000", 1));
    let harmonic: f64 = (1..=1000).map(|k| 1.0 / f64::from(k)).sum();
    for (rank, tolerance) in [(0, 0.02), (9, 0.05), (99, 0.15)] {
        let expected = 1e6 / harmonic / (rank as f64 + 1.0);
        let ratio = counts[rank] as f64 / expected;
        assert!((1.0 - tolerance..1.0 + tolerance).contains(&ratio), "rank {rank}: {ratio}");
    }
}

/// FASTer paper, §III.A: all four figures, measured on the requests themselves.
#[test]
fn oltp_has_the_papers_four_figures() {
    let counts = page_writes(&requests("oltp:writes=1M", 1));
    let touched = counts.len() as u64;
    let share = touched as f64 / SPACE_PAGES as f64;
    assert!((0.3495..=0.35).contains(&share), "35 % of the space is touched: {share}");
    let tenth = share_of_hottest(&counts, touched / 10);
    assert!((0.49..0.51).contains(&tenth), "half the writes to 10 %: {tenth}");
    let third = share_of_hottest(&counts, touched * 3 / 10);
    assert!((0.69..0.71).contains(&third), "70 % of the writes to 30 %: {third}");
    // The tail is uniform: its counts spread no wider than chance spreads them.
    let tail = &counts[(touched * 3 / 10) as usize..];
    let mean = tail.iter().sum::<u64>() as f64 / tail.len() as f64;
    let square = |&count: &u64| (count as f64 - mean).powi(2);
    let variance = tail.iter().map(square).sum::<f64>() / tail.len() as f64;
    assert!((0.95..1.05).contains(&(variance / mean)), "tail: {variance} for a mean of {mean}");
}

#[test]
fn mixed_has_streams_and_small_requests() {
    let made = requests("mixed:writes=100K", 1);
    let large = made.iter().filter(|request| request.bytes == 65_536).count() as f64;
    let share = large / made.len() as f64;
    assert!((0.195..0.205).contains(&share), "{share}");
    let reads = made.iter().filter(|request| request.op == Op::Read).count() as f64;
    assert!((0.2999..0.3001).contains(&(reads / made.len() as f64)));
    let mut ends: Vec<u64> = Vec::new();
    let continued = made.iter().filter(|r| r.bytes == 65_536 && r.op == Op::Write).filter(|r| {
        let follows = ends.contains(&r.offset);
        ends.push(r.end());
        follows
    });
    assert!(continued.count() as f64 > 0.9 * 0.7 * large);
}

#[test]
fn what_is_impossible_says_why() {
    let message = |spec: &str| match trace(spec, &SPACE, 1) {
        Err(error) => {
            assert!(error.is_usage(), "{error}");
            error.to_string()
        }
        Ok(_) => panic!("{spec} is possible"),
    };
    let cases = [
        ("skew:pages=40K", "workload skew: pages=40000 is more than the 32768 pages"),
        ("skew:pages=0", "workload skew: pages=0 has no room"),
        ("skew:hot=120/30", "workload skew: hot=120/30 has a part above 100 %"),
        ("skew:hot=70/0", "workload skew: hot=70/0 leaves no pages"),
        ("skew:hot=70/100", "workload skew: hot=70/100 leaves no pages"),
        ("skew:hot=70/30,pages=1", "workload skew: hot=70/30 of 1 places leaves a side empty"),
        ("uniform:request=0", "workload uniform: request=0 is not whole sectors"),
        ("uniform:request=1000", "workload uniform: request=1000 is not whole sectors"),
        ("uniform:request=1GiB", "workload uniform: request=1073741824 does not fit"),
        ("uniform:writes=0", "workload uniform: writes=0 leaves nothing to do"),
        ("uniform:reads=100%", "workload uniform: reads=100% leaves no room"),
        ("uniform:writes=18446744073709551615,interarrival=0ns,reads=50%", "workload uniform: the"),
        ("uniform:writes=99G,interarrival=1h", "workload uniform: the requests take more than"),
        ("zipf:theta=-1", "workload zipf: theta=-1 is not between 0 and 50"),
        ("oltp:share=120%", "workload oltp: share=120% is more than the space"),
        ("oltp:pages=5", "workload oltp: 5 touched places are too few"),
        ("mixed:large=1000", "workload mixed: large=1000 is not whole pages"),
        ("mixed:run=1KiB", "workload mixed: run=1024 is less than one request"),
        ("mixed:streams=0", "workload mixed: streams=0 is not between"),
        ("mixed:sequential=120%", "workload mixed: sequential=120% is more"),
        ("tpcc", "workload tpcc: space=8589934592 is more than the 67108864 bytes of the device"),
        ("desktop:space=64KiB", "workload desktop: space=65536 is too small for this load"),
        ("tpcc:space=1MiB,start=100", "workload tpcc: start=100 is not whole sectors"),
        ("unifrom", "unknown workload `unifrom`; did you mean `uniform`?"),
        ("uniform:wites=5", "workload uniform has no key `wites`; did you mean `writes`?"),
    ];
    for (spec, start) in cases {
        assert!(message(spec).starts_with(start), "{spec}: {}", message(spec));
    }
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
        let spec = within(workload, u64::MAX, ",reads=10%");
        let made = trace(&spec, &vast, 1).unwrap().requests().unwrap();
        assert!(made.iter().all(|r| r.offset.checked_add(r.bytes).is_some()), "{spec}");
    }
}

#[test]
fn capacities_are_asked_for() {
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
