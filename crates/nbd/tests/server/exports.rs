//! Several disks behind one server.

use std::io::Read;

use nbd::device::live::Live;
use nbd::device::recorder::Recorder;
use nbd::export::Export;
use nbd::server::engine::Limits;

use crate::clients::Client;
use crate::conversation::*;
use crate::running::Running;

fn other() -> Live {
    let device = device("page", &[]);
    let export = Export { name: "other".to_owned(), ..live(device.clone()).export().clone() };
    Live::new(disk::Disk::in_memory(device).unwrap(), export, None, Recorder::idle())
}

#[test]
fn contexts_hold_only_for_the_export_for_which_they_were_chosen() {
    const STATUS: u16 = 5;
    const ERROR: u16 = (1 << 15) + 1;
    let server = Running::new(|| vec![live(device("page", &[])), other()], Limits::default());
    for (chosen_for, expected) in [("other", STATUS), ("disk", ERROR)] {
        let mut client = Client::silent(&server);
        let script = Script::flags(FIXED | NO_ZEROES)
            .option(STRUCTURED, b"")
            .option(SET_CONTEXTS, &contexts(chosen_for, &["base:allocation"]))
            .option(GO, &wanted("other", &[]))
            .request(BLOCK_STATUS, 0, 0, 4096);
        client.say(&script.request(DISCONNECT, 0, 0, 0));
        let mut answers = Vec::new();
        client.0.read_to_end(&mut answers).unwrap();
        assert_eq!(Answers(answers).agreed().chunk().kind, expected, "{chosen_for}");
    }
}
