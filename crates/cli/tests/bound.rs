//! `ftlab bound`: what it prints, its JSON, its report and its refusals.

mod common;

use serde_json::Value;

use common::{ftlab, printed, text};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&printed(args)).unwrap()
}

/// The device of all tests.
const DEVICE: [&str; 4] = ["--capacity", "16MiB", "--extra", "20blocks"];

/// A command on this trace and device.
fn on<'a>(command: &'a str, trace: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command, trace], &DEVICE[..], more].concat()
}

const UNIFORM: &str = "uniform:writes=60K";
const ZIPF: &str = "zipf:writes=60K";

fn runs<'a>(bound: &'a Value, list: &str) -> &'a Vec<Value> {
    bound[list].as_array().unwrap()
}

#[test]
fn the_json_has_the_results_of_single_runs() {
    let found = json(&on("bound", ZIPF, &["--open", "8,2", "--json"]));
    assert_eq!(found["schema"], "ftlab.bound/1");
    let names = |list| runs(&found, list).iter().map(|run| run["ftl"].as_str().unwrap());
    assert!(names("oracle").eq(["oracle:open=2", "oracle:open=8"]));
    assert!(names("schemes").eq(["page", "sepgc", "dac", "sepbit"]));
    for run in runs(&found, "oracle").iter().chain(runs(&found, "schemes")) {
        let ftl = run["ftl"].as_str().unwrap();
        let single = json(&on("run", ZIPF, &["--ftl", ftl, "--json", "-"]));
        assert_eq!(run["write_amplification"], single["write_amplification"], "{ftl}");
        assert_eq!(run["copied_pages"], single["copies"]["total"], "{ftl}");
        assert_eq!(run["host_pages"], single["host_pages"]["written"], "{ftl}");
        if ftl.starts_with("oracle") {
            for name in ["needed_spare", "needed_windows"] {
                assert_eq!(found["law"][name], single["scheme"][name], "{ftl}");
            }
        }
    }
    let open = runs(&found, "schemes").iter().map(|run| run["open_blocks"].as_u64().unwrap());
    assert!(open.eq([1, 2, 3, 6]));
    assert_eq!(found["law"]["spare"].as_f64(), Some(20.0 / 128.0));
}

/// With fewer open blocks the oracle is no bound: it is worse than `page` with one block, and on
/// the skewed writes worse than `dac` with three.
#[test]
fn no_scheme_with_several_open_blocks_is_better_than_the_oracle() {
    for trace in [UNIFORM, ZIPF] {
        let schemes = ["--ftl", "dac:regions=6", "--ftl", "sepbit"];
        let args = [&schemes[..], &["--open", "6", "--json"]].concat();
        let found = json(&on("bound", trace, &args));
        let oracle = runs(&found, "oracle")[0]["write_amplification"].as_f64().unwrap();
        for run in runs(&found, "schemes") {
            assert_eq!(run["open_blocks"], 6);
            assert!(run["write_amplification"].as_f64().unwrap() >= oracle, "{trace}: {run}");
        }
        assert!(!found["notes"].to_string().contains("no bound here"), "{trace}: {found}");
    }
}

#[test]
fn no_scheme_is_better_than_the_oracle_with_as_many_of_several_open_blocks() {
    for trace in [UNIFORM, ZIPF] {
        let table = printed(&on("bound", trace, &["--open", "2,3,6"]));
        assert!(!table.contains("no bound here"), "{table}");
    }
}

/// With a single open block there is nothing to place, and the rules for victims differ slightly.
#[test]
fn a_note_names_the_scheme_that_is_better_than_the_oracle_with_one_block() {
    let table = printed(&on("bound", ZIPF, &["--open", "1,16"]));
    assert!(table.contains("note: page is better than oracle:open=1, which is no"), "{table}");
    assert_eq!(table.matches("no bound here").count(), 1, "{table}");
}

#[test]
fn a_report_has_the_copies() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("bound.html");
    let report = page.to_str().unwrap();
    let args = ["--open", "2,4", "--ftl", "fast", "--report", report, "--quiet"];
    assert!(printed(&on("bound", UNIFORM, &args)).is_empty());
    let html = std::fs::read_to_string(&page).unwrap();
    for words in ["copies-against-open-blocks", "<p class=\"headline\">fast copies least: "] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn the_table_does_not_depend_on_the_number_of_jobs() {
    let args = |jobs| on("bound", UNIFORM, &["--open", "2,2,4", "--ftl", "fast", "--jobs", jobs]);
    let [one, two] = ["1", "3"].map(|jobs| printed(&args(jobs)));
    assert_eq!(one, two);
    assert_eq!(one.matches("oracle:open=2 ").count(), 1, "{one}");
    let fast = one.lines().find(|line| line.starts_with("fast  ")).unwrap();
    assert_eq!(fast.split_whitespace().nth(1), Some("–"), "{one}");
    assert!(one.contains("This device has a spare of 15.62 %"), "{one}");
}

#[test]
fn what_cannot_run_is_refused_as_by_compare() {
    let few = ["--capacity", "16MiB", "--extra", "3blocks", "--ftl", "sepbit"];
    let refused = ftlab(&[&["bound", UNIFORM, "--open", "1"], &few[..]].concat());
    let compared = ftlab(&[&["compare", UNIFORM], &few[..]].concat());
    assert!(text(&refused.stderr).contains("sepbit needs at least 10 extra blocks"));
    assert_eq!(refused.status.code(), compared.status.code());
    let none = ftlab(&on("bound", UNIFORM, &["--open", "0"]));
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).contains("open=0; 1 to 65536 are possible"));
    let reads = ftlab(&on("bound", "uniform:requests=9K,reads=100%", &["--open", "2"]));
    assert!(text(&reads.stderr).contains("measure a part that writes"), "{:?}", reads.stderr);
}
