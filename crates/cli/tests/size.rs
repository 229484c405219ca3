//! `ftlab size`: what it prints, its JSON, its report and its refusals.

mod common;

use serde_json::Value;
use std::io::Write;

use common::{ftlab, printed, text};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// A refusal with this exit code.
fn refusal(args: &[&str], code: i32) -> String {
    let output = ftlab(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output.stderr));
    text(&output.stderr).to_owned()
}

const SMALL: [&str; 8] = [
    "size",
    "uniform:writes=200K",
    "--capacity",
    "16MiB",
    "--waf",
    "2.5",
    "--chip",
    "slc-fast2010",
];

/// The search with more arguments.
fn small(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

#[test]
fn the_answer_is_that_of_the_command_that_it_names() {
    let found = json(&small(&["--ftl", "page", "--ftl", "page:frontiers=2", "--json"]));
    assert_eq!((&found["schema"], &found["target"]), (&"ftlab.size/1".into(), &2.5.into()));
    for sizing in found["sizings"].as_array().unwrap() {
        let command = sizing["command"].as_str().unwrap();
        let words: Vec<&str> = command.split(' ').skip(1).chain(["--json", "-"]).collect();
        let (run, least) = (json(&words), &sizing["least"]);
        assert_eq!(run["write_amplification"], least["write_amplification"], "{command}");
        assert_eq!(run["device"]["extra_blocks"], least["extra_blocks"]);
        assert!(least["write_amplification"].as_f64() <= Some(2.5) && least["steady"] == true);
        let extra = least["extra_blocks"].as_f64().unwrap();
        let both = &least["over_provisioning"];
        assert_eq!(both["of_capacity"].as_f64(), Some(extra / 128.0));
        assert_eq!(both["of_flash"].as_f64(), Some(extra / 128.0 / (1.0 + extra / 128.0)));
        let curve = sizing["curve"].as_array().unwrap();
        let blocks = curve.iter().map(|point| point["extra_blocks"].as_u64().unwrap());
        assert!(blocks.is_sorted() && curve.iter().any(|point| point == least));
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_jobs() {
    let [one, two] = ["1", "3"].map(|jobs| printed(&small(&["--json", "-", "--jobs", jobs])));
    assert_eq!(one, two);
}

#[test]
fn a_fixed_warm_up_takes_the_place_of_rounds() {
    let found = json(&small(&["--warmup", "1", "--json"]));
    let least = &found["sizings"][0]["least"];
    assert!(least["steady"].is_null() && least["extra_blocks"].is_u64(), "{least}");
}

#[test]
fn both_definitions_and_the_endurance_are_printed() {
    let table = printed(&small(&["--dwpd", "3", "--pe", "10000"]));
    for words in ["(T − U) / U = ", "(T − U) / T = ", "3.000 drive writes a day", "10,000 P/E"]
    {
        assert!(table.contains(words), "{words}: {table}");
    }
    let found = json(&small(&["--dwpd", "3", "--years", "2", "--wear-levelling", "1.1", "--json"]));
    let part = &found["sizings"][0]["endurance"];
    let cycles = 3.0 * 2.0 * 365.0 * 1.1 * part["write_amplification"].as_f64().unwrap();
    assert!((part["needed"]["pe_cycles"].as_f64().unwrap() / cycles - 1.0).abs() < 1e-12);
    let tbw = part["needed"]["tbw_bytes"].as_f64().unwrap();
    assert_eq!(tbw, 3.0 * 2.0 * 365.0 * f64::from(16 << 20));
    let rated = part["rated"]["pe_cycles"].as_f64().unwrap();
    assert!((rated / 100_000.0 - 1.0).abs() < 1e-12, "those of the chip: {rated}");
}

#[test]
fn a_report_has_the_curve() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("size.html");
    let report = page.to_str().unwrap();
    let args: Vec<&str> = SMALL.into_iter().chain(["--report", report, "--quiet"]).collect();
    assert!(printed(&args).is_empty());
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("write-amplification-against-over-provisioning"));
    assert!(html.contains("target 2.5"));
}

/// Otherwise the answer would be 0.00 %: the pages that it writes are few, and repeated for ever.
#[test]
fn a_trace_that_does_not_reach_collection_says_so_on_a_chip_of_today() {
    let few = ["size", "uniform:writes=10K", "--capacity", "1GiB", "--waf", "1.5"];
    let output = ftlab(&[&few[..], &["--json", "-", "--pe", "3000"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    let compared = "it writes 10000 pages (3.8 % of the capacity), but the 8 extra blocks of a \
                    usual device hold 24576, so";
    assert!(message.contains(compared), "{message}");
    assert!(message.contains("`--fit compact`") && message.contains("`--until steady`"));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sizing = &found["sizings"][0];
    assert_eq!(sizing["chip"], "tlc-3d:page=4KiB,pages_per_block=3072");
    assert!(sizing["least"].is_null() && sizing["endurance"].is_null());
    assert!((0.037..0.039).contains(&sizing["written_share"].as_f64().unwrap()));
    let table = text(&ftlab(&few).stdout).to_owned();
    assert!(table.contains("the trace does not reach collection"), "{table}");
    // The sentence stands once, however many FTLs there are.
    let both = ftlab(&[&few[..], &["--ftl", "page", "--ftl", "dftl"]].concat());
    let (stdout, stderr) = (text(&both.stdout), text(&both.stderr));
    assert!(!stdout.contains("The trace does not reach"), "{stdout}");
    assert!(stderr.starts_with("ftlab: page, dftl: The trace does not reach"), "{stderr}");
    assert_eq!(stderr.matches("does not reach").count(), 1, "{stderr}");
    // What is said about the trace itself is still said.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"0,0,4096,W,0.1\n0,zero,512,W,0.2\n").unwrap();
    let bad = ["size", file.path().to_str().unwrap(), "--waf", "2", "--skip-bad"];
    let said = text(&ftlab(&bad).stdout).to_owned();
    assert!(said.contains("`--skip-bad` left out 1 of 2 lines"), "{said}");
    let compact = text(&ftlab(&[&bad[..], &["--fit", "compact"]].concat()).stderr).to_owned();
    assert!(compact.contains("does not reach collection"), "{compact}");
    assert!(!compact.contains("`--fit compact`"), "what is given is not advised: {compact}");
    // Asked to repeat it, the search is made.
    let repeated = json(&[&few[..], &["--until", "steady:rounds=6", "--json"]].concat());
    assert!(repeated["sizings"][0]["written_share"].is_null());
    assert!(repeated["sizings"][0]["least"].is_object());
}

#[test]
fn an_unreachable_target_says_what_was_found() {
    let output = ftlab(&small(&["--most", "10%"]));
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("with 13 extra blocks (10.2 % of the capacity)"), "{message}");
    assert!(message.contains("allow more with `--most`"), "{message}");
    assert!(text(&output.stdout).contains("not reached"), "the curve is printed all the same");
    let few = refusal(&small(&["--most", "1blocks"]), 1);
    assert!(few.contains("the FTL cannot work: page needs at least"), "{few}");
}

/// A run counts the cycles of all blocks, a data sheet those of the capacity. Both texts say so.
#[test]
fn the_endurance_of_a_run_is_that_of_the_answer_times_all_flash() {
    let asked = small(&["--pe", "100000"]);
    let found = json(&[&asked[..], &["--json"]].concat());
    let sizing = &found["sizings"][0];
    let words: Vec<&str> = sizing["command"].as_str().unwrap().split(' ').skip(1).collect();
    let run = json(&[&words[..], &["--json", "-"]].concat());
    let [of_run, tbw] = [
        run["endurance"]["host_bytes_until_worn"].as_f64().unwrap(),
        sizing["endurance"]["rated"]["tbw_bytes"].as_f64().unwrap(),
    ];
    let device = &run["device"];
    let [blocks, extra] = ["logical_blocks", "extra_blocks"].map(|it| device[it].as_f64().unwrap());
    let ratio = of_run / tbw / (1.0 + extra / blocks);
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    let (answer, text) = (printed(&asked), printed(&words));
    assert!(answer.contains("counts the cycles of all blocks: T / U times"), "{answer}");
    assert!(answer.contains("at most 2.5 pages programmed per host page"), "{answer}");
    let written = format!("endurance  {:.3} TBW or ", of_run / 1e12);
    assert!(text.contains(&written) && text.contains("all blocks, extra ones too"), "{text}");
}

/// Where wear is even, a device takes what `size` predicts for it, for all its blocks and the wear
/// levelling that its erases show: within 2 %.
#[test]
fn a_life_is_as_long_as_size_predicts() {
    let device = ["uniform:requests=200K", "--chip", "slc-fast2010", "--capacity", "16MiB"];
    let [asked, ftls] = [["--waf", "3", "--pe", "300"], ["--ftl", "page", "--ftl", "dac"]];
    let found = json(&[&["size"], &device[..], &asked, &ftls, &["--json"]].concat());
    for sizing in found["sizings"].as_array().unwrap() {
        let ftl = sizing["ftl"].as_str().unwrap();
        let extra = format!("{}blocks", sizing["least"]["extra_blocks"]);
        let media = "real:endurance=300,spread=0%,factory_bad=0%";
        let worn = ["--extra", &extra, "--media", media, "--reserve", "1blocks", "--ftl", ftl];
        let lives = json(&[&["life"], &device[..], &worn, &["--json"]].concat());
        let life = &lives["lives"][0];
        let number = |of: &Value| of.as_f64().unwrap();
        let all_blocks = number(&life["blocks"]) + number(&life["reserve_blocks"]);
        let of_capacity = all_blocks / number(&sizing["logical_blocks"]);
        let levelling = number(&life["wear"]["max"]) / number(&life["wear"]["mean"]);
        assert!(levelling < 1.1, "{ftl}: wear is not even: {levelling}");
        let tbw_bytes = number(&sizing["endurance"]["rated"]["tbw_bytes"]);
        let ratio = number(&life["host_bytes"]) / (tbw_bytes * of_capacity / levelling);
        assert!((ratio - 1.0).abs() < 0.02, "{ftl}: {ratio}");
    }
}

/// An empty device has nothing to collect at first, so it lives longer.
#[test]
fn a_life_may_begin_on_an_empty_device() {
    let short = ["life", "uniform:requests=2K", "--capacity", "16MiB", "--ftl", "page"];
    let life = |more: &[&'static str]| {
        let media = ["--media", "real:endurance=10", "--json"];
        json(&[&short[..], &media, more].concat())["lives"][0]["host_bytes"].as_u64().unwrap()
    };
    assert!(life(&["--precondition", "none"]) > life(&[]));
    let reads = ["life", "uniform:requests=1K,reads=100%", "--media", "real:endurance=10"];
    let why = refusal(&[&reads[..], &["--ftl", "page"]].concat(), 2);
    assert!(why.contains("lives and `--until` need a trace that writes"), "{why}");
}

#[test]
fn data_sheets_need_no_trace() {
    let rates = printed(&["size", "--datasheet", "seq=2700MB/s,rand=130k"]);
    assert!(rates.contains("5.071 of random writes"), "{rates}");
    assert!(rates.contains("(T − U) / U = 11.14 %, (T − U) / T = 10.03 %"), "{rates}");
    let pair = ["--datasheet", "tbw-seq=37200TB,tbw-rand=17520TB", "--capacity", "3200GB"];
    let args = [&["size"], &pair[..], &["--dwpd", "3", "--json"]].concat();
    let found = json(&args);
    let amplification = found["data_sheet"]["write_amplification"].as_f64().unwrap();
    assert!((amplification - 2.123).abs() < 1e-3);
    assert_eq!(found["endurance"]["needed"]["tbw_bytes"].as_f64(), Some(17_520e12));
    assert!(found["endurance"]["rated"].is_null(), "there is no chip");
}

#[test]
fn what_makes_no_sense_is_refused_with_a_remedy() {
    let sheet = ["size", "--datasheet", "seq=2700MB/s,rand=130k"];
    let with = |more: &[&'static str]| [&sheet[..], more].concat();
    for (args, hint) in [
        (vec!["size", "oltp"], "--waf"),
        (vec!["size", "oltp", "--waf", "0.9"], "at least 1"),
        (vec!["size", "uniform:requests=1K,reads=100%", "--waf", "2"], "writes no page"),
        (small(&["--resolution", "50%", "--most", "10%"]), "nothing to try"),
        (small(&["--wear-levelling", "0.9"]), "give the reciprocal"),
        (small(&["--years", "0"]), "`--years` must be a number above 0"),
        (with(&["oltp"]), "a TRACE has no effect"),
        (with(&["--waf", "2"]), "`--waf` has no effect"),
        (with(&["--measure-after", "2"]), "`--measure-after` has no effect"),
        (vec!["size", "--datasheet", "seq=1MB/s,rand=130k"], "steady state"),
    ] {
        let message = refusal(&args, 2);
        assert!(message.contains(hint), "{args:?}: {message}");
    }
}
