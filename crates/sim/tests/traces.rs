//! Real traces through every scheme, verified sector by sector.

#[path = "../../trace/tests/common/directory.rs"]
mod directory;

use std::path::{Path, PathBuf};

use sim::experiment::{Experiment, Fit, Precondition};
use sim::run::{Unwatched, run_on};
use sim::{Input, RunResult};

/// Folders whose traces are in formats that are read.
const FOLDERS: [&str; 3] = ["blkparse", "fio", "msr"];

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
    let Some(directory) = directory::traces() else { return };
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
