//! What a client says to a served disk, as it comes. Whatever it is, the server does not panic, each
//! answer is one that the protocol allows, and the disk holds exactly what the answers promise.
//!
//! ```text
//! device │ form │ bytes                                  form: even, the bytes are said as they are
//! device │ form │ command flags offset length value, …         odd, after a handshake that succeeds
//! ```
//! The answers are read by a client of its own, which shares no code with the server, and compared
//! with an array of bytes.

mod client;
mod model;
mod spoken;

use disk::Disk;
use nbd::device::live::Live;
use nbd::device::recorder::Recorder;
use nbd::export::Export;
use nbd::server::pipe;

use crate::bases;
use crate::script::Script;
use client::Client;
use model::Model;

/// Says something to a new disk and checks all answers; then the disk is audited and read, and
/// once more after a power cut if everything was flushed.
pub fn check(script: &[u8]) {
    let mut script = Script(script);
    let mut live = live(script.byte());
    let is_spoken_for = script.byte() % 2 == 1;
    let said = if is_spoken_for { spoken::compose(&mut script) } else { script.0.to_vec() };
    let mut model = Model::new(live.export().bytes as usize);
    Client::new(&said, &answers(&mut live, &said), &mut model).check();
    look_through(&mut live, &mut model);
    if model.is_flushed {
        live.store.disk.cut_now();
        live.lose_power();
        live.power_on().expect("what a power cut leaves can be mounted");
        look_through(&mut live, &mut model);
    }
}

fn live(choice: u8) -> Live {
    let device = bases::chosen(choice).device.clone();
    let export = Export {
        name: "disk".to_owned(),
        description: "a disk".to_owned(),
        bytes: device.capacity_bytes(),
        least_bytes: 1,
        preferred_bytes: device.geometry().page_bytes(),
        is_read_only: false,
        is_on: true,
    };
    let disk = Disk::in_memory(device).expect("the base is possible");
    Live::new(disk, export, None, Recorder::idle())
}

fn answers(live: &mut Live, mut said: &[u8]) -> Vec<u8> {
    let mut answers = Vec::new();
    pipe::serve(live, &mut said, &mut answers).expect("memory does not fail");
    answers
}

/// Audits the FTL, and reads all of the disk.
fn look_through(live: &mut Live, model: &mut Model) {
    let (ftl, nand) = (live.store.disk.ftl(), live.store.disk.nand());
    let (ftl, nand) = (ftl.expect("the disk works"), nand.expect("the disk works"));
    if let Err(violation) = ftl.audit(nand) {
        panic!("the audit fails: {violation}");
    }
    let said = spoken::read_all(model.bytes.len() as u32);
    Client::new(&said, &answers(live, &said), model).check();
}
