//! The calibrated workloads have the properties published by the papers, as measured by
//! `ftlab trace info`. The tests use an eighth of the published size, which does not change shares.
//! The complete table is in docs/workloads.md.

use std::collections::{BTreeMap, HashMap};

use spec::Spec;
use trace::analysis::locality::{PAGE_SIZES, TOP_PERCENTS, TraceLocality, locality};
use trace::analysis::survey::{Survey, survey};
use trace::replay::BATCH;
use trace::{AddressSpace, Op, Request, Trace, go_on};

const GIB: f64 = (1u64 << 30) as f64;

fn load(spec: &str, page_bytes: u32) -> Trace {
    let spec = Spec::parse(spec).unwrap();
    let capacity_bytes = trace::default_capacity(&spec, page_bytes).unwrap();
    Trace::generate(&spec, &AddressSpace { capacity_bytes, page_bytes }, 1).unwrap()
}

fn for_each(trace: &Trace, mut look: impl FnMut(&Request)) {
    let (mut replay, mut batch) = (trace.replay().unwrap(), Vec::new());
    while replay.next_batch(&mut batch, BATCH).unwrap() > 0 {
        batch.drain(..).for_each(|request| look(&request));
    }
}

/// The statistics of a workload at a page size.
struct Measured {
    survey: Survey,
    locality: TraceLocality,
}

impl Measured {
    fn of(spec: &str, page_bytes: u32) -> Measured {
        let trace = load(spec, page_bytes);
        let page_bytes = page_bytes.into();
        Measured {
            survey: survey(&trace, page_bytes, go_on).unwrap(),
            locality: locality(&trace, page_bytes, go_on).unwrap(),
        }
    }

    fn read_share(&self) -> f64 {
        self.survey.reads.requests() as f64 / self.survey.data_requests() as f64
    }

    fn read_share_of_bytes(&self) -> f64 {
        let (reads, writes) = (self.survey.reads.bytes() as f64, self.survey.writes.bytes() as f64);
        reads / (reads + writes)
    }

    /// Mean sizes of reads and writes in KiB.
    fn mean_kib(&self) -> (f64, f64) {
        (self.survey.reads.mean_sectors() / 2.0, self.survey.writes.mean_sectors() / 2.0)
    }

    /// Distinct pages read and written, in GiB, multiplied by `scale`.
    fn working_set_gib(&self, scale: f64) -> (f64, f64) {
        let gib = |pages: u64| scale * pages as f64 * self.survey.page_bytes as f64 / GIB;
        (gib(self.survey.pages.read), gib(self.survey.pages.written))
    }

    fn sub_page_share(&self, page_bytes: u64) -> f64 {
        self.locality.sub_page_shares[PAGE_SIZES.iter().position(|&p| p == page_bytes).unwrap()]
    }

    fn top_share(&self, percent: u32) -> f64 {
        self.locality.top_shares[TOP_PERCENTS.iter().position(|&top| top == percent).unwrap()]
    }

    fn sequential_writes(&self) -> f64 {
        self.locality.writes.sequential as f64 / self.survey.writes.requests() as f64
    }

    fn rewritten(&self) -> f64 {
        self.survey.pages.rewritten as f64 / self.locality.page_writes as f64
    }
}

#[track_caller]
fn assert_near(what: &str, found: f64, published: f64, tolerance: f64) {
    let distance = (found - published).abs();
    assert!(distance <= tolerance, "{what}: {found:.4} for {published} ± {tolerance:.4}");
}

/// The effect of an LRU write buffer on a workload.
struct Buffered {
    hits: f64,
    /// The share of the evicted pages that are partial.
    partial: f64,
    /// The mean number of sectors of the partial pages.
    partial_sectors: f64,
}

/// A plain model of the buffer in §3 of the sector log paper: a mask of sectors for each page.
fn buffered(spec: &str, page_bytes: u64, buffer_bytes: u64) -> Buffered {
    let (mut by_age, mut age_of) = (BTreeMap::<u64, (u64, u64)>::new(), HashMap::<u64, u64>::new());
    let (mut now, mut hits, mut evicted, mut partial, mut sectors) = (0, 0, 0, 0, 0u64);
    let sectors_a_page = page_bytes / 512;
    for_each(&load(spec, page_bytes as u32), |request| {
        if request.op != Op::Write {
            return;
        }
        let touched: Vec<u64> = (request.offset / 512..request.end() / 512).collect();
        for part in touched.chunk_by(|a, b| a / sectors_a_page == b / sectors_a_page) {
            let page = part[0] / sectors_a_page;
            let bit = |sector: &u64| 1u64 << (sector % sectors_a_page);
            let mut mask = part.iter().map(bit).sum::<u64>();
            now += 1;
            if let Some(age) = age_of.insert(page, now) {
                hits += 1;
                mask |= by_age.remove(&age).unwrap().1;
            }
            by_age.insert(now, (page, mask));
            if by_age.len() as u64 > buffer_bytes / page_bytes {
                let (_, (page, mask)) = by_age.pop_first().unwrap();
                age_of.remove(&page);
                let filled = u64::from(mask.count_ones());
                evicted += 1;
                if filled < sectors_a_page {
                    (partial, sectors) = (partial + 1, sectors + filled);
                }
            }
        }
    });
    let share = |part: u64, all: u64| part as f64 / all as f64;
    Buffered {
        hits: share(hits, now),
        partial: share(partial, evicted),
        partial_sectors: share(sectors, partial),
    }
}

const TPCC: &str = "tpcc:writes=500K,space=1GiB";

/// FASTer paper, §III.A and V.B.
#[test]
fn tpcc_is_skewed_and_scattered_as_in_the_faster_paper() {
    let load = Measured::of(&format!("{TPCC},reads=0%"), 2048);
    let space = GIB / 2048.0;
    assert_near("35 % of the pages", load.survey.pages.written as f64 / space, 0.35, 0.015);
    assert_near("almost 50 % of the writes to 10 %", load.top_share(10), 0.50, 0.015);
    assert_near("70 % of the writes to 30 %", load.top_share(30), 0.70, 0.025);
    // In the captured pg-tpcc, 1 % of the pages get 0.225 of the writes that 10 % get.
    assert_near(
        "skew among the hottest pages",
        load.top_share(1) / load.top_share(10),
        0.225,
        0.025,
    );
    let large = load.survey.writes.requests() - load.survey.writes.below_sectors(65);
    assert_eq!(large, 0, "less than 0.01 % are larger than 32 KiB");
    let blocks = Measured::of(&format!("{TPCC},reads=0%"), 64 * 2048);
    let blocks = blocks.survey.pages.written as f64 / (space / 64.0);
    assert_near("almost 75 % of the data blocks", blocks, 0.75, 0.005);
}

/// FASTer paper, §III.A, V.B and Fig. 3, at an eighth of the size.
#[test]
fn tpcc_drift_is_skewed_and_scattered_as_in_the_faster_paper() {
    let spec = "tpcc_drift:writes=500K,space=1GiB";
    let load = Measured::of(spec, 2048);
    let space = GIB / 2048.0;
    assert_near("1.4 M of 4.2 M pages", load.survey.pages.written as f64 / space, 0.334, 0.025);
    assert_near("almost 50 % of the writes to 10 %", load.top_share(10), 0.50, 0.055);
    assert_near("70 % of the writes to 30 %", load.top_share(30), 0.70, 0.01);
    let blocks = Measured::of(spec, 64 * 2048);
    let blocks = blocks.survey.pages.written as f64 / (space / 64.0);
    assert_near("almost 75 % of the data blocks", blocks, 0.75, 0.01);
    let [hot, warm, cold] = &load.locality.examples[..] else { panic!("no example pages") };
    assert!(hot.mean_interval() < 100e3 / 8.0, "below 100,000: {hot:?}");
    assert!((100e3 / 8.0..500e3 / 8.0).contains(&warm.mean_interval()), "between: {warm:?}");
    assert!(cold.mean_interval() > 500e3 / 8.0 && cold.writes == 3, "above 500,000: {cold:?}");
}

/// Adaptive partitioning paper, Table V.
#[test]
fn tpcc_has_the_figures_of_table_v() {
    let load = Measured::of(TPCC, 2048);
    assert_near("81.4 % reads", load.read_share(), 0.814, 0.0001);
    let (read_kib, write_kib) = load.mean_kib();
    assert_near("mean read", read_kib, 2.2, 0.05);
    assert_near("mean write", write_kib, 2.1, 0.05);
    let (read, written) = load.working_set_gib(1.0);
    assert_near("8.04 GB are read where 4.45 are written", read / written, 8.04 / 4.45, 0.2);
}

/// Sector log paper, §3.1, §3.2 and the sizes without sector log in Table 2.
#[test]
fn tpcc_has_the_partial_pages_of_the_sector_log_paper() {
    let load = Measured::of(TPCC, 4096);
    assert_near("98 % cover part of 4 KiB", load.sub_page_share(4096), 0.98, 0.005);
    for page_bytes in [8192, 16384, 32768] {
        assert!(load.sub_page_share(page_bytes) > 0.95, "{page_bytes}");
    }
    for (page_bytes, sectors) in [(4096, 2.82), (8192, 3.47), (16384, 3.94), (32768, 4.23)] {
        // 64 MB for 29.5 GB.
        let buffer = buffered(&format!("{TPCC},reads=0%,start=31.5KiB"), page_bytes, 2 << 20);
        assert_near("sectors of a partial page", buffer.partial_sectors, sectors, 0.12 * sectors);
        assert!(buffer.partial > 0.95);
    }
}

const FINANCIAL: &str = "financial:writes=593750,space=1497.5MiB";
/// 64 MB, scaled down.
const BUFFER_BYTES: u64 = 8 << 20;

/// Adaptive partitioning paper, Table V; sector log paper, Table 4.
#[test]
fn financial_has_the_published_figures() {
    let load = Measured::of(FINANCIAL, 2048);
    assert_near("47.4 % reads", load.read_share(), 0.474, 0.0001);
    assert_near("36 % of the bytes are read", load.read_share_of_bytes(), 0.36, 0.015);
    let (read_kib, write_kib) = load.mean_kib();
    assert_near("mean read", read_kib, 2.3, 0.05);
    assert_near("mean write", write_kib, 3.6, 0.05);
    let (read, written) = load.working_set_gib(8.0);
    assert_near("GB read", read, 0.45, 0.025);
    assert_near("GB written", written, 0.5, 0.025);
    let bytes = load.survey.reads.bytes() + load.survey.writes.bytes();
    assert_near("GB requested", 8.0 * bytes as f64 / GIB, 25.6, 0.5);
}

/// Sector log paper, §3.1, Fig. 2 and the sizes without sector log in Table 2.
#[test]
fn financial_has_the_partial_pages_of_the_sector_log_paper() {
    let load = Measured::of(FINANCIAL, 4096);
    assert_near("53 % cover part of a page", load.sub_page_share(4096), 0.53, 0.02);
    let buffer = buffered(FINANCIAL, 4096, BUFFER_BYTES);
    assert_near("70 % hit a buffer of 64 MB", buffer.hits, 0.70, 0.03);
    assert_near("11 % of what it evicts is partial", buffer.partial, 0.11, 0.02);
    assert_near("sectors of a partial page", buffer.partial_sectors, 3.12, 0.3);
    let large = buffered(FINANCIAL, 32768, BUFFER_BYTES);
    assert!(large.partial > 3.0 * buffer.partial, "more than tripled at 32 KiB: {}", large.partial);
}

const DESKTOP: &str = "desktop:writes=300K,space=2342.5MiB";

/// Adaptive partitioning paper, Table V (PC).
#[test]
fn desktop_has_the_figures_of_table_v() {
    let load = Measured::of(DESKTOP, 2048);
    assert_near("23.7 % reads", load.read_share(), 0.237, 0.0001);
    let (read_kib, write_kib) = load.mean_kib();
    assert_near("mean read", read_kib, 20.0, 0.6);
    assert_near("mean write", write_kib, 13.4, 0.4);
    let (read, written) = load.working_set_gib(8.0);
    assert_near("GB read", read, 5.82, 0.4);
    assert_near("GB written", written, 8.45, 0.4);
}

/// Sector log paper, Table 2: the sizes of General without sector log are about half a page,
/// because they are the ends of runs.
#[test]
fn desktop_has_the_partial_pages_of_the_sector_log_paper() {
    for (page_bytes, sectors) in [(4096, 3.79), (8192, 7.14), (16384, 13.1), (32768, 23.2)] {
        let buffer = buffered(DESKTOP, page_bytes, BUFFER_BYTES);
        assert_near("sectors of a partial page", buffer.partial_sectors, sectors, 0.12 * sectors);
    }
}

/// LAST paper, Fig. 5a: pages of large writes are rewritten less often.
#[test]
fn desktop_rewrites_small_requests_most() {
    let load = Measured::of(DESKTOP, 4096);
    let classes = &load.locality.updates;
    let sizes: Vec<u64> = classes.iter().map(|class| class.sectors_max).collect();
    assert_eq!(sizes, [8, 16, 32, 64, 128]);
    let updates =
        classes.iter().map(|class| class.earlier_writes as f64 / class.page_writes as f64);
    let updates: Vec<f64> = updates.collect();
    assert!(updates.windows(2).all(|two| two[0] > two[1]), "{updates:?}");
    assert!(updates[0] > 50.0 * updates[4], "{updates:?}");
}

/// The DiskMon log `mayun2`: a partition that starts at sector 63, requests of 4 and 64 KiB.
#[test]
fn desktop_has_the_alignment_of_a_captured_trace() {
    let load = Measured::of(DESKTOP, 4096);
    assert_eq!(load.survey.aligned.all, 0, "captured: 9 % of all, none of the writes");
    assert_near("partial page writes", load.sub_page_share(4096), 0.354, 0.12);
    assert_near("partial page writes", load.sub_page_share(32768), 0.870, 0.06);
    let buffer = buffered(DESKTOP, 4096, BUFFER_BYTES);
    assert_near("evicted in part", buffer.partial, 0.084, 0.03);
    assert_near("writes to the first 10 %", load.top_share(10), 0.433, 0.03);
    assert_near("writes to the first 30 %", load.top_share(30), 0.644, 0.03);
}

const WEBPROXY: &str = "webproxy:writes=46053,space=10GiB";

/// Large superblock paper, Table II; the other figures are those of the captured `squid-proxy`.
#[test]
fn webproxy_has_the_published_size_and_the_figures_of_squid() {
    assert_eq!(load("webproxy", 2048).size_hint_bytes(), Some(885_632));
    let load = Measured::of(WEBPROXY, 2048);
    let bytes = load.survey.reads.bytes() + load.survey.writes.bytes();
    let pages = bytes as f64 / load.survey.data_requests() as f64 / 2048.0;
    assert_near("pages per request", pages, 30_355_360.0 / 885_632.0, 0.5);
    assert_near("reads", load.read_share(), 0.584, 0.0001);
    assert_near("writes in a row", load.sequential_writes(), 0.912, 0.04);
    assert!(load.rewritten() < 0.032, "few pages are rewritten: {}", load.rewritten());
    let touched = load.survey.pages.touched as f64 * 2048.0 / (10.0 * GIB);
    assert_near("touched", touched, 0.27, 0.05);
}

/// Adaptive partitioning paper, Table V (SYSmark); at full size, because it is small.
#[test]
fn sysmark_has_the_figures_of_table_v() {
    let load = Measured::of("sysmark", 2048);
    assert_near("33 % reads", load.read_share(), 0.33, 0.0001);
    let (read_kib, write_kib) = load.mean_kib();
    assert_near("mean read", read_kib, 13.6, 0.4);
    assert_near("mean write", write_kib, 20.0, 0.6);
    let (read, written) = load.working_set_gib(1.0);
    assert_near("GB read", read, 0.11, 0.008);
    assert_near("GB written", written, 0.24, 0.008);
}

/// If `writes` and `space` are divided by the same number, shares and rewrites per page stay the
/// same.
#[test]
fn scaling_a_workload_keeps_its_figures() {
    let pairs = [
        (TPCC, "tpcc:writes=62500,space=128MiB"),
        (FINANCIAL, "financial:writes=74219,space=187MiB"),
        (DESKTOP, "desktop:writes=37500,space=293MiB"),
        (WEBPROXY, "webproxy:writes=5757,space=1280MiB"),
        ("sysmark", "sysmark:writes=31250,space=128MiB"),
    ];
    for (whole, eighth) in pairs {
        let [whole, eighth] = [whole, eighth].map(|spec| Measured::of(spec, 4096));
        let close = |what: &str, figure: fn(&Measured) -> f64| {
            assert_near(what, figure(&eighth), figure(&whole), 0.02);
        };
        close("bytes read", Measured::read_share_of_bytes);
        close("rewritten pages", Measured::rewritten);
        close("sub-page writes", |load| load.sub_page_share(8192));
        close("writes to 10 %", |load| load.top_share(10));
        close("writes in a row", Measured::sequential_writes);
        let ratio = eighth.working_set_gib(8.0).1 / whole.working_set_gib(1.0).1;
        // Tolerance: the largest objects of a proxy, one write in a hundred, are a quarter of its
        // bytes.
        assert_near("working set", ratio, 1.0, 0.06);
    }
}
