//! The list of all real traces, and the settings with which each is read.
//!
//! The format of most traces is detected. [`FORMATS_BY_PATH`] contains the formats of the others.

use std::path::Path;

/// A trace in the directory.
#[derive(Debug)]
pub struct Shelved {
    /// Its path in the directory.
    pub file: String,
    /// Its `--format`; empty if it is detected.
    pub format: &'static str,
    /// Whether it has malformed lines.
    pub skip_bad: bool,
}

/// Beginnings of paths and the formats of the traces whose content does not tell them; the first
/// match counts.
static FORMATS_BY_PATH: &[(&str, &str)] = &[
    ("ssdsim/DTRS1K", "ssdsim:unit=us"),
    ("ssdsim/", "ssdsim"),
    ("disksim/Financial1-asu0-4k", "disksim:unit=s"),
    ("flashsim/Financial1", "flashsim"),
    ("mqsim/", "mqsim"),
    ("blktrace/desktop-60s", "blktrace:action=Q"),
];

/// Traces with malformed lines.
static DAMAGED: &[&str] = &["diskmon/p2pdownload"];

/// The settings with which a trace is read.
pub fn shelved(file: &str) -> Shelved {
    let known = FORMATS_BY_PATH.iter().find(|(start, _)| file.starts_with(start));
    let format = known.map_or("", |(_, format)| *format);
    let skip_bad = DAMAGED.iter().any(|start| file.starts_with(start));
    Shelved { file: file.to_owned(), format, skip_bad }
}

/// All traces in all folders, in order. Of the files of several CPUs only the first is listed.
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
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert!(!names.is_empty(), "{} is empty", folder.display());
    names
}
