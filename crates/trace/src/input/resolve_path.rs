//! Which files a word for a trace names.
//!
//! ```text
//! disk.csv                     a file
//! disk, disk.blktrace,         the files that blktrace wrote for each CPU, as `blkparse -i` finds
//!   disk.blktrace.3            them: disk.blktrace.0, disk.blktrace.1.zst, …
//! set.tgz/2016/*.csv           members of an archive
//! ```
//!
//! What exists under the very name comes first.

use std::fs;
use std::path::{Path, PathBuf};

/// What a word names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResolvedPath {
    /// A file, there or missing.
    File(PathBuf),
    /// One file a CPU, in the order of CPUs.
    Cpus(Vec<PathBuf>),
    /// Members of an archive, by a pattern.
    Members(PathBuf, String),
}

impl ResolvedPath {
    /// What this word names.
    pub(crate) fn by(word: &str) -> ResolvedPath {
        let files = cpu_files(word);
        if !files.is_empty() {
            return ResolvedPath::Cpus(files);
        }
        match members(word) {
            Some((archive, pattern)) => ResolvedPath::Members(archive, pattern),
            None => ResolvedPath::File(PathBuf::from(word)),
        }
    }
}

/// The stored files that a word for a trace names; none if there are none.
pub fn stored_files(word: &str) -> Vec<PathBuf> {
    let files = match ResolvedPath::by(word) {
        ResolvedPath::File(path) | ResolvedPath::Members(path, _) => vec![path],
        ResolvedPath::Cpus(files) => files,
    };
    files.into_iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

const MIDDLE: &str = ".blktrace.";

/// The files that blktrace wrote for each CPU, if `word` is one of them or what their names have in
/// common; else none.
fn cpu_files(word: &str) -> Vec<PathBuf> {
    let common = match word.rsplit_once(MIDDLE) {
        Some((common, end)) if cpu(end).is_some() => common,
        _ if Path::new(word).exists() => return Vec::new(),
        _ => word.strip_suffix(MIDDLE.trim_end_matches('.')).unwrap_or(word),
    };
    let (directory, common) = match common.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((directory, name)) => (directory, name),
        None => (".", common),
    };
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut files: Vec<(u32, String)> = names
        .filter_map(|name| {
            let end = name.strip_prefix(common)?.strip_prefix(MIDDLE)?;
            Some((cpu(end)?, name))
        })
        .collect();
    files.sort();
    // Of a file that is there packed and unpacked, the shorter name comes first.
    files.dedup_by_key(|(cpu, _)| *cpu);
    files.into_iter().map(|(_, name)| Path::new(directory).join(name)).collect()
}

/// The CPU that the end of a name tells: `0`, `12.zst`.
fn cpu(end: &str) -> Option<u32> {
    let packings = [".zst", ".gz", ".xz"];
    let digits = packings.iter().find_map(|packing| end.strip_suffix(packing)).unwrap_or(end);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// What the names of the files of several CPUs have in common; `None` if one is not such a file,
/// or they are of several traces.
pub(crate) fn common_of_cpus<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut commons = names.into_iter().map(|name| {
        let (common, end) = name.rsplit_once(MIDDLE)?;
        cpu(end).map(|_| common)
    });
    let first = commons.next()??;
    commons.all(|common| common == Some(first)).then_some(first)
}

/// The file that a path leads into, and the rest of the path.
fn members(word: &str) -> Option<(PathBuf, String)> {
    if Path::new(word).exists() {
        return None;
    }
    let ends = word.rmatch_indices('/').map(|(end, _)| end);
    let file = ends.into_iter().find(|&end| Path::new(&word[..end]).is_file())?;
    let pattern = &word[file + 1..];
    (!pattern.is_empty()).then(|| (PathBuf::from(&word[..file]), pattern.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_cpus_belong_together() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let names = ["x.blktrace.10", "x.blktrace.2.gz", "x.blktrace.0", "x.blktrace.0.zst"];
        for name in names.into_iter().chain(["x.blktrace.more", "xy.blktrace.1"]) {
            fs::write(at(name), b"a").unwrap();
        }
        let expected: Vec<PathBuf> =
            ["x.blktrace.0", "x.blktrace.2.gz", "x.blktrace.10"].map(|n| at(n).into()).into();
        for word in ["x", "x.blktrace", "x.blktrace.10", "x.blktrace.0", "x.blktrace.77"] {
            assert_eq!(ResolvedPath::by(&at(word)), ResolvedPath::Cpus(expected.clone()), "{word}");
            assert_eq!(stored_files(&at(word)), expected);
        }
        for word in ["x.blktrace.more", "y", "y.blktrace"] {
            assert_eq!(ResolvedPath::by(&at(word)), ResolvedPath::File(at(word).into()));
        }
        assert!(stored_files(&at("y")).is_empty());
        fs::write(at("x"), b"a").unwrap();
        assert_eq!(
            ResolvedPath::by(&at("x")),
            ResolvedPath::File(at("x").into()),
            "what exists comes first"
        );
    }

    #[test]
    fn cpus_of_one_trace_are_told_from_others() {
        assert_eq!(common_of_cpus(["a/x.blktrace.0", "a/x.blktrace.1.zst"]), Some("a/x"));
        for others in [["a/x.blktrace.0", "b/x.blktrace.1"], ["x.blktrace.0", "x.txt"]] {
            assert_eq!(common_of_cpus(others), None);
        }
        assert_eq!(common_of_cpus([]), None);
    }

    #[test]
    fn a_path_through_a_file_names_members() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("set.tgz"), b"a").unwrap();
        let named = ResolvedPath::by(&at("set.tgz/2016/*.csv"));
        assert_eq!(named, ResolvedPath::Members(at("set.tgz").into(), "2016/*.csv".into()));
        assert_eq!(stored_files(&at("set.tgz/x")), [PathBuf::from(at("set.tgz"))]);
        for word in ["set.tgz", "set.tgz/", "no.tgz/x"] {
            assert_eq!(ResolvedPath::by(&at(word)), ResolvedPath::File(at(word).into()), "{word}");
        }
    }
}
