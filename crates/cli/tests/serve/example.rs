//! The example that finds the crash bug of a small database.

use crate::fixture::{Server, python_with_nbd};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/crash_bug.py");

#[test]
fn the_example_finds_the_bug_and_nothing_once_it_is_fixed() {
    let Some(python) = python_with_nbd() else { return };
    let server = Server::start("--memory --ftl page --buffer 1MiB,evict=run --capacity 64MiB");
    let found = server.ran(&format!("{python} {EXAMPLE} s c --rounds 500"));
    let said = String::from_utf8_lossy(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&found.stderr));
    assert!(said.contains("is not there"), "{said}");
    let said = server.ok(&format!("{python} {EXAMPLE} s c --fixed --rounds 20"));
    assert!(said.contains("nothing is missing"), "{said}");
}
