//! docs/results.md names every field of a result, and no field that no result has.
//!
//! ```text
//! ## `run`: …                groups: the first name of a path
//! ### `fast`, `faster`       schemes, or a layer as `layers.buffer`
//! | `mean`, `stddev` | …     fields: names, or paths, in the first cell
//! ```
//! A path is described if the tables of its group name it, be it part by part. What stands in
//! `scheme` is described under the scheme, or as `scheme.…` under the layer that puts it there. A
//! row whose words begin with gauge describes what is in `series.scheme` too, and no other does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use ftl::registry::SCHEMES;
use serde_json::Value;

/// A workload that takes milliseconds.
const SHORT: &str = "uniform:writes=1K,reads=20%,request=3KiB";

/// Layers as options, for schemes whose map has a budget and for any.
const SPLITS: [&[&str]; 2] =
    [&["--dram", "64KiB", "--split", "30%"], &["--dram", "64KiB", "--split", "adaptive"]];
const LAYERS: [&[&str]; 3] = [
    &["--buffer", "64KiB", "--dram-access", "20ns"],
    &["--buffer", "64KiB,reads=true,evict=run", "--sector-log", "256KiB"],
    &["--sector-log", "0"],
];

/// A heading of the page with the tables below it.
struct Section {
    /// Groups of a result, schemes or layers: what is in backticks before the heading's colon.
    names: Vec<String>,
    /// Whether all that it names must have all its fields; groups need not.
    is_strict: bool,
    fields: BTreeSet<String>,
}

/// What stands in backticks.
fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// Reads the page.
fn sections() -> Vec<Section> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let page = std::fs::read_to_string(page).expect("docs/results.md");
    let mut sections: Vec<Section> = Vec::new();
    for line in page.lines() {
        if line.starts_with("##") {
            let names: Vec<_> = line.split(':').take(1).flat_map(quoted).collect();
            assert!(!names.is_empty(), "`{line}` names nothing");
            let is_strict = line.starts_with("###");
            sections.push(Section { names, is_strict, fields: BTreeSet::new() });
        } else if let (Some(row), Some(section)) = (line.strip_prefix('|'), sections.last_mut()) {
            let fields: Vec<_> = row.split('|').take(1).flat_map(quoted).collect();
            let is_gauge = row.contains("| gauge");
            let sampled = fields.iter().filter(|_| is_gauge).map(|field| format!("series.{field}"));
            section.fields.extend(sampled);
            section.fields.extend(fields);
        }
    }
    sections
}

/// The paths of a result's fields, those that hold others too, but not into lists and what has no
/// fixed names.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let is_open = ["ftl.params", "trace.skipped"].contains(&path);
    for (name, value) in value.as_object().filter(|_| !is_open).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        paths(value, &path, found);
        found.insert(path);
    }
}

/// Where a path is described: the headings that may do it, each with the rest of the path.
fn places(path: &str, scheme: &str) -> Vec<(String, String)> {
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["layers", layer, rest @ ..] if !rest.is_empty() => {
            vec![(format!("layers.{layer}"), rest.join("."))]
        }
        ["scheme", name] => of_scheme(scheme, "", name),
        ["series", "scheme", name] => of_scheme(scheme, "series.", name),
        [group] => vec![((*group).to_owned(), String::new())],
        [group, rest @ ..] => vec![((*group).to_owned(), rest.join("."))],
        [] => unreachable!("a path has a part"),
    }
}

/// Where a figure of the scheme is described; `sampled` stands before gauges in a series.
fn of_scheme(scheme: &str, sampled: &str, name: &str) -> Vec<(String, String)> {
    let layers = ["buffer", "sector_log", "split"].map(|layer| format!("layers.{layer}"));
    let layers = layers.into_iter().map(|layer| (layer, format!("{sampled}scheme.{name}")));
    [(scheme.to_owned(), format!("{sampled}{name}"))].into_iter().chain(layers).collect()
}

/// The fields that name a path, whole or part by part; none if they do not.
fn fields_of(path: &str, fields: &BTreeSet<String>) -> Option<Vec<String>> {
    if path.is_empty() {
        return Some(Vec::new());
    }
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    ends.filter(|&end| fields.contains(&path[..end])).find_map(|end| {
        let rest = fields_of(path[end..].trim_start_matches('.'), fields)?;
        Some([vec![path[..end].to_owned()], rest].concat())
    })
}

/// The result of a short run on a small device.
fn result(ftl: &str, options: &[&str]) -> Value {
    let args = ["run", SHORT, "--capacity", "2MiB", "--warmup", "0", "--json", "-", "--ftl", ftl];
    let args = [&args, options].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    let output = command.args(&args).stdin(Stdio::null()).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Every scheme, as it is and with each word of each of its parameters that is a choice, so that
/// figures show which only some settings have.
fn settings() -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    for scheme in SCHEMES {
        settings.push((scheme.name, scheme.name.to_owned()));
        for param in scheme.params {
            let words: &[&str] = match param.kind {
                spec::Kind::Choice(words) => words,
                spec::Kind::Switch => &["true", "false"],
                _ => &[],
            };
            let spec = |word: &&str| format!("{}:{}={word}", scheme.name, param.name);
            settings.extend(words.iter().map(|word| (scheme.name, spec(word))));
        }
    }
    settings
}

/// The paths that results of all kinds have, by scheme.
fn found() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut look = |scheme, ftl: &str, options: &[&str]| {
        paths(&result(ftl, options), "", found.entry(scheme).or_default());
    };
    for (scheme, ftl) in settings() {
        look(scheme, &ftl, &["--interval", "500"]);
    }
    for scheme in SCHEMES {
        let splits: &[&[&str]] = if scheme.map_budget.is_some() { &SPLITS } else { &[] };
        for layers in LAYERS.iter().chain(splits) {
            look(scheme.name, scheme.name, &[&["--interval", "auto"], *layers].concat());
        }
    }
    look("page", "page", &["--replay", "open"]);
    found
}

/// Whatever a table names, what its heading names has: a scheme or layer all of it, groups one or
/// the other.
fn assert_given(section: &Section, given: &BTreeMap<String, BTreeSet<String>>) {
    let has = |name: &String, field: &String| given.get(name).is_some_and(|it| it.contains(field));
    for name in &section.names {
        assert!(given.contains_key(name), "no result has `{name}`, which is a heading");
    }
    for field in section.fields.iter().filter(|field| !section.names.contains(field)) {
        let mut names = section.names.iter();
        let is_given = match section.is_strict {
            true => names.all(|name| has(name, field)),
            false => names.any(|name| has(name, field)),
        };
        assert!(is_given, "no result has the `{field}` described under {:?}", section.names);
    }
}

#[test]
fn every_field_of_a_result_is_described_and_no_other() {
    let (sections, mut given) = (sections(), BTreeMap::<String, BTreeSet<String>>::new());
    for (scheme, paths) in found() {
        for path in paths {
            let places = places(&path, scheme);
            let named = places.iter().find_map(|(name, rest)| {
                let mut about = sections.iter().filter(|section| section.names.contains(name));
                Some((name, about.find_map(|section| fields_of(rest, &section.fields))?))
            });
            let (name, fields) = named.unwrap_or_else(|| {
                panic!("docs/results.md does not describe `{path}` of {scheme}: none of {places:?}")
            });
            given.entry(name.clone()).or_default().extend(fields);
        }
    }
    sections.iter().for_each(|section| assert_given(section, &given));
}
