//! Where clients find a server, and options that a way of serving would ignore.

use std::process::{Command, Output, Stdio};

use crate::fixture::{MEMORY, Server, python_with_nbd};

const ACTIVATION: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/activation.py");

fn served(options: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.current_dir(&folder).arg("serve").args(MEMORY.split_whitespace());
    command.args(options.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

/// The folder of the certificates is not there. So a server that starts has ignored the option. One
/// that looks for the folder fails with its name, and one that cannot use it refuses it.
#[test]
fn no_way_of_serving_ignores_an_option_of_security() {
    let places = ["--stdin", "--socket s", "--listen 127.0.0.1:0", "--socket s --control c"];
    let securities = [
        "--tls-certificates missing",
        "--tls-certificates missing --tls-verify-clients",
        "--tls-verify-clients",
        "--connections 3 --tls-certificates missing",
        "--read-only --tls-certificates missing",
    ];
    for place in places {
        for security in securities {
            let options = format!("{place} {security}");
            let output = served(&options);
            let said = String::from_utf8_lossy(&output.stderr);
            let (code, is_alone) = (output.status.code(), security == "--tls-verify-clients");
            if place == "--stdin" || is_alone {
                assert_eq!(code, Some(2), "{options}: {said}");
            } else {
                assert_eq!(code, Some(1), "{options}: {said}");
                assert!(said.contains("missing/server-cert.pem"), "{options}: {said}");
            }
        }
    }
    assert_eq!(served("--stdin --connections 3").status.code(), Some(2));
}

#[test]
fn pre_shared_keys_are_refused_with_another_way() {
    for place in ["--stdin", "--socket s", "--socket s --tls-certificates missing"] {
        let output = served(&format!("{place} --tls-psk keys.psk"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{place}: {said}");
        assert!(said.contains("nbdkit --tls=require --tls-psk=keys.psk nbd"), "{place}: {said}");
    }
}

#[test]
fn a_host_is_a_name_or_an_address() {
    let server = Server::start(&format!("{MEMORY} --listen localhost:0"));
    drop(server);
    for host in ["localhost", "10809", ":10809", "localhost:x", "::1:10809", "localhost:70000"] {
        let output = served(&format!("--listen {host}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{host}: {said}");
        assert!(said.contains("such as localhost:10809"), "{host}: {said}");
    }
    let output = served("--listen no-such-host.invalid:1");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot listen at no-such-host.invalid:1"), "{said}");
}

#[test]
fn a_server_without_a_place_is_refused() {
    let output = served("");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--socket") && said.contains("LISTEN_FDS"), "{said}");
}

/// libnbd opens a socket and starts the server with it, as a service manager does.
#[test]
fn a_server_takes_over_the_sockets_of_who_starts_it() {
    let Some(python) = python_with_nbd() else { return };
    let mut command = Command::new(python);
    let output = command.args([ACTIVATION, env!("CARGO_BIN_EXE_ftlab")]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "all right\n");
}
