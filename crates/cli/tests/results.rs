//! docs/results.md describes every field of a result, except the options in its `run` part. It
//! describes no field that does not exist.
//!
//! ```text
//! ## `run`: …                groups: the first name of a path
//! ### `fast`, `faster`       schemes, or a layer such as `layers.buffer`
//! | `mean`, `stddev` | …     fields: names, or paths, in the first cell
//! ```
//! A path is described if the tables of its group name it, as a whole or part by part. A field of
//! `scheme` is described under the scheme, or as `scheme.…` under the layer that reports it. A row
//! whose description begins with "gauge" also describes the field of `series.scheme`; no other row
//! does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use ftl::LAYERS;
use ftl::registry::SCHEMES;
use serde_json::Value;
use sim::config::experiment::reported_options;

/// A workload that takes milliseconds.
const SHORT: &str = "uniform:writes=1K,reads=20%,request=3KiB";

/// A heading of the page with the tables below it.
struct Section {
    /// The names in backticks before the colon of the heading: groups of a result, schemes or
    /// layers.
    names: Vec<String>,
    /// Whether every name must have all the fields. This holds for schemes and layers, but not for
    /// groups.
    is_strict: bool,
    fields: BTreeSet<String>,
}

/// The texts in backticks.
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

/// The paths of all fields of a result, including those that have fields themselves. Parts without
/// fixed names are not entered, nor are lists; the first tenant stands for all.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let is_open = ["ftl.params", "trace.skipped", "tenants.skipped"].contains(&path);
    if path == "tenants" && value.is_array() {
        return paths(&value[0], path, found);
    }
    for (name, value) in value.as_object().filter(|_| !is_open).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        paths(value, &path, found);
        found.insert(path);
    }
}

/// The headings under which a path may be described, each with the rest of the path.
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

/// The headings under which a field of `scheme` may be described; `sampled` is the prefix of gauges
/// in a series.
fn of_scheme(scheme: &str, sampled: &str, name: &str) -> Vec<(String, String)> {
    let layers = LAYERS.iter().map(|layer| format!("layers.{}", layer.key()));
    let layers = layers.map(|layer| (layer, format!("{sampled}scheme.{name}")));
    [(scheme.to_owned(), format!("{sampled}{name}"))].into_iter().chain(layers).collect()
}

/// The fields that name a path, as a whole or part by part, if there are such fields.
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

/// The result of a short run on a small device; none if the options are refused.
fn result(ftl: &str, options: &[&str]) -> Option<Value> {
    result_of(&[SHORT], ftl, options)
}

/// The result of a short run of a trace or of loads.
fn result_of(trace: &[&str], ftl: &str, options: &[&str]) -> Option<Value> {
    let args = ["--capacity=2MiB", "--extra=10blocks", "--warmup=0", "--json=-", "--ftl", ftl];
    let args = [&["run"], trace, &args, options].concat();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    let output = command.args(&args).stdin(Stdio::null()).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(2) => None,
        code => {
            assert_eq!(code, Some(0), "{args:?}: {said}");
            Some(serde_json::from_slice(&output.stdout).expect("JSON"))
        }
    }
}

/// Every scheme, with its defaults and with each keyword of each of its parameters, since some
/// metrics exist only with some settings.
fn settings() -> Vec<(&'static str, String)> {
    let mut settings = Vec::new();
    for scheme in SCHEMES {
        settings.push((scheme.name, scheme.name.to_owned()));
        for param in scheme.params {
            let words: &[&str] = match param.kind {
                spec::Kind::Choice(words) | spec::Kind::SizeOr(words) => words,
                spec::Kind::Switch => &["true", "false"],
                _ => &[],
            };
            let spec = |word: &&str| format!("{}:{}={word}", scheme.name, param.name);
            settings.extend(words.iter().map(|word| (scheme.name, spec(word))));
        }
    }
    settings
}

/// The paths of results with all settings and layers, by scheme.
fn found() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut look = |scheme, ftl: &str, options: &[&str]| {
        let result = result(ftl, options);
        result.iter().for_each(|it| paths(it, "", found.entry(scheme).or_default()));
        result.is_some()
    };
    for (scheme, ftl) in settings() {
        assert!(look(scheme, &ftl, &["--interval", "500"]), "{ftl} is refused");
    }
    for scheme in SCHEMES {
        let mut taken = 0;
        for corner in LAYERS.iter().flat_map(|layer| layer.corners) {
            // Not every scheme takes every layer.
            let mut options = vec!["--interval", "auto"];
            let names: Vec<String> =
                corner.iter().map(|(name, _)| format!("--{}", name.replace('_', "-"))).collect();
            let pairs = names.iter().zip(*corner);
            options.extend(pairs.flat_map(|(name, (_, text))| [name.as_str(), text]));
            taken += usize::from(look(scheme.name, scheme.name, &options));
        }
        assert!(taken > 0 || scheme.needs_future, "{} takes no layer", scheme.name);
    }
    assert!(look("page", "page", &["--replay", "open"]));
    assert!(look("page", "page", &["--until", "steady"]));
    assert!(look("page", "page", &["--timing", "drive", "--interval", "auto"]));
    let loads = result_of(&["--load", SHORT], "page", &[]).expect("a result");
    paths(&loads, "", found.entry("page").or_default());
    found
}

/// Asserts that the fields of a table exist: in every scheme or layer of the heading, or in one of
/// its groups.
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

/// Whether a path is an option in the `run` part, which the help of the command describes, or a
/// figure of a drive, which `ftlab list drives` describes.
fn is_described_elsewhere(path: &str) -> bool {
    let (option, figure) = (path.strip_prefix("run."), path.strip_prefix("drive.profile."));
    reported_options().iter().any(|it| Some(it.name) == option)
        || drive::profile::PARAMS.iter().any(|it| Some(it.name) == figure)
}

#[test]
fn exactly_the_fields_of_a_result_are_described() {
    let (sections, mut given) = (sections(), BTreeMap::<String, BTreeSet<String>>::new());
    let mut missing = BTreeSet::new();
    for (scheme, paths) in found() {
        for path in paths {
            let places = places(&path, scheme);
            let named = places.iter().find_map(|(name, rest)| {
                let mut about = sections.iter().filter(|section| section.names.contains(name));
                Some((name, about.find_map(|section| fields_of(rest, &section.fields))?))
            });
            if named.is_none() && is_described_elsewhere(&path) {
                continue;
            }
            let Some((name, fields)) = named else {
                missing.insert(format!("`{path}` of {scheme}, under one of {places:?}"));
                continue;
            };
            given.entry(name.clone()).or_default().extend(fields);
        }
    }
    let missing: Vec<String> = missing.into_iter().collect();
    assert!(
        missing.is_empty(),
        "docs/results.md lacks the following; add them to a heading or a table that has the name, \
         or make one:\n{}",
        missing.join("\n")
    );
    sections.iter().for_each(|section| assert_given(section, &given));
}
