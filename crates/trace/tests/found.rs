//! Compares real public traces with the figures published beside them, for reads and writes only.
//!
//! The line after each file contains its figures: requests, reads/writes in %, bytes written, bytes
//! read, highest end, distinct pages of 4 KiB written/read/either, mean/median size in sectors,
//! aligned to 4 KiB in % of all/writes, devices, span (`-`: the published span omits requests of
//! the file or requires sorting).
//!
//! Three published figures differ from ours: the distinct pages of `ssdsim/Financial1-first10k`
//! (7,622) and of the Tencent sample (348,972) count pages that are read and written twice; and the
//! 11,997 requests of `log250_RadioWebBrowse` include one of zero bytes.

mod common;
#[path = "common/shelf.rs"]
mod shelf;

use std::path::Path;

use common::{open, surveyed, traces};
use shelf::Shelved;
use trace::analysis::survey::{PageCounts, Survey};
use trace::writer::{CSV_SPEC, OutputFormat, TraceWriter};
use trace::{Flags, ReadOptions, Request, Trace};

/// For each file a line with its name without `.zst`, and a line with its figures.
static FOUND: &str = "\
blkreplay/linux-mysql.load
80794 8.9/91.1 1.03GiB 79.07MiB 30.32GiB 124283/20241/142563 28.6/8 90/89 1 3599.9s
blkreplay/linux-webserver-2.load
269007 55.4/44.6 1.04GiB 3.33GiB 720.60GiB 79386/421839/488036 34.1/16 93/83 1 3600.9s
blkreplay/windows-shared-server.load
1371 0.0/100.0 5.15MiB 0.00MiB 3.00GiB 266/0/266 7.7/8 90/90 1 3597.1s
disksim/systemdisk1.disksim.trace
27328 12.2/87.8 951.34MiB 2.11GiB 1020.13MiB 144553/203359/206261 233.0/8 11/5 1 2.40h
disksim/ssd-iozone-aligned2-100K.trace
100000 0.0/100.0 34.32GiB 0.00MiB 16.07GiB 271320/0/271320 719.8/512 100/100 1 936.4s
disksim/ssd-postmark-aligned2.trace
62257 83.2/16.8 8.32GiB 4.88GiB 21.32GiB 1532457/963019/1533388 444.6/128 100/100 1 490.4s
disksim/pcmark.trace
56088 74.6/25.4 2.88GiB 3.07GiB 105.36GiB 131491/515651/581569 222.5/64 100/100 1 1466.3s
msr/rsrch_1.csv
13780 0.3/99.7 163.28MiB 0.54MiB 178.37GiB 28769/144/28775 24.3/8 93/93 1 6.67d
msr/wdev_3.csv
682 1.6/98.4 2.85MiB 0.68MiB 33.92GiB 133/183/316 10.6/8 0/0 1 6.91d
diskmon/mayun.txt
24844 57.1/42.9 223.49MiB 117.23MiB 60.60GiB 38568/35190/68981 28.1/8 1/1 1 6529.9s
diskmon/mayun2.txt
87160 42.1/57.9 899.94MiB 777.38MiB 132.52GiB 133688/87128/210304 39.4/8 9/0 1 3.26h
diskmon/mayun4.txt
17428 36.9/63.1 276.03MiB 162.27MiB 132.77GiB 54070/30115/81699 51.5/16 1/0 1 1548.8s
diskmon/p2pdownload.txt
11053 2.4/97.6 151.65MiB 4.20MiB 187.31GiB 17525/1206/18449 28.9/8 37/37 1 1144.8s
tencent-cbs/cloud_storage-sample.csv
50000 49.0/51.0 831.26MiB 616.79MiB 1554.42GiB 209875/139099/348239 59.3/8 83/81 2038 -
blkparse/blkparseout_ext4.txt
9887 91.4/8.6 240.27MiB 999.09MiB 8.13GiB 61395/255768/317163 256.7/256 100/100 1 -
blkparse/blkparseout_f2fs.txt
5727 82.5/17.5 419.47MiB 512.28MiB 2.56GiB 101756/131143/232492 333.2/256 100/100 1 1651.0s
blkparse/blkparseout_btrfs.txt
1824 71.3/28.7 244.55MiB 1002.14MiB 2.52GiB 56753/256549/313302 1399.8/1536 100/100 1 1071.3s
blkparse/nvme-java-sample.txt
1694 100.0/0.0 0.00MiB 188.86MiB 476.93GiB 0/48347/48347 228.3/256 100/- 1 0.680s
fiu/cheetah-110108-113008.2-10k.blkparse
9997 89.0/11.0 4.30MiB 34.75MiB 277.07GiB 893/8314/9201 8.0/8 100/100 1 23.6s
ssdsim/Financial1-first10k.ssdsim.ascii
10000 40.8/59.2 28.46MiB 24.26MiB 489.46MiB 3734/3888/7322 10.8/6 0/0 22 259.6s
ssdsim/DTRS1K.ssdsim.trace
127043 89.0/11.0 725.60MiB 5.99GiB 153.21GiB 184051/1104913/1272267 110.7/128 97/100 1 300.0s
disksim/Financial1-asu0-4k.sec.trace
153566 0.7/99.3 965.73MiB 3.94MiB 244.32MiB 60285/18/60287 12.9/8 100/100 1 11.99h
flashsim/Financial1-50k.flashsim.trace
50000 58.4/41.6 129.02MiB 212.49MiB 489.71MiB 8890/27763/31150 14.0/16 13/9 1 853.4s
flashsim/WebSearch1-50k.flashsim.trace
50000 100.0/0.0 0.08MiB 739.36MiB 16.67GiB 4/185452/185456 30.3/16 100/100 1 128.7s
flashsim/desktop.flashsim.trace
32527 38.3/61.7 749.45MiB 307.64MiB 156.25GiB 143898/73374/195409 66.6/40 79/96 1 2.47h
flashsim/jpeg_copy.flashsim.trace
47120 75.0/25.0 2.16GiB 2.14GiB 429.49GiB 567706/562207/1129833 191.7/120 0/0 1 810.1s
mqsim/tpcc-small.trace
6999 62.6/37.4 22.32MiB 34.63MiB 216.73GiB 7879/12663/20470 16.7/16 13/12 16 0.136s
mqsim/wsrch-small.trace
24783 100.0/0.0 0.03MiB 364.38MiB 16.67GiB 4/93025/93029 30.1/16 100/100 6 60.1s
msr-cut/msr.cut.per_10k.rw_20_80.105.trace
10000 20.2/79.8 48.65MiB 3.62MiB 13.93GiB 5815/1673/7385 10.7/8 57/69 1 242.9s
msr-cut/msr.cut.per_10k.rw_40_60.1370.trace
10000 40.5/59.5 27.94MiB 18.63MiB 13.84GiB 4294/4838/8968 9.5/8 55/45 1 85.9s
msr-cut/msr.cut.per_10k.most_thpt_rand_iops.1006.trace
10000 83.2/16.8 90.24MiB 33.92MiB 11.80GiB 23100/5927/29025 25.4/8 100/100 1 1.017s
wpa-csv/win11-boot.csv
172287 90.6/9.4 306.69MiB 3.72GiB 238.47GiB 62032/885698/930285 49.0/8 82/98 1 51.2s
pixel6a-csv/cod_exec.csv
223998 90.0/10.0 860.45MiB 8.68GiB 117.39GiB 165090/1176116/1339175 89.1/32 100/100 1 6.67d
pixel6a-csv/cod_precond.csv
72878 0.0/100.0 9.38GiB 0.00MiB 71.89GiB 2443204/0/2443204 270.0/24 100/100 1 20.28h
pixel6a-csv/diablo_exec.csv
337415 87.6/12.4 1.29GiB 5.95GiB 119.00GiB 255291/979126/1124049 45.0/8 100/100 1 60.73d
pixel6a-csv/genshin_impact_exec.csv
91317 89.5/10.5 236.73MiB 3.67GiB 118.92GiB 49293/708966/722916 89.6/24 100/100 1 6081.3s
pixel6a-csv/genshin_impact_precond.csv
141152 0.0/100.0 25.44GiB 0.00MiB 118.82GiB 6461226/0/6461226 378.0/24 100/100 1 2.81d
pixel6a-csv/pubg_exec.csv
67757 74.9/25.1 1.29GiB 1.22GiB 119.00GiB 298140/285724/525367 77.7/8 100/100 1 6.11d
pixel6a-csv/pubg_precond.csv
51110 0.0/100.0 3.20GiB 0.00MiB 119.00GiB 816588/0/816588 131.4/16 100/100 1 594.8s
pixel6a-csv/slideshow_exec.csv
84197 92.3/7.7 158.59MiB 2.64GiB 119.00GiB 28818/473683/497431 69.6/48 100/100 1 18.17h
pixel6a-csv/slideshow_precond.csv
332321 0.0/100.0 62.51GiB 0.00MiB 119.00GiB 16151139/0/16151139 394.5/344 100/100 1 4962.9s
pixel6a-csv/you_cut_exec.csv
313826 87.0/13.0 207.55MiB 30.95GiB 72.46GiB 13048/2644759/2657584 208.2/256 100/100 1 1098.0s
pixel6a-csv/you_cut_precond.csv
85628 0.0/100.0 27.53GiB 0.00MiB 84.14GiB 7174078/0/7174078 674.3/1024 100/100 1 4.66d
biotracer/log106_Messaging.txt
5702 2.7/97.3 59.24MiB 3.50MiB 28.14GiB 9578/895/10468 22.5/8 80/79 1 589.1s
biotracer/log111_email.txt
2906 29.6/70.4 45.68MiB 12.38MiB 27.39GiB 4905/3168/7881 40.9/16 88/83 1 740.9s
biotracer/log121_Movie.txt
4781 94.6/5.4 4.30MiB 123.07MiB 28.16GiB 1009/31506/32501 54.6/56 100/97 1 997.5s
biotracer/log125_copyHtoD.txt
9278 34.0/66.0 4.02GiB 105.86MiB 28.71GiB 918832/19901/938528 932.6/89 82/73 1 685.7s
biotracer/log131_music.txt
6913 47.2/52.8 33.99MiB 200.50MiB 28.21GiB 5795/51324/56952 69.5/16 99/97 1 3801.1s
biotracer/log132_radio.txt
5820 1.3/98.7 111.05MiB 2.73MiB 27.39GiB 22319/698/22919 40.0/16 81/81 1 4453.6s
biotracer/log136_idle.txt
6932 11.1/88.9 91.23MiB 29.59MiB 28.71GiB 15337/7568/22599 35.7/8 85/84 1 8.16h
biotracer/log146_callIn.txt
1491 0.1/99.9 26.80MiB 0.01MiB 25.00GiB 5070/3/5073 36.8/16 79/79 1 3766.9s
biotracer/log147_callout.txt
1569 1.1/98.9 26.69MiB 0.17MiB 24.82GiB 4803/43/4846 35.1/8 82/82 1 3700.0s
biotracer/log152_YouTube.txt
2080 2.5/97.5 27.13MiB 0.99MiB 25.02GiB 5683/254/5937 27.7/8 90/90 1 4690.0s
biotracer/log156_download.txt
11670 1.1/98.9 712.33MiB 1.55MiB 28.21GiB 162196/396/162567 125.3/8 69/68 1 2166.0s
biotracer/log161_cameraVideo.txt
9348 70.5/29.5 1.93GiB 248.67MiB 28.79GiB 504666/56396/543023 488.5/32 94/80 1 3416.7s
biotracer/log166_webBrowsing.txt
4090 19.3/80.7 77.01MiB 16.91MiB 28.52GiB 13966/4318/18030 47.0/8 87/84 1 4901.1s
biotracer/log171_angrybird.txt
3215 15.5/84.5 67.83MiB 24.86MiB 28.37GiB 13299/6363/19622 59.0/16 86/83 1 2022.3s
biotracer/log176_Booting.txt
18417 66.9/33.1 223.19MiB 736.08MiB 29.12GiB 47470/188333/232499 106.7/32 97/97 1 -
biotracer/log181_Installing.txt
17952 1.7/98.3 1.57GiB 6.77MiB 27.64GiB 265188/1716/266758 184.4/8 83/83 1 977.8s
biotracer/log186_twitter.txt
13807 11.5/88.5 129.12MiB 55.21MiB 27.09GiB 16631/14133/30551 27.3/8 82/80 1 855.8s
biotracer/log191_facebook.txt
3897 25.6/74.4 67.50MiB 27.88MiB 27.09GiB 11659/7137/18632 50.1/8 88/84 1 1111.8s
biotracer/log196_Amazon.txt
3173 11.3/88.7 78.69MiB 6.72MiB 26.06GiB 14132/1720/15755 55.1/8 88/86 1 1548.4s
biotracer/log201_GoogleMap.txt
12603 13.2/86.8 147.36MiB 46.47MiB 28.16GiB 24788/11897/36517 31.5/16 89/88 1 1719.5s
biotracer/log202_GoogleMap.txt
6266 9.0/91.0 97.19MiB 15.11MiB 27.41GiB 17990/3863/21757 36.7/16 87/86 1 999.9s
biotracer/log220_MusicWebBrowse.txt
13204 18.3/81.7 162.42MiB 120.45MiB 27.39GiB 27410/30796/58005 43.9/8 94/93 1 2164.8s
biotracer/log225_MusicFaceBook.txt
35136 12.3/87.7 270.75MiB 162.71MiB 27.39GiB 33826/40901/74104 25.3/8 92/90 1 2025.9s
biotracer/log225_MusicTwitter.txt
30057 6.2/93.8 215.94MiB 80.20MiB 27.39GiB 26992/20518/47353 20.2/8 93/93 1 1000.4s
biotracer/log230_MusicMessage.txt
16504 5.6/94.4 179.02MiB 50.36MiB 27.39GiB 26324/12847/38860 28.5/8 89/89 1 926.5s
biotracer/log235_RadioFaceBook.txt
10495 8.3/91.7 131.36MiB 19.64MiB 27.39GiB 18900/4963/23696 29.5/8 84/82 1 900.7s
biotracer/log240_RadioMessage.txt
11101 1.8/98.2 144.49MiB 3.60MiB 24.84GiB 22875/921/23768 27.3/8 77/76 1 659.4s
biotracer/log250_RadioWebBrowse.txt
11996 28.0/72.0 168.19MiB 95.82MiB 27.39GiB 29011/23839/51958 45.1/8 93/90 1 1227.6s
biotracer/log260_FaceBookHandOuts.txt
15601 15.3/84.7 129.03MiB 50.45MiB 27.39GiB 15706/12742/28270 23.6/8 85/83 1 699.2s
cloudphysics/cloudPhysicsIO-us.csv
113872 41.3/58.7 2.24GiB 1.67GiB 31.28GiB 208696/210000/269210 72.1/104 0/0 1 2.00h";

/// The figures of a survey, in the form of the table.
fn figures(survey: &Survey) -> String {
    let (reads, writes) = (&survey.reads, &survey.writes);
    let requests = survey.data_requests();
    let PageCounts { written, read, touched, .. } = survey.pages;
    let sizes = survey.data_sizes();
    [
        requests.to_string(),
        format!(
            "{}/{}",
            percent(reads.requests(), requests, 1),
            percent(writes.requests(), requests, 1)
        ),
        volume(writes.bytes()),
        volume(reads.bytes()),
        volume(survey.end_bytes().into()),
        format!("{written}/{read}/{touched}"),
        format!("{:.1}/{}", sizes.mean_sectors(), sizes.median_sectors()),
        format!(
            "{}/{}",
            percent(survey.aligned.all, requests, 0),
            percent(survey.aligned.writes, writes.requests(), 0)
        ),
        survey.devices.len().to_string(),
    ]
    .join(" ")
}

/// Bytes in the form of the tables: in GiB from 1 GiB on, else in MiB.
fn volume(bytes: u128) -> String {
    const GIB: u128 = 1 << 30;
    match bytes {
        GIB.. => format!("{:.2}GiB", bytes as f64 / GIB as f64),
        _ => format!("{:.2}MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

fn percent(part: u64, whole: u64, decimals: usize) -> String {
    match whole {
        0 => String::from("-"),
        _ => format!("{:.decimals$}", 100.0 * part as f64 / whole as f64),
    }
}

/// A span in the unit and with the decimals of `as_in`.
fn span(span_ns: u64, as_in: &str) -> String {
    let digits = as_in.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &as_in[digits.len()..];
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let seconds = span_ns as f64 / 1e9;
    let value = match unit {
        "d" => seconds / 86_400.0,
        "h" => seconds / 3_600.0,
        _ => seconds,
    };
    format!("{value:.decimals$}{unit}")
}

/// The files and their figures.
fn found() -> impl Iterator<Item = (String, &'static str)> {
    let lines: Vec<&str> = FOUND.lines().collect();
    let pairs: Vec<_> = lines.chunks(2).map(|pair| (format!("{}.zst", pair[0]), pair[1])).collect();
    pairs.into_iter()
}

/// The requests that are skipped, for traces where there are any.
static SKIPPED: &[(&str, &str, u64)] = &[
    ("diskmon/p2pdownload.txt.zst", "malformed", 2),
    ("biotracer/log250_RadioWebBrowse.txt.zst", "zero-length", 1),
];

#[test]
fn found_traces_have_the_published_figures() {
    let Some(directory) = traces() else { return };
    for (file, expected) in found() {
        let Shelved { format, skip_bad, .. } = shelf::shelved(&file);
        let survey = surveyed(&open(&directory, &file, format, skip_bad));
        let (rest, expected_span) = expected.rsplit_once(' ').unwrap();
        assert_eq!(figures(&survey), rest, "{file}");
        if expected_span != "-" {
            assert_eq!(span(survey.span_ns, expected_span), expected_span, "{file}");
        }
        let counts: Vec<_> = survey.skipped.iter().collect();
        let skipped = SKIPPED.iter().filter(|(other, ..)| *other == file);
        let expected: Vec<_> = skipped.map(|(_, why, count)| (*why, *count)).collect();
        assert_eq!(counts, expected, "{file}");
    }
}

#[test]
fn impossible_lines_are_errors_unless_skipped() {
    let Some(directory) = traces() else { return };
    let trace = open(&directory, "diskmon/p2pdownload.txt.zst", "", false);
    let message = trace.requests().unwrap_err().to_string();
    assert!(
        message.contains("zst:1: the offset exceeds 64 bits in bytes: 0 0.484119"),
        "{message}"
    );
}

#[test]
fn sorting_gives_the_published_span() {
    let Some(directory) = traces() else { return };
    let trace =
        open(&directory, "tencent-cbs/cloud_storage-sample.csv.zst", "", false).sorted(true);
    let survey = surveyed(&trace);
    assert_eq!((survey.span_ns, survey.requests()), (1_000_000_000, 50_000));
    assert_eq!(survey.skipped.backward_times, 0);
}

#[test]
fn the_format_of_five_integers_is_ambiguous() {
    let Some(directory) = traces() else { return };
    let path = directory.join("mqsim/tpcc-small.trace.zst");
    let opened = Trace::open(path.to_str().unwrap(), &ReadOptions::default());
    let message = opened.err().unwrap().to_string();
    for format in ["disksim", "mqsim", "ssdsim"] {
        assert!(message.contains(&format!("--format {format}\n")), "{message}");
    }
}

// ---- there and back ---------------------------------------------------------------------------

/// Writes requests and reads them back.
fn round_trip(
    requests: &[Request],
    form: OutputFormat,
    format: &str,
) -> (Vec<Request>, Vec<String>) {
    let mut writer = TraceWriter::new(Vec::new(), form).unwrap();
    requests.iter().for_each(|request| writer.write(request).unwrap());
    let format = Some(spec::Spec::parse(format).unwrap());
    let options = ReadOptions { format, ..ReadOptions::default() };
    let back = Trace::of_bytes("written", &writer.finish().unwrap(), &options).unwrap();
    (back.requests().unwrap(), names(&back))
}

/// The names of the devices of a trace, in the order of their numbers.
fn names(trace: &Trace) -> Vec<String> {
    let (mut replay, mut batch) = (trace.replay().unwrap(), Vec::new());
    while replay.next_batch(&mut batch, 1024).unwrap() > 0 {
        batch.clear();
    }
    replay.report().devices
}

/// The longest traces, whose conversion takes minutes.
static LONGEST: &[&str] = &[
    "blkparse/pg-tpcc.txt.zst",
    "blkparse/my-tpcc.txt.zst",
    "blkparse/sqlite-bank.txt.zst",
    "blkparse/fio-skew-90-10.txt.zst",
    "blkparse/fio-skew-80-20.txt.zst",
    "blkparse/fio-skew-70-30.txt.zst",
    "blkparse/fio-skew-60-40.txt.zst",
    "blkparse/squid-proxy.txt.zst",
];

/// Of a trace that is long its first `most` requests are converted.
fn conversions_keep(directory: &Path, shelved: &Shelved, most: usize) {
    let Shelved { file, format, .. } = shelved;
    let trace = open(directory, file, format, true);
    let mut requests = trace.requests().unwrap();
    requests.truncate(most);
    // If the first record was skipped, the written trace begins with the first request.
    let first_ns = requests.first().map_or(0, |request| request.time_ns);
    let micros = |time_ns: u64| (time_ns / 1000 - first_ns / 1000) * 1000;
    let (fio, names) = round_trip(&requests, OutputFormat::Fio, "fio");
    assert_eq!(fio.len(), requests.len(), "{file}");
    for (back, request) in fio.iter().zip(&requests) {
        let back = Request { device: names[back.device as usize][3..].parse().unwrap(), ..*back };
        let time_ns = micros(request.time_ns);
        assert_eq!(back, Request { time_ns, flags: Flags::empty(), ..*request }, "{file}");
    }
    let (csv, names) = round_trip(&requests, OutputFormat::Csv, CSV_SPEC);
    assert_eq!(csv.len(), requests.len(), "{file}");
    for (back, request) in csv.iter().zip(&requests) {
        let device = names[back.device as usize].parse().unwrap();
        let expected = Request { time_ns: request.time_ns - first_ns, ..*request };
        assert_eq!(Request { device, ..*back }, expected, "{file}");
    }
}

#[test]
#[ignore = "converts 600 MB of text"]
fn conversions_keep_every_request_of_the_longest() {
    let Some(directory) = traces() else { return };
    let longest = LONGEST.iter().map(|file| shelf::shelved(file));
    longest.for_each(|shelved| conversions_keep(&directory, &shelved, usize::MAX));
}

#[test]
fn conversions_keep_every_request() {
    let Some(directory) = traces() else { return };
    let mut files = shelf::all(&directory);
    files.retain(|shelved| !LONGEST.contains(&shelved.file.as_str()));
    let (ones, others) = files.split_at(files.len() / 2);
    let check = |files: &[Shelved]| {
        files.iter().for_each(|shelved| conversions_keep(&directory, shelved, 100_000));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(ones));
        check(others);
    });
}
