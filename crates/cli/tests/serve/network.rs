//! Encrypted connections, and other servers in between.

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::fixture::{MEMORY, Server, are_here, python_with_nbd};

/// Runs openssl in a folder.
fn openssl(folder: &TempDir, line: &str) {
    let mut command = Command::new("openssl");
    let output = command.args(line.split_whitespace()).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The files of an authority, and of a server and a client whose certificates it signed. Any size
/// of key will do for whoever does not serve. Keys take seconds to make, so all tests have the
/// same.
static SIGNED: LazyLock<Vec<(OsString, Vec<u8>)>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let authority = "-newkey rsa:2432 -nodes -keyout ca-key.pem -out ca-cert.pem -subj /CN=tests";
    openssl(&folder, &format!("req -x509 {authority}"));
    fs::write(folder.path().join("names"), "subjectAltName=DNS:localhost").unwrap();
    for (who, bits) in [("server", 2048), ("client", 2432)] {
        let files = format!("-keyout {who}-key.pem -out {who}.csr -subj /CN=localhost");
        openssl(&folder, &format!("req -newkey rsa:{bits} -nodes {files}"));
        let authority = "-CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -extfile names";
        openssl(&folder, &format!("x509 -req -in {who}.csr {authority} -out {who}-cert.pem"));
    }
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect()
});

/// A folder with these files.
fn certificates() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in SIGNED.iter() {
        fs::write(folder.path().join(name), bytes).unwrap();
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
    fs::remove_file(server.at("client-cert.pem")).unwrap();
    fs::remove_file(server.at("client-key.pem")).unwrap();
    assert!(!server.ran(&format!("nbdinfo {uri}")).status.success(), "it showed no certificate");
    server.end();
}

/// What a server says that cannot use the certificates in a folder.
fn refused(folder: &TempDir) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.current_dir(folder).arg("serve").args(MEMORY.split_whitespace());
    command.args(["--socket", "s", "--tls-certificates", ".", "--tls-verify-clients"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(!folder.path().join("s").exists());
    said
}

#[test]
fn certificates_that_cannot_be_used_are_refused_with_the_file_and_the_reason() {
    let said = refused(&tempfile::tempdir().unwrap());
    assert!(said.contains("server-cert.pem: "), "{said}");
    if !are_here(&["openssl"]) {
        return;
    }
    let folder = certificates();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let garbage = "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    write("ca-cert.pem", garbage);
    assert!(refused(&folder).contains("ca-cert.pem: invalid"));
    write("ca-cert.pem", "");
    assert!(refused(&folder).contains("ca-cert.pem: there is no certificate"));
    fs::copy(folder.path().join("client-cert.pem"), folder.path().join("ca-cert.pem")).unwrap();
    for (command, sentence) in [
        ("genrsa -out server-key.pem 2048", "server-key.pem: not the key of ./server-cert.pem"),
        ("genrsa -out server-key.pem 2432", "RSA of 2048, 3072 or 4096 bits"),
        (
            "genrsa -aes128 -passout pass:secret -out server-key.pem 2048",
            "server-key.pem: there is no private key without a password",
        ),
    ] {
        openssl(&folder, command);
        let said = refused(&folder);
        assert!(said.contains(sentence), "{command}: {said}");
    }
    write("server-cert.pem", "");
    assert!(refused(&folder).contains("server-cert.pem: there is no certificate"));
}

#[test]
fn a_client_that_allows_encryption_has_it_if_the_server_has_certificates() {
    let Some(python) = python_with_nbd().filter(|_| are_here(&["openssl"])) else { return };
    let script = "import nbd; disk = nbd.NBD(); disk.set_tls(nbd.TLS_ALLOW); \
        disk.set_tls_certificates('.'); disk.set_tls_verify_peer(False); disk.connect_unix('s'); \
        print(disk.get_tls_negotiated(), disk.pread(3, 0))";
    for (options, answer) in [("", "False"), ("--tls-certificates .", "True")] {
        let server = Server::start_in(certificates(), &format!("{MEMORY} {options}"));
        let output = server.command(python).args(["-c", script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said, format!("{answer} bytearray(b'\\x00\\x00\\x00')\n"), "{output:?}");
    }
}

/// The way that the documentation shows to whoever needs pre-shared keys.
#[test]
fn nbdkit_in_front_takes_pre_shared_keys() {
    if !are_here(&["nbdkit", "nbdcopy", "nbdinfo"]) {
        return;
    }
    let server = Server::start(MEMORY);
    server.random_file("in", 3 << 20);
    let keys =
        ["alice:00112233445566778899aabbccddeeff\n", "alice:ffeeddccbbaa99887766554433221100\n"];
    fs::write(server.at("keys.psk"), keys[0]).unwrap();
    fs::write(server.at("wrong.psk"), keys[1]).unwrap();
    let script = r#"
        uri="nbds+unix://alice@/?socket=$unixsocket&tls-psk-file=$PWD"
        nbdinfo "$uri/keys.psk" | grep 'with TLS' && nbdcopy in "$uri/keys.psk" &&
            nbdcopy "$uri/keys.psk" out && cmp -n 3145728 in out && ! nbdinfo "$uri/wrong.psk""#;
    let socket = server.at("s");
    let line = "nbdkit -U - --tls=require --tls-psk=keys.psk nbd --run";
    let mut command = server.command(line);
    let output = command.arg(script).arg(format!("socket={}", socket.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
