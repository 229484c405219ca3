//! fio with its engine for NBD.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::fixture::{Server, are_here};

/// Blocks fail while fio writes and reads back, at least 200 of them.
#[test]
fn fio_verifies_while_blocks_fail() {
    if !are_here(&["fio"]) {
        return;
    }
    let media = "--media real:factory_bad=0% --reserve 600blocks";
    let server = Server::start(&format!("--memory --ftl fast --capacity 32MiB {media}"));
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    let tell = |command: &str| {
        let told = server.ok(&format!("{ftlab} ctl c {command}"));
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["ok"].clone()
    };
    // `make test-long` has more.
    let enough = if cfg!(debug_assertions) { 80 } else { 200 };
    let mut failed = 0;
    for seed in 0..60 {
        let job = format!(
            "[j]\nuri={}\nioengine=nbd\nrw=randwrite\nbs=4k\niodepth=8\nsize=16M\n\
             verify=crc32c\ndo_verify=1\nverify_fatal=1\nfsync=64\nrandseed={seed}\n",
            server.uri()
        );
        fs::write(server.at("jobs"), job).unwrap();
        let mut fio = server.command("fio jobs").stdout(Stdio::piped()).spawn().unwrap();
        while fio.try_wait().unwrap().is_none() {
            tell(&format!(r#"{{"media":{{"fail_program":{}}}}}"#, failed % 13));
            tell(&format!(r#"{{"media":{{"fail_erase":{}}}}}"#, failed % 3));
            std::thread::sleep(Duration::from_millis(3));
        }
        let said = fio.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert_eq!(said.matches("err= 0").count(), 1, "{said}");
        failed = tell(r#"{"stats":true}"#)["media"]["retired"].as_u64().unwrap();
        if failed >= enough {
            break;
        }
    }
    assert!((enough..600).contains(&failed), "{failed} blocks failed");
}

/// Several connections write, flush and read back what they wrote. Each has a part of the disk.
#[test]
fn fio_verifies_what_several_connections_wrote() {
    if !are_here(&["fio"]) {
        return;
    }
    for ftl in ["page", "fast", "lsb --chip slc-lsb"] {
        let server = Server::start(&format!("--memory --ftl {ftl} --capacity 64MiB"));
        let global = "[global]\nioengine=nbd\nrw=randwrite\nbs=4k\niodepth=16\nsize=4M\n\
                      verify=crc32c\ndo_verify=1\nverify_fatal=1\nfsync=32\nrandseed=7\n";
        let job = |at: u32| format!("[j{at}]\nuri={}\noffset={}M\n", server.uri(), 16 * at);
        let jobs: String = (0..4).map(job).collect();
        fs::write(server.at("jobs"), global.to_owned() + &jobs).unwrap();
        let said = server.ok("fio jobs");
        assert_eq!(said.matches("err= 0").count(), 4, "{said}");
    }
}
