//! What a terminal shows: lines as wide as it is, whole numbers, bold letters and colours.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use anstream::adapter::strip_str;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use unicode_width::UnicodeWidthStr;

mod common;

use common::{FTLAB, printed};

/// What the command prints on a terminal of this width.
fn shown(columns: u16, environment: &[(&str, &str)], args: &[&str]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).and_then(|()| unlockpt(&terminal)).expect("it opens");
    let size = Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&terminal, size).expect("it has a size");
    let name = ptsname(&terminal, Vec::new()).expect("it has a name");
    let name = name.to_str().expect("a path");
    let inside = File::options().read(true).write(true).open(name).expect("its other end");
    let mut command = Command::new(FTLAB);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "CI"] {
        command.env_remove(name);
    }
    command.args(args).env("TERM", "xterm-256color").envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(inside).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    drop(command);
    // When the last process has closed the terminal, reading it fails.
    let (mut terminal, mut text, mut part) = (File::from(terminal), Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = terminal.read(&mut part) {
        text.extend_from_slice(&part[..length]);
    }
    assert!(child.wait().expect("it ends").success(), "{args:?}");
    String::from_utf8(text).expect("text").replace("\r\n", "\n")
}

/// Commands whose answers are tables.
const TABLES: [&[&str]; 6] = [
    &["run", "uniform:writes=3K,reads=20%", "--capacity", "4MiB"],
    &["run", "uniform:writes=3K", "--capacity", "4MiB", "--timing", "drive"],
    &[
        "compare",
        "uniform:writes=3K",
        "--capacity=4MiB",
        "--ftl=page:victim=cost_benefit,frontiers=2",
        "--ftl=fast",
        "--ftl=faster:isolation=false,second_chance=true",
        "--ftl=dftl:cmt=4KiB",
        "--ftl=last",
    ],
    &["bound", "uniform:writes=4K", "--capacity=4MiB", "--open=1,4", "--ftl=page", "--ftl=dac"],
    &["life", "uniform:requests=2K", "--capacity=2MiB", "--media=real:endurance=20", "--ftl=page"],
    &["list", "victims"],
];

/// The numbers of a text, whatever stands around them.
fn numbers(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ',' || letter == '.';
    let lines = text.lines().filter(|line| !line.starts_with("wall"));
    let words = lines.flat_map(|line| line.split(|letter| !is_part(letter)));
    let words = words.map(|word| word.trim_matches([',', '.']).to_owned());
    words.filter(|word| !word.is_empty()).collect()
}

#[test]
fn no_line_is_wider_than_the_terminal_and_no_number_breaks() {
    for args in TABLES {
        let whole = numbers(&printed(args));
        for columns in [40, 52, 80, 100, 132, 300] {
            let text = strip_str(&shown(columns, &[], args)).to_string();
            for line in text.lines() {
                assert!(line.width() <= usize::from(columns), "{args:?}, {columns}:\n{line}");
            }
            let lost: Vec<_> = whole.difference(&numbers(&text)).cloned().collect();
            assert!(lost.is_empty(), "{args:?}, {columns}: {lost:?} in\n{text}");
        }
    }
}

#[test]
fn columns_of_the_environment_count_more_than_those_of_the_terminal() {
    let widest = |environment: &[(&str, &str)]| {
        let text = strip_str(&shown(120, environment, TABLES[2])).to_string();
        text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0)
    };
    assert!((81..=120).contains(&widest(&[])), "{}", widest(&[]));
    assert!((41..=80).contains(&widest(&[("COLUMNS", "80")])));
    assert!((81..=120).contains(&widest(&[("COLUMNS", "wide")])), "no number is no width");
}

#[test]
fn a_pipe_gets_tables_in_one_piece_whatever_columns_says() {
    let args = ["list", "victims"];
    let narrow = Command::new(FTLAB).args(args).env("COLUMNS", "40").output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&narrow.stdout), printed(&args));
}

#[test]
fn bold_letters_and_colours_are_for_terminals_that_have_them() {
    let args = TABLES[2];
    let inked = shown(100, &[], args);
    assert!(inked.contains("\u{1b}[1m") && inked.contains("\u{1b}[32m"), "{inked}");
    for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = shown(100, &[environment], args);
        assert!(!plain.contains('\u{1b}'), "{environment:?}: {plain}");
        assert_eq!(plain, strip_str(&inked).to_string(), "colours change nothing else");
    }
    assert!(!printed(args).contains('\u{1b}'), "a pipe has none");
}

#[test]
fn a_scheme_is_shown_whole() {
    let entries: serde_json::Value =
        serde_json::from_str(&printed(&["list", "ftls", "--json", "-"])).expect("JSON");
    for entry in entries.as_array().expect("a list") {
        let name = entry["name"].as_str().expect("a name");
        let text = strip_str(&shown(80, &[], &["list", "ftls", name])).to_string();
        // An address is never broken.
        let fits = |line: &str| line.width() <= 80 || line.contains("://");
        assert!(text.lines().all(fits), "{text}");
        assert!(text.starts_with(&format!("{name}  ")), "{text}");
        assert!(text.contains("  source: "), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.windows(3).any(|three| three == ["has", "the", "code,"]), "{text}");
        assert!(text.contains("─▶") || text.contains('['), "{name} has no picture: {text}");
        for key in entry["params"].as_array().expect("a list") {
            let key = key["name"].as_str().expect("a name");
            assert!(text.contains(&format!("  {key}=")), "{name} lacks {key}");
        }
    }
    let narrow = shown(40, &[], &["list", "ftls", "last"]);
    assert!(narrow.contains("needs a wider"), "{narrow}");
}
