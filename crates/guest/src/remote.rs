//! A guest in a process of its own, for programs that must outlive it. The chip stays here: the
//! other process sends its operations, and waits for their results.
//!
//! If that process ends, or does not answer in time, the call fails, and so do all later ones. The
//! next mount starts a new process.

use core::ops::Range;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ftl::contract::guest::{
    Answer, ChipShape, Declaration, Guest, GuestChip, GuestDevice, GuestFaultKind, GuestSource,
    Promise, Status,
};
use ftl::{Error, Result};
use nand::Cause;
use spec::Params;

use crate::c_guest::{end_copy, interned};
use crate::supervisor::{patience, signal_name};
use crate::wire::{Kind, Message, packed, unpacked};

/// Messages of a call for each operation that it may make, at most. The chip refuses further
/// operations, but a guest need not heed that.
const MESSAGES_PER_OPERATION: u64 = 2;

/// How the process of a guest is started: a program and its arguments. The number of a socket and
/// the path of the shared object follow.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The program.
    pub program: OsString,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

/// A guest that runs in a process of its own.
pub struct RemoteSource {
    starter: Starter,
    lib: String,
    declaration: Declaration,
}

impl fmt::Debug for RemoteSource {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("RemoteSource").field("lib", &self.lib).finish_non_exhaustive()
    }
}

impl RemoteSource {
    /// The guest that the parameter `lib` names.
    ///
    /// # Errors
    /// It is no shared object with a guest of this version, or no process can be started.
    pub fn load(starter: Starter, params: &Params) -> Result<Arc<dyn GuestSource>> {
        let lib = params.text("lib").to_owned();
        match Connection::open(&starter, &lib) {
            Ok((_, declaration)) => Ok(Arc::new(RemoteSource { starter, lib, declaration })),
            Err(why) => Err(Error::Refused { scheme: "guest", why }),
        }
    }
}

impl GuestSource for RemoteSource {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn mount(
        &self,
        chip: &mut dyn GuestChip,
        device: &GuestDevice,
    ) -> std::result::Result<Box<dyn Guest>, Answer> {
        let mut connection = match Connection::open(&self.starter, &self.lib) {
            Ok((connection, _)) => connection,
            Err(why) => {
                chip.say(&why);
                return Err(Ok(Status::Invalid));
            }
        };
        let shape = chip.shape();
        let numbers = [
            shape.blocks,
            shape.pages_per_block,
            shape.page_bytes,
            shape.spare_bytes,
            shape.dies,
            shape.bits_per_cell,
            shape.pair_distance,
            shape.program_order,
            device.is_new.into(),
            device.logical_pages,
            device.host_page_bytes,
            device.seed as u32,
            (device.seed >> 32) as u32,
        ];
        let numbers = numbers.map(|number: u32| number.to_string());
        let settings = device.parameters.iter().flat_map(|(key, value)| [key, value]);
        let texts = numbers.iter().chain(settings).map(String::as_str);
        let mount = Message::new(Kind::Mount, [0; 4]).with(packed(texts));
        match connection.call(chip, "mount", &mount, &mut []) {
            Ok(Status::Ok) => Ok(Box::new(RemoteGuest { connection: Mutex::new(connection) })),
            answer => Err(answer),
        }
    }

    fn needs_process(&self) -> bool {
        false
    }
}

/// A guest that is mounted in a process of its own.
struct RemoteGuest {
    connection: Mutex<Connection>,
}

/// What a guest says about itself without a chip.
#[derive(Default)]
struct Facts {
    capacity: Option<u32>,
    ram: Option<u64>,
    audit: Option<String>,
    figures: Vec<(&'static str, f64)>,
}

impl RemoteGuest {
    fn connection(&mut self) -> &mut Connection {
        self.connection.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn facts(&self) -> Facts {
        let connection: MutexGuard<Connection> =
            self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.facts().unwrap_or_default()
    }
}

impl Guest for RemoteGuest {
    fn read(
        &mut self,
        chip: &mut dyn GuestChip,
        first: u32,
        pages: u32,
        data: &mut [u8],
    ) -> Answer {
        let call = Message::new(Kind::Read, [first, pages, data.len() as u32, 0]);
        self.connection().call(chip, "read", &call, data)
    }

    fn write(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32, data: &[u8]) -> Answer {
        let call = Message::new(Kind::Write, [first, pages, 0, 0]).with(data.to_vec());
        self.connection().call(chip, "write", &call, &mut [])
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32) -> Answer {
        let call = Message::new(Kind::Trim, [first, pages, 0, 0]);
        self.connection().call(chip, "trim", &call, &mut [])
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        let call = Message::new(Kind::Flush, [0; 4]);
        self.connection().call(chip, "flush", &call, &mut [])
    }

    fn capacity(&self) -> Option<u32> {
        self.facts().capacity
    }

    fn ram(&self) -> Option<u64> {
        self.facts().ram
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        self.facts().figures
    }

    fn audit(&self) -> Option<String> {
        self.facts().audit
    }
}

/// The process of a guest, and the socket to it.
struct Connection {
    child: Mutex<Child>,
    socket: UnixStream,
    /// Why it is dead, if it is.
    death: Option<String>,
}

impl Connection {
    /// Starts the process and waits until it has loaded the guest.
    fn open(
        starter: &Starter,
        lib: &str,
    ) -> std::result::Result<(Connection, Declaration), String> {
        let started = || {
            let (socket, theirs) = UnixStream::pair()?;
            // As standard input it reaches no other process that is started meanwhile.
            let child = Command::new(&starter.program)
                .args(&starter.arguments)
                .arg(lib)
                .stdin(OwnedFd::from(theirs))
                .spawn()?;
            socket.set_read_timeout(Some(patience().max(Duration::from_millis(1))))?;
            Ok::<_, io::Error>(Connection { child: Mutex::new(child), socket, death: None })
        };
        let connection = started()
            .map_err(|error| format!("no process for the guest can be started: {error}"))?;
        match Message::receive(&mut &connection.socket) {
            Ok(hello) if hello.is(Kind::Hello) && hello.numbers[0] == 0 => {
                let declaration = declaration_of(&hello.bytes);
                let declaration = declaration.ok_or("the guest's process says nonsense")?;
                Ok((connection, declaration))
            }
            Ok(refusal) => Err(String::from_utf8_lossy(&refusal.bytes).into_owned()),
            Err(error) => Err(format!("{lib}: {}", connection.cause_of_death("loading", &error))),
        }
    }

    /// Makes a call, and performs the operations that the guest asks for. Data of the answer go to
    /// `out`.
    fn call(
        &mut self,
        chip: &mut dyn GuestChip,
        name: &str,
        call: &Message,
        out: &mut [u8],
    ) -> Answer {
        if let Some(death) = &self.death {
            chip.fault(GuestFaultKind::Died, death);
            return Ok(Status::PowerLost);
        }
        match converse(&mut &self.socket, chip, call, out) {
            Ok(answer) => answer,
            Err(error) => {
                let death = self.cause_of_death(name, &error);
                chip.fault(GuestFaultKind::Died, &death);
                self.death = Some(death);
                Ok(Status::PowerLost)
            }
        }
    }

    fn facts(&self) -> io::Result<Facts> {
        if self.death.is_some() {
            return Ok(Facts::default());
        }
        Message::new(Kind::Facts, [0; 4]).send(&mut &self.socket)?;
        let answer = Message::receive(&mut &self.socket)?;
        let texts = unpacked(&answer.bytes);
        let text = |at: usize| texts.get(at).map_or("", String::as_str);
        let pairs = texts.get(3..).unwrap_or_default().chunks_exact(2);
        let figure = |pair: &[String]| Some((interned(pair[0].clone()), pair[1].parse().ok()?));
        Ok(Facts {
            capacity: text(0).parse().ok(),
            ram: text(1).parse().ok(),
            audit: Some(text(2).to_owned()).filter(|sentence| !sentence.is_empty()),
            figures: pairs.filter_map(figure).collect(),
        })
    }

    /// What ended the process, or why it is ended now.
    fn cause_of_death(&self, call: &str, error: &io::Error) -> String {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            let _ = child.kill();
            let _ = child.wait();
            let seconds = patience().as_secs();
            return format!("hangs in {call}: it has not returned for {seconds} s");
        }
        if error.kind() == io::ErrorKind::InvalidData {
            let _ = child.kill();
        }
        match child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("crashed in {call}: {}", signal_name(signal)),
                (None, code) => {
                    let code = code.unwrap_or_default();
                    format!("ended its process with exit code {code} in {call}")
                }
            },
            Err(error) => format!("ended its process in {call} ({error})"),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // It ends when the socket does; one that hangs is ended here.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Makes a call over a socket, and performs the operations that the other side asks for. It may be
/// anybody: whatever it says, the chip allows only what flash does. Data of the answer go to `out`.
///
/// # Errors
/// The other side is gone, too slow, or makes no sense.
pub fn converse(
    socket: &mut (impl Read + Write),
    chip: &mut dyn GuestChip,
    call: &Message,
    out: &mut [u8],
) -> io::Result<Answer> {
    call.send(socket)?;
    for _ in 0..MESSAGES_PER_OPERATION * chip.shape().operations_max() {
        let message = Message::receive(socket)?;
        if message.is(Kind::Answer) {
            if message.bytes.len() == out.len() {
                out.copy_from_slice(&message.bytes);
            }
            return Ok(Status::of_number(message.numbers[0]));
        }
        perform(chip, &message)?.send(socket)?;
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Performs an operation of the chip. Returns its result.
fn perform(chip: &mut dyn GuestChip, message: &Message) -> io::Result<Message> {
    let [a, b, c, d] = message.numbers;
    let (page_bytes, spare_bytes) =
        (chip.shape().page_bytes as usize, chip.shape().spare_bytes as usize);
    let kind = |kind: Kind| message.is(kind);
    let mut bytes = Vec::new();
    let status = if kind(Kind::ChipRead) {
        let length = (c as usize).min(page_bytes + 1);
        bytes.resize(length + spare_bytes, 0);
        let (data, spare) = bytes.split_at_mut(length);
        let spare = has_spare(d).then_some(spare);
        chip.read(a, b, data, spare, cause_of(d))
    } else if kind(Kind::ChipProgram) {
        let (data, spare) = areas(&message.bytes, b, page_bytes, spare_bytes)?;
        chip.program(a, data, spare, cause_of(b))
    } else if kind(Kind::ChipCopy) {
        let (_, spare) = areas(&message.bytes, c & !DATA, page_bytes, spare_bytes)?;
        chip.copy(a, b, spare, cause_of(c))
    } else if kind(Kind::ChipErase) {
        chip.erase(a, cause_of(b))
    } else if kind(Kind::ChipBarrier) {
        chip.barrier()
    } else if kind(Kind::ChipIsBad) {
        let is_bad = chip.is_bad(a);
        return Ok(Message::new(Kind::ChipDone, [is_bad.into(), 0, 0, 0]));
    } else if kind(Kind::ChipMarkBad) {
        chip.mark_bad(a)
    } else if kind(Kind::ChipSay) {
        chip.say(&String::from_utf8_lossy(&message.bytes));
        Status::Ok
    } else if kind(Kind::ChipFault) {
        chip.fault(GuestFaultKind::Illegal, &String::from_utf8_lossy(&message.bytes))
    } else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no operation"));
    };
    Ok(Message::new(Kind::ChipDone, [status as u32, 0, 0, 0]).with(bytes))
}

/// Flags beside a cause.
const DATA: u32 = 1 << 8;
const SPARE: u32 = 1 << 9;

fn has_spare(flags: u32) -> bool {
    flags & SPARE != 0
}

fn flags(cause: Option<Cause>, data: bool, spare: bool) -> u32 {
    let cause = cause.map_or(0, |cause| cause as u32 + 1);
    cause | if data { DATA } else { 0 } | if spare { SPARE } else { 0 }
}

fn cause_of(flags: u32) -> Option<Cause> {
    Cause::ALL.get(((flags & 0xFF) as usize).wrapping_sub(1)).copied()
}

/// Data area and spare area in the bytes of a message.
type Areas<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn areas(bytes: &[u8], flags: u32, page: usize, spare: usize) -> io::Result<Areas<'_>> {
    let page = if flags & DATA != 0 { page } else { 0 };
    let spare = if has_spare(flags) { spare } else { 0 };
    if bytes.len() != page + spare {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "areas of a wrong size"));
    }
    let (data, rest) = bytes.split_at(page);
    Ok(((flags & DATA != 0).then_some(data), has_spare(flags).then_some(rest)))
}

// ---- Declarations -----------------------------------------------------------------------------

/// A declaration as bytes of a message.
pub fn declaration_bytes(declaration: &Declaration) -> Vec<u8> {
    let Declaration { name, release, promise, cuts, host_page_bytes, spare_bytes, .. } =
        declaration;
    let flags = [declaration.trims, declaration.handles_failures].map(u32::from);
    let numbers = [*cuts, *host_page_bytes, *spare_bytes, flags[0], flags[1]];
    let numbers = numbers.map(|number: u32| number.to_string());
    let texts = [name.as_str(), release, promise.name()];
    packed(texts.into_iter().chain(numbers.iter().map(String::as_str)))
}

fn declaration_of(bytes: &[u8]) -> Option<Declaration> {
    let texts = unpacked(bytes);
    let [name, release, promise, cuts, host_page_bytes, spare_bytes, trims, handles_failures] =
        texts.as_slice()
    else {
        return None;
    };
    Some(Declaration {
        name: name.clone(),
        release: release.clone(),
        promise: promise.parse::<Promise>().ok()?,
        cuts: cuts.parse().ok()?,
        host_page_bytes: host_page_bytes.parse().ok()?,
        spare_bytes: spare_bytes.parse().ok()?,
        trims: trims == "1",
        handles_failures: handles_failures == "1",
    })
}

// ---- The other side ---------------------------------------------------------------------------

/// The chip, as the process of a guest has it: each operation is a message.
pub struct DistantChip<'a> {
    /// The socket to the program.
    pub socket: &'a UnixStream,
    /// This process.
    pub process: u32,
    /// Sizes of the chip.
    pub shape: ChipShape,
    /// The host's buffer of the call under way. Operations with it are for the host, if the guest
    /// does not say otherwise.
    pub host: Range<usize>,
}

impl DistantChip<'_> {
    /// Asks the program for an operation. Without the program there is no chip. A copy of this
    /// process, which a guest has made, must not answer for it.
    fn ask(&self, message: &Message) -> Message {
        if process::id() != self.process {
            end_copy();
        }
        let asked = || {
            message.send(&mut &*self.socket)?;
            Message::receive(&mut &*self.socket)
        };
        asked().unwrap_or_else(|_: io::Error| {
            Message::new(Kind::ChipDone, [Status::PowerLost as u32, 0, 0, 0])
        })
    }

    fn cause(&self, named: Option<Cause>, data: &[u8]) -> Option<Cause> {
        let is_of_host = self.host.contains(&(data.as_ptr() as usize));
        named.or(is_of_host.then_some(Cause::Host))
    }

    fn status(&self, message: &Message) -> Status {
        Status::of_number(self.ask(message).numbers[0]).unwrap_or(Status::PowerLost)
    }
}

impl GuestChip for DistantChip<'_> {
    fn shape(&self) -> &ChipShape {
        &self.shape
    }

    fn read(
        &mut self,
        page: u32,
        offset: u32,
        data: &mut [u8],
        spare: Option<&mut [u8]>,
        cause: Option<Cause>,
    ) -> Status {
        let flags = flags(self.cause(cause, data), false, spare.is_some());
        let numbers = [page, offset, data.len() as u32, flags];
        let done = self.ask(&Message::new(Kind::ChipRead, numbers));
        let status = Status::of_number(done.numbers[0]).unwrap_or(Status::PowerLost);
        let has_data = matches!(status, Status::Ok | Status::Corrected | Status::Erased);
        if has_data && done.bytes.len() >= data.len() {
            let (read, read_spare) = done.bytes.split_at(data.len());
            data.copy_from_slice(read);
            if let Some(spare) = spare.filter(|spare| spare.len() == read_spare.len()) {
                spare.copy_from_slice(read_spare);
            }
        }
        status
    }

    fn program(
        &mut self,
        page: u32,
        data: Option<&[u8]>,
        spare: Option<&[u8]>,
        cause: Option<Cause>,
    ) -> Status {
        let cause = self.cause(cause, data.unwrap_or_default());
        let flags = flags(cause, data.is_some(), spare.is_some());
        let bytes = [data.unwrap_or_default(), spare.unwrap_or_default()].concat();
        self.status(&Message::new(Kind::ChipProgram, [page, flags, 0, 0]).with(bytes))
    }

    fn copy(&mut self, from: u32, to: u32, spare: Option<&[u8]>, cause: Option<Cause>) -> Status {
        let flags = flags(cause, false, spare.is_some());
        let bytes = spare.unwrap_or_default().to_vec();
        self.status(&Message::new(Kind::ChipCopy, [from, to, flags, 0]).with(bytes))
    }

    fn erase(&mut self, block: u32, cause: Option<Cause>) -> Status {
        let flags = flags(cause, false, false);
        self.status(&Message::new(Kind::ChipErase, [block, flags, 0, 0]))
    }

    fn barrier(&mut self) -> Status {
        self.status(&Message::new(Kind::ChipBarrier, [0; 4]))
    }

    fn is_bad(&mut self, block: u32) -> bool {
        self.ask(&Message::new(Kind::ChipIsBad, [block, 0, 0, 0])).numbers[0] != 0
    }

    fn mark_bad(&mut self, block: u32) -> Status {
        self.status(&Message::new(Kind::ChipMarkBad, [block, 0, 0, 0]))
    }

    fn fault(&mut self, _kind: GuestFaultKind, sentence: &str) -> Status {
        let message = Message::new(Kind::ChipFault, [0; 4]);
        self.status(&message.with(sentence.as_bytes().to_vec()))
    }

    fn say(&mut self, sentence: &str) {
        self.ask(&Message::new(Kind::ChipSay, [0; 4]).with(sentence.as_bytes().to_vec()));
    }
}
