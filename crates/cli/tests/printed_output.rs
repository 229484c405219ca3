//! The commands of README.md, docs/*.md and docs/guides/*.md print what is printed there.
//!
//! ````text
//! ```console                    runs each `$ ` line; the lines below it are what it prints
//! $ ftlab run oltp.log
//! cause      reads   …          `…` in a line stands for any text, alone for any lines
//! …
//! ```
//! ```                           a block without a language right below a console block goes on
//! ```
//! ```console not-run: why       the commands take minutes or need what a test has not
//! ```toml plan.toml             a block of another language with the name of a file writes it
//! ````
//! All commands of a file run in a shell, in the order of the file, in one temporary folder, so
//! that a command finds what an earlier one wrote. The folder has `examples` and `include` of the
//! repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of blocks that are not run. Whoever adds one changes this number, too.
const NOT_RUN: usize = 35;

/// The mark of a block that is not run.
const MARK: &str = "not-run: ";

/// Commands that begin like this are slow, so only `make test-long` runs them.
const LONG: &str = "ftlab advise db.csv --depths";

/// Programs with which a command can begin.
const PROGRAMS: [&str; 3] = ["ftlab", "awk", "cc"];

/// A command with the lines that it prints, as a page shows them.
#[derive(Debug, Default)]
struct Shown {
    /// The line of the file, from 1.
    line: usize,
    command: String,
    printed: Vec<String>,
}

/// The commands of a page, the files that it writes, and the number of its blocks that are not run.
#[derive(Debug, Default)]
struct Page {
    commands: Vec<Shown>,
    /// Names and texts.
    files: Vec<(String, String)>,
    not_run: usize,
}

/// What the lines of a page are, as reading proceeds.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Prose,
    /// In a block of another language, or in a console block that is not run.
    Other,
    /// In a block that is the text of a file.
    File,
    /// In a block without a language.
    Bare,
    /// In a console block that is run.
    Console,
    /// Right below the end of such a block.
    BelowConsole,
}

impl Page {
    fn read(name: &str, text: &str) -> Page {
        let (mut page, mut place) = (Page::default(), Place::Prose);
        for (index, line) in text.lines().enumerate() {
            let fence = line.strip_prefix("```").map(str::trim);
            place = match (place, fence) {
                (Place::Prose | Place::BelowConsole, Some(info)) => page.open(name, info, place),
                (Place::Prose | Place::BelowConsole, None) => Place::Prose,
                (Place::Other | Place::Bare | Place::File, Some(_)) => Place::Prose,
                (Place::File, None) => {
                    let (_, text) = page.files.last_mut().expect("a file was opened");
                    *text += line;
                    text.push('\n');
                    Place::File
                }
                (Place::Console, Some(_)) => Place::BelowConsole,
                (Place::Other, None) => Place::Other,
                (Place::Bare, None) => {
                    let is_command = line.starts_with("ftlab ");
                    assert!(!is_command, "{name}:{}: a command outside a console block", index + 1);
                    Place::Bare
                }
                (Place::Console, None) => {
                    page.line(index + 1, line);
                    Place::Console
                }
            };
        }
        page
    }

    /// The place behind the line that opens a block with this language.
    fn open(&mut self, name: &str, info: &str, before: Place) -> Place {
        match info.strip_prefix("console") {
            Some("") => Place::Console,
            Some(mark) => {
                let why = mark.trim().strip_prefix(MARK).unwrap_or_default();
                assert!(!why.is_empty(), "{name}: `console {mark}` does not say why it is not run");
                self.not_run += 1;
                Place::Other
            }
            None if info.contains(' ') => {
                let (_, name) = info.split_once(' ').expect("a blank");
                self.files.push((name.to_owned(), String::new()));
                Place::File
            }
            None if !info.is_empty() => Place::Other,
            None if before == Place::BelowConsole => Place::Console,
            None => Place::Bare,
        }
    }

    fn line(&mut self, number: usize, line: &str) {
        match (line.strip_prefix("$ "), self.commands.last_mut()) {
            (Some(command), _) => self.commands.push(Shown {
                line: number,
                command: command.to_owned(),
                printed: Vec::new(),
            }),
            (None, Some(last)) => last.printed.push(line.to_owned()),
            (None, None) => panic!("line {number}: output without a command"),
        }
    }
}

/// Whether a line is as shown; `…` stands for any text.
fn is_line(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// Whether lines are as shown; a line `…` stands for any lines.
fn are_lines(shown: &[String], lines: &[&str]) -> bool {
    match shown.split_first() {
        None => lines.is_empty(),
        Some((gap, rest)) if gap == "…" => {
            (0..=lines.len()).any(|skipped| are_lines(rest, &lines[skipped..]))
        }
        Some((first, rest)) => {
            lines.first().is_some_and(|line| is_line(first, line)) && are_lines(rest, &lines[1..])
        }
    }
}

/// Shown and printed lines against each other. Lines that are in only one of them have a sign.
fn difference(shown: &[String], lines: &[&str]) -> String {
    let mut text = String::new();
    for line in shown {
        let is_there = line == "…" || lines.iter().any(|printed| is_line(line, printed));
        let _ = writeln!(text, "{} {line}", if is_there { ' ' } else { '-' });
    }
    text += "printed:\n";
    for line in lines {
        let is_there = shown.iter().any(|shown| shown != "…" && is_line(shown, line));
        let _ = writeln!(text, "{} {line}", if is_there { ' ' } else { '+' });
    }
    text
}

/// The folder in which the commands of a page run.
fn folder(page: &Page) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["examples", "include"] {
        let link = std::os::unix::fs::symlink(root().join(name), folder.path().join(name));
        link.expect("a link into the repository");
    }
    for (name, text) in &page.files {
        std::fs::write(folder.path().join(name), text).expect("a file of the page");
    }
    folder
}

/// The path on which a shell finds this command of ftlab.
fn path() -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_ftlab")).parent().expect("a folder");
    format!("{}:{}", own.display(), std::env::var("PATH").unwrap_or_default())
}

/// Runs a command in a folder. Returns why it is not as shown, if so.
fn complaint(shown: &Shown, file: &str, folder: &Path) -> Option<String> {
    let place = format!("{file}:{}: `{}`", shown.line, shown.command);
    let name = shown.command.split(' ').next().expect("a command has a name");
    let is_known = PROGRAMS.contains(&name);
    assert!(is_known, "{place} is marked with `{MARK}…`, or it begins with one of {PROGRAMS:?}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &shown.command]).env("PATH", path()).current_dir(folder);
    let output = shell.output().expect("the shell starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Some(format!("{place} fails: {said}"));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
    if shown.printed.is_empty() || are_lines(&shown.printed, &lines) {
        return None;
    }
    Some(format!(
        "{place} prints something else. To refresh the page, replace the lines with `-` by those \
         with `+`, and write `…` for what changes from run to run or does not matter:\nshown:\n{}",
        difference(&shown.printed, &lines)
    ))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// The pages in a folder.
fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("a folder of pages");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    pages.sort();
    pages
}

/// The README, the guides and the pages of documentation.
fn files() -> Vec<PathBuf> {
    [vec![root().join("README.md")], pages("docs/guides"), pages("docs")].concat()
}

#[test]
fn every_command_prints_what_its_page_shows() {
    prints_what_is_shown(|shown| !shown.command.starts_with(LONG));
}

#[test]
#[ignore = "all commands, with the slow ones"]
fn every_long_command_prints_what_its_page_shows() {
    prints_what_is_shown(|_| true);
}

/// Runs these commands of all pages; each prints what its page shows.
fn prints_what_is_shown(is_run: impl Fn(&&Shown) -> bool) {
    let (mut complaints, mut run, mut not_run, mut compared) = (Vec::new(), 0, 0, 0);
    for path in files() {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let page = Page::read(&name, &std::fs::read_to_string(&path).expect("a page"));
        let folder = folder(&page);
        let commands: Vec<&Shown> = page.commands.iter().filter(&is_run).collect();
        complaints.extend(commands.iter().filter_map(|it| complaint(it, &name, folder.path())));
        run += commands.len();
        compared += commands.iter().filter(|it| !it.printed.is_empty()).count();
        not_run += page.not_run;
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(run >= 9 && compared >= 3, "{run} commands run, {compared} compared");
    assert_eq!(not_run, NOT_RUN, "blocks that are not run");
}

/// A visitor finds each guide and the questions before anything else.
#[test]
fn the_readme_leads_to_every_guide_first() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README");
    let first = readme.split("\n## ").nth(1).expect("a section");
    for page in pages("docs/guides") {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(first.contains(&format!("(docs/guides/{name})")), "{name} is not in:\n{first}");
        let text = Page::read(&name, &std::fs::read_to_string(&page).expect("a guide"));
        assert!(text.commands.len() >= 5, "{name} has only {} commands", text.commands.len());
    }
    assert!(first.contains("(docs/questions.md)"), "{first}");
}

/// Each question names the thread in which it was asked, and one command that answers it.
#[test]
fn ten_questions_have_a_source_and_a_command_each() {
    let text = std::fs::read_to_string(root().join("docs/questions.md")).expect("the questions");
    let questions: Vec<&str> =
        text.split("\n## ").skip(1).filter(|part| part.starts_with(char::is_numeric)).collect();
    assert_eq!(questions.len(), 10);
    for question in questions {
        let title = question.lines().next().unwrap_or_default();
        assert!(title.ends_with('?'), "{title}");
        assert!(question.contains("\nAsked in ["), "{title} has no source");
        assert!(question.contains("](https://"), "{title} has no address");
        assert!(question.contains("\n**Answer**"), "{title} does not say how to read the answer");
        let page = Page::read(title, question);
        assert_eq!(page.commands.len(), 1, "{title}");
        assert!(!page.commands[0].printed.is_empty(), "{title} shows no answer");
    }
}

#[test]
fn gaps_stand_for_any_text_and_other_lines_must_agree() {
    assert!(is_line("wall … s", "wall 0.25 s") && is_line("a…", "a") && is_line("…", ""));
    assert!(!is_line("wall … s", "wall 0.25 ms!") && !is_line("a", "ab") && !is_line("ab…b", "ab"));
    let shown = ["head", "…", "tail 1…"].map(str::to_owned);
    assert!(are_lines(&shown, &["head", "x", "y", "tail 12"]));
    assert!(!are_lines(&shown, &["head", "x", "tail 2"]));
    let text = difference(&shown, &["head", "tail 2"]);
    assert!(text.contains("- tail 1…\n") && text.contains("+ tail 2\n"), "{text}");
}

#[test]
fn a_block_below_a_console_block_continues_it_and_marked_blocks_are_not_run() {
    let text = "```console\n$ ftlab a\n$ ftlab b\n```\n```\nout\n```\n\n```\nother\n```\n\
                ```toml a.toml\nb = 1\n```\n\
                ```console not-run: minutes\n$ ftlab c\n```\n";
    let page = Page::read("t", text);
    let seen: Vec<_> = page.commands.iter().map(|it| (&*it.command, it.printed.len())).collect();
    assert_eq!(seen, [("ftlab a", 0), ("ftlab b", 1)]);
    assert_eq!(page.not_run, 1);
    assert_eq!(page.files, [("a.toml".to_owned(), "b = 1\n".to_owned())]);
}
