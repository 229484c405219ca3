//! The command as its users call it.

use std::process::{Command, Output, Stdio};

pub const FTLAB: &str = env!("CARGO_BIN_EXE_ftlab");

pub fn ftlab(args: &[&str]) -> Output {
    Command::new(FTLAB).args(args).stdin(Stdio::null()).output().expect("the binary starts")
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// What a command prints that succeeds.
pub fn printed(args: &[&str]) -> String {
    let output = ftlab(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}
