//! All real traces there are, and how each is read.
//!
//! Most are told by their content. What looks like other formats, or has no format of its own, is
//! in [`TOLD`] by the beginning of its path.

use std::path::Path;

use trace::registry::FORMATS;

/// A trace of the directory.
#[derive(Debug)]
pub struct Shelved {
    /// Its path in the directory.
    pub file: String,
    /// Its `--format`; empty: told by content.
    pub format: &'static str,
    /// Whether it has lines that no trace should have.
    pub skip_bad: bool,
}

/// How the format of a trace is known, if not by its content.
enum Told {
    Spec(&'static str),
    /// By the documented example for traces so named.
    Example(&'static str),
}

/// Paths that begin so; the first that fits counts.
static TOLD: &[(&str, Told)] = &[
    ("ssdsim/DTRS1K", Told::Spec("ssdsim:unit=us")),
    ("ssdsim/", Told::Spec("ssdsim")),
    ("disksim/Financial1-asu0-4k", Told::Spec("disksim:unit=s")),
    ("flashsim/", Told::Spec("flashsim")),
    ("mqsim/", Told::Spec("mqsim")),
    ("msr-cut/", Told::Example("MSR")),
    ("wpa-csv/", Told::Example("Windows")),
    ("pixel6a-csv/", Told::Example("Pixel")),
    ("biotracer/", Told::Example("BIOtracer")),
    ("cloudphysics/", Told::Example("CloudPhysics")),
    ("blktrace/desktop-60s", Told::Spec("blktrace:action=Q")),
];

/// Traces with malformed lines.
static DAMAGED: &[&str] = &["diskmon/p2pdownload"];

/// How a trace is read.
pub fn shelved(file: &str) -> Shelved {
    let told = TOLD.iter().find(|(start, _)| file.starts_with(start));
    let format = told.map_or("", |(_, told)| match told {
        Told::Spec(spec) => *spec,
        Told::Example(traces) => {
            let mut examples = FORMATS.iter().flat_map(|format| format.examples);
            examples.find(|example| example.traces.contains(traces)).unwrap().spec
        }
    });
    let skip_bad = DAMAGED.iter().any(|start| file.starts_with(start));
    Shelved { file: file.to_owned(), format, skip_bad }
}

/// All traces in all folders, in order; of the files of several CPUs, the first.
pub fn all(directory: &Path) -> Vec<Shelved> {
    let mut files = Vec::new();
    for folder in entries(directory).into_iter().filter(|folder| directory.join(folder).is_dir()) {
        for name in entries(&directory.join(&folder)) {
            let cpu = name.split_once(".blktrace.").map_or("0", |(_, cpu)| cpu);
            if cpu.starts_with('0') {
                files.push(shelved(&format!("{folder}/{name}")));
            }
        }
    }
    files
}

/// The names in a folder, in order.
fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(!names.is_empty(), "{folder:?} is empty");
    names
}
