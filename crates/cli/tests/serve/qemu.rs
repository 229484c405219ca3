//! qemu-io and qemu-img.

use serde_json::Value;

use crate::fixture::{MEMORY, Server, are_here};

fn qemu_io(server: &Server, commands: &[&str]) -> String {
    let words = commands.iter().flat_map(|command| ["-c", command]);
    let output = server.command("qemu-io -f raw URI").args(words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{commands:?}: {text}{said}");
    text
}

#[test]
fn qemu_io_reads_the_patterns_that_it_wrote() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(MEMORY);
    let text = qemu_io(
        &server,
        &[
            "write -P 0xab 0 64k",
            "read -P 0xab 0 64k",
            "write -P 0x11 1000 100",
            "read -P 0xab 0 1000",
            "read -P 0x11 1000 100",
            "read -P 0xab 1100 2996",
            "discard 8k 8k",
            "read -P 0 8k 8k",
            "write -z 32k 16k",
            "read -P 0 32k 16k",
            "write -z -u 48k 8k",
            "read -P 0 48k 8k",
            "write -f -P 0x22 128k 4k",
            "flush",
            "aio_write -P 0x33 256k 64k",
            "aio_write -P 0x44 320k 64k",
            "aio_flush",
            "read -P 0x33 256k 64k",
            "read -P 0x44 320k 64k",
        ],
    );
    assert!(!text.contains("Pattern verification failed"), "{text}");
}

/// What one client wrote, the next one reads.
#[test]
fn qemu_io_reads_what_an_earlier_client_wrote() {
    if !are_here(&["qemu-io"]) {
        return;
    }
    let server = Server::start(MEMORY);
    qemu_io(&server, &["write -P 0x55 1M 1M"]);
    let text = qemu_io(&server, &["read -P 0x55 1M 1M", "read -P 0 2M 64k"]);
    assert!(!text.contains("Pattern verification failed"), "{text}");
}

#[test]
fn qemu_img_converts_compares_and_maps() {
    if !are_here(&["qemu-img"]) {
        return;
    }
    let server = Server::start(MEMORY);
    server.random_file("in", 8 << 20);
    server.ok("truncate -s 64M in");
    let info: Value = serde_json::from_str(&server.ok("qemu-img info --output=json URI")).unwrap();
    assert_eq!(info["virtual-size"], 64 << 20);
    server.ok("qemu-img convert -n -f raw -O raw in URI");
    server.ok("qemu-img compare -f raw -F raw URI in");
    let map: Value = serde_json::from_str(&server.ok("qemu-img map --output=json URI")).unwrap();
    let data = map.as_array().unwrap().iter().filter(|part| part["data"] == true);
    assert_eq!(data.map(|part| part["length"].as_u64().unwrap()).sum::<u64>(), 8 << 20, "{map}");
    server.ok("qemu-img convert -f raw -O raw URI out");
    server.same_files("in", "out");
}

#[test]
fn qemu_img_bench_runs_to_its_end() {
    if !are_here(&["qemu-img"]) {
        return;
    }
    let server = Server::start(MEMORY);
    for what in ["", "-w", "-w --flush-interval=32"] {
        let said = server.ok(&format!("qemu-img bench -f raw -c 2000 -d 32 -s 4096 {what} URI"));
        assert!(said.contains("Run completed"), "{said}");
    }
}
