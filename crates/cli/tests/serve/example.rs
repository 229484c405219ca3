//! The example that finds the crash bug of a small database.

use crate::fixture::{Server, python_with_nbd};

/// The guide that shows it.
const GUIDE: &str = include_str!("../../../../docs/guides/database.md");

/// Its disk: a drive with a volatile cache that writes in another order.
const DISK: &str = "--memory --ftl page --buffer 1MiB,evict=run --capacity 64MiB";

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crash_bug.py");

/// The options behind a command that the guide shows.
fn shown(command: &str) -> Vec<&'static str> {
    let command = format!("$ {command} ");
    GUIDE.lines().filter_map(|line| line.strip_prefix(&command)).collect()
}

/// The guide shows the commands that the test below runs.
#[test]
fn the_guide_shows_the_example() {
    let sockets = "--socket nbd.sock --control ctl.sock --quiet";
    assert_eq!(shown("ftlab serve"), [format!("{DISK} {sockets}")]);
    let calls = ["nbd.sock ctl.sock", "nbd.sock ctl.sock --fixed"];
    assert_eq!(shown("python3 examples/crash_bug.py"), calls);
}

#[test]
fn the_example_finds_the_bug_and_nothing_once_it_is_fixed() {
    let Some(python) = python_with_nbd() else { return };
    let server = Server::start(DISK);
    let found = server.ran(&format!("{python} {EXAMPLE} s c --rounds 500"));
    let said = String::from_utf8_lossy(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&found.stderr));
    assert!(said.contains("is not there"), "{said}");
    let said = server.ok(&format!("{python} {EXAMPLE} s c --fixed --rounds 20"));
    assert!(said.contains("nothing is missing"), "{said}");
}
