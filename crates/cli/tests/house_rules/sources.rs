//! The files of a crate and their imports, derived from their text.
//!
//! A file is named by its module path: `scheme::last` is `scheme/last/mod.rs`. Its imports are the
//! paths in it that begin with `crate`, `self` or `super`, or with a child module; tests in a file
//! do not count. The declaration of a child module is no import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files of a crate, by module path, with the files that each imports.
pub struct Sources {
    imports: BTreeMap<String, BTreeSet<String>>,
    folders: BTreeSet<String>,
}

impl Sources {
    /// Reads the sources below a folder.
    pub fn of(folder: &Path) -> Sources {
        let files = super::rust_files(folder).into_iter();
        Sources::from_texts(files.map(|path| {
            let inside = path.strip_prefix(folder).expect("a file below the folder");
            (inside.to_owned(), super::read(&path))
        }))
    }

    /// The sources with these paths and texts.
    pub fn from_texts(files: impl Iterator<Item = (PathBuf, String)>) -> Sources {
        let mut texts = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for (path, text) in files {
            let name = module(&path);
            if ["mod.rs", "lib.rs", "main.rs"].iter().any(|head| path.ends_with(head)) {
                folders.insert(name.clone());
            }
            if !path.ends_with("tests.rs") {
                texts.insert(name, code(&text));
            }
        }
        let known: BTreeSet<String> = texts.keys().cloned().collect();
        let imports = texts.iter().map(|(name, text)| (name.clone(), imports(name, text, &known)));
        Sources { imports: imports.collect(), folders }
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.imports.keys().map(String::as_str)
    }

    /// Whether a file is the head of a folder.
    pub fn is_folder(&self, file: &str) -> bool {
        self.folders.contains(file)
    }

    /// Every import: the importing file and the imported one.
    pub fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        self.imports
            .iter()
            .flat_map(|(from, all)| all.iter().map(|to| (from.as_str(), to.as_str())))
    }

    /// All files that import a file, directly or through others.
    pub fn users_of<'a>(&'a self, file: &'a str) -> BTreeSet<&'a str> {
        let mut users = BTreeSet::new();
        let mut open = vec![file];
        while let Some(next) = open.pop() {
            let direct = self.imports().filter(|&(_, to)| to == next).map(|(from, _)| from);
            open.extend(direct.filter(|user| users.insert(*user)));
        }
        users
    }

    /// A circle of imports, if there is one.
    pub fn circle(&self) -> Option<Vec<&str>> {
        circle(self.imports())
    }

    /// A circle of imports among the rooms of a folder, if there is one. Rooms are the files and
    /// the subfolders of a folder, also of the source folder itself; a subfolder imports what any
    /// file below it imports. The head of a folder (`lib.rs`, `main.rs`, `mod.rs`) belongs to it as
    /// a whole and is no room inside.
    pub fn circle_of_rooms(&self) -> Option<Vec<&str>> {
        circle(self.imports().filter_map(|(from, to)| rooms(from, to)))
    }
}

/// The rooms, in the deepest folder that has both files, between which an import leads.
fn rooms<'a>(from: &'a str, to: &'a str) -> Option<(&'a str, &'a str)> {
    let ends = |file: &'a str| file.match_indices("::").map(|(at, _)| at).chain([file.len()]);
    let shared = ends(from).zip(ends(to)).position(|(a, b)| from[..a] != to[..b])?;
    Some((&from[..ends(from).nth(shared)?], &to[..ends(to).nth(shared)?]))
}

/// A circle among arrows, if there is one; its first element is also its last.
fn circle<'a>(arrows: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Vec<&'a str>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    arrows.for_each(|(from, to)| _ = next.entry(from).or_default().insert(to));
    let mut done = BTreeSet::new();
    next.keys().find_map(|start| circle_from(start, &next, &mut Vec::new(), &mut done))
}

fn circle_from<'a>(
    start: &'a str,
    next: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
) -> Option<Vec<&'a str>> {
    if let Some(at) = path.iter().position(|earlier| *earlier == start) {
        return Some([&path[at..], &[start]].concat());
    }
    if !done.insert(start) {
        return None;
    }
    path.push(start);
    let mut targets = next.get(start).into_iter().flatten();
    let found = targets.find_map(|target| circle_from(target, next, path, done));
    path.pop();
    found
}

/// The module path of a file.
fn module(path: &Path) -> String {
    let inside = path.with_extension("");
    let parts = inside.iter().map(|part| part.to_string_lossy().into_owned());
    let parts: Vec<String> =
        parts.filter(|part| !["mod", "lib", "main"].contains(&&**part)).collect();
    parts.join("::")
}

/// A file without its comments and tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

fn imports(name: &str, text: &str, known: &BTreeSet<String>) -> BTreeSet<String> {
    let uses = text.split("\nuse ").skip(1).filter_map(|rest| rest.split(';').next());
    let uses =
        uses.chain(text.split("\npub use ").skip(1).filter_map(|rest| rest.split(';').next()));
    let mut paths: Vec<String> = uses.flat_map(expand).collect();
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c: char| !is_path(c));
    paths.extend(words.filter(|word| word.contains("::")).map(str::to_owned));
    let files = paths.iter().filter_map(|path| resolve(name, path, known));
    files.filter(|file| file != name).collect()
}

/// The paths of a tree such as `a::{b, c::{d, e}}`.
fn expand(tree: &str) -> Vec<String> {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        return vec![tree.split_whitespace().next().unwrap_or_default().to_owned()];
    };
    let prefix = &tree[..open];
    let inner = tree[open + 1..].strip_suffix('}').expect("an end of the braces");
    let (mut depth, mut branches) = (0, vec![String::new()]);
    for c in inner.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        match c == ',' && depth == 0 {
            true => branches.push(String::new()),
            false => branches.last_mut().expect("a branch").push(c),
        }
    }
    let paths = branches.iter().filter(|branch| !branch.trim().is_empty());
    paths.flat_map(|branch| expand(branch)).map(|path| format!("{prefix}{path}")).collect()
}

/// The file that a path leads into, if it is one of this crate.
fn resolve(name: &str, path: &str, known: &BTreeSet<String>) -> Option<String> {
    let mut steps = path.split("::").filter(|step| !step.is_empty()).peekable();
    let mut at: Vec<&str> = match *steps.peek()? {
        "crate" => Vec::new(),
        "self" | "super" => name.split("::").filter(|part| !part.is_empty()).collect(),
        child => {
            let below = if name.is_empty() { child.to_owned() } else { format!("{name}::{child}") };
            known
                .contains(&below)
                .then(|| name.split("::").filter(|part| !part.is_empty()).collect())?
        }
    };
    while let Some(&step) = steps.peek() {
        match step {
            "crate" | "self" => {}
            "super" => {
                at.pop();
            }
            _ => break,
        }
        steps.next();
    }
    for step in steps {
        let further = [&at[..], &[step]].concat().join("::");
        if !known.contains(&further) {
            break;
        }
        at.push(step);
    }
    Some(at.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A circle of folders among these files; each folder gets an empty head.
    fn circle_among(files: &[(&str, &str)]) -> Option<String> {
        let folders = files.iter().flat_map(|(path, _)| Path::new(path).ancestors().skip(1));
        let heads = folders.map(|folder| (folder.join("mod.rs"), String::new()));
        let files = files.iter().map(|(path, text)| (PathBuf::from(path), format!("\n{text}")));
        let sources = Sources::from_texts(heads.chain(files));
        assert_eq!(sources.circle(), None, "no file imports itself through others");
        sources.circle_of_rooms().map(|circle| circle.join(" → "))
    }

    #[test]
    fn a_circle_of_folders_is_named() {
        let clock = ("clock/serial.rs", "use crate::config::values::LIMIT;");
        let value = ("config/values.rs", "pub const LIMIT: u64 = 7;");
        assert_eq!(circle_among(&[clock, value]), None);
        let setup = ("config/setup.rs", "use crate::clock::queue::Queue;");
        let queue = ("clock/queue.rs", "pub struct Queue;");
        let found = circle_among(&[clock, value, setup, queue]);
        assert_eq!(found.unwrap(), "clock → config → clock");
    }

    #[test]
    fn a_circle_leads_through_files_and_inner_folders() {
        let inner = ("run/time/a.rs", "use super::super::count::one::One;");
        let outer = ("run/count/two.rs", "use crate::run::time::b::{B, C};");
        let ends = [("run/time/b.rs", ""), ("run/count/one.rs", "")];
        let found = circle_among(&[&[inner, outer][..], &ends].concat());
        assert_eq!(found.unwrap(), "run::count → run::time → run::count");
        let through_a_file = [
            ("cut/loss.rs", "use crate::failed::Failed;"),
            ("failed.rs", "use crate::cut::power::Cut;"),
            ("cut/power.rs", ""),
        ];
        assert_eq!(circle_among(&through_a_file).unwrap(), "cut → failed → cut");
    }

    #[test]
    fn the_head_of_a_folder_may_import_what_is_in_it() {
        let head = ("run/mod.rs", "pub mod a;\nuse crate::run::a::A;\nuse crate::error::Error;");
        assert_eq!(circle_among(&[head, ("run/a.rs", ""), ("error.rs", "")]), None);
    }
}
