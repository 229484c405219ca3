//! Compares real traces, captured for this project, with the figures published beside them: all
//! requests by operation, flag and size.

mod common;

use std::path::Path;

use common::{open, traces};
use trace::analysis::survey::{PageCounts, RequestSizes, Survey};

fn surveyed(directory: &Path, file: &str) -> Survey {
    surveyed_as(directory, file, "")
}

fn surveyed_as(directory: &Path, file: &str, format: &str) -> Survey {
    common::surveyed(&open(directory, file, format, false))
}

/// The figures of a captured trace.
struct Captured {
    file: &'static str,
    /// All, reads, writes, discards, flushes without data.
    requests: [u64; 5],
    /// Preflush, FUA, sync, metadata, readahead.
    flags: [u64; 5],
    /// Written, read, discarded.
    bytes: [u128; 3],
    end_sectors: u64,
    /// Written, read, either, completely discarded.
    pages: [u64; 4],
    rewritten_pages: u64,
    /// Writes below 4 and below 8 sectors; unaligned reads and writes.
    small: [u64; 3],
    span_ms: u64,
    /// As printed; empty if there are none.
    read_sizes: &'static str,
    write_sizes: &'static str,
    discard_sizes: &'static str,
}

static CAPTURED: &[Captured] = &[
    Captured {
        file: "blkparse/pg-tpcc.txt.zst",
        requests: [4_000_000, 1_894_878, 2_048_690, 350, 56_082],
        flags: [57_629, 1548, 236_422, 14_911, 1_894_427],
        bytes: [28_095_651_840, 20_367_486_976, 5_294_518_272],
        end_sectors: 26_805_040,
        pages: [1_588_451, 598_718, 1_693_538, 893_098],
        rewritten_pages: 5_270_839,
        small: [0, 0, 0],
        span_ms: 482_938,
        read_sizes: "8 (29085), 16 (1657099), 17-31 (5061), 32 (83853), 33-63 (54995), 64 (22600), \
            65-127 (23731), 128 (4906), 129-255 (8985), 256 (742), 257-511 (3123), 512 \
            (160), 513-1023 (482), 1024 (10), 1025-2047 (41), 2049+ (5)",
        write_sizes: "8 (15270), 16 (1934097), 17-31 (11), 32 (38444), 33-63 (5146), 64 (1846), \
            65-127 (4185), 128 (1603), 129-255 (12519), 256 (1717), 257-511 (19376), 512 \
            (847), 513-1023 (11385), 1024 (110), 1025-2047 (2063), 2048 (4), 2049+ (67)",
        discard_sizes: "8 (86), 16 (7), 33-63 (4), 64 (1), 65-127 (1), 128 (1), 129-255 (2), \
            257-511 (1), 513-1023 (1), 2049+ (246)",
    },
    Captured {
        file: "blkparse/my-tpcc.txt.zst",
        requests: [2_200_000, 1_487_987, 685_380, 0, 26_633],
        flags: [38_288, 11_655, 2_199_835, 11_793, 27],
        bytes: [5_236_372_480, 6_096_592_896, 0],
        end_sectors: 25_211_981,
        pages: [293_842, 302_599, 359_812, 0],
        rewritten_pages: 1_018_562,
        small: [22_176, 40_022, 52_047],
        span_ms: 533_737,
        read_sizes: "8 (1487969), 32 (9), 65-127 (1), 129-255 (1), 257-511 (7)",
        write_sizes: "1 (4134), 2 (12806), 3 (5236), 4 (4660), 5 (4702), 6 (4784), 7 (3700), 8 \
            (629446), 9-15 (2943), 16 (380), 17-31 (4039), 32 (239), 33-63 (3444), 64 \
            (71), 65-127 (1450), 128 (21), 129-255 (378), 256 (7), 257-511 (288), 512 \
            (8), 513-1023 (414), 1024 (6), 1025-2047 (952), 2048 (666), 2049+ (606)",
        discard_sizes: "",
    },
    Captured {
        file: "blkparse/sqlite-bank.txt.zst",
        requests: [1_500_000, 0, 1_178_082, 54_257, 267_661],
        flags: [320_176, 52_577, 1_476_035, 453_452, 0],
        bytes: [2_166_799_360, 0, 368_101_376],
        end_sectors: 4_014_660,
        pages: [60_365, 0, 60_365, 7608],
        rewritten_pages: 1_361_884,
        small: [989_833, 1_010_805, 1_173_836],
        span_ms: 357_352,
        read_sizes: "",
        write_sizes: "2 (989833), 4 (15262), 6 (5710), 8 (3067), 9-15 (131381), 16 (16772), 17-31 \
            (14922), 32 (70), 33-63 (1039), 64 (26)",
        discard_sizes: "2 (8257), 4 (6861), 6 (12359), 8 (3128), 9-15 (12214), 16 (1891), 17-31 \
            (6767), 32 (379), 33-63 (2125), 64 (13), 65-127 (100), 129-255 (15), 257-511 \
            (68), 513-1023 (5), 1024 (17), 1025-2047 (48), 2049+ (10)",
    },
    Captured {
        file: "blkparse/squid-proxy.txt.zst",
        requests: [407_492, 234_014, 166_371, 7105, 2],
        flags: [174, 177, 29_655, 40_209, 233_497],
        bytes: [3_006_681_088, 3_595_640_832, 3_847_737_344],
        end_sectors: 21_037_312,
        pages: [710_839, 343_698, 710_843, 96_867],
        rewritten_pages: 23_214,
        small: [0, 0, 0],
        span_ms: 958_700,
        read_sizes: "8 (62079), 16 (49217), 17-31 (29713), 32 (67591), 33-63 (7866), 64 (1829), \
            65-127 (7585), 128 (5960), 129-255 (876), 256 (35), 257-511 (981), 512 (6), \
            513-1023 (175), 1025-2047 (67), 2048 (4), 2049+ (30)",
        write_sizes: "8 (74263), 16 (29811), 17-31 (17275), 32 (11028), 33-63 (15888), 64 (2866), \
            65-127 (8696), 128 (608), 129-255 (3943), 256 (93), 257-511 (1157), 512 (15), \
            513-1023 (363), 1024 (2), 1025-2047 (161), 2048 (34), 2049+ (168)",
        discard_sizes: "8 (1416), 16 (1401), 17-31 (891), 32 (635), 33-63 (1160), 64 (274), 65-127 \
            (803), 128 (51), 129-255 (289), 256 (5), 257-511 (107), 512 (5), 513-1023 \
            (30), 1024 (1), 1025-2047 (6), 2049+ (31)",
    },
    Captured {
        file: "blkparse/desktop.txt.zst",
        requests: [478_162, 6175, 426_841, 32_686, 12_460],
        flags: [22_295, 9852, 285_255, 250_074, 3060],
        bytes: [6_713_327_616, 83_111_936, 281_192_591_360],
        end_sectors: 30_146_560,
        pages: [947_951, 18_116, 947_951, 875_848],
        rewritten_pages: 691_045,
        small: [0, 0, 0],
        span_ms: 782_666,
        read_sizes: "8 (4451), 16 (548), 17-31 (259), 32 (156), 33-63 (271), 64 (75), 65-127 \
            (181), 128 (18), 129-255 (90), 256 (40), 257-511 (52), 512 (16), 513-1023 \
            (12), 1024 (2), 1025-2047 (4)",
        write_sizes: "8 (359023), 16 (21423), 17-31 (9564), 32 (8162), 33-63 (12045), 64 (1798), \
            65-127 (5937), 128 (465), 129-255 (3507), 256 (95), 257-511 (1869), 512 (28), \
            513-1023 (1193), 1024 (14), 1025-2047 (508), 2048 (234), 2049+ (976)",
        discard_sizes: "8 (1478), 16 (925), 17-31 (651), 32 (2958), 33-63 (4499), 64 (426), 65-127 \
            (1442), 128 (139), 129-255 (1254), 256 (171), 257-511 (925), 512 (100), \
            513-1023 (878), 1024 (43), 1025-2047 (965), 2048 (26), 2049+ (15806)",
    },
    Captured {
        file: "blkparse/fio-skew-90-10.txt.zst",
        requests: [600_005, 0, 600_004, 0, 1],
        flags: [1, 0, 600_001, 4, 0],
        bytes: [1_228_816_384, 0, 0],
        end_sectors: 4_489_148,
        pages: [109_013, 0, 109_013, 0],
        rewritten_pages: 490_991,
        small: [0, 600_000, 600_000],
        span_ms: 103_044,
        read_sizes: "",
        write_sizes: "4 (600000), 8 (4)",
        discard_sizes: "",
    },
    Captured {
        file: "blkparse/fio-skew-80-20.txt.zst",
        requests: [300_000, 0, 300_000, 0, 0],
        flags: [0, 0, 299_997, 3, 0],
        bytes: [614_406_144, 0, 0],
        end_sectors: 4_489_204,
        pages: [149_939, 0, 149_939, 0],
        rewritten_pages: 150_061,
        small: [0, 299_997, 299_997],
        span_ms: 41_715,
        read_sizes: "",
        write_sizes: "4 (299997), 8 (3)",
        discard_sizes: "",
    },
    Captured {
        file: "blkparse/fio-skew-70-30.txt.zst",
        requests: [300_000, 0, 300_000, 0, 0],
        flags: [0, 0, 299_995, 5, 0],
        bytes: [614_410_240, 0, 0],
        end_sectors: 4_489_200,
        pages: [195_687, 0, 195_687, 0],
        rewritten_pages: 104_313,
        small: [0, 299_995, 299_995],
        span_ms: 34_853,
        read_sizes: "",
        write_sizes: "4 (299995), 8 (5)",
        discard_sizes: "",
    },
    Captured {
        file: "blkparse/fio-skew-60-40.txt.zst",
        requests: [300_000, 0, 300_000, 0, 0],
        flags: [0, 0, 299_998, 2, 0],
        bytes: [614_404_096, 0, 0],
        end_sectors: 4_489_196,
        pages: [220_307, 0, 220_307, 0],
        rewritten_pages: 79_693,
        small: [0, 299_998, 299_998],
        span_ms: 31_745,
        read_sizes: "",
        write_sizes: "4 (299998), 8 (2)",
        discard_sizes: "",
    },
];

static DESKTOP_60S: Captured = Captured {
    file: "blktrace/desktop-60s",
    requests: [73_693, 355, 70_160, 2335, 843],
    flags: [1745, 904, 36_726, 41_208, 227],
    bytes: [832_761_856, 1_699_840, 10_956_853_248],
    end_sectors: 30_146_560,
    pages: [195_063, 415, 195_130, 231_359],
    rewritten_pages: 8248,
    small: [0, 0, 0],
    span_ms: 137_007,
    read_sizes: "8 (348), 16 (4), 32 (1), 129-255 (1), 257-511 (1)",
    write_sizes: "8 (59409), 16 (3552), 17-31 (1714), 32 (1154), 33-63 (1742), 64 (299), \
        65-127 (1009), 128 (81), 129-255 (599), 256 (15), 257-511 (282), 512 (3), \
        513-1023 (145), 1024 (2), 1025-2047 (74), 2048 (7), 2049+ (73)",
    discard_sizes: "8 (112), 16 (58), 17-31 (46), 32 (186), 33-63 (284), 64 (25), 65-127 (79), \
        128 (4), 129-255 (74), 256 (32), 257-511 (100), 512 (26), 513-1023 (111), 1024 (18), \
        1025-2047 (110), 2048 (9), 2049+ (1061)",
};

/// The buckets of a histogram, in the form of the published tables.
fn printed(sizes: &RequestSizes) -> String {
    let buckets = sizes.buckets();
    let words: Vec<_> = buckets.iter().map(|b| format!("{} ({})", b.label(), b.requests)).collect();
    words.join(", ")
}

impl Captured {
    fn check(&self, survey: &Survey) {
        let file = self.file;
        let [requests, reads, writes, trims, flushes] = self.requests;
        assert_eq!(survey.requests(), requests, "{file}");
        let by_op = [&survey.reads, &survey.writes, &survey.trims];
        assert_eq!(by_op.map(RequestSizes::requests), [reads, writes, trims], "{file}");
        assert_eq!(survey.flushes, flushes, "{file}");
        assert_eq!(survey.data_requests(), reads + writes, "{file}");
        let f = survey.flags;
        assert_eq!([f.preflush, f.fua, f.sync, f.meta, f.readahead], self.flags, "{file}");
        let by_table = [&survey.writes, &survey.reads, &survey.trims];
        assert_eq!(by_table.map(RequestSizes::bytes), self.bytes, "{file}");
        assert_eq!(survey.end_bytes(), self.end_sectors * 512, "{file}");
        let [written, read, touched, trimmed] = self.pages;
        let rewritten = self.rewritten_pages;
        let pages = PageCounts { written, read, touched, trimmed, rewritten };
        assert_eq!(survey.pages, pages, "{file}");
        let writes = &survey.writes;
        let small = [writes.below_sectors(4), writes.below_sectors(8), survey.unaligned()];
        assert_eq!(small, self.small, "{file}");
        assert_eq!((survey.span_ns + 500_000) / 1_000_000, self.span_ms, "{file}");
        assert_eq!(printed(&survey.reads), self.read_sizes, "{file}");
        assert_eq!(printed(&survey.writes), self.write_sizes, "{file}");
        assert_eq!(printed(&survey.trims), self.discard_sizes, "{file}");
        assert_eq!(survey.skipped.total(), 0, "{file}");
        assert_eq!(survey.skipped.backward_times, 0, "{file}");
        assert_eq!(survey.devices.len(), 1, "{file}");
    }
}

#[test]
fn captured_traces_have_the_published_figures() {
    let Some(directory) = traces() else { return };
    // Two threads, one of which checks only the longest trace.
    let (longest, others) = CAPTURED.split_first().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| longest.check(&surveyed(&directory, longest.file)));
        for captured in others {
            captured.check(&surveyed(&directory, captured.file));
        }
    });
}

#[test]
fn events_out_of_order_are_counted() {
    let Some(directory) = traces() else { return };
    let ext4 = surveyed(&directory, "blkparse/blkparseout_ext4.txt.zst");
    assert!(ext4.skipped.backward_times >= 824, "{:?}", ext4.skipped);
    let note = "The requests are the events with action D (issued to the device).";
    assert_eq!(ext4.notes[0], note);
    assert_eq!(ext4.skipped.absurd_times, 0, "the time of its last event is a negative one");
    assert!(ext4.notes[1].starts_with("1 of the times is shortly before the start"));
    assert!(ext4.notes[2].contains(" times are before that of an earlier request"));
    assert!(ext4.span_ns < 3_600_000_000_000, "{}", ext4.span_ns);
}

#[test]
fn iologs_have_the_published_counts() {
    let Some(directory) = traces() else { return };
    let three = surveyed(&directory, "fio/mix.v3.log.zst");
    let two = surveyed(&directory, "fio/mix.v2.log.zst");
    for mix in [&three, &two] {
        let counts = [mix.reads.requests(), mix.writes.requests(), mix.flushes, mix.requests()];
        assert_eq!(counts, [79_909, 120_091, 4_061, 204_061]);
        assert_eq!(mix.pages, three.pages);
        assert_eq!(printed(&mix.writes), printed(&three.writes));
    }
    assert_eq!((three.span_ns, two.span_ns), ((58_355_938 - 1_409_292) * 1_000, 0));
    let skew = surveyed(&directory, "fio/skew-90-10-2k.v3.log.zst");
    assert_eq!((skew.requests(), skew.writes.requests()), (100_000, 100_000));
    assert_eq!(printed(&skew.writes), "4 (100000)");
    assert_eq!(skew.span_ns, (336_501 - 165) * 1_000);
}

#[test]
fn checksums_are_of_the_stored_files() {
    let Some(directory) = traces() else { return };
    let trace = open(&directory, "msr/wdev_3.csv.zst", "", false);
    let expected = "34bae6fdb4531d91089c79741bc6cab6d3c13d0dc8d8f03196c8c588590dc8a5";
    assert_eq!(trace.sha256().unwrap().as_deref(), Some(expected));
}

#[test]
fn binary_traces_of_several_cpus_are_merged() {
    let Some(directory) = traces() else { return };
    let names = ["desktop-60s.blktrace.0.zst", "desktop-60s.blktrace.1.zst", "desktop-60s"];
    for name in names {
        let survey = surveyed_as(&directory, &format!("blktrace/{name}"), "blktrace:action=Q");
        DESKTOP_60S.check(&survey);
        let action = "The requests are the events with action Q (queued).";
        assert_eq!(survey.notes, [action, "2 files are merged by time."]);
    }
}

#[test]
fn binary_and_text_of_a_trace_agree() {
    let Some(directory) = traces() else { return };
    for action in ["Q", "G", "I", "D", "C"] {
        let requests = |file: &str, format: &str| {
            let format = format!("{format}:action={action}");
            open(&directory, file, &format, false).requests().unwrap()
        };
        let binary = requests("blktrace/tr.blktrace.0", "blktrace");
        let text = requests("blktrace/tr.txt", "blkparse");
        assert_eq!(binary, text, "action {action}");
        assert!(binary.len() >= 40, "action {action}");
    }
}
