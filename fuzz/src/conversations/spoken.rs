//! Conversations of a client that knows the protocol.

use crate::script::Script;

const READ: u16 = 0;
const WRITE: u16 = 1;
const COMMANDS: u16 = 9;

/// A handshake with structured replies and all contexts, then the requests of a script. Its offsets
/// and lengths lie on the disk or shortly behind it, so most requests do something.
pub fn compose(script: &mut Script) -> Vec<u8> {
    let mut said = 3_u32.to_be_bytes().to_vec();
    if script.byte() % 4 != 0 {
        option(&mut said, 8, &[]);
        let contexts = ["base:allocation", "ftlab:block", "ftlab:wear"];
        let texts = contexts.map(text).concat();
        option(&mut said, 10, &[&text("")[..], &3_u32.to_be_bytes(), &texts].concat());
    }
    option(&mut said, 7, &[0; 6]);
    while !script.is_empty() {
        let (command, flags) = (u16::from(script.byte()) % COMMANDS, script.byte());
        let (offset, length, value) = (script.number(), script.number(), script.byte());
        let (unit, length) =
            if length % 2 == 0 { (512, length % 7000 / 512 * 512) } else { (1, length % 3000) };
        let offset = offset % 34_000 / unit * unit;
        request(&mut said, command, flags.into(), offset as u64, length as u32);
        if command == WRITE {
            said.extend((0..length).map(|at| value.wrapping_add((at / 512) as u8)));
        }
    }
    said
}

/// Reads the whole disk.
pub fn read_all(bytes: u32) -> Vec<u8> {
    let mut said = 3_u32.to_be_bytes().to_vec();
    option(&mut said, 7, &[0; 6]);
    request(&mut said, READ, 0, 0, bytes);
    said
}

fn option(said: &mut Vec<u8>, number: u32, data: &[u8]) {
    said.extend(b"IHAVEOPT");
    said.extend(number.to_be_bytes());
    said.extend((data.len() as u32).to_be_bytes());
    said.extend(data);
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

fn request(said: &mut Vec<u8>, command: u16, flags: u16, offset: u64, bytes: u32) {
    said.extend(0x2560_9513_u32.to_be_bytes());
    said.extend(flags.to_be_bytes());
    said.extend(command.to_be_bytes());
    said.extend(0x1234_5678_9abc_u64.to_be_bytes());
    said.extend(offset.to_be_bytes());
    said.extend(bytes.to_be_bytes());
}
