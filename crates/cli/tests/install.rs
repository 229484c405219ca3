//! What `make install` installs, and that it runs where nothing else is.

mod common;

use std::path::Path;
use std::process::Command;

use common::{FTLAB, printed, text};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a program in the repository, which must succeed; returns what it printed.
fn done(program: &str, arguments: &[&str]) -> String {
    let ran = Command::new(program).args(arguments).current_dir(ROOT).output();
    let ran = ran.unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(ran.status.success(), "{program} {arguments:?}: {}", text(&ran.stderr));
    text(&ran.stdout).to_owned()
}

/// Whether this user may make a root without this machine's files.
fn can_be_bare() -> bool {
    let tried = Command::new("unshare").args(["--map-root-user", "--root=/", "true"]).status();
    tried.is_ok_and(|status| status.success())
}

#[test]
fn what_is_installed_is_complete_and_runs_in_a_bare_root() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let destination = format!("DESTDIR={}", path("to"));
    done("make", &["install", &format!("FTLAB={FTLAB}"), &destination, "PREFIX=/usr"]);
    let share = folder.path().join("to/usr/share");
    for subcommand in ["run", "serve", "trace-info", "licences"] {
        let page = share.join(format!("man/man1/ftlab-{subcommand}.1"));
        assert!(page.is_file(), "{} is missing", page.display());
    }
    assert!(!share.join("man/man1/ftlab-complete.1").exists(), "a page of a hidden subcommand");
    let completions =
        ["bash-completion/completions/ftlab", "zsh/site-functions/_ftlab", "doc/ftlab/LICENCES"];
    for name in completions {
        let length = share.join(name).metadata().map_or(0, |file| file.len());
        assert!(length > 1000, "{name} has {length} bytes");
    }
    let command = path("to/usr/bin/ftlab");
    let is_smaller = size(&command) < size(FTLAB);
    assert!(is_smaller, "the installed command is not stripped");
    if !can_be_bare() {
        return eprintln!("skipped: this user may not make a bare root");
    }
    let said = done("python3", &["tools/bare_root.py", &command, &path("root"), "--try"]);
    assert!(said.contains("FTLs write least"), "the comparison in the bare root printed: {said}");
}

fn size(path: &str) -> u64 {
    Path::new(path).metadata().expect("a file").len()
}

#[test]
fn the_version_says_what_a_report_needs_and_the_licences_are_whole() {
    let version = concat!("ftlab ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed(&["version"]), version);
    let verbose = printed(&["version", "--verbose"]);
    let facts = verbose.strip_prefix(version).expect("the version first");
    for fact in ["target", "build", "schemes", "cores", "sources"] {
        assert!(facts.lines().any(|line| line.starts_with(fact)), "{fact} in:\n{facts}");
    }
    let licences = printed(&["licences"]);
    let count = licences.matches("Permission is hereby granted, free of charge").count();
    assert!(count > 30, "{count} texts of the MIT licence");
    let sbom: serde_json::Value = serde_json::from_str(&printed(&["licences", "--sbom"])).unwrap();
    assert_eq!(sbom["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    for component in sbom["components"].as_array().unwrap() {
        let name = component["name"].as_str().unwrap();
        assert!(licences.contains(&format!("\n{name} ")), "{name} has no line in the table");
    }
}
