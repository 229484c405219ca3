//! The files of a crate and their imports, derived from their text.
//!
//! A file is named by its module path: `scheme::last` is `scheme/last/mod.rs`. Its imports are the
//! paths in it that begin with `crate`, `self` or `super`, or with a child module; tests in a file
//! do not count. The declaration of a child module is no import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files of a crate, by module path, with the files that each imports.
pub struct Sources {
    imports: BTreeMap<String, BTreeSet<String>>,
    folders: BTreeSet<String>,
}

impl Sources {
    /// Reads the sources below a folder.
    pub fn of(folder: &Path) -> Sources {
        let mut texts = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for path in super::rust_files(folder) {
            let name = module(folder, &path);
            if ["mod.rs", "lib.rs", "main.rs"].iter().any(|head| path.ends_with(head)) {
                folders.insert(name.clone());
            }
            if !path.ends_with("tests.rs") {
                texts.insert(name, code(&super::read(&path)));
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
        let mut done = BTreeSet::new();
        self.files().find_map(|file| self.circle_from(file, &mut Vec::new(), &mut done))
    }

    fn circle_from<'a>(
        &'a self,
        file: &'a str,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> Option<Vec<&'a str>> {
        if let Some(at) = path.iter().position(|earlier| *earlier == file) {
            return Some([&path[at..], &[file]].concat());
        }
        if !done.insert(file) {
            return None;
        }
        path.push(file);
        let found = self.imports[file].iter().find_map(|next| self.circle_from(next, path, done));
        path.pop();
        found
    }
}

/// The module path of a file.
fn module(folder: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(folder).expect("a file below the folder").with_extension("");
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
