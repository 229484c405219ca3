//! A served image keeps what its clients wrote, and lets nobody else in.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::fixture::{Server, are_here};

fn ftlab(folder: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.current_dir(folder).args(line.split_whitespace()).stdin(Stdio::null());
    command.output().unwrap()
}

#[track_caller]
fn ok(folder: &Path, line: &str) {
    let output = ftlab(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn with_image(options: &str) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    ok(place.path(), &format!("image create d.img {options} --quiet"));
    place
}

#[test]
fn what_was_copied_to_an_image_is_there_after_its_server_ended() {
    if !are_here(&["nbdcopy"]) {
        return;
    }
    for ftl in ["page", "fast --buffer 256KiB", "dac --sector-log 1MiB"] {
        let place = with_image(&format!("--ftl {ftl} --capacity 8MiB"));
        let server = Server::start_in(place, "--image d.img");
        server.random_file("in", 8 << 20);
        server.ok("nbdcopy --flush in URI");
        let place = server.end();
        ok(place.path(), "image check d.img");
        ok(place.path(), "image dump d.img --out out");
        let [before, after] = ["in", "out"].map(|name| fs::read(place.path().join(name)).unwrap());
        assert!(before == after, "{ftl}");
        let server = Server::start_in(place, "--image d.img");
        server.ok("nbdcopy URI again");
        server.same_files("in", "again");
    }
}

#[test]
fn an_image_that_is_served_is_open_to_nobody_else() {
    let server = Server::start_in(with_image("--ftl page --capacity 8MiB"), "--image d.img");
    let folder = server.at("");
    let second = ftlab(&folder, "serve --image d.img --socket other");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("d.img"), "{said}");
    let run = ftlab(&folder, "run uniform:writes=10 --image d.img");
    assert!(!run.status.success());
}

/// A socket on which a server answers stays; one that a killed server left is replaced.
#[test]
fn a_socket_in_use_is_refused_and_a_stale_one_replaced() {
    let server = Server::start_in(with_image("--ftl page --capacity 8MiB"), "--image d.img");
    let folder = server.at("");
    let second = ftlab(&folder, "serve --memory --ftl page --capacity 8MiB --socket s");
    assert!(!second.status.success());
    let place = server.kill();
    assert!(place.path().join("s").exists());
    Server::start_in(place, "--image d.img").end();
}
