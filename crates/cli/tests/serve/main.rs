//! `ftlab serve` and the programs that its users have: libnbd, qemu, fio, file systems.
//!
//! Without one of these programs, its tests print that they are skipped and pass, unless
//! `FTLAB_REQUIRE` lists `nbd`.

#[path = "../report/browser.rs"]
#[allow(dead_code, reason = "the tests of reports use all of it")]
mod browser;
mod campaigns;
mod control;
mod example;
mod filesystems;
mod fio;
mod fixture;
mod guests;
mod images;
mod libnbd;
mod memory;
mod network;
mod places;
mod qemu;
mod watch;
