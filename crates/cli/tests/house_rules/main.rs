//! The house rules, checked against the sources.

mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sources::Sources;

/// More files than this in one folder are hard to survey.
const SIBLINGS_MAX: usize = 16;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("a readable entry").path()) {
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The crates that each crate may import.
fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("spec", &[][..]),
        ("nand", &["spec"]),
        ("image", &["nand"]),
        ("trace", &["spec"]),
        ("ftl", &["spec", "nand"]),
        ("guest", &["spec", "nand", "ftl"]),
        ("disk", &["spec", "nand", "image", "ftl"]),
        ("drive", &["spec", "nand", "trace"]),
        ("film", &["nand", "ftl"]),
        ("sim", &["spec", "nand", "trace", "ftl", "film", "drive"]),
        ("nbd", &["spec", "nand", "trace", "ftl", "film", "disk", "drive"]),
        ("check", &["spec", "nand", "image", "ftl", "film", "guest"]),
        ("report", &["spec", "trace", "film", "sim"]),
        (
            "cli",
            &[
                "spec", "nand", "image", "trace", "ftl", "film", "guest", "disk", "drive", "sim",
                "check", "nbd", "report",
            ],
        ),
        (
            "python",
            &["spec", "nand", "trace", "ftl", "film", "guest", "sim", "check", "report", "cli"],
        ),
    ])
}

#[test]
fn imports_fall_between_crates() {
    let allowed = allowed();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let folder = entry.expect("a readable entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let may = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} is not in the list of crates"));
        let manifest = read(&folder.join("Cargo.toml"));
        let dependencies = manifest.split("[dev-dependencies]").next().expect("a manifest");
        for other in allowed.keys().filter(|other| **other != name) {
            let imported = dependencies.lines().any(|line| {
                line.strip_prefix(other).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
            });
            assert!(!imported || may.contains(other), "{name} must not import {other}");
        }
        seen += 1;
    }
    assert_eq!(seen, allowed.len(), "a crate in the list does not exist any more");
}

#[test]
fn no_file_imports_itself_through_others() {
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let sources = Sources::of(&entry.expect("a readable entry").path().join("src"));
        if let Some(circle) = sources.circle() {
            panic!("a circle of imports: {}", circle.join(" → "));
        }
    }
}

/// The files and subfolders of each folder import each other in one direction only.
#[test]
fn no_folder_imports_itself_through_others() {
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let folder = entry.expect("a readable entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy();
        let sources = Sources::of(&folder.join("src"));
        if let Some(circle) = sources.circle_of_rooms() {
            panic!("{name}: a circle of folders: {}", circle.join(" → "));
        }
    }
}

/// The rooms of each crate as ARCHITECTURE.md draws them: for each its level, from the left.
fn drawn_levels(text: &str) -> BTreeMap<String, BTreeMap<String, usize>> {
    let after = text.split("## Inside the crates").nth(1).expect("the lines of the crates");
    let lines = after.split("```").nth(1).expect("a block of lines");
    let mut levels: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    let (mut krate, mut level) = (String::new(), 0);
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            (krate, level) = (words.next().expect("a crate").to_owned(), 0);
        }
        for word in words {
            let room = word.trim_end_matches('/').to_owned();
            match word {
                "◀" => level += 1,
                _ => {
                    let twice = levels.entry(krate.clone()).or_default().insert(room, level);
                    assert!(twice.is_none(), "{krate}: {word} is drawn twice");
                }
            }
        }
    }
    levels
}

#[test]
fn imports_inside_a_crate_go_the_way_that_is_drawn() {
    let levels = drawn_levels(&read(&root().join("ARCHITECTURE.md")));
    assert!(levels.keys().map(String::as_str).eq(allowed().into_keys()), "a line for each crate");
    let room = |file: &str| file.split("::").next().expect("a room").to_owned();
    for (krate, drawn) in levels {
        let sources = Sources::of(&root().join("crates").join(&krate).join("src"));
        let rooms: BTreeSet<String> =
            sources.files().map(room).filter(|room| !room.is_empty()).collect();
        assert!(drawn.keys().eq(&rooms), "{krate} is drawn with {drawn:?}, and has {rooms:?}");
        for (from, to) in sources.imports() {
            let (own, other) = (room(from), room(to));
            let is_inside = own.is_empty() || other.is_empty() || own == other;
            assert!(is_inside || drawn[&other] < drawn[&own], "{krate}: {from} imports {to}");
        }
    }
}

/// No scheme imports another scheme.
#[test]
fn schemes_stand_alone() {
    let sources = Sources::of(&root().join("crates/ftl/src"));
    for (from, to) in sources.imports().filter(|(from, _)| from.starts_with("scheme::")) {
        assert!(!to.starts_with("scheme") || unit(from) == unit(to), "{from} uses {to}");
    }
}

/// A part that only one scheme or layer uses belongs in the folder of that scheme or layer. A part
/// that is a folder is one part, whatever its files are.
#[test]
fn a_part_serves_two_schemes_or_layers() {
    let sources = Sources::of(&root().join("crates/ftl/src"));
    let parts = sources.files().filter(|file| file.starts_with("part::"));
    for part in parts.filter(|part| !sources.is_folder(part)) {
        let users = sources.users_of(whole_part(part));
        let units =
            users.iter().filter(|user| user.contains("scheme::") || user.contains("layer::"));
        let units: BTreeSet<&str> = units.map(|user| unit(user)).collect();
        assert!(units.len() >= 2, "{part} serves {units:?} alone; it belongs in that folder");
    }
}

/// The part that a file belongs to: `part::recovery::trim_log` of `part::recovery::trim_log::page`.
fn whole_part(file: &str) -> &str {
    file.match_indices("::").nth(2).map_or(file, |(end, _)| &file[..end])
}

/// The scheme or layer that a file belongs to: `scheme::last` of `scheme::last::earnings`.
fn unit(file: &str) -> &str {
    let mut ends = file.match_indices("::").map(|(at, _)| at);
    ends.nth(1).map_or(file, |end| &file[..end])
}

#[test]
fn a_folder_has_few_siblings() {
    for entry in std::fs::read_dir(root().join("crates")).expect("crates") {
        let source = entry.expect("a readable entry").path().join("src");
        let mut siblings: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for file in rust_files(&source) {
            let folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(&source));
            let mut child = file.clone();
            for folder in folders {
                siblings.entry(folder.to_owned()).or_default().insert(child);
                child = folder.to_owned();
            }
        }
        for (folder, siblings) in siblings {
            let heads = ["mod.rs", "lib.rs", "main.rs", "tests.rs"];
            let is_head = |path: &PathBuf| heads.iter().any(|head| path.ends_with(head));
            let count = siblings.iter().filter(|path| !is_head(path)).count();
            assert!(count <= SIBLINGS_MAX, "{}: {count} siblings", folder.display());
        }
    }
}

#[test]
fn every_scheme_file_is_registered() {
    let ftl = root().join("crates/ftl/src");
    let registry = read(&ftl.join("registry.rs"));
    // A scheme is a file, or a folder with its own parts beside its `mod.rs`.
    let is_scheme = |path: &PathBuf| read(path).contains("pub static SCHEME: Scheme");
    let mut seen = 0;
    for path in rust_files(&ftl.join("scheme")).into_iter().filter(is_scheme) {
        let entry = if path.ends_with("mod.rs") { path.parent().expect("a folder") } else { &path };
        let scheme = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(registry.contains(&format!("{scheme}::SCHEME")), "{scheme} is not registered");
        assert!(
            ftl::SCHEMES.iter().any(|known| known.name == scheme),
            "{scheme} registers another name"
        );
        seen += 1;
    }
    assert_eq!(seen, ftl::SCHEMES.len());
}

/// A scheme looks the same on all pages of reports.
#[test]
fn every_scheme_has_a_colour() {
    for scheme in ftl::SCHEMES {
        let has_one = report::colours::names_a_scheme(scheme.name);
        assert!(has_one, "crates/report/src/colours.rs has no colour for {}", scheme.name);
    }
}

#[test]
fn every_victim_policy_is_registered() {
    let folder = root().join("crates/ftl/src/part/page/victims");
    let registry = read(&folder.join("registry.rs"));
    let is_policy = |path: &PathBuf| read(path).contains("pub static POLICY: Policy");
    let mut seen = 0;
    for path in rust_files(&folder).into_iter().filter(is_policy) {
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        assert!(registry.contains(&format!("&{name}::POLICY")), "{name} is not registered");
        seen += 1;
    }
    assert_eq!(seen, ftl::part::page::victims::registry::POLICIES.len());
}

/// A layer is a file, or a folder whose `mod.rs` has the layer.
#[test]
fn every_layer_is_registered() {
    let folder = root().join("crates/ftl/src/layer");
    let list = read(&folder.join("mod.rs"));
    let is_layer = |path: &PathBuf| read(path).contains("pub static LAYER: Layer");
    let mut seen = 0;
    for path in rust_files(&folder).into_iter().filter(is_layer) {
        let entry = if path.ends_with("mod.rs") { path.parent().expect("a folder") } else { &path };
        let name = entry.file_stem().expect("a name").to_string_lossy();
        assert!(list.contains(&format!("&{name}::LAYER")), "{name} is not registered");
        seen += 1;
    }
    assert_eq!(seen, ftl::LAYERS.len());
}

/// Each file or folder that exports an entry is a line of the list, which also declares it as a
/// module.
#[test]
fn every_trace_format_and_workload_is_listed() {
    let trace = root().join("crates/trace/src");
    let lists = [
        ("parse/formats", "pub static FORMAT: Format", trace::registry::FORMATS.len()),
        ("generate/workloads", "pub static WORKLOAD: Workload", trace::registry::WORKLOADS.len()),
    ];
    for (folder, export, listed) in lists {
        let list = read(&trace.join(folder).join("mod.rs"));
        let files = rust_files(&trace.join(folder));
        let entries: Vec<_> = files.iter().filter(|path| read(path).contains(export)).collect();
        for path in &entries {
            let in_folder = path.ends_with("mod.rs");
            let entry = if in_folder { path.parent().expect("a folder") } else { path };
            let name = entry.file_stem().expect("a name").to_string_lossy();
            let line = format!("        {name},");
            assert!(list.lines().any(|one| one == line), "{name} is not listed");
        }
        assert_eq!(entries.len(), listed, "{folder}");
    }
}

#[test]
fn no_line_is_longer_than_100_columns() {
    let root = root();
    let mut long = Vec::new();
    for path in ["crates", "benches"].iter().flat_map(|folder| rust_files(&root.join(folder))) {
        for (number, line) in read(&path).lines().enumerate() {
            let columns = line.chars().count();
            if columns > 100 {
                long.push(format!("{}:{}: {columns} columns", path.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Who installed the command has no clone: its texts name pages of the site, not files.
#[test]
fn printed_texts_name_no_file_that_only_a_clone_has() {
    let files = ["docs/", "DESIGN.md", "SPEC.md", "README.md", "ARCHITECTURE.md"];
    let is_printed = |line: &&str| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.contains("reason = \"") && line.contains(".md")
    };
    for path in rust_files(&root().join("crates")).iter().filter(|path| !is_test(path)) {
        let text = read(path);
        for line in text.split("#[cfg(test)]").next().unwrap_or_default().lines().filter(is_printed)
        {
            let named = files.iter().find(|file| line.contains(*file));
            assert!(named.is_none(), "{}: {line}", path.display());
        }
    }
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| ["tests", "tests.rs"].iter().any(|name| part.as_os_str() == *name))
}

/// The table of schemes in the README is complete.
#[test]
fn the_readme_names_every_scheme_and_every_trace_format() {
    let readme = read(&root().join("README.md"));
    let schemes = ftl::SCHEMES.iter().map(|scheme| scheme.name);
    for name in schemes.chain(trace::registry::FORMATS.iter().map(|format| format.name)) {
        assert!(readme.contains(&format!("`{name}`")), "README.md lacks `{name}`");
    }
}

/// The types of options for Python are made from the table; only the extension can make them anew.
#[test]
fn every_option_has_a_type_in_python() {
    let types = read(&root().join("python/ftlab/options.py"));
    let options = sim::config::experiment::options().iter();
    for option in options.filter(|it| it.name != "trace" && !it.usage.is_of_python) {
        assert!(
            types.contains(&format!("\n    {}: ", option.name)),
            "python/ftlab/options.py lacks `{}`: write it there as its neighbours are, in the \
             order of `ftlab run --help`; `make python` compares the file with the table, and \
             tools/python_options.py writes it",
            option.name
        );
    }
}

/// The guide to a new scheme shows the code as it is, except in blocks marked as drafts.
#[test]
fn the_guide_to_a_new_scheme_quotes_the_sources() {
    let ftl = root().join("crates/ftl");
    let sources =
        ["src/scheme/nftl.rs", "src/scheme/mod.rs", "src/registry.rs", "tests/log_block/nftl.rs"];
    let sources = sources.map(|file| read(&ftl.join(file)));
    let guide = read(&root().join("docs/new-scheme.md"));
    let blocks: Vec<&str> = guide.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 10, "the guide has only {} blocks of code", blocks.len());
    for block in blocks {
        let code = block.split("```").next().expect("the end of a block");
        assert!(sources.iter().any(|source| source.contains(code)), "no source has:\n{code}");
    }
}

/// A bug that cannot be planted any more proves nothing.
#[test]
fn every_planted_bug_has_its_place_and_was_caught() {
    holds(&["mutants.py", "--check"]);
}

/// Every page is in the order of the site, and no link inside the repository is dead.
#[test]
fn every_page_has_its_place_and_links_lead_somewhere() {
    holds(&["-m", "unittest", "site_pages.test_links"]);
    holds(&["build_site.py", "--check"]);
}

/// The bill of materials names what Cargo.lock asks for.
#[test]
fn every_linked_library_has_its_licence() {
    holds(&["licences.py", "--check"]);
}

/// A release with a forgotten version, a stale changelog or a missing licence is refused.
#[test]
fn the_release_fails_for_each_planted_fault() {
    holds(&["-m", "unittest", "release_checks.test_faults"]);
}

/// Runs Python in the folder of tools, which must succeed.
fn holds(arguments: &[&str]) {
    let mut python = std::process::Command::new("python3");
    match python.args(arguments).current_dir(root().join("tools")).output() {
        Err(_) => eprintln!("skipped: there is no python3 here"),
        Ok(ran) => {
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        }
    }
}
