//! fio with its engine for NBD.

use std::fs;

use crate::fixture::{Server, are_here};

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
