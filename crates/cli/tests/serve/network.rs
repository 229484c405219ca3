//! Encrypted connections, and other servers in between.

use std::process::Command;

use tempfile::TempDir;

use crate::fixture::{MEMORY, Server, are_here};

/// A folder with an authority, and certificates of a server and a client that it signed.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let openssl = |line: &str| {
        let mut command = Command::new("openssl");
        let output = command.args(line.split_whitespace()).current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let new_key = "-newkey rsa:2048 -nodes";
    openssl(&format!("req -x509 {new_key} -keyout ca-key.pem -out ca-cert.pem -subj /CN=tests"));
    std::fs::write(folder.path().join("names"), "subjectAltName=DNS:localhost").unwrap();
    for who in ["server", "client"] {
        let subject = "-subj /CN=localhost";
        openssl(&format!("req {new_key} -keyout {who}-key.pem -out {who}.csr {subject}"));
        let authority = "-CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -extfile names";
        openssl(&format!("x509 -req -in {who}.csr {authority} -out {who}-cert.pem"));
    }
    folder
}

#[test]
fn an_encrypted_server_takes_no_other_connections() {
    if !are_here(&["nbdinfo", "nbdcopy", "openssl"]) {
        return;
    }
    let folder = certificates();
    let options = format!("{MEMORY} --tls-certificates . --tls-verify-clients");
    let server = Server::start_in(folder, &options);
    assert!(server.uri().starts_with("nbds+unix://"), "{}", server.uri());
    let uri = server.uri().replace("nbds+unix:///", "nbds+unix://localhost/");
    let uri = format!("{uri}&tls-certificates={}", server.at(".").display());
    assert!(server.ok(&format!("nbdinfo {uri}")).contains("newstyle-fixed with TLS"));
    server.random_file("in", 5 << 20);
    server.ok(&format!("nbdcopy in {uri}"));
    server.ok(&format!("nbdcopy {uri} out"));
    server.ok("truncate -s 5M out");
    server.same_files("in", "out");
    let plain = server.uri().replace("nbds", "nbd");
    assert!(!server.ran(&format!("nbdinfo {plain}")).status.success());
    std::fs::remove_file(server.at("client-cert.pem")).unwrap();
    std::fs::remove_file(server.at("client-key.pem")).unwrap();
    assert!(!server.ran(&format!("nbdinfo {uri}")).status.success(), "it showed no certificate");
    server.end();
}

#[test]
fn a_folder_without_certificates_is_refused_with_the_name_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.current_dir(&folder).arg("serve").args(MEMORY.split_whitespace());
    let output = command.args(["--socket", "s", "--tls-certificates", "."]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("server-cert.pem"), "{said}");
    assert!(!folder.path().join("s").exists());
}

/// nbdkit hands requests on through its filters, and changes them on the way.
#[test]
fn a_server_works_behind_the_filters_of_nbdkit() {
    if !are_here(&["nbdkit", "nbdcopy"]) {
        return;
    }
    let server = Server::start(MEMORY);
    server.random_file("in", 3 << 20);
    server.ok("nbdcopy in URI");
    let there_and_back = "nbdcopy in $uri && nbdcopy $uri out && cmp -n 3145728 in out";
    for (filters, parameters, script) in [
        // This filter only compares what is written with what is there.
        ("--filter=blocksize --filter=checkwrite", "maxdata=64k maxlen=1M", "nbdcopy in $uri"),
        ("--filter=cache --filter=log", "cache=writethrough logfile=log", there_and_back),
        ("--filter=offset --filter=truncate", "offset=4096 range=8M truncate=16M", there_and_back),
    ] {
        let socket = server.at("s");
        let line = format!("nbdkit -U - {filters} nbd socket={}", socket.display());
        let mut command = server.command(&format!("{line} {parameters} --run"));
        let output = command.arg(script).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{filters}: {said}");
    }
}
