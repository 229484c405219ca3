//! Devices in memory that are larger than the memory.

use std::process::Command;

use crate::fixture::{Server, are_here};

/// The answer to `ftlab serve` with these options, which must be a refusal.
fn refused(options: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    let options = format!("serve --memory --ftl page --socket /nowhere/s {options}");
    let output = command.args(options.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{options}: {said}");
    said
}

#[test]
fn devices_whose_tables_do_not_fit_are_refused_with_a_remedy_that_serve_has() {
    let said = refused("--capacity 64GiB --memory-limit 100MiB");
    assert!(said.contains("the limit is 100.00 MiB") && said.contains("--capacity"), "{said}");
    assert!(!said.contains("--limit`"), "serve has no such option: {said}");
    // Each fits, but not all of them.
    let three = "--capacity 16GiB --ftl fast --ftl dftl --memory-limit 150MiB";
    assert!(refused(three).contains("fewer devices"));
}

/// The first export is filled until it refuses. Nobody else notices, and nothing is lost.
#[test]
fn writes_that_do_not_fit_are_refused_and_the_server_lives() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let options = "--memory --ftl page --ftl fast --capacity 2GiB --memory-limit 160MiB";
    let server = Server::start(options);
    let of_fast = server.uri().replace("/page", "/fast");
    let io = |uri: &str, commands: &[&str]| {
        let mut command = server.command("qemu-io -f raw");
        for one in commands {
            command.args(["-c", one]);
        }
        let output = command.arg(uri).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    };
    assert!(!io(&of_fast, &["write -P 5 0 64k", "flush"]).contains("failed"));
    let writes: Vec<String> = (0..20).map(|at| format!("write -P 7 {}M 16M", at * 16)).collect();
    let writes: Vec<&str> = writes.iter().map(|write| &**write).collect();
    let said = io(server.uri(), &writes);
    assert!(said.contains("No space left on device"), "320 MiB do not fit: {said}");
    assert!(said.contains("wrote 16777216/16777216 bytes at offset 0\n"), "{said}");
    let page = io(server.uri(), &["flush", "read -P 7 0 16M", "discard 0 16M", "read -P 0 0 16M"]);
    assert!(!page.contains("failed"), "{page}");
    assert!(io(server.uri(), &["write 0 4k"]).contains("No space left on device"));
    let fast = io(&of_fast, &["read -P 5 0 64k", "flush"]);
    assert!(!fast.contains("failed"), "{fast}");
    server.end();
}
