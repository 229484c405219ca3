//! A few rounds of the campaigns of `tools/live.py`.

use std::process::{Command, Stdio};

use crate::fixture::skip;

const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools");

/// Runs a Python program of the tools with our binary. It must find nothing wrong.
#[track_caller]
fn holds(words: &str) {
    let mut python = Command::new("python3");
    python.current_dir(TOOLS).args(words.split_whitespace()).stdin(Stdio::null());
    let Ok(output) = python.env("FTLAB", env!("CARGO_BIN_EXE_ftlab")).output() else {
        return skip("python3");
    };
    let [text, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{words}:\n{text}{said}");
}

#[test]
fn the_ledger_of_the_campaigns_sees_every_kind_of_loss() {
    holds("-m unittest served.test_ledger");
}

#[test]
fn kills_lose_nothing_that_was_durable() {
    holds("live.py --seed 1 kill --rounds 1");
}

#[test]
fn cuts_lose_nothing_that_was_durable() {
    holds("live.py --seed 1 cuts --rounds 2");
}

#[test]
fn rude_clients_harm_nobody() {
    holds("live.py --seed 1 clients --step 997");
}
