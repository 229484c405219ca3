//! File systems on the served disk: made elsewhere and copied, and mounted by the kernel.

use std::fs;
use std::path::Path;

use crate::fixture::{MEMORY, Server, are_here};

/// A tree of files in the folder of a server.
fn tree(server: &Server) {
    fs::create_dir_all(server.at("tree/below")).unwrap();
    server.random_file("tree/large", 3 << 20);
    fs::write(server.at("tree/below/small"), "small\n").unwrap();
}

#[test]
fn a_file_system_survives_the_way_there_and_back() {
    if !are_here(&["nbdcopy", "mke2fs", "e2fsck", "debugfs"]) {
        return;
    }
    let server = Server::start(MEMORY);
    tree(&server);
    server.ok("mke2fs -q -t ext4 -d tree fs 64M");
    server.ok("nbdcopy fs URI");
    server.ok("nbdcopy URI back");
    server.ok("e2fsck -f -n back");
    server.same_files("fs", "back");
    for (inside, name) in [("large", "large"), ("below/small", "small")] {
        let dump = format!("dump {inside} {}", server.at(name).display());
        let output = server.command("debugfs back").args(["-R", &dump]).output().unwrap();
        assert!(output.status.success());
        server.same_files(&format!("tree/{inside}"), name);
    }
}

fn exists(path: &&str) -> bool {
    Path::new(path).exists()
}

/// The file system goes on while blocks fail under it. When no block is left, it can only be read,
/// and all that it had synced is there and in order.
#[test]
fn a_file_system_outlives_its_flash() {
    if !are_here(&["nbdfuse", "losetup", "mkfs.ext4", "e2fsck", "debugfs"]) {
        return;
    }
    let media = "--media real:factory_bad=0% --reserve 230blocks";
    let server = Server::start(&format!("--memory --ftl page --capacity 64MiB {media}"));
    if server.ok("id -u").trim() != "0" || !["/dev/fuse", "/dev/loop-control"].iter().all(exists) {
        return println!("skipped: mounting needs the rights of root, FUSE and the loop driver");
    }
    server.random_file("data", 3 << 20);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/worn.sh");
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    let said = server.ok(&format!("sh {script} URI {ftlab} c"));
    assert!(said.ends_with("all right\n"), "{said}");
    let stats = server.ok(&format!("{ftlab} ctl c {}", r#"{"stats":true}"#));
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    let media = &stats["ok"]["media"];
    let failed = ["program_failures", "erase_failures", "worn_out"].map(|it| media[it].as_u64());
    assert!(failed.iter().flatten().sum::<u64>() >= 200, "{media}");
    assert_eq!(media["read_only"], true, "{media}");
}

/// The kernel mounts a file system on the disk, through nbdfuse and the loop driver.
#[test]
fn the_kernel_mounts_the_disk() {
    if !are_here(&["nbdfuse", "losetup", "mkfs.ext4", "e2fsck", "fstrim", "nbdinfo"]) {
        return;
    }
    let server = Server::start(MEMORY);
    if server.ok("id -u").trim() != "0" || !["/dev/fuse", "/dev/loop-control"].iter().all(exists) {
        return println!("skipped: mounting needs the rights of root, FUSE and the loop driver");
    }
    tree(&server);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/mount.sh");
    let said = server.ok(&format!("sh {script} URI"));
    assert!(said.ends_with("all right\n"), "{said}");
    let map = server.ok("nbdinfo --map --totals URI");
    let share =
        |line: &str| line.split_whitespace().nth(1)?.trim_end_matches('%').parse::<f64>().ok();
    let holes: f64 = map.lines().filter(|line| line.contains("hole")).filter_map(share).sum();
    assert!(holes > 70.0, "trims of the file system reach the FTL: {map}");
}
