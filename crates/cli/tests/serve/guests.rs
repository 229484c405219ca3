//! Guests behind a live disk: their death is an error of the disk, never of the server.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::fixture::{Server, are_here};

/// A guest that does this at its 200th write, in `guest.so` of a new folder.
fn guest(deed: &str) -> TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let place = tempfile::tempdir().unwrap();
    let text = format!(
        "#define _GNU_SOURCE\n#include <unistd.h>\n#include \"{}\"\n\
         static ftlab_status misbehave(void *self, uint32_t first, uint32_t pages, \
         const void *data) {{\n\
         static uint32_t calls; if (++calls == 200) {{ {deed}; }}\n\
         return page_write(self, first, pages, data); }}\n\
         GUEST_WITH(\"mortal\", guest.write = misbehave)\n",
        root.join("examples/guests/broken/page_with.h").display()
    );
    fs::write(place.path().join("guest.c"), text).unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(&place).args(["-std=c11", "-O1", "-shared", "-fPIC", "-o", "guest.so"]);
    let compiled = cc.arg("-I").arg(root.join("include")).arg("guest.c").status();
    assert!(compiled.expect("a C compiler").success());
    place
}

const OPTIONS: &str = "--memory --ftl guest:lib=./guest.so --capacity 8MiB --extra 10%";
const COPY: &str = "nbdcopy --request-size=4096 --connections=1 --requests=1 data URI";

#[test]
fn a_guest_that_dies_is_a_power_cut_of_its_disk() {
    if !are_here(&["nbdcopy"]) {
        return;
    }
    let closes = "for (int file = 3; file < 10; file++) close(file)";
    for deed in ["abort()", "exit(0)", "*(volatile int *)8 = 1", closes] {
        let server = Server::start_in(guest(deed), OPTIONS);
        server.random_file("data", 2_000_000);
        let copied = server.ran(COPY);
        assert!(!copied.status.success(), "{deed}: the copy does not notice the death");
        let told =
            server.ok(&format!("{} ctl c {}", env!("CARGO_BIN_EXE_ftlab"), r#"{"power":"on"}"#));
        assert!(told.contains("\"power\":\"on\""), "{deed}: {told}");
        // The guest is loaded afresh: what it wrote is there, and it counts from zero again.
        server.ok("nbdcopy URI read");
        let [data, read] = ["data", "read"].map(|name| fs::read(server.at(name)).unwrap());
        assert!(data[..780_000] == read[..780_000], "{deed}: written data are lost");
        server.end();
    }
}

#[test]
fn a_guest_keeps_its_data_in_an_image() {
    if !are_here(&["nbdcopy"]) {
        return;
    }
    let place = guest("");
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    let mut create = Command::new(ftlab);
    create.current_dir(&place).args(["image", "create", "disk.img", "--capacity", "8MiB"]);
    let created =
        create.args(["--extra", "10%", "--ftl", "guest:lib=./guest.so"]).output().unwrap();
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let server = Server::start_in(place, "--image disk.img");
    server.random_file("data", 2_000_000);
    server.ok("nbdcopy --flush data URI");
    let server = Server::start_in(server.kill(), "--image disk.img");
    server.ok("nbdcopy URI read");
    let [data, read] = ["data", "read"].map(|name| fs::read(server.at(name)).unwrap());
    assert!(data[..2_000_000] == read[..2_000_000]);
    server.end();
}

/// A terminal sends Ctrl-C to all processes of a command. The server still needs its guest.
#[test]
fn an_interrupt_of_the_whole_group_closes_an_image_in_order() {
    if !are_here(&["nbdcopy"]) {
        return;
    }
    let place = guest("");
    let ftlab = env!("CARGO_BIN_EXE_ftlab");
    let create = ["image", "create", "disk.img", "--capacity", "8MiB", "--extra", "10%"];
    let mut create_it = Command::new(ftlab);
    create_it.current_dir(&place).args(create).args(["--ftl", "guest:lib=./guest.so"]);
    assert!(create_it.status().unwrap().success());
    let server = Server::start_in(place, "--image disk.img");
    server.random_file("data", 2_000_000);
    // Without a flush at the end.
    server.ok("nbdcopy data URI");
    let children = server.children();
    assert!(!children.is_empty(), "the guest has a process");
    children.iter().for_each(|child| drop(server.ok(&format!("kill -INT {child}"))));
    let server = Server::start_in(server.end(), "--image disk.img");
    server.ok("nbdcopy URI read");
    let [data, read] = ["data", "read"].map(|name| fs::read(server.at(name)).unwrap());
    assert!(data[..2_000_000] == read[..2_000_000], "answered writes are gone");
    server.end();
}
