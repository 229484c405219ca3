use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rustc_hash::FxHashSet;

use super::*;
use crate::generate::workloads::tests::{
    SPACE as DEVICE, assert_fingerprint, assert_refused, requests, trace,
};

#[test]
fn requests_never_change() {
    assert_fingerprint(&WORKLOAD, 1_347_796_764_477_467_155);
}

/// 512 entries of a page of 2 KiB, memtables of 16 entries, tables of up to 4. Level 1 has 32
/// entries, level 2 has 128, and level 3 all.
const SMALL: [(&str, &str); 9] = [
    ("space", "2MiB"),
    ("data", "50%"),
    ("entry", "2KiB"),
    ("memtable", "32KiB"),
    ("table", "8KiB"),
    ("level", "64KiB"),
    ("fanout", "4"),
    ("young", "2"),
    ("request", "4KiB"),
];
const KEYS: u32 = 512;
const MEMTABLE_ENTRIES: usize = 16;

/// The spec of the small store with other values for some keys, or more keys.
fn spec(changes: &[(&str, &str)]) -> String {
    let mut keys = BTreeMap::from(SMALL);
    keys.extend(changes.iter().copied());
    let keys: Vec<_> = keys.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("lsm:{}", keys.join(","))
}

/// The entries that are written to each stream.
fn entries(requests: &[Request]) -> BTreeMap<u8, u64> {
    let mut entries = BTreeMap::new();
    for request in requests.iter().filter(|request| request.op == Op::Write) {
        *entries.entry(request.stream).or_default() += request.bytes;
    }
    entries.values_mut().for_each(|bytes| *bytes /= 2048);
    entries
}

/// Nothing is read or discarded that is not there, and nothing is overwritten that is. Lookups
/// before anything is written are those of page 0.
fn assert_lawful(spec: &str, requests: &[Request]) {
    let (mut present, mut is_empty) = (FxHashSet::default(), true);
    for (number, request) in requests.iter().enumerate() {
        let what = || format!("{spec}: request {number}: {request:?}");
        for sector in request.offset >> 9..request.end() >> 9 {
            match request.op {
                Op::Write => assert!(present.insert(sector), "{} overwrites", what()),
                Op::Trim => assert!(present.remove(&sector), "{} discards nothing", what()),
                _ => assert!(is_empty || present.contains(&sector), "{} reads nothing", what()),
            }
        }
        is_empty &= request.op != Op::Write;
    }
}

#[test]
fn tables_are_read_and_discarded_only_while_they_live() {
    let forms: [&[(&str, &str)]; 5] = [
        &[],
        &[("reads", "30%")],
        &[("log", "off")],
        &[("compaction", "tiered"), ("data", "20%")],
        &[("theta", "0.99"), ("log", "512")],
    ];
    for form in forms {
        let spec = spec(&[&[("writes", "20K")], form].concat());
        let made = requests(&spec, 1);
        assert_lawful(&spec, &made);
        let count = |op| made.iter().filter(|request| request.op == op).count();
        assert!(count(Op::Trim) > 500 && count(Op::Read) > 5000, "{spec}");
    }
}

/// The first page of the first table takes four requests.
#[test]
fn reads_while_the_first_table_is_written_read_what_is_there() {
    let small = "memtable=10KiB,table=50KiB,level=0,levels=1";
    let spec = &format!("lsm:writes=3000,space=8MiB,{small},reads=50%,request=512");
    for seed in 0..32 {
        assert_lawful(spec, &trace(spec, &DEVICE, seed).unwrap().requests().unwrap());
    }
}

#[test]
fn the_log_and_each_level_have_a_stream() {
    let streams = |changes: &[(&str, &str)]| -> Vec<u8> {
        let made = requests(&spec(&[&[("writes", "9K")], changes].concat()), 1);
        assert!(made.iter().all(|request| (request.op == Op::Write) == (request.stream > 0)));
        entries(&made).into_keys().collect()
    };
    assert_eq!(streams(&[]), [1, 2, 3, 4, 5]);
    assert_eq!(streams(&[("log", "off")]), [2, 3, 4, 5]);
    assert_eq!(streams(&[("levels", "1")]), [1, 2, 3]);
}

/// The keys of the memtables, as they are drawn when there are no lookups.
fn memtables(count: usize) -> Vec<BTreeSet<u32>> {
    let mut random = Random::new(1);
    let mut memtable = || (0..MEMTABLE_ENTRIES).map(|_| random.below(KEYS.into()) as u32).collect();
    (0..count).map(|_| memtable()).collect()
}

/// The description of LevelDB, read once more: sets of keys, looked through one by one.
struct NaiveLevels {
    levels: Vec<Vec<BTreeSet<u32>>>,
    moved: [Option<u32>; 4],
    written: [u64; 4],
}

impl NaiveLevels {
    fn merge(&mut self, mut keys: BTreeSet<u32>, level: usize) {
        let (first, last) = (*keys.first().unwrap(), *keys.last().unwrap());
        let overlaps = |table: &BTreeSet<u32>| {
            *table.last().unwrap() >= first && *table.first().unwrap() <= last
        };
        let (old, kept) = self.levels[level].drain(..).partition::<Vec<_>, _>(overlaps);
        self.levels[level] = kept;
        keys.extend(old.into_iter().flatten());
        self.written[level] += keys.len() as u64;
        let keys: Vec<u32> = keys.into_iter().collect();
        let tables = keys.len().div_ceil(4);
        self.levels[level].extend((0..tables).map(|table| {
            let border = |table: usize| keys.len() * table / tables;
            keys[border(table)..border(table + 1)].iter().copied().collect()
        }));
        self.levels[level].sort_by_key(|table| *table.first().unwrap());
    }

    fn flush(&mut self, memtable: BTreeSet<u32>) {
        self.written[0] += memtable.len() as u64;
        self.levels[0].push(memtable);
        if self.levels[0].len() == 2 {
            let young = self.levels[0].drain(..).flatten().collect();
            self.merge(young, 1);
        }
        for (level, target) in [(1, 32), (2, 128)] {
            while self.levels[level].iter().map(BTreeSet::len).sum::<usize>() > target {
                let tables = &mut self.levels[level];
                let is_behind = |it: &BTreeSet<u32>| it.first().copied() > self.moved[level];
                let table = tables.remove(tables.iter().position(is_behind).unwrap_or(0));
                self.moved[level] = table.last().copied();
                self.merge(table, level + 1);
            }
        }
    }
}

/// Compactions write what a naive model writes. It has no parts of merges and takes no neighbours,
/// which makes little difference.
#[test]
fn leveled_compaction_writes_what_a_naive_model_writes() {
    const MEMTABLES: usize = 1500;
    let (levels, moved, written) = (vec![Vec::new(); 4], [None; 4], [0; 4]);
    let mut naive = NaiveLevels { levels, moved, written };
    naive.merge((0..KEYS).collect(), 3);
    memtables(MEMTABLES).into_iter().for_each(|memtable| naive.flush(memtable));
    let per_put =
        naive.written.map(|entries| entries as f64 / (MEMTABLES * MEMTABLE_ENTRIES) as f64);

    let made = requests(&spec(&[("inputs", "cached"), ("writes", "250K")]), 1);
    let written = entries(&made);
    for (level, naive) in (0..).zip(per_put) {
        let ours = written[&(2 + level)] as f64 / written[&LOG_STREAM] as f64;
        assert!((ours / naive - 1.0).abs() < 0.02, "level {level}: {ours} and {naive}");
    }
}

/// A run of a tiered level has the different keys of all puts since the last one, and the last
/// level is written as a whole when it has enough runs.
#[test]
fn tiered_compaction_writes_each_key_once_a_level() {
    let tiered = [("compaction", "tiered"), ("space", "8MiB"), ("data", "12.5%")];
    let made = requests(&spec(&[&tiered[..], &[("log", "4KiB"), ("writes", "200K")]].concat()), 1);
    let written = entries(&made);
    assert_eq!(written.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
    let (keys, memtable, fanout) = (f64::from(KEYS), MEMTABLE_ENTRIES as f64, 4.0f64);
    let distinct = |puts: f64| keys * (1.0 - (1.0 - 1.0 / keys).powf(puts)) / puts;
    let last_run = memtable * fanout * fanout;
    // The last level gets a run for each merge of level 1, and is merged with every third one.
    let last = distinct(last_run) + keys / (last_run * (fanout - 1.0));
    let expected = [distinct(memtable), distinct(memtable * fanout), last];
    for (stream, expected) in (2..).zip(expected) {
        let ours = written[&stream] as f64 / written[&LOG_STREAM] as f64;
        assert!((ours / expected - 1.0).abs() < 0.02, "stream {stream}: {ours} for {expected}");
    }
}

/// Keys that are put often stay in the upper levels, so less is written to the lower ones.
#[test]
fn skewed_keys_cost_less() {
    let amplification = |theta: &str| {
        let made = requests(&spec(&[("theta", theta), ("writes", "100K")]), 1);
        let written = entries(&made);
        written.values().sum::<u64>() as f64 / written[&LOG_STREAM] as f64
    };
    assert!(amplification("1.2") < 0.8 * amplification("0"));
}

/// The log of the next memtable is written while the tree is busy, not before or after it.
#[test]
fn the_log_is_written_at_an_even_rate() {
    let made = requests(&spec(&[("log", "512"), ("inputs", "cached"), ("writes", "50K")]), 1);
    let writes: Vec<u8> = made.iter().map(|it| it.stream).filter(|stream| *stream > 0).collect();
    let runs: Vec<usize> =
        writes.chunk_by(|a, b| (*a == 1) == (*b == 1)).map(<[u8]>::len).collect();
    // Of the load at the start, and between memtables without compaction, runs are long.
    let long = runs[1..].iter().filter(|run| **run > 16).count();
    assert!(long * 10 < runs.len(), "{long} of {}", runs.len());
}

#[test]
fn impossible_stores_are_refused() {
    assert_refused(&[
        ("lsm", "workload lsm: space=4294967296 is more than the 67108864 bytes of the device"),
        ("lsm:space=64MiB", "workload lsm: the store may need "),
        ("lsm:space=64MiB,entry=1", "workload lsm: the data are 46976204 entries of 1 bytes; at"),
        ("lsm:space=64MiB,data=0%", "workload lsm: the data are 0 entries"),
        ("lsm:space=64MiB,memtable=1", "workload lsm: memtable=1 has no room for an entry of 1024"),
        ("lsm:space=64MiB,table=1000", "workload lsm: table=1000 has no room for an entry of"),
        (
            "lsm:space=64MiB,data=1%,memtable=16MiB",
            "workload lsm: a memtable holds 16384 puts, but the data are 655 entries; 8 puts",
        ),
        ("lsm:space=64MiB,fanout=1", "workload lsm: fanout=1 is not between 2 and 1000"),
        ("lsm:space=64MiB,young=0", "workload lsm: young=0 is not between 1 and 1000"),
        ("lsm:space=64MiB,levels=61", "workload lsm: levels=61 is not between 1 and 60"),
        ("lsm:space=64MiB,log=100", "workload lsm: log=100 is not a whole number of sectors"),
        ("lsm:space=64MiB,request=0", "workload lsm: request=0 is not a whole number of sectors"),
        ("lsm:space=8MiB,data=1%,memtable=64KiB,table=64KiB,theta=-1", "workload lsm: theta=-1"),
    ]);
}

/// A value of a key, or the default.
fn maybe(key: &'static str, values: &'static [&'static str]) -> impl Strategy<Value = String> {
    let given = prop::sample::select(values).prop_map(move |value| format!(",{key}={value}"));
    prop_oneof![Just(String::new()), given.clone(), given]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..<_>::default() })]

    /// A store is refused with a sentence, or it is lawful and stays within its space.
    #[test]
    fn drawn_stores_are_refused_or_lawful(
        keys in (
            maybe("data", &["1%", "10%", "30%", "50%", "90%", "120%"]),
            maybe("entry", &["1", "100", "1000", "2KiB", "5000", "1MiB"]),
            maybe("memtable", &["1000", "10KiB", "64KiB", "1MiB", "16EiB"]),
            maybe("table", &["1000", "4KiB", "50KiB", "1MiB"]),
            maybe("level", &["0", "1KiB", "100KiB", "1MiB", "1TiB"]),
            maybe("fanout", &["2", "3", "7", "1000"]),
            maybe("young", &["1", "2", "9"]),
            maybe("levels", &["1", "2", "5", "60"]),
            maybe("compaction", &["tiered"]),
            (
                maybe("log", &["off", "512", "1MiB"]),
                maybe("theta", &["0.5", "1", "50"]),
                maybe("reads", &["50%"]),
                maybe("request", &["512", "5KiB", "1GiB"]),
            ),
        ),
        seed in 0..1000u64,
    ) {
        let (a, b, c, d, e, f, g, h, i, (j, k, l, m)) = keys;
        let keys = [a, b, c, d, e, f, g, h, i, j, k, l, m].concat();
        let spec = format!("lsm:writes=3000,space=8MiB{keys}");
        match trace(&spec, &DEVICE, seed) {
            Err(error) => prop_assert!(error.is_usage(), "{spec}: {error}"),
            Ok(trace) => {
                let made = trace.requests().unwrap();
                assert_lawful(&spec, &made);
                let end = made.iter().map(Request::end).max();
                prop_assert!(end <= Some(8 << 20), "{spec}: {end:?}");
            }
        }
    }
}
