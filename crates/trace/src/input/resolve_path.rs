//! Finds the files that an argument for a trace names.
//!
//! ```text
//! disk.csv                     a file
//! disk, disk.blktrace,         the files that blktrace wrote, one for each CPU, as `blkparse -i`
//!   disk.blktrace.3            finds them: disk.blktrace.0, disk.blktrace.1.zst, …
//! set.tgz/2016/*.csv           members of an archive
//! week, 'week/*.csv'           files in a folder
//! ```
//!
//! A file that has exactly the given name takes precedence.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::input::archive::is_selected;

/// What an argument names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResolvedPath {
    /// A file, which may be missing.
    File(PathBuf),
    /// One file for each CPU, in the order of CPUs.
    Cpus(Vec<PathBuf>),
    /// The members of an archive that match a pattern.
    Members(PathBuf, String),
    /// The files in a folder that match a pattern, or all.
    Folder(PathBuf, Option<String>),
}

impl ResolvedPath {
    /// Resolves an argument.
    pub(crate) fn of(word: &str) -> ResolvedPath {
        let files = cpu_files(word);
        if !files.is_empty() {
            return ResolvedPath::Cpus(files);
        }
        if Path::new(word).is_dir() {
            return ResolvedPath::Folder(PathBuf::from(word), None);
        }
        match members(word) {
            Some((folder, pattern)) if folder.is_dir() => {
                ResolvedPath::Folder(folder, Some(pattern))
            }
            Some((archive, pattern)) => ResolvedPath::Members(archive, pattern),
            None => ResolvedPath::File(PathBuf::from(word)),
        }
    }
}

/// The existing files that an argument for a trace names.
pub fn stored_files(word: &str) -> Vec<PathBuf> {
    let files = match ResolvedPath::of(word) {
        ResolvedPath::File(path) | ResolvedPath::Members(path, _) => vec![path],
        ResolvedPath::Cpus(files) => files,
        ResolvedPath::Folder(folder, pattern) => {
            let files = files_in(&folder, pattern.as_deref()).unwrap_or_default();
            files.into_iter().map(|(_, path)| path).collect()
        }
    };
    files.into_iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect()
}

const MIDDLE: &str = ".blktrace.";

/// The files that blktrace wrote for each CPU, if `word` is one of them or the common part of their
/// names; else none.
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
    // If a file exists compressed and uncompressed, the uncompressed one sorts first and is kept.
    files.dedup_by_key(|(cpu, _)| *cpu);
    files.into_iter().map(|(_, name)| Path::new(directory).join(name)).collect()
}

/// The number of the CPU at the end of a name, such as `0` or `12.zst`.
fn cpu(end: &str) -> Option<u32> {
    let suffixes = [".zst", ".gz", ".xz"];
    let digits = suffixes.iter().find_map(|suffix| end.strip_suffix(suffix)).unwrap_or(end);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The common part of the names of files of several CPUs; `None` if one is not such a file or they
/// belong to several traces.
pub(crate) fn common_of_cpus<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut commons = names.into_iter().map(|name| {
        let (common, end) = name.rsplit_once(MIDDLE)?;
        cpu(end).map(|_| common)
    });
    let first = commons.next()??;
    commons.all(|common| common == Some(first)).then_some(first)
}

/// The archive in a path such as `set.tar/a/b.csv`, or the folder in one with a star, and the rest
/// of the path.
fn members(word: &str) -> Option<(PathBuf, String)> {
    if Path::new(word).exists() {
        return None;
    }
    let has_members = |end: usize| {
        let path = Path::new(&word[..end.max(1)]);
        path.is_file() || word[end..].contains('*') && path.is_dir()
    };
    let ends = word.rmatch_indices('/').map(|(end, _)| end);
    let end = ends.into_iter().find(|&end| has_members(end))?;
    let (path, pattern) = (&word[..end.max(1)], &word[end + 1..]);
    (!pattern.is_empty()).then(|| (PathBuf::from(path), pattern.to_owned()))
}

/// The files in a folder and below that match a pattern, or all, in the order of their names below
/// the folder. What is hidden is left out, and so are folders that are links, and what is no file.
pub(crate) fn files_in(folder: &Path, pattern: Option<&str>) -> io::Result<Vec<(String, PathBuf)>> {
    let (mut files, mut folders) = (Vec::new(), vec![(String::new(), folder.to_owned())]);
    while let Some((above, folder)) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push((format!("{above}{name}/"), entry.path()));
            } else if fs::metadata(entry.path()).is_ok_and(|found| found.is_file()) {
                files.push((format!("{above}{name}"), entry.path()));
            }
        }
    }
    files.retain(|(name, _)| pattern.is_none_or(|pattern| is_selected(pattern, name)));
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_its_files_in_the_order_of_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir_all(at("week/b")).unwrap();
        fs::create_dir(at("week/.git")).unwrap();
        for name in ["b/1.csv", "a.csv", "c.txt", ".hidden", ".git/config"] {
            fs::write(at(&format!("week/{name}")), "x").unwrap();
        }
        std::os::unix::fs::symlink(at("week"), at("week/loop")).unwrap();
        let names = |pattern| -> Vec<String> {
            let found = files_in(&directory.path().join("week"), pattern).unwrap();
            found.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(None), ["a.csv", "b/1.csv", "c.txt"]);
        assert_eq!(names(Some("*.csv")), ["a.csv", "b/1.csv"]);
        assert_eq!(names(Some("b")), ["b/1.csv"]);
        let folder = |pattern: &str| {
            ResolvedPath::Folder(directory.path().join("week"), Some(pattern.to_owned()))
        };
        assert_eq!(ResolvedPath::of(&at("week/*.txt")), folder("*.txt"));
        assert_eq!(stored_files(&at("week/*.txt")), [PathBuf::from(at("week/c.txt"))]);
        assert_eq!(stored_files(&at("week")).len(), 3);
        // Without a star it is the name of a file that does not exist.
        let missing = at("week/d.csv");
        assert_eq!(ResolvedPath::of(&missing), ResolvedPath::File(PathBuf::from(missing)));
    }

    #[test]
    fn files_of_all_cpus_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        let names = ["x.blktrace.10", "x.blktrace.2.gz", "x.blktrace.0", "x.blktrace.0.zst"];
        for name in names.into_iter().chain(["x.blktrace.more", "xy.blktrace.1"]) {
            fs::write(at(name), b"a").unwrap();
        }
        let expected: Vec<PathBuf> =
            ["x.blktrace.0", "x.blktrace.2.gz", "x.blktrace.10"].map(|n| at(n).into()).into();
        for word in ["x", "x.blktrace", "x.blktrace.10", "x.blktrace.0", "x.blktrace.77"] {
            assert_eq!(ResolvedPath::of(&at(word)), ResolvedPath::Cpus(expected.clone()), "{word}");
            assert_eq!(stored_files(&at(word)), expected);
        }
        for word in ["x.blktrace.more", "y", "y.blktrace"] {
            assert_eq!(ResolvedPath::of(&at(word)), ResolvedPath::File(at(word).into()));
        }
        assert!(stored_files(&at("y")).is_empty());
        fs::write(at("x"), b"a").unwrap();
        assert_eq!(
            ResolvedPath::of(&at("x")),
            ResolvedPath::File(at("x").into()),
            "an existing file takes precedence"
        );
    }

    #[test]
    fn files_of_several_traces_are_rejected() {
        assert_eq!(common_of_cpus(["a/x.blktrace.0", "a/x.blktrace.1.zst"]), Some("a/x"));
        for others in [["a/x.blktrace.0", "b/x.blktrace.1"], ["x.blktrace.0", "x.txt"]] {
            assert_eq!(common_of_cpus(others), None);
        }
        assert_eq!(common_of_cpus([]), None);
    }

    #[test]
    fn a_path_into_an_archive_names_members() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        fs::write(at("set.tgz"), b"a").unwrap();
        let named = ResolvedPath::of(&at("set.tgz/2016/*.csv"));
        assert_eq!(named, ResolvedPath::Members(at("set.tgz").into(), "2016/*.csv".into()));
        assert_eq!(stored_files(&at("set.tgz/x")), [PathBuf::from(at("set.tgz"))]);
        for word in ["set.tgz", "set.tgz/", "no.tgz/x"] {
            assert_eq!(ResolvedPath::of(&at(word)), ResolvedPath::File(at(word).into()), "{word}");
        }
    }
}
