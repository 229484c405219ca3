//! `ftlab ctl`: power cuts, failures and delays, as clients feel them.

use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixture::{MEMORY, Server, are_here};

/// The answer to a command, which must be `ok`.
#[track_caller]
fn told(server: &Server, command: &str) -> Value {
    let output = asked(server, command);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{command}: {text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert!(answer.get("ok").is_some(), "{command}: {answer}");
    answer
}

fn asked(server: &Server, command: &str) -> Output {
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    server.command(&format!("{ftlab} ctl c")).arg(command).output().unwrap()
}

fn qemu_io(server: &Server, command: &str) -> Output {
    server.command("qemu-io -f raw URI").args(["-c", command]).output().unwrap()
}

#[track_caller]
fn works(server: &Server, command: &str) {
    let output = qemu_io(server, command);
    let text = String::from_utf8_lossy(&output.stdout);
    let failed = text.contains("failed") || !output.status.success();
    assert!(!failed, "{command}: {text}{}", String::from_utf8_lossy(&output.stderr));
}

#[track_caller]
fn fails(server: &Server, command: &str) {
    let output = qemu_io(server, command);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text + &String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("failed") || !output.status.success(), "{command}: {said}");
}

#[test]
fn a_cut_leaves_what_was_durable() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&format!("{MEMORY} --buffer 1MiB"));
    works(&server, "write -f -P 0x11 0 64k");
    told(&server, r#"{"cut":"now"}"#);
    works(&server, "read -P 0x11 0 64k");
    assert_eq!(told(&server, r#"{"stats":true}"#)["ok"]["cuts"], 1);
}

#[test]
fn a_device_stays_down_until_its_power_is_on() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(MEMORY);
    works(&server, "write -f -P 0x11 0 64k");
    told(&server, r#"{"cut":"now","stay_down":true}"#);
    fails(&server, "read 0 4k");
    told(&server, r#"{"power":"on"}"#);
    works(&server, "read -P 0x11 0 64k");
}

/// A client that connects again by itself would not notice the cut.
#[test]
fn with_stay_down_a_cut_ends_the_export_until_the_power_is_on() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&format!("{MEMORY} --stay-down"));
    works(&server, "write -f -P 0x11 0 64k");
    assert_eq!(told(&server, r#"{"cut":"now"}"#)["ok"]["power"], "off");
    fails(&server, "read 0 4k");
    told(&server, r#"{"power":"on"}"#);
    works(&server, "read -P 0x11 0 64k");
    assert_eq!(told(&server, r#"{"cut":"now","stay_down":false}"#)["ok"]["power"], "on");
    works(&server, "read -P 0x11 0 64k");
}

#[test]
fn requests_fail_where_they_are_told_to() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(MEMORY);
    works(&server, "write -P 0x11 0 64k");
    told(&server, r#"{"fail":{"offset":8192,"bytes":4096,"on":"read"}}"#);
    fails(&server, "read 0 64k");
    works(&server, "read -P 0x11 0 8k");
    works(&server, "write -P 0x22 8k 4k");
    told(&server, r#"{"fail":null}"#);
    works(&server, "read -P 0x22 8k 4k");
    told(&server, r#"{"fail":{"offset":0,"bytes":4096,"on":"write","times":1}}"#);
    fails(&server, "write 0 4k");
    works(&server, "write -P 0x33 0 4k");
    works(&server, "read -P 0x33 0 4k");
}

#[test]
fn a_slow_and_a_frozen_device_answer_later() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(MEMORY);
    told(&server, r#"{"slow":"200ms"}"#);
    let started = Instant::now();
    works(&server, "read 0 4k");
    assert!(started.elapsed() >= Duration::from_millis(200));
    told(&server, r#"{"slow":0}"#);
    let command = format!("{} ctl c {}", env!("CARGO_BIN_EXE_ftlab"), r#"{"freeze":1.5}"#);
    let started = Instant::now();
    // It ends when the device is no longer frozen.
    let mut freeze = server.command(&command).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    works(&server, "read 0 4k");
    assert!(started.elapsed() >= Duration::from_millis(1500), "{:?}", started.elapsed());
    assert!(freeze.wait().unwrap().success());
}

#[test]
fn what_is_no_command_is_answered_with_a_sentence() {
    let server = Server::start(MEMORY);
    for command in ["", "{", "[]", "{}", r#"{"cut":"later"}"#, r#"{"cut":"now","export":"none"}"#] {
        let output = asked(&server, command);
        assert_eq!(output.status.code(), Some(1), "{command}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("ftlab: ") && said.len() > 20, "{command}: {said}");
    }
}
