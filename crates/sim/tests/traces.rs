//! Real traces through every scheme, verified sector by sector.
//!
//! The traces lie outside the repository: in the directory that `FTLAB_TRACES` names, else beside
//! the workspace. Without them the test says so and passes, unless `FTLAB_REQUIRE` lists `traces`.

use std::path::{Path, PathBuf};

use sim::experiment::{Experiment, Fit, Precondition};
use sim::run::{Unwatched, run_on};
use sim::{Input, RunResult};

/// Where the traces are looked for, relative to the workspace.
const BESIDE_THE_WORKSPACE: &str = "../shared/traces";

/// Folders whose traces are in formats that are read.
const FOLDERS: [&str; 3] = ["blkparse", "fio", "msr"];

/// The directory of the traces; `None` if there is none and none is required.
fn directory() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = match std::env::var_os("FTLAB_TRACES") {
        Some(directory) => PathBuf::from(directory),
        None => workspace.join(BESIDE_THE_WORKSPACE),
    };
    if directory.is_dir() {
        return Some(directory);
    }
    let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
    let missing = format!("no traces at {}", directory.display());
    assert!(!required.split(',').any(|what| what.trim() == "traces"), "{missing}");
    println!("skipped: {missing}");
    None
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder:?} is empty");
    files
}

fn experiment(file: &Path, ftl: &str) -> Experiment {
    Experiment {
        trace: Some(file.to_str().unwrap().to_owned()),
        ftl: ftl.to_owned(),
        limit: Some(200_000),
        fit: Fit::Compact,
        precondition: Precondition::None,
        warmup: 0,
        verify: true,
        ..Experiment::default()
    }
}

/// What must hold for a whole trace beside the laws, which every run asserts.
fn assert_sane(file: &Path, result: &RunResult) {
    let (trace, pages) = (&result.trace, &result.host_pages);
    assert!(trace.requests > 0, "{file:?} has no requests");
    assert!(trace.skipped.get("malformed").is_none(), "{file:?}: {:?}", trace.skipped);
    assert!(pages.written * 2048 >= trace.written_bytes, "{file:?}: pages are missing");
    assert!(trace.footprint_pages <= pages.written + pages.read, "{file:?}: pages from nowhere");
}

#[test]
fn every_real_trace_survives_every_scheme_unharmed() {
    let Some(directory) = directory() else { return };
    for file in FOLDERS.iter().flat_map(|folder| files(&directory.join(folder))) {
        let input = Input::open(&experiment(&file, "page"), &Unwatched);
        let input = input.unwrap_or_else(|error| panic!("{error}"));
        for scheme in ftl::SCHEMES {
            let result = run_on(&experiment(&file, scheme.name), &input, &Unwatched);
            let result = result.unwrap_or_else(|error| panic!("{file:?}: {error}"));
            assert_sane(&file, &result);
            println!(
                "{:40} {:6} {:>7} requests, write amplification {:.3}",
                file.file_name().unwrap().to_string_lossy(),
                scheme.name,
                result.trace.requests,
                result.write_amplification.unwrap_or(0.0)
            );
        }
    }
}
