//! nbdinfo, nbdcopy, and libnbd from Python.

use serde_json::Value;

use crate::fixture::{MEMORY, Server, are_here, python_with_nbd};

const SESSION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/session.py");

fn json(server: &Server, line: &str) -> Value {
    serde_json::from_str(&server.ok(line)).unwrap()
}

#[test]
fn nbdinfo_lists_the_export_with_all_it_can() {
    if !are_here(&["nbdinfo"]) {
        return;
    }
    let server = Server::start(MEMORY);
    let listed = json(&server, "nbdinfo --json --list URI");
    let export = &listed["exports"][0];
    assert_eq!(export["export-size"], 64 << 20);
    for what in ["flush", "fua", "trim", "zero", "fast_zero", "df", "multi_conn", "cache"] {
        assert_eq!(export[format!("can_{what}")], true, "{what}: {listed}");
        server.ok(&format!("nbdinfo --can {what} URI"));
    }
    assert_eq!(export["is_read_only"], false);
    assert_eq!(server.ran("nbdinfo --is read-only URI").status.code(), Some(2));
    let contexts: Vec<&str> =
        export["contexts"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(contexts, ["base:allocation", "ftlab:block", "ftlab:wear"]);
}

#[test]
fn a_read_only_export_refuses_changes() {
    if !are_here(&["nbdinfo", "qemu-io"]) {
        return;
    }
    let server = Server::start(&format!("{MEMORY} --read-only"));
    server.ok("nbdinfo --is read-only URI");
    let output = server.command("qemu-io -f raw URI").args(["-c", "write 0 4k"]).output().unwrap();
    assert!(!output.status.success());
}

/// Written pages are data, all others are a hole.
#[test]
fn nbdinfo_maps_what_was_written() {
    if !are_here(&["nbdinfo", "nbdcopy"]) {
        return;
    }
    let server = Server::start(MEMORY);
    server.random_file("in", 64 << 10);
    server.ok("nbdcopy in URI");
    let map = json(&server, "nbdinfo --map --json URI");
    let part = |at: usize| {
        let part = &map[at];
        [&part["offset"], &part["length"], &part["type"]].map(|one| one.as_u64().unwrap())
    };
    // Types: 0 is data, 1 a hole, 2 reads as zero.
    assert_eq!(part(0), [0, 64 << 10, 0], "{map}");
    assert_eq!(part(1), [64 << 10, (64 << 20) - (64 << 10), 3], "{map}");
    assert_eq!(map.as_array().unwrap().len(), 2, "{map}");
}

#[test]
fn nbdcopy_brings_back_what_it_brought() {
    if !are_here(&["nbdcopy"]) {
        return;
    }
    for ftl in ["page", "fast", "last --buffer 1MiB", "dac --sector-log 1MiB"] {
        let server = Server::start(&format!("--memory --ftl {ftl} --capacity 16MiB"));
        server.random_file("in", 16 << 20);
        server.ok("nbdcopy in URI");
        server.ok("nbdcopy URI out");
        server.same_files("in", "out");
        server.end();
    }
}

/// Every command and flag of libnbd, with what each must answer.
#[test]
fn libnbd_gets_what_the_protocol_promises() {
    let Some(python) = python_with_nbd() else { return };
    let server = Server::start(MEMORY);
    let said = server.ok(&format!("{python} {SESSION} URI"));
    assert_eq!(said, "all right\n");
    server.end();
}
