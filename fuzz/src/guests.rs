//! The process of a guest may say anything. Its chip allows only what flash does, and a chip that
//! keeps pages answers and counts as one that does not.
//!
//! ```text
//! message, message, …        message:  kind │ four numbers │ flags │ length of its bytes
//! ```
//! With an odd first byte, the bytes themselves are what comes over the socket.

use std::io::{self, Cursor, Read, Write};
use std::sync::{Arc, Mutex};

use ftl::contract::guest::{
    Answer, Declaration, Guest, GuestChip, GuestDevice, GuestSource, Promise, Status,
};
use ftl::device::Size;
use ftl::{Choice, Device, Durability, Layers, Run};
use guest::remote::converse;
use guest::wire::{Kind, Message};
use nand::{ChipModel, Data, Lpn, Mode, Tally};
use spec::Spec;

use crate::script::Script;

/// What the process says, and what it hears.
#[derive(Debug)]
struct Socket {
    said: Cursor<Vec<u8>>,
    heard: Vec<u8>,
}

impl Read for Socket {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.said.read(out)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.heard.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Debug)]
struct Talkative {
    declaration: Declaration,
    socket: Arc<Mutex<Socket>>,
}

impl Talkative {
    fn call(&self, chip: &mut dyn GuestChip, kind: Kind, out: &mut [u8]) -> Answer {
        let socket = &mut *self.socket.lock().expect("nobody panics");
        converse(socket, chip, &Message::new(kind, [0; 4]), out).unwrap_or(Ok(Status::PowerLost))
    }
}

impl GuestSource for Talkative {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn mount(&self, chip: &mut dyn GuestChip, _: &GuestDevice) -> Result<Box<dyn Guest>, Answer> {
        match self.call(chip, Kind::Mount, &mut []) {
            Ok(Status::Ok) => Ok(Box::new(self.clone())),
            answer => Err(answer),
        }
    }
}

impl Guest for Talkative {
    fn read(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32, data: &mut [u8]) -> Answer {
        self.call(chip, Kind::Read, data)
    }

    fn write(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32, _: &[u8]) -> Answer {
        self.call(chip, Kind::Write, &mut [])
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, _: u32, _: u32) -> Answer {
        self.call(chip, Kind::Trim, &mut [])
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        self.call(chip, Kind::Flush, &mut [])
    }

    fn capacity(&self) -> Option<u32> {
        None
    }

    fn ram(&self) -> Option<u64> {
        None
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn audit(&self) -> Option<String> {
        None
    }
}

/// Lets a process say this to chips that keep pages and to one that only counts.
pub fn check(bytes: &[u8]) {
    let mut script = Script(bytes);
    let said = match script.byte() % 2 {
        1 => script.0.to_vec(),
        _ => messages(&mut script),
    };
    let counted = outcome(Mode::Count, &said);
    let kept = outcome(Mode::Bytes, &said);
    assert_eq!(counted, kept, "a guest can tell whether its chip keeps pages");
}

/// Messages of a script, as they come over the socket.
fn messages(script: &mut Script) -> Vec<u8> {
    let mut said = Vec::new();
    while !script.is_empty() {
        let kind = u32::from(script.byte()) % 28;
        let numbers =
            [0; 4].map(|_: u32| u32::from(script.byte()) | u32::from(script.byte() & 3) << 8);
        let length = usize::from(script.byte()) * 4;
        let mut bytes = script.take(length).to_vec();
        bytes.resize(length, 0);
        let message = Message { kind, numbers, bytes };
        message.send(&mut said).expect("memory does not fail");
    }
    said
}

/// What the process hears, the errors of its requests, and the counts of the chip.
fn outcome(mode: Mode, said: &[u8]) -> (Vec<u8>, Vec<String>, Tally) {
    let declaration = Declaration {
        name: "talkative".to_owned(),
        release: String::new(),
        promise: Promise::Flush,
        cuts: 0,
        host_page_bytes: 0,
        spare_bytes: 4,
        trims: true,
    };
    let socket = Socket { said: Cursor::new(said.to_vec()), heard: Vec::new() };
    let source = Talkative { declaration, socket: Arc::new(Mutex::new(socket)) };
    let socket = Arc::clone(&source.socket);
    let scheme = &ftl::scheme::guest::GUEST;
    let settings = [("lib".to_owned(), "none".to_owned())];
    let params = spec::resolve("guest", &settings, scheme.params).expect("its parameters");
    let choice = Choice { scheme, params, given: Vec::new(), guest: Some(Arc::new(source)) };
    let spec = "slc-fast2010:page=512B,spare=32,pages_per_block=4,program_order=ascending";
    let chip = ChipModel::from_spec(&Spec::parse(spec).expect("a spec")).expect("a chip");
    let size = Size { logical_blocks: 2, extra_blocks: 2 };
    let device = Device::new(chip, choice, Layers::default(), size, Durability::Paper, 1);
    let device = device.expect("a device");
    let (mut nand, mut errors) = (device.new_chip(mode), Vec::new());
    match device.mount(&mut nand) {
        Err(error) => errors.push(error.to_string()),
        Ok(mut ftl) => {
            for request in 0..8 {
                let run = Run::whole(Lpn(request % 6), 1 + request % 2, 512, Data::None);
                let done = match request % 4 {
                    3 => ftl.flush(&mut nand, None),
                    2 => ftl.read(&mut nand, &run, &mut nand::Sink::None),
                    _ => ftl.write_run(&mut nand, &run),
                };
                errors.extend(done.err().map(|error| error.to_string()));
            }
        }
    }
    let heard = core::mem::take(&mut socket.lock().expect("nobody panics").heard);
    (heard, errors, nand.tally().clone())
}
