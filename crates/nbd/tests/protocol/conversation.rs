//! What a client says, byte by byte, and what it reads in the answers.

use ftl::device::Size;
use ftl::{Choice, Device, Durability, Layers};
use nand::ChipModel;
use nbd::device::live::Live;
use nbd::device::recorder::Recorder;
use nbd::export::Export;
use nbd::server::pipe;
use nbd::session::{Encryption, Session, Step};
use spec::Spec;

pub const FIXED: u32 = 1;
pub const NO_ZEROES: u32 = 2;
pub const EXPORT_NAME: u32 = 1;
pub const ABORT: u32 = 2;
pub const LIST: u32 = 3;
pub const STARTTLS: u32 = 5;
pub const INFO: u32 = 6;
pub const GO: u32 = 7;
pub const STRUCTURED: u32 = 8;
pub const LIST_CONTEXTS: u32 = 9;
pub const SET_CONTEXTS: u32 = 10;

pub const READ: u16 = 0;
pub const WRITE: u16 = 1;
pub const DISCONNECT: u16 = 2;
pub const FLUSH: u16 = 3;
pub const TRIM: u16 = 4;
pub const CACHE: u16 = 5;
pub const WRITE_ZEROES: u16 = 6;
pub const BLOCK_STATUS: u16 = 7;

pub const FUA: u16 = 1;
pub const NO_HOLE: u16 = 2;
pub const REQ_ONE: u16 = 8;
pub const FAST_ZERO: u16 = 16;

/// A small device with this scheme and these layers.
pub fn device(scheme: &str, layers: &[(&str, &str)]) -> Device {
    device_of_blocks(scheme, layers, 8)
}

/// A device with a capacity of this number of blocks, of 128 KiB each.
pub fn device_of_blocks(scheme: &str, layers: &[(&str, &str)], logical_blocks: u64) -> Device {
    let chip = ChipModel::from_spec(&Spec::parse("slc-fast2010").unwrap()).unwrap();
    let choice = Choice::from_spec(&Spec::parse(scheme).unwrap()).unwrap();
    let layers = Layers::from_texts(layers).unwrap();
    let size = Size { logical_blocks, extra_blocks: 10 };
    Device::new(chip, choice, layers, size, Durability::Full, 1).unwrap()
}

/// A new disk in memory that is served.
pub fn live(device: Device) -> Live {
    served(disk::Disk::in_memory(device).unwrap(), Recorder::idle())
}

/// A disk that is served, and whose deeds are written down.
pub fn served(disk: disk::Disk, recorder: Recorder) -> Live {
    let device = disk.device();
    let export = Export {
        name: "disk".to_owned(),
        description: "a disk for tests".to_owned(),
        bytes: device.capacity_bytes(),
        least_bytes: 1,
        preferred_bytes: device.geometry().page_bytes(),
        is_read_only: false,
        is_on: true,
    };
    Live::new(disk, export, None, recorder)
}

/// What a client says.
#[derive(Clone, Default)]
pub struct Script(pub Vec<u8>);

impl Script {
    /// The client's flags.
    pub fn flags(flags: u32) -> Script {
        Script(flags.to_be_bytes().to_vec())
    }

    /// All of the handshake, with simple or structured replies.
    pub fn agreed(is_structured: bool) -> Script {
        let script = Script::flags(FIXED | NO_ZEROES);
        let script = if is_structured { script.option(STRUCTURED, b"") } else { script };
        script.option(GO, &wanted("", &[]))
    }

    pub fn option(mut self, number: u32, data: &[u8]) -> Script {
        self.0.extend(b"IHAVEOPT");
        self.0.extend(number.to_be_bytes());
        self.0.extend((data.len() as u32).to_be_bytes());
        self.0.extend(data);
        self
    }

    /// A request. Its cookie is its command.
    pub fn request(self, command: u16, flags: u16, offset: u64, bytes: u32) -> Script {
        self.named_request(command.into(), command, flags, offset, bytes)
    }

    pub fn named_request(
        mut self,
        cookie: u64,
        command: u16,
        flags: u16,
        offset: u64,
        bytes: u32,
    ) -> Script {
        self.0.extend(0x2560_9513_u32.to_be_bytes());
        self.0.extend(flags.to_be_bytes());
        self.0.extend(command.to_be_bytes());
        self.0.extend(cookie.to_be_bytes());
        self.0.extend(offset.to_be_bytes());
        self.0.extend(bytes.to_be_bytes());
        self
    }

    pub fn write(self, flags: u16, offset: u64, bytes: &[u8]) -> Script {
        let mut script = self.request(WRITE, flags, offset, bytes.len() as u32);
        script.0.extend(bytes);
        script
    }

    /// Says it to a disk. Returns the answers.
    pub fn say_to(&self, live: &mut Live) -> Answers {
        let mut output = Vec::new();
        pipe::serve(live, &mut &self.0[..], &mut output).unwrap();
        Answers(output)
    }

    /// Says it to a session that offers these exports. Returns the session, what it wants in the
    /// end, and all that it answers.
    pub fn say_to_session(
        &self,
        exports: &[Export],
        encryption: Encryption,
    ) -> (Session, Step, Answers) {
        let mut session = Session::new(encryption);
        session.input.room(self.0.len())[..self.0.len()].copy_from_slice(&self.0);
        session.input.came(self.0.len());
        loop {
            let step = session.step(exports);
            if step != Step::Progress {
                let answers = Answers(session.output.bytes().to_vec());
                return (session, step, answers);
            }
        }
    }
}

/// The data of INFO and GO.
pub fn wanted(name: &str, facts: &[u16]) -> Vec<u8> {
    let mut data = text(name);
    data.extend((facts.len() as u16).to_be_bytes());
    data.extend(facts.iter().flat_map(|fact| fact.to_be_bytes()));
    data
}

/// The data of options about contexts.
pub fn contexts(name: &str, queries: &[&str]) -> Vec<u8> {
    let mut data = text(name);
    data.extend((queries.len() as u32).to_be_bytes());
    data.extend(queries.iter().flat_map(|query| text(query)));
    data
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat()
}

/// What the server said, read from the front.
pub struct Answers(pub Vec<u8>);

/// A reply to an option.
#[derive(Debug, PartialEq, Eq)]
pub struct OptionReply {
    pub option: u32,
    pub kind: u32,
    pub data: Vec<u8>,
}

/// A chunk of a structured reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Chunk {
    pub is_last: bool,
    pub kind: u16,
    pub cookie: u64,
    pub data: Vec<u8>,
}

impl Answers {
    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        assert!(self.0.len() >= bytes, "{bytes} bytes are wanted, {:?} are left", self.0);
        self.0.drain(..bytes).collect()
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().unwrap())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take(4).try_into().unwrap())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take(8).try_into().unwrap())
    }

    /// The greeting.
    pub fn greeting(&mut self) -> &mut Answers {
        assert_eq!(self.take(16), b"NBDMAGICIHAVEOPT");
        assert_eq!(self.u16(), 3, "fixed newstyle, no zeroes");
        self
    }

    pub fn option(&mut self) -> OptionReply {
        assert_eq!(self.u64(), 0x3e889045565a9);
        let (option, kind, bytes) = (self.u32(), self.u32(), self.u32());
        OptionReply { option, kind, data: self.take(bytes as usize) }
    }

    /// Everything up to the end of the handshake of [`Script::agreed`].
    pub fn agreed(&mut self) -> &mut Answers {
        self.greeting().agreed_from_go()
    }

    /// Everything up to the end of the replies to GO.
    pub fn agreed_from_go(&mut self) -> &mut Answers {
        loop {
            let reply = self.option();
            if reply.option == GO && reply.kind == 1 {
                return self;
            }
        }
    }

    /// A simple reply: error and cookie.
    pub fn simple(&mut self) -> (u32, u64) {
        assert_eq!(self.u32(), 0x67446698);
        (self.u32(), self.u64())
    }

    pub fn chunk(&mut self) -> Chunk {
        assert_eq!(self.u32(), 0x668e33ef);
        let (flags, kind, cookie, bytes) = (self.u16(), self.u16(), self.u64(), self.u32());
        assert!(flags <= 1, "flags {flags:#x}");
        Chunk { is_last: flags == 1, kind, cookie, data: self.take(bytes as usize) }
    }
}
